//! Sessions whose commands run elsewhere, with a shell of this machine as the other side. Real engines
//! are tested in `tests/engines`.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::harness::{Finished, Running, Save, Test, save_reply, wait_until};

/// A `kubectl` that runs what it is given in another directory. While the file `cut` is there, results
/// break off on their way back; while `hang` is there, it does not answer.
pub const KUBECTL: &str = r#"#!/bin/sh
here=$(dirname "$0")
while [ "$1" != -- ]; do shift; done; shift
export XDG_CACHE_HOME="$here/there"; cd /
if [ -e "$here/hang" ]; then touch "$here/hangs"; exec sleep 120; fi
if [ -e "$here/cut" ]; then case $3 in *"tar -cf"*) "$@" | head -c 700; exit 1;; esac; fi
exec "$@"
"#;

/// Puts a program first on the path of a run, where no command can change it.
pub fn with_program(test: Test, name: &str, script: &str) -> Test {
    let bin = bin(&test.base());
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let test = test.file(&format!("../bin/{name}"), script);
    fs::set_permissions(bin.join(name), fs::Permissions::from_mode(0o755)).unwrap();
    test.environment("PATH", &path)
}

/// The directory of such programs.
pub fn bin(base: &Path) -> PathBuf {
    base.with_file_name("bin")
}

/// A session whose first command makes the file `made`, which does not come back.
fn cut_session() -> Running {
    let runner = [
        "--runner",
        "kubectl:pod",
        "--sandbox",
        "off",
        "--allow",
        "touch",
    ];
    let test = Test::new(&[&["new", "test", "--base", "."], &runner[..]].concat())
        .file("workspace/f", "1\n")
        .file("../bin/cut", "")
        .reply("[RUN_COMMAND]\ntouch made\n[/RUN_COMMAND]\n{end}");
    let running = with_program(test, "kubectl", KUBECTL).start();
    assert!(running.outbox(2).contains("has not come back yet"));
    running
}

/// Answers the second message.
fn answer(running: &Running, text: &str) {
    let path = running.base().join("inbox/second.md");
    save_reply(&path, Save::Write, text.as_bytes());
}

fn done(running: Running) -> Finished {
    answer(&running, "[DONE]\nfinished\n[/DONE]\n");
    running.wait()
}

fn goes_on(finished: Finished, arguments: &[&str]) -> Finished {
    with_program(Test::after(finished, arguments), "kubectl", KUBECTL).run()
}

fn restore_connection(base: &Path) {
    fs::remove_file(bin(base).join("cut")).unwrap();
}

#[test]
fn results_of_a_session_that_is_done_come_with_its_end() {
    let finished = done(cut_session()).code(0).said("has not come back");
    let id = finished.session()["sessionId"].as_str().unwrap().to_owned();
    // They are elsewhere still, and nobody removes a session without a word about them.
    let finished = goes_on(finished, &["end", &id]).code(1);
    let finished = finished.said("has not come back");
    restore_connection(&finished.base());
    let finished = goes_on(finished, &["end", &id]).code(0);
    let finished = finished.said("has come back").workspace("made", "");
    let there = bin(&finished.base()).join("there/agent");
    assert_eq!(fs::read_dir(there).unwrap().count(), 0);
    let finished = goes_on(finished, &["undo", "--yes", &id]).code(0);
    assert!(!finished.base().join("workspace/made").exists());
    // Nobody has to name it.
    let finished = done(cut_session()).code(0).said("`agent end ");
    restore_connection(&finished.base());
    let finished = goes_on(finished, &["end"]).code(0).said("has come back");
    let finished = finished.workspace("made", "");
    goes_on(finished, &["end"])
        .code(1)
        .said("no unfinished session");
    let finished = done(cut_session()).code(0);
    let finished = goes_on(finished, &["rm", "--yes", "latest"]).code(0);
    finished.said("has not come back");
}

#[test]
fn results_come_though_the_memory_of_the_exchange_was_deleted() {
    let running = cut_session();
    running.signal("INT");
    let finished = running.wait().code(130);
    restore_connection(&finished.base());
    let state = finished.base().with_file_name("state").join("agent");
    let memory = fs::read_dir(&state)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let is_memory = |path: &PathBuf| path.to_string_lossy().contains("/runner-");
    let memory: Vec<_> = memory.filter(is_memory).collect();
    assert_eq!(memory.len(), 1, "{memory:?}");
    fs::remove_file(&memory[0]).unwrap();
    let finished = goes_on(finished, &["end"]).code(0).said("has come back");
    finished.workspace("made", "");
}

