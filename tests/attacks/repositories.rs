use std::fs;

use agent::runner::RunEnd;
use agent::sandbox::Confinement;

use crate::place::Plain::Always;
use crate::place::{DEADLINE, Place, backend, cases, command};

const GRANT: [&str; 2] = ["--grant", "git-write"];

/// Makes a repository with a commit.
fn repository(place: &Place, path: &str) {
    let made = place.plain(&format!(
        "git init -q {path} && git -C {path} -c user.name=a -c user.email=b commit -q --allow-empty -m one"
    ));
    assert_eq!(made.end, RunEnd::Exited(0), "{}", made.output.text);
}

#[test]
fn a_repository_further_down_is_closed_as_that_of_the_top_is() {
    let place = Place::new().file("module/.git", "gitdir: ../elsewhere\n");
    repository(&place, "n/m");
    place.withstands(&[
        (Always, "echo x > n/m/.git/hooks/pre-commit"),
        (Always, "echo x >> n/m/.git/config"),
        (
            Always,
            "echo ../../evil > n/m/.git/commondir && rm n/m/.git/commondir",
        ),
        (Always, "echo x > n/m/.git/config.worktree"),
        (Always, "mkdir -p n/m/.git/modules/x/hooks"),
        (Always, "mkdir -p n/m/.git/worktrees/x"),
        (Always, "cd n/m && mv .git .g2 && cp -r .g2 .git"),
        (Always, "mv n n2 && cp -r n2 n"),
        (Always, "mv n/m n/m2 && cp -r n/m2 n/m"),
        (Always, "rm -f n/m/.git/config && echo x > n/m/.git/config"),
        (Always, "echo 'gitdir: ../evil' > module/.git"),
        (
            Always,
            "mv module m2 && mkdir module && echo x > module/.git",
        ),
    ]);
}

#[test]
fn what_git_would_run_in_a_repository_further_down_is_not_led_elsewhere() {
    let place = Place::new();
    repository(&place, "n/m");
    let attack = "rm -rf evil && mkdir evil && cp -r n/m/.git/objects n/m/.git/refs evil/ && printf '[core]\\n\\trepositoryformatversion = 0\\n\\tfsmonitor = \"touch ../../ran; false\"\\n' > evil/config && echo ../../../evil > n/m/.git/commondir";
    place.apply(&command(attack)).all(1, "failed");
    place.plain("git -C n/m status");
    assert!(!place.workspace().join("ran").exists());
    assert_eq!(place.plain(attack).end, RunEnd::Exited(0));
    let ran = place.plain("git -C n/m status");
    let has_run = place.workspace().join("ran").exists();
    assert!(has_run, "{}", ran.output.text);
    cases(1);
}

#[test]
fn a_repository_without_files_is_closed_with_a_grant_too() {
    for arguments in [&[][..], &GRANT] {
        let place = Place::new();
        let made = place.plain("git init -q --bare store/bare && mkdir -p store/bare/hooks");
        assert_eq!(made.end, RunEnd::Exited(0));
        place.withstands_with(
            arguments,
            &[
                (Always, "echo x > store/bare/hooks/post-receive"),
                (Always, "git -C store/bare config core.fsmonitor ./evil"),
                (Always, "mv store/bare/HEAD h && mv h store/bare/HEAD"),
                (
                    Always,
                    "mv store/bare store/b2 && cp -r store/b2 store/bare",
                ),
                (Always, "mv store s2 && cp -r s2 store"),
            ],
        );
    }
}

#[test]
fn a_grant_opens_a_repository_further_down_but_nothing_that_git_obeys() {
    let place = Place::new().file("n/m/file", "");
    repository(&place, "n/m");
    fs::remove_dir_all(place.workspace().join("n/m/.git/hooks")).unwrap();
    let commit =
        "git -C n/m add file && git -C n/m -c user.name=a -c user.email=b commit -q -m two";
    place.apply_with(&GRANT, &command(commit)).all(1, "ok");
    let git = place.workspace().join("n/m/.git");
    assert!(!git.join("hooks").exists(), "what was reserved is gone");
    place.withstands_with(
        &GRANT,
        &[
            (
                Always,
                "mkdir -p n/m/.git/hooks && echo x > n/m/.git/hooks/pre-commit",
            ),
            (Always, "git -C n/m config core.fsmonitor ./evil"),
            (Always, "mv n/m/.git n/m/.g2 && cp -r n/m/.g2 n/m/.git"),
            (Always, "mv n n2 && cp -r n2 n"),
        ],
    );
    let without_head = command("mv n/m/.git/HEAD n/m/h") + &command("echo x > n/m/.git/hooks/x");
    let applied = place.apply_with(&GRANT, &without_head);
    assert_eq!(applied.rows[1]["status"], "failed", "{}", applied.text);
    assert_eq!(place.plain("mv n/m/h n/m/.git/HEAD").end, RunEnd::Exited(0));
    let led = "echo ../../evil > n/m/.git/commondir; echo x > n/m/.git/config.worktree";
    place.apply_with(&GRANT, &command(led));
    assert!(!git.join("commondir").exists() && !git.join("config.worktree").exists());
    assert_eq!(place.plain(led).end, RunEnd::Exited(0));
    assert!(git.join("commondir").exists() && git.join("config.worktree").exists());
    cases(2);
}

