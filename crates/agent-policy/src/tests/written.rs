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
    assert_eq!(allowing(&[]).propose(script), rules(&["= git clean -fdx"]));
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

#[test]
fn a_rule_covers_no_option_that_runs_something_else() {
    let policy = allowing(&[
        "find",
        "rg",
        "git",
        "git status",
        "git diff",
        "git grep",
        "git log",
        "tar",
        "sort",
        "go test",
        "fd",
        "timeout 9 rg",
    ]);
    cases(
        &policy,
        Decision::Allow,
        &[
            "find . -name x",
            "rg foo src",
            "git status --short",
            "git --no-pager log -3",
            "git diff HEAD",
            "cd sub && rg foo",
            "go test -run x",
            "sort -u x",
            "timeout 9 rg foo",
        ],
    );
    cases(
        &policy,
        Decision::Ask,
        &[
            "cd evil && git status",
            "cd evil; git status",
            "cd evil && timeout 9 git status",
            "git -C evil status",
            "git --git-dir=evil status",
            "git --git-dir evil status",
            "git -c core.fsmonitor=./x status",
            "git --exec-path=. status",
            "git diff --no-index /etc/passwd x",
            "git diff --output=x",
            "git grep -O./x foo",
            "git grep -nO./x foo",
            "git grep --open=./x foo",
            "git fetch ext::x",
            "find . -name x -exec sh -c id ';'",
            "find . -delete -name x",
            "find . -fprintf x y",
            "rg --pre ./x foo",
            "rg --pre=./x foo",
            "timeout 9 rg --pre=./x foo",
            "fd -x sh",
            "tar xf a --checkpoint-action=exec=id",
            "tar xf a --to-command=id",
            "tar -xIid -f a",
            "sort -o x y",
            "go test -exec=./x",
        ],
    );
}

#[test]
fn an_exact_rule_is_exact() {
    let policy = allowing(&["= find . -name x", "= sed -n 1p x", "= git -C sub status"]);
    cases(
        &policy,
        Decision::Allow,
        &[
            "find . -name x",
            "sed -n 1p x",
            "git -C sub status",
            "/usr/bin/find . -name x",
        ],
    );
    cases(
        &policy,
        Decision::Ask,
        &[
            "find . -name x -exec sh -c id ';'",
            "find . -name x y",
            "find . -name",
            "sed -n 1p x -e '1e id'",
            "cd evil && git -C sub status",
            "git -C sub status -s",
        ],
    );
    let none = allowing(&[]);
    for script in [
        "find . -name x",
        "rg foo",
        "awk '{print $1}' x",
        "sed -n 1p x",
    ] {
        assert_eq!(none.propose(script), rules(&[&format!("= {script}")]));
    }
    assert!(none.propose("cd evil && git status").is_empty());
}

#[test]
fn a_program_where_commands_may_write_is_not_trusted() {
    let mut policy = allowing(&["ls"]);
    case(&policy, "ls", Decision::Allow);
    policy.places = policy.places.with_writable([PathBuf::from("/usr/bin")]);
    case(&policy, "ls", Decision::Ask);
}
