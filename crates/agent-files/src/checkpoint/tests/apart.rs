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
