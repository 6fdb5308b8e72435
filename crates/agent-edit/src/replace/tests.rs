use super::*;
use crate::LineChange;

fn lines(search: &str, replace: &str) -> Replacement {
    Replacement::lines(search, replace)
}

fn pattern(pattern: Pattern, search: &str, replace: &str) -> Replacement {
    Replacement {
        pattern,
        ..Replacement::lines(search, replace)
    }
}

fn text(search: &str, replace: &str) -> Replacement {
    pattern(Pattern::Text, search, replace)
}

fn regex(search: &str, replace: &str) -> Replacement {
    pattern(Pattern::Regex, search, replace)
}

#[track_caller]
fn case(before: &str, edit: Replacement, level: Level, after: &str) {
    let replaced = replace(before, &[edit]);
    assert_eq!(replaced.refusals, []);
    assert_eq!(replaced.edited.text, after);
    assert_eq!(replaced.levels, [Some(level)]);
}

#[track_caller]
fn refused(before: &str, edit: Replacement, message: &str) -> Refusal {
    let replaced = replace(before, &[edit]);
    assert_eq!(replaced.edited.text, before);
    assert_eq!(replaced.edited.changes, []);
    let (0, refusal) = replaced.refusals.into_iter().next().expect("a refusal") else {
        panic!("the refusal of another edit");
    };
    let line = refusal.line_for_model();
    assert!(line.contains(message), "{line}");
    refusal
}

#[test]
fn whole_lines_are_replaced() {
    case("a\nb\nc\n", lines("b", "x"), Level::Exact, "a\nx\nc\n");
    case("a\nb\nc\n", lines("b\n", ""), Level::Exact, "a\nc\n");
    case("a\nb", lines("b", "x\ny"), Level::Exact, "a\nx\ny");
    case("a\nb\n", lines("a", "\n"), Level::Exact, "\nb\n");
    case("ab\nb\n", lines("b", "x"), Level::Exact, "ab\nx\n");
}

#[test]
fn line_endings_are_those_of_the_file() {
    case(
        "a\r\nb\r\n",
        lines("a\nb", "a\nx\nb"),
        Level::Exact,
        "a\r\nx\r\nb\r\n",
    );
    case(
        "a\nb\n",
        lines("b\r\n", "x\r\ny\r\n"),
        Level::Exact,
        "a\nx\ny\n",
    );
    case(
        "a\r\nb\nc\r\n",
        lines("a\nb\nc", "a\nb\nx"),
        Level::Exact,
        "a\r\nb\nx\r\n",
    );
    case("a\r\nb\r\nc", text("a\nb", "x"), Level::Exact, "x\r\nc");
}

#[test]
fn a_lone_return_ends_a_line_where_nothing_else_does() {
    case(
        "aa\rbb\rcc\r",
        lines("bb", "xx\nyy"),
        Level::Exact,
        "aa\rxx\ryy\rcc\r",
    );
    case(
        "aa\rbb\rcc\r",
        lines("aa\nbb", "x"),
        Level::Exact,
        "x\rcc\r",
    );
    let mixed = "one\r\ntwo\rthree\nfour\r\n";
    let edit = lines("two\nthree", "2\n3");
    case(
        mixed,
        edit.clone(),
        Level::Exact,
        "one\r\n2\r\n3\r\nfour\r\n",
    );
    let replaced = replace(mixed, &[edit]);
    assert_eq!(replaced.edited.changes, [LineChange { old: 1..2, new: 2 }]);
}

#[test]
fn trailing_space_is_overlooked_and_kept() {
    case(
        "a  \nb\n",
        lines("a\nb", "a\nx"),
        Level::TrailingSpace,
        "a  \nx\n",
    );
    case(
        "a\nb\n",
        lines("a \nb", "a \nx"),
        Level::TrailingSpace,
        "a\nx\n",
    );
}

