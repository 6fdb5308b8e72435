//! The limits of a confined command, and what still works inside them, with the real program.
//!
//! An attack is a script that exits with 0 if it succeeded. Each is run confined, where it must
//! fail, and where that does no harm also plain, where it must succeed: else it proves nothing.

#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test that cannot be set up has failed, and starts programs as it likes"
)]

mod backends;
mod files;
mod kernel;
mod processes;
mod repository;
mod usable;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use agent::runner::{Granted, Job, LocalRunner, Program, Ran, RunEnd, Runner as _};
use agent::sandbox::{Author, Backend, Confinement};

const TIMEOUT: Duration = Duration::from_secs(30);

/// A home with a workspace in it.
struct Place {
    directory: tempfile::TempDir,
    confinement: Confinement,
}

impl Place {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let home = fs::canonicalize(directory.path()).unwrap().join("home");
        let workspace = home.join("work");
        fs::create_dir_all(&workspace).unwrap();
        fs::create_dir(home.join(".ssh")).unwrap();
        write(&home.join(".ssh/key"), "secret");
        let mut confinement = Confinement::of_workspace(&workspace);
        confinement.launcher = PathBuf::from(env!("CARGO_BIN_EXE_agent"));
        confinement.home = home;
        confinement.author = Some(Author {
            name: "A B".to_owned(),
            email: "a@example.org".to_owned(),
        });
        // For trying the whole of this against a weaker one by hand.
        if let Ok(name) = std::env::var("BACKEND") {
            let named = Backend::ALL
                .into_iter()
                .find(|backend| backend.name() == name);
            confinement.backend = named.unwrap();
        }
        Self {
            directory,
            confinement,
        }
    }

    fn with(change: impl FnOnce(&mut Confinement)) -> Self {
        let mut place = Self::new();
        change(&mut place.confinement);
        place
    }

    fn at(&self, path: &str) -> PathBuf {
        self.confinement.workspace.join(path)
    }

    fn file(self, path: &str, content: &str) -> Self {
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        write(&path, content);
        self
    }

    fn run(
        &self,
        program: Program<'_>,
        confinement: Option<&Confinement>,
        timeout: Duration,
    ) -> Ran {
        let home = self.confinement.home.to_str().unwrap();
        let confinement = confinement.map(|confinement| {
            let mut confinement = confinement.clone();
            confinement.find_repository();
            confinement
        });
        LocalRunner::default().run(Job {
            program,
            directory: &self.confinement.workspace,
            environment: &[("HOME", home)],
            timeout,
            max_output: 4000,
            cancelled: &AtomicBool::new(false),
            on_output: &mut |_| {},
            confinement: confinement.as_ref(),
            withheld: None,
            granted: Granted::default(),
        })
    }

    fn inside(&self, script: &str) -> Ran {
        self.run(Program::Shell(script), Some(&self.confinement), TIMEOUT * 4)
    }

    /// Returns true if a script works without any sandbox.
    fn plain(&self, script: &str) -> bool {
        self.run(Program::Shell(script), None, TIMEOUT * 4).end == RunEnd::Exited(0)
    }

    #[track_caller]
    fn prints(&self, script: &str, expected: &str) {
        let ran = self.inside(script);
        assert_eq!(
            (ran.end, ran.output.text.as_str()),
            (RunEnd::Exited(0), expected),
            "{script}"
        );
    }

    #[track_caller]
    fn works(&self, script: &str) {
        let ran = self.inside(script);
        assert_eq!(ran.end, RunEnd::Exited(0), "{script}: {}", ran.output.text);
    }

    #[track_caller]
    fn fails(&self, script: &str) {
        let ran = self.inside(script);
        assert!(
            matches!(ran.end, RunEnd::Exited(1..) | RunEnd::Signalled(_)),
            "{script}: {ran:?}"
        );
    }

    /// The attack fails confined and succeeds plain.
    #[track_caller]
    fn withstands(&self, script: &str) {
        self.fails(script);
        let ran = self.run(Program::Shell(script), None, TIMEOUT);
        assert_eq!(ran.end, RunEnd::Exited(0), "{script}: {}", ran.output.text);
    }
}

fn write(path: &Path, content: &str) {
    agent::fs::write_atomic(path, content.as_bytes(), agent::fs::Durability::Atomic).unwrap();
}
