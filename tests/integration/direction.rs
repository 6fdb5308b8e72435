//! The direction between modules of the root package, read from the paths in the sources.
//!
//! The crates below `crates/` need no such test: the compiler holds their boundaries. What it cannot
//! see in them, printing and renaming, is looked for here too.

use std::fs;
use std::path::{Path, PathBuf};

/// Who may know whom, beside `protocol` and `error`, which everyone may.
///
/// `cli -> services -> agent -> stages`; stages do not know each other but for the edges that are named here.
const MAY_KNOW: &[(&str, &[&str])] = &[
    ("cli", &["*"]),
    // Services know the engine and its stages, and neither the command line nor the terminal.
    (
        "services",
        &[
            "agent",
            "approve",
            "checkpoint",
            "compose",
            "courier",
            "escape",
            "execute",
            "fs",
            "interrupt",
            "mailbox",
            "platform",
            "policy",
            "reply",
            "repositories",
            "sandbox",
            "secrets",
            "session",
            "settings",
            "transcript",
            "workspace",
        ],
    ),
    (
        "agent",
        &[
            "approve",
            "checkpoint",
            "compose",
            "escape",
            "execute",
            "fs",
            "interrupt",
            "mailbox",
            "policy",
            "reply",
            "repositories",
            "sandbox",
            "secrets",
            "session",
            "settings",
            "workspace",
        ],
    ),
    ("mailbox", &["fs", "platform"]),
    // Whom it asks is a trait, which the terminal implements: neither it nor the engine know `ui`.
    (
        "approve",
        &["fs", "interrupt", "json", "mailbox", "platform", "policy"],
    ),
    (
        "execute",
        &[
            "edit",
            "excerpt",
            "fs",
            "platform",
            "repositories",
            "sandbox",
            "workspace",
        ],
    ),
    ("session", &["checkpoint", "fs", "json", "platform"]),
    ("compose", &["excerpt", "number", "session"]),
    (
        "transcript",
        &["checkpoint", "mailbox", "reply", "session", "unseen"],
    ),
    ("excerpt", &[]),
    // Couriers know the mailbox and the person, and nothing of the loop.
    (
        "courier",
        &[
            "approve",
            "fs",
            "interrupt",
            "mailbox",
            "platform",
            "reply",
            "ui",
        ],
    ),
    ("prompts", &["settings"]),
    // Settings are typed by what they set.
    (
        "settings",
        &["fs", "json", "number", "platform", "policy", "sandbox"],
    ),
    (
        "ui",
        &[
            "approve",
            "escape",
            "fs",
            "interrupt",
            "json",
            "mailbox",
            "number",
            "platform",
            "policy",
            "unseen",
        ],
    ),
    ("escape", &["unseen"]),
    ("interrupt", &[]),
    ("json", &["unseen"]),
    ("number", &[]),
    ("platform", &[]),
];

