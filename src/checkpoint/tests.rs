//! The promises of undo, held against real trees, byte for byte.

mod apart;
mod part;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;
use std::time::Duration;

use proptest::prelude::*;

use super::*;

/// What a tree holds, read without the code under test.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Held {
    File(Vec<u8>, u32),
    Link(PathBuf),
    Directory(u32),
}

struct Bench {
    workspace: Workspace,
    store: Store,
    root: PathBuf,
    directory: tempfile::TempDir,
}

fn bench() -> Bench {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("workspace");
    fs::create_dir(&root).unwrap();
    Bench {
        workspace: Workspace::open(&root).unwrap(),
        store: Store::open(&directory.path().join("objects")).unwrap(),
        root,
        directory,
    }
}

impl Bench {
    fn shell(&self, script: &str) {
        let status = Command::new("sh")
            .args(["-ec", script])
            .current_dir(&self.root)
            .status();
        assert!(status.unwrap().success(), "{script}");
    }

    fn take(&mut self) -> Snapshot {
        self.taken().snapshot
    }

    fn taken(&mut self) -> Taken {
        self.store
            .take(&self.workspace, &Limits::default())
            .unwrap()
    }

    fn held(&self) -> BTreeMap<PathBuf, Held> {
        let mut held = BTreeMap::new();
        hold(&self.root, &self.root, &mut held);
        held
    }

    fn plan(&mut self, from: Snapshot, to: Snapshot) -> Plan {
        self.store
            .plan(&self.workspace, &[Turn { from, to }])
            .unwrap()
    }

    fn go(&mut self, from: Snapshot, to: Snapshot) -> Restored {
        let plan = self.plan(from, to);
        self.restore(&plan, Force::Skip)
    }

    fn restore(&mut self, plan: &Plan, force: Force) -> Restored {
        self.store.restore(&self.workspace, plan, force).unwrap()
    }

    fn text(&self, path: &str) -> String {
        fs::read_to_string(self.root.join(path)).unwrap()
    }

    fn has(&self, path: &str) -> bool {
        self.root.join(path).symlink_metadata().is_ok()
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
        let mode = metadata.permissions().mode() & 0o777;
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
        let part = Plan {
            steps: whole.steps[..length].to_vec(),
            ..Plan::default()
        };
        bench.restore(&part, Force::Skip);
        let rest = bench.go(after, before);
        assert_eq!(rest.skipped, [], "after {length} steps");
        assert_eq!(bench.held(), held, "after {length} steps");
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
            .all(|one| one.why == Why::ChangedSince)
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
        },
        Turn {
            from: after_1,
            to: before_1,
        },
    ];
    let plan = bench.store.plan(&bench.workspace, &turns).unwrap();
    assert_eq!(plan.conflicts.len(), 1);
    assert_eq!(plan.conflicts[0].path, Path::new("both"));
    assert_eq!(plan.conflicts[0].why, Why::ChangedBetween);
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
    assert_eq!(restored.skipped[0].why, Why::NotEmpty);
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
fn what_is_too_large_is_named_and_left_alone() {
    let mut bench = bench();
    let limits = Limits {
        max_file_bytes: 100,
        ..Limits::default()
    };
    bench.shell("printf small > grows; head -c 200 /dev/zero > large");
    let before = bench.store.take(&bench.workspace, &limits).unwrap();
    let named: Vec<_> = before.passed_over.iter().map(|one| &one.path).collect();
    assert_eq!(named, [Path::new("large")]);
    bench.shell(
        "head -c 300 /dev/zero > grows; head -c 300 /dev/zero > large; head -c 300 /dev/zero > new",
    );
    let after = bench.store.take(&bench.workspace, &limits).unwrap();
    let changes = bench
        .store
        .changes(&before.snapshot, &after.snapshot)
        .unwrap();
    assert!(
        changes
            .iter()
            .all(|one| one.what == What::NotCovered(Reason::TooLarge))
    );
    assert_eq!(changes.len(), 3);
    let plan = bench.plan(after.snapshot, before.snapshot);
    assert_eq!(plan.steps, []);
    assert_eq!(plan.conflicts.len(), 3);
    let restored = bench.restore(&plan, Force::KeepCopies);
    assert_eq!(bench.text("grows"), "small");
    assert!(bench.has("grows.kept") && bench.has("large") && bench.has("new.kept"));
    assert_eq!(restored.skipped.len(), 1);
}

