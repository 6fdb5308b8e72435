use std::fmt::Write;

use super::*;
use crate::tests::dialects;
use agent_protocol::{Hunk, HunkLine};

fn scan(text: &str) -> Vec<BlockCandidate> {
    dialects::scan(text, find)
}

#[track_caller]
fn changes(text: &str) -> Vec<FileChange> {
    let found = scan(text);
    assert_eq!(found.len(), 1, "{found:?}");
    match &found[0].items[..] {
        [CandidateItem::Command(Command::ApplyPatch { changes })] => changes.clone(),
        other => panic!("{other:?}"),
    }
}

/// The changes as one line each: what, path, then the hunks with their marks.
#[track_caller]
fn case(text: &str, expected: &[&str]) {
    let shown: Vec<String> = changes(text).iter().map(show).collect();
    assert_eq!(shown, expected);
}

fn show(change: &FileChange) -> String {
    match change {
        FileChange::Add { path, content, .. } => format!("add {path} {content:?}"),
        FileChange::Delete { path, hunks } => format!("delete {path}{}", show_hunks(hunks)),
        FileChange::Update {
            path,
            move_to,
            copy,
            mode,
            overwrite,
            hunks,
        } => {
            assert!(!overwrite);
            let verb = if *copy { "copy" } else { "update" };
            let to = move_to
                .as_ref()
                .map_or(String::new(), |to| format!(" > {to}"));
            let mode = mode.map_or(String::new(), |mode| format!(" {mode:o}"));
            format!("{verb} {path}{to}{mode}{}", show_hunks(hunks))
        }
    }
}

fn show_hunks(hunks: &[Hunk]) -> String {
    let mut shown = String::new();
    for hunk in hunks {
        let start = hunk
            .old_start
            .map_or("?".to_owned(), |start| start.to_string());
        write!(shown, " @{start}").unwrap();
        for line in &hunk.lines {
            let (mark, text) = match line {
                HunkLine::Keep(text) => ('=', text),
                HunkLine::Remove(text) => ('-', text),
                HunkLine::Add(text) => ('+', text),
            };
            write!(shown, " {mark}{text}").unwrap();
        }
    }
    shown
}

#[track_caller]
fn message(text: &str) -> String {
    let found = scan(text);
    assert_eq!(found.len(), 1, "{found:?}");
    match &found[0].items[0] {
        CandidateItem::Problem(trouble) => trouble.message.clone(),
        other @ CandidateItem::Command(_) => panic!("{other:?}"),
    }
}

const HUNK: &str = "@@ -1,2 +1,2 @@\n x\n-old\n+new\n";

#[test]
fn the_file_is_named_in_many_ways() {
    for header in [
        "--- a/d/x\n+++ b/d/x\n",
        "--- d/x\n+++ d/x\n",
        "--- d/x\t2012-09-25 03:09:15\n+++ d/x\t2012-09-26 03:09:15\n",
        "--- old/d/x\n+++ new/d/x\n",
        "--- d/x.orig\n+++ d/x\n",
        "diff --git a/d/x b/d/x\nindex 1..2 100644\n--- a/d/x\n+++ b/d/x\n",
        "diff --git a/d/x b/d/x\n",
        "diff --git d/x d/x\n--- d/x\n+++ d/x\n",
        "Index: d/x\n===================================================================\n--- d/x\t(revision 1)\n+++ d/x\t(working copy)\n",
        "diff -u a/d/x b/d/x\n--- a/d/x\n+++ b/d/x\n",
        "--- \"a/d/\\170\"\n+++ \"b/d/\\170\"\n",
    ] {
        case(&format!("{header}{HUNK}"), &["update d/x @1 =x -old +new"]);
    }
    case(
        &format!("Change `d/x.rs`:\n\n```diff\n{HUNK}```\n"),
        &["update d/x.rs @1 =x -old +new"],
    );
    // A sentence may mention another file.
    case(
        &format!("The test is in `b.rs`. The fix:\n\n```diff\n--- a/d/x\n+++ b/d/x\n{HUNK}```\n"),
        &["update d/x @1 =x -old +new"],
    );
    // It says more than a short or made-up name does.
    for names in ["--- a/x.rs\n+++ b/x.rs\n", "--- original\n+++ modified\n"] {
        case(
            &format!("Change `d/x.rs`:\n\n```diff\n{names}{HUNK}```\n"),
            &["update d/x.rs @1 =x -old +new"],
        );
    }
    case(
        &format!("```diff d/x.rs\n{HUNK}```\n"),
        &["update d/x.rs @1 =x -old +new"],
    );
}

