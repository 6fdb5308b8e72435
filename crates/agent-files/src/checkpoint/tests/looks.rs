//! Snapshots skip large files and read no unchanged file twice.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::sync::Arc;

use cap_std::ambient_authority;
use cap_std::fs::Dir;

use super::*;
use crate::platform::files::listed_by_this_thread;
use crate::workspace::KnownNames;
use crate::workspace::joint_walk::look_through;
use crate::workspace::survey::{DirectoryContent, SurveyScope};
use crate::workspace::walk::Walked;

#[test]
fn what_is_too_large_is_named_and_left_alone() {
    let mut bench = bench();
    let limits = CheckpointLimits {
        max_file_bytes: 100,
        ..CheckpointLimits::default()
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
            .all(|one| one.kind == ChangeKind::NotCovered(Reason::TooLarge))
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
    let limits = CheckpointLimits {
        max_new_bytes: 1000,
        ..CheckpointLimits::default()
    };
    let taken = bench.store.take(&bench.workspace, &limits).unwrap();
    assert_eq!(taken.passed_over.len(), 1);
    assert_eq!(taken.passed_over[0].reason, Reason::NoRoom);
}

#[test]
fn more_names_than_the_limit_are_passed_over_and_never_deleted() {
    let mut bench = bench();
    bench.shell("mkdir a b; printf 1 > a/1; printf 1 > b/1; printf 1 > b/2");
    let mut limits = CheckpointLimits::default();
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
    let told: Vec<_> = changes.iter().map(|one| (&*one.path, &one.kind)).collect();
    assert_eq!(
        told,
        [
            (Path::new("d/3"), &ChangeKind::Modified),
            (Path::new("d/5"), &ChangeKind::Mode)
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
fn a_snapshot_hands_on_the_names_and_which_files_have_a_single_one() {
    let mut bench = bench();
    bench.shell(
        "mkdir -p one two ignored; echo ignored > .gitignore
        echo 1 > one/a; echo 2 > two/b; ln two/b two/c; echo 3 > ignored/d; echo 4 > one/.agent-x.tmp",
    );
    let others = |bench: &Bench, counts: &KnownNames, path: &str| {
        let root = Dir::open_ambient_dir(&bench.root, ambient_authority()).unwrap();
        let known = counts.of(&root, Path::new(path), None)?;
        let names = known
            .content
            .names
            .iter()
            .map(|(name, _)| name.to_str().unwrap());
        let names: BTreeSet<&str> = names.collect();
        let listed = std::fs::read_dir(bench.root.join(path)).unwrap().flatten();
        let listed: Vec<String> = listed
            .map(|entry| entry.file_name().into_string().unwrap())
            .collect();
        assert_eq!(names, listed.iter().map(String::as_str).collect());
        let text = |name: &Arc<OsStr>| name.to_str().unwrap().to_owned();
        let linked = counts.linked(known);
        Some(linked.map(|linked| linked.iter().map(text).collect::<Vec<_>>()))
    };
    // A directory that has just changed could change again without a new time.
    bench.taken();
    let counts = bench.workspace.names_before_command().unwrap();
    assert_eq!(others(&bench, &counts, "one"), None);
    bench.store.clock = || SystemTime::now() + Duration::from_mins(1);
    bench.taken();
    let counts = bench.workspace.names_before_command().unwrap();
    // Nobody looked at our own temporary files.
    let linked = |bench: &Bench, path: &str| others(bench, &counts, path).unwrap().unwrap();
    assert_eq!(linked(&bench, "one"), [".agent-x.tmp"]);
    assert_eq!(linked(&bench, "two"), ["b", "c"]);
    assert_eq!(others(&bench, &counts, "ignored"), None);
    // The counts serve one command, the names also the next survey.
    let counts = bench.workspace.names_before_command().unwrap();
    assert_eq!(others(&bench, &counts, "two"), Some(None));
    // What a step changes is forgotten, whatever the clock of the file system says.
    bench.taken();
    (bench.workspace).forget_names_around([Path::new("one/sub/new")]);
    let counts = bench.workspace.names_before_command().unwrap();
    assert!(others(&bench, &counts, "one").is_none() && others(&bench, &counts, "").is_none());
    assert!(others(&bench, &counts, "two").is_some());
}

#[test]
#[cfg(target_os = "linux")]
fn names_are_kept_only_where_change_times_are() {
    use crate::platform::files::keeps_change_times;

    let keeps = |path: &Path| {
        let directory = Dir::open_ambient_dir(path, ambient_authority()).unwrap();
        keeps_change_times(&directory)
    };
    assert!(!keeps(Path::new("/proc")));
    assert!(keeps(bench().directory.path()));
}

#[test]
#[cfg(target_os = "linux")]
fn names_on_what_is_mounted_are_not_kept() {
    let device = |path: &str| fs::metadata(path).map(|it| it.dev()).ok();
    if device("/dev/shm").is_none() || device("/dev/shm") == device("/dev") {
        eprintln!("skipped: nothing is mounted at /dev/shm");
        return;
    }
    let made = tempfile::tempdir_in("/dev/shm").unwrap();
    fs::create_dir(made.path().join("inner")).unwrap();
    let workspace = Workspace::open(Path::new("/dev")).unwrap();
    let scope = CheckpointLimits::default().scope;
    let survey = workspace
        .survey_everything(&scope, SystemTime::now())
        .unwrap();
    let directories: Vec<&Path> = survey
        .directories
        .iter()
        .map(|it| it.value.path())
        .collect();
    let inner = made.path().strip_prefix("/dev").unwrap().join("inner");
    assert!(directories.contains(&&*inner));
    let names = survey.known_names(i64::MAX);
    let root = Dir::open_ambient_dir("/dev", ambient_authority()).unwrap();
    let is_known = |path: &Path| names.of(&root, path, None).is_some();
    assert!(is_known(Path::new("")));
    assert!(!is_known(Path::new("shm")) && !is_known(&inner));
}

/// Surveys the workspace as the look after a command does.
fn survey_after_command(bench: &Bench) {
    let survey = bench.workspace.survey_after_command().unwrap();
    let known = bench.workspace.names_seen();
    look_through(bench.workspace.path(), &[survey.search()], known.as_ref());
    survey.keep();
}

#[test]
fn the_look_after_a_command_surveys_for_the_snapshot() {
    let mut bench = bench();
    bench.shell(
        "mkdir -p one/two ignored; echo ignored > .gitignore
        echo 1 > one/a; echo 2 > one/two/b; echo 3 > gone; echo 4 > ignored/c",
    );
    bench.let_time_pass();
    bench.taken();
    let limits = CheckpointLimits::default();
    let listed = |bench: &mut Bench| {
        let walks = bench.workspace.walks();
        let taken = bench.store.take_listed(&bench.workspace, &limits).unwrap();
        (taken.0.snapshot, taken.1, bench.workspace.walks() - walks)
    };
    bench.shell(
        "echo more >> one/a; rm gone; mkdir -p new/deep; echo 5 > new/deep/d
        ln -s ../one new/link; printf '*.log\\n' > one/.gitignore; echo 6 > one/x.log",
    );
    survey_after_command(&bench);
    let (snapshot, walked, walks) = listed(&mut bench);
    assert_eq!(walks, 0);
    let (again, walked_again, walks) = listed(&mut bench);
    assert_eq!((again, walks), (snapshot, 1));
    assert_eq!(walked_again, walked);
    // A file that changes in between is read as it is by then, and again the next time.
    survey_after_command(&bench);
    bench.shell("echo other > one/a");
    listed(&mut bench);
    let (after, ..) = listed(&mut bench);
    assert_ne!(after, snapshot);
    // A survey of which something is known to have changed is not used.
    survey_after_command(&bench);
    bench.shell("echo 7 > new/e");
    bench.workspace.forget_survey();
    let (after, walked, walks) = listed(&mut bench);
    assert_eq!(walks, 1);
    assert!(
        walked
            .files
            .iter()
            .any(|file| file.path.as_str() == "new/e")
    );
    // Nor is one that is older than another snapshot.
    survey_after_command(&bench);
    bench.taken();
    bench.shell("rm new/e");
    assert_ne!(listed(&mut bench).0, after);
}

#[test]
fn a_snapshot_lists_the_files_that_a_walk_would() {
    let mut bench = bench();
    bench.shell(
        "mkdir -p src/deep .hidden ignored/kept target empty own/sub 'a b' .git/hooks
        printf 'ignored\ntarget\n*.log\n!src/kept.log\n' > .gitignore
        printf 'x\n' > src/.ignore
        for f in a-b a.rs a src/main.rs src/x src/deep/x.log src/kept.log 'a b/c' own/sub/file \
            ignored/kept/.env target/.env .env .hidden/y .git/config settings.json; do
            mkdir -p \"$(dirname \"$f\")\"; [ -d \"$f\" ] || echo 1 > \"$f\"; done
        ln -s nowhere link; ln -s src to-src; mkfifo pipe
        printf x > \"$(printf 'bad\\001name')\"; mkdir \"$(printf 'bad\\002dir')\"
        printf x > \"$(printf 'bad\\002dir/inside')\"; printf x > \"$(printf 'not\\377utf8')\"",
    );
    let left_out = ["own", "settings.json"].map(|path| RelPath::parse(path).unwrap());
    bench.workspace = Workspace::open(&bench.root)
        .unwrap()
        .leaving_out(left_out.to_vec());
    let limits = CheckpointLimits::default();
    let (_, listed) = bench.store.take_listed(&bench.workspace, &limits).unwrap();
    let walked = bench.workspace.walk(None).unwrap();
    assert_eq!(*listed, walked);
    let names: Vec<&str> = listed.files.iter().map(|file| file.path.as_str()).collect();
    assert!(names.contains(&"src/kept.log") && !names.contains(&"src/deep/x.log"));
    assert_eq!(listed.unnamable, 3);
    assert_eq!(listed.credentials.len(), 2);
    // One walk did both; the other was the test's own.
    assert_eq!(bench.workspace.walks(), 2);
}

#[test]
fn a_snapshot_lists_no_records_of_another_base() {
    let mut bench = bench();
    bench.shell(
        "mkdir -p a/sessions a/inbox a/outbox a/workspace b/state b/mail/in b/mail/sessions c/inbox
        echo x > a/sessions/ab12cd34.journal.jsonl; echo x > a/inbox/.env; echo x > a/outbox/m.md
        echo x > a/workspace/x.rs; echo x > c/inbox/x; echo sessions > a/.gitignore
        echo '{\"Agent\":{\"SessionsDir\":\"state\",\"InboxDir\":\"mail/in\"}}' > b/appsettings.json
        touch b/state/loop.lock b/state/round.lock b/mail/in/r.txt b/mail/sessions/y",
    );
    let limits = CheckpointLimits::default();
    let (_, listed) = bench.store.take_listed(&bench.workspace, &limits).unwrap();
    assert_eq!(*listed, bench.workspace.walk(None).unwrap());
    let names: Vec<&str> = listed.files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(
        names,
        [
            "a/.gitignore",
            "a/workspace/x.rs",
            "b/mail/sessions/y",
            "c/inbox/x"
        ]
    );
    assert_eq!(listed.credentials, []);
}

/// Takes a snapshot, without the number of files read: it depends on earlier snapshots.
fn seen(store: &mut CheckpointStore, workspace: &Workspace) -> (TakenSnapshot, Arc<Walked>) {
    let limits = CheckpointLimits {
        max_file_bytes: 1000,
        ..CheckpointLimits::default()
    };
    let (taken, walked) = store.take_listed(workspace, &limits).unwrap();
    let files_read = 0;
    (
        TakenSnapshot {
            files_read,
            ..taken
        },
        walked,
    )
}

#[test]
fn a_snapshot_that_knows_the_last_one_sees_what_a_new_one_sees() {
    const STEPS: [&str; 27] = [
        "mkdir -p a/b c ignored; echo 1 > a/x; echo 2 > a/b/y; echo 3 > c/z; echo 4 > ignored/.env",
        "",
        "echo more >> a/x",
        "echo '*.log' > .gitignore; echo 1 > a/b/q.log",
        "echo ignored > a/.gitignore",
        "echo ignored >> .gitignore",
        "echo more >> ignored/.env; echo 1 > ignored/server.pem",
        "",
        "mv a/x a/w",
        "chmod 700 c; chmod +x c/z",
        "mkdir -p c/.git; touch c/.git/HEAD",
        "ln c/z c/twin",
        "rm c/twin; ln -s ../a c/link",
        "mv a/b a/moved; mkdir a/b; echo other > a/b/y",
        "head -c 2000 /dev/zero > a/large; mkfifo a/pipe",
        "",
        "head -c 3000 /dev/zero > a/large",
        "touch -d '2001-01-01' a/moved/y",
        "cp -p a/moved/y a/b/y",
        "mkdir -p .git/info; echo moved > .git/info/exclude",
        "echo '# nothing' > .git/info/exclude",
        "rm -r a; echo 1 > a",
        "",
        "chmod 000 c/z",
        "rm -r .git; mkdir -p d/e/d/e; echo 1 > d/e/f; echo 2 > d/e/d/e/f; echo /d/e/f > .gitignore",
        // The same rules, which leave out another file from there.
        "mv .gitignore d/e/.gitignore",
        "touch -d '2001-01-01' d/e; rm d/e/d/e/f; mkdir d/e/d/e/f",
    ];
    let mut bench = bench();
    bench.let_time_pass();
    let mut last = None;
    for (number, step) in STEPS.into_iter().enumerate() {
        bench.shell(step);
        bench.await_tick();
        if number % 3 == 2 {
            survey_after_command(&bench);
        }
        let before = bench.workspace.walk(None).unwrap();
        let now = seen(&mut bench.store, &bench.workspace);
        let other = bench.directory.path().join(format!("store-{number}"));
        let mut store = CheckpointStore::open(&other).unwrap();
        let workspace = Workspace::open(&bench.root).unwrap();
        let walked = workspace.walk(None).unwrap();
        assert_eq!(now, seen(&mut store, &workspace), "{number}: {step}");
        // Walks go by the names of the survey before, by those of this one, and by what was listed.
        assert_eq!(before, walked, "{number}: {step}");
        assert_eq!(bench.workspace.walk(None).unwrap(), walked, "{number}");
        assert_eq!(bench.workspace.walk(None).unwrap(), walked, "{number}");
        if step.is_empty() {
            assert_eq!(last, Some(now.0.snapshot), "{number}");
        }
        last = Some(now.0.snapshot);
    }
}

#[test]
fn nothing_is_listed_or_read_again_while_nothing_changes() {
    let mut bench = bench();
    bench.shell("mkdir -p a/b; echo 1 > a/b/c; echo 2 > d");
    bench.let_time_pass();
    let first = seen(&mut bench.store, &bench.workspace);
    let listed = listed_by_this_thread();
    assert_eq!(seen(&mut bench.store, &bench.workspace), first);
    assert_eq!(bench.workspace.walk(None).unwrap().files.len(), 2);
    assert_eq!(bench.workspace.walk(None).unwrap().files.len(), 2);
    assert_eq!(listed_by_this_thread(), listed);
    // A directory that changed is listed, and only that.
    bench.shell("echo 3 > a/e");
    bench.await_tick();
    assert_ne!(seen(&mut bench.store, &bench.workspace), first);
    assert_eq!(listed_by_this_thread(), listed + 1);
    // A cache whose objects are gone says nothing.
    bench.shell("rm -r ../objects/packs/*");
    let again = bench
        .store
        .take(&bench.workspace, &CheckpointLimits::default());
    assert_eq!(again.unwrap().files_read, 3);
}

#[test]
fn what_stays_as_it_was_is_not_recorded_again() {
    let mut bench = bench();
    bench.shell(
        "mkdir -p one two/three; echo ignored > .gitignore; echo 1 > one/a; echo 2 > one/b
        echo 3 > one/.agent-x.tmp; echo 4 > two/three/c",
    );
    bench.let_time_pass();
    bench.taken();
    let scope = CheckpointLimits::default().scope;
    let survey = |bench: &Bench, scope: &SurveyScope| {
        let now = (bench.store.clock)();
        let survey = bench.workspace.survey_everything(scope, now).unwrap();
        let contents = survey.directories.into_iter().map(|visited| visited.value);
        let contents = contents.map(|seen| (seen.path().to_owned(), seen.content));
        contents.collect::<BTreeMap<PathBuf, Arc<DirectoryContent>>>()
    };
    let shared = |before: &BTreeMap<_, Arc<_>>, now: &BTreeMap<PathBuf, Arc<_>>| {
        let is_shared = |path: &Path| Arc::ptr_eq(&before[path], &now[path]);
        let shared = now.keys().filter(|path| is_shared(path));
        let shared: Vec<&str> = shared.map(|path| path.to_str().unwrap()).collect();
        shared.join(" ")
    };
    let first = survey(&bench, &scope);
    assert_eq!(
        shared(&first, &survey(&bench, &scope)),
        " one two two/three"
    );
    // A file changes: all others in its directory are taken over, with nothing twice.
    bench.shell("echo more >> one/b");
    let second = survey(&bench, &scope);
    assert_eq!(shared(&first, &second), " two two/three");
    let names = |content: &DirectoryContent| {
        let names = content.entries.iter().map(|entry| entry.name.clone());
        names.collect::<Vec<_>>()
    };
    assert_eq!(
        names(&second[Path::new("one")]),
        ["a", "b"].map(OsStr::new).map(Arc::from)
    );
    // Other rules, or another scope: what was entered says nothing.
    bench.shell("echo three > .gitignore");
    assert_eq!(shared(&first, &{ survey(&bench, &scope) }), "");
    bench.shell("echo ignored > .gitignore");
    let apart = SurveyScope {
        leave_out: vec![PathBuf::from("two/three")],
        ..scope
    };
    assert_eq!(shared(&first, &survey(&bench, &apart)), "");
}

#[test]
fn another_kind_of_what_is_not_looked_into_is_seen() {
    let bench = bench();
    let seen = |make: &str| {
        bench.shell(&format!("rm -rf .git; {make} .git"));
        let scope = CheckpointLimits::default().scope;
        let now = (bench.store.clock)();
        bench.workspace.survey_everything(&scope, now).unwrap()
    };
    let (file, link, directory) = (seen("touch"), seen("ln -s x"), seen("mkdir"));
    assert!(seen("touch").has_seen(&file.tree()));
    for (survey, other) in [(&file, &link), (&link, &directory), (&directory, &file)] {
        assert!(!survey.has_seen(&other.tree()));
    }
}

#[test]
fn random_changes_are_seen_whatever_is_known() {
    const PATHS: [&str; 9] = [
        "a",
        "b",
        "a/c",
        "a/d",
        "a/c/e",
        "b/f",
        "g",
        "b/f/h",
        "a/.gitignore",
    ];
    let mut bench = bench();
    let mut random = 0x2545_f491_u32;
    let mut next = |below: usize| {
        random ^= random << 13;
        random ^= random >> 17;
        random ^= random << 5;
        random as usize % below
    };
    for round in 0..150 {
        for _ in 0..next(3) {
            let (one, other) = (PATHS[next(PATHS.len())], PATHS[next(PATHS.len())]);
            // A new content has the length of the old one, and mostly its time.
            let word = ["c", "d", "e"][next(3)];
            let step = match next(8) {
                0 => format!("mkdir -p {one}"),
                1 => format!("rm -rf {one}"),
                2 => format!("mv -T {one} {other}"),
                3 => format!("ln {one} {other}"),
                4 => format!("chmod {} {one}", ["600", "755"][next(2)]),
                _ => format!("echo {word} > {one}"),
            };
            bench.shell(&format!("{{ {step}; }} 2> /dev/null || true"));
        }
        // Half of the rounds look at once, the others when everything has settled.
        if next(2) == 0 {
            bench.await_tick();
            bench.let_time_pass();
        } else {
            bench.store.clock = SystemTime::now;
        }
        if round > 0 && next(3) == 0 {
            survey_after_command(&bench);
        }
        let now = seen(&mut bench.store, &bench.workspace);
        let other = bench.directory.path().join("other");
        let mut store = CheckpointStore::open(&other).unwrap();
        let workspace = Workspace::open(&bench.root).unwrap();
        assert_eq!(now, seen(&mut store, &workspace), "round {round}");
        fs::remove_dir_all(other).unwrap();
    }
}

/// Gives two directories each other's names.
const EXCHANGE: &str = "mv a c; mv b a; mv c b";

#[test]
fn a_file_that_is_not_the_one_that_was_surveyed_is_told_and_read_again() {
    let mut bench = bench();
    bench.shell("mkdir a b; printf one > a/f; printf two > b/f");
    bench.store.clock = || SystemTime::now() + Duration::from_hours(1);
    let limits = CheckpointLimits::default();
    let now = (bench.store.clock)();
    let survey = bench
        .workspace
        .survey_everything(&limits.scope, now)
        .unwrap();
    bench.shell(EXCHANGE);
    let settled = take::settled_before(now);
    let nothing = KnownBefore::Cached(Directories::new());
    let builder = SnapshotBuilder::new(&bench.store.objects, &limits, nothing, settled);
    let found = builder.run(&bench.workspace, survey).unwrap();
    assert!(found.is_torn);
    assert!(!found.directories[OsStr::new("a")].is_repeatable());
}

#[test]
fn a_directory_that_is_not_the_one_that_was_seen_from_above_is_not_known() {
    let bench = bench();
    bench.shell("mkdir a b; printf one > a/only-in-a; printf two > b/only-in-b");
    let scope = Arc::new(SurveyScope {
        max_entries: 100,
        ..SurveyScope::default()
    });
    let visited = bench.workspace.survey(scope, |directory| {
        // They are exchanged between the look at the directory above and the look into them.
        if directory.path().as_os_str().is_empty() || directory.path() == Path::new("b") {
            bench.shell(EXCHANGE);
        }
        (directory.path().to_owned(), directory.stat().is_some())
    });
    let visited: BTreeMap<PathBuf, bool> =
        visited.unwrap().into_iter().map(|one| one.value).collect();
    assert_eq!(
        visited.into_iter().collect::<Vec<_>>(),
        [("".into(), true), ("a".into(), false), ("b".into(), false)]
    );
}