#[test]
fn new_content_beyond_the_limit_is_passed_over() {
    let mut bench = bench();
    bench.shell("head -c 600 /dev/zero > a; head -c 500 /dev/zero > b");
    let limits = Limits {
        max_new_bytes: 1000,
        ..Limits::default()
    };
    let taken = bench.store.take(&bench.workspace, &limits).unwrap();
    assert_eq!(taken.passed_over.len(), 1);
    assert_eq!(taken.passed_over[0].reason, Reason::NoRoom);
}

#[test]
fn more_names_than_the_limit_are_passed_over_and_never_deleted() {
    let mut bench = bench();
    bench.shell("mkdir a b; printf 1 > a/1; printf 1 > b/1; printf 1 > b/2");
    let mut limits = Limits::default();
    limits.scope.max_entries = 4;
    let before = bench.store.take(&bench.workspace, &limits).unwrap();
    assert_eq!(before.passed_over[0].reason, Reason::TooMany);
    let after = bench.take();
    bench.go(after, before.snapshot);
    assert!(bench.has("b/1") && bench.has("b/2"));
}

#[test]
fn an_unchanged_file_is_not_read_again() {
    let mut bench = bench();
    bench.shell("mkdir d; for i in 1 2 3 4 5; do printf $i > d/$i; done; ln -s x link");
    bench.let_time_pass();
    let first = bench.taken();
    assert_eq!(first.files_read, 5);
    let again = bench.taken();
    assert_eq!((again.files_read, again.snapshot), (0, first.snapshot));
    bench.shell("printf changed > d/3; touch d/4; chmod 600 d/5");
    let second = bench.taken();
    assert_eq!(second.files_read, 3);
    let changes = bench
        .store
        .changes(&first.snapshot, &second.snapshot)
        .unwrap();
    let told: Vec<_> = changes.iter().map(|one| (&*one.path, &one.what)).collect();
    assert_eq!(
        told,
        [
            (Path::new("d/3"), &What::Modified),
            (Path::new("d/5"), &What::Mode)
        ]
    );
}

#[test]
fn a_file_that_changed_within_the_same_tick_is_read_again() {
    let mut bench = bench();
    for round in 0..50 {
        let content = format!("{round:04}");
        fs::File::options()
            .write(true)
            .create(true)
            .truncate(false)
            .open(bench.root.join("a"))
            .and_then(|mut file| io::Write::write_all(&mut file, content.as_bytes()))
            .unwrap();
        let snapshot = bench.take();
        bench.shell("printf x > other");
        let other = bench.take();
        bench.go(other, snapshot);
        assert_eq!(bench.text("a"), content);
        let plan = bench.plan(snapshot, other);
        assert!(plan.steps.iter().all(|step| step.path != Path::new("a")));
    }
}

#[test]
fn a_file_whose_time_was_set_back_is_read_again() {
    let mut bench = bench();
    bench.shell("printf one > a; touch -d 2020-01-01 a");
    bench.let_time_pass();
    let first = bench.take();
    // The kernel's own time must have moved on; it does so every few milliseconds.
    while {
        bench.shell("printf two > a; touch -d 2020-01-01 a");
        bench.take() == first
    } {}
    assert_ne!(bench.take(), first);
}

#[test]
fn equal_trees_are_the_same_snapshot_wherever_they_are() {
    let (mut one, mut two) = (bench(), bench());
    one.shell(BEFORE);
    two.shell(BEFORE);
    assert_eq!(one.take(), two.take());
}