#[test]
fn in_a_fence_the_line_over_a_hunk_may_be_missing() {
    let bare = "--- a/x\n+++ b/x\n x\n\n-old\n+new\n";
    case(
        &format!("```diff\n{bare}```\n"),
        &["update x @? =x = -old +new"],
    );
    case(
        &format!("```diff\n{bare}\n--- a/y\n+++ b/y\n-1\n+2\n```\n"),
        &["update x @? =x = -old +new", "update y @? -1 +2"],
    );
    case(
        "```diff\n--- /dev/null\n+++ b/x\n+a\n+b\n```\n",
        &["add x \"a\\nb\\n\""],
    );
    let words = "the patch has no hunks for `x`";
    assert_eq!(message(bare), words);
    assert_eq!(
        message("```diff\n--- a/x\n+++ b/x\n only context\n```\n"),
        words
    );
}

#[test]
fn makes_and_removes_files() {
    case(
        "--- /dev/null\n+++ b/x\n@@ -0,0 +1,2 @@\n+a\n+b\n",
        &["add x \"a\\nb\\n\""],
    );
    case(
        "diff --git a/x b/x\nnew file mode 100755\nindex 0..1\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a\n\\ No newline at end of file\n",
        &["add x \"a\""],
    );
    case(
        "diff --git a/x b/x\nnew file mode 100644\nindex 0..e69de29\n",
        &["add x \"\""],
    );
    case(
        "--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n",
        &["delete x @1 -a"],
    );
    case(
        "diff --git a/x b/x\ndeleted file mode 100644\nindex 1..0\n",
        &["delete x"],
    );
    case(
        "--- a/x\t1982-09-17 00:00:00\n+++ b/x\t1970-01-01 00:00:00 +0000\n@@ -1 +0,0 @@\n-a\n",
        &["delete x @1 -a"],
    );
    case(
        "--- a/x\t1982-09-17 00:00:00\n+++ b/x\t1982-09-17 00:00:00\n@@ -1 +0,0 @@\n-a\n",
        &["update x @1 -a"],
    );
}

#[test]
fn moves_copies_and_changes_modes() {
    case(
        "diff --git a/x b/y\nsimilarity index 100%\nrename from x\nrename to y\n",
        &["update x > y"],
    );
    case(
        &format!(
            "diff --git a/x b/y\nsimilarity index 90%\ncopy from x\ncopy to y\n--- a/x\n+++ b/y\n{HUNK}"
        ),
        &["copy x > y @1 =x -old +new"],
    );
    case(
        "diff --git a/f b/f\nold mode 100644\nnew mode 100755\n\ndiff --git a/g b/g\nold mode 100755\nnew mode 100644\n",
        &["update f 100755", "update g 100644"],
    );
}

#[test]
fn right_counts_tell_contents_from_headers() {
    case(
        "--- a/x.sql\n+++ b/x.sql\n@@ -1,2 +1,2 @@\n--- a comment\n+++ b\n x\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n",
        &[
            "update x.sql @1 --- a comment +++ b =x",
            "update y @1 -a +b",
        ],
    );
}

#[test]
fn wrong_counts_give_way_to_the_marks() {
    for counts in ["-1,9 +1,9", "-1 +1", "-1,1 +1,2", "-7,3 +7,3", "-1,3 +1,3"] {
        let text = format!(
            "--- a/x\n+++ b/x\n@@ {counts} @@\n x\n-old\n+new\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n"
        );
        let shown: Vec<String> = changes(&text).iter().map(show).collect();
        assert!(shown[0].ends_with(" =x -old +new"), "{counts}: {shown:?}");
        assert_eq!(shown[1], "update y @1 -a +b", "{counts}");
    }
}

#[test]
fn a_new_file_stands_below_the_same_directory_as_the_others() {
    let changed = "--- p.orig/src/a\n+++ p/src/a\n@@ -1 +1 @@\n-a\n+b\n";
    let new = "--- /dev/null\n+++ p/src/b\n@@ -0,0 +1 @@\n+b\n";
    let expected = ["update src/a @1 -a +b", "add src/b \"b\\n\""];
    case(&format!("{changed}{new}"), &expected);
    case(&format!("{new}{changed}"), &[expected[1], expected[0]]);
    case(new, &["add p/src/b \"b\\n\""]);
    let kept = "--- p/c\n+++ p/c\n@@ -1 +1 @@\n-a\n+b\n";
    let expected = [expected[0], "update p/c @1 -a +b", "add p/src/b \"b\\n\""];
    case(&format!("{changed}{kept}{new}"), &expected);
}

