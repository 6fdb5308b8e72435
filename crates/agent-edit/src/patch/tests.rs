use super::*;
use crate::LineChange;

/// A hunk as it is written, without its header.
fn hunk(old_start: Option<u32>, lines: &str) -> Hunk {
    let lines = lines.split_terminator('\n').map(|line| {
        let (mark, text) = line.split_at(1);
        match mark {
            " " => HunkLine::Keep(text.to_owned()),
            "-" => HunkLine::Remove(text.to_owned()),
            _ => HunkLine::Add(text.to_owned()),
        }
    });
    Hunk {
        old_start,
        lines: lines.collect(),
        ..Hunk::default()
    }
}

#[track_caller]
fn case(before: &str, hunks: &[Hunk], level: Level, after: &str) {
    let edited = patch(before, hunks).unwrap();
    assert_eq!((edited.text.as_str(), edited.level), (after, level));
}

#[track_caller]
fn refused(before: &str, hunks: &[Hunk], message: &str) {
    let refusal = patch(before, hunks).unwrap_err();
    let line = refusal.line_for_model();
    assert!(line.contains(message), "{line}");
}

#[test]
fn the_stated_line_comes_first_then_the_nearest() {
    let before = "a\nx\nb\na\nx\nb\na\nx\nb\n";
    let at = |line| [hunk(Some(line), " a\n-x\n+y\n b\n")];
    case(before, &at(4), Level::Exact, "a\nx\nb\na\ny\nb\na\nx\nb\n");
    case(
        before,
        &at(6),
        Level::Nearest,
        "a\nx\nb\na\nx\nb\na\ny\nb\n",
    );
    refused(
        "x\n\n\n\nx\n\nx\n",
        &[hunk(Some(3), "-x\n")],
        "matches 3 places, at lines 1, 5, 7",
    );
    let between = "a\nx\n\na\nx\n";
    refused(
        between,
        &[hunk(None, " a\n-x\n")],
        "matches 2 places, at lines 1, 4",
    );
}

#[test]
fn only_changed_lines_are_reported() {
    let edited = patch("a\nb\nc\nd\n", &[hunk(Some(1), " a\n-b\n-c\n+x\n+c\n d\n")]).unwrap();
    assert_eq!(edited.changes, [LineChange { old: 1..2, new: 1 }]);
}

#[test]
fn drift_of_earlier_hunks_is_taken_into_account() {
    let before = "new\nnew\na\n1\nb\nx\n2\ny\nx\n2\ny\n";
    let hunks = [hunk(Some(1), " a\n-1\n b\n"), hunk(Some(4), " x\n-2\n y\n")];
    case(
        before,
        &hunks,
        Level::Nearest,
        "new\nnew\na\nb\nx\ny\nx\n2\ny\n",
    );
}

#[test]
fn all_hunks_or_none() {
    refused(
        "a\nb\n",
        &[hunk(Some(1), "-a\n+x\n"), hunk(Some(2), "-c\n+y\n")],
        "hunk 2 of 2 (line 2): its old text was not found",
    );
    refused("a\n", &[hunk(Some(1), " a\n")], "changes nothing");
    refused(
        "a\n",
        &[hunk(None, "-a\n+x\n"), hunk(None, "-a\n+y\n")],
        "hunk 2",
    );
}

#[test]
fn context_stays_as_the_file_has_it() {
    case(
        "a \nb\n",
        &[hunk(Some(1), " a\n-b\n+x\n")],
        Level::TrailingSpace,
        "a \nx\n",
    );
    case(
        "  a\n  b\n",
        &[hunk(None, " a\n-b\n+x\n")],
        Level::Indentation,
        "  a\n  x\n",
    );
    case(
        "a\r\nb\r\nc\n",
        &[hunk(None, " a\n-b\n+x\n+y\n c\n")],
        Level::Exact,
        "a\r\nx\r\ny\r\nc\n",
    );
}

#[test]
fn a_patch_with_other_line_ends_takes_those_of_the_file() {
    let crlf = [hunk(None, " a\r\n-b\r\n+x\r\n c\r\n")];
    let level = Level::TrailingSpace;
    case("a\nb\nc\n", &crlf, level, "a\nx\nc\n");
    case("a\r\nb\r\nc\r\n", &crlf, level, "a\r\nx\r\nc\r\n");
    let converts = [hunk(None, " a\n-b\n+b\r\n")];
    case("a\nb\n", &converts, Level::Exact, "a\nb\r\n");
}

