//! Golden replies: what chats really send, each with its parse beside it as a snapshot.
//!
//! The files of `tests/replies/` are parsed through the library, so nothing is executed. A snapshot
//! was read against the meaning of its reply before it was accepted.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use agent::protocol::Command;
use agent::reply::{Reply, decode, parse};
use serde_json::Value;

/// Why a prefix before every line stays where a fence stands around it.
const FENCE_LINES: &str = "a prefix counts only if every line has it, and the fence has none";

/// Replies that do not survive being carried in another way, with the reason.
const EXCEPTIONS: [(&str, Carried, &str); 2] = [
    (
        "escaped_markers_in_a_search_block_in_prose",
        Carried::InAFence,
        "a chat escapes its prose and never a code block, where a backslash is the file's own",
    ),
    (
        "plus_signs_before_every_line",
        Carried::InAFence,
        FENCE_LINES,
    ),
];

/// A way in which a whole reply comes to the inbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Carried {
    InAFence,
    WithCrLf,
    Quoted,
}

impl Carried {
    const ALL: [Self; 3] = [Self::InAFence, Self::WithCrLf, Self::Quoted];

    fn carry(self, text: &str) -> String {
        match self {
            Self::InAFence => format!("``````\n{}\n``````\n", text.trim_end_matches('\n')),
            Self::WithCrLf => text.replace('\n', "\r\n"),
            Self::Quoted => text
                .split_inclusive('\n')
                .fold(String::new(), |quoted, line| quoted + "> " + line),
        }
    }
}

#[test]
fn every_reply_means_what_its_snapshot_says() {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(folder().join("snapshots"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| {
        for (name, bytes) in replies() {
            insta::assert_snapshot!(name, rendered(&read(&bytes)));
        }
    });
}

#[test]
fn every_snapshot_has_its_reply() {
    let names: BTreeSet<String> = replies().into_iter().map(|(name, _)| name).collect();
    for file in files(&folder().join("snapshots")) {
        let name = stem(&file);
        let name = name.trim_end_matches(".snap");
        assert!(names.contains(name), "{}", file.display());
    }
}

/// A reply that was cut or pasted twice is told by its very shape, and a prompt by its first line.
#[test]
fn the_way_a_reply_is_carried_does_not_change_what_it_asks_for() {
    let mut failures = Vec::new();
    for (name, bytes) in replies() {
        let text = decode(&bytes).0.replace("\r\n", "\n").replace('\r', "\n");
        if ["cut", "twice", "outbox"]
            .iter()
            .any(|word| name.contains(word))
        {
            continue;
        }
        let plain = commands(parse(&text));
        for carried in Carried::ALL {
            let same = commands(parse(&carried.carry(&text))) == plain;
            let exempt = EXCEPTIONS
                .iter()
                .any(|(reply, way, _)| *reply == name && *way == carried);
            if same == exempt {
                failures.push(format!("{name} {carried:?}: same {same}"));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/replies")
}

/// The golden replies by name, as they were saved.
fn replies() -> Vec<(String, Vec<u8>)> {
    let read = |file: PathBuf| (stem(&file), fs::read(&file).unwrap());
    files(&folder()).into_iter().map(read).collect()
}

fn read(bytes: &[u8]) -> Reply {
    let (text, decoding) = decode(bytes);
    let mut reply = parse(&text);
    reply.repairs.splice(..0, decoding);
    reply
}

/// The files of a folder in the order of their names, hidden ones aside.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_file() && !stem(path).starts_with('.'))
        .collect();
    files.sort();
    files
}

fn stem(file: &Path) -> String {
    file.file_stem().unwrap().to_str().unwrap().to_owned()
}

fn commands(reply: Reply) -> Vec<(u32, Command)> {
    let numbered = |step: agent::protocol::Step| (step.number, step.command);
    reply.steps.into_iter().map(numbered).collect()
}

/// Everything of a reply but its prose, to be read by people.
fn rendered(reply: &Reply) -> String {
    let mut text = String::new();
    for step in &reply.steps {
        writeln!(text, "step {} on line {}", step.number, step.line).unwrap();
        fields(
            &serde_json::to_value(&step.command).unwrap(),
            "  ",
            &mut text,
        );
    }
    for issue in &reply.issues {
        writeln!(text, "issue").unwrap();
        fields(&serde_json::to_value(issue).unwrap(), "  ", &mut text);
    }
    for repair in &reply.repairs {
        let body = if repair.in_body { ", in a body" } else { "" };
        writeln!(text, "repair: {} ({}{body})", repair.what, repair.count).unwrap();
    }
    if let Some(cut) = &reply.cut {
        writeln!(text, "cut on line {}: {}", cut.line, cut.what).unwrap();
    }
    match &reply.end {
        Some(end) => writeln!(text, "{end}").unwrap(),
        None => writeln!(text, "no end mark").unwrap(),
    }
    text
}

/// Writes the parts of a value below its title.
fn fields(value: &Value, indent: &str, text: &mut String) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                field(key, value, indent, text);
            }
        }
        Value::Array(list) => {
            for value in list {
                match value.as_object().filter(|map| map.len() == 1) {
                    Some(_) => fields(value, indent, text),
                    None => field("-", value, indent, text),
                }
            }
        }
        _ => {}
    }
}

/// Writes one part: a text of several lines stands behind a bar.
fn field(key: &str, value: &Value, indent: &str, text: &mut String) {
    match value {
        Value::Object(_) | Value::Array(_) => {
            writeln!(text, "{indent}{key}").unwrap();
            fields(value, &format!("{indent}  "), text);
        }
        Value::String(string) if string.contains('\n') => {
            let is_whole = string.ends_with('\n');
            let ending = if is_whole { "" } else { ", no newline at end" };
            writeln!(text, "{indent}{key}{ending}").unwrap();
            for line in string.split_terminator('\n') {
                writeln!(text, "{indent}  |{}", visible(line)).unwrap();
            }
        }
        Value::String(string) => writeln!(text, "{indent}{key}: |{}", visible(string)).unwrap(),
        other => writeln!(text, "{indent}{key}: {other}").unwrap(),
    }
}

/// The line with invisible characters, and spaces at its end, written so that they are seen.
fn visible(line: &str) -> String {
    let mut text = String::new();
    let end = line.trim_end_matches(' ').len();
    for c in line[..end].chars() {
        let is_seen =
            c == ' ' || !(c.is_control() || c.is_whitespace() || "\u{200b}\u{feff}".contains(c));
        if is_seen {
            text.push(c);
        } else {
            text.extend(c.escape_unicode());
        }
    }
    text.extend(line[end..].chars().map(|_| '\u{b7}'));
    text
}

/// The replies of chats that knew nothing but the text of our messages, in ten tasks played to
/// their end.
#[test]
fn replies_to_our_own_instructions_break_no_format() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/replies/played");
    let mut tasks = BTreeSet::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let reply = parse(&decode(&fs::read(&path).unwrap()).0);
        assert!(!reply.steps.is_empty(), "{name}");
        assert!(reply.issues.is_empty(), "{name}: {:?}", reply.issues);
        assert!(reply.end.is_some() && reply.cut.is_none(), "{name}");
        let is_done = reply
            .steps
            .iter()
            .any(|step| matches!(step.command, Command::Done { .. }));
        let (task, _) = name.rsplit_once('_').unwrap();
        if is_done {
            tasks.insert(task.to_owned());
        }
    }
    assert_eq!(tasks.len(), 10, "{tasks:?}");
}
