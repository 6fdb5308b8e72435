//! Undo keeps removed contents that the workspace has nowhere else.

use super::*;

fn kept(bench: &Bench) -> BTreeMap<PathBuf, Held> {
    let removed = bench.directory.path().join("removed");
    let mut held = BTreeMap::new();
    if removed.exists() {
        hold(&removed, &removed, &mut held);
    }
    held.retain(|_, what| !matches!(what, Held::Directory(_)));
    held
}

#[track_caller]
fn keeps(bench: &Bench, expected: &[(&str, &str)]) {
    let kept = kept(bench);
    let kept: Vec<(&str, &[u8])> = (kept.iter())
        .filter_map(|(path, what)| match what {
            Held::File(content, _) => Some((path.to_str()?, content.as_slice())),
            _ => None,
        })
        .collect();
    let expected: Vec<(&str, &[u8])> = (expected.iter())
        .map(|(path, content)| (*path, content.as_bytes()))
        .collect();
    assert_eq!(kept, expected);
}

#[test]
fn the_only_copy_of_what_was_ignored_is_kept() {
    let mut bench = bench();
    bench
        .shell("printf 'data/\n' > .gitignore; mkdir data; printf precious > data/x; printf 1 > a");
    let before = bench.take();
    bench.shell("cp -r data data2; rm -r data; cp data2/x a");
    let after = bench.take();
    let restored = bench.go_keeping(after, before);
    assert!(!bench.has("data2") && bench.text("a") == "1");
    keeps(&bench, &[("a", "precious"), ("data2/x", "precious")]);
    assert_eq!(restored.aside.len(), 2);
    // The same undo again keeps nothing twice.
    bench.go(before, after);
    bench.go_keeping(after, before);
    keeps(&bench, &[("a", "precious"), ("data2/x", "precious")]);
}

#[test]
fn symbolic_links_are_kept_like_files() {
    let mut bench = bench();
    bench.shell(
        "printf 'data/\n' > .gitignore; mkdir data; ln -s /srv/a data/l; ln -s b old; printf 1 > f",
    );
    let before = bench.take();
    bench.shell("mv data/l moved; mv old renamed; ln -sf /srv/c f");
    let after = bench.take();
    for _ in 0..2 {
        let restored = bench.go_keeping(after, before);
        assert_eq!(restored.aside.len(), 2);
        assert_eq!(bench.take(), before);
        let removed = bench.directory.path().join("removed");
        let target = fs::read_link(removed.join("moved")).unwrap();
        assert_eq!(target, Path::new("/srv/a"));
        // One that a file replaces is kept as the text of its target.
        assert_eq!(fs::read(removed.join("f")).unwrap(), b"/srv/c");
        assert_eq!(kept(&bench).len(), 2);
        bench.go(before, after);
    }
}

#[test]
fn a_copy_that_the_person_changed_since_does_not_count() {
    let mut bench = bench();
    bench.shell(
        "printf 'bak/\n' > .gitignore; mkdir bak; printf precious | tee bak/x > x; printf 1 > y",
    );
    let before = bench.take();
    bench.shell("cp bak/x restored; rm -r bak; cp y z");
    let after = bench.take();
    bench.shell("printf changed > x");
    bench.go_keeping(after, before);
    assert!(!bench.has("restored") && bench.text("x") == "changed");
    // `y` still has what `z` had.
    keeps(&bench, &[("restored", "precious")]);
}

#[test]
fn what_the_workspace_has_afterwards_is_not_kept() {
    let mut bench = bench();
    bench.shell("printf old > a; printf same > b");
    let before = bench.take();
    bench.shell("mv a moved; cp b copy; : > empty; chmod 600 b");
    let after = bench.take();
    let restored = bench.go_keeping(after, before);
    assert_eq!(bench.take(), before);
    assert_eq!(restored.aside, []);
    keeps(&bench, &[]);
}

#[test]
fn what_cannot_come_back_where_it_was_is_kept() {
    let mut bench = bench();
    bench.shell("printf old > a");
    let before = bench.take();
    bench.shell("mv a moved");
    let after = bench.take();
    bench.shell("printf mine > a");
    bench.go_keeping(after, before);
    assert_eq!(bench.text("a"), "mine");
    keeps(&bench, &[("moved", "old")]);
}

#[test]
fn what_cannot_be_kept_is_not_removed() {
    let mut bench = bench();
    let before = bench.take();
    bench.shell("printf new > a; mkdir d; printf new > d/a");
    let after = bench.take();
    fs::create_dir(bench.directory.path().join("removed")).unwrap();
    fs::File::create(bench.directory.path().join("removed/d")).unwrap();
    let restored = bench.go_keeping(after, before);
    assert!(!bench.has("a"));
    assert_eq!(bench.text("d/a"), "new");
    let skipped: Vec<&Path> = (restored.skipped.iter())
        .map(|one| one.path.as_path())
        .collect();
    assert_eq!(skipped, ["d", "d/a"].map(Path::new));
    assert!(matches!(restored.skipped[1].why, ConflictReason::Failed(_)));
}

#[test]
fn a_directory_that_was_ignored_at_first_comes_back_as_it_was_first_known() {
    let mut bench = bench();
    bench.shell("printf 'data/\n' > .gitignore; mkdir -m 700 data; printf 1 > data/x");
    let first = bench.take();
    bench.shell(": > .gitignore");
    let second = bench.take();
    bench.shell("rm -r data");
    let third = bench.take();
    let turns = [
        Turn {
            from: third,
            to: second,
            original: None,
        },
        Turn {
            from: second,
            to: first,
            original: None,
        },
    ];
    let plan = bench.store.plan(&bench.workspace, &turns).unwrap();
    let restored = bench.restore(&plan, Force::Skip);
    assert_eq!(restored.skipped, []);
    assert_eq!(bench.text("data/x"), "1");
    assert_eq!(bench.text(".gitignore"), "data/\n");
    assert_eq!(bench.held()[Path::new("data")], Held::Directory(0o700));
    assert_eq!(bench.take(), first);
}
