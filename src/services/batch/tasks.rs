//! The file of tasks: a JSON object a line, read and judged as a whole before anything runs.
//!
//! `task` is required. `id`, `directory`, `worktree` and `commit` say where and how it is done; every
//! other key is a setting, named like its flag with underscores (`max_rounds` is `--max-rounds`).

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::Value as Json;

use crate::error::{Error, Result};
use crate::escape::escape_line;
use crate::settings::{KEYS, Key, Loosens, Shape, nearest};

/// The largest file of tasks, in bytes.
const LARGEST: u64 = 64 << 20;
/// The longest ID.
const LONGEST_ID: usize = 64;
/// How many bad lines are named.
const NAMED_LINES: usize = 20;
/// The keys that are no settings.
const OWN_KEYS: [&str; 5] = ["task", "id", "directory", "worktree", "commit"];

/// A task of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BatchTask {
    /// Its name, from which its folder and its branch are named.
    pub id: String,
    /// The line in the file, from 1.
    pub line: usize,
    /// The task for the model.
    pub task: String,
    /// Where the model works.
    pub place: TaskPlace,
    /// True if each round that passes the check is committed.
    pub commits: bool,
    /// Settings of its own, by their flags.
    pub settings: Vec<(&'static str, String)>,
    /// The identity of the line, by its content.
    pub fingerprint: String,
}

/// Where the model works on a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TaskPlace {
    /// In an empty folder of its own.
    Own,
    /// In this directory, in place.
    Directory(PathBuf),
    /// In a new worktree of this git repository.
    Worktree(PathBuf),
}

/// The file of tasks cannot be read.
pub(super) fn unreadable(file: &Path, cause: std::io::Error) -> Error {
    Error::usage(format!("could not read `{}`", file.display()))
        .because(cause)
        .hint("name a file with a JSON object on each line")
}

/// Reads a file of tasks; the error names every line that cannot be used.
pub(super) fn read(file: &Path) -> Result<Vec<BatchTask>> {
    let bytes = crate::fs::read_plain(file, LARGEST).map_err(|cause| unreadable(file, cause))?;
    let text = String::from_utf8(bytes).map_err(|_| {
        Error::usage(format!("`{}` is not UTF-8", file.display())).hint("save it as UTF-8")
    })?;
    let above = file.parent().unwrap_or(Path::new(""));
    let (tasks, problems) = parse(text.trim_start_matches('\u{feff}'), above);
    if problems.is_empty() {
        return Ok(tasks);
    }
    let more = problems.len().saturating_sub(NAMED_LINES);
    let mut named: Vec<String> = problems.into_iter().take(NAMED_LINES).collect();
    if more > 0 {
        named.push(format!("and {more} more"));
    }
    Err(Error::usage(format!(
        "nothing was begun: `{}` has lines that cannot be used\n  {}",
        file.display(),
        named.join("\n  ")
    ))
    .hint("`docs/batch.md` and `agent help settings` list the keys"))
}

/// The tasks of a text, and the problem of each line that has one.
fn parse(text: &str, above: &Path) -> (Vec<BatchTask>, Vec<String>) {
    let (mut tasks, mut problems) = (Vec::new(), Vec::new());
    let mut ids: BTreeMap<String, usize> = BTreeMap::new();
    for (number, line) in (1..).zip(text.lines()) {
        if line.trim().is_empty() {
            continue;
        }
        let task = match parse_line(number, line, above) {
            Ok(task) => task,
            Err(problem) => {
                problems.push(format!("line {number}: {problem}"));
                continue;
            }
        };
        // Folders of the same name in another letter case are one folder on some systems.
        match ids.insert(task.id.to_lowercase(), number) {
            Some(first) => problems.push(format!(
                "line {number}: the id `{}` is that of line {first}",
                task.id
            )),
            None => tasks.push(task),
        }
    }
    (tasks, problems)
}

