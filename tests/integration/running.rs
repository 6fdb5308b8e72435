use std::time::Instant;

use crate::harness::Test;

const DONE: &str = "[DONE]\nfine\n[/DONE]\n{end}\n";

/// Runs a script with a timeout of one second and gives the outbox that tells of it.
fn run(script: &str) -> String {
    let reply = format!("[RUN_COMMAND timeout=\"1\"]\n{script}\n[/RUN_COMMAND]\n{{end}}\n");
    let began = Instant::now();
    let finished = Test::new(&["new", "task"])
        .reply(&reply)
        .reply(DONE)
        .run()
        .code(0);
    assert!(began.elapsed().as_secs() < 20, "took {:?}", began.elapsed());
    finished.outbox(2)
}

#[track_caller]
fn case(script: &str, expected: &[&str]) {
    let outbox = run(script);
    for text in expected {
        assert!(
            outbox.contains(text),
            "`{script}` did not give `{text}`:\n{outbox}"
        );
    }
}

#[test]
fn exit_codes_signals_and_timeouts_are_told_apart() {
    case(
        "echo out; echo err >&2; echo again; exit 3",
        &["[FAILED] RUN_COMMAND", "exit code 3", "out\nerr\nagain\n"],
    );
    case("kill -9 $$", &["[FAILED] RUN_COMMAND", "signal 9"]);
    case(
        "echo before; sleep 1000",
        &["[FAILED] RUN_COMMAND", "timed out after 1 s", "before\n"],
    );
    case("cat", &["[OK] RUN_COMMAND", "exit code 0"]);
}

#[test]
fn a_pipe_hides_no_failure() {
    case(
        "(echo 3 failed; exit 1) | tail -5",
        &[
            "[FAILED] RUN_COMMAND",
            "but part 1 of the pipeline (`(echo 3 failed; exit 1)`) failed with exit code 1",
            "3 failed\n",
        ],
    );
    case("seq 99999 | head -1", &["[OK] RUN_COMMAND", "exit code 0"]);
    case("echo a | grep b | wc -l", &["[OK] RUN_COMMAND", "0\n"]);
    let beside = "[RUN_COMMAND]\nfalse | cat\n[/RUN_COMMAND]\n[DONE]\nfine\n[/DONE]\n{end}\n";
    let refused = Test::new(&["new", "task"]).reply(beside).reply(DONE).run();
    let outbox = refused.code(0).outbox(2);
    assert!(outbox.contains("[REFUSED] DONE"), "{outbox}");
    let checked = Test::new(&["new", "--check", "false | cat", "--no-wait", "task"]).run();
    let outbox = checked.code(0).outbox(1);
    assert!(outbox.contains("[FAILED] `false | cat`"), "{outbox}");
}

#[test]
fn tests_that_look_at_colours_pass_and_no_colour_reaches_the_message() {
    let program = "if [ -n \"${NO_COLOR+x}\" ] || [ \"$TERM\" = dumb ]; then echo red; else printf '\\033[31mred\\033[0m\\n'; fi\n";
    let test = "got=$(sh paint.sh); [ \"$got\" = \"$(printf '\\033[31mred\\033[0m')\" ] && echo \"it is $got\"\n";
    let finished = Test::new(&["new", "--check", "sh test.sh", "--no-wait", "task"])
        .file("appsettings.json", "{\"Agent\": {}}")
        .file("workspace/paint.sh", program)
        .file("workspace/test.sh", test)
        .environment("TERM", "xterm-256color")
        .run()
        .code(0);
    let outbox = finished.outbox(1);
    assert!(outbox.contains("[OK] `sh test.sh`"), "{outbox}");
    assert!(!outbox.contains('\u{1b}'), "{outbox}");
}

#[test]
fn a_command_that_timed_out_is_told_how_to_get_longer() {
    case(
        "sleep 1000",
        &["if it needs longer, set timeout=\"...\" in seconds, up to 600"],
    );
}

#[test]
fn endless_output_is_capped_and_ends_at_its_time() {
    case(
        "yes",
        &[
            "timed out after 1 s",
            "[TRUNCATED: ",
            " characters omitted]",
        ],
    );
    case(
        "head -c 2000000 /dev/zero | tr '\\0' x; echo; echo end",
        &["characters omitted]", "end\n"],
    );
}

#[test]
fn survivors_do_not_hold_the_round() {
    case("sleep 1000 & sleep 1000", &["timed out after 1 s"]);
    case("setsid sleep 1000 & echo started", &["started"]);
    case("exec >/dev/null 2>&1; sleep 1000", &["timed out after 1 s"]);
}

#[test]
fn the_environment_carries_no_secrets() {
    let reply = "[RUN_COMMAND]\nenv\n[/RUN_COMMAND]\n{end}\n";
    let finished = Test::new(&["new", "task"])
        .environment("MY_API_TOKEN", "s3cret-value")
        .reply(reply)
        .reply(DONE)
        .run()
        .code(0);
    assert!(!finished.outbox(2).contains("s3cret-value"));
}
