//! Pastes at the questions that come outside of a loop: they answer nothing, and go nowhere else.

use crate::first_hour::paste;
use crate::first_lists::untrusted;
use crate::harness::{Test, wait_for_outbox};
use crate::terminal::{DONE, Terminal, has_script};

/// A terminal that asks about undoing the round that made `new.txt`, and then tells what it reads.
fn undoing(environment: &[(&str, &str)]) -> Option<Terminal> {
    if !has_script() {
        return None;
    }
    let create = "[CREATE_FILE path=\"new.txt\"]\nnew\n[/CREATE_FILE]\n{end}\n";
    let finished = Test::new(&["new", "task"])
        .file("appsettings.json", "{\"Agent\": {}}")
        .reply(create)
        .reply(DONE)
        .run()
        .code(0);
    let mut terminal = Terminal::open(
        Test::after(finished, &[]),
        "undo; echo code $?; bash -c 'read -t 1 -r left; echo \"left <$left>\"'",
        environment,
    );
    terminal.expect("[y] yes  [n] no");
    Some(terminal)
}

fn is_there(terminal: &Terminal) -> bool {
    terminal.base().join("workspace/new.txt").exists()
}

#[test]
fn a_paste_of_several_lines_is_no_yes() {
    let Some(mut terminal) = undoing(&[]) else {
        return;
    };
    paste(&mut terminal, "first\r\ry\rtouch stray\r");
    terminal.expect("4 lines pasted: that is no answer");
    let again = terminal.expect_text("[y] yes  [n] no");
    assert!(again.contains("Do it?"), "{again}");
    // The habit of ending a paste with Enter decides nothing either.
    terminal.type_in("\r");
    // Nobody types the next line within the time in which lines count as one paste, and nothing shows
    // when it is over.
    std::thread::sleep(std::time::Duration::from_millis(200));
    assert!(is_there(&terminal));
    terminal.type_in("?\r");
    terminal.expect("delete new.txt");
    terminal.expect("[y] yes  [n] no");
    terminal.type_in("y\r");
    terminal.expect("Undid round 1");
    terminal.expect("code 0");
    terminal.expect("left <>");
    assert!(!is_there(&terminal));
}

#[test]
fn lines_that_come_at_once_are_a_paste_without_the_marks_too() {
    for environment in [&[][..], &[("TERM", "dumb")]] {
        let Some(mut terminal) = undoing(environment) else {
            return;
        };
        terminal.type_in("y\rtouch stray");
        terminal.expect("2 lines pasted: that is no answer");
        terminal.expect("[y] yes  [n] no");
        assert!(is_there(&terminal));
        terminal.type_in("n\r");
        terminal.expect("Nothing was done.");
        terminal.expect("left <>");
    }
}

#[test]
fn a_single_line_may_be_pasted() {
    let Some(mut terminal) = undoing(&[]) else {
        return;
    };
    paste(&mut terminal, "y");
    terminal.type_in("\r");
    let shown = terminal.expect_text("Undid round 1");
    assert!(shown.contains("\u{1b}[?2004l"), "{shown}");
}

#[test]
fn a_pasted_task_is_one_text_and_answers_nothing_after_it() {
    if !has_script() {
        return;
    }
    let test = Test::new(&[]).file("appsettings.json", "{\"Agent\": {}}");
    let mut terminal = Terminal::open(test, "new '<task>'", &[]);
    terminal.expect("What should the model do?");
    paste(&mut terminal, "write a poem\rabout the sea");
    let (_, message) = wait_for_outbox(&terminal.base(), 1);
    assert!(message.contains("write a poem\nabout the sea"), "{message}");
    terminal.reply(1, DONE);
    let (code, shown) = terminal.close();
    assert_eq!(code, Some(0), "{shown}");
}

#[test]
fn a_paste_does_not_trust_a_file() {
    let Some(mut terminal) = untrusted() else {
        return;
    };
    terminal.expect("Do you trust this file?");
    terminal.expect("[n] no");
    paste(&mut terminal, "a\ry\rb");
    terminal.expect("3 lines pasted: that is no answer");
    terminal.expect("Do you trust this file?");
    terminal.type_in("q\r");
    let (code, shown) = terminal.close();
    assert_ne!(code, Some(0), "{shown}");
}
