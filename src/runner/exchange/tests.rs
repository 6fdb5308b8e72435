//! Exchanges with a shell of this machine as the other side.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::PathBuf;

use tempfile::TempDir;

use super::*;
use crate::platform::programs;
use crate::runner::RunEnd;

/// A shell of this machine as the other side, with a directory of its own.
#[derive(Debug)]
struct LocalSide {
    there: PathBuf,
    /// A script around the calls that have this text in them.
    around: Mutex<Option<(&'static str, &'static str)>>,
}

impl RemoteConnection for Arc<LocalSide> {
    fn client(&self, script: Option<&str>, _: &AtomicBool) -> Result<Command, String> {
        let mut client = programs::command("sh").map_err(|error| error.to_string())?;
        client.env("XDG_CACHE_HOME", &self.there).current_dir("/");
        let Some(script) = script else {
            return Ok(client);
        };
        match *self.around.lock().unwrap() {
            Some((part, around)) if script.contains(part) => {
                client.args(["-c", around, "sh", script])
            }
            _ => client.args(["-c", script]),
        };
        Ok(client)
    }

    fn explain(&self, words: &str) -> String {
        words.to_owned()
    }
}

fn put(path: &Path, text: &str) {
    write_atomic(path, text.as_bytes(), Durability::Atomic).unwrap();
}

struct TwoSides {
    here: TempDir,
    there: TempDir,
    side: Arc<LocalSide>,
    runner: ExchangeRunner,
}

fn new_runner(side: &Arc<LocalSide>, here: &Path, directory: Option<&str>) -> ExchangeRunner {
    let workspace = Workspace::open(here).unwrap();
    let memory = Some(ExchangeMemory {
        file: side.there.join("memory.json"),
        runner: "kubectl:box".to_owned(),
    });
    ExchangeRunner::new(side.clone(), workspace, directory, "name", memory)
}

impl TwoSides {
    fn new(files: &[(&str, &str)]) -> Self {
        Self::with_directory(files, None)
    }

    fn with_directory(files: &[(&str, &str)], directory: Option<&str>) -> Self {
        let (here, there) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        let side = Arc::new(LocalSide {
            there: there.path().to_owned(),
            around: Mutex::default(),
        });
        let runner = new_runner(&side, here.path(), directory);
        let sides = Self {
            here,
            there,
            side,
            runner,
        };
        for (name, text) in files {
            sides.write(name, text);
        }
        sides
    }

    /// As if another process went on.
    fn start_again(&mut self) {
        self.start_again_in(None);
    }

    fn start_again_in(&mut self, directory: Option<&str>) {
        self.runner = new_runner(&self.side, self.here.path(), directory);
    }

    fn memory(&self) -> PathBuf {
        self.there.path().join("memory.json")
    }

    fn fetch_results(&self) -> String {
        let fetched = self.runner.fetch_results(&AtomicBool::new(false));
        fetched.unwrap().unwrap_or_default()
    }

    fn finish(&self) -> Result<(), String> {
        self.runner.finish(&AtomicBool::new(false))
    }

    fn clean(&self) -> Result<(), String> {
        self.runner.clean(&AtomicBool::new(false))
    }

    fn around(&self, around: Option<(&'static str, &'static str)>) {
        *self.side.around.lock().unwrap() = around;
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.here(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        put(&path, text);
    }

    fn here(&self, name: &str) -> PathBuf {
        self.here.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.here(name)).unwrap_or_else(|_| "(none)".to_owned())
    }

    /// A file in the directory that the runner made.
    fn there(&self, name: &str) -> PathBuf {
        self.there.path().join("agent/name").join(name)
    }

    fn run(&self, script: &str) -> Ran {
        let script = format!("HERE='{}'\n{script}", self.here.path().display());
        self.runner.run_script(self.here.path(), &script)
    }

    /// Runs a script that must succeed; tells its output and its note.
    #[track_caller]
    fn done(&self, script: &str) -> (String, String) {
        let ran = self.run(script);
        assert_eq!(ran.end, RunEnd::Exited(0), "{ran:?}");
        (ran.output.text, ran.note.unwrap_or_default())
    }
}

const CUT_ARCHIVE: (&str, &str) = ("tar -cf", "sh -c \"$1\" | head -c 700");

