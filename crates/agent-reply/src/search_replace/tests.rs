use super::*;
use crate::tests::dialects;

fn path(text: &str) -> RelPath {
    RelPath::parse(text).unwrap()
}

fn scan(text: &str) -> Vec<BlockCandidate> {
    let mut inherited: Option<RelPath> = None;
    dialects::scan(text, |lines, at| {
        let found = find(lines, at, inherited.as_ref())?;
        if let CandidateItem::Command(command) = &found.items[0] {
            inherited = command.path().cloned();
        }
        Some(found)
    })
}

#[track_caller]
fn edits(text: &str) -> Vec<(String, String, String)> {
    scan(text)
        .into_iter()
        .map(|block| match block.items.into_iter().next().unwrap() {
            CandidateItem::Command(Command::EditFile {
                path,
                edit: Edit::Replace { mut edits },
            }) => {
                let edit = edits.remove(0);
                (path.to_string(), edit.search, edit.replace)
            }
            other => panic!("{other:?}"),
        })
        .collect()
}

#[track_caller]
fn case(text: &str, expected: &[(&str, &str, &str)]) {
    let found = edits(text);
    let found: Vec<(&str, &str, &str)> = found
        .iter()
        .map(|(path, search, replace)| (path.as_str(), search.as_str(), replace.as_str()))
        .collect();
    assert_eq!(found, expected);
}

#[track_caller]
fn message(text: &str) -> String {
    match scan(text).remove(0).items.remove(0) {
        CandidateItem::Problem(trouble) => trouble.message,
        other @ CandidateItem::Command(_) => panic!("{other:?}"),
    }
}

const BLOCK: &str = "<<<<<<< SEARCH\nold\n=======\nnew\n>>>>>>> REPLACE\n";

#[test]
fn the_name_may_stand_above_in_many_dresses() {
    for above in [
        "a/b.py\n",
        "a/b.py\n```python\n",
        "```python\na/b.py\n",
        "```python a/b.py\n",
        "```a/b.py\n",
        "### `a/b.py`\n\n```python\n",
        "**a/b.py**\n```\n",
        "File: a/b.py\n```\n",
        "# a/b.py\n",
        "Now change `a/b.py`:\n\n```python\n",
        " ```python\na/b.py\n```\n```python\n",
        "a/b.py\n<source>python\n",
    ] {
        case(
            &format!("Text.\n\n{above}{BLOCK}```\n"),
            &[("a/b.py", "old\n", "new\n")],
        );
    }
    case(
        "<<<<<<< SEARCH a/b.py\nold\n=======\nnew\n>>>>>>> REPLACE",
        &[("a/b.py", "old\n", "new\n")],
    );
    case(&format!("file1\n{BLOCK}"), &[("file1", "old\n", "new\n")]);
}

#[test]
fn the_fences_and_the_name_belong_to_the_block() {
    let found = scan(&format!("Text.\n\na.py\n```python\n{BLOCK}```\n\nMore.\n"));
    assert_eq!(found[0].span, 2..10);
    assert!(!found[0].is_open());
    let found = scan(&format!("```python\na.py\n{BLOCK}\n{BLOCK}```\nMore.\n"));
    assert_eq!(found[0].span, 0..7);
    assert_eq!(found[1].span, 8..14);
}

#[test]
fn a_block_without_a_name_inherits_it() {
    case(
        &format!("a.py\n{BLOCK}\n...\n\n{BLOCK}\nb.py\n{BLOCK}"),
        &[
            ("a.py", "old\n", "new\n"),
            ("a.py", "old\n", "new\n"),
            ("b.py", "old\n", "new\n"),
        ],
    );
}

#[test]
fn the_underline_of_a_heading_is_no_divider() {
    case(
        "a.rst\n<<<<<<< SEARCH\nTitle\n==========\n=======\nOther\n==========\n>>>>>>> REPLACE\n",
        &[("a.rst", "Title\n==========\n", "Other\n==========\n")],
    );
}

#[test]
fn without_any_name_it_is_a_problem() {
    assert!(message(&format!("Here is the change:\n\n```text\n{BLOCK}```")).contains("which file"));
    assert!(message(&format!("../x.py\n{BLOCK}")).contains("leaves the workspace"));
}

#[test]
fn markers_come_in_several_shapes() {
    for (head, divider, tail) in [
        ("------- SEARCH", "=======", "+++++++ REPLACE"),
        ("<<<<<<< ORIGINAL", "=======", ">>>>>>> UPDATED"),
        ("<<< SEARCH", "===", ">>> REPLACE"),
        ("<<<<<<<<< SEARCH>", "=========", ">>>>>>>>> REPLACE"),
        ("<<<<<<< SEARCH", "=====", ">>>>>> REPLACE"),
        (
            "<<<<<<<<<<<< SEARCH",
            "============",
            ">>>>>>>>>>>> REPLACE",
        ),
        ("------------ SEARCH", "=======", "++++++++++++ REPLACE"),
    ] {
        case(
            &format!("a.py\n{head}\nold\n{divider}\nnew\n{tail}\n"),
            &[("a.py", "old\n", "new\n")],
        );
    }
}

