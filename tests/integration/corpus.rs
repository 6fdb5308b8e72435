use crate::harness::program;
use std::path::Path;
use std::process::{Command, Stdio};

/// The cases that come out otherwise than their collection expects, each with the reason.
const DECIDED_OTHERWISE: [(&str, &str); 13] = [
    (
        "aider-editblock-parse/test_find_original_update_blocks_no_final_newline",
        PARTIAL,
    ),
    (
        "aider-editblock-parse/test_find_original_update_blocks_with_sh_language_identifier",
        PARTIAL,
    ),
    (
        "aider-editblock-parse/test_incomplete_edit_block_missing_filename",
        PARTIAL,
    ),
    ("gnu-patch/create-delete-00012", "needs the option -E"),
    ("gnu-patch/create-directory-00000", "needs the option -p0"),
    (
        "git-apply/t4107-apply-ignore-whitespace-00010",
        "needs the option --inaccurate-eof",
    ),
    (
        "git-apply/t4128-apply-root-00007",
        "needs the option --directory",
    ),
    (
        "git-apply/t4128-apply-root-00009",
        "needs the option --directory",
    ),
    (
        "git-apply/t4128-apply-root-00010",
        "needs the option --directory",
    ),
    ("opencode-replacers/case-7", INDENTED),
    ("opencode-replacers/case-10", INDENTED),
    ("opencode-replacers/case-25", INDENTED),
    ("opencode-replacers/case-27", INDENTED),
];
const PARTIAL: &str = "expects only a part of the blocks that the reply has";
const INDENTED: &str = "expects a replacement that is not indented as its place is";

fn has_python() -> bool {
    let version = Command::new("python3")
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    version.is_ok_and(|status| status.success())
}

#[test]
fn collected_replies_come_out_as_expected_but_for_a_known_few() {
    let Some(corpus) = std::env::var_os("AGENT_CORPUS") else {
        eprintln!("skipped: `AGENT_CORPUS` does not name a collection of replies");
        return;
    };
    if !has_python() {
        eprintln!("skipped: the collection is scored by `python3`, which is not there");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let report = directory.path().join("score.json");
    let output = Command::new("python3")
        .arg(Path::new(&corpus).join("score"))
        .args(["--agent", &program(), "--json"])
        .arg(&report)
        .env("XDG_STATE_HOME", directory.path())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let report: serde_json::Value =
        serde_json::from_slice(&std::fs::read(report).unwrap()).unwrap();
    let is_unknown = |failure: &&serde_json::Value| {
        !DECIDED_OTHERWISE.iter().any(|(id, _)| failure["id"] == *id)
    };
    let failures = report["failures"].as_array().unwrap();
    let unknown: Vec<String> = failures
        .iter()
        .filter(is_unknown)
        .map(|failure| format!("{}: {}", failure["id"], failure["why"]))
        .collect();
    assert!(unknown.is_empty(), "{}", unknown.join("\n"));
}