#[test]
fn a_lone_return_ends_a_line_only_if_the_patch_says_so() {
    let before = "one\r\ntwo\rthree\nfour\r\n";
    let hunks = [hunk(None, " two\n-three\n+THREE\n four\n")];
    case(
        before,
        &hunks,
        Level::Exact,
        "one\r\ntwo\rTHREE\r\nfour\r\n",
    );
    let edited = patch(before, &hunks).unwrap();
    assert_eq!(edited.changes, [LineChange { old: 1..2, new: 1 }]);
    let hunks = [hunk(None, "-two\rthree\n+2\n")];
    case(before, &hunks, Level::Exact, "one\r\n2\nfour\r\n");
}

#[test]
fn two_lines_of_context_may_be_wrong() {
    let before = "one\ntwo\nthree\nfour\nfive\n";
    case(
        before,
        &[hunk(Some(1), " ONE\n two\n-three\n four\n FIVE\n")],
        Level::Fuzz,
        "one\ntwo\nfour\nfive\n",
    );
    refused(
        before,
        &[hunk(Some(1), " ONE\n TWO\n-three\n four\n FIVE\n")],
        "not found",
    );
    refused(
        before,
        &[hunk(Some(1), " one\n-TWO\n three\n")],
        "not found",
    );
}

#[test]
fn a_line_number_that_is_far_off_or_beyond_the_file_chooses_nothing() {
    let before = "def f():\n    a()\n        return 1\n\ndef g():\n    b()\n        return 1\n";
    for line in [8, 20, 200] {
        let hunks = [hunk(Some(line), "-        return 1\n+        return 2\n")];
        refused(before, &hunks, "matches 2 places, at lines 3, 7");
    }
    let far = format!("x\n{}x\n{}", "a\n".repeat(300), "a\n".repeat(700));
    refused(&far, &[hunk(Some(900), "-x\n+y\n")], "matches 2 places");
}

#[test]
fn some_context_must_be_right() {
    let before = "def b():\n    x = 1\n    return x\n";
    refused(
        before,
        &[hunk(
            Some(40),
            " def a():\n-    x = 1\n+    x = 2\n     print(x)\n",
        )],
        "not found",
    );
    refused(
        "fn f() {\n    g();\n}\n",
        &[hunk(Some(3), " foo();\n-}\n+};\n bar();\n")],
        "not found",
    );
    case("1\n", &[hunk(Some(1), "-1\n+2\n \n")], Level::Fuzz, "2\n");
    refused("a\n1\n", &[hunk(Some(1), "-1\n+2\n \n")], "not found");
    let far = format!("{}two\nthree\nfour\n", "a\n".repeat(500));
    refused(
        &far,
        &[hunk(Some(1), " ONE\n two\n-three\n four\n")],
        "not found",
    );
}

#[test]
fn anchors_that_stand_in_several_places_choose_none() {
    let before = "class A:\n    def run(self):\n        return 1\n\nclass B:\n    def run(self):\n        return 1\n";
    let under = |anchors: &[&str], lines: &str| {
        [Hunk {
            anchors: anchors.iter().map(|anchor| (*anchor).to_owned()).collect(),
            ..hunk(None, lines)
        }]
    };
    let change = "-        return 1\n+        return 2\n";
    refused(
        before,
        &under(&["def run(self):"], change),
        "matches 2 places",
    );
    refused(
        before,
        &under(&["def run(self):"], "+        log()\n"),
        "`def run(self):` stands at lines 2, 6",
    );
    let in_b = "class A:\n    def run(self):\n        return 1\n\nclass B:\n    def run(self):\n        return 2\n";
    case(
        before,
        &under(&["class B:", "def run(self):"], change),
        Level::Exact,
        in_b,
    );
    case(before, &under(&["class B:"], change), Level::Exact, in_b);
    let in_turn = [
        under(&["class A:", "def run(self):"], change)[0].clone(),
        under(&["def run(self):"], change)[0].clone(),
    ];
    let in_both = before.replace("return 1", "return 2");
    case(before, &in_turn, Level::Exact, &in_both);
}

