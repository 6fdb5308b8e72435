//! Versions of the tools that a project calls for, by the files at its top.
//!
//! Nothing of the project is run: the tools are those of the person, found where no command can have
//! planted them, and asked for their version in another directory.

use std::path::Path;
use std::process::Stdio;
use std::sync::LazyLock;
use std::thread;
use std::time::{Duration, Instant};

use regex::Regex;

use crate::platform::{ChildEvent, ChildSession, ChildTree, programs};

/// How long a tool may take to tell its version.
const TIME: Duration = Duration::from_secs(2);

/// How long to wait for a killed tool, and for what it printed.
const END: Duration = Duration::from_millis(100);

/// More tools than these are not asked.
const MOST: usize = 6;

/// The tools that a file at the top of a project calls for.
const CALLS_FOR: [(&str, &[&str]); 18] = [
    ("Cargo.toml", &["cargo"]),
    ("package.json", &["node", "npm"]),
    ("pyproject.toml", &["python3"]),
    ("setup.py", &["python3"]),
    ("requirements.txt", &["python3"]),
    ("tox.ini", &["python3"]),
    ("go.mod", &["go"]),
    ("pom.xml", &["java", "mvn"]),
    ("build.gradle", &["java", "gradle"]),
    ("build.gradle.kts", &["java", "gradle"]),
    ("CMakeLists.txt", &["cmake", "c++"]),
    ("meson.build", &["meson", "c++"]),
    ("Makefile", &["make"]),
    ("Gemfile", &["ruby"]),
    ("composer.json", &["php"]),
    ("mix.exs", &["elixir"]),
    ("deno.json", &["deno"]),
    ("build.zig", &["zig"]),
];

/// The tools that sources at the top of a project call for, by their extensions.
const SOURCES_CALL_FOR: [(&str, &str); 8] = [
    ("py", "python3"),
    ("js", "node"),
    ("mjs", "node"),
    ("c", "cc"),
    ("cpp", "c++"),
    ("rb", "ruby"),
    ("php", "php"),
    ("java", "java"),
];

/// More names at the top of a project than these are not looked at.
const MOST_NAMES: usize = 500;

/// A tool, and its version if it is installed and tells one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolVersion {
    /// The name of the program.
    pub name: &'static str,
    /// `None` if there is no such program.
    pub version: Option<String>,
}

/// The tools that the files at the top of this directory call for.
fn called_for(directory: &Path) -> Vec<&'static str> {
    let mut tools: Vec<&'static str> = Vec::new();
    for (file, calls_for) in CALLS_FOR {
        if directory.join(file).is_file() {
            tools.extend(calls_for);
        }
    }
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    for entry in entries.take(MOST_NAMES) {
        let name = entry.file_name();
        let extension = Path::new(&name).extension();
        let is_called = |(known, _): &&(&str, &str)| extension.is_some_and(|it| it == *known);
        tools.extend(
            SOURCES_CALL_FOR
                .iter()
                .find(is_called)
                .map(|(_, tool)| tool),
        );
    }
    tools.sort_unstable();
    tools.dedup();
    tools.truncate(MOST);
    tools
}

/// The versions of the tools that the files at the top of this directory call for.
pub fn versions(directory: &Path) -> Vec<ToolVersion> {
    let tools = called_for(directory);
    thread::scope(|scope| {
        let ask = |name| scope.spawn(move || version(name));
        let asked: Vec<_> = tools.iter().map(|name| (*name, ask(*name))).collect();
        let told = asked.into_iter().map(|(name, told)| ToolVersion {
            name,
            version: told.join().unwrap_or_default(),
        });
        told.collect()
    })
}

/// The first version number that a tool prints; empty if it prints none.
fn version(name: &str) -> Option<String> {
    static NUMBER: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"[0-9]+(\.[0-9]+)+").expect("a test uses it"));
    let option = match name {
        "go" => "version",
        "java" => "-version",
        _ => "--version",
    };
    let mut command = programs::command(name).ok()?;
    command.arg(option).current_dir("/");
    let printed = printed(command).unwrap_or_default();
    let number = NUMBER.find(&printed);
    Some(number.map_or_else(String::new, |number| number.as_str().to_owned()))
}

fn printed(command: std::process::Command) -> Option<String> {
    /// The most that is read, in bytes.
    const MOST: usize = 16 * 1024;
    let mut tree = ChildTree::start(command, Stdio::null(), ChildSession::MadeBefore).ok()?;
    let deadline = Instant::now() + TIME;
    let (mut output, mut buffer) = (Vec::new(), [0; 4096]);
    while Instant::now() < deadline && output.len() < MOST {
        let left = deadline.saturating_duration_since(Instant::now());
        match tree.next(&mut buffer, left) {
            Ok(ChildEvent::Output(length)) => output.extend_from_slice(&buffer[..length]),
            Ok(ChildEvent::Quiet | ChildEvent::Closed) => {}
            Ok(ChildEvent::Ended) | Err(_) => break,
        }
    }
    tree.kill();
    while let Ok(ChildEvent::Output(length)) = tree.drain(&mut buffer, END)
        && output.len() < MOST
    {
        output.extend_from_slice(&buffer[..length]);
    }
    // A process that hangs in the kernel is left to it.
    let _ = tree.reap(END);
    Some(String::from_utf8_lossy(&output).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_of_a_project_call_for_tools() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(versions(directory.path()), []);
        std::fs::File::create(directory.path().join("Cargo.toml")).unwrap();
        std::fs::File::create(directory.path().join("build.zig")).unwrap();
        let found = versions(directory.path());
        assert_eq!(found.len(), 2);
        let cargo = found.iter().find(|tool| tool.name == "cargo").unwrap();
        let version = cargo.version.as_deref().unwrap();
        assert!(version.starts_with("1."), "{version}");
        for name in ["a.py", "b.py", "c.md"] {
            std::fs::File::create(directory.path().join(name)).unwrap();
        }
        assert_eq!(called_for(directory.path()), ["cargo", "python3", "zig"]);
    }

    #[cfg(unix)]
    #[test]
    fn a_tool_that_hangs_is_not_waited_for() {
        let mut command = programs::command("sleep").unwrap();
        command.arg("60");
        let began = Instant::now();
        assert_eq!(printed(command).as_deref(), Some(""));
        assert!(began.elapsed() < TIME * 3);
    }
}
