//! Tests of line numbers, and of edits that do not fit.

use super::super::stage::{
    create, delete, insert, lines, patch, path, rename, replace, run, stage, update,
};
use crate::protocol::{END_OF_FILE, Status};

const TEN: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n";

#[test]
fn line_numbers_are_those_of_the_start_of_the_reply() {
    let mut stage = stage(&[("a", TEN)]);
    stage.succeeds(vec![
        lines("a", 2, 3, "two\nthree\nand more\n"),
        insert("a", 5, "after five\n"),
        lines("a", 9, 9, ""),
        lines("a", 10, 10, "ten\n"),
        insert("a", 0, "top\n"),
    ]);
    assert_eq!(
        stage.text("a"),
        "top\n1\ntwo\nthree\nand more\n4\n5\nafter five\n6\n7\n8\nten\n"
    );
}

#[test]
fn text_is_appended_to_a_file_of_unknown_length() {
    let mut stage = stage(&[("a", "1\n2\n"), ("empty", "")]);
    stage.succeeds(vec![
        insert("a", END_OF_FILE, "3\n"),
        insert("a", END_OF_FILE, "4\n"),
        insert("empty", END_OF_FILE, "1\n"),
    ]);
    assert_eq!(stage.text("a"), "1\n2\n3\n4\n");
    assert_eq!(stage.text("empty"), "1\n");
}

#[test]
fn line_numbers_of_a_file_that_this_reply_wrote_are_those_after_it() {
    let mut stage = stage(&[("a", TEN)]);
    stage.succeeds(vec![
        insert("a", 1, "x\n"),
        create("a", "one\ntwo\nthree\n"),
        lines("a", 2, 2, "TWO\n"),
        create("b", "one\ntwo\n"),
        insert("b", 1, "and a half\n"),
    ]);
    assert_eq!(stage.text("a"), "one\nTWO\nthree\n");
    assert_eq!(stage.text("b"), "one\nand a half\ntwo\n");
}

#[test]
fn later_line_numbers_are_mapped_through_edits_by_text_and_patches() {
    let mut stage = stage(&[("a", TEN)]);
    stage.succeeds(vec![
        replace("a", &[("2\n", "2\n2b\n2c\n")]),
        patch(vec![update("a", &[" 4", "-5", " 6"])]),
        lines("a", 8, 8, "eight\n"),
    ]);
    assert_eq!(stage.text("a"), "1\n2\n2b\n2c\n3\n4\n6\n7\neight\n9\n10\n");
}

#[test]
fn a_moved_file_takes_its_line_numbers_along() {
    let mut stage = stage(&[("a", TEN)]);
    stage.succeeds(vec![
        lines("a", 1, 2, "one\n"),
        rename("a", "b"),
        lines("b", 4, 4, "four\n"),
    ]);
    assert_eq!(stage.text("b"), "one\n3\nfour\n5\n6\n7\n8\n9\n10\n");
}

#[test]
fn lines_that_this_reply_changed_are_not_changed_again() {
    let mut stage = stage(&[("a", TEN)]);
    let outcomes = stage.reply(vec![
        lines("a", 3, 5, "three\n4\n5\n"),
        lines("a", 5, 6, "x\n"),
        insert("a", 4, "x\n"),
        lines("a", 6, 6, "six\n"),
    ]);
    let statuses: Vec<Status> = outcomes.iter().map(|one| one.status).collect();
    assert_eq!(
        statuses,
        [Status::Ok, Status::Failed, Status::Failed, Status::Ok]
    );
    assert!(
        outcomes[1]
            .message
            .starts_with("`a`: lines 3-5 were changed by an earlier step of this reply"),
        "{}",
        outcomes[1].message
    );
    assert_eq!(stage.text("a"), "1\n2\nthree\n4\n5\nsix\n7\n8\n9\n10\n");
}

#[test]
fn lines_that_are_not_there_are_refused() {
    let mut stage = stage(&[("a", "1\n2\n"), ("empty", "")]);
    stage.fails(lines("a", 2, 3, "x\n"), "there is no line 3");
    stage.fails(insert("a", 3, "x\n"), "there is no line 3");
    stage.fails(lines("a", 0, 1, "x\n"), "counted from 1");
    stage.fails(lines("empty", 1, 1, "x\n"), "the file has 0 lines");
    stage.fails(lines("gone", 1, 1, "x\n"), "`gone` does not exist");
    stage.succeeds(vec![insert("empty", 0, "x\n")]);
    assert_eq!(stage.text("a"), "1\n2\n");
}

#[test]
fn a_file_that_a_command_changed_is_stale() {
    let mut stage = stage(&[("a", TEN), ("b", TEN)]);
    stage.show("a");
    let outcomes = stage.reply(vec![
        lines("a", 1, 1, "one\n"),
        run("sed -i 1d a"),
        lines("a", 9, 9, "nine\n"),
        lines("b", 9, 9, "nine\n"),
    ]);
    assert_eq!(outcomes[2].status, Status::Failed);
    assert!(outcomes[2].message.contains("is not as it was last shown"));
    assert_eq!(
        outcomes[2].detail.text,
        "4: 5\n5: 6\n6: 7\n7: 8\n8: 9\n9: 10"
    );
    assert_eq!(outcomes[3].status, Status::Ok);
    // It was shown, so that the next reply may go on.
    stage.succeeds(vec![lines("a", 9, 9, "ten\n")]);
    assert_eq!(stage.text("a"), "2\n3\n4\n5\n6\n7\n8\n9\nten\n");
}

