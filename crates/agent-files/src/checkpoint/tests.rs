//! The promises of undo, held against real trees, byte for byte.

mod any;
mod apart;
mod attributes;
mod diff;
mod kept;
mod looks;
mod part;
mod store;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::time::Duration;

use super::*;

/// A tree read without the code under test.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Held {
    File(Vec<u8>, u32),
    Link(PathBuf),
    Directory(u32),
}

struct Bench {
    workspace: Workspace,
    store: CheckpointStore,
    root: PathBuf,
    directory: tempfile::TempDir,
}

fn bench() -> Bench {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("workspace");
    fs::create_dir(&root).unwrap();
    Bench {
        workspace: Workspace::open(&root).unwrap(),
        store: CheckpointStore::open(&directory.path().join("objects")).unwrap(),
        root,
        directory,
    }
}

impl Bench {
    fn shell(&self, script: &str) {
        let status = crate::platform::programs::command("sh")
            .unwrap()
            .args(["-ec", script])
            .current_dir(&self.root)
            .status();
        assert!(status.unwrap().success(), "{script}");
    }

    fn take(&mut self) -> Snapshot {
        self.taken().snapshot
    }

    fn taken(&mut self) -> TakenSnapshot {
        self.store
            .take(&self.workspace, &CheckpointLimits::default())
            .unwrap()
    }

    fn held(&self) -> BTreeMap<PathBuf, Held> {
        let mut held = BTreeMap::new();
        hold(&self.root, &self.root, &mut held);
        held
    }

    fn plan(&mut self, from: Snapshot, to: Snapshot) -> RestorePlan {
        self.store
            .plan(
                &self.workspace,
                &[Turn {
                    from,
                    to,
                    original: None,
                }],
            )
            .unwrap()
    }

    fn go(&mut self, from: Snapshot, to: Snapshot) -> Restored {
        let plan = self.plan(from, to);
        self.restore(&plan, Force::Skip)
    }

    fn restore(&mut self, plan: &RestorePlan, force: Force) -> Restored {
        let restored = self.store.restore(&self.workspace, plan, force, None);
        restored.unwrap()
    }

    /// Goes back as an undo of commands does.
    fn go_keeping(&mut self, from: Snapshot, to: Snapshot) -> Restored {
        let plan = self.plan(from, to);
        let directory = self.directory.path().join("removed");
        let known = std::collections::HashSet::new();
        let keep = KeepAside {
            known: &known,
            directory: &directory,
            target: to,
        };
        let restored = (self.store).restore(&self.workspace, &plan, Force::Skip, Some(keep));
        restored.unwrap()
    }

    fn tidy(&mut self, keep: &[Snapshot], max_bytes: u64) -> Tidied {
        let wanted = WantedSnapshots {
            needed: keep.to_vec(),
            ..WantedSnapshots::default()
        };
        self.store.tidy(&wanted, max_bytes).unwrap()
    }

    fn text(&self, path: &str) -> String {
        fs::read_to_string(self.root.join(path)).unwrap()
    }

    fn has(&self, path: &str) -> bool {
        self.root.join(path).symlink_metadata().is_ok()
    }

    /// Waits until the clock of the file system has moved on.
    fn await_tick(&self) {
        let probe = self.directory.path().join("probe");
        let time = || {
            let probe = fs::File::create(&probe).unwrap();
            probe.metadata().unwrap().modified().unwrap()
        };
        let before = time();
        while time() == before {}
    }

    /// From here on every file counts as changed long ago.
    fn let_time_pass(&mut self) {
        self.store.clock = || SystemTime::now() + Duration::from_hours(1);
    }
}

fn hold(root: &Path, directory: &Path, held: &mut BTreeMap<PathBuf, Held>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let metadata = path.symlink_metadata().unwrap();
        let mode = metadata.permissions().mode() & 0o7777;
        let what = if metadata.is_dir() {
            hold(root, &path, held);
            Held::Directory(mode)
        } else if metadata.is_symlink() {
            Held::Link(fs::read_link(&path).unwrap())
        } else {
            Held::File(fs::read(&path).unwrap(), mode)
        };
        held.insert(path.strip_prefix(root).unwrap().to_owned(), what);
    }
}