#[test]
fn the_replacement_is_indented_like_the_passage() {
    case(
        "    a\n      b\n",
        lines("a\n  b", "a\n  x\n    y"),
        Level::Indentation,
        "    a\n      x\n        y\n",
    );
    case(
        "a\n  b\n",
        lines("  a\n    b", "  x\n    b"),
        Level::Indentation,
        "x\n  b\n",
    );
    case(
        "\ta\n\t\tb\n",
        lines("    a\n        b", "    a\n        x"),
        Level::Indentation,
        "\ta\n\t\tx\n",
    );
}

#[test]
fn another_width_of_indentation_is_taken_over() {
    let before = "class A:\n  def f(self):\n    return 1\n\n  def h(self):\n    return 3\n";
    case(
        before,
        lines(
            "    def f(self):\n        return 1\n",
            "    def f(self):\n        if x:\n            return 2\n        return 1\n",
        ),
        Level::Indentation,
        "class A:\n  def f(self):\n    if x:\n      return 2\n    return 1\n\n  def h(self):\n    return 3\n",
    );
    // The new lines have the width of the file, only the quote has another one.
    case(
        "def f(a):\n    for x in a:\n        g(x)\n",
        lines(
            "def f(a):\n  for x in a:\n    g(x)\n",
            "def f(b):\n    if not b:\n        return\n    h(b)\n",
        ),
        Level::Indentation,
        "def f(b):\n    if not b:\n        return\n    h(b)\n",
    );
    refused(
        "class A:\n  def f(self):\n    if x:\n        return 1\n",
        lines(
            "    def f(self):\n        if x:\n            return 1\n",
            "    def f(self):\n        if y:\n            return 1\n",
        ),
        "indented",
    );
}

#[test]
fn fancy_punctuation_is_written_plain_where_the_file_has_it_plain() {
    case(
        "say(\"a\");\n",
        lines("say(\u{201c}a\u{201d});", "say(\u{201c}b\u{201d});"),
        Level::Whitespace,
        "say(\"b\");\n",
    );
    case(
        "say('a');\n",
        lines("say('a');", "say(\u{2018}b\u{2019});"),
        Level::Whitespace,
        "say('b');\n",
    );
    case(
        "say('a');\n",
        lines("say('a');", "say(\u{2018}a\u{2019});"),
        Level::Exact,
        "say(\u{2018}a\u{2019});\n",
    );
    case(
        "  f(1, 2)\n",
        lines("\u{a0}\u{a0}f(1, 2)", "\u{a0}\u{a0}f(3)"),
        Level::Whitespace,
        "  f(3)\n",
    );
}

#[test]
fn white_space_is_collapsed_as_a_last_resort() {
    case(
        "a   =  1\n",
        lines("a = 1", "a = 2"),
        Level::Whitespace,
        "a = 2\n",
    );
    let uneven = "a\n  b\n   c\n";
    case(
        uneven,
        lines("a\nb\nc", "a\nx\nc"),
        Level::UnevenIndentation,
        "a\nx\nc\n",
    );
    case(
        uneven,
        lines("a\nb\nc", "a\nc"),
        Level::Whitespace,
        "a\n   c\n",
    );
    case(
        "    a\n    b\n",
        lines("\n  a\n", "  x\n"),
        Level::Whitespace,
        "    x\n    b\n",
    );
}

#[test]
fn a_search_block_holds_whole_lines() {
    for (before, search, new) in [
        ("  background-color: red;\n", "color: red;", "color: blue;"),
        ("total = price * 1.5\n", "price * 1", "price * 2"),
        ("if (!ready)\n", "ready", "done"),
        ("version = \"1.10.2\"\n", "10.2", "10.3"),
        ("x = -1\n", "1", "2"),
        ("let x = self.value;\n", "value", "other"),
        ("x += 5\n", "= 5", "= 6"),
        ("if a == b {\n", "if a =", "if c ="),
        ("see lib/src/a\n", "src/a", "src/b"),
        ("use std::path;\n", "path", "fs"),
        ("</div>\n", "div", "p"),
        ("let a = f(1);\n", "f(1)", "f(2)"),
    ] {
        refused(before, lines(search, new), "not found");
    }
}