#[test]
fn headers_without_numbers_are_enough() {
    case(
        "```diff\n--- a/x\n+++ b/x\n@@ ... @@\n-a\n+b\n\n@@\n c\n\n-d\n@@ def f():\n+e\n```\n",
        &["update x @? -a +b @? =c = -d @? +e"],
    );
}

#[test]
fn lost_spaces_are_context() {
    case(
        "--- a/x\n+++ b/x\n@@ -1,6 +1,5 @@\n\n\n A\n-B\n C\n\ndiff --git a/y b/y\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n",
        &["update x @1 = = =A -B =C =", "update y @1 -a +b"],
    );
    case(
        "```diff\n--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\nfn a() {\n-B\n+b\n}\n```",
        &["update x @1 =fn a() { -B +b =}"],
    );
}

#[test]
fn mail_and_prose_around_are_not_part_of_it() {
    let text = format!(
        "From 90ad11d5b2d437e82d4d992f72fb44c2227798b5 Mon Sep 17 00:00:00 2001\nFrom: A <a@b>\nSubject: [PATCH] Test\n\n---\n x | 2 +-\n\ndiff --git a/x b/x\n--- a/x\n+++ b/x\n{HUNK}-- \n2.30.0\n\nThat is all.\n"
    );
    case(&text, &["update x @1 =x -old +new"]);
    let found = scan(&text);
    assert_eq!(found[0].span, 7..14);
    case(
        &format!("```diff\n--- a/x\n+++ b/x\n{HUNK}```\n\n- a bullet\n"),
        &["update x @1 =x -old +new"],
    );
}

#[test]
fn separate_fences_are_separate_commands() {
    let one = format!("```diff\n--- a/x\n+++ b/x\n{HUNK}```\n");
    let found = scan(&format!("{one}\n{one}"));
    assert_eq!(found.len(), 2);
    assert_eq!(found[0].span, 0..8);
}

#[test]
fn what_is_wrong_refuses_all_of_it() {
    let good = format!("--- a/ok\n+++ b/ok\n{HUNK}");
    for (bad, part) in [
        (
            "--- ../h\n+++ ../h\n@@ -1 +1 @@\n-a\n+b\n",
            "leaves the workspace",
        ),
        (
            "--- /dev/null\n+++ /abs\n@@ -0,0 +1 @@\n+b\n",
            "not relative",
        ),
        (
            "diff --git a/f b/f\n--- b/f-blah\n+++ /dev/null\n@@ -1 +0,0 @@\n-1\n",
            "two files",
        ),
        ("diff --git a/f b/f\nold mode 10x644\n", "not a file mode"),
        (
            "diff --git a/f b/f\n--- a/f\n+++ b/f\nthis is garbage\n",
            "no hunks",
        ),
        (
            "diff --git a/f b/f\nnew file mode 120000\n--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+x\n",
            "symbolic link",
        ),
        (
            "--- a/f\n+++ b/f\n@@ -98765432109876543210 +98765432109876543210 @@\n-a\n+b\n",
            "wrong numbers",
        ),
        (
            "diff --git a/f b/f\nindex 1..2 100644\nGIT binary patch\nliteral 3\nabc\n",
            "binary",
        ),
        (
            "*** a/f\n--- b/f\n***************\n*** 1 ****\n! a\n--- 1 ----\n! b\n",
            "context diff",
        ),
        (
            "--- a/old.py\n+++ b/new.py\n@@ -1 +1 @@\n-a\n+b\n",
            "two files",
        ),
    ] {
        assert!(message(&format!("{good}{bad}")).contains(part), "{bad}");
    }
    assert!(message("@@ -1 +1 @@\n-a\n+b\n").contains("which file"));
}

#[test]
fn a_frame_around_the_reply_is_not_the_diff() {
    let text = format!(
        "``````\nText.\n--- a/x\n+++ b/x\n{HUNK}\nMore words.\n[READ_FILE path=\"y\"]\n[END 12345678#1]\n``````\n"
    );
    assert_eq!(scan(&text)[0].span, 2..8);
    let text = format!("``````\n--- a/x\n+++ b/x\n{HUNK}[DONE]\n--- a/y\n+++ b/y\n{HUNK}``````\n");
    assert_eq!(scan(&text).len(), 2);
}

