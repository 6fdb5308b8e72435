use std::sync::Mutex;
use std::sync::mpsc;

use super::super::line::{MAX, Move};
use super::*;
use crate::protocol::QuestionKind;

/// Knows the commands `/status`, `/settings` and `/help`, and takes what ends with `END` for a
/// reply.
#[derive(Debug, Default)]
struct Ear(Mutex<Vec<Entry>>);

impl Listener for Ear {
    fn weigh(&self, text: &str) -> Pasted {
        if text.trim_end().ends_with("END") {
            Pasted::Reply
        } else if text.contains("[DO]") {
            Pasted::Commands
        } else if text.contains("OURS") {
            Pasted::Refused("our own".to_owned())
        } else {
            Pasted::Text
        }
    }

    fn kind_of_line(&self, line: &str) -> LineKind {
        match line {
            "quit" => LineKind::PlainCommand("/quit"),
            "?" => LineKind::PlainCommand("/help"),
            "git status" => LineKind::Shell,
            line if line.starts_with("/s") || line.starts_with("/help") => LineKind::Command,
            _ => LineKind::Words,
        }
    }

    fn complete(&self, before: &str) -> Vec<String> {
        let words = ["/settings", "/status", "/help"];
        let fits = |word: &&&str| word.starts_with(before);
        words.iter().filter(fits).map(ToString::to_string).collect()
    }

    fn entered(&self, entry: Entry) {
        self.0.lock().unwrap().push(entry);
    }

    fn asked(&self) {}
}

/// The empty prompt while the model's question waits.
const AT_MODEL: &str = "? type your answer to the model (Enter sends it; ? shows the question)";

fn typed(desk: &mut PromptState, text: &str) {
    for character in text.chars() {
        desk.press(KeyPress::Character(character), &Ear::default());
    }
}

fn press(desk: &mut PromptState, key: KeyPress) -> Act {
    desk.press(key, &Ear::default())
}

fn paste(desk: &mut PromptState, text: &str) -> Act {
    press(desk, KeyPress::Paste(text.to_owned()))
}

#[track_caller]
fn entered(act: Act) -> Entry {
    match act {
        Act::Entered { entry, .. } => entry,
        other => panic!("{other:?}"),
    }
}

fn question(number: u64, text: &str, kind: QuestionKind) -> PromptQuestion {
    PromptQuestion {
        number,
        text: text.to_owned(),
        kind,
        sender: mpsc::channel().0,
    }
}

fn shown(desk: &PromptState) -> String {
    let rows = desk.rows(80, &Ear::default()).rows.into_iter();
    let row = |row: crate::ui::live::LiveRow| row.0.into_iter().map(|(_, text)| text).collect();
    rows.map(row).collect::<Vec<String>>().join("\n")
}

#[test]
fn a_line_is_a_note_and_comes_back_with_the_arrow() {
    let mut desk = PromptState::new(vec!["old".to_owned()]);
    typed(&mut desk, "use tabs");
    assert_eq!(
        entered(press(&mut desk, KeyPress::Enter)),
        Entry::Note("use tabs".to_owned())
    );
    assert!(matches!(press(&mut desk, KeyPress::Enter), Act::Nothing));
    press(&mut desk, KeyPress::Earlier);
    assert_eq!(shown(&desk), "> use tabs");
    press(&mut desk, KeyPress::Earlier);
    assert_eq!(shown(&desk), "> old");
}

#[test]
fn a_pasted_reply_is_taken_at_once_and_the_half_typed_line_stays() {
    let mut desk = PromptState::new(Vec::new());
    typed(&mut desk, "half");
    let reply = "[DO]\r\nsomething\r\nEND\r\n";
    assert_eq!(
        entered(paste(&mut desk, reply)),
        Entry::Reply("[DO]\nsomething\nEND\n".to_owned())
    );
    assert_eq!(shown(&desk), "> half");
}