#[test]
fn an_anchor_that_is_not_there_is_no_matter_of_indifference() {
    let under = |anchor: &str, lines: &str| {
        [Hunk {
            anchors: vec![anchor.to_owned()],
            ..hunk(None, lines)
        }]
    };
    let before = "class B:\n    x = 1\n    y = 2\n\nclass C:\n    z = 3\n";
    let change = "-    x = 1\n+    x = 2\n";
    refused(
        before,
        &under("class Missing:", change),
        "`class Missing:` was not found",
    );
    refused(before, &under("class C:", change), "not below `class C:`");
    let change = "-    x = 1\n+    x = 2\n     y = 2\n";
    let after = "class B:\n    x = 2\n    y = 2\n\nclass C:\n    z = 3\n";
    case(
        before,
        &under("class Missing:", change),
        Level::Elsewhere,
        after,
    );
    case(before, &under("class B:", change), Level::Exact, after);
}

#[test]
fn anchors_choose_the_block() {
    let before = "def f():\n    a()\n    return 1\n\ndef g():\n    a()\n    return 1\n\ndef h():\n    return 1\n";
    let under = |anchor: &str| {
        [Hunk {
            anchors: vec![anchor.to_owned()],
            ..hunk(None, "-    return 1\n+    return 2\n")
        }]
    };
    case(
        before,
        &under("def g():"),
        Level::Exact,
        "def f():\n    a()\n    return 1\n\ndef g():\n    a()\n    return 2\n\ndef h():\n    return 1\n",
    );
    case(
        before,
        &under("  def h():"),
        Level::Exact,
        "def f():\n    a()\n    return 1\n\ndef g():\n    a()\n    return 1\n\ndef h():\n    return 2\n",
    );
    refused(before, &under("def i():"), "3 places");
}

#[test]
fn hunks_without_numbers_go_down_the_file() {
    let before = "x\na\nx\n";
    case(
        before,
        &[hunk(None, "-a\n+b\n"), hunk(None, "-x\n+y\n")],
        Level::Exact,
        "x\nb\ny\n",
    );
    case(
        "a\nb\n",
        &[hunk(None, "-b\n+y\n"), hunk(None, "-a\n+x\n")],
        Level::Exact,
        "x\ny\n",
    );
}

#[test]
fn insertions_without_context_have_a_place() {
    case(
        "a\nb\n",
        &[hunk(Some(1), "+x\n")],
        Level::Exact,
        "a\nx\nb\n",
    );
    case(
        "a\nb\n",
        &[hunk(Some(0), "+x\n")],
        Level::Exact,
        "x\na\nb\n",
    );
    case("a\nb\n", &[hunk(None, "+x\n")], Level::Exact, "a\nb\nx\n");
    case("", &[hunk(Some(0), "+x\n")], Level::Exact, "x\n");
    refused("a\nb\n", &[hunk(Some(3), "+x\n")], "the file has 2 lines");
    let under = Hunk {
        anchors: vec!["a".to_owned()],
        ..hunk(None, "+x\n")
    };
    case("a\nb\n", &[under], Level::Exact, "a\nx\nb\n");
}

#[test]
fn the_end_of_the_file_is_as_the_hunk_says() {
    let end = Hunk {
        at_end: true,
        ..hunk(None, "-a\n+x\n")
    };
    case("a\nb\na\n", &[end], Level::Exact, "a\nb\nx\n");
    case("a", &[hunk(Some(1), "-a\n+x\n")], Level::Exact, "x");
    case("a", &[hunk(None, "-a\n+x\n")], Level::Exact, "x\n");
    let ended = Hunk {
        old_without_newline: true,
        ..hunk(Some(1), "-a\n+a\n")
    };
    case("a", &[ended], Level::Exact, "a\n");
    let unended = Hunk {
        new_without_newline: true,
        ..hunk(Some(1), "-a\n+x\n")
    };
    case("a\n", &[unended], Level::Exact, "x");
}