const BEFORE: &str = r#"
    mkdir -p src/deep empty old/dir
    printf 'fn main() {}\n' > src/main.rs
    printf 'a\0b' > src/deep/binary
    printf 'gone\n' > gone.txt
    printf 'moved\n' > old/dir/name.txt
    printf '#!/bin/sh\n' > run.sh
    printf 'SECRET=1\n' > .env
    printf '.env\ntarget/\n' > .gitignore
    ln -s src/main.rs link
    ln -s /nowhere/at/all dangling
    printf 'x\n' > becomes-directory
    mkdir becomes-file; printf 'y\n' > becomes-file/inner
    : > nothing
    printf 'odd\n' > "$(printf 'caf\351 \n odd')"
"#;

const ROUND: &str = r#"
    printf 'fn main() { todo!() }\n' > src/main.rs
    printf 'more' >> src/deep/binary
    rm gone.txt
    mkdir new; mv old/dir/name.txt new/name.txt; rm -r old
    chmod 755 run.sh
    printf 'SECRET=2\n' > .env
    rm link; ln -s run.sh link
    rm dangling; printf 'a file now\n' > dangling
    rm becomes-directory; mkdir becomes-directory; printf 'z\n' > becomes-directory/z
    rm -r becomes-file; printf 'file\n' > becomes-file
    rmdir empty; mkdir -p made/deep/empty; chmod 700 made
    printf 'odd 2\n' > "$(printf 'caf\351 \n odd')"
    chmod 600 nothing
    mkdir target; printf 'build\n' > target/out
"#;

#[test]
fn a_round_of_shell_commands_is_undone_and_redone_byte_for_byte() {
    let mut bench = bench();
    bench.shell(BEFORE);
    let (before, held_before) = (bench.take(), bench.held());
    bench.shell(ROUND);
    let (after, held_after) = (bench.take(), bench.held());

    let undone = bench.go(after, before);
    assert_eq!(undone.skipped, []);
    // What is ignored is not ours to remove.
    bench.shell("test -f target/out; rm -r target");
    assert_eq!(bench.held(), held_before);
    assert_eq!(bench.take(), before);

    let redone = bench.go(before, after);
    assert_eq!(redone.skipped, []);
    bench.shell("mkdir target; printf 'build\n' > target/out");
    assert_eq!(bench.held(), held_after);
    assert_eq!(bench.take(), after);
}

#[test]
fn doing_it_again_changes_nothing() {
    let mut bench = bench();
    bench.shell(BEFORE);
    let before = bench.take();
    bench.shell(ROUND);
    let after = bench.take();
    let plan = bench.plan(after, before);
    assert!(!plan.steps.is_empty());
    bench.restore(&plan, Force::Skip);
    let again = bench.plan(after, before);
    assert_eq!((again.steps, again.conflicts), (vec![], vec![]));
}

#[test]
fn an_undo_that_was_killed_in_the_middle_is_completed() {
    let mut bench = bench();
    bench.shell(BEFORE);
    let (before, held) = (bench.take(), bench.held());
    bench.shell(ROUND);
    bench.shell("rm -r target");
    let after = bench.take();
    let whole = bench.plan(after, before);
    for length in 0..whole.steps.len() {
        bench.go(before, after);
        let part = RestorePlan {
            steps: whole.steps[..length].to_vec(),
            ..RestorePlan::default()
        };
        bench.restore(&part, Force::Skip);
        let rest = bench.go(after, before);
        assert_eq!(rest.skipped, [], "after {length} steps");
        assert_eq!(bench.held(), held, "after {length} steps");
    }
}

