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
    // Verbs parse, call a service and render: they know neither the engine nor its stages.
    (
        "cli",
        &[
            // Whether somebody can be asked, and what was decided.
            "approve",
            // The clipboard of this terminal.
            "courier",
            // Files that the person names for what is printed.
            "fs",
            "interrupt",
            // `agent mcp`
            "mcp",
            // `agent parse`, which is nothing else.
            "reply",
            "services",
            "settings",
            "ui",
            // `agent serve`
            "web",
        ],
    ),
    // Services know the engine and its stages, and neither the command line nor the terminal.
    (
        "services",
        &[
            "api",
            "agent",
            "approve",
            "checkpoint",
            "compose",
            "courier",
            "escape",
            "execute",
            "fs",
            "interrupt",
            "json",
            "known_keys",
            "mailbox",
            "number",
            "platform",
            "policy",
            "prompts",
            "reply",
            "repositories",
            "runner",
            "sandbox",
            "secrets",
            "session",
            "settings",
            "transcript",
            "watch",
            "workspace",
        ],
    ),
    (
        "agent",
        &[
            "api",
            "approve",
            "checkpoint",
            "compose",
            "escape",
            "execute",
            "fs",
            "interrupt",
            // The keys that no record and no message may have in it.
            "known_keys",
            "line_diff",
            "mailbox",
            "policy",
            "reply",
            "repositories",
            "runner",
            "sandbox",
            "secrets",
            "session",
            "settings",
            "watch",
            "workspace",
        ],
    ),
    // The page calls services, and has the words of the terminal. It knows neither the command line nor
    // anything that executes.
    (
        "web",
        &[
            "agent",
            "approve",
            "checkpoint",
            "courier",
            "escape",
            "fs",
            "interrupt",
            "mailbox",
            "number",
            "platform",
            "reply",
            "services",
            "session",
            "settings",
            "transcript",
            "ui",
            "unseen",
            "watch",
        ],
    ),
    // Tool calls become the commands that the table of dialects says, and services carry them out.
    (
        "mcp",
        &[
            "approve",
            "escape",
            "fs",
            "interrupt",
            "json",
            "reply",
            "services",
        ],
    ),
    ("mailbox", &["fs", "platform", "watch"]),
    // Whom it asks is a trait, which the terminal implements: neither it nor the engine know `ui`.
    (
        "approve",
        &[
            "fs",
            "interrupt",
            "json",
            // The keys that no decision may have in it.
            "known_keys",
            "line_diff",
            "platform",
            "policy",
            "watch",
        ],
    ),
    (
        "execute",
        &[
            "edit",
            "excerpt",
            "fs",
            "json",
            // The keys that no output may have in it.
            "known_keys",
            "platform",
            "repositories",
            "runner",
            "sandbox",
            "workspace",
        ],
    ),
    (
        "runner",
        &[
            "api",
            "excerpt",
            "fs",
            // The keys that no output may have in it.
            "known_keys",
            "platform",
            "sandbox",
            "workspace",
        ],
    ),
    (
        "session",
        &[
            "api",
            "checkpoint",
            "fs",
            "json",
            // The keys that no note and no name may have in it.
            "known_keys",
            "number",
            "platform",
        ],
    ),
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
            "api",
            "approve",
            "fs",
            "interrupt",
            "mailbox",
            "number",
            "platform",
            "reply",
            "settings",
            "watch",
        ],
    ),
    ("prompts", &["settings"]),
    // Settings are typed by what they set.
    (
        "settings",
        &[
            "api", "fs", "json", "number", "platform", "policy", "runner", "sandbox", "secrets",
        ],
    ),
    (
        "ui",
        &[
            "api",
            "approve",
            "escape",
            "fs",
            "interrupt",
            "json",
            "known_keys",
            "line_diff",
            "number",
            "platform",
            "policy",
            // The words for its properties.
            "sandbox",
            "unseen",
            "watch",
        ],
    ),
    ("escape", &["unseen"]),
    ("interrupt", &["platform"]),
    ("json", &["unseen"]),
    ("known_keys", &["api", "fs", "json"]),
    ("number", &[]),
    ("platform", &["platform"]),
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

