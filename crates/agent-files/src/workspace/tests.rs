//! Attacks on the workspace, each with what must still be true afterwards.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::sync::atomic::{AtomicBool, Ordering};

use super::*;

const LIMIT: u64 = 1024;

struct Place {
    outside: tempfile::TempDir,
    inside: tempfile::TempDir,
    workspace: Workspace,
}

/// A workspace, and a directory beside it with a `secret` that nobody may read or change.
fn place() -> Place {
    let outside = tempfile::tempdir().unwrap();
    put(outside.path(), "secret", "secret");
    let inside = tempfile::tempdir().unwrap();
    let workspace = Workspace::open(inside.path()).unwrap();
    Place {
        outside,
        inside,
        workspace,
    }
}

fn put(directory: &Path, name: &str, content: &str) {
    fs::File::create(directory.join(name))
        .unwrap()
        .write_all(content.as_bytes())
        .unwrap();
}

fn path(text: &str) -> RelPath {
    RelPath::parse(text).unwrap()
}

impl Place {
    fn root(&self) -> &Path {
        self.inside.path()
    }

    fn secret(&self) -> PathBuf {
        self.outside.path().join("secret")
    }

    fn fifo(&self, name: &str) {
        rustix::fs::mknodat(
            rustix::fs::CWD,
            self.root().join(name),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
            0,
        )
        .unwrap();
    }

    /// The outside is as it was, and no temporary file is left inside.
    #[track_caller]
    fn check(&self) {
        assert_eq!(fs::read_to_string(self.secret()).unwrap(), "secret");
        assert_eq!(fs::read_dir(self.outside.path()).unwrap().count(), 1);
        for entry in fs::read_dir(self.root()).unwrap() {
            let name = entry.unwrap().file_name();
            assert!(!name.to_string_lossy().ends_with(".tmp"), "{name:?}");
        }
    }

    #[track_caller]
    fn refuses_to_change(&self, name: &str, expected: &str) {
        for result in [
            self.workspace.write(&path(name), b"x"),
            self.workspace.remove(&path(name)),
            self.workspace.rename(&path(name), &path("elsewhere")),
        ] {
            assert_eq!(result.unwrap_err().to_string(), expected);
        }
        assert!(!self.root().join("elsewhere").exists());
        self.check();
    }
}

#[test]
fn a_network_drive_of_windows_is_known() {
    for path in [r"C:\x", r"\\?\D:\x", "e:"] {
        assert!(begins_with_drive(Path::new(path)), "{path}");
    }
    for path in [
        r"\\?\UNC\server\share",
        r"\\server\share",
        r"\\?\Volume{1}\x",
        "/x",
    ] {
        assert!(!begins_with_drive(Path::new(path)), "{path}");
    }
}

#[test]
fn a_missing_workspace_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let error = Workspace::open(&directory.path().join("gone")).unwrap_err();
    assert!(error.to_string().contains("gone"), "{error}");
    put(directory.path(), "file", "");
    let error = Workspace::open(&directory.path().join("file")).unwrap_err();
    assert!(error.to_string().ends_with("is not a directory"), "{error}");
}

#[test]
fn what_is_written_can_be_read() {
    let place = place();
    let file = path("a/b/c.txt");
    for content in ["one", "two"] {
        place.workspace.write(&file, content.as_bytes()).unwrap();
        assert_eq!(
            place.workspace.read(&file, LIMIT).unwrap(),
            content.as_bytes()
        );
    }
    assert_eq!(fs::read_dir(place.root().join("a/b")).unwrap().count(), 1);
    place.workspace.sync().unwrap();
}

#[test]
fn the_mode_of_a_replaced_file_is_kept() {
    let place = place();
    let mode = |name: &str| {
        let metadata = fs::metadata(place.root().join(name)).unwrap();
        metadata.permissions().mode() & 0o777
    };
    for kept in [0o755, 0o600, 0o640] {
        put(place.root(), "a", "");
        let permissions = fs::Permissions::from_mode(kept);
        fs::set_permissions(place.root().join("a"), permissions).unwrap();
        place.workspace.write(&path("a"), b"x").unwrap();
        assert_eq!(mode("a"), kept);
    }
    let write = |permission| {
        let file = path("new");
        place.workspace.write_as(&file, b"", permission).unwrap();
        mode("new") & 0o111
    };
    assert_eq!(write(ExecutableBit::Keep), 0);
    assert_ne!(write(ExecutableBit::Executable), 0);
    assert_ne!(write(ExecutableBit::Keep), 0);
    assert_eq!(write(ExecutableBit::Plain), 0);
}