#[test]
fn empty_parts_are_empty_texts() {
    case(
        "a.py\n<<<<<<< SEARCH\n=======\nnew\n>>>>>>> REPLACE",
        &[("a.py", "", "new\n")],
    );
    case(
        "a.py\n<<<<<<< SEARCH\nold\n=======\n>>>>>>> REPLACE",
        &[("a.py", "old\n", "")],
    );
}

#[test]
fn a_blank_line_at_the_end_of_a_part_belongs_to_it() {
    case(
        "a.py\n<<<<<<< SEARCH\nold\n\n=======\nnew\n\n\n>>>>>>> REPLACE",
        &[("a.py", "old\n\n", "new\n\n\n")],
    );
    case(
        "a.py\n<<<<<<< SEARCH\nold\n=======\n\n>>>>>>> REPLACE",
        &[("a.py", "old\n", "\n")],
    );
    case(
        "a.py\n<<<<<<< SEARCH\n\n=======\nnew\n>>>>>>> REPLACE",
        &[("a.py", "", "new\n")],
    );
}

#[test]
fn a_new_file_needs_a_name_that_is_no_word() {
    let text = "Then:\n```\n<<<<<<< SEARCH\n=======\nhello\n>>>>>>> REPLACE\n```\n";
    assert!(message(text).contains("`Then`"));
    case(
        "Then:\n\nMakefile\n<<<<<<< SEARCH\n=======\nall:\n>>>>>>> REPLACE\n",
        &[("Makefile", "", "all:\n")],
    );
}

#[test]
fn fences_and_shorter_rules_inside_are_contents() {
    case(
        "a.md\n````\n<<<<<<< SEARCH\nTitle\n=====\n```\nx\n```\n=======\n```\ny\n```\n>>>>>>> REPLACE\n````",
        &[("a.md", "Title\n=====\n```\nx\n```\n", "```\ny\n```\n")],
    );
}

#[test]
fn escaped_markers_are_contents() {
    case(
        "a.md\n<<<<<<< SEARCH\n\\<<<<<<< HEAD\n\\=======\n\\>>>>>>> x\n=======\nnew\n>>>>>>> REPLACE",
        &[("a.md", "<<<<<<< HEAD\n=======\n>>>>>>> x\n", "new\n")],
    );
}

#[test]
fn an_uncertain_divider_is_never_guessed() {
    assert!(
        message("a.md\n<<<<<<< SEARCH\na\n=======\nb\n=======\nc\n>>>>>>> REPLACE")
            .contains("several")
    );
    assert!(message("a.md\n<<<<<<< SEARCH\na\n>>>>>>> REPLACE").contains("no `=======`"));
    case(
        "a.md\n<<<<<<< SEARCH\na\n=======\nb\n=======\n>>>>>>> REPLACE",
        &[("a.md", "a\n", "b\n")],
    );
}

#[test]
fn an_unfinished_block_ends_where_the_next_begins() {
    let found = scan(&format!(
        "a.py\n```\n<<<<<<< SEARCH\nold\n=======\nnew\n```\n\nb.py\n```\n{BLOCK}```\n"
    ));
    assert_eq!(found.len(), 2);
    assert!(matches!(found[0].items[0], CandidateItem::Problem { .. }));
    assert!(!found[0].is_open());
    assert!(
        matches!(&found[1].items[0], CandidateItem::Command(command) if command.path() == Some(&path("b.py")))
    );
}

#[test]
fn a_block_cut_at_the_end_is_open() {
    let found = scan("a.py\n```python\n<<<<<<< SEARCH\nold\n=======\nne");
    assert!(found[0].is_open());
    assert_eq!(found[0].span, 0..6);
    let found = scan("a.py\n<<<<<<< SEARCH\nold\n[END 12345678#1]\n");
    assert_eq!((found[0].is_open(), found[0].span.clone()), (false, 0..3));
    let found = scan("a.py\n```python\n<<<<<<< SEARCH\nold\n```\nThat is all.\n");
    assert!(!found[0].is_open());
    assert_eq!(found[0].span, 0..5);
}

