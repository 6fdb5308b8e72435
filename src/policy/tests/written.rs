//! Rules that people write, and how they meet the built-in ones.

use super::*;

pub(super) fn allowing(texts: &[&str]) -> Policy {
    let mut policy = Policy {
        approval: Approval::Edits,
        ..policy()
    };
    policy.person.allow = rules(texts);
    policy
}

#[test]
fn an_allow_rule_matches_what_is_understood_completely() {
    cases(
        &allowing(&[
            "cargo test",
            "ls",
            "git push",
            "./check.sh",
            "npm run 'a b'",
        ]),
        Decision::Allow,
        &[
            "cargo test",
            "cargo test --all",
            "cargo 'test' \"--all\"",
            "/usr/bin/cargo test",
            "cargo test && ls",
            "cargo test; ls | ls\nls -la",
            "ls # what is here",
            "cd sub && cargo test",
            "echo testing && cargo test",
            "git push origin",
            "./check.sh fast",
            "npm run 'a b' c",
            "ls ||\n\n ls",
        ],
    );
}

#[test]
fn an_allow_rule_matches_nothing_else() {
    cases(
        &allowing(&[
            "cargo test",
            "ls",
            "git",
            "./check.sh",
            "evil-git",
            "linked",
            "missing",
        ]),
        Decision::Ask,
        &[
            "cargo",
            "cargo build",
            "cargo testing",
            "cargo --offline test",
            "ls; cargo build",
            "ls && whoami",
            "ls | sh",
            "ls > x",
            "ls 2>&1",
            "ls < x",
            "ls &",
            "ls & whoami",
            "ls |& ls",
            "ls $(whoami)",
            "ls `whoami`",
            "ls $HOME",
            "ls \"$HOME\"",
            "ls *",
            "ls ?",
            "ls [a]",
            "ls ~",
            "ls {a,b}",
            "ls \\a",
            "ls \"\\a\"",
            "A=1 ls",
            "PATH=. ls",
            "ls <<EOF\nx\nEOF",
            "if ls; then ls; fi",
            "! ls",
            "time ls",
            "(ls)",
            "{ ls; }",
            "ls 'x",
            "ls &&",
            "ls ;; ls",
            "&& ls",
            "ls\u{a0}x",
            "ls 'a\u{200b}b'",
            "env ls",
            "/tmp/ls",
            "/home/me/work/bin/ls",
            "/opt/bin/ls",
            "./ls",
            "sub/check.sh",
            "cd sub && ./check.sh",
            "cd .. && ls",
            "cd / && ls",
            "cd - && ls",
            "evil-git status",
            "linked",
            "missing",
            "git push",
            "echo hi",
            "alias ls=whoami\nls",
            "",
        ],
    );
}

#[test]
fn the_strictest_rule_wins() {
    let mut policy = allowing(&[
        "git push",
        "cargo test",
        "npm publish",
        "ls",
        "rm -rf",
        "sudo",
    ]);
    policy.person.deny = rules(&["cargo test --doc"]);
    policy.person.ask = rules(&["ls -R"]);
    policy.project.ask = rules(&["cargo test slow"]);
    policy.project.deny = rules(&["npm publish"]);
    case(&policy, "git push", Decision::Allow);
    case(&policy, "git push && ls", Decision::Allow);
    case(&policy, "git push && whoami", Decision::Ask);
    case(&policy, "cargo test", Decision::Allow);
    case(&policy, "cargo test --doc", Decision::Deny);
    case(&policy, "bash -c 'cargo test --doc'", Decision::Deny);
    case(&policy, "X=$(cargo -q test --doc)", Decision::Deny);
    case(&policy, "strange cargo test --doc > x", Decision::Deny);
    case(&policy, "cargo test slow", Decision::Ask);
    case(&policy, "ls -R", Decision::Ask);
    case(&policy, "npm publish", Decision::Deny);
    case(&policy, "npm --tag x publish", Decision::Deny);
    case(&policy, "rm -rf /", Decision::Deny);
    case(&policy, "rm -rf build", Decision::Allow);
    case(&policy, "sudo ls", Decision::Deny);
}

#[test]
fn a_rule_lifts_a_question_only_if_it_names_it() {
    let script = "git clean -fdx";
    case(&allowing(&["git"]), script, Decision::Ask);
    case(&allowing(&["git clean"]), script, Decision::Ask);
    case(&allowing(&["git clean -fdx"]), script, Decision::Allow);
    assert_eq!(allowing(&[]).propose(script), rules(&["git clean -fdx"]));
    let both = allowing(&["git", "git push origin dev"]);
    case(&both, "git push origin dev", Decision::Allow);
    case(
        &both,
        "git push origin dev && git push --force origin main",
        Decision::Ask,
    );
    case(&allowing(&["rm -rf"]), "rm -rf ../other", Decision::Ask);
}

#[test]
fn proposes_only_rules_that_would_help() {
    let policy = allowing(&["cargo build"]);
    assert_eq!(policy.propose("cargo test -q"), rules(&["cargo test"]));
    assert_eq!(
        policy.propose("cargo build && cargo test"),
        rules(&["cargo test"])
    );
    assert_eq!(
        policy.propose("cargo test | tail -5"),
        rules(&["cargo test", "tail"])
    );
    assert_eq!(policy.propose("git push origin main"), rules(&["git push"]));
    for script in [
        "cargo test > x",
        "sudo ls",
        "bash -c ls",
        "rm -rf x",
        "missing",
        "evil-git x",
    ] {
        assert!(policy.propose(script).is_empty(), "{script}");
    }
}