#[test]
fn a_link_that_stays_inside_is_read_but_not_changed() {
    let place = place();
    place.workspace.write(&path("real/a"), b"x").unwrap();
    symlink("real/a", place.root().join("link")).unwrap();
    symlink("real", place.root().join("dir")).unwrap();
    for name in ["link", "dir/a"] {
        assert_eq!(place.workspace.read(&path(name), LIMIT).unwrap(), b"x");
    }
    for (name, link) in [("link", "link"), ("dir/a", "dir")] {
        let expected = format!("`{link}` is a symbolic link: files are not changed through links");
        place.refuses_to_change(name, &expected);
    }
    assert_eq!(fs::read(place.root().join("real/a")).unwrap(), b"x");
}

#[test]
fn a_link_that_leads_out_is_neither_read_nor_changed() {
    let place = place();
    let up = format!(
        "../{}/secret",
        place.outside.path().file_name().unwrap().to_str().unwrap()
    );
    symlink(place.secret(), place.root().join("absolute")).unwrap();
    symlink(up, place.root().join("relative")).unwrap();
    symlink(place.outside.path(), place.root().join("dir")).unwrap();
    symlink("/proc/self/root", place.root().join("magic")).unwrap();
    for name in ["absolute", "relative", "dir/secret", "magic/etc/passwd"] {
        let problem = place.workspace.read(&path(name), LIMIT).unwrap_err();
        assert_eq!(
            problem.to_string(),
            format!("`{name}` leads out of the workspace")
        );
        let link = path(name).components().next().unwrap().to_owned();
        let expected = format!("`{link}` is a symbolic link: files are not changed through links");
        place.refuses_to_change(name, &expected);
    }
    let problem = place.workspace.write(&path("dir/new"), b"x").unwrap_err();
    assert!(matches!(problem, FileProblem::Link { .. }), "{problem}");
    place.check();
}

#[test]
fn a_link_without_a_target_is_not_written_through() {
    let place = place();
    symlink(place.outside.path().join("new"), place.root().join("link")).unwrap();
    let problem = place.workspace.write(&path("link"), b"x").unwrap_err();
    assert!(matches!(problem, FileProblem::Link { .. }), "{problem}");
    place.workspace.write(&path("a"), b"x").unwrap();
    let problem = place
        .workspace
        .rename(&path("a"), &path("link"))
        .unwrap_err();
    assert!(matches!(problem, FileProblem::Exists(_)), "{problem}");
    place.check();
}

#[test]
fn a_hard_link_to_the_outside_is_replaced_not_written() {
    let place = place();
    fs::hard_link(place.secret(), place.root().join("hard")).unwrap();
    place.workspace.write(&path("hard"), b"x").unwrap();
    place.check();
}

#[test]
fn a_pipe_does_not_hang() {
    let place = place();
    place.fifo("pipe");
    let problem = place.workspace.read(&path("pipe"), LIMIT).unwrap_err();
    assert_eq!(problem.to_string(), "`pipe` is not a regular file");
    place.refuses_to_change("pipe", "`pipe` is not a regular file");
}

#[test]
fn a_socket_is_no_file() {
    let place = place();
    let _listener = std::os::unix::net::UnixListener::bind(place.root().join("socket")).unwrap();
    let problem = place.workspace.read(&path("socket"), LIMIT).unwrap_err();
    assert_eq!(problem.to_string(), "`socket` is not a regular file");
}

#[test]
fn a_directory_is_no_file() {
    let place = place();
    fs::create_dir(place.root().join("dir")).unwrap();
    let problem = place.workspace.read(&path("dir"), LIMIT).unwrap_err();
    assert_eq!(problem.to_string(), "`dir` is a directory, not a file");
    place.refuses_to_change("dir", "`dir` is a directory, not a file");
}

#[test]
fn a_file_is_no_directory() {
    let place = place();
    place.workspace.write(&path("a"), b"x").unwrap();
    let problem = place.workspace.read(&path("a/b"), LIMIT).unwrap_err();
    assert_eq!(problem.to_string(), "`a/b` does not exist");
    let problem = place.workspace.write(&path("a/b/c"), b"x").unwrap_err();
    assert_eq!(
        problem.to_string(),
        "`a/b/c` cannot be created: `a` is not a directory"
    );
}