#[test]
fn a_grant_opens_nothing_that_git_obeys_in_a_repository_outside() {
    let place = Place::new();
    let made = place.plain(
        "rmdir sub && git init -q ../main && cd ../main && git -c user.name=a -c user.email=b commit -q --allow-empty -m one && git worktree add -q ../other && rm -r .git/hooks && git worktree add -q ../tree && mv ../tree/.git ../work/.git && git worktree repair ../work && touch ../work/file",
    );
    assert_eq!(made.end, RunEnd::Exited(0), "{}", made.output.text);
    let commit = "git add file && git -c user.name=a -c user.email=b commit -q -m two && git log --oneline | grep two";
    place.apply_with(&GRANT, &command(commit)).all(1, "ok");
    let git = place.home().join("main/.git");
    assert!(!git.join("hooks").exists(), "what was reserved is gone");
    place.withstands_with(
        &GRANT,
        &[
            (Always, "mkdir -p ../main/.git/hooks && echo x > ../main/.git/hooks/pre-commit"),
            (Always, "echo x >> ../main/.git/config"),
            (Always, "echo x > ../main/.git/worktrees/other/commondir"),
            (Always, "echo x > ../main/.git/worktrees/other/config.worktree"),
            (Always, "echo x > ../main/.git/worktrees/tree/gitdir"),
            (Always, "cp ../main/.git/worktrees/tree/commondir c && cat c > ../main/.git/worktrees/tree/commondir"),
        ],
    );
    let led = "echo ../../evil > ../main/.git/commondir; echo x > ../main/.git/config.worktree; echo x > ../main/.git/worktrees/tree/config.worktree";
    let left = [
        git.join("commondir"),
        git.join("config.worktree"),
        git.join("worktrees/tree/config.worktree"),
    ];
    place.apply_with(&GRANT, &command(led));
    assert!(!left.iter().any(|path| path.exists()));
    assert_eq!(place.plain(led).end, RunEnd::Exited(0));
    assert!(left.iter().all(|path| path.exists()));
    cases(3);
}

/// A workspace that is looked through only so far, with a link and a repository behind that.
fn large() -> (Place, Confinement) {
    let place = Place::new().file("d/e/f/own", "").file("open", "");
    repository(&place, "d/e/f/repo");
    fs::hard_link(place.victim(), place.workspace().join("d/e/f/linked")).unwrap();
    for number in 0..200 {
        fs::write(place.workspace().join(format!("sub/{number}")), "").unwrap();
    }
    let mut confinement = place.confinement(backend());
    confinement.max_names = 100;
    (place, confinement)
}

#[test]
fn what_was_not_looked_through_is_read_only() {
    let (place, mut confinement) = large();
    let attacks = [
        "echo x >> d/e/f/linked",
        "echo x >> d/e/f/repo/.git/config",
        "mv d/e/f/linked open",
    ];
    for script in attacks {
        let ran = place.run(script, Some(&confinement), DEADLINE);
        assert!(matches!(ran.end, RunEnd::Exited(1..)), "{script}: {ran:?}");
        place.is_untouched(script);
    }
    let ran = place.run("echo x > open", Some(&confinement), DEADLINE);
    assert_eq!(ran.end, RunEnd::Exited(0), "{}", ran.output.text);
    // The counterpart: all was looked through, and what is nobody's else can be changed.
    confinement.max_names = 10_000;
    let ran = place.run("echo x > d/e/f/own", Some(&confinement), DEADLINE);
    assert_eq!(ran.end, RunEnd::Exited(0), "{}", ran.output.text);
    for script in attacks {
        assert_eq!(place.plain(script).end, RunEnd::Exited(0), "{script}");
    }
    cases(attacks.len());
}

#[test]
fn nothing_is_run_where_not_even_the_top_was_looked_through() {
    let (place, mut confinement) = large();
    confinement.max_names = 1;
    let ran = place.run("echo x > open", Some(&confinement), DEADLINE);
    let RunEnd::NotStarted(reason) = &ran.end else {
        panic!("{ran:?}");
    };
    assert!(reason.contains("a workspace further down"), "{reason}");
}

#[test]
fn a_directory_that_was_closed_to_us_is_closed_to_the_next_command() {
    let place = Place::new().file("a/b/own", "");
    fs::hard_link(place.victim(), place.workspace().join("a/b/linked")).unwrap();
    let first = "chmod 000 a/b";
    let second = "chmod 755 a/b; echo x >> a/b/linked";
    let applied = place.apply(&(command(first) + &command(second)));
    assert_eq!(applied.rows[1]["status"], "failed", "{}", applied.text);
    place.is_untouched(&applied.text);
    assert_eq!(place.plain(first).end, RunEnd::Exited(0));
    assert_eq!(place.plain(second).end, RunEnd::Exited(0));
    cases(1);
}

#[test]
fn a_path_that_is_too_long_hides_nothing() {
    let place = Place::new().file("a/own", "");
    fs::hard_link(place.victim(), place.workspace().join("a/linked")).unwrap();
    let name = "x".repeat(200);
    let enter = format!("for i in $(seq 30); do mkdir -p {name} && cd {name}; done");
    let first = format!(
        "w=$PWD; {enter}; PYTHON 'import os; os.rename(os.environ[\"w\"] + \"/a\", \"a\")'"
    );
    let first = place.filled(&first.replace("w=$PWD", "export w=$PWD"));
    let second = format!("{enter}; echo x >> a/linked");
    let applied = place.apply(&(command(&first) + &command(&second)));
    assert_eq!(applied.rows[1]["status"], "failed", "{}", applied.text);
    place.is_untouched(&applied.text);
    place.plain(&first);
    assert_eq!(place.plain(&second).end, RunEnd::Exited(0));
    cases(1);
}
