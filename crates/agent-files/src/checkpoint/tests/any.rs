//! All changes of rounds to a tree can be undone and redone, and none of the person's files is
//! lost.

use proptest::prelude::*;

use super::*;

#[derive(Debug, Clone)]
enum Operation {
    Write(usize, u8),
    Append(usize),
    Remove(usize),
    Rename(usize, usize),
    Link(usize, usize),
    HardLink(usize, usize),
    Directory(usize),
    Mode(usize, u32),
}

const PATHS: [&str; 10] = [
    "a", "b", "d", "d/a", "d/b", "d/e", "d/e/a", "d/e/b", "f/a", "f",
];

impl Operation {
    /// Applies the operation; callers ignore failures.
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
            Self::HardLink(path, to) => fs::hard_link(at(to), at(path)),
            Self::Directory(path) => fs::create_dir_all(at(path)),
            Self::Mode(path, mode) => {
                let kind = at(path).symlink_metadata()?.file_type();
                if kind.is_symlink() {
                    return Ok(());
                }
                // This test could not look into a directory that is closed to it.
                let is_closed = kind.is_dir() && !rustix::process::geteuid().is_root();
                let mode = if is_closed { mode | 0o700 } else { mode };
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
        1 => (path(), path()).prop_map(|(path, to)| Operation::HardLink(path, to)),
        1 => path().prop_map(Operation::Directory),
        1 => (path(), prop::sample::select(vec![0o644_u32, 0o755, 0o700, 0o600, 0o500, 0o4755, 0o1777, 0o2755]))
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
            .map(|pair| Turn { from: pair[1].0, to: pair[0].0, original: None })
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