#[test]
fn commands_without_the_end_mark_are_a_reply_after_enter() {
    let mut desk = PromptState::new(Vec::new());
    assert!(matches!(paste(&mut desk, "[DO]\nx\n"), Act::Nothing));
    assert!(shown(&desk).contains("2 lines pasted, without the end mark."));
    assert_eq!(
        entered(press(&mut desk, KeyPress::Enter)),
        Entry::Reply("[DO]\nx\n".to_owned())
    );
    paste(&mut desk, "[DO]\nx\n");
    press(&mut desk, KeyPress::Drop);
    assert!(matches!(press(&mut desk, KeyPress::Enter), Act::Nothing));
}

#[test]
fn several_lines_without_a_command_are_the_reply_unless_the_person_says_otherwise() {
    let mut desk = PromptState::new(Vec::new());
    let prose = "I would\nstart with the tests.\n";
    assert!(matches!(paste(&mut desk, prose), Act::Nothing));
    let words = "2 lines pasted, no complete command.\nEnter: it is the chat's reply   n Enter: a note from me   Esc: drop";
    assert!(shown(&desk).ends_with(words), "{}", shown(&desk));
    assert_eq!(
        entered(press(&mut desk, KeyPress::Enter)),
        Entry::Reply(prose.to_owned())
    );
    paste(&mut desk, prose);
    // The answer is a line, as everywhere: nothing of it is left behind.
    typed(&mut desk, "no");
    let note = entered(press(&mut desk, KeyPress::Enter));
    assert_eq!(note, Entry::Note(prose.trim_end().to_owned()));
    assert!(desk.line.is_empty());
    // Where the model waits for an answer, it is one.
    desk.ask(question(1, "Which?", QuestionKind::Model));
    paste(&mut desk, prose);
    assert!(shown(&desk).contains("Enter: it is my answer"));
    let act = press(&mut desk, KeyPress::Enter);
    assert!(matches!(act, Act::Answered { .. }), "{act:?}");
}

#[test]
fn a_reply_pasted_at_a_decision_is_said_to_be_kept() {
    let mut desk = PromptState::new(Vec::new());
    let why = |act: Act| match act {
        Act::Entered { why, .. } => why,
        other => panic!("{other:?}"),
    };
    assert_eq!(why(paste(&mut desk, "[DO]\nEND")), None);
    for kind in [QuestionKind::Step, QuestionKind::OtherRound] {
        desk.ask(question(1, "Run it?", kind));
        let said = why(paste(&mut desk, "[DO]\nEND")).unwrap();
        assert!(said.starts_with("The reply is kept"), "{said}");
        assert!(said.ends_with("Run it?"), "{said}");
    }
    // The loop waits for the reply meanwhile, and takes it at once.
    desk.withdraw(1);
    desk.ask(question(2, "Do it?", QuestionKind::Undo));
    assert_eq!(why(paste(&mut desk, "[DO]\nEND")), None);
}

#[test]
fn a_paste_without_a_decision_is_asked_about_again() {
    let mut desk = PromptState::new(Vec::new());
    assert_eq!(desk.undecided_paste(), None);
    paste(&mut desk, "[DO]\nx\n");
    let left = desk.undecided_paste().unwrap().to_owned();
    let mut desk = PromptState::new(Vec::new());
    desk.hold_again(left, &Ear::default());
    assert!(shown(&desk).contains("2 lines pasted, without the end mark."));
    let reply = Entry::Reply("[DO]\nx\n".to_owned());
    assert_eq!(entered(press(&mut desk, KeyPress::Enter)), reply);
    // A line that was asked about is kept as a line.
    typed(&mut desk, "git status");
    press(&mut desk, KeyPress::Enter);
    assert_eq!(desk.unsent(), ["git status"]);
    typed(&mut desk, "a note");
    desk.ask(question(1, "Run it?", QuestionKind::Model));
    typed(&mut desk, "n not");
    assert_eq!(desk.unsent(), ["a note", "git status", "n not"]);
    assert_eq!(desk.undecided_paste(), None);
}