pub fn sources(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// A source without its test modules, wherever in the file they stand.
pub fn without_tests(source: &str) -> String {
    let mut kept = String::new();
    let mut lines = source.lines();
    while let Some(line) = lines.next() {
        if line.trim() != "#[cfg(test)]" {
            kept.push_str(line);
            kept.push('\n');
            continue;
        }
        let indent = &line[..line.len() - line.trim_start().len()];
        let closing = format!("{indent}}}");
        let mut item = lines
            .by_ref()
            .skip_while(|line| line.trim().starts_with("#["));
        let is_block = item.next().is_some_and(|first| first.ends_with('{'));
        if is_block {
            item.find(|line| *line == closing);
        }
    }
    kept
}

#[test]
fn what_stands_below_a_test_module_is_read_too() {
    let source = "use a;\n#[cfg(test)]\nmod tests;\nuse b;\n#[cfg(test)]\nmod more {\n    use c;\n}\nuse d;\n";
    assert_eq!(without_tests(source), "use a;\nuse b;\nuse d;\n");
}

/// The modules that a source names as `crate::module`, tests aside.
fn named(source: &str) -> Vec<String> {
    let code = without_tests(source);
    let lines = code
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"));
    let mut modules = Vec::new();
    for line in lines {
        for part in line.split("crate::").skip(1) {
            modules.push(
                part.chars()
                    .take_while(|c| c.is_ascii_alphanumeric() || *c == '_')
                    .collect(),
            );
        }
    }
    modules
}

#[test]
fn modules_know_only_whom_they_may() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    let mut wrong = Vec::new();
    for file in files {
        let relative = file.strip_prefix(&root).unwrap();
        let first = relative
            .components()
            .next()
            .unwrap()
            .as_os_str()
            .to_str()
            .unwrap();
        let module = first.trim_end_matches(".rs");
        if matches!(module, "lib" | "main") || relative.ends_with("tests.rs") {
            continue;
        }
        let Some((_, allowed)) = MAY_KNOW.iter().find(|(name, _)| *name == module) else {
            wrong.push(format!(
                "{}: the module `{module}` is not in the table",
                relative.display()
            ));
            continue;
        };
        for other in named(&fs::read_to_string(&file).unwrap()) {
            let known = other == module
                || allowed.contains(&"*")
                || allowed.contains(&other.as_str())
                || matches!(other.as_str(), "protocol" | "error");
            if !known {
                wrong.push(format!(
                    "{}: `{module}` must not know `{other}`",
                    relative.display()
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The sibling modules that a file of `cli/` names as `super::module` or in `use super::{...}`.
fn siblings(source: &str) -> Vec<String> {
    let code = without_tests(source);
    let mut found = Vec::new();
    for part in code.split("super::").skip(1) {
        let names = match part.strip_prefix('{') {
            Some(list) => list.split('}').next().unwrap_or_default(),
            None => part,
        };
        for name in names.split(',') {
            let name = name.trim();
            let is_word = |c: &char| c.is_ascii_alphanumeric() || *c == '_';
            found.push(name.chars().take_while(is_word).collect());
            if !part.starts_with('{') {
                break;
            }
        }
    }
    found
}

#[test]
fn the_verbs_have_no_cycle() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/cli");
    let mut edges = std::collections::BTreeMap::new();
    for entry in fs::read_dir(&root).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|ending| ending == "rs") {
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            edges.insert(name, siblings(&fs::read_to_string(&path).unwrap()));
        }
    }
    // What knows nobody that is left is taken away, until nothing is left or all are in a cycle.
    loop {
        let left: Vec<String> = edges.keys().cloned().collect();
        edges.retain(|_, known| known.iter().any(|name| left.contains(name)));
        if edges.is_empty() {
            return;
        }
        assert!(edges.len() < left.len(), "in a cycle: {edges:?}");
    }
}

#[test]
fn only_ui_prints_only_fs_renames_and_temporary_directories_are_private() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    sources(&root.join("src"), &mut files);
    for package in fs::read_dir(root.join("crates")).unwrap() {
        sources(&package.unwrap().path().join("src"), &mut files);
    }
    for file in files {
        let relative = file.strip_prefix(root).unwrap().to_str().unwrap();
        if relative.ends_with("tests.rs") || relative.contains("/tests/") {
            continue;
        }
        let code = without_tests(&fs::read_to_string(&file).unwrap());
        if !relative.starts_with("src/ui") {
            for word in [
                "println!",
                "eprintln!",
                "print!(",
                "eprint!(",
                "io::stdout()",
                "io::stderr()",
            ] {
                assert!(
                    !code.contains(word),
                    "{relative} writes to the terminal: `{word}`"
                );
            }
        }
        if relative != "crates/agent-files/src/platform.rs" {
            // What unwraps is a stage for tests.
            let code = code.replace("tempfile::tempdir().unwrap()", "");
            for word in ["tempfile::tempdir", ".tempdir()", "TempDir::new"] {
                assert!(
                    !code.contains(word),
                    "{relative} makes a temporary directory; `platform` does that, privately"
                );
            }
        }
        if relative != "crates/agent-files/src/fs.rs" {
            assert!(
                !code.contains("fs::rename("),
                "{relative} renames; `fs` does that"
            );
        }
    }
}