#[test]
fn stated_lines_help_and_are_not_contents() {
    let body =
        "<<<<<<< SEARCH\n:start_line:12\n:end_line:13\n-------\nold\n=======\nnew\n>>>>>>> REPLACE";
    let edits = parse_body(body).unwrap().unwrap();
    assert_eq!(edits[0].line, Some(12));
    assert_eq!(edits[0].search, "old\n");
    let body = "<<<<<<< SEARCH\n 9 | a\n10 |   b\n11 |\n=======\nnew | x\n>>>>>>> REPLACE";
    let edits = parse_body(body).unwrap().unwrap();
    assert_eq!(edits[0].line, None);
    assert_eq!(edits[0].search, " 9 | a\n10 |   b\n11 |\n");
    let unnumbered = edits[0].unnumbered.as_ref().unwrap();
    assert_eq!(unnumbered.line, Some(9));
    assert_eq!(unnumbered.search, "a\n  b\n\n");
    assert_eq!(unnumbered.replace, "new | x\n");
    let table = "<<<<<<< SEARCH\n1 | a\n1 | b\n=======\nnew\n>>>>>>> REPLACE";
    let edits = parse_body(table).unwrap().unwrap();
    assert_eq!(edits[0].search, "1 | a\n1 | b\n");
    assert_eq!(edits[0].unnumbered, None);
}

#[test]
fn a_body_holds_any_number_of_blocks() {
    assert!(parse_body("Invalid diff format").is_none());
    assert_eq!(
        parse_body(&format!("test.ts\n{BLOCK}{BLOCK}"))
            .unwrap()
            .unwrap()
            .len(),
        2
    );
    assert!(
        parse_body(&format!("{BLOCK}<<<<<<< SEARCH\nx"))
            .unwrap()
            .is_err()
    );
}

#[test]
fn a_heading_of_seven_letters_is_not_cut_off_from_its_underline() {
    let block = |search: &str, new: &str| {
        format!("a.md\n<<<<<<< SEARCH\n{search}=======\n{new}>>>>>>> REPLACE\n")
    };
    let heading = "Heading\n=======\n\ntext\n";
    let other = "Another\n=======\n\nx\n";
    case(&block(heading, other), &[("a.md", heading, other)]);
    case(&block(heading, "x\n"), &[("a.md", heading, "x\n")]);
    case(&block("x\n", other), &[("a.md", "x\n", other)]);
    // The second one may be the divider written again, or the first one an underline.
    assert!(message(&block("x\n", "New one\n=======\n")).contains("several"));
    assert!(message(&block(heading, "")).contains("several"));
}

#[test]
fn directories_may_have_blanks_in_their_names() {
    case(
        &format!("docs/Some Product/README.md\n{BLOCK}"),
        &[("docs/Some Product/README.md", "old\n", "new\n")],
    );
    for above in [
        "client/server and lib/x.py",
        "src/a has to go to lib/x.py",
        "See src/lib/x.py",
    ] {
        assert!(path_with_blanks(above).is_none(), "{above}");
    }
}

#[test]
fn a_few_words_lead_on_to_another_file() {
    for above in [
        "and `b.py`",
        "Also in b.py:",
        "Now `b.py`",
        "Then, in the file `b.py`",
        "2. And `b.py` as well.",
    ] {
        let text = format!("a.py\n```python\n{BLOCK}```\n\n{above}\n```python\n{BLOCK}```\n");
        case(
            &text,
            &[("a.py", "old\n", "new\n"), ("b.py", "old\n", "new\n")],
        );
    }
}

#[test]
fn a_block_below_words_about_another_file_is_not_one_of_the_file_before() {
    for above in [
        "The counter in `b.py` has the same problem",
        "It is called by b.py and c.py, which need it too.",
    ] {
        let text = format!("a.py\n{BLOCK}\n{above}\n{BLOCK}");
        let found = scan(&text);
        assert!(matches!(found[0].items[..], [CandidateItem::Command(_)]));
        assert!(
            matches!(found[1].items[..], [CandidateItem::Problem(_)]),
            "{above}"
        );
    }
    for above in [
        "Unlike `a.py`, `b.py` has to change:",
        "Like in `b.py`, set x:",
        "This value is read by `b.py`:",
        "`b.py` has the same bug.\n\nFix it:",
    ] {
        let found = scan(&format!("a.py\n{BLOCK}\n{above}\n{BLOCK}"));
        assert!(
            matches!(found[1].items[..], [CandidateItem::Problem(_)]),
            "{above}"
        );
    }
    for above in ["The helper is used in `a.py`", "Then the sum", ""] {
        let text = format!("src/a.py\n{BLOCK}\n{above}\n{BLOCK}");
        assert_eq!(edits(&text)[1].0, "src/a.py", "{above}");
    }
}