#[test]
fn who_asks_is_told_to_show_the_question_again() {
    for kind in [QuestionKind::Step, QuestionKind::Undo] {
        let mut desk = PromptState::new(Vec::new());
        desk.ask(question(1, "Run it?", kind));
        typed(&mut desk, "?");
        let act = press(&mut desk, KeyPress::Enter);
        assert!(
            matches!(&act, Act::Answered { text, .. } if text == "?"),
            "{act:?}"
        );
    }
}

#[test]
fn the_enter_of_a_paste_answers_no_question() {
    let mut desk = PromptState::new(Vec::new());
    paste(&mut desk, "[DO]\nEND");
    desk.ask(question(1, "May I? [y/N]", QuestionKind::Undo));
    assert!(matches!(press(&mut desk, KeyPress::Enter), Act::Nothing));
    desk.last_paste = Some(Instant::now().checked_sub(PASTE_ENTER).unwrap());
    let act = press(&mut desk, KeyPress::Enter);
    assert!(matches!(act, Act::Answered { .. }), "{act:?}");
    desk.ask(question(2, "Which?", QuestionKind::Model));
    assert!(matches!(press(&mut desk, KeyPress::Enter), Act::Nothing));
    assert_eq!(shown(&desk), AT_MODEL);
}

#[test]
fn a_line_for_a_shell_is_asked_about_and_can_be_changed() {
    let mut desk = PromptState::new(Vec::new());
    typed(&mut desk, "git status");
    assert!(matches!(press(&mut desk, KeyPress::Enter), Act::Nothing));
    assert!(shown(&desk).contains("looks like a shell command"));
    press(&mut desk, KeyPress::Drop);
    assert_eq!(shown(&desk), "> git status");
    press(&mut desk, KeyPress::Enter);
    assert_eq!(
        entered(press(&mut desk, KeyPress::Enter)),
        Entry::Note("git status".to_owned())
    );
    desk.ask(question(1, "How is it tested?", QuestionKind::Model));
    typed(&mut desk, "git status");
    let act = press(&mut desk, KeyPress::Enter);
    assert!(matches!(act, Act::Answered { .. }), "{act:?}");
}

#[test]
fn a_line_typed_beside_a_question_about_another_takes_its_place() {
    let mut desk = PromptState::new(Vec::new());
    typed(&mut desk, "git status");
    press(&mut desk, KeyPress::Enter);
    typed(&mut desk, "please add colours");
    assert!(shown(&desk).contains("`git status` is not sent."));
    assert_eq!(
        entered(press(&mut desk, KeyPress::Enter)),
        Entry::Note("please add colours".to_owned())
    );
    press(&mut desk, KeyPress::Earlier);
    press(&mut desk, KeyPress::Earlier);
    assert_eq!(shown(&desk), "> git status");
    // A no sends nothing, a yes does.
    press(&mut desk, KeyPress::Enter);
    typed(&mut desk, "n");
    assert!(matches!(press(&mut desk, KeyPress::Enter), Act::Nothing));
    assert_eq!(shown(&desk), "> git status");
    press(&mut desk, KeyPress::Enter);
    typed(&mut desk, "y");
    assert_eq!(
        entered(press(&mut desk, KeyPress::Enter)),
        Entry::Note("git status".to_owned())
    );
}

#[test]
fn a_key_of_a_question_is_never_a_note() {
    let mut desk = PromptState::new(Vec::new());
    desk.ask(question(1, "May I?", QuestionKind::Undo));
    typed(&mut desk, "a");
    let act = press(&mut desk, KeyPress::Enter);
    assert!(
        matches!(&act, Act::Say(why) if why.ends_with("May I?")),
        "{act:?}"
    );
    typed(&mut desk, "q");
    let act = press(&mut desk, KeyPress::Enter);
    assert!(matches!(&act, Act::Answered { .. }), "{act:?}");
}

