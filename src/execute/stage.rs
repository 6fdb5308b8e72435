//! A workspace in a temporary directory, for the tests of the rooms.

use std::fs;

use super::read::{read_file, unveiled};
use super::{Execution, Limits};
use crate::protocol::{
    Command, Edit, FileChange, Hunk, HunkLine, Outcome, ReadRequest, RelPath, Replacement,
    SeenFiles, Selection, Status, Step,
};
use crate::workspace::Workspace;

pub(super) struct Stage {
    pub(super) directory: tempfile::TempDir,
    pub(super) workspace: Workspace,
    pub(super) limits: Limits,
    pub(super) seen: SeenFiles,
}

/// A workspace with these files.
pub(super) fn stage(files: &[(&str, &str)]) -> Stage {
    let directory = tempfile::tempdir().unwrap();
    let workspace = Workspace::open(directory.path()).unwrap();
    for (name, content) in files {
        workspace.write(&path(name), content.as_bytes()).unwrap();
    }
    Stage {
        directory,
        workspace,
        limits: Limits::default(),
        seen: SeenFiles::default(),
    }
}

impl Stage {
    /// Executes the commands of one reply.
    pub(super) fn reply(&mut self, commands: Vec<Command>) -> Vec<Outcome> {
        let steps: Vec<Step> = (1..)
            .zip(commands)
            .map(|(number, command)| Step {
                number,
                line: 1,
                command,
            })
            .collect();
        let mut execution = Execution::begin(&self.workspace, &self.limits, &mut self.seen, &steps);
        let outcomes = steps.iter().map(|step| execution.step(step)).collect();
        execution.finish();
        outcomes
    }

    /// Executes a reply of one command.
    pub(super) fn one(&mut self, command: Command) -> Outcome {
        self.reply(vec![command]).remove(0)
    }

    /// Executes a reply of which every step must succeed.
    #[track_caller]
    pub(super) fn succeeds(&mut self, commands: Vec<Command>) {
        for outcome in self.reply(commands) {
            assert_eq!(outcome.status, Status::Ok, "{outcome:?}");
        }
    }

    /// Executes a reply of one command, which must fail with these words.
    #[track_caller]
    pub(super) fn fails(&mut self, command: Command, words: &str) -> Outcome {
        let outcome = self.one(command);
        assert_eq!(outcome.status, Status::Failed, "{outcome:?}");
        let line = outcome.line_for_model();
        assert!(line.contains(words), "{line}");
        outcome
    }

    /// Shows a file to the model, as at the end of a round.
    pub(super) fn show(&mut self, name: &str) {
        self.show_lines(name, 1, u32::MAX);
    }

    /// Shows some lines of it.
    pub(super) fn show_lines(&mut self, name: &str, start: u32, end: u32) {
        let request = ReadRequest {
            path: path(name),
            start_line: Some(start),
            end_line: Some(end),
            numbered: true,
            step: 0,
        };
        let shown = read_file(&self.workspace, &request, &self.limits, &mut unveiled);
        self.seen.note_sighting(&shown.sighting.unwrap());
    }

    /// Changes a file behind the model's back.
    pub(super) fn change(&self, name: &str, content: &str) {
        let content = content.as_bytes();
        self.workspace.write(&path(name), content).unwrap();
    }

    pub(super) fn bytes(&self, name: &str) -> Vec<u8> {
        fs::read(self.directory.path().join(name)).unwrap()
    }

    pub(super) fn text(&self, name: &str) -> String {
        String::from_utf8(self.bytes(name)).unwrap()
    }
}

pub(super) fn path(text: &str) -> RelPath {
    RelPath::parse(text).unwrap()
}

pub(super) fn files(text: &str) -> Selection {
    Selection::parse(text).unwrap()
}

pub(super) fn create(name: &str, content: &str) -> Command {
    Command::create_file(path(name), content.to_owned())
}

pub(super) fn lines(name: &str, start_line: u32, end_line: u32, text: &str) -> Command {
    Command::EditFile {
        path: path(name),
        edit: Edit::Lines {
            start_line,
            end_line,
            text: text.to_owned(),
        },
    }
}

pub(super) fn insert(name: &str, line: u32, text: &str) -> Command {
    Command::InsertText {
        path: path(name),
        line,
        text: text.to_owned(),
    }
}

pub(super) fn replace(name: &str, blocks: &[(&str, &str)]) -> Command {
    let block = |(search, replace): &(&str, &str)| Replacement::lines(*search, *replace);
    Command::EditFile {
        path: path(name),
        edit: Edit::Replace {
            edits: blocks.iter().map(block).collect(),
        },
    }
}

pub(super) fn delete(name: &str) -> Command {
    Command::DeleteFile { path: path(name) }
}

pub(super) fn rename(from: &str, to: &str) -> Command {
    Command::MoveFile {
        from: path(from),
        to: path(to),
    }
}

pub(super) fn run(script: &str) -> Command {
    Command::RunCommand {
        script: script.to_owned(),
        timeout: None,
    }
}

/// A change of lines: ` kept`, `-removed`, `+added`.
pub(super) fn update(name: &str, lines: &[&str]) -> FileChange {
    FileChange::Update {
        path: path(name),
        move_to: None,
        copy: false,
        overwrite: false,
        mode: None,
        hunks: vec![hunk(lines)],
    }
}

pub(super) fn hunk(lines: &[&str]) -> Hunk {
    let line = |line: &&str| match line.split_at(1) {
        ("+", text) => HunkLine::Add(text.to_owned()),
        ("-", text) => HunkLine::Remove(text.to_owned()),
        (_, text) => HunkLine::Keep(text.to_owned()),
    };
    Hunk {
        lines: lines.iter().map(line).collect(),
        ..Hunk::default()
    }
}

pub(super) fn patch(changes: Vec<FileChange>) -> Command {
    Command::ApplyPatch { changes }
}
