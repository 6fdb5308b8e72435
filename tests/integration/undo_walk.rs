//! Random walks: commands do anything to files, undo and redo go back and forth, and after each step
//! the workspace is held against a model.
//!
//! `AGENT_WALKS=100 cargo test --test integration undo_walk` walks more often than `cargo test` does.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Output;

use crate::harness::{Finished, Test, agent};

/// How many steps a walk has.
const STEPS: usize = 24;

const PATHS: [&str; 8] = ["a", "b", "d", "d/a", "d/b", "d/e", "d/e/a", "f/a"];

/// A directory that no checkpoint looks into.
const IGNORED: [&str; 4] = ["cache/x", "cache/y", "cache/deep/x", "cache/deep/y"];

/// Numbers that are the same for the same seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        // The multiplier of Knuth's MMIX; the upper half of the state is random enough.
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % limit
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Entry {
    File(Vec<u8>, u32),
    Link(PathBuf),
    Directory(u32),
}

type Tree = BTreeMap<PathBuf, Entry>;

/// Everything beneath a directory.
fn tree(root: &Path) -> Tree {
    let mut found = Tree::new();
    let mut open = vec![root.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let metadata = path.symlink_metadata().unwrap();
            let mode = metadata.permissions().mode() & 0o7777;
            let entry = if metadata.is_symlink() {
                Entry::Link(fs::read_link(&path).unwrap())
            } else if metadata.is_dir() {
                open.push(path.clone());
                Entry::Directory(mode)
            } else {
                Entry::File(fs::read(&path).unwrap(), mode)
            };
            found.insert(path.strip_prefix(root).unwrap().to_owned(), entry);
        }
    }
    found
}

/// A round that changed what checkpoints cover.
#[derive(Debug, Clone)]
struct Round {
    number: u32,
    before: Tree,
    after: Tree,
}

struct Walk {
    dice: Dice,
    session: Option<Finished>,
    base: PathBuf,
    next_round: u32,
    undoable: Vec<Round>,
    redoable: Vec<Vec<Round>>,
    /// The walk so far, printed with a failure.
    log: String,
}

impl Walk {
    fn begin(seed: u64) -> Self {
        let session = Test::new(&["new", "--no-wait", "--max-rounds", "1000", "walk"])
            .file("appsettings.json", "{\"Agent\":{}}")
            .file("workspace/.gitignore", "cache/\n*.log\n")
            .file("workspace/a", "a\n")
            .file("workspace/d/b", "b\n")
            .file("workspace/cache/x", "precious x\n")
            .file("workspace/cache/y", "precious y\n")
            .file("workspace/cache/deep/x", "precious deep x\n")
            .run()
            .code(0);
        Self {
            base: session.base(),
            session: Some(session),
            dice: Dice(seed),
            next_round: 1,
            undoable: Vec::new(),
            redoable: Vec::new(),
            log: format!("seed {seed}\n"),
        }
    }

    fn covered(&self) -> Tree {
        let mut covered = tree(&self.base.join("workspace"));
        covered.retain(|path, _| !path.starts_with("cache"));
        covered
    }

    /// The contents on the disk that only an ignored file had, in the workspace or kept by undo.
    fn precious(&self) -> BTreeSet<Vec<u8>> {
        let all = [
            tree(&self.base.join("workspace")),
            tree(&self.base.join("sessions")),
        ];
        let contents = all
            .into_iter()
            .flatten()
            .filter_map(|(path, entry)| match entry {
                // The store of checkpoints is nothing that a person finds a file in.
                Entry::File(content, _) if !path.starts_with("objects") => Some(content),
                _ => None,
            });
        contents
            .filter(|content| content.starts_with(b"precious"))
            .collect()
    }

    fn run(&mut self, arguments: &[&str]) -> Output {
        let output = agent(&self.base).args(arguments).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let _ = writeln!(
            self.log,
            "{arguments:?}: {:?}\n{said}",
            output.status.code()
        );
        output
    }

    #[track_caller]
    fn succeeds(&mut self, arguments: &[&str]) {
        let output = self.run(arguments);
        assert!(output.status.success(), "{}", self.log);
    }

    /// Carries out a command as the next round, and remembers it if it changed what is covered.
    fn round(&mut self, script: &str) {
        // No two replies are the same, or the second would be taken for a slip.
        let round = self.next_round;
        let reply = format!("[RUN_COMMAND]\n{script}\n: {round}\n[/RUN_COMMAND]\n");
        let file = self.base.with_file_name("reply.txt");
        fs::write(&file, reply).unwrap();
        let before = self.covered();
        let _ = writeln!(self.log, "round {}:\n{script}", self.next_round);
        self.succeeds(&["step", "--reply", file.to_str().unwrap()]);
        let after = self.covered();
        if before != after {
            self.redoable.clear();
            self.undoable.push(Round {
                number: self.next_round,
                before,
                after,
            });
        }
        self.next_round += 1;
    }

