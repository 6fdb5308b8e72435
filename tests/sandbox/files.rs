//! Files that a command sees, and files that it can change.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use agent::runner::RunEnd;
use agent::sandbox::FileIdentity;

use super::{Place, write};

#[test]
fn the_workspace_can_be_changed_and_belongs_to_its_owner() {
    let place = Place::new();
    let path = place.confinement.workspace.display();
    place.prints("echo text > a; cat a; pwd -P", &format!("text\n{path}\n"));
    let made = fs::metadata(place.at("a")).unwrap();
    let owner = fs::metadata(&place.confinement.workspace).unwrap();
    assert_eq!((made.uid(), made.gid()), (owner.uid(), owner.gid()));
}

#[test]
fn the_home_is_hidden() {
    let place = Place::new();
    place.withstands("cat ~/.ssh/key");
    place.withstands("ls ~/.ssh");
}

#[test]
fn other_directories_are_hidden() {
    let place = Place::new();
    write(&place.directory.path().join("other"), "x");
    place.withstands("cat ../../other");
    place.withstands("ls -d /sys/kernel");
    place.withstands("test -e /var/lib");
}

#[test]
fn nothing_outside_can_be_changed() {
    let place = Place::new();
    let name = format!("file-of-a-command-{}", std::process::id());
    for directory in ["/tmp", "/var/tmp", "/dev/shm", "~"] {
        place.works(&format!("echo x > {directory}/{name}"));
        place.fails(&format!("cat {directory}/{name}"));
    }
    for directory in [
        Path::new("/tmp"),
        Path::new("/dev/shm"),
        &place.confinement.home,
    ] {
        assert!(!directory.join(&name).exists());
    }
    for directory in ["/usr", "/etc", "/", "/run", "/proc", "/dev", "/opt", "/var"] {
        place.fails(&format!("echo x > {directory}/{name}"));
    }
}

#[test]
fn links_do_not_lead_out() {
    let place = Place::new();
    place.withstands("rm -f link; ln -s ~/.ssh/key link && cat link");
    place.withstands("cat /proc/self/root$HOME/.ssh/key");
}

#[test]
fn protected_names_cannot_be_changed_or_made() {
    let place = Place::new().file(".vscode/tasks.json", "{}");
    for script in [
        "echo x >> .vscode/tasks.json",
        "echo x > .vscode/new",
        "rm -r .vscode",
        "mv .vscode other",
        "mkdir .idea/x",
        "rmdir .idea && mkdir .idea && touch .idea/x",
        "rmdir .envrc && echo x > .envrc",
        "echo x > .envrc",
        "echo x > .mcp.json",
        "touch .agent/appsettings.json",
    ] {
        place.fails(script);
    }
    place.works("cat .vscode/tasks.json");
    let left: Vec<_> = fs::read_dir(&place.confinement.workspace)
        .unwrap()
        .collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

#[test]
fn our_own_state_is_hidden() {
    let mut place = Place::new()
        .file(".agent/sessions/x.json", "secret")
        .file("inbox/a.txt", "secret");
    place.confinement.hidden = vec![place.at("inbox")];
    place.withstands("cat .agent/sessions/x.json");
    place.withstands("cat inbox/a.txt");
    place.withstands("echo x > inbox/b.txt");
}

#[test]
fn a_file_that_is_named_read_only_is() {
    let mut place = Place::new().file("shared", "outside").file("own", "");
    place.confinement.read_only = vec![place.at("shared")];
    place.fails("echo x > shared");
    place.fails("rm shared");
    place.works("echo x > own && cat shared");
}

#[test]
fn another_directory_of_the_same_name_is_refused() {
    let place = Place::with(|confinement| {
        confinement.identity = Some(FileIdentity {
            device: 1,
            inode: 1,
        });
    });
    let ran = place.inside("true");
    let is_said =
        matches!(&ran.end, RunEnd::NotStarted(reason) if reason.contains("not the directory"));
    assert!(is_said, "{ran:?}");
}

#[test]
fn extra_paths_are_there() {
    let mut place = Place::new();
    let read = place.directory.path().join("read");
    let written = place.directory.path().join("written");
    for directory in [&read, &written] {
        fs::create_dir(directory).unwrap();
        write(&directory.join("a"), "text");
    }
    place.confinement.extra_read = vec![read, place.directory.path().join("missing")];
    place.confinement.extra_write = vec![written.clone()];
    place.works("cat ../../read/a && echo x > ../../written/b");
    place.fails("echo x > ../../read/b");
    assert!(written.join("b").exists());
}

#[test]
fn the_cache_lasts() {
    let mut place = Place::new();
    let cache = place.directory.path().join("cache");
    fs::create_dir(&cache).unwrap();
    place.confinement.cache = Some(cache);
    place.works("echo kept > $XDG_CACHE_HOME/x");
    place.prints("cat ~/.cache/x", "kept\n");
}

#[test]
fn nothing_is_run_while_a_protected_name_is_a_link() {
    let place = Place::new().file("settings/tasks.json", "{}");
    place.works("true");
    std::os::unix::fs::symlink("settings", place.at(".vscode")).unwrap();
    let ran = place.inside("true");
    let is_said = matches!(&ran.end, RunEnd::NotStarted(why) if why.contains("`.vscode`"));
    assert!(is_said, "{ran:?}");
}