fn parse_line(number: usize, line: &str, above: &Path) -> Result<BatchTask, String> {
    let object: BTreeMap<String, Json> = serde_json::from_str(line).map_err(|cause| {
        if line.trim_start().starts_with('{') {
            format!("this is not valid JSON: {cause}")
        } else {
            "this is not a JSON object".to_owned()
        }
    })?;
    let mut settings = Vec::new();
    for (name, value) in &object {
        if !OWN_KEYS.contains(&name.as_str()) {
            settings.push(setting(name, value)?);
        }
    }
    let text = |name: &str| match object.get(name) {
        None => Ok(None),
        Some(Json::String(text)) if !text.trim().is_empty() => Ok(Some(text.as_str())),
        Some(Json::String(_)) => Err(format!("`{name}` is empty")),
        Some(_) => Err(format!("`{name}` must be a string")),
    };
    let task = text("task")?.ok_or("there is no `task`")?.to_owned();
    let id = match object.get("id") {
        Some(Json::Number(id)) => id.to_string(),
        _ => text("id")?.map_or_else(|| number.to_string(), str::to_owned),
    };
    ensure_id(&id)?;
    let place = match (text("directory")?, text("worktree")?) {
        (None, None) => TaskPlace::Own,
        (Some(directory), None) => TaskPlace::Directory(real_directory(above, directory)?),
        (None, Some(repository)) => TaskPlace::Worktree(real_directory(above, repository)?),
        (Some(_), Some(_)) => return Err("`directory` and `worktree` exclude each other".into()),
    };
    let commits = match object.get("commit") {
        None | Some(Json::Bool(false)) => false,
        Some(Json::Bool(true)) if place == TaskPlace::Own => {
            return Err("`commit` goes with `worktree` or `directory`".to_owned());
        }
        Some(Json::Bool(true)) => true,
        Some(_) => return Err("`commit` must be true or false".to_owned()),
    };
    let canonical = serde_json::to_vec(&object).map_err(|cause| cause.to_string())?;
    Ok(BatchTask {
        id,
        line: number,
        task,
        place,
        commits,
        settings,
        fingerprint: blake3::hash(&canonical).to_hex().to_string(),
    })
}

/// A setting of a task, by its flag.
fn setting(name: &str, value: &Json) -> Result<(&'static str, String), String> {
    let shown = escape_line(name);
    let flag = name.replace('_', "-");
    let key = Key::with_flag(&flag).filter(|_| !name.contains('-') && !flag.starts_with('-'));
    let Some(key) = key else {
        return Err(match nearest(name, names().iter().map(String::as_str)) {
            Some(meant) => format!("unknown key `{shown}`; did you mean `{meant}`?"),
            None => format!("unknown key `{shown}`"),
        });
    };
    if let Some(why) = not_for_tasks(key) {
        return Err(format!("`{shown}` {why}"));
    }
    let text = match value {
        Json::String(text) => text.clone(),
        Json::Number(number) => number.to_string(),
        _ => return Err(format!("`{shown}` must be a string or a number")),
    };
    match key.shape.read_text(&text) {
        Ok(_) => Ok((key.flag, text)),
        Err(problem) => Err(format!("the value of `{shown}` {problem}")),
    }
}

/// The reason why a setting cannot be one of a task, if there is one.
pub(super) fn not_for_tasks(key: &Key) -> Option<&'static str> {
    if key.shape == Shape::Directory {
        return Some(
            "is decided by the batch: use `directory` or `worktree`, and `--state` for its records",
        );
    }
    // A file of tasks may come with a project.
    if key.name == "Runner" {
        return Some("is not taken from a file of tasks: `Runner` of your own settings counts");
    }
    (key.loosens == Loosens::Personal)
        .then_some("decides where your key goes: give it by flag or environment, for all tasks")
}

/// The names of all keys.
fn names() -> BTreeSet<String> {
    let settings = KEYS.iter().filter(|key| not_for_tasks(key).is_none());
    let settings = settings.map(|key| key.flag.trim_start_matches('-').replace('-', "_"));
    settings
        .chain(OWN_KEYS.iter().map(ToString::to_string))
        .collect()
}

/// Refuses an ID that cannot be the name of a folder and of a branch everywhere.
fn ensure_id(id: &str) -> Result<(), String> {
    let is_fine = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let is_name = id.len() <= LONGEST_ID
        && id.chars().all(is_fine)
        && id.starts_with(|c: char| c.is_ascii_alphanumeric())
        && !id.contains("..")
        && !id.ends_with('.')
        && !id.to_ascii_lowercase().ends_with(".lock");
    if is_name {
        return Ok(());
    }
    Err(format!(
        "the id `{}` is no name for a folder and a branch: use up to {LONGEST_ID} letters, digits, `.`, `_` and `-`",
        escape_line(id)
    ))
}