#[test]
fn a_plain_word_is_a_command_and_asked_about_where_it_may_be_an_answer() {
    let mut desk = PromptState::new(Vec::new());
    typed(&mut desk, "quit");
    assert_eq!(
        entered(press(&mut desk, KeyPress::Enter)),
        Entry::Command("quit".to_owned())
    );
    desk.ask(question(1, "Which word ends it?", QuestionKind::Model));
    typed(&mut desk, "quit");
    assert!(matches!(press(&mut desk, KeyPress::Enter), Act::Nothing));
    assert!(shown(&desk).contains("`/quit` is the command"));
    let act = press(&mut desk, KeyPress::Enter);
    assert!(matches!(act, Act::Answered { text, .. } if text == "quit"));
}

#[test]
fn a_reply_that_comes_in_pieces_is_put_together() {
    let mut desk = PromptState::new(Vec::new());
    paste(&mut desk, "[DO]\none\n");
    assert_eq!(
        entered(paste(&mut desk, "two\nEND")),
        Entry::Reply("[DO]\none\ntwo\nEND".to_owned())
    );
}

#[test]
fn a_paste_without_marks_may_pause_anywhere() {
    let mut desk = PromptState::new(Vec::new());
    press(&mut desk, KeyPress::Burst("[DO]\none\ntw".to_owned()));
    typed(&mut desk, "o");
    assert!(matches!(press(&mut desk, KeyPress::Enter), Act::Nothing));
    assert!(matches!(press(&mut desk, KeyPress::Enter), Act::Nothing));
    typed(&mut desk, "END");
    assert_eq!(
        entered(press(&mut desk, KeyPress::Enter)),
        Entry::Reply("[DO]\none\ntwo\n\nEND\n".to_owned())
    );
}

#[test]
fn other_lines_that_are_pasted_are_one_note_with_what_was_typed() {
    let mut desk = PromptState::new(Vec::new());
    typed(&mut desk, "it says:");
    paste(&mut desk, "error\n  at line 3\n");
    assert_eq!(
        entered(press(&mut desk, KeyPress::Enter)),
        Entry::Note("it says:\nerror\n  at line 3".to_owned())
    );
    paste(&mut desk, "one line\n");
    assert!(shown(&desk).starts_with("> one line\n"));
}

#[test]
fn what_cannot_be_a_reply_is_named() {
    let mut desk = PromptState::new(Vec::new());
    assert!(matches!(paste(&mut desk, "OURS\nx"), Act::Say(why) if why == "our own"));
    assert!(matches!(press(&mut desk, KeyPress::Enter), Act::Nothing));
}

#[test]
fn a_question_gets_the_line_and_the_half_typed_one_comes_back() {
    let mut desk = PromptState::new(Vec::new());
    typed(&mut desk, "half");
    assert!(!desk.ask(question(1, "Which?", QuestionKind::Model)));
    assert_eq!(shown(&desk), AT_MODEL);
    typed(&mut desk, "/usr/bin");
    let act = press(&mut desk, KeyPress::Enter);
    assert!(matches!(act, Act::Answered { text, again: None, .. } if text == "/usr/bin"));
    assert_eq!(shown(&desk), "> half");
}

#[test]
fn a_command_is_a_command_also_while_a_question_waits() {
    let mut desk = PromptState::new(Vec::new());
    desk.ask(question(1, "Which?", QuestionKind::Model));
    typed(&mut desk, "/status");
    assert_eq!(
        entered(press(&mut desk, KeyPress::Enter)),
        Entry::Command("/status".to_owned())
    );
    assert_eq!(shown(&desk), AT_MODEL);
}

#[test]
fn the_last_question_is_answered_first_and_the_one_before_is_shown_again() {
    let mut desk = PromptState::new(Vec::new());
    desk.ask(question(1, "First?", QuestionKind::Model));
    desk.ask(question(2, "Second?", QuestionKind::Model));
    desk.ask(question(3, "Third?", QuestionKind::Model));
    desk.withdraw(3);
    typed(&mut desk, "blue");
    let act = press(&mut desk, KeyPress::Enter);
    assert!(matches!(act, Act::Answered { again: Some(question), .. } if question == "First?"));
    desk.withdraw(1);
    assert!(shown(&desk).starts_with("> paste the reply"));
}