#[test]
fn blank_lines_that_the_file_lacks_do_not_glue_lines_together() {
    case(
        "import os\nx = 1\n",
        lines("\nx = 1", "y = 1"),
        Level::Whitespace,
        "import os\ny = 1\n",
    );
    case(
        "import os\ndef f():\n    return 1\n",
        lines("\ndef f():\n    return 1", "def f():\n    return 2"),
        Level::Whitespace,
        "import os\ndef f():\n    return 2\n",
    );
    case(
        "import os\nx = 1\n",
        lines("import os\n\n\n", "import os\nimport sys"),
        Level::Whitespace,
        "import os\nimport sys\nx = 1\n",
    );
    refused("foo\nbar\n", lines("foo\n\n\n", "foo\n\n"), "not found");
}

#[test]
fn escaped_newlines_at_the_ends_do_not_glue_lines_together() {
    refused("abc\n", text("\\n", "X"), "not found");
    refused("abc\ndef\n", text("\\ndef", "X"), "not found");
    case(
        "say(1)\nsay(2)\nsay(3)\n",
        text("say(1)\\nsay(2)\\n", "say(4)\n"),
        Level::Escapes,
        "say(4)\nsay(3)\n",
    );
}

#[test]
fn strings_are_replaced_within_and_across_lines() {
    case("a b c\n", text("b", "x"), Level::Exact, "a x c\n");
    case("ab\ncd\n", text("b\nc", "-"), Level::Exact, "a-d\n");
    case("a\nb\n", text("b\n", ""), Level::Exact, "a\n");
    case("a\nb\n", text("b\n", "b"), Level::Exact, "a\nb");
    case("a\nb", text("b", "b\n"), Level::Exact, "a\nb\n");
    case("a", text("a", ""), Level::Exact, "");
    case(
        "  a\n  b\n",
        text("a\nb\n", "x\ny\n"),
        Level::Indentation,
        "  x\n  y\n",
    );
    case(
        "cost\n",
        text("cost", "$1 $& \\1"),
        Level::Exact,
        "$1 $& \\1\n",
    );
    refused("a b a\n", text("a", "x"), "2 places");
    refused("aaa\n", text("aa", "b"), "2 places");
    let all = Replacement {
        all: true,
        ..text("aa", "b")
    };
    case("aaaa\n", all, Level::Exact, "bb\n");
}

#[test]
fn every_place_is_replaced_if_all_are_asked_for() {
    let all = |edit| Replacement { all: true, ..edit };
    case(
        "a b a\na\n",
        all(text("a", "xx")),
        Level::Exact,
        "xx b xx\nxx\n",
    );
    case("a\nb\na\n", all(text("a\n", "")), Level::Exact, "b\n");
    case("ba\na\n", all(text("a\n", "")), Level::Exact, "b");
    case(
        "a\nb\na\n",
        all(lines("a", "x\ny")),
        Level::Exact,
        "x\ny\nb\nx\ny\n",
    );
    case(
        "a1 b2\n",
        all(regex("([a-z])([0-9])", "$2$1")),
        Level::Exact,
        "1a 2b\n",
    );
}

#[test]
fn what_would_grow_without_bounds_is_refused() {
    let many = "a".repeat(10_000);
    let long = "b".repeat(10_000);
    let all = |edit| Replacement { all: true, ..edit };
    refused(&many, all(text("a", &long)), "too much");
    refused(&many, all(regex("a+", &"$0".repeat(10_000))), "too much");
    refused(&"a\n".repeat(10_000), all(lines("a", &long)), "too much");
}

