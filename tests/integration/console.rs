use crate::harness::{Finished, Test};

const REPLY: &str = "A word of mine.\n\n[MESSAGE]\nI begin.\n[/MESSAGE]\n[CREATE_FILE path=\"a.txt\"]\na\n[/CREATE_FILE]\n[RUN_COMMAND]\nexit 3\n[/RUN_COMMAND]\n{end}\n";
const DONE: &str = "[DONE]\nall is fine\n[/DONE]\n{end}\n";

/// A session of two rounds with these options.
fn session(options: &[&str]) -> Test {
    let arguments: Vec<&str> = ["new", "task"].iter().chain(options).copied().collect();
    Test::new(&arguments).reply(REPLY).reply(DONE)
}

#[track_caller]
fn says_none_of(finished: &Finished, texts: &[&str]) {
    for text in texts {
        let said = &finished.stderr;
        assert!(!said.contains(text), "`{text}` was said:\n{said}");
    }
}

#[test]
fn quiet_says_only_what_needs_the_person() {
    let finished = session(&["--quiet"])
        .run()
        .code(0)
        .said("_seq0001.txt")
        .said("_seq0002.txt")
        .said("Done")
        .said("all is fine");
    says_none_of(
        &finished,
        &[
            "Started",
            "Workspace",
            "Reply `",
            "CREATE_FILE",
            "A word of mine",
            "I begin",
            "running",
        ],
    );
    assert_eq!(finished.stdout, "");
}

#[test]
fn quiet_still_tells_what_goes_wrong() {
    Test::new(&["resume", "--quiet"])
        .run()
        .code(1)
        .said("error: ");
    let finished = Test::new(&["new", "--no-wait", "--quiet", "task"])
        .run()
        .code(0);
    Test::after(finished, &["step", "--quiet", "--reply", "-"])
        .input("[DONE]\n[END deadbeef#1]\n")
        .run()
        .code(4)
        .said("Not used");
}

#[test]
fn the_usual_talk_follows_what_happens() {
    let finished = session(&[])
        .run()
        .code(0)
        .said("Started")
        .said("A word of mine.")
        .said("I begin.")
        .said(" ok created ")
        .said(" failed ran ")
        .said("Done");
    assert_eq!(finished.stdout, "", "talk goes to standard error");
    says_none_of(&finished, &["DEBUG", "INFO", "agent::"]);
    assert!(!finished.stderr.contains("kept as"));
    session(&["--verbose"]).run().code(0).said("kept as");
}

#[test]
fn quiet_and_verbose_contradict_each_other() {
    Test::new(&["list", "--quiet", "--verbose"]).run().code(2);
}

#[test]
fn there_are_no_escape_sequences_in_a_pipe_unless_they_are_asked_for() {
    for test in [
        session(&[]),
        session(&["--color", "never"]),
        session(&[]).environment("NO_COLOR", "1"),
        session(&[]).environment("TERM", "xterm-256color"),
    ] {
        let finished = test.run().code(0);
        says_none_of(&finished, &["\u{1b}"]);
    }
    session(&["--color", "always"])
        .run()
        .code(0)
        .said("\u{1b}[");
}

#[test]
fn a_rehearsal_is_coloured_only_on_demand() {
    let diff = |options: &[&str]| {
        let arguments: Vec<&str> = ["apply", "--dry-run"]
            .iter()
            .chain(options)
            .copied()
            .collect();
        Test::new(&arguments)
            .input("[CREATE_FILE path=\"a.txt\"]\na\n[/CREATE_FILE]\n")
            .run()
            .code(0)
            .stdout
    };
    assert!(!diff(&[]).contains('\u{1b}'));
    assert!(diff(&["--color", "always"]).contains('\u{1b}'));
}

#[test]
fn what_the_model_writes_cannot_steer_the_terminal() {
    let reply = "\u{1b}]0;title\u{7}prose\n[MESSAGE]\n\u{1b}[2Jgone\n[/MESSAGE]\n{end}\n";
    let finished = Test::new(&["new", "task"])
        .reply(reply)
        .reply(DONE)
        .run()
        .code(0);
    says_none_of(&finished, &["\u{1b}", "\u{7}"]);
}

#[test]
fn json_gives_nothing_but_json_on_standard_output() {
    let finished = session(&["--json"]).run().code(0);
    let mut events = Vec::new();
    for line in finished.stdout.lines() {
        let event: serde_json::Value =
            serde_json::from_str(line).unwrap_or_else(|cause| panic!("{cause}: {line}"));
        assert_eq!(event["schema"], 2, "{line}");
        events.push(
            event["event"]
                .as_str()
                .unwrap_or_else(|| panic!("{line}"))
                .to_owned(),
        );
    }
    for expected in [
        "session", "outbox", "reply", "prose", "message", "step", "done",
    ] {
        assert!(
            events.iter().any(|event| event == expected),
            "`{expected}` is missing: {events:?}"
        );
    }
    assert_eq!(finished.stderr, "", "what happens is told once");
}

#[test]
fn json_data_of_the_verbs_that_look_is_one_object_a_line() {
    let finished = Test::new(&["new", "--no-wait", "task"]).run().code(0);
    let mut finished = Some(finished);
    for verb in [
        &["list"][..],
        &["status"],
        &["config"],
        &["policy"],
        &["doctor"],
    ] {
        let arguments: Vec<&str> = verb.iter().copied().chain(["--json"]).collect();
        let looked = Test::after(finished.take().unwrap(), &arguments)
            .run()
            .code(0);
        assert!(!looked.stdout.is_empty(), "{verb:?}");
        for line in looked.stdout.lines() {
            let object: serde_json::Value = serde_json::from_str(line)
                .unwrap_or_else(|cause| panic!("{verb:?}: {cause}: {line}"));
            assert!(object.is_object(), "{verb:?}: {line}");
        }
        finished = Some(looked);
    }
}

#[cfg(unix)]
#[test]
fn the_trace_and_all_that_is_kept_of_a_session_is_private() {
    use std::os::unix::fs::PermissionsExt;

    let finished = session(&[]).run().code(0);
    let id = finished.session()["sessionId"].as_str().unwrap().to_owned();
    let log = format!("sessions/{id}/agent.log");
    let trace = std::fs::read_to_string(finished.base().join(&log)).unwrap();
    assert!(
        trace.contains("started") && trace.contains("CREATE_FILE"),
        "{trace}"
    );
    assert!(!trace.contains('\u{1b}'), "{trace}");
    for private in [
        log,
        format!("sessions/{id}.json"),
        format!("sessions/{id}.journal.jsonl"),
        format!("outbox/{id}_seq0001.txt"),
        format!("outbox/{id}_seq0002.txt"),
    ] {
        let mode = std::fs::metadata(finished.base().join(&private))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600, "{private}");
    }
}
