use std::fs::{self, File};
use std::io::Write;

use crate::harness::{Save, Test};

const DONE: &str = "[DONE]\nfine\n[/DONE]\n{end}\n";

fn create(name: &str) -> String {
    format!("[CREATE_FILE path=\"{name}\"]\ngrün\n[/CREATE_FILE]\n{{end}}\n")
}

#[test]
fn byte_order_marks_and_utf_16_are_understood() {
    let mut with_mark = vec![0xef, 0xbb, 0xbf];
    with_mark.extend(create("a.txt").as_bytes());
    let running = Test::new(&["new", "task"])
        .reply_by(Save::Write, with_mark)
        .start();
    let outbox = running.outbox(2);
    let id = outbox.lines().nth(1).unwrap()["Session: ".len()..].to_owned();
    let text = create("b.txt").replace("{end}", &format!("[END {id}#2]"));
    let mut wide = vec![0xff, 0xfe];
    wide.extend(text.encode_utf16().flat_map(u16::to_le_bytes));
    fs::write(running.base().join("inbox/wide.txt"), wide).unwrap();
    running.outbox(3);
    fs::write(
        running.base().join("inbox/done.txt"),
        format!("[DONE]\n[END {id}#3]\n"),
    )
    .unwrap();
    running
        .wait()
        .code(0)
        .workspace("a.txt", "grün\n")
        .workspace("b.txt", "grün\n");
}

#[test]
fn stray_invalid_bytes_are_repaired_and_named() {
    let mut bytes = b"caf\xe9 \xff\n".to_vec();
    bytes.extend(create("a.txt").as_bytes());
    Test::new(&["new", "task"])
        .reply_by(Save::Write, bytes)
        .reply(DONE)
        .run()
        .code(0)
        .said("in the reply: ")
        .workspace("a.txt", "grün\n");
}

#[test]
fn rubbish_is_rejected_with_the_reason_and_the_session_is_untouched() {
    let running = Test::new(&["new", "task"]).start();
    running.outbox(1);
    let inbox = running.base().join("inbox");
    let mut rubbish = File::create(inbox.join("rubbish.txt")).unwrap();
    let block: Vec<u8> = (0..=255).cycle().take(1 << 20).collect();
    for _ in 0..100 {
        rubbish.write_all(&block).unwrap();
    }
    drop(rubbish);
    fs::write(inbox.join("small.txt"), &block[..5000]).unwrap();
    while !inbox.join("rejected/rubbish.txt.why").exists()
        || !inbox.join("rejected/small.txt.why").exists()
    {
        std::thread::yield_now();
    }
    running.signal("INT");
    let finished = running.wait().code(130).said("Not used");
    assert_eq!(finished.outboxes(), 1);
    assert_eq!(finished.session()["sequenceNumber"], 1);
}

#[test]
fn a_megabyte_is_an_ordinary_reply() {
    let body = "0123456789abcde\n".repeat(64 * 1024);
    let reply = format!("[CREATE_FILE path=\"big.txt\"]\n{body}[/CREATE_FILE]\n{{end}}\n");
    Test::new(&["new", "task"])
        .reply(&reply)
        .reply(DONE)
        .run()
        .code(0)
        .workspace("big.txt", &body);
}

#[test]
fn what_is_not_a_reply_to_this_round_is_rejected_and_says_why() {
    let running = Test::new(&["new", "task"]).reply(&create("a.txt")).start();
    let outbox = running.outbox(2);
    let id = outbox.lines().nth(1).unwrap()["Session: ".len()..].to_owned();
    let inbox = running.base().join("inbox");
    let files = [
        (
            "other-session.txt",
            "[LIST_FILES]\n[END 00000000#2]\n".to_owned(),
            "it answers session 00000000",
        ),
        (
            "again.txt",
            create("a.txt").replace("{end}", &format!("[END {id}#1]")),
            "processed in an earlier round",
        ),
        (
            "old-number.txt",
            format!("[LIST_FILES]\n[END {id}#1]\n"),
            "it answers round 1, this is round 2",
        ),
        ("outbox.txt", outbox, "it is our own message"),
        ("blank.txt", "  \n\n".to_owned(), "it holds no text"),
    ];
    for (name, text, _) in &files {
        fs::write(inbox.join(name), text).unwrap();
    }
    for (name, _, why) in &files {
        let path = inbox.join(format!("rejected/{name}.why"));
        while !path.exists() {
            std::thread::yield_now();
        }
        let said = fs::read_to_string(&path).unwrap();
        assert!(said.contains(why), "{name}: {said}");
    }
    fs::write(inbox.join("done.txt"), format!("[DONE]\n[END {id}#2]\n")).unwrap();
    let finished = running.wait().code(0);
    assert_eq!(finished.outboxes(), 2);
}

#[test]
fn files_that_are_no_replies_are_left_alone_and_oddities_named_once() {
    let running = Test::new(&["new", "task"]).start();
    let outbox = running.outbox(1);
    let id = outbox.lines().nth(1).unwrap()["Session: ".len()..].to_owned();
    let inbox = running.base().join("inbox");
    for name in [
        ".hidden.txt",
        ".reply.txt.swp",
        "reply.txt~",
        "reply.txt.crdownload",
        "reply.txt.part",
    ] {
        fs::write(inbox.join(name), "[DONE]").unwrap();
    }
    fs::create_dir(inbox.join("folder.txt")).unwrap();
    fs::write(inbox.join("reply.docx"), "[DONE]").unwrap();
    fs::write(inbox.join("empty.txt"), "").unwrap();
    // An unmarked reply is taken half a second after it was written, the oddities before it.
    fs::write(inbox.join("real.md"), "[LIST_FILES]\n").unwrap();
    running.outbox(2);
    fs::write(inbox.join("unmarked.md"), "[LIST_FILES path=\".\"]\n").unwrap();
    running.outbox(3);
    fs::write(inbox.join("done.txt"), format!("[DONE]\n[END {id}#3]\n")).unwrap();
    let finished = running.wait().code(0);
    assert_eq!(
        finished.stderr.matches("reply.docx").count(),
        1,
        "{}",
        finished.stderr
    );
    assert!(
        !finished.stderr.contains("crdownload"),
        "{}",
        finished.stderr
    );
    assert!(inbox_names(&finished).contains(&"reply.txt.part".to_owned()));
}

fn inbox_names(finished: &crate::harness::Finished) -> Vec<String> {
    finished.files("inbox").into_keys().collect()
}

#[test]
fn a_model_cannot_write_to_the_terminal_raw() {
    let reply = "\u{1b}[2Jprose\u{202e}\n[MESSAGE]\n\u{1b}]0;title\u{7}hi\n[/MESSAGE]\n[RUN_COMMAND]\nprintf '\\033[31m'; exit 3\n[/RUN_COMMAND]\n{end}\n";
    let finished = Test::new(&["new", "task"])
        .reply(reply)
        .reply(DONE)
        .run()
        .code(0);
    assert!(
        !finished.stderr.contains('\u{1b}') && !finished.stderr.contains('\u{202e}'),
        "{:?}",
        finished.stderr
    );
}
