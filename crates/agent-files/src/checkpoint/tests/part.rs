//! Snapshots of a few paths, held against those of everything.

use super::*;
use agent_protocol::RelPath;

impl Bench {
    fn part(&mut self, earlier: Snapshot, paths: &[&str]) -> Option<TakenSnapshot> {
        let paths: Vec<RelPath> = (paths.iter().map(|path| RelPath::parse(path)))
            .collect::<Result<_, _>>()
            .unwrap();
        self.store
            .take_part(
                &self.workspace,
                &CheckpointLimits::default(),
                earlier,
                &paths,
            )
            .unwrap()
    }
}

/// Runs a script and compares a snapshot of these paths with a full one.
#[track_caller]
fn case(paths: &[&str], script: &str) {
    let mut bench = bench();
    bench.shell(BEFORE);
    let earlier = bench.take();
    bench.shell(script);
    let part = bench.part(earlier, paths).unwrap();
    assert!(part.files_read <= paths.len() as u64, "{script}");
    assert_eq!(part.snapshot, bench.take(), "{script}");
    assert_eq!(part.snapshot == earlier, script.is_empty(), "{script}");
}

#[test]
fn a_look_at_what_changed_is_as_good_as_one_at_everything() {
    case(&["src/main.rs", "gone.txt", "no/such/file"], "");
    case(&["src/main.rs"], "printf x >> src/main.rs");
    case(&["gone.txt", "run.sh"], "rm gone.txt; chmod 755 run.sh");
    case(&["a/b/c.txt"], "mkdir -p a/b; printf c > a/b/c.txt");
    case(&["old/dir/name.txt"], "rm -r old");
    case(
        &["old/dir/name.txt", "new/name.txt"],
        "mkdir new; mv old/dir/name.txt new/name.txt",
    );
    case(
        &["becomes-directory/z"],
        "rm becomes-directory; mkdir becomes-directory; printf z > becomes-directory/z",
    );
    case(
        &["becomes-file", "becomes-file/inner"],
        "rm -r becomes-file; printf z > becomes-file",
    );
    case(&["link"], "rm link; printf z > link");
    case(&[".env"], "printf 'SECRET=2\n' > .env");
}

#[test]
fn what_is_named_is_covered_though_it_is_ignored() {
    let mut bench = bench();
    bench.shell("printf 'dist/\n*.dat\n' > .gitignore; mkdir dist; printf old > dist/app.js; printf other > dist/other.js");
    bench.shell("head -c 70000 /dev/zero > big.dat");
    let paths = ["dist/app.js", "big.dat", "dist/new.js"];
    let earlier = bench.take();
    let before = bench.part(earlier, &paths).unwrap().snapshot;
    let held = bench.held();
    bench.shell("printf new > dist/app.js; rm big.dat; printf x > dist/new.js");
    let after = bench.part(before, &paths).unwrap().snapshot;
    assert_eq!(bench.store.changes(&before, &after).unwrap().len(), 3);
    // Whether it was looked at is nobody's news.
    assert_eq!(bench.store.changes(&earlier, &before).unwrap(), []);
    bench.go(after, before);
    assert_eq!(bench.held(), held);
}

#[test]
fn what_others_did_meanwhile_is_neither_known_nor_taken_back() {
    let mut bench = bench();
    bench.shell("mkdir d; printf 1 > d/round; printf 1 > d/person; printf 1 > person");
    let earlier = bench.take();
    bench.shell("printf mine > person; printf mine > d/new");
    let before = bench.part(earlier, &["d/round"]).unwrap().snapshot;
    assert_eq!(before, earlier);
    bench.shell("printf 2 > d/round; printf mine > d/person; rm person");
    let after = bench.part(before, &["d/round"]).unwrap().snapshot;
    let changes = bench.store.changes(&before, &after).unwrap();
    assert_eq!(changes.len(), 1);
    bench.go(after, before);
    assert_eq!(bench.text("d/round"), "1");
    assert_eq!(bench.text("d/person") + &bench.text("d/new"), "minemine");
    assert!(!bench.has("person"));
}

#[test]
fn a_named_file_that_the_person_changed_first_comes_back_as_they_left_it() {
    let mut bench = bench();
    bench.shell("printf 1 > a");
    let earlier = bench.take();
    bench.shell("printf mine > a");
    let before = bench.part(earlier, &["a"]).unwrap().snapshot;
    bench.shell("printf 2 > a");
    let after = bench.part(before, &["a"]).unwrap().snapshot;
    bench.go(after, before);
    assert_eq!(bench.text("a"), "mine");
}

#[test]
fn there_is_none_where_the_paths_are_not_enough() {
    let mut bench = bench();
    bench.shell("printf 1 > a");
    let earlier = bench.take();
    assert!(bench.part(earlier, &["a", "sub/.gitignore"]).is_none());
    assert!(
        bench
            .part(Snapshot(blake3::hash(b"gone")), &["a"])
            .is_none()
    );
    // As if the file system folded letter case: a directory of ours is there and not listed.
    bench.shell("mkdir .git");
    assert!(bench.part(earlier, &[".git/config"]).is_none());
}