#[test]
fn regular_expressions_know_lines_and_groups() {
    case(
        "a = 1\nb = 2\n",
        regex(r"^b = (\d+)$", "c = ${1}0 $1x \\1 $$ $& $9 \\n"),
        Level::Exact,
        "a = 1\nc = 20 2x 2 $ b = 2 $9 \\n\n",
    );
    case(
        "a\r\nb\r\n",
        regex("a$", "x\r\ny"),
        Level::Exact,
        "x\r\ny\r\nb\r\n",
    );
    case(
        "ab\n",
        regex("(?P<first>a)", "<${first}>"),
        Level::Exact,
        "<a>b\n",
    );
    refused(
        "a a\n",
        regex("a", "b"),
        "the regular expression matches 2 places",
    );
    refused("a\n", regex("b", "c"), "matches nothing");
    refused("a\n", regex("a|b", "a"), "changes nothing");
    let refusal = refused("a\n", regex("(", "c"), "not a regular expression");
    assert!(
        refusal.detail.contains("unclosed group"),
        "{}",
        refusal.detail
    );
    refused(
        "a\n",
        regex("(((a{100}){100}){100})", "c"),
        "not a regular expression",
    );
}

#[test]
fn a_layer_of_escapes_is_undone_if_the_replacement_has_none() {
    case(
        "say(\"a\")\n",
        text("say(\\\"a\\\")", "say(\"b\")"),
        Level::Escapes,
        "say(\"b\")\n",
    );
    refused(
        "say(\"a\")\n",
        text("say(\\\"a\\\")", "say(\\\"b\\\")"),
        "not found",
    );
}

#[test]
fn two_places_are_refused_with_their_lines() {
    refused(
        "a\nb\na\n",
        lines("a", "x"),
        "matches 2 places, at lines 1, 3",
    );
    refused("a \nb\na  \n", lines("a", "x"), "at lines 1, 3");
    let many = "a\n".repeat(100);
    refused(
        &many,
        lines("a", "x"),
        "100 places, at lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 and 88 more",
    );
}

#[test]
fn a_close_line_number_chooses() {
    let at = |line| Replacement {
        line: Some(line),
        ..lines("a", "x")
    };
    case(
        "a\nb\nb\nb\nb\na\n",
        at(5),
        Level::Exact,
        "a\nb\nb\nb\nb\nx\n",
    );
    refused("a\nb\nb\nb\na\n", at(3), "2 places");
    let first = lines("top", "one\ntwo\nthree\nfour\nfive\nsix\nseven");
    let replaced = replace("top\na\nb\nb\nb\nb\na\n", &[first, at(7)]);
    assert!(
        replaced.edited.text.ends_with("b\nx\n"),
        "{}",
        replaced.edited.text
    );
}

#[test]
fn a_quote_that_is_there_in_any_form_was_not_replaced_before() {
    let before = "def __show__(self):\n    print(self.items)\n    print(self.tax)\nend\n";
    let after = "def __show__(self):\n    print(self.items)\nend\n";
    let new = "def __show__(self):\n    print(self.items)\n";
    let escaped = "def \\_\\_show\\_\\_(self):\n    print(self.items)\n    print(self.tax)\n";
    case(before, lines(escaped, new), Level::Escapes, after);
    let numbered = |last: &str| Replacement {
        unnumbered: Some(Box::new(lines(
            &format!("def __show__(self):\n    print(self.items)\n    {last}\n"),
            new,
        ))),
        ..lines(
            &format!("1: def __show__(self):\n2:     print(self.items)\n3:     {last}\n"),
            new,
        )
    };
    case(
        before,
        numbered("print(self.tax)"),
        Level::LineNumbers,
        after,
    );
    refused(before, numbered("print(self.vat)"), "not found");
    let other = escaped.replace("tax", "vat");
    refused(before, lines(&other, new), "not found");
}

