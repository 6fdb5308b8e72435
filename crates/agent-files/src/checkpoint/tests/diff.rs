//! Changes between two snapshots, and their diffs.

use super::*;
use crate::line_diff::Lines;

#[test]
fn renames_are_recognised_by_content() {
    let mut bench = bench();
    bench.shell("printf same > a; printf same > b; : > empty; printf other > c");
    let before = bench.take();
    bench.shell("mkdir d; mv a d/a; mv b d/b; mv empty d/empty; rm c");
    let after = bench.take();
    let changes = bench.store.changes(&before, &after).unwrap();
    let told: Vec<_> = changes.iter().map(|one| (&*one.path, &one.kind)).collect();
    let renamed = |from: &str| ChangeKind::Renamed {
        from: PathBuf::from(from),
    };
    assert_eq!(
        told,
        [
            (Path::new("c"), &ChangeKind::Deleted),
            (Path::new("d/a"), &renamed("a")),
            (Path::new("d/b"), &renamed("b")),
            (Path::new("d/empty"), &ChangeKind::Created),
            (Path::new("empty"), &ChangeKind::Deleted),
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
    let changes = bench.store.changes(&before, &after).unwrap();
    let stat = bench.store.stat_of(changes, &limits).unwrap();
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
fn an_empty_directory_is_a_plain_line_between_files() {
    let mut bench = bench();
    bench.shell("umask 022; mkdir gone modes");
    let before = bench.take();
    bench.shell("umask 022; rmdir gone; chmod 700 modes; mkdir -p new/er; echo x > z");
    let after = bench.take();
    let limits = DiffLimits::default();
    let diff = bench.store.diff(&before, &after, &limits).unwrap();
    insta::assert_snapshot!(diff, @r"
    Deleted empty directory: gone
    Changed permissions of a directory: modes
    New empty directory: new/er
    diff --git a/z b/z
    new file mode 100644
    --- /dev/null
    +++ b/z
    @@ -0,0 +1 @@
    +x
    ");
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
fn several_rounds_are_one_change_without_what_others_did_in_between() {
    let mut bench = bench();
    bench.shell("printf 'a\n' > old; printf 'x\n' > gone");
    let mut rounds = Vec::new();
    let mut round = |bench: &mut Bench, script: &str| {
        let before = bench.take();
        bench.shell(script);
        rounds.push((before, bench.take()));
    };
    round(
        &mut bench,
        "mkdir d; printf 'n\n' > d/n; printf 'b\n' > old",
    );
    bench.shell("printf 'mine\n' > mine; printf 'my line\n' >> d/n");
    round(
        &mut bench,
        "printf 1 > tmp; mkdir t; : > t/x; printf 'm\n' > d/m; rm gone",
    );
    round(&mut bench, "rm -r tmp t; printf 'a\n' > old");
    let changes = bench.store.net_changes(&rounds).unwrap();
    let told: Vec<_> = changes.iter().map(|one| (&*one.path, &one.kind)).collect();
    assert_eq!(
        told,
        [
            (Path::new("d/m"), &ChangeKind::Created),
            (Path::new("d/n"), &ChangeKind::Created),
            (Path::new("gone"), &ChangeKind::Deleted),
        ]
    );
    let diff = (bench.store.diff_of(&changes, &DiffLimits::default())).unwrap();
    assert!(!diff.contains("my line"), "{diff}");
}
