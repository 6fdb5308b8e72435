use std::fs;

use crate::harness::{Finished, Test};

const DONE: &str = "[DONE]\nfine\n[/DONE]\n{end}\n";

/// The first line of what `agent policy check` says, without a sandbox that allows by itself.
#[track_caller]
fn checked(test: Test) -> String {
    let finished = test.run().code(0);
    finished
        .stdout
        .lines()
        .next()
        .unwrap_or_default()
        .to_owned()
}

fn check<'a>(options: &[&'a str], script: &'a str) -> Vec<&'a str> {
    let mut arguments = vec!["policy", "check", "--sandbox", "off"];
    arguments.extend(options);
    arguments.extend(["--", script]);
    arguments
}

#[track_caller]
fn case(options: &[&str], script: &str, expected: &str) {
    let line = checked(Test::new(&check(options, script)));
    assert!(line.starts_with(expected), "{options:?} {script}: {line}");
}

#[test]
fn the_strictest_of_the_persons_rules_wins() {
    case(&[], "make check", "asked");
    case(&["--allow", "make, ls"], "make check", "allowed");
    case(&["--allow", "make", "--ask", "make"], "make check", "asked");
    case(&["--allow", "make", "--deny", "make"], "make", "refused");
    case(&["--allow", "make"], "make $(x)", "asked");
    case(&["--allow", "rm"], "rm -rf /", "refused");
}

#[test]
fn a_project_may_be_stricter_and_allow_nothing() {
    let settings = r#"{"Agent": {"Allow": ["ls"], "Ask": ["make", "pwd"], "Deny": "date"}}"#;
    let line = |script: &str| {
        checked(
            Test::new(&check(&[], script))
                .file("workspace/x", "")
                .file("appsettings.json", settings),
        )
    };
    assert!(line("ls").starts_with("asked"));
    assert!(line("date").starts_with("refused"));
    let sandboxed = Test::new(&["policy", "--deny", "whoami"])
        .file("workspace/x", "")
        .file("appsettings.json", settings);
    let table = sandboxed.run().code(0).stdout;
    for rule in [
        "commands beginning with `pwd` (the project's rule)",
        "commands beginning with `whoami` (your rule)",
    ] {
        assert!(table.contains(rule), "`{rule}` is missing:\n{table}");
    }
    assert!(!table.contains("`ls`"), "{table}");
}

#[test]
fn what_is_no_rule_is_named() {
    Test::new(&["policy", "--deny", "a; b"])
        .run()
        .code(2)
        .said("the value of `--deny` holds `a; b`, which is no rule");
}

/// A base directory where the person said "always" to these.
fn always(rules: &[&str]) -> Finished {
    let finished = Test::new(&["new", "--no-wait", "task"]).run().code(0);
    let state = finished.base().with_file_name("state").join("agent");
    fs::create_dir_all(&state).unwrap();
    let base = fs::canonicalize(finished.base()).unwrap();
    let kept = serde_json::json!({ base.to_str().unwrap(): rules });
    fs::write(state.join("rules.json"), kept.to_string()).unwrap();
    finished
}

#[test]
fn what_was_always_allowed_is_shown_and_taken_back() {
    let finished = always(&["make check", "ls"]);
    let finished = Test::after(finished, &["policy"]).run().code(0);
    let shown = &finished.stdout;
    assert!(shown.contains("1 commands beginning with `make check`\n"));
    assert!(
        shown.contains("2 commands beginning with `ls`\n"),
        "{shown}"
    );
    assert!(shown.contains("agent policy forget N"), "{shown}");
    let finished = Test::after(finished, &check(&[], "ls")).run();
    assert!(finished.stdout.starts_with("allowed"));
    // Without a sandbox the model would write what runs with the person's rights.
    let finished = Test::after(finished, &check(&[], "make check")).run();
    assert!(finished.stdout.starts_with("asked"), "{}", finished.stdout);
    let off = Test::after(finished, &["policy", "--sandbox", "off"]);
    let finished = off.run().code(0);
    let note = "do not count for programs that run the project's own code";
    assert!(finished.stdout.contains(note), "{}", finished.stdout);
    let in_sandbox = &["policy", "check", "--approval", "edits", "make check"];
    let finished = Test::after(finished, in_sandbox).run();
    assert!(
        finished.stdout.starts_with("allowed"),
        "{}",
        finished.stdout
    );
    let finished = Test::after(finished, &["policy", "forget", "3"])
        .run()
        .code(1)
        .said("there is no rule 3");
    let finished = Test::after(finished, &["policy", "forget", "1"])
        .run()
        .code(0)
        .said("asked again about commands beginning with `make check`");
    let finished = Test::after(finished, in_sandbox).run();
    assert!(finished.stdout.starts_with("asked"));
    let finished = Test::after(finished, &["policy", "--json"]).run().code(0);
    let last: serde_json::Value =
        serde_json::from_str(finished.stdout.lines().last().unwrap()).unwrap();
    assert_eq!(last, serde_json::json!({"number": 1, "allows": "ls"}));
    let finished = Test::after(finished, &["policy", "forget", "all"]).run();
    let finished = Test::after(finished.code(0), &["policy"]).run().code(0);
    assert!(!finished.stdout.contains("always"), "{}", finished.stdout);
}

#[cfg(unix)]
#[test]
fn the_person_learns_what_a_round_left_to_be_run_or_followed() {
    let made = "[RUN_COMMAND]\nprintf '#!/bin/sh\\n' > run.sh; chmod +x run.sh; ln -s /etc out; ln -s run.sh in; mkdir .husky; echo x > .husky/pre-commit; git init -q sub; echo x > sub/.git/hooks/pre-push; git init -q .; echo x > .git/hooks/post-merge; echo x > sub/.envrc; echo x > .bashrc; mkdir .claude; echo x > .claude/settings.json; echo x > a.code-workspace\n[/RUN_COMMAND]\n{end}\n";
    let changed = "[RUN_COMMAND]\necho 'echo x' >> run.sh; echo y > plain\n[/RUN_COMMAND]\n{end}\n";
    let finished = Test::new(&["new", "--approval", "auto", "task"])
        .reply(made)
        .reply(changed)
        .reply(DONE)
        .run()
        .code(0)
        .said("Links that lead out of the workspace: `out` (to `/etc`)\n")
        .said("New executables: `run.sh`\n")
        .said("Editors, shells, other tools or build services would obey `.bashrc`, `.claude/settings.json`, `a.code-workspace`, `sub/.envrc`\n")
        .said(
            "Git or a hook manager would run `.husky/pre-commit`\n",
        );
    assert_eq!(finished.stderr.matches("New executables").count(), 1);
    assert_eq!(finished.stderr.matches("would run").count(), 1);
    finished.said("it was disabled (the originals are beside it as `*.disabled-by-agent`): `.git/hooks/post-merge`; `sub/.git/hooks/pre-push`");
}