#[test]
fn new_lines_with_the_indentation_of_the_file_keep_it() {
    let before = "def load(path):\n    with open(path) as f:\n        return f.read()\n";
    let quote = "  def load(path):\n      with open(path) as f:\n          return f.read()\n";
    let new = "def load(path):\n    with open(path) as f:\n        return f.read().strip()\n";
    case(before, lines(quote, new), Level::Indentation, new);
    let inner = "    with open(path) as f:\n        return f.read()\n";
    case(before, lines(quote, inner), Level::Indentation, inner);
    let other = "def read(name):\n    return open(name).read()\n";
    case(before, lines(quote, other), Level::Indentation, other);
    let deeper = "  def read(name):\n      return open(name).read()\n";
    case(before, lines(quote, deeper), Level::Indentation, other);
}

#[test]
fn what_was_done_before_is_not_done_again() {
    let before = "fn renamed() {}\nother\n";
    case(
        before,
        lines("fn original() {}", "fn renamed() {}"),
        Level::AlreadyApplied,
        before,
    );
    case(
        before,
        text("fn original()", "fn renamed()"),
        Level::AlreadyApplied,
        before,
    );
    let removed = "first line\nlast line\n";
    case(
        removed,
        lines("first line\ngone\nlast line", "first line\nlast line"),
        Level::AlreadyApplied,
        removed,
    );
    refused(
        "first line\nx\n",
        lines("first line\ngone", "first line"),
        "not found",
    );
    refused("x = 2\n", lines("x = 1", "x = 2"), "not found");
}

#[test]
fn a_search_that_leaves_lines_out_is_refused() {
    let before = "fn f() {\n    one();\n    two();\n    three();\n}\n";
    for dots in ["...", "\u{2026}", "// ... existing code ..."] {
        let search = format!("fn f() {{\n    {dots}\n    three();");
        let new = format!("fn g() {{\n    {dots}\n    four();");
        refused(before, lines(&search, &new), "leaves lines out");
    }
}

#[test]
fn useless_and_lossy_edits_are_refused() {
    refused("a\n", lines("a", "a"), "changes nothing");
    refused("a\n", lines("a\n", "a"), "changes nothing");
    refused("a\n", lines("", "x"), "is empty and the file is not");
    refused(
        "a\nb\n",
        lines("a\nb", "x\n// ... existing code ..."),
        "placeholder",
    );
    refused("    a\n", lines("  a", "    a"), "not found");
    case("", lines("", "x"), Level::Exact, "x\n");
    case(
        "a\n// ...\n",
        lines("a", "x\n// ..."),
        Level::Exact,
        "x\n// ...\n// ...\n",
    );
}

#[test]
fn a_refusal_shows_the_nearest_passages() {
    let before = "fn one() {\n    call(1);\n}\n\nfn two() {\n    call(2);\n}\n";
    let refusal = refused(
        before,
        lines("fn two() {\n    call(3);\n}", "x"),
        "it begins with `fn two() {`",
    );
    assert!(
        refusal
            .detail
            .contains("lines 5-7:\n5| fn two() {\n6|     call(2);\n7| }"),
        "{}",
        refusal.detail
    );
}

#[test]
fn edits_follow_one_another_and_their_changes_add_up() {
    let replaced = replace(
        "a\nb\nc\nd\n",
        &[
            lines("b", "x\ny"),
            lines("nowhere", "z"),
            lines("y\nc", "z"),
            text("d", "e"),
        ],
    );
    assert_eq!(replaced.edited.text, "a\nx\nz\ne\n");
    assert_eq!(replaced.edited.changes, [LineChange { old: 1..4, new: 3 }]);
    assert_eq!(replaced.refusals.len(), 1);
    assert_eq!(replaced.refusals[0].0, 1);
}

#[test]
fn line_numbers_are_left_out_only_where_they_are_not_in_the_file() {
    let numbered = Replacement {
        unnumbered: Some(Box::new(Replacement {
            line: Some(1),
            ..lines("Alice", "Alicia")
        })),
        ..lines("1 | Alice", "1 | Alicia")
    };
    let table = "x\n1 | Alice\nAlice\n";
    case(
        table,
        numbered.clone(),
        Level::Exact,
        "x\n1 | Alicia\nAlice\n",
    );
    case(
        "Alice\nBob\n",
        numbered.clone(),
        Level::LineNumbers,
        "Alicia\nBob\n",
    );
    refused("x\n1 | Alicia\nAlice\n", numbered.clone(), "was not found");
    refused("x\nBob\n", numbered, "begins with `Alice`");
}

