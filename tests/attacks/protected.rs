use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use agent::runner::RunEnd;
use agent::sandbox::Backend;

use crate::place::Plain::Always;
use crate::place::{Applied, Place, SECRET, backend, cases, command, is_root};

/// Files that the person's tools run or obey.
const OBEYED: [&str; 34] = [
    ".git/hooks/pre-commit",
    ".git/config",
    ".git/info/attributes",
    ".git/commondir",
    ".GIT/config",
    ".Git/hooks/post-checkout",
    ".git./config",
    ".git /config",
    "GIT~1/config",
    ".git::$INDEX_ALLOCATION/config",
    ".g\u{200c}it/config",
    "sub/.git/hooks/pre-commit",
    ".agent/appsettings.json",
    ".AGENT/appsettings.json",
    ".vscode/tasks.json",
    ".VSCode/tasks.json",
    ".idea/workspace.xml",
    ".envrc",
    ".mcp.json",
    "sub/.envrc",
    ".github/workflows/ci.yml",
    ".gitlab-ci.yml",
    ".circleci/config.yml",
    "Jenkinsfile",
    ".claude/settings.json",
    ".Cursor/mcp.json",
    "sub/.codex/config.toml",
    ".gemini/settings.json",
    ".devcontainer/devcontainer.json",
    ".zed/tasks.json",
    "any.code-workspace",
    ".gitmodules",
    ".pre-commit-config.yaml",
    ".zshenv",
];

/// Names like these, which nobody obeys.
const HARMLESS: [&str; 4] = [
    "git/hooks/pre-commit",
    "agent/x.json",
    "vscode/tasks.json",
    "ci.yml",
];

const FORMS: [&str; 6] = [
    "[CREATE_FILE path=\"PATH\"]\nx\n[/CREATE_FILE]\n",
    "[APPLY_PATCH]\n*** Begin Patch\n*** Add File: PATH\n+x\n*** End Patch\n[/APPLY_PATCH]\n",
    "[APPLY_PATCH]\n--- /dev/null\n+++ b/PATH\n@@ -0,0 +1 @@\n+x\n[/APPLY_PATCH]\n",
    "[MOVE_FILE from=\"own\" to=\"PATH\"]\n",
    "[APPLY_PATCH]\n*** Begin Patch\n*** Update File: own\n*** Move to: PATH\n@@\n-own\n+x\n*** End Patch\n[/APPLY_PATCH]\n",
    "{\"tool\": \"write_file\", \"path\": \"PATH\", \"content\": \"x\"}\n",
];

fn applied(place: &Place, form: &str, paths: &[&str], arguments: &[&str]) -> Applied {
    let reply: String = paths
        .iter()
        .map(|path| form.replace("PATH", path))
        .collect();
    place.apply_with(arguments, &reply)
}

#[test]
fn no_form_of_change_makes_what_tools_obey() {
    for form in FORMS {
        for arguments in [&[][..], &["--grant", "git-write"]] {
            let place = Place::new().file("own", "own\n").file(".git/HEAD", "");
            let applied = applied(&place, form, &OBEYED, arguments);
            applied.did_nothing();
            let refused = applied.rows.iter().filter(|row| row["status"] == "refused");
            // A name that a chat page would not let through may not even be understood.
            assert!(
                refused.count() >= OBEYED.len() - 4,
                "{form}: {}",
                applied.text
            );
            let mut left: Vec<_> = crate::place::contents(&place.workspace())
                .into_keys()
                .collect();
            left.sort();
            assert_eq!(left, [".git", "own", "sub"]);
            assert_eq!(
                fs::read_dir(place.workspace().join(".git"))
                    .unwrap()
                    .count(),
                1
            );
        }
        for path in HARMLESS {
            let place = Place::new().file("own", "own\n");
            applied(&place, form, &[path], &[]).all(1, "ok");
        }
    }
}

#[test]
fn what_tools_obey_is_not_edited_or_removed() {
    let forms = [
        "[EDIT_FILE path=\"PATH\" start_line=\"1\"]\nx\n[/EDIT_FILE]\n",
        "[EDIT_FILE path=\"PATH\"]\n<<<<<<< SEARCH\nold\n=======\nnew\n>>>>>>> REPLACE\n[/EDIT_FILE]\n",
        "[INSERT_TEXT path=\"PATH\" line=\"0\"]\nx\n[/INSERT_TEXT]\n",
        "[DELETE_FILE path=\"PATH\"]\n",
        "[MOVE_FILE from=\"PATH\" to=\"moved\"]\n",
        "[APPLY_PATCH]\n--- a/PATH\n+++ b/PATH\n@@ -1 +1 @@\n-old\n+new\n[/APPLY_PATCH]\n",
    ];
    let paths = [
        ".git/config",
        ".git/hooks/pre-commit",
        ".vscode/tasks.json",
        ".envrc",
        ".github/workflows/ci.yml",
    ];
    for form in forms {
        let mut place = Place::new().file("plain", "old\n");
        for path in paths {
            place = place.file(path, "old\n");
        }
        applied(&place, form, &paths, &[]).all(paths.len(), "refused");
        for path in paths {
            assert_eq!(
                fs::read_to_string(place.workspace().join(path)).unwrap(),
                "old\n"
            );
        }
        applied(&place, form, &["plain"], &[]).all(1, "ok");
    }
}

