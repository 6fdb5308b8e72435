//! Git inside: read-only without a grant, hooks closed with one.

use agent::sandbox::Backend;

use super::{Place, write};

const REPOSITORY: &str = "git init -q . && git commit -q --allow-empty -m one && echo text > file";

#[test]
fn a_repository_is_read_only() {
    let place = Place::new();
    place.works(REPOSITORY);
    place.prints("git status --short", "?? file\n");
    place.works("git diff && git log --oneline");
    for script in [
        "echo x > .git/hooks/pre-commit",
        "git config core.fsmonitor ./evil",
        "mv .git .g2",
        "rm -rf .git",
        "git add file",
    ] {
        place.fails(script);
    }
}

#[test]
fn git_works_in_a_home_whose_configuration_is_closed() {
    let mut place = Place::new();
    let configuration = place.confinement.home.join(".gitconfig");
    write(
        &configuration,
        "[user]\n\tname = x\n[http]\n\textraHeader = secret\n",
    );
    place.works(REPOSITORY);
    let launcher = place.confinement.launcher.clone();
    for backend in Backend::ALL {
        if agent::sandbox::try_out(backend, &launcher, &std::env::temp_dir()).is_err() {
            continue;
        }
        place.confinement.backend = backend;
        place.prints("git status --short", "?? file\n");
        place.prints("git config user.name", "A B\n");
        place.fails("git config http.extraHeader");
    }
}

#[test]
fn a_grant_lets_a_commit_through_and_no_hook() {
    let mut place = Place::new();
    place.works(REPOSITORY);
    place.confinement.git_write = true;
    place.works("git add file && git commit -q -m two && git log --oneline | grep two");
    for script in [
        "echo x > .git/hooks/pre-commit",
        "git config core.fsmonitor ./evil",
        "mv .git .g2",
        "mv .git/hooks .git/h2",
        "rm .git/config && touch .git/config",
    ] {
        place.fails(script);
    }
    place.works("echo ../evil > .git/commondir");
    assert!(!place.at(".git/commondir").exists());
}

#[test]
fn git_works_below_the_top_and_in_a_worktree() {
    let mut place = Place::new();
    place.works(&format!(
        "{REPOSITORY} && mkdir sub && touch sub/x && git worktree add -q ../work/tree"
    ));
    let top = place.confinement.workspace.clone();
    place.confinement.workspace = top.join("sub");
    place.prints("git status --short .", "?? ./\n");
    place.fails("touch ../.git/x");
    place.fails("ls ../file");
    place.confinement.workspace = top.join("tree");
    place.prints("touch y; git status --short", "?? y\n");
    place.fails("git add y");
    place.confinement.git_write = true;
    place.works("git add y && git commit -q -m three");
    place.fails("echo x > ../.git/hooks/pre-commit");
}

#[test]
fn git_works_in_a_submodule_and_above_it() {
    let mut place = Place::new();
    let made = "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=b; git init -q ../other && git -C ../other commit -q --allow-empty -m one && git init -q . && git -c protocol.file.allow=always submodule --quiet add \"$PWD/../other\" module && git commit -q -m two && touch module/x";
    assert!(place.plain(made));
    place.prints("git -C module status --short", "?? x\n");
    place.works("git status && git diff && git -C module log --oneline");
    place.fails("git -C module add x");
    let top = place.confinement.workspace.clone();
    place.confinement.workspace = top.join("module");
    place.prints("git status --short", "?? x\n");
    place.fails("git add x");
    place.confinement.git_write = true;
    place.works("git add x && git commit -q -m three && git log --oneline | grep three");
    for script in [
        "echo x > ../.git/modules/module/hooks/pre-commit",
        "echo x >> ../.git/modules/module/config",
        "echo x > ../.git/hooks/pre-commit",
        "git config core.fsmonitor ./evil",
    ] {
        place.fails(script);
    }
    place.confinement.workspace = top;
    place.works("git add module && git commit -q -m four && git -C module status");
    place.fails("echo x > .git/modules/module/hooks/pre-commit");
}

#[test]
fn a_repository_whose_name_is_no_text_stops_nothing_and_is_protected_too() {
    let place = Place::new();
    let name = r"sub=$(printf 'sub\377')";
    place.works(&format!(
        "{name}; mkdir \"$sub\" && cd \"$sub\" && git init -q ."
    ));
    place.works("true");
    place.works(&format!(
        "{name}; ls \"$sub/.git/HEAD\" && touch \"$sub/file\""
    ));
    place.fails(&format!("{name}; echo x > \"$sub/.git/hooks/pre-commit\""));
    place.fails(&format!("{name}; echo x >> \"$sub/.git/config\""));
}