#[test]
fn the_directory_is_removed_only_when_all_results_came_back() {
    let sides = TwoSides::new(&[("a", "1\n")]);
    sides.around(Some(CUT_ARCHIVE));
    let (_, note) = sides.done("echo 2 >a; echo new >b");
    assert!(note.contains("has not come back yet"), "{note}");
    let kept = sides.finish().unwrap_err();
    assert!(
        kept.contains("kept there in `~/.cache/agent/name`"),
        "{kept}"
    );
    assert!(sides.there("b").exists());
    sides.around(None);
    // No file of the workspace is changed when no round is open.
    assert!(sides.finish().is_err());
    assert_eq!(sides.text("a"), "1\n");
    assert!(sides.runner.awaits_results());
    assert_eq!(sides.fetch_results(), "");
    assert!(!sides.runner.awaits_results());
    assert_eq!(sides.finish(), Ok(()));
    assert_eq!(
        (sides.text("a"), sides.text("b")),
        ("2\n".into(), "new\n".into())
    );
    assert!(!sides.there("").exists());
}

#[test]
fn the_person_does_not_wait_for_a_side_that_hangs_at_the_end() {
    let sides = TwoSides::new(&[("a", "1\n")]);
    sides.done("true");
    sides.around(Some(("", "touch \"$XDG_CACHE_HOME/hangs\"; exec sleep 30")));
    let (cancelled, began) = (AtomicBool::new(false), Instant::now());
    let left = std::thread::scope(|scope| {
        let leaving = scope.spawn(|| sides.runner.finish(&cancelled));
        while !sides.there.path().join("hangs").exists() {
            std::thread::yield_now();
        }
        cancelled.store(true, Ordering::Relaxed);
        leaving.join().unwrap()
    });
    assert_eq!(left, Err("the user interrupted".to_owned()));
    assert!(began.elapsed() < Duration::from_secs(20));
    assert!(sides.runner.keeps_files());
}

#[test]
fn the_ignore_rules_of_our_side_decide() {
    let rules = "build/\nlogs/\n!src/logs/\n/target\n";
    let sides = TwoSides::new(&[(".gitignore", rules), ("sub/.gitignore", "*.o\n")]);
    let (_, note) = sides.done(
        "mkdir -p scripts src/logs logs build target sub/x new\n\
         for f in scripts/build src/logs/a logs/a build/a target/a sub/x/a.o; do echo $f >$f; done\n\
         echo '*.tmp' >new/.gitignore; echo t >new/a.tmp; echo k >new/kept",
    );
    assert_eq!(note, "");
    for name in ["scripts/build", "src/logs/a", "new/kept", "new/.gitignore"] {
        assert!(sides.here(name).exists(), "{name}");
    }
    for name in ["logs", "build", "target", "sub/x/a.o", "new/a.tmp"] {
        assert!(!sides.here(name).exists(), "{name}");
    }
    // Nothing of it is removed there by the next exchange.
    sides.write("other", "x");
    let (output, _) = sides.done("ls build/a target/a sub/x/a.o new/a.tmp");
    assert_eq!(output.lines().count(), 4, "{output}");
    // What was exchanged and is ignored now stays on both sides.
    sides.write(
        ".gitignore",
        "build/\nlogs/\n!src/logs/\n/target\nscripts/\n",
    );
    let (output, note) = sides.done("cat scripts/build");
    assert_eq!((output.as_str(), note.as_str()), ("scripts/build\n", ""));
    assert!(sides.here("scripts/build").exists());
}

#[test]
fn an_odd_result_is_told_and_left_there_and_all_others_arrive() {
    let sides = TwoSides::new(&[("f", "1\n"), ("keep.txt", "kept\n")]);
    let (_, note) = sides.done(
        "echo 2 >f; touch \"$(printf 'bad\\377name')\" 'back\\slash'; mkfifo pipe\n\
         truncate -s 600M big.bin; d=$(printf 'a\\n.'); mkdir -p \"$d/keep.txt\"",
    );
    for part in [
        "larger than 512 MiB, so left there: `big.bin`",
        "`pipe`",
        "back\\\\slash",
        "`a\\n.`",
        "bad",
    ] {
        assert!(note.contains(part), "{part}: {note}");
    }
    assert_eq!(sides.text("f"), "2\n");
    assert_eq!(sides.text("keep.txt"), "kept\n");
    let (_, note) = sides.done("echo 3 >f");
    assert_eq!((sides.text("f").as_str(), note.as_str()), ("3\n", ""));
    let kept = sides.finish().unwrap_err();
    assert!(
        kept.contains("`big.bin`") && sides.there("big.bin").exists(),
        "{kept}"
    );
    sides.clean().unwrap();
    assert!(!sides.there("").exists());
}