#[test]
fn a_label_that_something_else_stands_below_is_not_enough() {
    for above in [
        "## b.py\n\nI looked at it; the bug is really in a.py, line 1:",
        "Changed files:\n- `a.py`\n- `b.py`\n\nHere is the edit:",
        "The files:\n\n- a.py\n- b.py\n\nFirst the constant:",
        "### b.py\n\nNo changes needed.\n\n### Constants\n\nChange it:",
        "## b.py\n\nThis file stays as it is.\n\nThe server needs the change:",
        "## Root cause in `b.py`\n\nb calls a with the wrong value.\n\n## Fix",
        "> b.py\n\nThe edit:",
    ] {
        let found = scan(&format!("{above}\n\n```python\n{BLOCK}```\n"));
        assert!(
            matches!(found[0].items[..], [CandidateItem::Problem(_)]),
            "{above}"
        );
    }
}

#[test]
fn sentences_lead_to_another_file_in_many_ways() {
    for above in [
        "Now update `b.py` to match:",
        "To match, edit `b.py`:",
        "Update `b.py` so it uses the new value:",
        "Modify `b.py`, which reads x:",
        "Instead of a list, `b.py` uses a set:",
        "Use the new value in `b.py` by changing x:",
        "`b.py` is used by the server, so it must follow:",
        "Unlike before, `b.py` now sets x to 2:",
    ] {
        let text = format!("a.py\n```python\n{BLOCK}```\n\n{above}\n```python\n{BLOCK}```\n");
        assert_eq!(edits(&text)[1].0, "b.py", "{above}");
    }
}

#[test]
fn a_label_above_the_words_over_a_block_names_its_file() {
    for label in [
        "## b.py",
        "**b.py**",
        "b.py",
        "File: b.py",
        "### Changes in `b.py`",
        "`b.py`:",
        "Now for b.py.",
        "Next is b.py.",
    ] {
        for words in [
            "The constant must follow:",
            "- the constant\n- the sum\n\nSo:",
            "It is this now:\n\n```python\nx = 1\n```\n\nChange it:",
        ] {
            let text = format!("a.py\n{BLOCK}\n{label}\n\n{words}\n\n{BLOCK}");
            assert_eq!(edits(&text)[1].0, "b.py", "{text}");
            assert_eq!(
                edits(&format!("{label}\n\n{words}\n\n{BLOCK}"))[0].0,
                "b.py"
            );
        }
    }
}

#[test]
fn a_fence_line_names_the_file_whatever_its_extension() {
    for name in [
        "x.gemspec",
        "x.podspec",
        "x.erb",
        "x.njk",
        "x.po",
        "x.service",
        "x.in",
        "x.am",
    ] {
        for fence in [
            format!("```ruby {name}"),
            format!("```text:{name}"),
            format!("```rb title=\"{name}\""),
        ] {
            case(
                &format!("```python a.py\n{BLOCK}```\n\n{fence}\n{BLOCK}```\n"),
                &[("a.py", "old\n", "new\n"), (name, "old\n", "new\n")],
            );
        }
    }
}

#[test]
fn an_explanation_behind_the_name_labels_the_block() {
    for above in [
        "1. **`a.py`** \u{2013} The value has to be checked here.",
        "1. **`a.py`** - The value has to be checked here.",
        "**`a.py`**: The value has to be checked here.",
        "- `a.py` \u{2013} The value has to be checked here.",
        "### `a.py`: the value",
    ] {
        case(
            &format!("{above}\n\n```\n{BLOCK}```\n"),
            &[("a.py", "old\n", "new\n")],
        );
        case(
            &format!("b.py\n```\n{BLOCK}```\n\n{above}\n\n```\n{BLOCK}```\n"),
            &[("b.py", "old\n", "new\n"), ("a.py", "old\n", "new\n")],
        );
    }
    for above in [
        "I changed:\n- `a.py` \u{2013} one\n- `b.py` \u{2013} two",
        "- `a.py` \u{2013} like `b.py`",
        "### `b.py`\n\n`a.py`: it imports this",
    ] {
        message(&format!("{above}\n\n```\n{BLOCK}```\n"));
    }
}

#[test]
fn a_heading_with_a_file_that_exists_labels_the_block_below_its_words() {
    let existing = |path: &RelPath| (path.as_str() == "x.gemspec").then(String::new);
    let reply = format!(
        "a.py\n```\n{BLOCK}```\n\n### x.gemspec\n\nIt is raised here.\n\n```ruby\n{BLOCK}```\n"
    );
    let lines: Vec<&str> = reply.lines().collect();
    let _names = crate::known_name::look_up(&existing, &lines);
    case(
        &reply,
        &[("a.py", "old\n", "new\n"), ("x.gemspec", "old\n", "new\n")],
    );
}
