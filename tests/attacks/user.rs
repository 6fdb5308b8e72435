use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use crate::place::{is_root, program, skipped};

/// Owns nothing on the machine.
const ORDINARY: u32 = 4_000;

#[test]
fn an_ordinary_user_is_protected_just_as_root_is() {
    if !is_root() {
        return skipped("the same by another user", "only root can become one");
    }
    let directory = tempfile::tempdir().unwrap();
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let at = |name: &str| directory.path().join(name);
    // The user may not be able to go where these were built.
    fs::copy(program(), at("agent")).unwrap();
    fs::copy(std::env::current_exe().unwrap(), at("attacks")).unwrap();
    for name in ["tmp", "home"] {
        fs::create_dir(at(name)).unwrap();
        chown(at(name), Some(ORDINARY), Some(ORDINARY)).unwrap();
    }
    let output = Command::new(at("attacks"))
        .args(["--nocapture", "--test-threads", "2"])
        .current_dir(at("home"))
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin")
        .env("HOME", at("home"))
        .env("TMPDIR", at("tmp"))
        .env("ATTACKS_COUNTED", "1")
        .env("ATTACKED_PROGRAM", at("agent"))
        .env("ATTACKED_STATE", at("home").join("state"))
        .uid(ORDINARY)
        .gid(ORDINARY)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let (stdout, stderr) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(output.status.success(), "{stdout}\n{stderr}");
    for line in stderr.lines().filter(|line| line.starts_with("skipped: ")) {
        let _ = writeln!(std::io::stderr(), "by an ordinary user: {line}");
    }
    let cases: usize = stderr
        .lines()
        .filter_map(|line| line.rsplit_once("cases: ")?.1.parse::<usize>().ok())
        .sum();
    let _ = writeln!(
        std::io::stderr(),
        "attacks: {cases} cases withstood by root and by an ordinary user, each with its counterpart"
    );
    assert!(cases >= 80, "only {cases} cases");
    let left = fs::read_dir(at("tmp")).unwrap().count();
    assert_eq!(left, 0, "nothing is left");
}
