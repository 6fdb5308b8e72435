//! The order of precedence that the head of `arbiter.rs` states, row by row.

use agent_protocol::{Command, FileChange};

use crate::{Reply, parse};

/// Which commands a reply asks for, and how many issues it has.
#[track_caller]
fn row(text: &str, commands: &[&str], issues: usize) -> Reply {
    let reply = parse(text);
    let names: Vec<&str> = reply.steps.iter().map(|it| it.command.name()).collect();
    assert_eq!(names, commands, "{text}: {reply:?}");
    assert_eq!(reply.issues.len(), issues, "{text}: {:?}", reply.issues);
    reply
}

const CALL: &str = "{\"tool\": \"run\", \"command\": \"make\"}\n";
const DIFF: &str = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n";
const EDIT: &str = "<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n";

#[test]
fn thinking_counts_for_nothing() {
    row(
        "<think>\n[DELETE_FILE path=\"a\"]\n</think>\n[GIT_STATUS]\n",
        &["GIT_STATUS"],
        0,
    );
}

#[test]
fn a_tag_counts_in_a_code_block_and_in_a_shown_file() {
    row("```\n[GIT_STATUS]\n```\n", &["GIT_STATUS"], 0);
    row("a.md\n```\nx\n[GIT_STATUS]\n```\n", &["GIT_STATUS"], 1);
}

#[test]
fn a_body_is_verbatim() {
    for inside in [
        CALL,
        DIFF,
        EDIT,
        "[DELETE_FILE path=\"a\"]\n",
        "<execute_bash>\nls\n</execute_bash>\n",
    ] {
        let text = format!("[CREATE_FILE path=\"a.md\"]\n{inside}[/CREATE_FILE]\n");
        row(&text, &["CREATE_FILE"], 0);
    }
}

#[test]
fn nothing_in_made_up_results_is_done() {
    row(&format!("## Previous Command Results\n\n{CALL}"), &[], 1);
}

#[test]
fn an_element_for_results_is_data() {
    let file = "[DELETE_FILE path=\"a\"]\n";
    for name in ["function_results", "tool_result", "tool_response"] {
        for inside in [file, CALL, "<invoke name=\"bash\">\nls\n</invoke>\n"] {
            let text = format!("<{name}>\n{inside}</{name}>\n[DONE]\nok\n[/DONE]\n");
            let reply = row(&text, &["DONE"], 1);
            assert_eq!(reply.issues[0].number, None);
        }
    }
    // One that does not end holds nothing, and one around the end mark is not of results.
    row(&format!("<tool_result>\n{file}"), &["DELETE_FILE"], 0);
    let framed = format!("<tool_result>\n{file}[END ab12cd34#1]\n</tool_result>\n");
    row(&framed, &["DELETE_FILE"], 0);
}

#[test]
fn a_code_block_that_begins_with_a_result_of_ours_quotes_it() {
    let quoted = "1. [FAILED] RUN_COMMAND: `make`: exit code 2\n";
    let file = "[DELETE_FILE path=\"a\"]\n";
    let reply = row(&format!("```\n{quoted}{file}```\n[DONE]\n"), &["DONE"], 2);
    assert_eq!(reply.issues[1].number, Some(1));
    // Above the commands it is only news.
    row(&format!("{quoted}\n```\n{file}```\n"), &["DELETE_FILE"], 1);
    row(
        &format!("```\n{quoted}{file}[END ab12cd34#1]\n```\n"),
        &["DELETE_FILE"],
        1,
    );
}

#[test]
fn a_block_under_a_path_is_that_file() {
    row(
        &format!("a.py\n```python\nx = [\n{CALL}]\n```\n"),
        &["CREATE_FILE"],
        0,
    );
    row(&format!("a.py\n```\n{EDIT}```\n"), &["EDIT_FILE"], 0);
}

#[test]
fn strings_here_documents_and_scripts_are_content() {
    row(
        &format!("```bash\ncat > a.md <<'EOF'\n{DIFF}EOF\n```\n"),
        &[],
        1,
    );
    row(&format!("cat > a.patch <<'EOF'\n{DIFF}EOF\n"), &[], 1);
    row(
        &format!("```python\nx = \"\"\"\na.py\n{EDIT}\"\"\"\n```\n"),
        &[],
        0,
    );
}

