//! Compares work that a reply only shows with the commands that it has.
//!
//! A model often explains a change above the command that makes it. Shown work counts as carried
//! out if a command changes its file, or if all its lines stand in commands.

use std::cell::OnceCell;
use std::collections::HashSet;

use agent_protocol::{Command, Edit, FileChange, HunkLine, RelPath, Step};

use crate::candidate::DoubtedMeaning;
use crate::trim::trim;

/// The files and the lines of the commands of a reply.
pub(super) struct CarriedOut<'s> {
    steps: &'s [Step],
    /// Files that the commands change, with and without their directories, once somebody asked.
    names: OnceCell<HashSet<&'s str>>,
    /// Lines that the commands write or run, once somebody asked: few replies show work.
    lines: OnceCell<HashSet<&'s str>>,
    /// True if the reply says that the work is done.
    pub(super) ends_session: bool,
}

impl<'s> CarriedOut<'s> {
    pub(super) fn by(steps: &'s [Step]) -> Self {
        let is_done = |step: &Step| matches!(step.command, Command::Done { .. });
        Self {
            steps,
            names: OnceCell::new(),
            lines: OnceCell::new(),
            ends_session: steps.iter().any(is_done),
        }
    }

    fn commands(&self) -> impl Iterator<Item = &'s Command> {
        self.steps.iter().map(|step| &step.command)
    }

    /// Returns true if a command changes the file of this name.
    pub(super) fn changes(&self, name: &str) -> bool {
        let paths = || self.commands().flat_map(Command::changed_paths);
        let both = |path: &'s RelPath| [path.as_str(), path.file_name()];
        let names = self.names.get_or_init(|| paths().flat_map(both).collect());
        names.contains(name.trim_start_matches("./"))
    }

    /// Returns true if a command that was only talked about is a failure, which keeps the session
    /// open.
    ///
    /// A command that the reply has elsewhere was only announced.
    pub(super) fn lacks(&self, meant: &DoubtedMeaning) -> bool {
        let any = |is_it: &dyn Fn(&Command) -> bool| self.commands().any(is_it);
        let ends = self.ends_session;
        match meant {
            DoubtedMeaning::Nothing => false,
            DoubtedMeaning::Certain => true,
            DoubtedMeaning::Command(command) => ends && !any(&|it| it == command),
            DoubtedMeaning::Named(name) => ends && !any(&|it| it.name() == name.as_str()),
            DoubtedMeaning::Shown(shown) => ends && !self.holds(shown),
            DoubtedMeaning::Announced(name, words) => {
                !any(&|it| it.name() == name.as_str() && announces(words, it))
            }
        }
    }

    /// Returns true if the commands do what is shown.
    pub(super) fn holds(&self, shown: &ShownWork) -> bool {
        shown.files.iter().any(|name| self.changes(name)) || self.has_lines(shown)
    }

    /// Returns true if all lines that are shown stand in commands.
    pub(super) fn has_lines(&self, shown: &ShownWork) -> bool {
        let has_words = |line: &&str| line.contains(char::is_alphanumeric);
        let lines = shown.lines.iter().map(|line| trim(line));
        let mut lines = lines.filter(has_words).peekable();
        lines.peek().is_some() && lines.all(|line| self.lines().contains(line))
    }

    fn lines(&self) -> &HashSet<&'s str> {
        let texts = || self.commands().flat_map(texts).flat_map(str::lines);
        self.lines.get_or_init(|| texts().map(trim).collect())
    }
}

/// Work that a reply shows without a command.
#[derive(Debug, Default)]
pub(super) struct ShownWork {
    /// The file that it changes, if it names one; more than one only if any of them may be meant.
    pub(super) files: Vec<String>,
    /// The lines that it writes or runs.
    pub(super) lines: Vec<String>,
}

impl ShownWork {
    pub(super) fn lines<'l>(lines: impl IntoIterator<Item = &'l &'l str>) -> Self {
        const MOST: usize = 5_000;
        let lines = lines.into_iter().take(MOST);
        Self {
            files: Vec::new(),
            lines: lines.map(|line| (*line).to_owned()).collect(),
        }
    }

    pub(super) fn of_files<'n>(mut self, names: impl IntoIterator<Item = &'n str>) -> Self {
        self.files = names.into_iter().map(str::to_owned).collect();
        self
    }

    pub(super) fn of_file(self, name: &str) -> Self {
        self.of_files([name])
    }

    /// The lines that a diff adds or that a SEARCH/REPLACE block puts in.
    pub(super) fn added(lines: &[&str]) -> Self {
        const MOST: usize = 500;
        let lines = &lines[..lines.len().min(MOST)];
        let is_divider = |line: &&str| line.len() >= 5 && line.bytes().all(|byte| byte == b'=');
        let divider = lines.iter().position(|line| is_divider(&trim(line)));
        let end = lines
            .iter()
            .position(|line| trim(line).starts_with(">>>>>"));
        if let (Some(divider), Some(end)) = (divider, end)
            && divider < end
        {
            return Self::lines(&lines[divider + 1..end]);
        }
        let added = lines.iter().filter_map(|line| line.strip_prefix('+'));
        let added: Vec<&str> = added.filter(|line| !line.starts_with("++")).collect();
        Self::lines(&added)
    }
}

/// The texts that a command writes or runs.
fn texts(command: &Command) -> Vec<&str> {
    match command {
        Command::CreateFile { content: text, .. }
        | Command::InsertText { text, .. }
        | Command::EditFile {
            edit: Edit::Lines { text, .. },
            ..
        }
        | Command::RunCommand { script: text, .. } => vec![text],
        Command::EditFile {
            edit: Edit::Replace { edits },
            ..
        } => edits.iter().map(|edit| edit.replace.as_str()).collect(),
        Command::ApplyPatch { changes } => changes.iter().flat_map(added_by).collect(),
        _ => Vec::new(),
    }
}

fn added_by(change: &FileChange) -> Vec<&str> {
    let hunks = match change {
        FileChange::Add { content, .. } => return vec![content],
        FileChange::Update { hunks, .. } | FileChange::Delete { hunks, .. } => hunks,
    };
    let lines = hunks.iter().flat_map(|hunk| &hunk.lines);
    lines.filter_map(HunkLine::after).collect()
}

/// Returns true if words tell of a command that the reply has: `src/a.py with the parser`.
fn announces(words: &str, command: &Command) -> bool {
    if let Command::RunCommand { script, .. } = command {
        let first = script.lines().map(str::trim).find(|line| !line.is_empty());
        return first.is_some_and(|line| words.contains(line));
    }
    let paths = command.changed_paths();
    paths.iter().any(|path| words.contains(path.as_str()))
}