#[test]
fn what_becomes_something_else_arrives() {
    let sides = TwoSides::new(&[("d/f", "x"), ("l/f", "x"), ("g/f", "x"), ("t", "t")]);
    let (_, note) = sides.done(
        "rm -rf d; echo file >d; rm -rf l; ln -s g l; rm t; mkdir t; echo in >t/in\n\
         echo h >h1; ln h1 h2; chmod 600 h1",
    );
    assert_eq!(note, "");
    assert_eq!(sides.text("d"), "file\n");
    assert_eq!(fs::read_link(sides.here("l")).unwrap(), Path::new("g"));
    assert_eq!(sides.text("t/in"), "in\n");
    assert_eq!(
        (sides.text("h1"), sides.text("h2")),
        ("h\n".into(), "h\n".into())
    );
    assert_eq!(
        fs::metadata(sides.here("h1")).unwrap().mode() & 0o777,
        0o600
    );
    // And the other way.
    fs::remove_file(sides.here("d")).unwrap();
    sides.write("d/again", "a");
    fs::remove_dir_all(sides.here("t")).unwrap();
    symlink("h1", sides.here("t")).unwrap();
    let (output, _) = sides.done("cat d/again; readlink t");
    assert_eq!(output, "ah1\n");
}

#[test]
fn what_changed_on_both_sides_is_beside_ours() {
    let files = ["f", "l", "d", "gone", "x/y"].map(|name| (name, "1"));
    let sides = TwoSides::new(&files);
    sides.write("f.other-side", "of the person");
    let (_, note) = sides.done(
        "for n in f l d gone x/y; do echo mine >$HERE/$n; done\n\
         echo theirs >f; rm l; ln -s f l; rm d; mkdir d; echo in >d/in; rm gone; rm -r x; echo x >x",
    );
    for part in [
        "`f` as `f.other-side-2`",
        "`l` as `l.other-side`",
        "`d` as `d.other-side`",
        "`x` as `x.other-side`",
        "deleted by the command but changed here, so it stayed here: `x/y`, `gone`",
    ] {
        assert!(note.contains(part), "{part}: {note}");
    }
    assert_eq!(sides.text("f.other-side"), "of the person");
    assert_eq!(sides.text("f.other-side-2"), "theirs\n");
    assert_eq!(
        fs::read_link(sides.here("l.other-side")).unwrap(),
        Path::new("f")
    );
    assert_eq!(sides.text("d.other-side/in"), "in\n");
    assert_eq!(sides.text("x.other-side"), "x\n");
    let (output, note) = sides.done("cat f l d gone x/y d.other-side/in");
    assert_eq!(output, "mine\n".repeat(5) + "in\n");
    assert_eq!(note, "");
}

#[test]
fn what_cannot_be_read_there_stays_here() {
    let sides = TwoSides::new(&[("secret", "s\n"), ("d/f", "f\n"), ("z", "1")]);
    if rustix::process::geteuid().is_root() {
        fs::set_permissions(sides.there.path(), fs::Permissions::from_mode(0o777)).unwrap();
        sides.around(Some((
            "",
            "exec setpriv --reuid=65534 --regid=65534 --clear-groups sh -c \"$1\"",
        )));
    }
    // The command itself runs as root in that case, so it must not make files that only root has.
    sides.done("true");
    let (_, note) = sides.done("chmod 000 secret d; echo 2 >z");
    assert!(note.contains("could not be read there"), "{note}");
    assert!(note.contains("`d`") && note.contains("`secret`"), "{note}");
    assert_eq!(
        (sides.text("secret"), sides.text("d/f")),
        ("s\n".into(), "f\n".into())
    );
    assert_eq!(sides.text("z"), "2\n");
    let (_, note) = sides.done("chmod 755 d; chmod 644 secret");
    assert_eq!(note, "");
    assert_eq!(
        (sides.text("secret"), sides.text("d/f")),
        ("s\n".into(), "f\n".into())
    );
}