/// For root every directory is open; an ordinary user needs it opened.
#[test]
fn files_in_a_directory_that_stays_read_only_are_restored() {
    let mut bench = bench();
    bench.shell(
        "mkdir -p lib/x; echo 1 > lib/x/a; echo 1 > lib/b; chmod 0500 lib/x; chmod 0555 lib",
    );
    let (before, held) = (bench.take(), bench.held());
    bench.shell("chmod 0700 lib lib/x; rm lib/x/a; echo 2 > lib/x/c; echo 2 >> lib/b; chmod 0500 lib/x; chmod 0555 lib");
    let (after, changed) = (bench.take(), bench.held());
    for (from, to, expected) in [(after, before, &held), (before, after, &changed)] {
        assert_eq!(bench.go(from, to).skipped, []);
        assert_eq!(bench.held(), *expected);
    }
    // A restore was killed when it had opened them.
    bench.shell("chmod u+w lib lib/x; rm lib/x/c");
    assert_eq!(bench.go(after, before).skipped, []);
    assert_eq!(bench.held(), held);
    // Of what the person made of it nothing is opened.
    bench.go(before, after);
    bench.shell("chmod 0511 lib");
    bench.go(after, before);
    assert_eq!(bench.held()[Path::new("lib")], Held::Directory(0o511));
    bench.shell("chmod -R u+rwx .");
}

/// Over two rounds, of which the first closes the directory and the second opens it meanwhile.
#[test]
fn a_directory_that_two_rounds_left_read_only_is_opened_too() {
    let mut bench = bench();
    bench.shell("mkdir lib; echo 1 > lib/a; chmod 0500 lib");
    let (first, held) = (bench.take(), bench.held());
    bench.shell("chmod 0700 lib; echo 2 > lib/a");
    let second = bench.take();
    bench.shell("chmod 0500 lib");
    let third = bench.take();
    let turn = |from, to| Turn {
        from,
        to,
        original: None,
    };
    let turns = [turn(third, second), turn(second, first)];
    let plan = bench.store.plan(&bench.workspace, &turns).unwrap();
    assert_eq!(bench.restore(&plan, Force::Skip).skipped, []);
    assert_eq!(bench.held(), held);
    bench.shell("chmod 0700 lib");
}

/// Root can read any file; for an ordinary user no checkpoint has its content.
#[test]
fn a_file_that_was_made_unreadable_gets_its_mode_back() {
    let mut bench = bench();
    bench.shell("echo 1 > a; echo 1 > b; chmod 0640 a");
    let (before, held) = (bench.take(), bench.held());
    bench.shell("chmod 0 a; echo 2 > b; chmod 0 b");
    let after = bench.take();
    let undone = bench.go(after, before);
    let is_root = !undone.skipped.iter().any(|one| one.path == Path::new("b"));
    if is_root {
        assert_eq!(bench.held(), held);
        return;
    }
    // The content of the other one may be the only copy.
    assert_eq!(undone.skipped.len(), 1);
    let mode = |name: &str| fs::metadata(bench.root.join(name)).unwrap().mode() & 0o777;
    assert_eq!((mode("a"), mode("b")), (0o640, 0));
    bench.shell("chmod 0600 b; grep -q 2 b");
}

/// Root can search any directory; an ordinary user sees names in it and nothing else.
#[test]
fn files_in_a_directory_that_may_only_be_listed_are_not_taken_for_gone() {
    let mut bench = bench();
    bench.shell("mkdir d; echo 1 > d/x");
    let before = bench.take();
    bench.shell("chmod 0444 d");
    let after = bench.take();
    for (from, to) in [(after, before), (before, after), (after, before)] {
        bench.go(from, to);
        bench.shell("chmod 0700 d; grep -q 1 d/x");
    }
}

#[test]
fn what_the_person_changed_since_is_skipped_and_named() {
    let mut bench = bench();
    bench.shell("printf 1 > a; printf 1 > b; printf 1 > c");
    let before = bench.take();
    bench.shell("printf 2 > a; rm b; printf 2 > c; printf 2 > new");
    let after = bench.take();
    bench.shell("printf mine > a; printf mine > b; printf mine > new; printf mine > other");
    let plan = bench.plan(after, before);
    let conflicts: Vec<_> = plan.conflicts.iter().map(|one| one.path.clone()).collect();
    assert_eq!(
        conflicts,
        [Path::new("a"), Path::new("b"), Path::new("new")]
    );
    let restored = bench.restore(&plan, Force::Skip);
    assert_eq!(restored.skipped, plan.conflicts);
    for path in ["a", "b", "new", "other"] {
        assert_eq!(bench.text(path), "mine", "{path}");
    }
    assert_eq!(bench.text("c"), "1");
}