/// The crates, each with the module of the root package that it is; none for those whose modules stand
/// for themselves there.
const CRATES: &[(&str, Option<&str>)] = &[
    ("crate", None),
    ("agent_api", Some("api")),
    ("agent_edit", Some("edit")),
    ("agent_files", None),
    ("agent_policy", Some("policy")),
    ("agent_protocol", Some("protocol")),
    ("agent_redact", Some("secrets")),
    ("agent_reply", Some("reply")),
    ("agent_sandbox", Some("sandbox")),
];

/// The modules that a source names as `crate::module` or by the crate that they are in, tests aside.
fn named(source: &str) -> Vec<String> {
    let code = without_tests(source);
    let lines = code
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"));
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut modules = Vec::new();
    for line in lines {
        for (package, module) in CRATES {
            for (at, _) in line.match_indices(package) {
                let after = &line[at + package.len()..];
                let is_within = line[..at].ends_with(is_word) || after.starts_with(is_word);
                // `pub(crate)` is no path.
                if is_within || (*package == "crate" && !after.starts_with("::")) {
                    continue;
                }
                let below = after.strip_prefix("::").unwrap_or(package);
                let below: String = below.chars().take_while(|c| is_word(*c)).collect();
                modules.push(match (module, below.as_str()) {
                    (Some(_), "repositories" | "platform") | (None, _) => below,
                    (Some(module), _) => (*module).to_owned(),
                });
            }
        }
    }
    modules
}

#[test]
fn a_module_is_found_by_the_name_of_its_crate_too() {
    let source = "use agent_files::line_diff::LineDiff;\nuse agent_sandbox::repositories::X;\n\
        use agent_sandbox::Strength;\npub(crate) fn f() { agent_reply::parse(); crate::ui::g(); }\n\
        use agent_files as hidden;\n// agent_api::x\n";
    assert_eq!(
        named(source),
        [
            "line_diff",
            "repositories",
            "sandbox",
            "ui",
            "reply",
            "agent_files"
        ]
    );
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

#[test]
fn the_engine_and_the_services_know_no_terminal() {
    let knows_terminal = |module: &str| {
        let (_, known) = MAY_KNOW.iter().find(|(name, _)| *name == module).unwrap();
        known.contains(&"ui") || known.contains(&"cli")
    };
    let knowing: Vec<&str> = MAY_KNOW.iter().map(|(name, _)| *name).collect();
    let knowing: Vec<&str> = knowing
        .into_iter()
        .filter(|name| knows_terminal(name))
        .collect();
    // The page has the words of the terminal, and nothing else of it.
    assert_eq!(knowing, ["cli", "web"]);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    for file in files {
        let relative = file.strip_prefix(&root).unwrap().to_str().unwrap();
        if relative.starts_with("cli") || relative.starts_with("ui") {
            continue;
        }
        let code = without_tests(&fs::read_to_string(&file).unwrap());
        for word in [
            "clap::",
            "anstream::",
            "crossterm::",
            "terminal_size::",
            "IsTerminal",
        ] {
            assert!(
                !code.contains(word),
                "{relative} knows the terminal: `{word}`"
            );
        }
    }
}

#[test]
fn all_methods_of_the_engine_are_in_one_file() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    sources(&root.join("src/agent"), &mut files);
    let has_methods = |file: &&PathBuf| {
        let source = fs::read_to_string(file).unwrap();
        let mut lines = source.lines();
        lines.any(|line| line.starts_with("impl") && line.contains(" Engine<"))
    };
    let found: Vec<&PathBuf> = files.iter().filter(has_methods).collect();
    assert_eq!(found, [&root.join("src/agent/engine.rs")]);
}