#[test]
fn a_directory_of_the_person_loses_nothing() {
    let directory = TempDir::new().unwrap();
    let named = directory.path().join("work");
    fs::create_dir(&named).unwrap();
    for (name, text) in [("same", "same"), ("differs", "theirs"), ("only", "there")] {
        put(&named.join(name), text);
    }
    let files = [("same", "same"), ("differs", "ours")];
    let sides = TwoSides::with_directory(&files, named.to_str());
    let (output, note) = sides.done("cat differs only");
    assert_eq!(output, "oursthere");
    assert!(note.contains("`differs` as `differs.other-side`"), "{note}");
    assert!(!note.contains("`same"), "{note}");
    assert_eq!(sides.text("differs.other-side"), "theirs");
    assert!(!sides.here("only").exists());
    // Another workspace may not use it at the same time.
    let workspace = Workspace::open(sides.there.path()).unwrap();
    let second = ExchangeRunner::new(
        sides.side.clone(),
        workspace,
        named.to_str(),
        "second",
        None,
    );
    let refused = second.send(&AtomicBool::new(false)).unwrap_err();
    assert!(refused.contains("another session uses"), "{refused}");
    assert_eq!(sides.finish(), Ok(()));
    assert!(named.join("only").exists() && !named.join(MARK).exists());
}

#[test]
fn a_cut_while_files_are_sent_makes_no_conflict() {
    let sides = TwoSides::new(&[("f", "1")]);
    sides.done("true");
    for number in 0..3 {
        sides.write(&format!("big{number}"), &number.to_string().repeat(100_000));
    }
    fs::remove_file(sides.here("f")).unwrap();
    sides.around(Some(("tar -x", "head -c 150000 | sh -c \"$1\"; exit 1")));
    let ran = sides.run("true");
    assert!(matches!(ran.end, RunEnd::NotStarted(_)), "{ran:?}");
    assert!(sides.there("big1").exists());
    sides.around(None);
    let (output, note) = sides.done("wc -c <big1; ls");
    assert_eq!(
        (output.as_str(), note.as_str()),
        ("100000\nbig0\nbig1\nbig2\n", "")
    );
}

#[test]
fn modes_stay_private_and_protected_names_are_refused_anywhere() {
    let sides = TwoSides::new(&[(".env", "TOKEN=1"), ("sub/.vscode/tasks.json", "{}")]);
    fs::set_permissions(sides.here(".env"), fs::Permissions::from_mode(0o600)).unwrap();
    let (_, note) =
        sides.done("echo evil >sub/.vscode/tasks.json; mkdir -p .vscode; echo >.vscode/x");
    let mode = |path: PathBuf| fs::metadata(path).unwrap().mode() & 0o777;
    assert_eq!(
        (mode(sides.there(".env")), mode(sides.there(""))),
        (0o600, 0o700)
    );
    assert!(
        note.contains("protected here, so not taken from the other side: `.vscode/x`, `sub/.vscode/tasks.json`"),
        "{note}"
    );
    assert_eq!(sides.text("sub/.vscode/tasks.json"), "{}");
}

#[test]
fn a_file_that_is_too_large_to_be_sent_is_told_once() {
    let sides = TwoSides::new(&[("f", "1")]);
    let large = fs::File::create(sides.here("large")).unwrap();
    large.set_len(MAX_FILE + 1).unwrap();
    let (output, note) = sides.done("ls");
    assert_eq!(output, "f\n");
    assert!(
        note.contains("not sent") && note.contains("`large`"),
        "{note}"
    );
    assert_eq!(sides.done("ls").1, "");
}

#[test]
fn a_trial_exchanges_no_file_of_the_workspace() {
    let sides = TwoSides::new(&[("f", "1")]);
    sides.done("true");
    put(&sides.there("f"), "of a running command");
    let properties = sides.runner.test(sides.here.path()).unwrap();
    assert!(
        properties.iter().all(|property| property.holds),
        "{properties:?}"
    );
    assert_eq!(sides.text("f"), "1");
    let others = fs::read_dir(sides.there.path().join("agent")).unwrap();
    assert_eq!(others.count(), 1);
}