#[test]
fn a_file_over_the_limit_is_not_read() {
    let place = place();
    place.workspace.write(&path("a"), &[b'x'; 1025]).unwrap();
    let problem = place.workspace.read(&path("a"), LIMIT).unwrap_err();
    assert_eq!(
        problem.to_string(),
        "`a` is too large: 1025 bytes, the limit is 1024"
    );
    assert_eq!(place.workspace.read(&path("a"), 1025).unwrap().len(), 1025);
}

#[test]
fn a_file_moves_into_new_directories_and_never_onto_another() {
    let place = place();
    for name in ["a", "b"] {
        place.workspace.write(&path(name), name.as_bytes()).unwrap();
    }
    let problem = place.workspace.rename(&path("a"), &path("b")).unwrap_err();
    assert_eq!(problem.to_string(), "`b` exists already");
    assert_eq!(fs::read(place.root().join("b")).unwrap(), b"b");
    place.workspace.rename(&path("a"), &path("x/y/c")).unwrap();
    assert_eq!(fs::read(place.root().join("x/y/c")).unwrap(), b"a");
    let problem = place.workspace.rename(&path("a"), &path("d")).unwrap_err();
    assert_eq!(problem.to_string(), "`a` does not exist");
}

#[test]
fn nothing_leaks_while_somebody_swaps_a_directory_for_a_link() {
    let place = place();
    let root = place.root();
    fs::create_dir(root.join("dir")).unwrap();
    put(&root.join("dir"), "secret", "inside");
    symlink(place.outside.path(), root.join("link")).unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let cwd = rustix::fs::CWD;
            let (dir, link) = (root.join("dir"), root.join("link"));
            while !stop.load(Ordering::Relaxed) {
                let swap = rustix::fs::RenameFlags::EXCHANGE;
                rustix::fs::renameat_with(cwd, &dir, cwd, &link, swap).unwrap();
            }
        });
        for _ in 0..2000 {
            if let Ok(content) = place.workspace.read(&path("dir/secret"), LIMIT) {
                assert_eq!(content, b"inside");
            }
            let _ = place.workspace.write(&path("dir/secret"), b"inside");
            let _ = place.workspace.write(&path("dir/made"), b"");
            let _ = place.workspace.remove(&path("dir/made"));
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert_eq!(fs::read_to_string(place.secret()).unwrap(), "secret");
    assert_eq!(fs::read_dir(place.outside.path()).unwrap().count(), 1);
}

#[test]
fn no_link_leads_to_our_own_records() {
    let place = place();
    let root = place.root();
    for directory in [".agent/sessions", "sessions", "open"] {
        fs::create_dir_all(root.join(directory)).unwrap();
        put(&root.join(directory), "x.json", "secret");
    }
    put(root, "appsettings.json", "secret");
    for (link, target) in [
        ("a", ".agent"),
        ("b", ".agent/sessions"),
        ("c", "a"),
        ("d", "sessions"),
        ("e", "appsettings.json"),
        ("f", "open"),
    ] {
        symlink(target, root.join(link)).unwrap();
    }
    let own = vec![path("sessions"), path("appsettings.json")];
    let workspace = Workspace::open(root).unwrap().leaving_out(own);
    for hidden in [
        "a/sessions/x.json",
        "b/x.json",
        "c/sessions/x.json",
        "d/x.json",
        "e",
    ] {
        let problem = workspace.read(&path(hidden), LIMIT).unwrap_err();
        assert!(matches!(problem, FileProblem::Hidden(_)), "{problem}");
    }
    for hidden in ["a/sessions", "b", "c/sessions", "d"] {
        let walked = workspace.walk(Some(&path(hidden)));
        assert!(matches!(walked, Err(FileProblem::Hidden(_))), "{hidden}");
    }
    assert_eq!(workspace.read(&path("f/x.json"), LIMIT).unwrap(), b"secret");
    assert_eq!(
        workspace.read(&path("open/x.json"), LIMIT).unwrap(),
        b"secret"
    );
}

#[test]
fn names_are_the_same_only_where_the_file_system_says_so() {
    let place = place();
    place.workspace.write(&path("d/a"), b"1").unwrap();
    place.workspace.write(&path("d/b"), b"2").unwrap();
    let is_same = |one: &str, other: &str| place.workspace.is_same_name(&path(one), &path(other));
    let folds = place.workspace.kind(&path("d/A")).unwrap().is_some();
    assert_eq!(is_same("d/a", "d/A"), folds);
    assert!(!is_same("d/a", "d/b") && !is_same("d/a", "A") && !is_same("d/x", "d/X"));
    if !folds {
        place.workspace.write(&path("d/A"), b"3").unwrap();
        assert!(!is_same("d/a", "d/A"));
        let problem = place
            .workspace
            .rename(&path("d/a"), &path("d/A"))
            .unwrap_err();
        assert!(matches!(problem, FileProblem::Exists(_)), "{problem}");
    }
}

