//! Undo restores more than contents, names and permission bits.

use std::os::unix::fs::MetadataExt;

use super::*;

fn mode(bench: &Bench, path: &str) -> u32 {
    let metadata = fs::metadata(bench.root.join(path)).unwrap();
    metadata.permissions().mode() & 0o7777
}

#[test]
fn special_bits_of_files_and_directories_come_back() {
    let mut bench = bench();
    bench.shell("printf 1 > tool; chmod 4755 tool; mkdir shared; chmod 3775 shared");
    let before = bench.take();
    bench.shell("rm -r tool shared; printf 2 > tool");
    let after = bench.take();
    bench.go(after, before);
    assert_eq!(bench.text("tool"), "1");
    assert_eq!(mode(&bench, "tool"), 0o4755);
    assert_eq!(mode(&bench, "shared"), 0o3775);
    bench.shell("chmod 755 tool; chmod 755 shared");
    let after = bench.take();
    bench.go(after, before);
    assert_eq!(
        (mode(&bench, "tool"), mode(&bench, "shared")),
        (0o4755, 0o3775)
    );
}

/// Only root can make a file of somebody else.
#[test]
fn the_rights_of_another_user_are_not_lent_out_by_us() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let mut bench = bench();
    bench.shell("printf 1 > tool; chown 1234 tool; chmod 6755 tool");
    let before = bench.take();
    bench.shell("rm tool");
    let after = bench.take();
    bench.go(after, before);
    assert_eq!(mode(&bench, "tool"), 0o755);
}

#[test]
fn names_of_one_file_stay_names_of_one_file() {
    let mut bench = bench();
    bench.shell("printf 1 > a; ln a b; mkdir d; ln a d/c; printf 1 > other");
    let before = bench.take();
    bench.shell("printf 2 > a; printf 3 > other");
    let after = bench.take();
    bench.go(after, before);
    let inode = |path: &str| fs::metadata(bench.root.join(path)).unwrap().ino();
    assert_eq!(
        ["a", "b", "d/c", "other"].map(|path| bench.text(path)),
        ["1"; 4]
    );
    assert_eq!((inode("a"), inode("a")), (inode("b"), inode("d/c")));
    assert_ne!(inode("a"), inode("other"));
}

#[test]
fn the_mode_of_one_name_is_restored_without_the_others() {
    let mut bench = bench();
    bench.shell("printf 1 > a; chmod 644 a; printf 1 > b; chmod 755 b; : > x; chmod 644 x; ln x y");
    let (before, held) = (bench.take(), bench.held());
    bench.shell("rm b; ln a b; chmod 755 x");
    let after = bench.take();
    let restored = bench.go(after, before);
    assert_eq!(restored.skipped, []);
    assert_eq!(bench.held(), held);
}

#[cfg(target_os = "linux")]
#[test]
fn owner_and_extended_attributes_of_a_changed_file_stay() {
    use rustix::fs::{XattrFlags, getxattr, setxattr};
    let mut bench = bench();
    bench.shell("printf 1 > a");
    let path = bench.root.join("a");
    let is_root = rustix::process::geteuid().is_root();
    if is_root {
        bench.shell("chown 1234:1235 a");
    }
    setxattr(&path, "user.origin", b"here", XattrFlags::empty()).unwrap();
    let before = bench.take();
    bench.shell("printf 2 > a");
    let after = bench.take();
    bench.go(after, before);
    assert_eq!(bench.text("a"), "1");
    let mut value = [0; 16];
    let length = getxattr(&path, "user.origin", &mut value[..]).unwrap();
    assert_eq!(&value[..length], b"here");
    if is_root {
        let metadata = fs::metadata(&path).unwrap();
        assert_eq!((metadata.uid(), metadata.gid()), (1234, 1235));
    }
}

#[test]
fn a_directory_that_a_killed_undo_left_open_gets_its_mode() {
    let mut bench = bench();
    bench.shell("mkdir ro; printf 1 > ro/r; chmod 555 ro; mkdir gone; chmod 500 gone");
    let before = bench.take();
    bench.shell("chmod 755 ro; printf 2 > ro/r; chmod 500 ro; rmdir gone");
    let after = bench.take();
    for (from, to, killed) in [
        (after, before, "chmod 700 ro"),
        (after, before, "chmod 755 ro; mkdir -m 700 gone"),
        (before, after, "chmod 755 ro"),
    ] {
        bench.go(to, from);
        bench.shell(killed);
        let restored = bench.go(from, to);
        assert_eq!(restored.skipped, [], "{killed}");
        let is_undo = to == before;
        assert_eq!(mode(&bench, "ro"), if is_undo { 0o555 } else { 0o500 });
        assert_eq!(bench.text("ro/r"), if is_undo { "1" } else { "2" });
        assert!(!is_undo || mode(&bench, "gone") == 0o500, "{killed}");
    }
}