#[test]
fn a_sound_block_reaches_over_lines_like_tags() {
    let text = "--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n [DONE]\n-a\n+b\n [GIT_STATUS]\n";
    row(text, &["APPLY_PATCH"], 0);
}

#[test]
fn an_unsound_block_ends_at_a_tag() {
    row(
        "a.py\n<<<<<<< SEARCH\na\n[GIT_STATUS]\n",
        &["GIT_STATUS"],
        1,
    );
}

#[test]
fn the_first_dialect_takes_the_line() {
    let envelope = format!("*** Begin Patch\n*** Add File: a.md\n+x\n*** End Patch\n{DIFF}");
    row(&envelope, &["APPLY_PATCH", "APPLY_PATCH"], 0);
    row(
        "<tool_call>\n{\"name\": \"git_status\", \"arguments\": {}}\n</tool_call>\n",
        &["GIT_STATUS"],
        0,
    );
}

#[test]
fn what_stands_in_data_is_data() {
    row(&format!("{{\"calls\": [\n{CALL}]}}\n"), &[], 0);
}

#[test]
fn a_file_beside_commands_is_shown_and_told() {
    row("a.py\n```\nx\n```\n[GIT_STATUS]\n", &["GIT_STATUS"], 1);
    row(
        "a.py\n```\nx\n```\n[DELETE_FILE path=\"a.py\"]\n",
        &["DELETE_FILE"],
        0,
    );
}