#[test]
fn a_very_large_file_is_told_by_what_the_system_knows_of_it() {
    let place = place();
    let file = std::fs::File::create(place.workspace.path().join("large")).unwrap();
    file.set_len(30 << 30).unwrap();
    let before = place.workspace.content_of(&path("large")).unwrap().unwrap();
    place
        .workspace
        .rename(&path("large"), &path("d/moved"))
        .unwrap();
    let known = [before.as_str()];
    let after = place
        .workspace
        .content_like(&path("d/moved"), &known)
        .unwrap();
    assert_eq!(after.as_ref(), Some(&before));
    file.set_len(31 << 30).unwrap();
    let changed = place
        .workspace
        .content_like(&path("d/moved"), &known)
        .unwrap();
    assert_ne!(changed.as_ref(), Some(&before));
    place.workspace.write(&path("small"), b"1").unwrap();
    let new = place.workspace.digest(&path("small")).unwrap().unwrap();
    let instead = (place.workspace)
        .content_like(&path("small"), &[&before, &new])
        .unwrap();
    assert_eq!(instead, Some(new));
    let small = place.workspace.content_of(&path("small")).unwrap();
    assert_eq!(small, place.workspace.digest(&path("small")).unwrap());
}

#[test]
fn owner_group_and_all_bits_are_kept_where_the_system_lets_us() {
    use std::os::unix::fs::{MetadataExt, chown};

    let place = place();
    put(place.inside.path(), "a", "1");
    let file = place.inside.path().join("a");
    let is_root = rustix::process::geteuid().is_root();
    if is_root {
        chown(&file, Some(1000), Some(1001)).unwrap();
    }
    fs::set_permissions(&file, fs::Permissions::from_mode(0o4755)).unwrap();
    let before = fs::metadata(&file).unwrap();
    place.workspace.write(&path("a"), b"2").unwrap();
    let after = fs::metadata(&file).unwrap();
    let of = |metadata: &fs::Metadata| (metadata.uid(), metadata.gid(), metadata.mode());
    assert_eq!(of(&after), of(&before));
}

/// The paths of a base directory of its own in the workspace.
const OTHER_BASE: [&str; 6] = [
    "a/sessions/ab12cd34.journal.jsonl",
    "a/inbox/reply.txt",
    "a/outbox/message.md",
    "b/state/ab12cd34.journal.jsonl",
    "b/mail/in/reply.txt",
    "b/appsettings.json",
];

#[test]
fn records_of_another_base_are_neither_listed_nor_reached_through_links() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    let settings = "{\"Agent\":{\"SessionsDir\":\"state\",\"InboxDir\":\"mail/in\"}}";
    let open = [
        "a/workspace/x.rs",
        "b/mail/other.txt",
        "c/appsettings.json",
        "c/inbox/x",
        "c/loop.lock",
    ];
    for path in OTHER_BASE.iter().chain(&open) {
        fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
        put(root, path, settings);
    }
    symlink("a/sessions", root.join("link")).unwrap();
    let workspace = Workspace::open(root).unwrap();
    let listed = |beneath: Option<&str>| -> Vec<String> {
        let beneath = beneath.map(path);
        let walked = workspace.walk(beneath.as_ref()).unwrap();
        let files = walked.files.iter().filter(|file| !file.is_link);
        files.map(|file| file.path.to_string()).collect()
    };
    assert_eq!(listed(None), {
        let mut open = open.to_vec();
        open.sort_unstable();
        open
    });
    assert_eq!(listed(Some("b/mail")), ["b/mail/other.txt"]);
    for hidden in ["a/sessions", "a/inbox", "b/mail/in", "link"] {
        let walked = workspace.walk(Some(&path(hidden)));
        assert!(
            matches!(walked, Err(FileProblem::Hidden(_))),
            "{hidden}: {walked:?}"
        );
    }
    let through = workspace.read(&path("link/ab12cd34.journal.jsonl"), 100);
    assert!(
        matches!(through, Err(FileProblem::Hidden(_))),
        "{through:?}"
    );
    for hidden in OTHER_BASE {
        assert!(workspace.is_of_a_base(&path(hidden)), "{hidden}");
    }
    for open in open {
        assert!(!workspace.is_of_a_base(&path(open)), "{open}");
    }
}
