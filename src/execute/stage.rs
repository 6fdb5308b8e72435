//! A workspace in a temporary directory, for the tests of the rooms.

use std::fs;

use super::{Execution, Limits, Seen};
use crate::protocol::{Command, Outcome, RelPath, Step};
use crate::workspace::Workspace;

pub(super) struct Stage {
    pub(super) directory: tempfile::TempDir,
    pub(super) workspace: Workspace,
    pub(super) limits: Limits,
    pub(super) seen: Seen,
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
        seen: Seen::default(),
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

pub(super) fn create(name: &str, content: &str) -> Command {
    Command::CreateFile {
        path: path(name),
        content: content.to_owned(),
    }
}