#[test]
fn a_trial_that_was_killed_is_removed() {
    let sides = TwoSides::new(&[("f", "1")]);
    let agent = sides.there.path().join("agent");
    let killed = agent.join("name-trial-4194999-1-id-name");
    let others = [
        format!("name-trial-{}-id-name", owner::own_process()),
        "name-trial-4194999-1-id-other".to_owned(),
    ];
    let make = || fs::create_dir_all(killed.join("d")).unwrap();
    for name in &others {
        fs::create_dir_all(agent.join(name)).unwrap();
    }
    make();
    sides.done("true");
    assert!(!killed.exists());
    make();
    sides.runner.test(sides.here.path()).unwrap();
    assert!(!killed.exists());
    make();
    sides.clean().unwrap();
    assert!(!killed.exists());
    assert!(others.iter().all(|name| agent.join(name).exists()));
}

#[test]
fn a_home_is_named_by_a_tilde() {
    for (directory, word) in [
        ("~", "\"$HOME\""),
        ("~/", "\"$HOME\""),
        ("~/a b", "\"$HOME\"/'a b'"),
        ("~other", "'~other'"),
        ("/srv", "'/srv'"),
    ] {
        let sides = TwoSides::with_directory(&[], Some(directory));
        assert_eq!(sides.runner.other.directory, word);
    }
}

#[test]
fn files_that_only_the_person_has_there_are_never_replaced() {
    let directory = TempDir::new().unwrap();
    let named = directory.path();
    fs::create_dir(named.join("data")).unwrap();
    for name in ["precious", "data/only-copy", "x"] {
        put(&named.join(name), "theirs");
    }
    let sides = TwoSides::with_directory(&[("f", "1")], named.to_str());
    assert_eq!(sides.done("true").1, "");
    put(&named.join("later"), "theirs");
    for name in ["precious", "data", "x/y", "later"] {
        sides.write(name, "ours");
    }
    let (output, note) = sides.done("cat precious x/y later data/only-copy");
    assert_eq!(output, "ours".repeat(3) + "theirs");
    for part in [
        "`precious` as `precious.other-side`",
        "`x` as `x.other-side`",
        "`later` as `later.other-side`",
        "not sent, because the other side has something in its place that has not come here: `data`",
    ] {
        assert!(note.contains(part), "{part}: {note}");
    }
    for name in ["precious", "x", "later"] {
        assert_eq!(sides.text(&format!("{name}.other-side")), "theirs");
    }
    assert_eq!(sides.text("data"), "ours");
}

#[test]
fn an_undo_here_takes_nothing_of_the_person_there() {
    let directory = TempDir::new().unwrap();
    let named = directory.path();
    fs::create_dir(named.join("empty")).unwrap();
    for name in ["changed", "met", "dir", "met.other-side"] {
        put(&named.join(name), "theirs\n");
    }
    let sides = TwoSides::with_directory(&[("met", "ours"), ("dir/f", "ours")], named.to_str());
    let there =
        |name: &str| fs::read_to_string(named.join(name)).unwrap_or_else(|_| "(none)".to_owned());
    let (_, note) = sides.done("echo more >>changed; echo new | tee made >empty/made");
    assert!(note.contains("`met` as `met.other-side-2`"), "{note}");
    assert_eq!(sides.text("changed"), "theirs\nmore\n");
    assert_eq!(there("met.other-side-2"), "theirs\n");
    put(&named.join("later"), "theirs\n");
    sides.done("true");
    let gone = [
        "changed",
        "met",
        "met.other-side-2",
        "dir.other-side",
        "later",
        "made",
    ];
    let undo = || {
        for name in gone {
            fs::remove_file(sides.here(name)).unwrap();
        }
        for name in ["dir", "empty"] {
            fs::remove_dir_all(sides.here(name)).unwrap();
        }
    };
    undo();
    let (_, note) = sides.done("true");
    for part in [
        "kept on the other side, which had it before: `later`, `empty`, `changed`",
        "has again what it had under this name before: `dir`, `met`",
    ] {
        assert!(note.contains(part), "{part}: {note}");
    }
    assert_eq!(there("changed"), "theirs\nmore\n");
    for name in ["met", "dir", "later", "met.other-side"] {
        assert_eq!(there(name), "theirs\n", "{name}");
    }
    for name in ["made", "empty/made", "met.other-side-2", "dir.other-side"] {
        assert_eq!(there(name), "(none)", "{name}");
    }
    assert!(named.join("empty").exists());
    assert_eq!(sides.done("true").1, "");
    // One without the other.
    sides.write("met", "again");
    sides.done("true");
    fs::remove_file(sides.here("met")).unwrap();
    sides.done("true");
    assert_eq!(
        (there("met").as_str(), there("met.other-side-2").as_str()),
        ("(none)", "theirs\n")
    );
    fs::remove_file(sides.here("met.other-side-2")).unwrap();
    let (_, note) = sides.done("true");
    assert!(
        note.contains("kept on the other side") && note.contains("`met.other-side-2`"),
        "{note}"
    );
    assert_eq!(there("met.other-side-2"), "theirs\n");
}