#[test]
fn a_patch_that_was_applied_is_a_success_without_a_change() {
    let hunks = [hunk(Some(1), " a\n-original line\n+changed line\n b\n")];
    case(
        "a\nchanged line\nb\n",
        &hunks,
        Level::AlreadyApplied,
        "a\nchanged line\nb\n",
    );
    let more = [hunks[0].clone(), hunk(Some(9), "-nowhere\n+else\n")];
    refused(
        "a\nchanged line\nb\n",
        &more,
        "hunk 2 of 2 (line 9): its old text was not found",
    );
}

#[test]
fn a_change_that_is_there_counts_before_fuzz() {
    // Without its first line the second hunk fits below its own new line.
    let hunks = [
        hunk(Some(1), " a();\n+new_one();\n b();\n"),
        hunk(Some(2), " b();\n+new_two();\n c();\n d();\n"),
    ];
    let after = "a();\nnew_one();\nb();\nnew_two();\nc();\nd();\n";
    case("a();\nb();\nc();\nd();\n", &hunks, Level::Exact, after);
    case(after, &hunks, Level::AlreadyApplied, after);
}

#[test]
fn a_place_that_is_only_near_to_its_number_is_told_at_every_level() {
    let before = "a\nx\nb\n\n\n\n\n\n\na\nx\nb\n";
    let padded = |line| [hunk(Some(line), " a \n-x \n+y\n b \n")];
    let first = before.replacen('x', "y", 1);
    case(before, &padded(1), Level::TrailingSpace, &first);
    case(before, &padded(2), Level::Nearest, &first);
}

#[test]
fn a_hunk_that_is_in_the_file_already_is_left_out() {
    let applied = |line| {
        hunk(
            Some(line),
            " a\n-original line\n+changed line\n+one more line\n b\n",
        )
    };
    let before = "a\nchanged line\none more line\nb\nx\ny\nx\ny\n";
    case(
        before,
        &[applied(1), hunk(Some(6), "-x\n+X\n")],
        Level::Nearest,
        "a\nchanged line\none more line\nb\nx\ny\nX\ny\n",
    );
    let later = format!("first\n{before}");
    case(
        &later,
        &[hunk(Some(1), "-first\n+1\n+2\n+3\n"), applied(2)],
        Level::PartlyApplied,
        &later.replace("first", "1\n2\n3"),
    );
    let both = "a\noriginal line\nb\n".repeat(2) + before;
    refused(&both, &[hunk(None, "-nowhere\n"), applied(90)], "not found");
    refused(&both, &[applied(90)], "matches 2 places, at lines 1, 4");
}

#[test]
fn a_hunk_that_only_adds_lines_adds_them_once() {
    let there = |before: &str, hunk| case(before, &[hunk], Level::AlreadyApplied, before);
    there("a\nb\n42\n", hunk(Some(1), " a\n b\n+42\n"));
    there("42\na\nb\n", hunk(Some(1), "+42\n a\n b\n"));
    there("a\nuse std::fmt;\nb\n", hunk(None, " a\n+use std::fmt;\n"));
    let wrong_context = "a\nb\nc\nanother line\n";
    let hunks = [hunk(Some(1), " x\n b\n c\n+another line\n")];
    refused(wrong_context, &hunks, "its old text was not found");
    // Lines that say little may be meant to be there twice.
    let brace = hunk(None, " go();\n+}\n");
    case("go();\n}\n", &[brace], Level::Exact, "go();\n}\n}\n");
    // Nor is a difference that repeats the lines beside it there already.
    let repeated = "a word\na word\n";
    let below = hunk(Some(2), "+a word\n+a word\n");
    case(repeated, &[below], Level::Exact, &repeated.repeat(2));
    let above = hunk(Some(1), "+a word\n a word\n");
    case(repeated, &[above], Level::Exact, "a word\na word\na word\n");
    let last = hunk(Some(2), " b\n+b\n");
    case("b\nb\n", &[last], Level::Exact, "b\nb\nb\n");
}

