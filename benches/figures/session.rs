//! A real `agent new` that is driven through its files, and tells in JSON what it does.

use std::error::Error;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Stdio};
use std::time::{Duration, Instant};

use crate::measure::agent;

/// A session under way; it is killed when it goes out of scope.
pub(crate) struct Session {
    base: tempfile::TempDir,
    child: Child,
    events: BufReader<ChildStdout>,
    id: String,
    sequence: u64,
    outbox: PathBuf,
    first_outbox: Duration,
}

/// The message that the program said it wrote.
struct Published {
    sequence: u64,
    path: PathBuf,
}

impl Session {
    /// Begins a session in a directory of its own and waits for its first outbox.
    pub(crate) fn begin() -> Result<Self, Box<dyn Error>> {
        let base = tempfile::tempdir()?;
        let workspace = base.path().join("workspace");
        std::fs::create_dir(&workspace)?;
        Self::begin_in(base, &workspace)
    }

    /// Begins a session on files that are there already and waits for its first outbox.
    pub(crate) fn begin_on(workspace: &Path) -> Result<Self, Box<dyn Error>> {
        Self::begin_in(tempfile::tempdir()?, workspace)
    }

    fn begin_in(base: tempfile::TempDir, workspace: &Path) -> Result<Self, Box<dyn Error>> {
        let began = Instant::now();
        let mut child = agent()
            .args(["new", "--json", "--max-rounds", "5000", "--workspace"])
            .arg(workspace)
            .arg("measure the rounds")
            .current_dir(base.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()?;
        let events = child.stdout.take().ok_or("no standard output")?;
        let mut session = Self {
            base,
            child,
            events: BufReader::new(events),
            id: String::new(),
            sequence: 0,
            outbox: PathBuf::new(),
            first_outbox: Duration::ZERO,
        };
        let Published { sequence, path } = session.next_outbox()?;
        session.first_outbox = began.elapsed();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        session.id = name.chars().take(8).collect();
        session.sequence = sequence;
        session.outbox = path;
        Ok(session)
    }

    /// Saves a reply with this round's end mark, and gives the time from its closing until the
    /// program says that the next outbox is on the disk.
    pub(crate) fn round(&mut self, commands: &str) -> Result<Duration, Box<dyn Error>> {
        let reply = format!("{commands}[END {}#{}]\n", self.id, self.sequence);
        let path = self.base.path().join("inbox/reply.txt");
        let mut file = File::create(path)?;
        file.write_all(reply.as_bytes())?;
        let began = Instant::now();
        drop(file);
        let Published { sequence, path } = self.next_outbox()?;
        let time = began.elapsed();
        if sequence != self.sequence + 1 {
            return Err(format!("outbox {sequence} after {}", self.sequence).into());
        }
        self.sequence = sequence;
        self.outbox = path;
        Ok(time)
    }

    /// The time from the start of the program until its first outbox was there.
    pub(crate) fn first_outbox(&self) -> Duration {
        self.first_outbox
    }

    /// The last outbox.
    pub(crate) fn outbox(&self) -> &PathBuf {
        &self.outbox
    }

    /// The base directory.
    pub(crate) fn base(&self) -> &Path {
        self.base.path()
    }

    /// The name of the session.
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// The process.
    pub(crate) fn process(&self) -> u32 {
        self.child.id()
    }

    fn next_outbox(&mut self) -> Result<Published, Box<dyn Error>> {
        let mut line = String::new();
        while self.events.read_line(&mut line)? > 0 {
            let event: serde_json::Value = serde_json::from_str(&line)?;
            if event["event"] == "outbox" {
                return Ok(Published {
                    sequence: event["sequence"].as_u64().unwrap_or_default(),
                    path: event["path"].as_str().unwrap_or_default().into(),
                });
            }
            line.clear();
        }
        Err("the session ended".into())
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