#[test]
fn what_is_theirs_is_known_after_an_edit_a_rename_and_a_lost_connection() {
    let directory = TempDir::new().unwrap();
    let named = directory.path();
    for name in ["edited", "renamed", "late"] {
        put(&named.join(name), &format!("their {name}\n"));
    }
    let sides = TwoSides::with_directory(&[("f", "1")], named.to_str());
    let there =
        |name: &str| fs::read_to_string(named.join(name)).unwrap_or_else(|_| "(none)".to_owned());
    sides.done("echo more | tee -a edited >>renamed");
    sides.write("edited", "from here\n");
    sides.done("mv renamed moved");
    sides.around(Some(CUT_ARCHIVE));
    sides.done("echo result >result; echo more >>late");
    sides.around(None);
    assert_eq!(sides.done("cat edited").0, "from here\n");
    assert_eq!(sides.text("result"), "result\n");
    for name in ["edited", "moved", "result", "late"] {
        fs::remove_file(sides.here(name)).unwrap();
    }
    let (_, note) = sides.done("true");
    for part in [
        "kept on the other side, which had it before: `moved`, `late`",
        "with the changes that were sent from here: `edited`",
        "so removed on the other side too: `result`",
    ] {
        assert!(note.contains(part), "{part}: {note}");
    }
    for (name, text) in [
        ("edited", "from here\n"),
        ("moved", "their renamed\nmore\n"),
        ("late", "their late\nmore\n"),
        ("result", "(none)"),
    ] {
        assert_eq!(there(name), text, "{name}");
    }
}

#[test]
fn what_is_undone_or_deleted_after_the_end_goes_there_too() {
    let directory = TempDir::new().unwrap();
    let named = directory.path();
    for name in ["met", "met-edited"] {
        put(&named.join(name), "theirs\n");
    }
    let files = [
        "met",
        "met-edited",
        "deleted",
        "deleted-edited",
        "deleted-gone",
        "edited",
        "kept",
        "undone",
    ];
    let mut sides = TwoSides::with_directory(&files.map(|name| (name, "ours\n")), named.to_str());
    let there =
        |name: &str| fs::read_to_string(named.join(name)).unwrap_or_else(|_| "(none)".to_owned());
    sides.done("echo made >made");
    assert_eq!(sides.finish(), Ok(()));
    // Nothing is there that somebody would have to remove.
    assert!(!sides.runner.keeps_files() && !sides.runner.awaits_results());
    assert!(!named.join(MARK).exists());
    for name in [
        "met",
        "met.other-side",
        "met-edited",
        "met-edited.other-side",
        "made",
        "deleted",
        "deleted-edited",
        "deleted-gone",
    ] {
        fs::remove_file(sides.here(name)).unwrap();
    }
    sides.write("undone", "before\n");
    for name in ["met-edited", "deleted-edited", "edited", "new"] {
        put(&named.join(name), "of the person\n");
    }
    fs::remove_file(named.join("deleted-gone")).unwrap();
    sides.start_again_in(named.to_str());
    assert!(!sides.runner.keeps_files());
    let (_, note) = sides.done("true");
    for part in [
        "so removed on the other side too: `made`, `deleted`",
        "has again what it had under this name before: `met`",
        "kept on the other side, which had it before: `met-edited.other-side`, `met-edited`, `deleted-edited`",
        "`edited` as `edited.other-side`",
    ] {
        assert!(note.contains(part), "{part}: {note}");
    }
    for (name, text) in [
        ("met", "theirs\n"),
        ("met.other-side", "(none)"),
        ("met-edited", "of the person\n"),
        ("met-edited.other-side", "theirs\n"),
        ("made", "(none)"),
        ("deleted", "(none)"),
        ("deleted-edited", "of the person\n"),
        ("edited", "ours\n"),
        ("edited.other-side", "of the person\n"),
        ("kept", "ours\n"),
        ("undone", "before\n"),
        ("new", "of the person\n"),
    ] {
        assert_eq!(there(name), text, "{name}");
    }
    assert_eq!(sides.text("new"), "(none)");
    assert_eq!(sides.done("true").1, "");
    // Whoever has everything removed there has it forgotten too.
    sides.clean().unwrap();
    assert!(!sides.memory().exists());
}