#[test]
fn a_body_may_leave_the_header_to_the_command() {
    let path = RelPath::parse("src/x.rs").unwrap();
    for body in [
        "@@ -1 +1 @@\n-a\n+b",
        "@@\n-a\n+b",
        "--- a/src/x.rs\n+++ b/src/x.rs\n@@ -1 +1 @@\n-a\n+b",
        "--- x.rs\n+++ x.rs\n@@ -1 +1 @@\n-a\n+b",
        "--- original\n+++ original\n@@ -1 +1 @@\n-a\n+b",
        "--- old/file.txt\n+++ new/file.txt\n@@ -1 +1 @@\n-a\n+b",
        "--- a/y.rs\n+++ b/y.rs\n@@ -1 +1 @@\n-a\n+b",
    ] {
        let changes = parse_body(body, Some(&path)).unwrap();
        assert_eq!(changes[0].path(), &path, "{body}");
    }
    let two = "--- a/y.rs\n+++ b/y.rs\n@@ -1 +1 @@\n-a\n+b\n";
    assert!(parse_body(&format!("{two}{two}"), Some(&path)).is_err());
    assert!(parse_body("@@ -1 +1 @@\n-a\n+b", None).is_err());
    assert!(parse_body("3c\nx\n.\n", None).is_err());
    assert!(
        parse_body("1c1\n< a\n---\n> b\n", None)
            .unwrap_err()
            .message
            .contains("without context")
    );
}

#[test]
fn a_diff_cut_at_the_end_is_open() {
    assert!(scan("--- a/x\n+++ b/x\n@@ -1,4 +1,4 @@\n x\n-o")[0].is_open());
    assert!(scan(&format!("```diff\n--- a/x\n+++ b/x\n{HUNK}"))[0].is_open());
    assert!(!scan(&format!("--- a/x\n+++ b/x\n{HUNK}"))[0].is_open());
    assert!(!scan("--- a/x\n+++ b/x\n@@ -1,4 +1,4 @@\n x\n-o\n[END 12345678#1]\n")[0].is_open());
}

#[test]
fn a_fence_with_a_command_is_no_line_of_the_diff() {
    let text = format!("``` git apply <<EOF\n--- a/x\n+++ b/x\n{HUNK}```\n");
    assert_eq!(changes(&text).len(), 1);
}

#[test]
fn changes_below_a_full_hunk_belong_to_it() {
    let full = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n";
    let below = "\n\n d\n-e\n+f\n";
    let [FileChange::Update { hunks, .. }] =
        &parse_body(&format!("{full}{below}"), None).unwrap()[..]
    else {
        panic!();
    };
    assert_eq!(hunks[0].lines.len(), 8);
    for text in [
        format!("```diff\n{full}{below}```\n"),
        format!("{full}{below}\nWords.\n"),
    ] {
        let [FileChange::Update { hunks, .. }] = &changes(&text)[..] else {
            panic!();
        };
        assert_eq!(hunks[0].lines.len(), 8, "{text}");
    }
    for turned in ["\u{2014}e\n+f\n", "\n\u{2022}e\n"] {
        let trouble = parse_body(&format!("{full}{turned}"), None).unwrap_err();
        assert!(trouble.message.contains("another sign"), "{turned}");
    }
    let bare = scan(&format!("{full}\u{2014}e\n+f\n"));
    assert!(matches!(&bare[0].items[..], [CandidateItem::Problem(_)]));
    // A list of words outside of a code block is no change.
    let listed = changes(&format!("{full}\n- one\n- two\n"));
    let [FileChange::Update { hunks, .. }] = &listed[..] else {
        panic!();
    };
    assert_eq!(hunks[0].lines.len(), 3);
}

#[test]
fn a_last_line_without_a_mark_may_be_the_rest_of_an_added_one() {
    let diff = "```diff\n--- a/x\n+++ b/x\n@@ -1 +1,2 @@\n a\n+b c\n";
    for (rest, is_sound) in [
        ("```\n", true),
        ("d e\n```\n", false),
        ("\nd e\n```\n", true),
        ("-- \n2.39\n```\n", true),
        ("-- \ncgit v1.2.3\n\n```\n", true),
    ] {
        let text = format!("{diff}{rest}");
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(find(&lines, 1).unwrap().is_sound(), is_sound, "{text}");
    }
}