#[test]
fn a_blank_line_at_the_end_is_a_line() {
    let before = "a\nx = 1\n\nb\n";
    case(
        before,
        lines("x = 1\n\n", "x = 2\n"),
        Level::Exact,
        "a\nx = 2\nb\n",
    );
    case(
        "a\nx = 1\nb\n",
        lines("x = 1\n", "x = 1\n\n"),
        Level::Exact,
        "a\nx = 1\n\nb\n",
    );
    case(
        "x = 1\nb\nx = 1\n\nc\n",
        lines("x = 1\n\n", "x = 2\n\n"),
        Level::Exact,
        "x = 1\nb\nx = 2\n\nc\n",
    );
    case(before, lines("x = 1\n\nb\n", "\n"), Level::Exact, "a\n\n");
    case(
        "first value = 1  \n\nb\n",
        lines("first value = 1\n\n", "first value = 1\n"),
        Level::TrailingSpace,
        "first value = 1  \nb\n",
    );
}

#[test]
fn a_blank_end_that_the_file_lacks_is_left_out_of_both_texts() {
    let before = "a\nx = 1\nb\n";
    case(
        before,
        lines("x = 1\n\n", "x = 2\n\n"),
        Level::Whitespace,
        "a\nx = 2\nb\n",
    );
    case(
        before,
        lines("\nx = 1\n", "\nx = 2\n\n"),
        Level::Whitespace,
        "a\nx = 2\n\nb\n",
    );
    refused(before, lines("\nx = 1\n", "x = 1\n\n"), "not found");
    refused(before, lines("x = 1\n\n", "x = 1\n"), "not found");
    case(
        "fn renamed() {}\nother\n",
        lines("fn original() {}\n\n", "fn renamed() {}\n\n"),
        Level::AlreadyApplied,
        "fn renamed() {}\nother\n",
    );
}

#[test]
fn very_many_new_lines_are_looked_through_once() {
    const LINES: usize = 100_000;
    let begun = std::time::Instant::now();
    let many = "x\n".repeat(LINES);
    let at = |line, edit| Replacement { line, ..edit };
    let edits = [
        lines("alpha\n", &many),
        lines("x\n", "y\n"),
        text("x", "y"),
        at(Some(2), lines("x\n", "y\n")),
        at(Some(2), text("x", "y")),
    ];
    let replaced = replace("alpha\nomega\n", &edits);
    assert_eq!(replaced.refusals.len(), 4);
    let took = begun.elapsed();
    assert!(took.as_secs() < 20, "{took:?}");
}

#[test]
fn lines_within_brackets_may_be_indented_in_any_way() {
    case(
        "def f():\n    a = foo(1,\n            2,\n          3)\n    return a\n",
        lines(
            "a = foo(1,\n    2,\n    3)\nreturn a\n",
            "a = bar(1,\n    2,\n    4)\nreturn a + 1\n",
        ),
        Level::Whitespace,
        "def f():\n    a = bar(1,\n            2,\n        4)\n    return a + 1\n",
    );
    let text = "def f():\n    a(\"(\")\n      # odd\n    b()\n    return a\n";
    refused(
        text,
        lines(
            "a(\"(\")\n# odd\nb()\nreturn a\n",
            "a(\"(\")\n# odd\nc()\nreturn a\n",
        ),
        "indented",
    );
}

#[test]
fn the_file_tells_whether_indentation_matters() {
    let edit = || lines("a\nb\nc\n", "a\nx\nc\n");
    refused("if y:\n  a\n    b\n   c\n", edit(), "indented");
    refused("key:\n  a\n    b\n   c\n", edit(), "indented");
    case(
        "switch (y) {\ncase 1:\n  a\n    b\n   c\n}\n",
        edit(),
        Level::UnevenIndentation,
        "switch (y) {\ncase 1:\na\nx\nc\n}\n",
    );
}