#[test]
fn a_cut_while_something_is_given_back_loses_nothing() {
    let directory = TempDir::new().unwrap();
    let named = directory.path();
    put(&named.join("met"), "theirs");
    let sides = TwoSides::with_directory(&[("met", "ours"), ("f", "1")], named.to_str());
    sides.done("true");
    for name in ["met", "met.other-side"] {
        fs::remove_file(sides.here(name)).unwrap();
    }
    sides.around(Some(("read -r n", "sh -c \"$1\" >&2; exit 1")));
    sides.run("true");
    sides.around(None);
    sides.done("true");
    assert_eq!(fs::read_to_string(named.join("met")).unwrap(), "theirs");
    assert!(!sides.here("met").exists());
}

#[test]
fn a_name_of_ours_that_is_an_ignored_directory_there_stops_no_command() {
    let sides = TwoSides::new(&[(".gitignore", "out/\nlink/\n"), ("f", "1\n")]);
    sides.done("mkdir out link; echo result | tee out/r >link/r");
    sides.write("out", "ours");
    symlink("f", sides.here("link")).unwrap();
    sides.write("f", "2\n");
    for _ in 0..2 {
        let (output, note) = sides.done("cat f out/r link/r");
        assert_eq!(output, "2\nresult\nresult\n");
        assert!(
            note.contains("not sent") && note.contains("`link`, `out`"),
            "{note}"
        );
    }
    assert_eq!(sides.text("out"), "ours");
    fs::remove_dir(sides.there("out")).unwrap_err();
    fs::remove_dir_all(sides.there("out")).unwrap();
    assert_eq!(sides.done("cat out").0, "ours");
}

#[test]
fn an_ignored_result_is_not_replaced_when_its_rule_goes() {
    let sides = TwoSides::new(&[(".gitignore", "*.db\nout/\n"), ("data.db", "ours\n")]);
    sides.write("out/r", "ours\n");
    sides.done("mkdir out; echo result | tee data.db >out/r; echo hours >out/more");
    sides.write(".gitignore", "\n");
    let (_, note) = sides.done("true");
    for name in ["data.db", "out/r"] {
        assert_eq!(sides.text(name), "ours\n");
        assert_eq!(
            sides.text(&format!("{name}.other-side")),
            "result\n",
            "{note}"
        );
        assert!(note.contains(&format!("`{name}.other-side`")), "{note}");
    }
    assert_eq!(sides.text("out/more"), "hours\n");
}

#[test]
fn what_a_command_made_is_taken_by_the_rules_that_it_leaves() {
    let sides = TwoSides::new(&[(".gitignore", "out\n*.log\n"), ("sub/.ignore", "o\n")]);
    sides.done("echo early >early.log");
    sides.done("mkdir out; echo result >out/r; echo l >a.log; echo >.gitignore; echo o >sub/o; rm sub/.ignore");
    for (name, text) in [
        ("out/r", "result\n"),
        ("a.log", "l\n"),
        ("early.log", "early\n"),
        ("sub/o", "o\n"),
    ] {
        assert_eq!(sides.text(name), text, "{name}");
    }
    assert!(!sides.here("sub/.ignore").exists());
}