#[test]
fn hunks_do_not_cross() {
    let lines =
        |text: &str| -> Vec<String> { text.split(' ').map(|line| format!("{line}\n")).collect() };
    let before = lines("1 2 begin mid end 6 7 8 9 here 11 12").concat();
    let first = || hunk(Some(10), "-here\n+there\n");
    refused(
        &before,
        &[first(), hunk(Some(12), "-mid\n+middle\n")],
        "hunk 2 of 2 (line 12): its old text stands only at line 4, above a hunk that states an earlier line",
    );
    let after = before.replace("here", "there").replace("mid", "middle");
    let telling = hunk(Some(12), " begin\n-mid\n+middle\n end\n");
    case(
        &before,
        &[first(), telling.clone()],
        Level::Elsewhere,
        &after,
    );
    case(&before, &[telling, first()], Level::Exact, &after);
    let twice = lines("mid 2 3 here 5 6 7 mid").concat();
    case(
        &twice,
        &[
            hunk(Some(4), "-here\n+there\n"),
            hunk(Some(5), "-mid\n+m\n"),
        ],
        Level::Exact,
        &lines("mid 2 3 there 5 6 7 m").concat(),
    );
}

#[test]
fn insertions_by_number_are_not_believed_where_other_hunks_moved() {
    let before = "1\n2\n3\n4\n5\nN\nN\n6\n7\n8\n9\n10\n11\n12\n";
    let insertion = || hunk(Some(8), "+after eight\n");
    let change = |line, text: &str| hunk(Some(line), &format!("-{text}\n+changed {text}\n"));
    refused(
        before,
        &[insertion(), change(11, "11")],
        "hunk 1 of 2 (line 8): it inserts after a line by number, but the other hunks show",
    );
    refused(
        before,
        &[change(6, "6"), insertion()],
        "hunk 2 of 2 (line 8)",
    );
    case(
        before,
        &[change(6, "6"), insertion(), change(11, "11")],
        Level::Exact,
        "1\n2\n3\n4\n5\nN\nN\nchanged 6\n7\n8\nafter eight\n9\n10\nchanged 11\n12\n",
    );
    case(
        before,
        &[
            change(1, "1"),
            hunk(Some(2), "+after two\n"),
            change(4, "4"),
            change(9, "9"),
        ],
        Level::Exact,
        "changed 1\n2\nafter two\n3\nchanged 4\n5\nN\nN\n6\n7\n8\nchanged 9\n10\n11\n12\n",
    );
    let unquoted = Hunk {
        unquoted: 3,
        ..hunk(Some(1), "+import x\n")
    };
    refused(
        "a\nb\nc\n",
        &[unquoted],
        "counts old lines, but it shows none",
    );
}

#[test]
fn what_says_to_begin_or_to_end_the_file_does_so_or_it_is_told() {
    let first = [hunk(Some(1), "-a\n+c\n b\n")];
    case("a\nb\na\nb\n", &first, Level::Exact, "c\nb\na\nb\n");
    case(
        "h\n1\na\nb\n4\n",
        &first,
        Level::Elsewhere,
        "h\n1\nc\nb\n4\n",
    );
    refused(
        "h\na\nb\n1\n2\n3\n4\n5\n6\na\nb\n",
        &first,
        "matches 2 places, at lines 2, 10",
    );
    let last = [hunk(Some(2), " b\n b\n+x\n")];
    case(
        "a\na\nb\nb\nc\nb\nb\n",
        &last,
        Level::Nearest,
        "a\na\nb\nb\nc\nb\nb\nx\n",
    );
    case("a\na\na\nb\nb\n", &last, Level::Exact, "a\na\na\nb\nb\nx\n");
    case("a\na\nb\nb\nc\n", &last, Level::Exact, "a\na\nb\nb\nx\nc\n");
}

