use crate::harness::Test;

const DONE: &str = "[DONE]\nfine\n[/DONE]\n{end}\n";

/// A script that prints the name of its shell.
const WHICH: &str =
    "[RUN_COMMAND]\necho \"it is ${BASH_VERSION:-another}\"\n[/RUN_COMMAND]\n{end}\n";

#[test]
fn the_person_chooses_the_shell_and_the_model_is_told() {
    let finished = Test::new(&["new", "x", "--shell", "sh"])
        .reply(WHICH)
        .reply(DONE)
        .run()
        .code(0);
    let first = finished.outbox(1);
    assert!(
        first.contains("a script for `sh` in the workspace"),
        "{first}"
    );
    assert!(!first.contains("a bash script"), "{first}");
    let is_bash = std::fs::canonicalize("/bin/sh").is_ok_and(|sh| sh.ends_with("bash"));
    if !is_bash {
        assert!(finished.outbox(2).contains("it is another"));
    }
}

#[test]
fn a_shell_that_is_not_installed_is_named_with_a_remedy() {
    Test::new(&["new", "x", "--no-wait", "--shell", "cmd"])
        .run()
        .code(1)
        .said("`Shell` is `cmd`, and there is no `cmd` here")
        .said("set `Shell` to `auto`");
}

#[test]
fn a_project_chooses_the_shell_only_with_trust() {
    let settings = r#"{"Agent": {"Shell": "sh"}}"#;
    let finished = Test::new(&["new", "x", "--no-wait"])
        .file("appsettings.json", settings)
        .run()
        .code(0);
    assert!(finished.outbox(1).contains("a bash script"));
}
