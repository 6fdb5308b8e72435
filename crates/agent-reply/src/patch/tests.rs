use super::*;
use crate::tests::dialects;
use agent_protocol::{Hunk, HunkLine};

fn scan(text: &str) -> Vec<BlockCandidate> {
    let mut ends = Ends::default();
    dialects::scan(text, |lines, at| find(lines, at, &mut ends))
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

#[track_caller]
fn message(text: &str) -> String {
    match scan(text).remove(0).items.remove(0) {
        CandidateItem::Problem(trouble) => trouble.message,
        other @ CandidateItem::Command(_) => panic!("{other:?}"),
    }
}

fn update(path: &str, hunks: Vec<Hunk>) -> FileChange {
    FileChange::Update {
        path: RelPath::parse(path).unwrap(),
        move_to: None,
        copy: false,
        overwrite: false,
        mode: None,
        hunks,
    }
}

fn hunk(lines: &[&str]) -> Hunk {
    let lines = lines
        .iter()
        .map(|line| match line.split_at(1) {
            ("+", text) => HunkLine::Add(text.to_owned()),
            ("-", text) => HunkLine::Remove(text.to_owned()),
            (_, text) => HunkLine::Keep(text.to_owned()),
        })
        .collect();
    Hunk {
        lines,
        ..Hunk::default()
    }
}

const FILES: &str = "*** Update File: a.rs\n@@\n x\n-old\n+new\n";

#[test]
fn the_content_of_a_new_file_may_stand_in_a_code_block() {
    let added = |text: &str| match &changes(text)[0] {
        FileChange::Add { content, .. } => content.clone(),
        other => panic!("{other:?}"),
    };
    let block = "*** Add File: a.py\n```python\nx = 1\n\n+y\n```\n";
    assert_eq!(added(block), "x = 1\n\n+y\n");
    assert_eq!(added(&block.replace("python", "")), "x = 1\n\n+y\n");
    let marked = block.replace("x = 1", "+x = 1");
    assert_eq!(added(&marked), "x = 1\n\ny\n");
    let whole = format!("*** Begin Patch\n{block}*** End Patch\n");
    assert_eq!(added(&whole), "x = 1\n\n+y\n");
    let two = format!("{block}{}", block.replace("a.py", "b.py"));
    assert_eq!(changes(&two).len(), 2);
    let around = "```\n*** Add File: a.py\n```\nand\n```\nno\n```\n";
    assert_eq!(added(around), "");
}

#[test]
fn reads_every_kind_of_file() {
    let text = "*** Begin Patch\n*** Add File: new.txt\n+one\n+\n+two\n*** Delete File: gone.txt\n*** Update File: a.rs\n*** Move to: b.rs\n@@ fn main() {\n@@ inner\n x\n-old\n+new\n@@\n+end\n*** End of File\n*** End Patch";
    let mut first = hunk(&[" x", "-old", "+new"]);
    first.anchors = vec!["fn main() {".to_owned(), "inner".to_owned()];
    let mut second = hunk(&["+end"]);
    second.at_end = true;
    assert_eq!(
        changes(text),
        vec![
            FileChange::Add {
                path: RelPath::parse("new.txt").unwrap(),
                content: "one\n\ntwo\n".to_owned(),
                mode: None,
                overwrite: true,
            },
            FileChange::Delete {
                path: RelPath::parse("gone.txt").unwrap(),
                hunks: Vec::new(),
            },
            FileChange::Update {
                path: RelPath::parse("a.rs").unwrap(),
                move_to: Some(RelPath::parse("b.rs").unwrap()),
                copy: false,
                overwrite: true,
                mode: None,
                hunks: vec![first, second],
            },
        ]
    );
}

#[test]
fn the_names_of_a_diff_are_no_lines_of_a_hunk() {
    let patch = |names: &str| {
        format!(
            "*** Begin Patch\n*** Update File: d/a.rs\n{names}@@\n x\n-old\n+new\n*** End Patch\n"
        )
    };
    let expected = vec![update("d/a.rs", vec![hunk(&[" x", "-old", "+new"])])];
    for names in [
        "--- a/d/a.rs\n+++ b/d/a.rs\n",
        "--- d/a.rs\t2020-01-01\n+++ d/a.rs\t2020-01-02\n",
    ] {
        assert_eq!(changes(&patch(names)), expected);
    }
    let mut with_change = expected.clone();
    if let FileChange::Update { hunks, .. } = &mut with_change[0] {
        hunks.insert(0, hunk(&["--- total", "+++ total"]));
    }
    assert_eq!(changes(&patch("--- total\n+++ total\n")), with_change);
}

#[test]
fn stands_in_many_frames() {
    for (before, after) in [
        ("*** Begin Patch\n", "*** End Patch\n"),
        ("Here:\n\n*** Begin Patch\n", "*** End Patch\n\nDone.\n"),
        ("```\n*** Begin Patch\n", "*** End Patch\n```\n"),
        ("```diff\n*** Begin Patch ***\n", "*** End Patch ***\n```\n"),
        ("***Begin Patch\n", "***End Patch"),
        (" *** Begin Patch \n", " *** End Patch "),
        (
            "apply_patch <<'EOF'\n*** Begin Patch\n",
            "*** End Patch\nEOF\n",
        ),
        (
            "```bash\napply_patch << EOF\n*** Begin Patch\n",
            "*** End Patch\nEOF\n```\n",
        ),
        ("*** Begin Patch\n", "\nThat is all.\n"),
        ("```\n*** Begin Patch\n", "```\nThat is all.\n"),
        ("", "That is all.\n"),
        ("", "*** End Patch\n"),
    ] {
        assert_eq!(
            changes(&format!("{before}{FILES}{after}")),
            vec![update("a.rs", vec![hunk(&[" x", "-old", "+new"])])],
            "{before}...{after}"
        );
    }
}

#[test]
fn the_frame_belongs_to_the_patch() {
    let found = scan(&format!(
        "Text.\n```bash\napply_patch <<'EOF'\n*** Begin Patch\n{FILES}*** End Patch\nEOF\n```\nMore.\n"
    ));
    assert_eq!(found[0].span, 1..12);
    assert!(!found[0].is_open());
}

#[test]
fn a_heredoc_may_go_elsewhere_first() {
    let text =
        format!("cd sub/dir && apply_patch <<'EOF'\n*** Begin Patch\n{FILES}*** End Patch\nEOF\n");
    assert_eq!(changes(&text)[0].path().as_str(), "sub/dir/a.rs");
    let text =
        format!("cd /tmp && apply_patch <<'EOF'\n*** Begin Patch\n{FILES}*** End Patch\nEOF\n");
    assert!(message(&text).contains("not relative"));
}

#[test]
fn a_lost_space_is_forgiven_before_an_end_line() {
    let text =
        "*** Begin Patch\n*** Update File: a.rs\n@@\nfn a() {\n\n-old\n+new\n}\n\n*** End Patch";
    assert_eq!(
        changes(text),
        vec![update(
            "a.rs",
            vec![hunk(&[" fn a() {", " ", "-old", "+new", " }"])]
        )]
    );
}

#[test]
fn an_at_line_above_another_one_is_no_hunk() {
    let text = "*** Begin Patch\n*** Update File: a.rs\n@@\n\n@@ fn x()\n@@\n-old\n+new\n\n@@\n-b\n*** End Patch";
    let mut first = hunk(&["-old", "+new"]);
    first.anchors = vec!["fn x()".to_owned()];
    let hunks = vec![first, hunk(&["-b"])];
    assert_eq!(changes(text), [update("a.rs", hunks)]);
}

#[test]
fn directives_behind_a_space_are_context() {
    let text =
        "*** Begin Patch\n  *** Update File: a.md\n@@\n *** Update File: b\n-x\n+y\n*** End Patch";
    assert_eq!(
        changes(text),
        vec![update(
            "a.md",
            vec![hunk(&[" *** Update File: b", "-x", "+y"])]
        )]
    );
}

#[test]
fn what_is_wrong_refuses_the_whole_patch() {
    let frame =
        |body: &str| format!("*** Begin Patch\n*** Delete File: ok.txt\n{body}*** End Patch\n");
    assert!(message("*** Begin Patch\n*** End Patch").contains("changes no file"));
    assert!(message(&frame("*** Update File: a.rs\n")).contains("no lines to change"));
    assert!(message(&frame("*** Update File: a.rs\n@@\n")).contains("no lines to change"));
    assert!(message(&frame("*** Frobnicate File: foo\n")).contains("belongs to no file"));
    assert!(message(&frame("*** Add File: ../x\n+a\n")).contains("leaves the workspace"));
    assert!(message(&frame("*** Add File: x\n+a\nb\n")).contains("does not begin with `+`"));
    assert!(
        message(&frame("*** Update File: a\n*** Move to: /x\n@@\n-a\n+b\n"))
            .contains("not relative")
    );
}

#[test]
fn a_new_file_without_any_marks_is_clear() {
    let text = "*** Begin Patch\n*** Add File: x\na\n\n  b\n*** End Patch\n";
    assert!(
        matches!(&changes(text)[0], FileChange::Add { content, .. } if content == "a\n\n  b\n")
    );
}

#[test]
fn a_patch_cut_at_the_end_is_open() {
    assert!(scan(&format!("*** Begin Patch\n{FILES}"))[0].is_open());
    assert!(scan(&format!("```\n*** Begin Patch\n{FILES}\n"))[0].is_open());
    assert!(!scan(&format!("```\n*** Begin Patch\n{FILES}```\n"))[0].is_open());
    assert!(!scan(&format!("*** Begin Patch\n{FILES}*** End Patch\n"))[0].is_open());
}

#[test]
fn no_search_for_an_end_goes_the_same_way_again() {
    for (before, unit, after) in [
        ("", "*** Delete File: a\n+x\n", ""),
        ("", "*** Delete File: a\n+x\n", "x\n"),
        ("", "*** Delete File: a\n\n- x\n", ""),
        ("x\n", " *** Begin Patch\n", ""),
        ("x\n", " *** Begin Patch\nfoo\n", ""),
        ("", " *** Begin Patch\nfoo\n *** End Patch\n", ""),
        ("", "*** Begin Patch\nfoo\n", ""),
        ("", " *** Begin Patch\nfoo\n", "*** End Patch\n"),
    ] {
        crate::work::assert_linear(1_000, |size| {
            let text = format!("{before}{}{after}", unit.repeat(size));
            scan(&text);
            let _ = parse_body(&text);
        });
    }
}

#[test]
fn what_is_known_of_an_end_is_true_further_down() {
    let text = " *** Begin Patch\n*** Delete File: a\n *** End Patch\nx\n *** Begin Patch\n*** Delete File: b\n *** End Patch\ny\n";
    let paths: Vec<String> = scan(text)
        .iter()
        .map(|found| match &found.items[..] {
            [CandidateItem::Command(command)] => command.path().unwrap().to_string(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(paths, ["a", "b"]);
}

#[test]
fn a_body_may_hold_several_envelopes() {
    let one = format!("*** Begin Patch\n{FILES}*** End Patch\n");
    assert_eq!(parse_body(&format!("{one}\n{one}")).unwrap().len(), 2);
    assert_eq!(parse_body(FILES).unwrap().len(), 1);
    assert!(parse_body("nothing").is_err());
    assert!(is_envelope(&one));
    assert!(!is_envelope("--- a\n+++ b\n"));
}

#[test]
fn numbers_in_a_header_are_read_and_anchors_kept() {
    let text = "*** Begin Patch\n*** Update File: a.rs\n@@ -12,3 +12,4 @@ fn x()\n-a\n+b\n@@ def f(): @@\n-c\n+d\n*** End Patch";
    let FileChange::Update { hunks, .. } = &changes(text)[0] else {
        panic!()
    };
    assert_eq!(hunks[0].old_start, Some(12));
    assert_eq!(hunks[1].anchors, vec!["def f():"]);
}