#[test]
fn a_passage_that_an_earlier_edit_changed_is_not_looked_for_elsewhere() {
    let before = "for a {\n    if found {\n        stop\n    }\n}\nfor b {\n  if found {\n    stop\n  }\n}\n";
    let edits = [
        lines(
            "for a {\n    if found {\n",
            "for a {\n    if found && first {\n",
        ),
        lines(
            "    if found {\n        stop\n",
            "    if found {\n        go\n",
        ),
    ];
    let replaced = replace(before, &edits);
    assert_eq!(replaced.levels, [Some(Level::Exact), None]);
    let (position, refusal) = &replaced.refusals[0];
    assert_eq!(*position, 1);
    assert!(
        refusal
            .message
            .contains("line 2 of the file as it was, which an earlier edit"),
        "{}",
        refusal.message
    );
    let twice = [edits[0].clone(), edits[0].clone()];
    let levels = replace(before, &twice).levels;
    assert_eq!(levels, [Some(Level::Exact), Some(Level::AlreadyApplied)]);
}

#[test]
fn a_passage_is_not_unique_because_an_earlier_edit_changed_another_one() {
    let before = "one\nsame\ntwo\nsame\n";
    let first = lines("one\nsame\n", "one\nother\n");
    let second = lines("same\n", "last\n");
    let replaced = replace(before, &[first.clone(), second.clone()]);
    assert_eq!(replaced.edited.text, "one\nother\ntwo\nsame\n");
    assert!(
        replaced.refusals[0]
            .1
            .message
            .contains("2 places, at lines 2, 4")
    );
    let stated = Replacement {
        line: Some(4),
        ..second.clone()
    };
    let replaced = replace(before, &[first.clone(), stated]);
    assert_eq!(replaced.edited.text, "one\nother\ntwo\nlast\n");
    // What an earlier edit wrote may be quoted, also where it is like what was there before.
    let indented = [
        lines("one\nsame\n", "  one\n  same\n"),
        lines("  one\n", "  two\n"),
    ];
    let replaced = replace(before, &indented);
    assert_eq!(replaced.levels, [Some(Level::Exact); 2]);
    let third = lines("other\ntwo\n", "third\n");
    let replaced = replace(before, &[first, third]);
    assert_eq!(replaced.edited.text, "one\nthird\nsame\n");
}

#[test]
fn a_replacement_that_is_indented_already_is_not_indented_again() {
    let before = "def f(x):\n    if x:\n        return 1\n    return 2\n";
    case(
        before,
        lines("return 1\n", "        return 3\n"),
        Level::Indentation,
        "def f(x):\n    if x:\n        return 3\n    return 2\n",
    );
    case(
        before,
        lines("return 1\n", "if y:\n        return 3\n"),
        Level::Indentation,
        "def f(x):\n    if x:\n        if y:\n                return 3\n    return 2\n",
    );
}

#[test]
fn dots_in_the_place_of_lines_are_not_written() {
    let file = "def f():\n    a = 1\n    b = 2\n    return a\n";
    refused(
        file,
        lines(file, "def f():\n    a = 7\n    ...\n    return a\n"),
        "...",
    );
    refused(
        file,
        lines("    a = 1\n", "    a = 7\n    \u{2026}\n"),
        "\u{2026}",
    );
    case(
        "class A:\n    pass\n",
        lines("    pass\n", "    def f(self):\n        ...\n"),
        Level::Exact,
        "class A:\n    def f(self):\n        ...\n",
    );
    let prompt = ">>> for a in b:\n...     c(a)\n...\n";
    case("x\n", lines("x\n", prompt), Level::Exact, prompt);
}