#[test]
fn an_interrupt_ends_the_wait_for_results_at_the_end() {
    let running = cut_session();
    let hang = bin(&running.base()).join("hang");
    fs::write(&hang, "").unwrap();
    answer(&running, "[DONE]\nfinished\n[/DONE]\n");
    wait_until("it hangs", || bin(&running.base()).join("hangs").exists());
    let began = Instant::now();
    running.signal("INT");
    let finished = running.wait().code(130).said("has not come back");
    let finished = finished.said("`agent end ");
    assert!(began.elapsed() < Duration::from_secs(8));
    fs::remove_file(&hang).unwrap();
    restore_connection(&finished.base());
    let id = finished.session()["sessionId"].as_str().unwrap().to_owned();
    goes_on(finished, &["end", &id])
        .code(0)
        .workspace("made", "");
}

#[test]
fn the_model_is_told_of_conflicts_with_results_that_come_late() {
    let running = cut_session();
    fs::write(running.base().join("workspace/made"), "mine\n").unwrap();
    restore_connection(&running.base());
    answer(&running, "[CREATE_FILE path=\"x\"]\nx\n[/CREATE_FILE]\n");
    let message = running.outbox(3);
    assert!(message.contains("`made` as `made.other-side`"), "{message}");
    running.signal("INT");
    running.wait().code(130).workspace("made.other-side", "");
}

#[test]
fn doctor_does_not_wait_long_for_an_engine_that_hangs() {
    let began = Instant::now();
    let test = Test::new(&["doctor", "--runner", "docker:image"]);
    let test = with_program(test, "docker", "#!/bin/sh\nexec sleep 300\n");
    let finished = test.environment("DOCKER_HOST", "tcp://127.0.0.1:1").run();
    let told = &finished.stdout;
    assert!(told.contains("did not answer in time"), "{told}");
    assert!(began.elapsed() < Duration::from_secs(50));
}

#[test]
fn doctor_clean_names_what_it_does_not_look_at() {
    const DOCKER: &str =
        "#!/bin/sh\nif [ \"$1 $2\" = 'volume ls' ]; then echo agent-files-abc; fi\n";
    let finished = done(cut_session()).code(0);
    let finished = goes_on(finished, &["doctor", "--clean"]).code(0);
    let told = &finished.stdout;
    assert!(!told.contains("nothing behind"), "{told}");
    assert!(
        told.contains("`agent doctor --clean --runner kubectl:pod`"),
        "{told}"
    );
    let test = Test::new(&["doctor", "--clean"]);
    let test = with_program(test, "docker", DOCKER);
    let finished = test.environment("DOCKER_HOST", "tcp://127.0.0.1:1").run();
    let told = &finished.stdout;
    assert!(told.contains("the volume `agent-files-abc`"), "{told}");
    assert!(!told.contains("nothing behind"), "{told}");
}

#[test]
fn doctor_says_when_rules_count_for_a_runner_that_does_not_confine() {
    let test = Test::new(&["doctor", "--runner", "kubectl:pod"]);
    let finished = with_program(test, "kubectl", KUBECTL).run();
    let told = &finished.stdout;
    assert!(told.contains("`--sandbox off` with `--allow`"), "{told}");
}

#[test]
fn a_container_that_prepares_a_volume_is_named_and_removed_when_it_fails() {
    const DOCKER: &str = "#!/bin/sh\necho \"$@\" >> \"$(dirname \"$0\")/asked\"\ncase $1 in run) echo broken >&2; exit 1;; esac\n";
    let test = Test::new(&["doctor", "--runner", "docker:image"]);
    let test = with_program(test, "docker", DOCKER);
    let finished = test.environment("DOCKER_HOST", "tcp://127.0.0.1:1").run();
    let asked = fs::read_to_string(bin(&finished.base()).join("asked")).unwrap();
    let makes_room = |line: &&str| line.starts_with("run ") && line.contains(" mkdir -p ");
    let started = asked.lines().find(makes_room).expect(&asked);
    let (_, name) = started.split_once("--name ").expect(started);
    let name = name.split(' ').next().unwrap();
    assert!(name.starts_with("agent-"), "{name}");
    assert!(asked.contains(&format!("rm --force {name}\n")), "{asked}");
}