    /// A command that changes covered files, and writes ignored ones without moving them.
    fn script(&mut self) -> String {
        let mut script = String::new();
        for _ in 0..=self.dice.below(5) {
            let (path, other) = (self.dice.pick(&PATHS), self.dice.pick(&PATHS));
            let ignored = self.dice.pick(&IGNORED);
            let number = self.dice.below(100_000);
            let mode = self.dice.pick(&["644", "755", "600", "700", "1777", "444"]);
            let line = match self.dice.below(13) {
                0..=2 => format!("mkdir -p $(dirname {path}); echo {number} > {path}"),
                3 => format!("echo {number} >> {path}"),
                4 => format!("rm -rf {path}"),
                5 => format!("mv {path} {other}"),
                6 => format!("chmod {mode} {path}"),
                7 => format!("ln -sfn {other} {path}"),
                8 => format!("ln -f {path} {other}"),
                9 => format!("mkdir -p {path}"),
                10 => format!("cp -r {path} {other}"),
                // Ignored, and covered because it is small.
                11 => format!("echo {number} > small.log"),
                _ => format!("mkdir -p cache/deep; echo precious {number} > {ignored}"),
            };
            let _ = writeln!(script, "{{ {line}; }} 2> /dev/null || true");
        }
        script
    }

    /// A command that takes ignored files elsewhere, so that it leaves the only copy there.
    fn taking_script(&mut self) -> String {
        let (path, ignored) = (self.dice.pick(&PATHS), self.dice.pick(&IGNORED));
        let line = match self.dice.below(4) {
            0 => format!("mv {ignored} {path}"),
            1 => format!("mkdir -p $(dirname {path}); mv cache/deep {path}"),
            2 => format!("cat {ignored} > {path} && rm {ignored}"),
            _ => format!("cp -r cache/deep {path} && rm -r cache/deep"),
        };
        format!("{{ {line}; }} 2> /dev/null || true\n")
    }

    #[track_caller]
    fn is_as(&self, expected: &Tree) {
        assert_eq!(&self.covered(), expected, "{}", self.log);
    }

    fn undo(&mut self) {
        let Some(round) = self.undoable.pop() else {
            return;
        };
        // By its number: without one, rounds that changed only ignored files are passed over.
        let to = (round.number - 1).to_string();
        self.succeeds(&["undo", "--to", &to, "--yes"]);
        self.is_as(&round.before);
        self.redoable.push(vec![round]);
    }

    fn undo_several(&mut self) {
        let Some(first) = self.undoable.len().checked_sub(1 + self.dice.below(4)) else {
            return;
        };
        let rounds = self.undoable.split_off(first);
        let to = (rounds[0].number - 1).to_string();
        self.succeeds(&["undo", "--to", &to, "--yes"]);
        self.is_as(&rounds[0].before);
        self.redoable.push(rounds);
    }

    fn redo(&mut self) {
        let Some(rounds) = self.redoable.pop() else {
            return;
        };
        self.succeeds(&["redo", "--yes"]);
        self.is_as(&rounds[rounds.len() - 1].after);
        self.undoable.extend(rounds);
    }

    fn end(self) {
        drop(self.session);
    }
}

fn seeds() -> impl Iterator<Item = u64> {
    let walks = std::env::var("AGENT_WALKS").ok();
    1..=walks.and_then(|walks| walks.parse().ok()).unwrap_or(2)
}

#[test]
fn any_walk_of_commands_is_undone_and_redone_byte_for_byte() {
    for seed in seeds() {
        let mut walk = Walk::begin(seed);
        for _ in 0..STEPS {
            match walk.dice.below(8) {
                0..=3 => {
                    let script = walk.script();
                    walk.round(&script);
                }
                4 | 5 => walk.undo(),
                6 => walk.undo_several(),
                _ => walk.redo(),
            }
        }
        while !walk.undoable.is_empty() {
            walk.undo();
        }
        walk.end();
    }
}

#[test]
fn no_undo_takes_the_only_copy_of_what_was_ignored() {
    for seed in seeds() {
        let mut walk = Walk::begin(seed.wrapping_add(1_000_000));
        for _ in 0..STEPS / 2 {
            let mut script = walk.taking_script();
            if walk.dice.below(2) == 0 {
                script += &walk.script();
            }
            walk.round(&script);
            for _ in 0..walk.dice.below(3) {
                let before = walk.precious();
                // An undo that meets only obstacles says so.
                walk.run(&["undo", "--yes"]);
                let lost: Vec<_> = before.difference(&walk.precious()).cloned().collect();
                assert!(lost.is_empty(), "{lost:?} in\n{}", walk.log);
            }
        }
        walk.end();
    }
}