#[test]
fn below_an_anchor_is_more_than_its_block() {
    let under = |anchor: &str, lines: &str| {
        [Hunk {
            anchors: vec![anchor.to_owned()],
            ..hunk(None, lines)
        }]
    };
    let change = "-LIMIT = 10\n+LIMIT = 20\n";
    let before = "import os\n\ndef load():\n    return 1\n\nLIMIT = 10\n";
    let after = before.replace("10", "20");
    case(
        before,
        &under("def load():", change),
        Level::Elsewhere,
        &after,
    );
    let twice = format!("{before}\ndef save():\n    pass\n\nLIMIT = 10\n");
    let after = twice.replacen("10", "20", 1);
    case(
        &twice,
        &under("def load():", change),
        Level::Elsewhere,
        &after,
    );
    refused(&twice, &under("import os", change), "matches 2 places");
    let generic = "fn f<T>(t: T)\nwhere\n    T: X,\n{\n    go();\n}\n\nfn g() {\n    go();\n}\n";
    case(
        generic,
        &under("fn f<T>(t: T)", "-    go();\n+    stop();\n"),
        Level::Exact,
        &generic.replacen("go", "stop", 1),
    );
    let before = "def run():\n    a = 1\n\ndef other():\n    b = 2\n\ndef run():\n    c = 3\n";
    let hunks = [
        hunk(None, "-    b = 2\n+    b = 3\n"),
        under("def run():", "-    a = 1\n+    a = 2\n")[0].clone(),
    ];
    let after = before.replace("b = 2", "b = 3").replace("a = 1", "a = 2");
    case(before, &hunks, Level::Exact, &after);
}

#[test]
fn anchors_that_stand_on_very_many_lines_cost_no_more_than_others() {
    let quoted: Vec<String> = (0..300)
        .map(|number| format!("u{number}\nv{number}\n"))
        .collect();
    let text = "p\n  q\n".repeat(60) + &"x\n".repeat(20_000) + "p\n  x\n" + &quoted.concat();
    let hunks: Vec<Hunk> = (0..300)
        .map(|number| Hunk {
            anchors: vec!["p".to_owned(), "x".to_owned()],
            ..hunk(None, &format!(" u{number}\n-v{number}\n+w{number}\n"))
        })
        .collect();
    let begun = std::time::Instant::now();
    assert_eq!(patch(&text, &hunks).unwrap().text, text.replace('v', "w"));
    assert!(begun.elapsed().as_secs() < 5, "{:?}", begun.elapsed());
}

#[test]
fn a_deletion_describes_the_whole_file() {
    assert_eq!(
        check_patch_old("a\nb\n", &[hunk(Some(1), "-a\n-b\n")]),
        Ok(())
    );
    assert_eq!(check_patch_old("a\nb\n", &[]), Ok(()));
    assert!(check_patch_old("a\nb\nc\n", &[hunk(Some(1), "-a\n-b\n")]).is_err());
    assert!(check_patch_old("a\nb\n", &[hunk(Some(1), "-a\n-c\n")]).is_err());
}

#[test]
fn placeholders_are_not_written() {
    refused(
        "a\nb\n",
        &[hunk(Some(1), " a\n-b\n+# ... rest of the file ...\n")],
        "placeholder",
    );
}

/// Two functions that end alike, so that a hunk that loses its place finds another one.
const ALIKE: &str = "fn a() {\n    if x {\n        stop();\n    }\n\n    1\n}\n\nfn b() {\n    go();\n    }\n\n    1\n}\n";

#[test]
fn the_context_of_hunks_may_overlap() {
    let log = " fn a() {\n     if x {\n+        log();\n         stop();\n     }\n";
    let after = "         stop();\n     }\n+    after();\n \n     1\n }\n";
    let expected = ALIKE
        .replace(
            "        stop();\n    }\n",
            "        stop();\n    }\n    after();\n",
        )
        .replace("        stop();\n", "        log();\n        stop();\n");
    for numbers in [[Some(1), Some(3)], [None, None]] {
        let hunks = [hunk(numbers[0], log), hunk(numbers[1], after)];
        case(ALIKE, &hunks, Level::Exact, &expected);
        let [log, after] = hunks;
        case(ALIKE, &[after, log], Level::Exact, &expected);
    }
    let hunks = [hunk(Some(2), "+y\n b\n"), hunk(Some(1), " a\n+x\n")];
    case("a\nb\n", &hunks, Level::Exact, "a\nx\ny\nb\n");
    // A hunk may quote what another one removes.
    let hunks = [
        hunk(Some(1), "-one\n+ONE\n two\n"),
        hunk(Some(1), " one\n-two\n+TWO\n three\n"),
        hunk(Some(3), "+between\n three\n"),
    ];
    case(
        "one\ntwo\nthree\n",
        &hunks,
        Level::Exact,
        "ONE\nTWO\nbetween\nthree\n",
    );
}