#[test]
fn only_the_page_is_asynchronous() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    for file in files {
        let relative = file.strip_prefix(&root).unwrap().to_str().unwrap();
        let code = fs::read_to_string(&file).unwrap();
        for word in ["tokio::", "axum::", "hyper::", "async fn", ".await;"] {
            assert!(
                relative.starts_with("web") || !code.contains(word),
                "{relative} has `{word}`"
            );
        }
    }
}

/// A module of `cli/` by its path, as `["help", "grammar"]`; `cli.rs` itself is empty.
type ModulePath = Vec<String>;

/// Everything that a source names from `self`, `super` or `crate::cli`, as paths.
fn named_in_cli(module: &ModulePath, source: &str) -> Vec<ModulePath> {
    let code = without_tests(source).replace("crate::cli::", "root::");
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | ':');
    let mut found = Vec::new();
    for (at, _) in code.match_indices("::") {
        // Each path once, from its first word on.
        let start = code[..at].rfind(|c| !is_part(c)).map_or(0, |end| end + 1);
        if code[start..at].contains("::") {
            continue;
        }
        let mut place = match &code[start..at] {
            "self" => module.clone(),
            "super" => module[..module.len().saturating_sub(1)].to_vec(),
            "root" => Vec::new(),
            word => {
                // A module below this one, or something else, which is none of `cli`.
                found.push(module.iter().cloned().chain([word.to_owned()]).collect());
                continue;
            }
        };
        let mut rest = &code[at + 2..];
        while let Some(above) = rest.strip_prefix("super::") {
            place.pop();
            rest = above;
        }
        let listed = match rest.strip_prefix('{') {
            Some(list) => &list[..list.find('}').unwrap_or(list.len())],
            None => rest.split(|c: char| !is_part(c)).next().unwrap_or_default(),
        };
        for name in listed
            .split(',')
            .map(str::trim)
            .filter(|name| !name.is_empty())
        {
            let words = name.split("::").map(|word| {
                let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
                word.chars().take_while(|c| is_word(*c)).collect::<String>()
            });
            found.push(place.iter().cloned().chain(words).collect());
        }
    }
    found
}

#[test]
fn paths_of_all_kinds_are_found_in_a_source() {
    let module = vec!["help".to_owned(), "grammar".to_owned()];
    let source = "use super::super::{common::Common, slash};\nfn f() { super::topics::all(); }\n";
    let found = named_in_cli(&module, source);
    let found: Vec<String> = found.iter().map(|path| path.join("/")).collect();
    let inner = "help/grammar/common";
    assert_eq!(found, ["common/Common", "slash", inner, "help/topics/all"]);
}

/// No file of the command line knows one that knows it, a parent included: a verb that needs what
/// stands above it is handed it.
#[test]
fn the_command_line_has_no_cycle() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = vec![root.join("cli.rs")];
    sources(&root.join("cli"), &mut files);
    let module_of = |file: &PathBuf| -> ModulePath {
        let path = file.strip_prefix(&root).unwrap().with_extension("");
        let words = path
            .iter()
            .skip(1)
            .map(|word| word.to_str().unwrap().to_owned());
        words.collect()
    };
    let modules: Vec<ModulePath> = files.iter().map(module_of).collect();
    let mut edges = std::collections::BTreeMap::new();
    for (file, module) in files.iter().zip(&modules) {
        let source = fs::read_to_string(file).unwrap();
        let known = named_in_cli(module, &source).into_iter().map(|mut path| {
            // What is no module of its own stands in the one above it.
            while !modules.contains(&path) {
                path.pop();
            }
            path
        });
        let known: Vec<ModulePath> = known.filter(|other| other != module).collect();
        edges.insert(module.clone(), known);
    }
    assert!(edges[&Vec::new()].len() > 3, "{edges:?}");
    // What knows nobody that is left is taken away, until nothing is left or all are in a cycle.
    loop {
        let left: Vec<ModulePath> = edges.keys().cloned().collect();
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
        // The client of `agent mcp` reads standard output, and no person does.
        let speaks_to_a_program = relative == "src/mcp.rs";
        if !relative.starts_with("src/ui") && !speaks_to_a_program {
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