#[test]
fn a_hunk_that_stands_twice_is_one() {
    let hunk = "@@ -2,3 +2,3 @@\n c\n-x\n+y\n c\n";
    let hunks = |diff: &str| {
        let reply = row(
            &format!("```diff\n--- a/x\n+++ b/x\n{diff}```\n"),
            &["APPLY_PATCH"],
            0,
        );
        match &reply.steps[0].command {
            Command::ApplyPatch { changes } => match &changes[0] {
                FileChange::Update { hunks, .. } => (hunks.len(), reply.repairs.len()),
                other => panic!("{other:?}"),
            },
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(hunks(&format!("{hunk}{hunk}")), (1, 1));
    assert_eq!(hunks(&format!("{hunk}{}", hunk.replace('2', "6"))), (2, 0));
    let unnumbered = "@@\n c\n-x\n+y\n c\n";
    assert_eq!(hunks(&unnumbered.repeat(2)), (2, 0));
}

#[test]
fn other_commands_above_the_frame_with_the_answer_are_shown() {
    let run = "[RUN_COMMAND]\nmake\n[/RUN_COMMAND]\n";
    let answer = "``````\n[GIT_STATUS]\n[END ab12cd34#1]\n``````\n";
    for shown in [CALL, run] {
        let reply = row(&format!("It sent\n\n{shown}\n{answer}"), &["GIT_STATUS"], 1);
        assert_eq!(reply.issues[0].number, Some(1));
    }
    // In a code block of its own, above one that only ends the reply, or sent once more, it is meant.
    let fenced = format!("```\n{run}```\n{answer}");
    row(&fenced, &["RUN_COMMAND", "GIT_STATUS"], 0);
    let bare = answer.replace("[GIT_STATUS]\n", "");
    row(&format!("{run}\n{bare}"), &["RUN_COMMAND"], 0);
    let again = answer.replace("[GIT_STATUS]\n", run);
    row(&format!("{run}\n{again}"), &["RUN_COMMAND"], 0);
}

#[test]
fn an_edit_above_the_code_block_with_the_answer_is_shown() {
    let answer = "``````\n[DELETE_FILE path=\"b\"]\n[END ab12cd34#1]\n``````\n";
    let diff = format!("```diff\n{DIFF}```\n");
    let edit = format!("x\n```\n{EDIT}```\n");
    for shown in [&diff, &edit] {
        for words in [
            "A possible follow-up:",
            "I considered this:",
            "It is this change:",
        ] {
            let reply = row(
                &format!("{words}\n\n{shown}\nMy answer:\n\n{answer}"),
                &["DELETE_FILE"],
                1,
            );
            assert_eq!(reply.issues[0].number, None);
        }
        // Nothing else changes a file, so it may be all of the work.
        let done = "``````\n[DONE]\nok\n[/DONE]\n[END ab12cd34#1]\n``````\n";
        let reply = row(&format!("{shown}\n{done}"), &["DONE"], 1);
        assert_eq!(reply.issues[0].number, Some(1));
        // A command does the same, or changes the same file.
        let same = format!("[EDIT_FILE path=\"x\"]\n{EDIT}[/EDIT_FILE]\n");
        let own = answer.replace("[DELETE_FILE path=\"b\"]\n", &same);
        row(&format!("{shown}\n{own}"), &["EDIT_FILE"], 0);
        let own = done.replace("[DONE]", "[DELETE_FILE path=\"x\"]\n[DONE]");
        let reply = row(&format!("{shown}\n{own}"), &["DELETE_FILE", "DONE"], 1);
        assert_eq!(reply.issues[0].number, None);
        // Without tags, or in the code block of the end mark, it is the work.
        let command = if shown == &diff {
            "APPLY_PATCH"
        } else {
            "EDIT_FILE"
        };
        row(&format!("{shown}\n[END ab12cd34#1]\n"), &[command], 0);
        let bare = shown.strip_suffix("```\n").unwrap();
        let rest = "[DELETE_FILE path=\"b\"]\n[END ab12cd34#1]\n```\n";
        row(&format!("{bare}{rest}"), &[command, "DELETE_FILE"], 0);
        // Without a code block around the tags, all of the reply is the answer.
        let bare = "[DELETE_FILE path=\"b\"]\n[END ab12cd34#1]\n";
        for text in [
            format!("{shown}\n{bare}"),
            format!("``````\n{shown}\n{bare}``````\n"),
        ] {
            row(&text, &[command, "DELETE_FILE"], 0);
        }
    }
}

#[test]
fn what_words_below_take_back_is_told_and_not_done() {
    let file = "```\n[DELETE_FILE path=\"a\"]\n```\n";
    let answer = "``````\n[GIT_STATUS]\n[END ab12cd34#1]\n``````\n";
    for words in [
        "Sorry, ignore the above: the notes must stay.",
        "Please ignore the command above.",
        "Ignore the call above, I meant:",
        "Wait, that is wrong. Let me correct this:",
        "Hmm, on second thought that is not needed.",
        "Correction: please disregard my answer above.",
        "Oops, I meant this one:",
        "Actually, no: do not delete it. Scratch that.",
        "Actually, scratch that.",
        "Forget that.",
        "Never mind. This one is better:",
        "\u{274c} Scrap that, I misread the task.",
        "Update: the block above is wrong, use this instead:",
        "Ignore my previous commands; here is the right version:",
        "That was the wrong file. The right one:",
        "Let me redo that properly:",
        "Entschuldigung, bitte das Obige ignorieren.",
        "抱歉，请忽略上面的内容。",
    ] {
        row(&format!("{file}\n{words}\n\n{answer}"), &["GIT_STATUS"], 1);
    }
    let marked = "```\n[DELETE_FILE path=\"a\"]\n[END ab12cd34#1]\n```\n";
    row(
        &format!("{marked}\nWait, that is wrong. Disregard it.\n"),
        &[],
        1,
    );
    for words in [
        "Entschuldigung f\u{fc}r den Fehler vorhin!",
        "\u{62b1}\u{6b49}\u{ff0c}\u{4e4b}\u{524d}\u{7684}\u{56de}\u{7b54}\u{6709}\u{8bef}\u{3002}",
        "Sorry, I should have seen this in the first round.",
        "Oops, my last reply had a typo; this one is correct.",
        "On second thought, no further change is needed.",
        "Never mind the order of the items.",
    ] {
        row(&format!("{marked}\n{words}\n"), &["DELETE_FILE"], 0);
    }
    for words in [
        "Wait for the server to start:",
        "Ignore the build directory:",
        "Forget the cache of the first run:",
        "Sorry for the delay.",
        "It prints a warning. Ignore it.",
        "Actually, the test needs this too:",
        "The test that is wrong goes too:",
    ] {
        row(
            &format!("{file}\n{words}\n\n{answer}"),
            &["DELETE_FILE", "GIT_STATUS"],
            0,
        );
    }
    let framed = "``````\n[DELETE_FILE path=\"a\"]\n\nSorry, ignore the above.\n``````\n";
    row(framed, &[], 1);
    // Words above it take back something else, and a comment in code takes back nothing.
    row(
        &format!("Sorry, ignore the above.\n{file}\n```py\n# Sorry, wrong.\n```\n"),
        &["DELETE_FILE"],
        0,
    );
}

#[test]
fn an_example_above_the_answer_is_no_failure() {
    let shown = "```python\ns = 1\n[DELETE_FILE path=\"a\"]\n```\nThe answer:\n";
    let answer = |more: &str| {
        format!("``````\n[RUN_COMMAND]\nmake\n[/RUN_COMMAND]\n{more}[END ab12cd34#1]\n``````\n")
    };
    let is_failure = |reply: &Reply| reply.issues[0].number.is_some();
    let reply = row(&format!("{shown}{}", answer("")), &["RUN_COMMAND"], 1);
    assert!(!is_failure(&reply));
    let done = "[DONE]\nIt is done.\n[/DONE]\n";
    let reply = row(
        &format!("{shown}{}", answer(done)),
        &["RUN_COMMAND", "DONE"],
        1,
    );
    assert!(is_failure(&reply));
    let reply = row(
        &format!("[RUN_COMMAND]\nmake\n[/RUN_COMMAND]\n{shown}"),
        &["RUN_COMMAND"],
        1,
    );
    assert!(is_failure(&reply));
}

#[test]
fn of_two_answers_neither_is_done() {
    let answer = |name: &str| format!("[DELETE_FILE path=\"{name}\"]\n[END ab12cd34#1]\n");
    row(
        &format!("{}Or rather:\n{}", answer("a"), answer("b")),
        &[],
        1,
    );
    row(
        &format!("{}Or rather:\n{}", answer("a"), answer("a")),
        &["DELETE_FILE"],
        0,
    );
}

#[test]
fn below_the_end_mark_nothing_is_done() {
    let text = "[GIT_STATUS]\n[END ab12cd34#1]\n\nLater you can say:\n[DELETE_FILE path=\"a\"]\n";
    row(text, &["GIT_STATUS"], 1);
}

#[test]
fn a_document_is_told_and_not_done() {
    let file = "a.py\n```\nx\n```\n";
    row(&format!("---\ntitle: A page\n---\n\n{file}"), &[], 1);
    row(&format!("+++\ntitle = \"A page\"\n+++\n\n{file}"), &[], 1);
    row(&format!("<Tabs>\n{file}</Tabs>\n"), &[], 1);
    let example = "```js\ny\n```\n";
    let page = format!("# A\n## B\n{file}## C\n{example}{example}## D\n{example}");
    row(&page, &[], 1);
    row(&format!("{page}[GIT_STATUS]\n"), &["GIT_STATUS"], 1);
    row(&format!("## A\n{file}"), &["CREATE_FILE"], 0);
    let guide = format!("# Calls\n\n## POST /run\n\n```json\n{CALL}```\n");
    row(&guide, &[], 1);
    row(&guide.replacen("# ", "### ", 1), &["RUN_COMMAND"], 0);
    // A fence that closes nothing is no code block of a document.
    let edit = "a.py\n```python\n<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE\n```\n";
    let text = format!("```diff\n{edit}# A\n# B\n# C\n# D\n```\n");
    row(&text, &["EDIT_FILE"], 0);
}

#[test]
fn of_two_contents_neither_is_written() {
    row("a.py\n```\nx\n```\nor\n\na.py\n```\ny\n```\n", &[], 2);
    row(
        "a.py\n```\nx\n```\nonce more\n\na.py\n```\nx\n```\n",
        &["CREATE_FILE", "CREATE_FILE"],
        0,
    );
    let patch = "*** Begin Patch\n*** Update File: a.py\n@@\n x\n+y\n*** End Patch\n";
    row(&format!("{patch}\n{patch}"), &["APPLY_PATCH"], 0);
}

#[test]
fn a_quotation_is_told_and_keeps_the_session_open() {
    let quoted = "I remove the file:\n`[DELETE_FILE path=\"a\"]`\nas you said.\n";
    let reply = row(&format!("{quoted}[GIT_STATUS]\n"), &["GIT_STATUS"], 1);
    assert_eq!(reply.issues[0].number, None);
    let reply = row(&format!("{quoted}[DONE]\n"), &["DONE"], 1);
    assert_eq!(reply.issues[0].number, Some(1));
}

#[test]
fn what_words_call_an_example_is_told_and_not_done() {
    let edit = "a.py\n```python\n<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE\n```\n";
    let diff = "```diff\n--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x\n+y\n```\n";
    let call = "```xml\n<execute_command>\n<command>make</command>\n</execute_command>\n```\n";
    let tags = "```\n[DELETE_FILE path=\"a\"]\n[DELETE_FILE path=\"b\"]\n```\n";
    for words in [
        "For example, an edit block looks like this:",
        "The format is, for example:",
        "Do not do this:",
        "You could do this, but I have not done it:",
        "Cline would write:",
        "Example:",
        "### Example",
        "For instance",
        "Hypothetically:",
        "Here is an example of the format:",
        "\u{274c} Don\u{2019}t:",
        "Wrong:",
        "Instead of",
        "This is what not to do:",
        "Should I do this?",
        "Optional (only if you no longer need it):",
        "If you'd like, I can also do this:",
        "After your approval, I'd run:",
        "Alternatively:",
        "You can either",
        "or",
        "Only run this if the tests pass:",
        "To undo, use:",
        "Next round I will send:",
        "I would normally run:",
        "In the previous round I sent:",
        "The documentation shows:",
        "The bug was introduced by commit 1a2b3c:",
        "Example usage:",
        "A sample reply:",
        "Cline writes it as XML, for example",
        "In the log I see:",
        "The syntax for an edit is:",
        "Was ist zu tun? Zum Beispiel:",
        "Beispiel:",
        "Par exemple :",
        "例如：",
    ] {
        for (work, count) in [(edit, 1), (diff, 1), (call, 1), (tags, 2)] {
            row(&format!("{words}\n\n{work}\nShall I?\n"), &[], count);
        }
    }
    let other = edit.replace("\ny\n", "\nz\n");
    row(
        &format!("Option A:\n\n{edit}\n**Option B**\n\n{other}"),
        &[],
        2,
    );
    row(
        &format!("Option A:\n\n{edit}\nOption B: nothing.\n"),
        &[],
        1,
    );
    // Without words between, the next command is under the same ones.
    let tags = "[DELETE_FILE path=\"a\"]\n\n[RUN_COMMAND]\nmake\n[/RUN_COMMAND]\n";
    row(&format!("Example:\n\n{tags}"), &[], 2);
    row(
        &format!("Example:\n\n{tags}Now:\n{tags}"),
        &["DELETE_FILE", "RUN_COMMAND"],
        2,
    );
    // What is done elsewhere is no failure.
    let file = "[DELETE_FILE path=\"a\"]\n";
    let text = format!("Do not do this:\n```\n{file}```\n\nBut this:\n{file}[DONE]\n");
    let reply = row(&text, &["DELETE_FILE", "DONE"], 1);
    assert_eq!(reply.issues[0].number, None);
}

#[test]
fn a_command_within_a_sentence_is_spoken_about() {
    let file = "```\n[DELETE_FILE path=\"a\"]\n```\n";
    row(
        &format!("You asked whether\n\n{file}\nis allowed.\n"),
        &[],
        1,
    );
    row(
        &format!("First we run\n\n{file}\nand look.\n"),
        &["DELETE_FILE"],
        0,
    );
    let bare = "[DELETE_FILE path=\"a\"]\n";
    row(
        &format!("I considered\n\n{bare}\nbut rejected it.\n"),
        &[],
        1,
    );
    row(
        &format!("The old file goes\n\n{bare}\nthis cleans up.\n"),
        &["DELETE_FILE"],
        0,
    );
}

#[test]
fn a_command_in_a_comment_or_a_string_is_shown() {
    let file = "[DELETE_FILE path=\"a\"]\n";
    for (text, message) in [
        (format!("<!--\n{file}-->\n"), "it stands in a comment"),
        (
            format!("```\n<p>\n<!-- Later:\n{file}\n-->\n```\n"),
            "it stands in a comment",
        ),
        (
            "```bash\n# [DELETE_FILE path=\"a\"]\nmake\n```\n".to_owned(),
            "it stands in a comment",
        ),
        (
            format!("```\nx = \"\"\"\n{file}\"\"\"\n```\n"),
            "it stands in a string",
        ),
        (
            format!("cat > a.md <<'EOF'\n{file}EOF\n"),
            "it stands in a string or a here-document",
        ),
        (
            format!("```\n$ agent apply\n{file}ok\n```\n"),
            "it stands below other lines of a program",
        ),
        (
            format!("```yaml\nprompt: |\n  {file}```\n"),
            "it stands below other lines of a program",
        ),
        (
            format!(
                "```python\ndef f():\n    \"\"\"Words.\n\n    More.\n    \"\"\"\nx = \"\"\"\n{file}\"\"\"\n```\n"
            ),
            "it stands below other lines of a program",
        ),
        (
            format!("```ts\nconst reply = `\n{file}`;\n```\n"),
            "it stands below other lines of a program",
        ),
        (
            format!("a.rs\n```rust\nlet x = r#\"\n{file}\"#;\n```\n"),
            "it stands below other lines of a program",
        ),
    ] {
        let reply = parse(&format!("{text}[DONE]\n"));
        assert_eq!(reply.steps.len(), 1, "{text}");
        let numbered = reply.issues.iter().filter(|it| it.number.is_some());
        let told = numbered.filter(|it| it.message.starts_with(message));
        assert_eq!(told.count(), 1, "{text}: {reply:?}");
    }
    for text in [
        format!("`<!--` begins a comment.\n{file}`-->` ends it.\n"),
        format!("<!-- a -->\n{file}<!-- b -->\n"),
        format!("<!--\n{file}"),
        format!("```python\nx = \"\"\"a\"\"\"\n```\n{file}```python\ny = \"\"\"\n```\n"),
        format!("<!--\n{file}[END ab12cd34#1]\n-->\n"),
        format!("```python\n{file}```\n"),
        format!("```python\n# First:\n{file}[END ab12cd34#1]\n```\n"),
        format!("````markdown\nFirst:\n```\n{file}```\n````\n"),
    ] {
        row(&text, &["DELETE_FILE"], 0);
    }
}

#[test]
fn other_words_above_a_command_do_no_harm() {
    let file = "[DELETE_FILE path=\"a\"]\n";
    for words in [
        "I add an example:",
        "Here is an example file:",
        "Why is it wrong?",
        "Don't forget the old file:",
        "For example, `a` is not needed.",
        "Option A it is:",
        "I would suggest this change:",
        "I could not find a test, so I remove the file:",
        "You would like the file removed:",
        "Removing the bad solution:",
        "Once the tests pass, this can go:",
        "After the edit, the file can go:",
        "Only the old file goes:",
        "To undo the rename, I remove the copy:",
        "Example file removed:",
        "As you asked, the file goes:",
        "The file is in the way, for example of the build. Now I remove it:",
    ] {
        row(&format!("{words}\n```\n{file}```\n"), &["DELETE_FILE"], 0);
    }
    // What a code block ends with is not said of the command below it.
    row(
        &format!("It ignores:\n```\n*.log\n```\n{file}"),
        &["DELETE_FILE"],
        0,
    );
    row(
        &format!("It has:\n```yaml\ninput:\n```\n```\n{file}```\n"),
        &["DELETE_FILE"],
        0,
    );
    // With the end mark in it, the block is the answer.
    let text = format!("For example:\n``````\n{file}[END ab12cd34#1]\n``````\n");
    row(&text, &["DELETE_FILE"], 0);
}

#[test]
fn headings_and_code_blocks_of_a_file_are_not_of_the_reply() {
    let section = "## Section\n\n```sh\nmake\n```\n\n";
    let readme = format!(
        "<write_to_file>\n<path>README.md</path>\n<content>\n# Title\n\n{}</content>\n</write_to_file>\n",
        section.repeat(12)
    );
    let reply = crate::parse(&readme);
    assert_eq!(reply.steps.len(), 1, "{:?}", reply.issues);
    // Those of a document are counted.
    let document = format!(
        "# Title\n\n{}a.py\n```python\nx = 1\n```\n",
        section.repeat(12)
    );
    assert!(crate::parse(&document).steps.is_empty());
    // A title and a heading for each file do not make a document of a reply.
    let reply = crate::parse(
        "# Solution\n\nI added both.\n\n## app.py\n\n```python\nx = 1\n```\n\n## util.py\n\n```python\ny = 1\n```\n\n## Run it\n\n```sh\npython app.py\n```\n",
    );
    assert_eq!(reply.steps.len(), 2, "{:?}", reply.issues);
}