#[test]
fn a_file_that_was_never_seen_is_stale_too_if_a_command_of_the_reply_changed_it() {
    let mut stage = stage(&[("a", TEN)]);
    let outcomes = stage.reply(vec![
        run("echo 0 > b; sed -i 1d a"),
        lines("a", 1, 1, "x\n"),
        insert("b", 0, "x\n"),
    ]);
    assert_eq!(outcomes[1].status, Status::Failed);
    assert_eq!(outcomes[2].status, Status::Failed);
}

#[test]
fn a_file_that_changed_since_it_was_seen_is_stale() {
    let mut stage = stage(&[("a", TEN)]);
    stage.show("a");
    stage.change("a", "0\n1\n2\n3\n");
    // An edit by text needs no numbers, and does not make them true.
    stage.succeeds(vec![replace("a", &[("3\n", "three\n")])]);
    stage.fails(lines("a", 3, 3, "two\n"), "is not as it was last shown");
    stage.succeeds(vec![lines("a", 3, 3, "two\n")]);
    assert_eq!(stage.text("a"), "0\n1\ntwo\nthree\n");
}

#[test]
fn lines_of_a_changed_file_that_were_not_shown_are_stale_still() {
    let hundred: Vec<String> = (1..=100).map(|number| number.to_string()).collect();
    let hundred = hundred.join("\n") + "\n";
    let mut stage = stage(&[("a", &hundred), ("empty", "1\n")]);
    stage.show("a");
    stage.show("empty");
    stage.change("a", &format!("person\nadded\n{hundred}"));
    stage.change("empty", "");
    stage.show_lines("a", 50, 60);
    stage.fails(lines("a", 2, 2, "x\n"), "is not as it was last shown");
    stage.fails(lines("a", 60, 61, "x\n"), "is not as it was last shown");
    // Both were shown by that, and the lines move with what the model writes.
    stage.succeeds(vec![lines("a", 2, 2, ""), lines("a", 61, 61, "59!\n")]);
    stage.succeeds(vec![
        lines("a", 60, 60, "59?\n"),
        insert("a", 49, "48 and a half\n"),
    ]);
    let text = stage.text("a");
    assert!(text.starts_with("person\n1\n2\n"), "{text}");
    assert!(text.contains("\n48\n48 and a half\n49\n"), "{text}");
    assert!(text.contains("\n58\n59?\n60\n"), "{text}");
    stage.fails(lines("a", 90, 90, "x\n"), "is not as it was last shown");
    // What is longer than a result shows must be read.
    stage.fails(lines("a", 1, 101, ""), "see lines 1-101 with READ_FILE");
    stage.show("a");
    stage.succeeds(vec![lines("a", 1, 101, "")]);
    // Of an empty file there is nothing to show, and of one that ends before its end.
    stage.fails(insert("empty", 0, "x\n"), "is not as it was last shown");
    stage.succeeds(vec![insert("empty", 0, "x\n")]);
    stage.change("a", TEN);
    let end = stage.fails(lines("a", 90, 90, "x\n"), "is not as it was last shown");
    assert!(end.detail.text.ends_with("9: 9\n10: 10"), "{end:?}");
    stage.fails(lines("a", 90, 90, "x\n"), "there is no line 90");
}

#[test]
fn what_a_command_changed_after_the_edits_is_stale_in_the_next_reply() {
    let mut stage = stage(&[("a", TEN)]);
    stage.show("a");
    stage.succeeds(vec![lines("a", 1, 1, "one\n"), run("echo 11 >> a")]);
    stage.fails(lines("a", 2, 2, "two\n"), "is not as it was last shown");
}

#[test]
fn the_model_knows_what_it_wrote() {
    let mut stage = stage(&[("a", TEN)]);
    stage.show("a");
    stage.succeeds(vec![lines("a", 1, 2, "one\n"), create("b", "1\n2\n")]);
    stage.succeeds(vec![lines("a", 2, 2, "three\n"), insert("b", 2, "3\n")]);
    stage.succeeds(vec![rename("a", "c")]);
    stage.succeeds(vec![lines("c", 1, 1, "ONE\n")]);
    assert!(stage.seen.get(&path("a")).is_none());
    stage.succeeds(vec![delete("c")]);
    assert!(stage.seen.get(&path("c")).is_none());
    assert_eq!(stage.text("b"), "1\n2\n3\n");
}

#[test]
fn a_file_that_was_never_seen_stays_unseen() {
    let mut stage = stage(&[("a", TEN)]);
    stage.succeeds(vec![lines("a", 1, 1, "one\n")]);
    assert!(stage.seen.get(&path("a")).is_none());
}

