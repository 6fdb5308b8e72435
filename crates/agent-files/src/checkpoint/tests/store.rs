//! The files of the store: what a crash leaves, what is damaged, what is freed.

use super::*;

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
        store: CheckpointStore::open(&objects).unwrap(),
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
        store: CheckpointStore::open(&objects).unwrap(),
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
    let tidied = bench.tidy(&[kept], u64::MAX);
    assert!(
        tidied.freed > 600_000 && tidied.left < 650_000,
        "{tidied:?}"
    );
    assert_eq!(tidied.missing, 0);
    bench.go(last, kept);
    assert_eq!(bench.held(), held);
    let again = bench.tidy(&[kept], u64::MAX);
    assert_eq!((again.freed, again.left), (0, tidied.left));
}

#[test]
fn beyond_the_limit_the_oldest_rounds_go_first_and_what_is_needed_stays() {
    let mut bench = bench();
    let mut rounds = Vec::new();
    let mut before = bench.take();
    for _ in 0..6 {
        bench.shell("head -c 100000 /dev/urandom > a");
        let after = bench.take();
        rounds.insert(0, [before, after]);
        before = after;
    }
    let needed = rounds[5][1];
    let mut wanted = WantedSnapshots {
        needed: vec![needed],
        rounds: rounds.clone(),
        handy: Vec::new(),
    };
    let tidied = bench.store.tidy(&wanted, 450_000).unwrap();
    assert_eq!(tidied.given_up, 4, "{tidied:?}");
    assert!(tidied.left <= 450_000, "{tidied:?}");
    // The two latest rounds, and what was needed.
    bench.go(rounds[0][1], rounds[1][0]);
    assert!(bench.store.changes(&needed, &rounds[0][1]).is_ok());
    let gone = bench.store.changes(&rounds[3][0], &rounds[3][1]);
    assert!(gone.unwrap_err().to_string().contains("is missing"));
    // The same again is no news, and the next snapshot has all that it needs.
    let again = bench.store.tidy(&wanted, 450_000).unwrap();
    assert_eq!((again.given_up, again.freed), (0, 0), "{again:?}");
    let before = bench.take();
    bench.shell("rm a");
    let after = bench.take();
    bench.go(after, before);
    assert!(bench.has("a"));
    // What is under way is never given up.
    wanted.needed = vec![needed, before, after];
    wanted.rounds.clear();
    let tidied = bench.store.tidy(&wanted, 1).unwrap();
    assert!(tidied.left > 200_000 && tidied.missing == 0, "{tidied:?}");
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
    bench.store = CheckpointStore::open(&bench.root.join("sessions/objects")).unwrap();
    bench.shell("printf 1 > a");
    let first = bench.take();
    assert_eq!(bench.take(), first);
    assert_eq!(bench.take(), first);
}
