//! Steps that read and change files.

use super::*;
use agent_protocol::{Edit, FileChange, Hunk, Selection};

fn path(text: &str) -> RelPath {
    RelPath::parse(text).unwrap()
}

fn files(text: &str) -> Selection {
    Selection::parse(text).unwrap()
}

fn create(text: &str) -> Command {
    Command::create_file(path(text), String::new())
}

fn read_file(text: &str) -> Command {
    Command::ReadFile {
        path: files(text),
        start_line: None,
        end_line: None,
        numbered: false,
    }
}

/// Every way to change this file.
fn changes(text: &str) -> Vec<Command> {
    let update = |from: &str, to: Option<&str>| Command::ApplyPatch {
        changes: vec![
            FileChange::Add {
                path: path("ok.txt"),
                content: String::new(),
                mode: None,
                overwrite: true,
            },
            FileChange::Update {
                path: path(from),
                move_to: to.map(path),
                copy: false,
                mode: None,
                hunks: vec![Hunk::default()],
                overwrite: false,
            },
        ],
    };
    vec![
        create(text),
        Command::EditFile {
            path: path(text),
            edit: Edit::Lines {
                start_line: 1,
                end_line: 1,
                text: String::new(),
            },
        },
        Command::InsertText {
            path: path(text),
            line: 0,
            text: String::new(),
        },
        Command::DeleteFile { path: path(text) },
        Command::MoveFile {
            from: path(text),
            to: path("ok.txt"),
        },
        Command::MoveFile {
            from: path("ok.txt"),
            to: path(text),
        },
        update(text, None),
        update("ok.txt", Some(text)),
        update(text, Some("ok.txt")),
        Command::ApplyPatch {
            changes: vec![FileChange::Delete {
                path: path(text),
                hunks: Vec::new(),
            }],
        },
    ]
}

#[track_caller]
fn file_case(policy: &Policy, text: &str, expected: Decision) {
    let table = policy.table();
    for command in changes(text) {
        let ruling = policy.rule_on(&command);
        assert_eq!(
            ruling.decision,
            expected,
            "{text}: {} {ruling:?}",
            command.name()
        );
        assert!(
            table.iter().any(|row| row.rule == ruling.rule),
            "{ruling:?}"
        );
    }
}

#[test]
fn protected_paths_are_protected_in_every_step() {
    for text in [
        ".git/config",
        ".GIT/config",
        ".git./hooks/pre-commit",
        "sub/.git/hooks/x",
        "GIT~1/config",
        ".git/index",
        ".agent/appsettings.json",
        "sub/.Agent/x",
    ] {
        file_case(&policy(), text, Decision::Deny);
    }
    for text in [
        ".vscode/tasks.json",
        ".idea/x",
        ".envrc",
        ".mcp.json",
        ".github/workflows/ci.yml",
        ".gitlab-ci.yml",
    ] {
        file_case(&policy(), text, Decision::Ask);
    }
    for text in [
        "src/main.rs",
        ".gitignore",
        ".env",
        ".github/CODEOWNERS",
        "agent/x",
    ] {
        file_case(&policy(), text, Decision::Allow);
    }
}

#[test]
fn the_grant_opens_git_but_not_its_hooks() {
    let policy = Policy {
        grants: vec![Grant::GitWrite],
        ..policy()
    };
    file_case(&policy, ".git/refs/heads/x", Decision::Allow);
    file_case(&policy, ".git/HEAD", Decision::Allow);
    for text in [
        ".git/hooks/pre-commit",
        ".git/config",
        ".git",
        ".git/info/attributes",
    ] {
        file_case(&policy, text, Decision::Deny);
    }
}

#[test]
fn records_of_another_base_are_neither_read_nor_changed() {
    let mut policy = policy();
    policy.records = RecordsLookup::new(|_| vec![path("a/inbox"), path("a/appsettings.json")]);
    for text in ["a/inbox/x.txt", "A/INBOX/x.txt", "a/appsettings.json"] {
        file_case(&policy, text, Decision::Deny);
        let ruling = policy.rule_on(&read_file(text));
        assert_eq!(ruling.decision, Decision::Deny, "{text}");
    }
    file_case(&policy, "a/other", Decision::Allow);
}

#[test]
fn our_state_cannot_be_read() {
    let mut policy = policy();
    policy.own_paths = vec![path("sessions"), path("appsettings.json")];
    let mut hidden = vec![
        read_file(".agent/sessions/x.json"),
        read_file("sub/.AGENT/x"),
        read_file("sessions/x.json"),
        read_file("Sessions/x.json"),
        read_file("appsettings.json"),
        read_file("a, .agent/x"),
        read_file("a\nb, Sessions/x"),
        Command::ListFiles {
            path: Some(files(".agent")),
            glob: None,
        },
        Command::ListFiles {
            path: None,
            glob: Some(".agent/**".to_owned()),
        },
        Command::Outline {
            path: Some(files(".agent/x.rs")),
        },
        Command::SearchText {
            pattern: "x".to_owned(),
            path: Some(files(".agent")),
            glob: None,
            regex: false,
            case_sensitive: false,
            context: 0,
        },
        Command::SearchText {
            pattern: "x".to_owned(),
            path: None,
            glob: Some("*.rs, .agent/*".to_owned()),
            regex: false,
            case_sensitive: false,
            context: 0,
        },
        Command::GitDiff {
            path: Some(path(".agent")),
        },
    ];
    hidden.extend(changes("sessions/x.json"));
    for command in hidden {
        assert_eq!(
            policy.rule_on(&command).decision,
            Decision::Deny,
            "{command:?}"
        );
    }
    for command in [
        read_file("src/sessions/x"),
        read_file(".git/config"),
        read_file(".envrc"),
    ] {
        assert_eq!(
            policy.rule_on(&command).decision,
            Decision::Allow,
            "{command:?}"
        );
    }
}

#[test]
fn modes_decide_about_files() {
    let mode = |approval| Policy {
        approval,
        ..policy()
    };
    file_case(&mode(Approval::Auto), "a", Decision::Allow);
    file_case(&mode(Approval::Edits), "a", Decision::Allow);
    file_case(&mode(Approval::Ask), "a", Decision::Ask);
    file_case(&mode(Approval::Ask), ".git/config", Decision::Deny);
    file_case(&mode(Approval::Plan), "a", Decision::Deny);
    for approval in [
        Approval::Auto,
        Approval::Edits,
        Approval::Ask,
        Approval::Plan,
    ] {
        for command in [
            read_file("a"),
            Command::GitStatus { path: None },
            Command::Plan {
                text: String::new(),
            },
            Command::AskUser {
                question: String::new(),
            },
            Command::Done {
                summary: String::new(),
            },
        ] {
            assert_eq!(mode(approval).rule_on(&command).decision, Decision::Allow);
        }
    }
}