#[test]
fn results_outlive_the_mark_and_our_memory() {
    let lost_mark = "find . -mindepth 1 -delete; echo made >made; echo 2 >f";
    let kept_mark = "echo made >made; echo 2 >f; rm g";
    for (script, memory, f, beside) in [
        (lost_mark, None, "2\n", "(none)"),
        (kept_mark, Some(""), "1\n", "2\n"),
        (kept_mark, Some("{\"mark\":\"0"), "1\n", "2\n"),
    ] {
        let mut sides = TwoSides::new(&[("f", "1\n"), ("g", "1\n"), ("h/i", "1\n")]);
        sides.done("true");
        sides.around(Some(CUT_ARCHIVE));
        sides.done(script);
        sides.around(None);
        sides.start_again();
        if let Some(memory) = memory {
            put(&sides.memory(), memory);
        }
        let waiting = runners_with_results(sides.there.path(), "memory");
        // A damaged memory does not know its runner.
        assert_eq!(waiting.is_empty(), memory.is_some(), "{waiting:?}");
        assert!(sides.runner.awaits_results(), "{script}");
        let kept = sides.finish().unwrap_err();
        assert!(kept.contains("has not come back"), "{kept}");
        assert!(sides.there("made").exists());
        sides.fetch_results();
        assert!(runners_with_results(sides.there.path(), "memory").is_empty());
        assert_eq!(sides.text("made"), "made\n");
        assert_eq!(
            (
                sides.text("f").as_str(),
                sides.text("f.other-side").as_str()
            ),
            (f, beside)
        );
        // Nobody knows if a command deleted it.
        assert_eq!(sides.text("g"), "1\n");
        let (output, _) = sides.done("cat g h/i made");
        assert_eq!(output, "1\n1\nmade\n");
        assert_eq!(sides.finish(), Ok(()));
    }
    // Where the memory is gone, the next command takes what is there.
    let mut sides = TwoSides::new(&[("f", "1\n")]);
    sides.around(Some(CUT_ARCHIVE));
    sides.done("echo made >made");
    sides.around(None);
    fs::remove_file(sides.memory()).unwrap();
    sides.start_again();
    assert_eq!(sides.finish(), Ok(()));
    sides.done("true");
    assert_eq!(sides.text("made"), "made\n");
}

#[test]
fn the_mark_is_no_file_of_the_workspace() {
    let sides = TwoSides::new(&[
        ("f", "1"),
        (".agent-runner", "x y"),
        (".agent-runner-notes", "n"),
    ]);
    let (output, note) =
        sides.done("cat .agent-runner-notes; echo 2 >.agent-runner-notes; rm .agent-runner");
    assert_eq!(output, "n");
    assert!(
        note.contains("not sent") && note.contains("`.agent-runner`"),
        "{note}"
    );
    assert_eq!(sides.text(".agent-runner-notes"), "2\n");
    assert_eq!(sides.text(".agent-runner"), "x y");
    sides.done("echo a command wrote this >.agent-runner");
    assert_eq!(sides.done("cat f").0, "1");
}

#[test]
fn nothing_is_sent_through_a_link() {
    let sides = TwoSides::new(&[(".vscode/settings.json", "{}")]);
    let outside = TempDir::new().unwrap();
    sides.done(&format!(
        "rm -r .vscode; ln -s {} .vscode",
        outside.path().display()
    ));
    sides.write(".vscode/settings.json", "{1}");
    sides.write(".vscode/new", "1");
    let (_, note) = sides.done("true");
    assert!(
        note.contains("not sent") && note.contains("`.vscode/new`"),
        "{note}"
    );
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
    fs::remove_dir_all(sides.here(".vscode")).unwrap();
    put(&outside.path().join("settings.json"), "of another");
    sides.done("true");
    assert!(outside.path().join("settings.json").exists());
}

#[test]
fn a_directory_with_ignored_results_is_not_replaced() {
    let sides = TwoSides::new(&[(".gitignore", "*.o\nbuild/\n"), ("d/f", "1"), ("e/f", "1")]);
    sides.done("echo object >d/x.o; mkdir e/build; echo built >e/build/x");
    for name in ["d", "e"] {
        fs::remove_dir_all(sides.here(name)).unwrap();
        sides.write(name, "a file");
    }
    let (output, note) = sides.done("cat d/x.o e/build/x; ls d e");
    assert_eq!(output, "object\nbuilt\nd:\nx.o\n\ne:\nbuild\n");
    assert!(
        note.contains("not sent") && note.contains("`d`, `e`"),
        "{note}"
    );
}