#[test]
fn force_keeps_a_copy_beside() {
    let mut bench = bench();
    bench.shell("printf 1 > a; printf 1 > d");
    let before = bench.take();
    bench.shell("printf 2 > a; printf 2 > new; printf 2 > d");
    let after = bench.take();
    bench.shell("printf mine > a; printf mine > new; : > a.kept; rm d; mkdir d; printf mine > d/x");
    let plan = bench.plan(after, before);
    let restored = bench.restore(&plan, Force::KeepCopies);
    assert_eq!(restored.skipped, []);
    let copies: Vec<_> = restored.kept.iter().map(|kept| kept.copy.clone()).collect();
    assert_eq!(
        copies,
        ["a.kept-2", "d.kept", "new.kept"].map(PathBuf::from)
    );
    assert_eq!(bench.text("a"), "1");
    assert_eq!(bench.text("a.kept-2"), "mine");
    assert_eq!(bench.text("new.kept"), "mine");
    assert_eq!(bench.text("d.kept/x"), "mine");
    assert_eq!(bench.text("d"), "1");
    assert!(!bench.has("new"));
}

#[test]
fn a_change_after_the_plan_was_shown_is_noticed() {
    let mut bench = bench();
    bench.shell("printf 1 > a");
    let before = bench.take();
    bench.shell("printf 2 > a; printf 2 > b");
    let after = bench.take();
    let plan = bench.plan(after, before);
    bench.shell("printf mine > a; printf mine > b");
    let restored = bench.restore(&plan, Force::Skip);
    assert_eq!(restored.done, []);
    assert!(
        restored
            .skipped
            .iter()
            .all(|one| one.why == ConflictReason::ChangedSince)
    );
    assert_eq!(bench.text("a") + &bench.text("b"), "minemine");
}

#[test]
fn what_the_person_changed_between_two_rounds_stays() {
    let mut bench = bench();
    bench.shell("printf 1 > round; printf 1 > person; printf 1 > both");
    let before_1 = bench.take();
    bench.shell("printf 2 > round; printf 2 > both");
    let after_1 = bench.take();
    bench.shell("printf mine > person; printf mine > both");
    let before_2 = bench.take();
    bench.shell("printf 3 > round; printf 3 > both");
    let after_2 = bench.take();
    let turns = [
        Turn {
            from: after_2,
            to: before_2,
            original: None,
        },
        Turn {
            from: after_1,
            to: before_1,
            original: None,
        },
    ];
    let plan = bench.store.plan(&bench.workspace, &turns).unwrap();
    assert_eq!(plan.conflicts.len(), 1);
    assert_eq!(plan.conflicts[0].path, Path::new("both"));
    assert_eq!(plan.conflicts[0].why, ConflictReason::ChangedBetween);
    bench.restore(&plan, Force::Skip);
    assert_eq!(bench.text("round"), "1");
    assert_eq!(bench.text("person"), "mine");
    assert_eq!(bench.text("both"), "3");
}

#[test]
fn what_was_ignored_before_is_not_deleted_when_a_round_stops_ignoring_it() {
    let mut bench = bench();
    bench.shell(
        "printf 'results/\n' > .gitignore; mkdir results; printf precious > results/data
         head -c 100000 /dev/zero > big.log; printf '*.log\n' >> .gitignore",
    );
    let before = bench.take();
    bench.shell("rm .gitignore; printf x > made");
    let after = bench.take();
    let restored = bench.go(after, before);
    assert_eq!(bench.text("results/data"), "precious");
    assert!(bench.has("big.log") && bench.has(".gitignore") && !bench.has("made"));
    let skipped: Vec<_> = restored.skipped.iter().map(|one| &one.path).collect();
    assert_eq!(skipped, [Path::new("big.log"), Path::new("results")]);
}

