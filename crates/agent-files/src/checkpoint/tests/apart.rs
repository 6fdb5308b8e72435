//! Files that may be somebody else's work are neither deleted nor overwritten.

use super::*;

/// Excludes the paths that have `person` in their names.
fn is_persons(path: &Path, _: &Node, _: &survey::FileStat) -> Option<Reason> {
    let is_persons = path.to_string_lossy().contains("person");
    is_persons.then_some(Reason::Meanwhile)
}

#[test]
fn what_is_unclear_is_named_and_left_alone_and_the_rest_is_taken_back() {
    let mut bench = bench();
    bench.shell("printf 1 > person-keep; printf 1 > a; mkdir d; printf 1 > d/b; printf 1 > gone");
    let before = bench.take();
    bench.shell("printf 2 > a; rm gone; mkdir out; printf 2 > out/c; printf 2 > d/e");
    bench.shell("printf mine > person-keep; mkdir -p person-new/deep; printf mine > person-new/deep/x; printf mine > out/person; printf mine > d/person");
    let now = bench.take();
    let apart = (bench.store).set_apart(&bench.workspace, before, now, is_persons);
    let (before, unclear) = apart.unwrap();
    let names = ["d/person", "out/person", "person-keep", "person-new"];
    let unclear: Vec<&Path> = unclear.iter().map(|one| one.path.as_path()).collect();
    assert_eq!(unclear, names.map(Path::new));
    let plan = bench.plan(now, before);
    let conflicts: Vec<&Path> = (plan.conflicts.iter())
        .map(|conflict| conflict.path.as_path())
        .collect();
    assert_eq!(conflicts, names.map(Path::new));
    bench.restore(&plan, Force::KeepCopies);
    assert_eq!(bench.text("a") + &bench.text("gone"), "11");
    assert!(!bench.has("out/c") && !bench.has("d/e"));
    for name in ["d/person", "out/person", "person-keep", "person-new/deep/x"] {
        assert_eq!(bench.text(name), "mine", "{name}");
    }
}

#[test]
fn where_all_is_clear_nothing_is_made_anew() {
    let mut bench = bench();
    bench.shell("printf 1 > a");
    let before = bench.take();
    bench.shell("printf 2 > a; printf 2 > b");
    let now = bench.take();
    let apart = (bench.store).set_apart(&bench.workspace, before, now, is_persons);
    assert_eq!(apart.unwrap(), (before, Vec::new()));
}

#[test]
fn what_is_unclear_is_restored_if_the_person_insists() {
    let mut bench = bench();
    bench.shell("printf 1 > person; printf 1 > a; printf 1 > gone-person");
    let original = bench.take();
    bench.shell("printf 2 > a; printf 22 > person; printf 2 > person-new; rm gone-person");
    let now = bench.take();
    let apart = (bench.store).set_apart(&bench.workspace, original, now, is_persons);
    let turn = Turn {
        from: now,
        to: apart.unwrap().0,
        original: Some(original),
    };
    let plan = bench.store.plan(&bench.workspace, &[turn]).unwrap();
    assert!(!plan.conflicts.iter().any(Conflict::is_beyond_force));
    let held = bench.held();
    let restored = bench.restore(&plan, Force::Skip);
    assert_eq!(restored.skipped.len(), 2);
    assert_eq!(bench.text("person"), "22");
    assert_eq!(bench.text("a") + &bench.text("gone-person"), "11");
    let plan = bench.store.plan(&bench.workspace, &[turn]).unwrap();
    let restored = bench.restore(&plan, Force::KeepCopies);
    assert_eq!(restored.skipped, []);
    assert_eq!(bench.text("person"), "1");
    assert!(!bench.has("person-new"));
    assert_eq!(bench.text("person.kept"), "22");
    assert_eq!(bench.text("person-new.kept"), "2");
    assert_ne!(bench.held(), held);
    let again = bench.store.plan(&bench.workspace, &[turn]).unwrap();
    assert_eq!(again.conflicts, []);
    // Without the original there is nothing to restore, however much the person insists.
    bench.shell("printf 22 > person");
    let turn = Turn {
        original: None,
        ..turn
    };
    let plan = bench.store.plan(&bench.workspace, &[turn]).unwrap();
    assert!(plan.conflicts.iter().all(Conflict::is_beyond_force));
}

#[test]
fn a_file_that_was_ignored_until_now_was_not_moved() {
    let mut bench = bench();
    bench.shell("printf 'build/\n' > .gitignore; mkdir build; printf 1 > build/x");
    let before = bench.take();
    bench.shell(": > .gitignore; printf 2 > build/x; printf 1 > moved");
    let now = bench.take();
    let is_foreign = |path: &Path, _: &Node, _: &survey::FileStat| {
        (path != Path::new(".gitignore")).then_some(Reason::MovedIn)
    };
    let apart = (bench.store).set_apart(&bench.workspace, before, now, is_foreign);
    let reasons: Vec<(PathBuf, Reason)> = (apart.unwrap().1.into_iter())
        .map(|one| (one.path, one.reason))
        .collect();
    let expected = [("build", Reason::Ignored), ("moved", Reason::MovedIn)];
    assert_eq!(reasons, expected.map(|(path, why)| (path.into(), why)));
}

#[test]
fn a_file_that_was_moved_onto_a_directory_does_not_hide_its_files() {
    let mut bench = bench();
    bench.shell("printf 'ign/\n' > .gitignore; mkdir ign d; printf k > ign/k; printf b > d/b");
    let before = bench.take();
    bench.shell("mv d moved; mv ign/k d");
    let now = bench.take();
    let is_foreign = |path: &Path, _: &Node, _: &survey::FileStat| {
        path.ends_with("d").then_some(Reason::MovedIn)
    };
    let apart = (bench.store).set_apart(&bench.workspace, before, now, is_foreign);
    let (before, excluded) = apart.unwrap();
    assert_eq!(excluded.len(), 0);
    let restored = bench.go_keeping(now, before);
    assert_eq!(restored.skipped, []);
    assert!(bench.text("d/b") == "b" && !bench.has("moved"));
    let kept = bench.directory.path().join("removed/d");
    assert_eq!(fs::read_to_string(kept).unwrap(), "k");
}