#[test]
fn what_two_hunks_change_is_not_looked_for_elsewhere() {
    let both = [
        hunk(
            None,
            " fn a() {\n     if x {\n-        stop();\n+        log();\n",
        ),
        hunk(
            None,
            "     if x {\n-        stop();\n+        go();\n     }\n",
        ),
    ];
    refused(
        ALIKE,
        &both,
        "hunk 2 of 2: it fits line 2, where another hunk",
    );
    let inserted = [
        hunk(Some(1), " fn a() {\n+    first();\n     if x {\n"),
        hunk(Some(1), " fn a() {\n+    second();\n     if x {\n"),
    ];
    refused(ALIKE, &inserted, "hunk 2 of 2 (line 1): it fits line 1");
}

#[test]
fn fuzz_moves_no_hunk_above_the_one_before_it() {
    let before = "head\none\ntwo\nthree\nfour\ntail\n";
    let hunks = |first: &str| {
        [
            hunk(None, first),
            hunk(None, " other\n one\n-two\n+TWO\n three\n"),
        ]
    };
    case(
        before,
        &hunks("-head\n+HEAD\n"),
        Level::Fuzz,
        "HEAD\none\nTWO\nthree\nfour\ntail\n",
    );
    refused(
        before,
        &hunks("-tail\n+TAIL\n"),
        "hunk 2 of 2: its old text was not found",
    );
}

#[test]
fn a_line_that_lost_its_mark_is_no_context() {
    let before = "from a import b\nfrom c import d\n\nend\n";
    let damaged = hunk(
        Some(1),
        " \u{2022} from a import b\n+from a import x\n from c import d\n \n end\n",
    );
    refused(before, &[damaged], "was not found");
    let hunks = [
        hunk(
            Some(1),
            "-from a import b\n+from a import x\n from c import d\n",
        ),
        hunk(Some(3), " \n \u{2212}end\n"),
    ];
    refused(
        before,
        &hunks,
        "hunk 2 of 2 (line 3): its old text was not found",
    );
    let hunks = [hunks[0].clone(), hunk(Some(3), " \n end\n")];
    let after = before.replace("import b", "import x");
    case(before, &hunks, Level::Exact, &after);
}

#[test]
fn context_that_lost_its_blanks_leaves_new_lines_where_they_are() {
    let file = "fn a() {\n    one();\n    two();\n    three();\n}\n";
    let after = file.replace("two", "four");
    let lost = hunk(
        None,
        "    one();\n-    two();\n+    four();\n    three();\n",
    );
    case(file, &[lost], Level::Exact, &after);
    let inserted = hunk(Some(2), "    one();\n+    four();\n    two();\n");
    let after = file.replace("    two", "    four();\n    two");
    case(file, &[inserted], Level::Exact, &after);
    // In a file whose lines begin with one blank, at some lines only, and beside a deeper line.
    let text = "/* a\n * b\n */\n";
    let inserted = hunk(Some(1), " /* a\n+ * new\n * b\n */\n");
    let after = "/* a\n * new\n * b\n */\n";
    case(text, &[inserted], Level::Exact, after);
    let some = hunk(None, "     one();\n+    four();\n    two();\n");
    let after = file.replace("    two", "    four();\n    two");
    case(file, &[some], Level::Exact, &after);
    // New lines that are shifted as their context is were written so.
    let shifted = hunk(None, "    one();\n+   four();\n    two();\n");
    case(file, &[shifted], Level::Indentation, &after);
    // All of its indentation.
    let mut flat = hunk(None, "-    two();\n+    four();\n");
    flat.lines.insert(0, HunkLine::Keep("one();".to_owned()));
    flat.lines.push(HunkLine::Keep("three();".to_owned()));
    let after = file.replace("two", "four");
    case(file, &[flat], Level::Whitespace, &after);
}

#[test]
fn the_rest_of_a_wrapped_line_is_no_wrong_context() {
    let added = format!("+{}\n", "word ".repeat(10));
    let wrapped = hunk(
        Some(1),
        &format!(" a\n-b\n{added} and the rest of it\n c\n"),
    );
    refused("a\nb\nc\n", &[wrapped], "not found");
    let dots = hunk(Some(1), " a\n-b\n-c\n+  ...\n");
    refused("a\nb\nc\n", &[dots], "...");
}