fn real_directory(above: &Path, named: &str) -> Result<PathBuf, String> {
    let path = above.join(named);
    match crate::fs::canonical(&path) {
        Ok(real) if real.is_dir() => Ok(real),
        Ok(_) => Err(format!("`{}` is not a directory", escape_line(named))),
        Err(cause) => Err(format!("there is no `{}`: {cause}", escape_line(named))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn problem(line: &str, expected: &str) {
        let (_, problems) = parse(&format!("\n{line}\n"), Path::new("/"));
        assert_eq!(problems, [format!("line 2: {expected}")]);
    }

    #[test]
    fn a_line_that_cannot_be_used_is_named_with_its_reason() {
        problem("[1]", "this is not a JSON object");
        problem("{}", "there is no `task`");
        problem("{\"task\": \" \"}", "`task` is empty");
        problem("{\"task\": 3}", "`task` must be a string");
        let unknown = "unknown key `modle`; did you mean `model`?";
        problem("{\"task\": \"x\", \"modle\": \"y\"}", unknown);
        problem("{\"task\": \"x\", \"zzzzzzz\": 1}", "unknown key `zzzzzzz`");
        let runner =
            "`runner` is not taken from a file of tasks: `Runner` of your own settings counts";
        problem("{\"task\": \"x\", \"runner\": \"exec:sh\"}", runner);
        problem(
            "{\"task\": \"x\", \"max_rounds\": [1]}",
            "`max_rounds` must be a string or a number",
        );
        let both = "{\"task\": \"x\", \"directory\": \"/\", \"worktree\": \"/\"}";
        problem(both, "`directory` and `worktree` exclude each other");
        let own = "{\"task\": \"x\", \"commit\": true}";
        problem(own, "`commit` goes with `worktree` or `directory`");
        for key in ["api_url", "api_key_command"] {
            let line = format!("{{\"task\": \"x\", \"{key}\": \"y\"}}");
            let (_, problems) = parse(&line, Path::new("/"));
            assert!(
                problems[0].contains("decides where your key goes"),
                "{problems:?}"
            );
        }
        for id in ["../x", "a/b", ".a", "-a", "a..b", "a.lock", "a b", "ä"] {
            let line = format!("{{\"task\": \"x\", \"id\": \"{id}\"}}");
            let (tasks, problems) = parse(&line, Path::new("/"));
            assert!(
                tasks.is_empty() && problems[0].contains("is no name"),
                "{id}"
            );
        }
    }

    #[test]
    fn a_task_has_an_id_of_its_own_and_the_settings_of_its_line() {
        let text = "{\"task\": \"a\"}\n\n{\"task\": \"b\", \"id\": \"B\", \"max_rounds\": 3, \"check\": \"make\"}\n{\"task\": \"c\", \"id\": \"b\"}\n";
        let (tasks, problems) = parse(text, Path::new("/"));
        let ids: Vec<&str> = tasks.iter().map(|task| task.id.as_str()).collect();
        assert_eq!(ids, ["1", "B"]);
        let settings = [
            ("--check", "make".to_owned()),
            ("--max-rounds", "3".to_owned()),
        ];
        assert_eq!(tasks[1].settings, settings);
        assert_eq!(problems, ["line 4: the id `b` is that of line 3"]);
    }

    #[test]
    fn the_lines_of_the_page_can_be_used() {
        let page = include_str!("../../../docs/batch.md").replace("\r\n", "\n");
        let lines = page.split("```jsonl\n").nth(1).unwrap();
        let lines = lines.split("```").next().unwrap();
        let (tasks, problems) = parse(lines, Path::new("/"));
        assert_eq!((tasks.len(), problems), (3, Vec::<String>::new()));
    }

    #[test]
    fn the_order_of_keys_does_not_make_another_task() {
        let print = |text: &str| parse(text, Path::new("/")).0.remove(0).fingerprint;
        let one = print("{\"task\": \"a\", \"id\": \"x\"}");
        assert_eq!(one, print("{ \"id\": \"x\", \"task\": \"a\" }"));
        assert_ne!(one, print("{\"task\": \"b\", \"id\": \"x\"}"));
    }
}