#[test]
fn the_tab_key_completes_as_far_as_it_is_certain() {
    let mut desk = PromptState::new(Vec::new());
    typed(&mut desk, "/s");
    assert!(
        matches!(press(&mut desk, KeyPress::Complete), Act::Say(words) if words == "/settings  /status")
    );
    typed(&mut desk, "t");
    press(&mut desk, KeyPress::Complete);
    assert_eq!(shown(&desk), "> /status ");
}

#[test]
fn ctrl_d_leaves_only_an_empty_line() {
    let mut desk = PromptState::new(Vec::new());
    typed(&mut desk, "ab");
    press(&mut desk, KeyPress::Go(Move::Start));
    assert!(matches!(
        press(&mut desk, KeyPress::DeleteOrLeave),
        Act::Nothing
    ));
    assert_eq!(shown(&desk), "> b");
    press(&mut desk, KeyPress::DeleteOrLeave);
    assert!(matches!(
        press(&mut desk, KeyPress::DeleteOrLeave),
        Act::Interrupt
    ));
}

#[test]
fn a_line_that_is_no_answer_is_a_note_and_the_question_stays() {
    let mut desk = PromptState::new(Vec::new());
    desk.ask(question(1, "May I? [y/N]", QuestionKind::Undo));
    typed(&mut desk, "use tabs");
    let act = press(&mut desk, KeyPress::Enter);
    assert!(
        matches!(&act, Act::Entered { entry: Entry::Note(line), why: Some(why), .. } if line == "use tabs" && why.ends_with("May I? [y/N]")),
        "{act:?}"
    );
    assert_eq!(shown(&desk), "? ");
    typed(&mut desk, "y");
    let act = press(&mut desk, KeyPress::Enter);
    assert!(matches!(act, Act::Answered { text, .. } if text == "y"));
}

#[test]
fn a_line_goes_to_the_last_question_that_takes_it() {
    let mut desk = PromptState::new(Vec::new());
    typed(&mut desk, "half");
    desk.ask(question(1, "Which?", QuestionKind::Model));
    desk.ask(question(2, "Press Enter.", QuestionKind::NextPart));
    typed(&mut desk, "blue");
    let act = press(&mut desk, KeyPress::Enter);
    assert!(
        matches!(&act, Act::Answered { text, again: Some(again), .. } if text == "blue" && again == "Press Enter."),
        "{act:?}"
    );
    let act = press(&mut desk, KeyPress::Enter);
    assert!(matches!(act, Act::Answered { again: None, .. }), "{act:?}");
    assert_eq!(shown(&desk), "> half");
}

#[test]
fn a_pasted_line_that_is_too_long_is_held_whole() {
    let mut desk = PromptState::new(vec!["x".repeat(MAX + 1)]);
    press(&mut desk, KeyPress::Earlier);
    typed(&mut desk, "it says:");
    let long = "x".repeat(MAX);
    paste(&mut desk, &long);
    let held =
        "1 line of 10,000 characters pasted.\nEnter: both are a note from me   Esc: drop the paste";
    assert_eq!(shown(&desk), format!("> it says:\n{held}"));
    assert_eq!(
        entered(press(&mut desk, KeyPress::Enter)),
        Entry::Note(format!("it says:\n{long}"))
    );
}

#[test]
fn a_line_that_is_full_says_so_once() {
    let mut desk = PromptState::new(Vec::new());
    paste(&mut desk, &"x".repeat(MAX));
    let mut said = || matches!(press(&mut desk, KeyPress::Character('y')), Act::Say(_));
    assert!(said() && !said());
    press(&mut desk, KeyPress::Delete(Move::Left));
    assert!(matches!(
        press(&mut desk, KeyPress::Character('y')),
        Act::Nothing
    ));
    assert!(matches!(
        press(&mut desk, KeyPress::Character('y')),
        Act::Say(_)
    ));
}