#[test]
fn the_encoding_is_kept_or_the_edit_refused() {
    let mut stage = stage(&[("marked", "\u{feff}a\r\nb\r\n")]);
    stage
        .workspace
        .write(&path("old"), b"caf\xe9\nb\n")
        .unwrap();
    stage
        .workspace
        .write(&path("wide"), b"\xff\xfea\0\n\0b\0\n\0")
        .unwrap();
    stage.workspace.write(&path("binary"), b"\0\x01").unwrap();
    stage.succeeds(vec![
        lines("marked", 2, 2, "B\n"),
        lines("old", 2, 2, "th\u{e9}\n"),
        lines("wide", 2, 2, "\u{4e2d}\n"),
    ]);
    assert_eq!(stage.text("marked"), "\u{feff}a\r\nB\r\n");
    assert_eq!(stage.bytes("old"), b"caf\xe9\nth\xe9\n");
    assert_eq!(stage.bytes("wide"), b"\xff\xfea\0\n\0\x2d\x4e\n\0");
    stage.fails(lines("old", 1, 1, "\u{4e2d}\n"), "has no `\u{4e2d}`");
    stage.fails(lines("binary", 1, 1, "x\n"), "is a binary file (2 bytes)");
}

#[test]
fn what_a_link_leads_to_is_not_shown_by_a_refusal() {
    let mut stage = stage(&[(".env", "SESSION=1\n")]);
    std::os::unix::fs::symlink(".env", stage.directory.path().join("notes.txt")).unwrap();
    for command in [
        replace("notes.txt", &[("SESSION=2\n", "x\n")]),
        lines("notes.txt", 1, 1, "x\n"),
        patch(vec![update("notes.txt", &["-SESSION=2", "+x"])]),
        create("notes.txt", "x\n"),
    ] {
        let outcome = stage.fails(command, "`notes.txt` is a symbolic link");
        assert!(!outcome.detail.text.contains("SESSION"), "{outcome:?}");
    }
    assert_eq!(stage.text(".env"), "SESSION=1\n");
}

#[test]
fn what_copying_did_to_a_range_is_repaired_and_told() {
    let text = "fn f() {\n\tif a < b {\n\t\tg();\n\t}\n\th();\n}\n";
    let mut stage = stage(&[("a.c", text)]);
    let outcome = stage.one(lines(
        "a.c",
        2,
        4,
        "    if a &lt; b {\n        i();\n    }\n",
    ));
    assert_eq!(
        outcome.line("you"),
        "edited a.c: replaced lines 2-4 by 3 lines; repaired what copying did to it: entities such as `&lt;`, another kind of indentation"
    );
    assert_eq!(stage.text("a.c"), text.replace("g()", "i()"));
}

#[test]
fn curly_quotes_are_treated_alike_by_every_command() {
    let text = "a = 'x'\nb = 1\nc = 2\n";
    let curly = "d = \u{2018}y\u{2019}\n";
    let mut stage = stage(&[("a.py", text), ("b.py", text), ("c.py", text)]);
    let inserted = stage.one(insert("a.py", 1, curly));
    assert_eq!(
        inserted.line("you"),
        "edited a.py: inserted 1 line after line 1; repaired what copying did to it: curly quotes, long dashes or unusual spaces"
    );
    assert_eq!(stage.text("a.py"), "a = 'x'\nd = 'y'\nb = 1\nc = 2\n");
    let appended = stage.one(insert("a.py", END_OF_FILE, "e = \u{201c}z\u{201d}\n"));
    assert!(
        appended.line("you").contains("repaired"),
        "{}",
        appended.line("you")
    );
    assert!(stage.text("a.py").ends_with("c = 2\ne = \"z\"\n"));
    let told = "unlike before it has curly quotes";
    let replaced = stage.one(replace("b.py", &[("b = 1\n", curly)]));
    assert!(
        replaced.line("you").contains(told),
        "{}",
        replaced.line("you")
    );
    let line = format!("+{}", curly.trim_end());
    let patched = stage.one(patch(vec![update("c.py", &["-b = 1", &line])]));
    assert!(patched.detail.text.contains(told), "{:?}", patched.detail);
    let created = stage.one(create("d.py", curly));
    assert!(
        created.line("you").contains("all its quotes are curly"),
        "{}",
        created.line("you")
    );
    let prose = stage.one(create("d.md", curly));
    assert!(
        !prose.line("you").contains("curly"),
        "{}",
        prose.line("you")
    );
}

#[test]
fn entities_in_new_code_are_told() {
    let entities = "b = c &lt; d\n";
    let told = "has entities such as `&lt;`";
    let mut stage = stage(&[("a.py", "a = 1\nb = 1\n")]);
    let replaced = stage.one(replace("a.py", &[("b = 1\n", entities)]));
    assert!(
        replaced.line("you").contains(told),
        "{}",
        replaced.line("you")
    );
    let created = stage.one(create("b.py", entities));
    assert!(
        created.line("you").contains(told),
        "{}",
        created.line("you")
    );
    let page = stage.one(create("c.jsx", entities));
    assert!(!page.line("you").contains(told), "{}", page.line("you"));
}