#[test]
fn our_own_state_is_not_read() {
    let place = Place::new()
        .file(".agent/sessions/x.json", SECRET)
        .file("agent/x.json", SECRET);
    let forms = [
        "[READ_FILE path=\".agent/sessions/x.json\"]\n",
        "[READ_FILE path=\".AGENT/sessions/x.json\"]\n",
        "[READ_FILE path=\"./.agent//sessions/x.json\"]\n",
        "[SEARCH_TEXT pattern=\"hunter\" path=\".agent\"]\n",
        "[LIST_FILES path=\".agent\"]\n",
        "[LIST_FILES glob=\".agent/**\"]\n",
        "[MOVE_FILE from=\".agent/sessions/x.json\" to=\"x.json\"]\n",
    ];
    let applied = place.apply(&forms.concat());
    applied.tells_no_secret();
    assert!(!applied.text.contains("x.json ("), "{}", applied.text);
    assert!(!place.workspace().join("x.json").exists());
    place.withstands(&[
        (Always, "cat .agent/sessions/x.json"),
        (Always, "grep -r hunter .agent"),
        (Always, "ls .agent/sessions"),
        (
            Always,
            "mv .agent other && cat other/sessions/x.json && mv other .agent",
        ),
        (Always, "cp -r .agent/sessions copy && rm -r copy"),
        (Always, "echo x > .agent/sessions/y.json"),
    ]);
    let all = place.apply("[SEARCH_TEXT pattern=\"hunter\" path=\"agent\"]\n");
    assert!(all.text.contains(SECRET), "the counterpart is found");
}

#[test]
fn commands_do_not_change_what_tools_obey() {
    let place = Place::new()
        .file(".git/HEAD", "ref: refs/heads/main\n")
        .file(".git/config", "[core]\n")
        .file(".git/hooks/sample", "")
        .file(".vscode/tasks.json", "{}");
    fs::create_dir_all(place.workspace().join(".git/objects")).unwrap();
    fs::create_dir_all(place.workspace().join(".git/refs")).unwrap();
    place.withstands(&[
        (Always, "echo x > .git/hooks/pre-commit"),
        (Always, "echo x >> .git/config"),
        (Always, "git config core.fsmonitor ./evil"),
        (Always, "git config --file .git/config alias.x '!y'"),
        (Always, "mv .git .g2 && cp -r .g2 .git"),
        (Always, "echo x > .git/commondir && rm .git/commondir"),
        (Always, "chmod 777 .git/config"),
        (Always, "PYTHON 'open(\".git/config\", \"a\")'"),
        (Always, "cd .git/hooks && touch x"),
        (
            Always,
            "ln -f /bin/true .git/hooks/x 2>/dev/null || ln -sf /bin/true .git/hooks/x",
        ),
        (Always, "echo x >> .vscode/tasks.json"),
        (
            Always,
            "mv .vscode other; mkdir -p .vscode; touch .vscode/x",
        ),
        (Always, "mkdir -p .idea && touch .idea/x"),
        (Always, "rmdir .envrc 2>/dev/null; echo x > .envrc"),
        (Always, "rmdir .mcp.json 2>/dev/null; echo x > .mcp.json"),
        (Always, "ln -sf evil .envrc2 && mv -T .envrc2 .envrc"),
    ]);
}

#[test]
fn commands_do_not_change_what_build_services_run() {
    let place = Place::new()
        .file(".github/workflows/ci.yml", "")
        .file(".circleci/config.yml", "")
        .file("Jenkinsfile", "");
    place.withstands(&[
        (Always, "echo x >> .github/workflows/ci.yml"),
        (Always, "echo x > .github/workflows/new.yml"),
        (Always, "mv .github g2 && cp -r g2 .github"),
        (
            Always,
            "rmdir .gitlab-ci.yml 2>/dev/null; echo x > .gitlab-ci.yml",
        ),
        (Always, "echo x >> .circleci/config.yml"),
        (Always, "rm Jenkinsfile && echo x > Jenkinsfile"),
    ]);
    place
        .apply(&command("echo x > .github/CODEOWNERS"))
        .all(1, "ok");
    let fresh = Place::new();
    fresh.withstands(&[(
        Always,
        "mkdir -p .github/workflows && touch .github/workflows/ci.yml",
    )]);
    let fresh = Place::new().file(".github/CODEOWNERS", "");
    fresh.withstands(&[(
        Always,
        "mkdir -p .github/workflows && touch .github/workflows/ci.yml",
    )]);
    let fresh = Place::new().file(".github/CODEOWNERS", "");
    fresh.apply(&command("true")).all(1, "ok");
    let left = fs::read_dir(fresh.workspace().join(".github")).unwrap();
    assert_eq!(left.count(), 1, "what was reserved is gone");
}