#[test]
fn what_a_round_hid_by_ignoring_it_is_named_if_it_changed() {
    let mut bench = bench();
    bench.shell("mkdir -p d/e; printf 1 > d/same; printf 1 > d/e/changed; printf 1 > d/e/gone");
    let before = bench.take();
    bench
        .shell("printf 'd/\n' > .gitignore; printf 2 > d/e/changed; rm d/e/gone; printf 2 > d/new");
    let after = bench.take();
    let plan = bench.plan(after, before);
    let conflicts: Vec<_> = plan.conflicts.iter().map(|one| &one.path).collect();
    assert_eq!(conflicts, [Path::new("d/e/changed")]);
    bench.restore(&plan, Force::KeepCopies);
    assert_eq!(bench.text("d/e/changed") + &bench.text("d/e/gone"), "11");
    assert_eq!(bench.text("d/e/changed.kept") + &bench.text("d/new"), "22");
    assert!(!bench.has(".gitignore"));
}

#[test]
fn a_directory_with_files_of_the_person_stays() {
    let mut bench = bench();
    bench.shell("printf 1 > was-file");
    let before = bench.take();
    bench.shell("mkdir -p made/deep; printf 2 > made/deep/a; rm was-file; mkdir was-file");
    let after = bench.take();
    bench.shell("printf mine > made/deep/mine; printf mine > was-file/mine");
    let restored = bench.go(after, before);
    assert_eq!(bench.text("made/deep/mine"), "mine");
    assert_eq!(bench.text("was-file/mine"), "mine");
    assert!(!bench.has("made/deep/a"));
    assert_eq!(restored.skipped.len(), 1);
    assert_eq!(restored.skipped[0].why, ConflictReason::NotEmpty);
}

#[test]
fn the_repository_is_neither_read_nor_touched() {
    let mut bench = bench();
    bench.shell("mkdir -p .git sub/.git; printf 1 > .git/index; printf 1 > sub/.git/index");
    let before = bench.take();
    bench.shell("printf 2 > .git/index; printf 2 > sub/.git/index; mkdir -p new/.git");
    let after = bench.take();
    bench.go(after, before);
    assert_eq!(
        bench.text(".git/index") + &bench.text("sub/.git/index"),
        "22"
    );
    assert!(bench.has("new/.git"));
}

#[test]
fn equal_trees_are_the_same_snapshot_wherever_they_are() {
    let (mut one, mut two) = (bench(), bench());
    one.shell(BEFORE);
    two.shell(BEFORE);
    assert_eq!(one.take(), two.take());
}

#[test]
fn a_workspace_that_was_deleted_is_an_error_and_not_an_empty_one() {
    let mut bench = bench();
    bench.shell("printf 1 > a");
    bench.take();
    fs::remove_dir_all(&bench.root).unwrap();
    let error = bench
        .store
        .take(&bench.workspace, &CheckpointLimits::default())
        .unwrap_err();
    assert!(error.to_string().contains("moved or deleted"), "{error}");
    fs::create_dir(&bench.root).unwrap();
    assert!(
        bench
            .store
            .take(&bench.workspace, &CheckpointLimits::default())
            .is_err()
    );
}

#[test]
fn links_are_never_followed_when_files_are_put_back() {
    let mut bench = bench();
    let outside = bench.directory.path().join("outside");
    fs::create_dir(&outside).unwrap();
    bench.shell("mkdir d; printf 1 > d/a; printf 1 > b");
    let before = bench.take();
    bench.shell("printf 2 > d/a; printf 2 > b");
    let after = bench.take();
    bench.shell("rm -r d; printf 2 > ../outside/a; ln -s ../outside d; rm b; ln -s ../outside/a b");
    let restored = bench.go(after, before);
    assert_eq!(fs::read_to_string(outside.join("a")).unwrap(), "2");
    assert_eq!(restored.done, []);
    assert_eq!(restored.skipped.len(), 2);
}

#[test]
fn files_of_the_store_are_private() {
    let mut bench = bench();
    bench.shell("printf 1 > a");
    bench.take();
    let objects = bench.directory.path().join("objects");
    let mode = objects.metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
}

#[test]
fn a_snapshot_is_a_text_in_json() {
    let snapshot = bench().take();
    let json = serde_json::to_string(&snapshot).unwrap();
    assert_eq!(json, format!("\"{snapshot}\""));
    assert_eq!(serde_json::from_str::<Snapshot>(&json).unwrap(), snapshot);
}
