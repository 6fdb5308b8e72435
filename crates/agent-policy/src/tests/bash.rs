//! Random scripts, judged here and run by bash: no command that bash starts is overlooked.

use std::process::{Command as Process, Stdio};

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use super::*;

/// Pieces of syntax. `zz` is the program that must be noticed; nothing here repeats, calls itself
/// or writes to a file.
#[rustfmt::skip]
const PIECES: &[&str] = &[
    "zz", "zz ", "z\\\nz ", "\\zz ", "echo ", "a", "b", " ", " ", " ", "\n", "\n", ";", "&&", "||", "|", "(",
    ")", "{ ", "; }", "$(", "`", "${x:-", "${x#", "${x/", "}", "$((", "))", "((", "[[ ", " ]]",
    "[ ", " ]", "'", "\"", "\\", "\\ ", "$x", "$", "=", "x=", "x+=", "x=(", "#", " #", "! ", "if ",
    "then ", "fi", "for x in a;do ", "done", "case a in ", "a) ", ";;", " esac", "do ", "<(",
    ">(", "<<<", "<>", "<> ", "<<E\n", "<<'E'\n", "<<-E\n", "\nE\n", "\n\tE\n", "\n E\n", "E", "<<\\E\n",
    "<<\"E\"\n", "{a,b}", "$'", "$\"", "\\\n", "\t", "*", "?", "~", "@(", "!(", "+(", "time ",
    "eval ", "bash -c '", "=~ ", "== ", "-f ", "true;", "1", "2>&1", "|&", "\r\n", "elif ",
    "else ", "in ", "\"$(zz)\"", "`zz`", "$(zz)", "<(zz)", "${x:-$(zz)}", "\\$(", "\\`", "\\\"",
    "''", "\"\"", "ä", "\u{a0}",
];

/// Returns true if bash starts `zz`. `PATH` is empty, so that no program is ever started.
fn is_run_by_bash(script: &str) -> Option<bool> {
    const PRELUDE: &str = "exec 3>&1 >/dev/null 2>&1; PATH=/nowhere
        command_not_found_handle() { printf '%s\\0' \"$1\" >&3; }";
    #[expect(
        clippy::disallowed_methods,
        reason = "a test asks the shell of the system"
    )]
    let output = Process::new("bash")
        .args(["--norc", "-c", &format!("{PRELUDE}\n{script}")])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    Some(
        output
            .stdout
            .split(|byte| *byte == 0)
            .any(|name| name == b"zz"),
    )
}

#[test]
fn what_bash_starts_is_not_overlooked() {
    let mut policy = policy();
    policy.person.deny = rules(&["zz"]);
    let mut runner = TestRunner::deterministic();
    let scripts = prop::collection::vec(prop::sample::select(PIECES), 2..14);
    let mut judged = [0, 0, 0];
    for _ in 0..4000 {
        let script = scripts.new_tree(&mut runner).unwrap().current().concat();
        let decision = policy.rule_on(&run(&script)).decision;
        judged[decision as usize] += 1;
        if decision == Decision::Allow && script.contains("zz") {
            match is_run_by_bash(&script) {
                Some(is_run) => assert!(!is_run, "bash starts it: {script:?}"),
                None => return,
            }
        }
    }
    assert!(judged.iter().all(|count| *count > 100), "{judged:?}");
}