#[test]
fn what_tools_obey_further_down_is_not_changed_by_commands() {
    let place = Place::new()
        .file("sub/.vscode/tasks.json", "{}")
        .file("sub/deep/.envrc", "")
        .file("node_modules/x/.vscode/tasks.json", "{}");
    place.apply(&command("rm -r node_modules")).all(1, "ok");
    place.withstands(&[
        (Always, "echo x > sub/.vscode/tasks.json"),
        (Always, "echo x > sub/.vscode/settings.json"),
        (
            Always,
            "mv sub/.vscode sub/other && mv sub/other sub/.vscode",
        ),
        (Always, "echo x >> sub/deep/.envrc"),
        (Always, "rm sub/deep/.envrc && echo x > sub/deep/.envrc"),
        (
            Always,
            "rm -rf old; mv sub old && cp -r old sub && echo x > sub/deep/.envrc",
        ),
        (
            Always,
            "rm -rf old; mv sub/deep old && cp -r old sub/deep && echo x > sub/deep/.envrc",
        ),
    ]);
}

#[test]
fn our_mark_on_a_directory_of_the_person_opens_nothing() {
    for parent in [".gitea", ".forgejo", ".github"] {
        let place = Place::new().file(&format!("{parent}/workflows/ci.yml"), "");
        place
            .apply(&command(&format!("chmod 1500 {parent} || true")))
            .all(1, "ok");
        let replace = format!(
            "chmod 755 {parent}; mv {parent} old && cp -r old {parent} && echo x > {parent}/workflows/ci.yml && rm -r old"
        );
        place.withstands(&[(Always, &replace)]);
    }
}

#[test]
fn nothing_reserved_stays_in_a_workspace_that_passes_on_its_group_or_was_closed() {
    for (mode, script) in [(0o2755, "true"), (0o755, "chmod 555 .")] {
        let place = Place::new();
        let workspace = place.workspace();
        fs::set_permissions(&workspace, fs::Permissions::from_mode(mode)).unwrap();
        place.apply(&command(script)).all(1, "ok");
        let left: Vec<_> = crate::place::contents(&workspace).into_keys().collect();
        fs::set_permissions(&workspace, fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(left, ["sub"], "{script}");
        cases(1);
    }
}

/// The names are reserved by directories, and here none can be made.
#[test]
fn no_command_starts_where_a_name_cannot_be_reserved() {
    if !is_root() || backend() == Backend::Landlock {
        println!("skipped: only root mounts a full file system, and Landlock reserves no names");
        return;
    }
    let place = Place::new();
    let workspace = place.workspace();
    let mount = |words: &[&str]| {
        let status = Command::new(words[0])
            .args(&words[1..])
            .arg(&workspace)
            .status();
        status.unwrap().success()
    };
    if !mount(&["mount", "-t", "tmpfs", "-o", "nr_inodes=8", "full"]) {
        println!("skipped: nothing can be mounted here");
        return;
    }
    let full = |number: u32| fs::File::create(workspace.join(format!("f{number}"))).is_ok();
    let files = (0..100).take_while(|number| full(*number)).count();
    let script = "rm f* && mkdir -p .vscode && echo x > .vscode/tasks.json";
    let applied = place.apply(&command(script));
    let plain = place.plain(script);
    assert!(mount(&["umount"]));
    assert!(files > 0);
    applied.did_nothing();
    assert!(!applied.text.contains("exit code 0"), "{}", applied.text);
    assert_eq!(plain.end, RunEnd::Exited(0), "the counterpart");
    cases(1);
}

#[test]
fn a_grant_opens_no_hook() {
    let place = Place::new();
    let begun =
        "git init -q . && git -c user.name=a -c user.email=b commit -q --allow-empty -m one";
    place.apply(&command(begun)).all(1, "ok");
    place.withstands_with(
        &["--grant", "git-write"],
        &[
            (Always, "echo x > .git/hooks/pre-commit"),
            (Always, "git config core.fsmonitor ./evil"),
            (
                Always,
                "mv .git/hooks .git/h2; mkdir -p .git/hooks && touch .git/hooks/x",
            ),
            (Always, "mv .git .g2 && cp -r .g2 .git"),
            (Always, "rm .git/config && cp /dev/null .git/config"),
        ],
    );
}