#[test]
fn beside_a_paste_keys_and_commands_are_no_words() {
    let held = |text: &str| {
        let mut desk = PromptState::new(Vec::new());
        paste(&mut desk, "first\nsecond\n");
        typed(&mut desk, text);
        let act = press(&mut desk, KeyPress::Enter);
        (desk, act)
    };
    let (desk, act) = held("?");
    assert!(
        matches!(&act, Act::Say(told) if told.contains("no complete command")),
        "{act:?}"
    );
    assert!(shown(&desk).contains("2 lines pasted"));
    for key in ["q", "d"] {
        let (desk, act) = held(key);
        assert!(
            matches!(&act, Act::Say(told) if told.contains("is no answer here")),
            "{act:?}"
        );
        assert!(shown(&desk).contains("2 lines pasted"));
    }
    for command in ["quit", "/status"] {
        let (desk, act) = held(command);
        assert_eq!(entered(act), Entry::Command(command.to_owned()));
        assert!(shown(&desk).contains("2 lines pasted"));
    }
    let (_, act) = held("y");
    assert_eq!(entered(act), Entry::Reply("first\nsecond\n".to_owned()));
    // The paste stays what it is.
    let (_, act) = held("and use tabs");
    assert!(
        matches!(&act, Act::Entered { note: Some(note), .. } if note == "and use tabs"),
        "{act:?}"
    );
    assert_eq!(entered(act), Entry::Reply("first\nsecond\n".to_owned()));
}

#[test]
fn words_beside_a_paste_with_commands_are_a_note_of_their_own() {
    for is_first in [true, false] {
        let mut desk = PromptState::new(Vec::new());
        if is_first {
            typed(&mut desk, "use tabs, please");
        }
        paste(&mut desk, "[DO]\nx\n");
        if !is_first {
            typed(&mut desk, "use tabs, please");
        }
        let words = "Enter: the paste is the reply, the line a note from me   Esc: drop the paste";
        assert!(shown(&desk).contains(words), "{}", shown(&desk));
        let act = press(&mut desk, KeyPress::Enter);
        assert!(
            matches!(&act, Act::Entered { note: Some(note), .. } if note == "use tabs, please"),
            "{act:?}"
        );
        assert_eq!(entered(act), Entry::Reply("[DO]\nx\n".to_owned()));
        press(&mut desk, KeyPress::Earlier);
        assert_eq!(shown(&desk), "> use tabs, please");
    }
}

#[test]
fn a_pasted_line_is_said_to_be_a_note_unless_it_begins_like_a_reply() {
    let mut desk = PromptState::new(Vec::new());
    paste(&mut desk, "Which colour do you want?\n");
    let words = "> Which colour do you want?\n1 line pasted. Enter: a note for the model, not its reply   Esc: drop";
    assert_eq!(shown(&desk), words);
    press(&mut desk, KeyPress::Drop);
    typed(&mut desk, "typed");
    assert_eq!(shown(&desk), "> typed");
    press(&mut desk, KeyPress::Drop);
    paste(&mut desk, "/status");
    assert_eq!(shown(&desk), "> /status");
    press(&mut desk, KeyPress::Drop);
    desk.ask(question(1, "Do it?", QuestionKind::Undo));
    paste(&mut desk, "y");
    assert_eq!(shown(&desk), "? y");
    let mut desk = PromptState::new(Vec::new());
    paste(&mut desk, "[ERROR] no such file");
    assert!(shown(&desk).starts_with("> [ERROR]"), "{}", shown(&desk));
    let mut desk = PromptState::new(Vec::new());
    paste(&mut desk, "[CREATE_FILE path=\"a\"]\n");
    assert!(shown(&desk).contains("Enter: it is the chat's reply"));
    assert!(desk.line.is_empty());
}

#[test]
fn the_prompt_says_that_typing_answers_the_model() {
    let mut desk = PromptState::new(Vec::new());
    desk.ask(question(1, "Which?", QuestionKind::Model));
    assert!(shown(&desk).starts_with("? type your answer to the model"));
    desk.ask(question(2, "Do it?", QuestionKind::Undo));
    assert_eq!(shown(&desk), "? ");
}