#[test]
fn the_same_block_twice_is_one_change() {
    let edit = lines("a\n", "a\nb\n");
    let replaced = replace("a\n", &[edit.clone(), edit]);
    assert_eq!(replaced.edited.text, "a\nb\n");
    assert_eq!(
        replaced.levels,
        [Some(Level::Exact), Some(Level::AlreadyApplied)]
    );
}

#[test]
fn indentation_that_a_page_collapsed_is_not_written() {
    let file = "fn a() {\n    one();\n    if x {\n        two();\n    }\n}\n";
    refused(
        file,
        lines(
            " one();\n if x {\n two();\n }\n",
            " one();\n if y {\n three();\n }\n",
        ),
        "indented",
    );
    refused(
        file,
        lines(" one();\n", " if y {\n one();\n }\n"),
        "indented",
    );
    case(
        file,
        lines(" one();\n", " three();\n"),
        Level::Indentation,
        &file.replace("one", "three"),
    );
    // Only that of the new text.
    refused(
        file,
        lines("    one();\n    if x {\n", " zero();\n if x {\n"),
        "indented",
    );
    let comment = lines("fn a() {\n    one();\n", "/**\n * One.\n */\nfn a() {\n");
    assert!(replace(file, &[comment]).refusals.is_empty());
}

#[test]
fn a_remark_of_any_language_does_not_stand_for_lines_of_an_edit() {
    let file = "def f():\n    a()\n    b()\n    c()\n\n\ndef g():\n    return 1\n\n\nf()\n";
    for (search, new) in [
        (
            "def f():\n    a()\n    b()\n    c()\n",
            "def f(x):\n    a(x)\n    # der Rest bleibt gleich\n",
        ),
        (
            "    a()\n    b()\n    c()\n",
            "    a(1)\n    # ... \u{5176}\u{4f59}\u{4e0d}\u{53d8}\n",
        ),
        (
            "    c()\n\n\ndef g():\n    return 1\n\n\nf()\n",
            "    d()\n\n\n# \u{5176}\u{4f59}\u{4e0d}\u{53d8}\n\n\nf()\n",
        ),
    ] {
        refused(file, lines(search, new), "placeholder");
    }
    for new in [
        "def f():\n    # fertig\n    c()\n",
        "# f is in another file\n",
        "def f():\n    # b and c were removed\n",
    ] {
        let edit = lines("def f():\n    a()\n    b()\n    c()\n", new);
        assert!(replace(file, &[edit]).refusals.is_empty(), "{new}");
    }
}

#[test]
fn lines_that_replace_the_text_of_an_indented_line_keep_their_block() {
    let before = "def f():\n    x = 1\n    return x\n";
    case(
        before,
        text("return x", "if x > 1:\n    return 0\n\nreturn x"),
        Level::Indentation,
        "def f():\n    x = 1\n    if x > 1:\n        return 0\n\n    return x\n",
    );
    case(
        before,
        text("return x", "    if x > 1:\n        return 0\n    return x"),
        Level::Indentation,
        "def f():\n    x = 1\n    if x > 1:\n        return 0\n    return x\n",
    );
    case(
        before,
        text("x = 1", "x = 2\n    y = 3"),
        Level::Exact,
        "def f():\n    x = 2\n    y = 3\n    return x\n",
    );
    let every = Replacement {
        all: true,
        ..text("f(a)", "if a:\n  f(a)")
    };
    case(
        "b:\n  f(a)\nc:\n    f(a)\n",
        every,
        Level::Indentation,
        "b:\n  if a:\n    f(a)\nc:\n    if a:\n      f(a)\n",
    );
    let yaml = "web:\n  image: x\n  port: 80\ndb:\n  image: y\n";
    refused(
        yaml,
        text("port: 80", "port: 80\nrestart: always"),
        "indented less than the line that they replace",
    );
    // Between braces it only looks odd.
    case(
        "f() {\n  a();\n}\n",
        text("a();", "a();\nb();"),
        Level::UnevenIndentation,
        "f() {\n  a();\nb();\n}\n",
    );
}