#[test]
fn renames_are_recognised_by_content() {
    let mut bench = bench();
    bench.shell("printf same > a; printf same > b; : > empty; printf other > c");
    let before = bench.take();
    bench.shell("mkdir d; mv a d/a; mv b d/b; mv empty d/empty; rm c");
    let after = bench.take();
    let changes = bench.store.changes(&before, &after).unwrap();
    let told: Vec<_> = changes.iter().map(|one| (&*one.path, &one.what)).collect();
    let renamed = |from: &str| What::Renamed {
        from: PathBuf::from(from),
    };
    assert_eq!(
        told,
        [
            (Path::new("c"), &What::Deleted),
            (Path::new("d/a"), &renamed("a")),
            (Path::new("d/b"), &renamed("b")),
            (Path::new("d/empty"), &What::Created),
            (Path::new("empty"), &What::Deleted),
        ]
    );
}

#[test]
fn a_diff_reads_as_git_writes_it() {
    let mut bench = bench();
    bench.shell("umask 022; printf '1\n2\n3\n' > a; printf 'a\\0' > binary; printf x > gone; printf 'same\n' > old");
    let before = bench.take();
    bench.shell("umask 022; printf '1\n3\n4' > a; printf 'b\\0' > binary; rm gone; mv old new; ln -s a link; chmod 755 new");
    let after = bench.take();
    let limits = DiffLimits::default();
    let diff = bench.store.diff(&before, &after, &limits).unwrap();
    insta::assert_snapshot!(diff, @r"
    diff --git a/a b/a
    --- a/a
    +++ b/a
    @@ -1,3 +1,3 @@
     1
    -2
     3
    +4
    \ No newline at end of file
    diff --git a/binary b/binary
    Binary files a/binary and b/binary differ
    diff --git a/gone b/gone
    deleted file mode 100644
    --- a/gone
    +++ /dev/null
    @@ -1 +0,0 @@
    -x
    \ No newline at end of file
    diff --git a/link b/link
    new file mode 120000
    --- /dev/null
    +++ b/link
    @@ -0,0 +1 @@
    +a
    \ No newline at end of file
    diff --git a/old b/new
    old mode 100644
    new mode 100755
    rename from old
    rename to new
    ");
    let stat = bench.store.stat(&before, &after, &limits).unwrap();
    assert_eq!(
        stat[0].lines,
        Some(Lines {
            added: 1,
            removed: 1
        })
    );
    assert_eq!(stat[1].lines, None);
    let cut = DiffLimits {
        max_bytes: 100,
        ..limits
    };
    let diff = bench.store.diff(&before, &after, &cut).unwrap();
    assert!(diff.ends_with("[TRUNCATED: 4 more changes]\n"), "{diff}");
}

#[test]
fn a_name_cannot_forge_a_line_of_the_diff() {
    let mut bench = bench();
    let before = bench.take();
    bench.shell(r#"d="$(printf 'a\n+++ b')"; mkdir "$d"; printf x > "$d/forged""#);
    let after = bench.take();
    let diff = bench
        .store
        .diff(&before, &after, &DiffLimits::default())
        .unwrap();
    assert!(!diff.contains("\n+++ b/forged"), "{diff}");
}

#[test]
fn what_a_killed_writer_left_does_no_harm() {
    let mut bench = bench();
    bench.shell(BEFORE);
    let (before, held) = (bench.take(), bench.held());
    let objects = bench.directory.path().join("objects");
    let rubbish = objects.join("packs/.agent-killed");
    fs::File::create(&rubbish).unwrap();
    // A cache that is half of one, as after power loss.
    for entry in fs::read_dir(objects.join("cache")).unwrap() {
        let file = fs::File::options()
            .write(true)
            .open(entry.unwrap().path())
            .unwrap();
        file.set_len(100).unwrap();
    }
    let mut bench = Bench {
        store: Store::open(&objects).unwrap(),
        ..bench
    };
    bench.shell(ROUND);
    let after = bench.take();
    assert!(!rubbish.exists());
    bench.go(after, before);
    bench.shell("rm -r target");
    assert_eq!(bench.held(), held);
}

#[test]
fn a_damaged_pack_is_put_aside_and_the_rest_is_of_use() {
    let mut bench = bench();
    bench.shell("printf 1 > a");
    let lost = bench.take();
    let objects = bench.directory.path().join("objects");
    for entry in fs::read_dir(objects.join("packs")).unwrap() {
        let path = entry.unwrap().path();
        let file = fs::File::options().write(true).open(path).unwrap();
        file.set_len(20).unwrap();
    }
    let mut bench = Bench {
        store: Store::open(&objects).unwrap(),
        ..bench
    };
    bench.let_time_pass();
    let before = bench.take();
    assert_eq!(before, lost);
    bench.shell("printf 2 > a");
    let after = bench.take();
    bench.go(after, before);
    assert_eq!(bench.text("a"), "1");
    assert_eq!(fs::read_dir(objects.join("damaged")).unwrap().count(), 1);
}

#[test]
fn a_snapshot_that_is_not_there_is_an_error_with_its_name() {
    let mut bench = bench();
    let known = bench.take();
    let unknown = Snapshot(blake3::hash(b"unknown"));
    let error = bench.store.changes(&known, &unknown).unwrap_err();
    assert!(error.to_string().contains(&unknown.to_string()), "{error}");
}

#[test]
fn tidying_frees_what_nobody_needs_and_keeps_the_rest() {
    let mut bench = bench();
    bench.shell("printf keep > keep; head -c 300000 /dev/urandom > a");
    let (kept, held) = (bench.take(), bench.held());
    for _ in 0..3 {
        bench.shell("head -c 300000 /dev/urandom > a");
        bench.take();
    }
    let last = bench.take();
    let tidied = bench.store.tidy(&[kept]).unwrap();
    assert!(
        tidied.freed > 600_000 && tidied.left < 650_000,
        "{tidied:?}"
    );
    assert_eq!(tidied.missing, 0);
    bench.go(last, kept);
    assert_eq!(bench.held(), held);
    let again = bench.store.tidy(&[kept]).unwrap();
    assert_eq!((again.freed, again.left), (0, tidied.left));
}

#[test]
fn packs_do_not_become_many() {
    let mut bench = bench();
    let mut snapshots = Vec::new();
    for round in 0..60 {
        bench.shell(&format!("printf {round} > a; printf {round} > f{round}"));
        snapshots.push(bench.take());
    }
    let packs = bench.directory.path().join("objects/packs");
    assert!(fs::read_dir(packs).unwrap().count() <= 24);
    let last = bench.take();
    bench.go(last, snapshots[10]);
    assert_eq!(bench.text("a"), "10");
    assert!(bench.has("f10") && !bench.has("f11"));
}

#[test]
fn a_store_inside_the_workspace_does_not_store_itself() {
    let mut bench = bench();
    bench.store = Store::open(&bench.root.join("sessions/objects")).unwrap();
    bench.shell("printf 1 > a");
    let first = bench.take();
    assert_eq!(bench.take(), first);
    assert_eq!(bench.take(), first);
}

#[test]
fn a_workspace_that_was_deleted_is_an_error_and_not_an_empty_one() {
    let mut bench = bench();
    bench.shell("printf 1 > a");
    bench.take();
    fs::remove_dir_all(&bench.root).unwrap();
    let error = bench
        .store
        .take(&bench.workspace, &Limits::default())
        .unwrap_err();
    assert!(error.to_string().contains("moved or deleted"), "{error}");
    fs::create_dir(&bench.root).unwrap();
    assert!(
        bench
            .store
            .take(&bench.workspace, &Limits::default())
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

#[derive(Debug, Clone)]
enum Operation {
    Write(usize, u8),
    Append(usize),
    Remove(usize),
    Rename(usize, usize),
    Link(usize, usize),
    Directory(usize),
    Mode(usize, u32),
}

const PATHS: [&str; 10] = [
    "a", "b", "d", "d/a", "d/b", "d/e", "d/e/a", "d/e/b", "f/a", "f",
];

impl Operation {
    /// What does not work is left.
    fn perform(&self, root: &Path) -> io::Result<()> {
        let at = |index: usize| root.join(PATHS[index]);
        match *self {
            Self::Write(path, size) => {
                if let Some(parent) = at(path).parent() {
                    fs::create_dir_all(parent)?;
                }
                let mut file = fs::File::create(at(path))?;
                io::Write::write_all(&mut file, &vec![size; usize::from(size)])
            }
            Self::Append(path) => {
                let mut file = fs::File::options().append(true).open(at(path))?;
                io::Write::write_all(&mut file, b"more")
            }
            Self::Remove(path) if at(path).symlink_metadata()?.is_dir() => {
                fs::remove_dir_all(at(path))
            }
            Self::Remove(path) => fs::remove_file(at(path)),
            #[expect(clippy::disallowed_methods, reason = "as a shell command does")]
            Self::Rename(from, to) => fs::rename(at(from), at(to)),
            Self::Link(path, to) => symlink(PATHS[to], at(path)),
            Self::Directory(path) => fs::create_dir_all(at(path)),
            Self::Mode(path, mode) => {
                if at(path).symlink_metadata()?.is_symlink() {
                    return Ok(());
                }
                fs::set_permissions(at(path), fs::Permissions::from_mode(mode))
            }
        }
    }
}

fn operation() -> impl Strategy<Value = Operation> {
    let path = || 0..PATHS.len();
    prop_oneof![
        3 => (path(), any::<u8>()).prop_map(|(path, size)| Operation::Write(path, size)),
        1 => path().prop_map(Operation::Append),
        2 => path().prop_map(Operation::Remove),
        2 => (path(), path()).prop_map(|(from, to)| Operation::Rename(from, to)),
        1 => (path(), path()).prop_map(|(path, to)| Operation::Link(path, to)),
        1 => path().prop_map(Operation::Directory),
        1 => (path(), prop::sample::select(vec![0o644_u32, 0o755, 0o700, 0o600, 0o500]))
            .prop_map(|(path, mode)| Operation::Mode(path, mode)),
    ]
}

fn rounds() -> impl Strategy<Value = Vec<Vec<Operation>>> {
    prop::collection::vec(prop::collection::vec(operation(), 0..12), 1..5)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn any_rounds_are_undone_and_redone(rounds in rounds()) {
        let mut bench = bench();
        let mut states = vec![(bench.take(), bench.held())];
        for round in rounds {
            for operation in round {
                let _ = operation.perform(&bench.root);
            }
            states.push((bench.take(), bench.held()));
        }
        let undo: Vec<Turn> = states
            .windows(2)
            .rev()
            .map(|pair| Turn { from: pair[1].0, to: pair[0].0 })
            .collect();
        for turn in &undo {
            let restored = bench.go(turn.from, turn.to);
            prop_assert_eq!(restored.skipped, []);
            let (_, held) = states.iter().find(|(snapshot, _)| *snapshot == turn.to).unwrap();
            prop_assert_eq!(&bench.held(), held);
        }
        let (first, last) = (&states[0], &states[states.len() - 1]);
        bench.go(first.0, last.0);
        prop_assert_eq!(&bench.held(), &last.1);
        let plan = bench.store.plan(&bench.workspace, &undo).unwrap();
        prop_assert_eq!(&plan.conflicts, &[]);
        bench.restore(&plan, Force::Skip);
        prop_assert_eq!(&bench.held(), &first.1);
        prop_assert_eq!(bench.take(), first.0);
    }

    #[test]
    fn nothing_of_the_person_is_lost(round in prop::collection::vec(operation(), 1..12), person in prop::collection::vec(operation(), 1..6)) {
        let mut bench = bench();
        bench.shell("mkdir -p d/e; printf 1 > a; printf 2 > d/a; printf 3 > d/e/a");
        let before = bench.take();
        for operation in &round {
            let _ = operation.perform(&bench.root);
        }
        let (after, held_after) = (bench.take(), bench.held());
        for operation in &person {
            let _ = operation.perform(&bench.root);
        }
        let held_person = bench.held();
        bench.go(after, before);
        let held = bench.held();
        for (path, what) in &held_person {
            let is_of_the_person = !matches!(what, Held::Directory(_))
                && held_after.get(path) != Some(what);
            if is_of_the_person {
                prop_assert_eq!(held.get(path), Some(what), "{}", path.display());
            }
        }
    }
}