#[test]
fn a_models_question_is_shown_again_beside_a_paste() {
    let mut desk = PromptState::new(Vec::new());
    desk.ask(question(1, "Which?", QuestionKind::Model));
    paste(&mut desk, "first\nsecond\n");
    typed(&mut desk, "?");
    let act = press(&mut desk, KeyPress::Enter);
    assert!(
        matches!(&act, Act::Answered { text, .. } if text == "?"),
        "{act:?}"
    );
    desk.ask(question(1, "Which?", QuestionKind::Model));
    assert!(shown(&desk).contains("2 lines pasted"));
    let act = press(&mut desk, KeyPress::Enter);
    assert!(
        matches!(&act, Act::Answered { text, .. } if text == "first\nsecond"),
        "{act:?}"
    );
}

#[test]
fn a_line_that_another_one_replaced_is_told_of() {
    let mut desk = PromptState::new(Vec::new());
    typed(&mut desk, "git status");
    press(&mut desk, KeyPress::Enter);
    typed(&mut desk, "please add colours");
    let act = press(&mut desk, KeyPress::Enter);
    assert!(
        matches!(&act, Act::Entered { why: Some(why), .. } if why.contains("`git status` was not sent")),
        "{act:?}"
    );
}

#[test]
fn what_is_held_belongs_to_the_question_that_it_came_at() {
    let mut desk = PromptState::new(Vec::new());
    typed(&mut desk, "git status");
    press(&mut desk, KeyPress::Enter);
    desk.ask(question(1, "Which?", QuestionKind::Model));
    assert_eq!(shown(&desk), AT_MODEL);
    let act = press(&mut desk, KeyPress::Enter);
    assert!(
        matches!(&act, Act::Say(told) if told == "The question has changed. Which?"),
        "{act:?}"
    );
    // A second paste is the answer, and the first text waits.
    paste(&mut desk, "first\nsecond\n");
    assert!(shown(&desk).contains("Enter: it is my answer"));
    desk.ask(question(2, "Do it?", QuestionKind::Undo));
    assert_eq!(shown(&desk), "? ");
    let act = press(&mut desk, KeyPress::Enter);
    assert!(
        matches!(&act, Act::Say(told) if told.ends_with("Do it?")),
        "{act:?}"
    );
    desk.last_paste = None;
    let act = press(&mut desk, KeyPress::Enter);
    assert!(matches!(act, Act::Answered { .. }), "{act:?}");
    assert!(shown(&desk).contains("Enter: it is my answer"));
    let act = press(&mut desk, KeyPress::Enter);
    assert!(
        matches!(&act, Act::Answered { text, .. } if text == "first\nsecond"),
        "{act:?}"
    );
    assert!(shown(&desk).contains("looks like a shell command"));
    assert_eq!(desk.unsent(), ["git status"]);
}

#[test]
fn what_was_held_at_a_question_that_is_gone_is_asked_about_anew() {
    let mut desk = PromptState::new(Vec::new());
    paste(&mut desk, "[DO]\nx\n");
    desk.ask(question(1, "Which?", QuestionKind::Model));
    paste(&mut desk, "first\nsecond\n");
    desk.withdraw(1);
    let act = press(&mut desk, KeyPress::Enter);
    assert!(
        matches!(&act, Act::Say(told) if told.contains("no complete command")),
        "{act:?}"
    );
    press(&mut desk, KeyPress::Drop);
    assert!(shown(&desk).contains("without the end mark"));
    assert_eq!(desk.undecided_paste(), Some("[DO]\nx\n"));
    press(&mut desk, KeyPress::Drop);
    desk.ask(question(2, "Which?", QuestionKind::Model));
    typed(&mut desk, "quit");
    press(&mut desk, KeyPress::Enter);
    desk.withdraw(2);
    assert!(matches!(press(&mut desk, KeyPress::Enter), Act::Nothing));
    press(&mut desk, KeyPress::Earlier);
    assert_eq!(shown(&desk), "> quit");
}

#[test]
fn the_pieces_of_a_paste_stay_together_when_a_question_comes() {
    let mut desk = PromptState::new(Vec::new());
    press(&mut desk, KeyPress::Burst("[DO]\none\n".to_owned()));
    desk.ask(question(1, "Which?", QuestionKind::Model));
    typed(&mut desk, "END");
    assert_eq!(
        entered(press(&mut desk, KeyPress::Enter)),
        Entry::Reply("[DO]\none\nEND\n".to_owned())
    );
}

#[test]
fn the_enter_of_a_half_typed_note_answers_no_question() {
    let mut desk = PromptState::new(Vec::new());
    typed(&mut desk, "half");
    desk.ask(question(1, "Do it?", QuestionKind::Undo));
    let act = press(&mut desk, KeyPress::Enter);
    assert!(
        matches!(&act, Act::Say(told) if told.ends_with("Do it?")),
        "{act:?}"
    );
    let act = press(&mut desk, KeyPress::Enter);
    assert!(matches!(act, Act::Answered { .. }), "{act:?}");
    assert_eq!(shown(&desk), "> half");
}

#[test]
fn a_word_or_a_shell_command_makes_no_note_of_a_paste() {
    for slip in ["ok", "reply", "git status"] {
        let mut desk = PromptState::new(Vec::new());
        paste(&mut desk, "first\nsecond\n");
        typed(&mut desk, slip);
        assert!(
            shown(&desk).contains("Enter: it is the chat's reply"),
            "{slip}"
        );
        let act = press(&mut desk, KeyPress::Enter);
        assert!(
            matches!(&act, Act::Say(told) if told.contains("is no answer here")),
            "{act:?}"
        );
        assert!(shown(&desk).contains("2 lines pasted"), "{slip}");
    }
    // A word before the paste leads to it.
    let mut desk = PromptState::new(Vec::new());
    typed(&mut desk, "error:");
    paste(&mut desk, "first\nsecond\n");
    assert!(shown(&desk).contains("Enter: both are a note from me   Esc: drop the paste"));
    assert_eq!(
        entered(press(&mut desk, KeyPress::Enter)),
        Entry::Note("error:\nfirst\nsecond".to_owned())
    );
}

#[test]
fn a_paste_is_no_answer_to_a_decision() {
    let at_plan = |line: &str| {
        let mut desk = PromptState::new(Vec::new());
        desk.ask(question(1, "Approve the plan?", QuestionKind::Plan));
        paste(&mut desk, "first\nsecond\n");
        let words = "Enter: it is the chat's reply   n Enter: no, with it as the reason";
        assert!(shown(&desk).contains(words), "{}", shown(&desk));
        typed(&mut desk, line);
        (press(&mut desk, KeyPress::Enter), desk)
    };
    let (act, _) = at_plan("");
    assert!(
        matches!(&act, Act::Entered { entry: Entry::Reply(_), why: Some(why), .. } if why.starts_with("The reply is kept")),
        "{act:?}"
    );
    for (line, answer) in [
        ("n", "n\nfirst\nsecond"),
        ("n too long:", "n too long:\nfirst\nsecond"),
    ] {
        let (act, _) = at_plan(line);
        assert!(
            matches!(&act, Act::Answered { text, .. } if text == answer),
            "{act:?}"
        );
    }
    for slip in ["y", "q", "make it short"] {
        let (act, desk) = at_plan(slip);
        assert!(
            matches!(&act, Act::Say(told) if told.contains("is no answer here")),
            "{act:?}"
        );
        assert!(shown(&desk).contains("2 lines pasted"), "{slip}");
    }
}

#[test]
fn a_question_mark_repeats_the_question_about_a_typed_line() {
    let mut desk = PromptState::new(Vec::new());
    typed(&mut desk, "git status");
    press(&mut desk, KeyPress::Enter);
    typed(&mut desk, "?");
    assert!(shown(&desk).contains("looks like a shell command"));
    let act = press(&mut desk, KeyPress::Enter);
    assert!(
        matches!(&act, Act::Say(told) if told.starts_with("That looks like a shell command")),
        "{act:?}"
    );
    assert_eq!(
        entered(press(&mut desk, KeyPress::Enter)),
        Entry::Note("git status".to_owned())
    );
}
