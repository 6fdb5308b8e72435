//! The person at the client, as the engine knows them.
//!
//! Questions are files, as always, and the first answer wins. A client that can show a form
//! shows it; else, or if a question is too long for a form, the call waits until the person decides
//! elsewhere, and the client hears what it waits for.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use agent_mcp::{ElicitAnswer, ElicitChoice, elicitation};

use super::connection::Connection;
use crate::approve::{Answer, Attending, Input, Pending, Person, Question, Verdict};
use crate::escape::escape_text;
use crate::interrupt::Interrupt;
use crate::protocol::{Event, EventSink, QuestionKind};

/// The longest question that a form shows, in characters: nobody approves what they cannot see whole.
const LONGEST_SHOWN: usize = 6_000;

/// How often the client hears that the person is waited for.
const BETWEEN_REMINDERS: Duration = Duration::from_secs(5);

const YES: ElicitChoice = ElicitChoice {
    word: "yes",
    title: "Yes",
};
const NO: ElicitChoice = ElicitChoice {
    word: "no",
    title: "No",
};
const ALWAYS: ElicitChoice = ElicitChoice {
    word: "always",
    title: "Always",
};

/// The most of a command's latest output that is looked through for secrets, in bytes: one may have
/// several lines.
const LOOKED_THROUGH: usize = 16 << 10;

/// The longest title in the words about waiting, in characters: what helps must not be cut.
const LONGEST_TITLE: usize = 120;

/// The person at the client.
#[derive(Debug)]
pub(super) struct ClientPerson {
    connection: Arc<Connection>,
    input: Input,
    /// The latest output of the command that runs.
    printed: Mutex<String>,
}

impl ClientPerson {
    pub(super) fn new(connection: Arc<Connection>, input: Input) -> Self {
        Self {
            connection,
            input,
            printed: Mutex::default(),
        }
    }

    /// Tells the last whole line of the output, with secrets covered. Half a line may have half a secret.
    fn tell_output(&self, text: &str, omitted: usize) {
        let mut printed = self.printed.lock().unwrap_or_else(PoisonError::into_inner);
        if omitted > 0 {
            printed.clear();
        }
        printed.push_str(text);
        let surplus = printed.len().saturating_sub(LOOKED_THROUGH);
        if surplus > 0 {
            let cut = printed.ceil_char_boundary(surplus);
            // From the next whole line on.
            let cut = printed[cut..]
                .find('\n')
                .map_or(printed.len(), |end| cut + end + 1);
            printed.drain(..cut);
        }
        let Some(end) = printed.rfind(['\n', '\r']) else {
            return;
        };
        if !self.connection.is_progress_due() {
            return;
        }
        let covered = self.connection.covered(&printed[..end]);
        drop(printed);
        let lines = covered.as_deref().map(|text| text.split(['\n', '\r']));
        let last = lines.and_then(|lines| lines.rev().find(|line| !line.trim().is_empty()));
        self.connection.tell_progress(last);
    }
}

impl EventSink for ClientPerson {
    fn emit(&self, event: Event) {
        match event {
            Event::Running { script, .. } => {
                (self.printed.lock().unwrap_or_else(PoisonError::into_inner)).clear();
                let covered = self.connection.covered(&script);
                let first = covered.as_deref().and_then(|script| script.lines().next());
                let words = first.map(|first| format!("runs: {first}"));
                self.connection.tell_progress(words.as_deref());
            }
            Event::Output { text, omitted, .. } => self.tell_output(&text, omitted),
            Event::Notice { text } => tracing::info!("{text}"),
            Event::Trouble { message, .. } => tracing::warn!("{message}"),
            _ => {}
        }
    }
}

impl Person for ClientPerson {
    fn input(&self) -> Input {
        self.input
    }

    /// Somebody can be asked while a client that has forms waits for a call.
    fn is_interactive(&self) -> bool {
        self.input == Input::Wait
            && self.connection.has_elicitation()
            && self.connection.is_in_call()
    }

    fn ask(&self, _: &Question, _: &Interrupt) -> Answer {
        Answer::Nobody
    }

    fn attend(
        &self,
        pending: &Pending,
        questions: &[Question],
        _: &Interrupt,
    ) -> Option<Attending> {
        let question = questions
            .iter()
            .find(|question| pending.decision_on(question).is_none())?;
        let (stop, stopped) = mpsc::channel::<()>();
        let asking = self.elicit(pending, question);
        let waits_for = waiting(question, asking.is_some());
        let waits_for = self.connection.covered(&waits_for);
        if asking.is_none() {
            let words = waits_for.as_deref().unwrap_or("waits for the user");
            self.connection.tell_notice(words);
        }
        let connection = Arc::clone(&self.connection);
        let reminding = thread::spawn(move || {
            loop {
                connection.tell_progress(waits_for.as_deref());
                match stopped.recv_timeout(BETWEEN_REMINDERS) {
                    Err(RecvTimeoutError::Timeout) => {}
                    Ok(()) | Err(RecvTimeoutError::Disconnected) => return,
                }
            }
        });
        Some(Attending::until(move || {
            drop(stop);
            let _ = reminding.join();
            if let Some((end, thread)) = asking {
                let _ = end.send(None);
                let _ = thread.join();
            }
        }))
    }
}

type Elicited = (
    mpsc::Sender<Option<serde_json::Value>>,
    thread::JoinHandle<()>,
);

impl ClientPerson {
    /// Shows a question as a form, if the client has forms, it is short enough, and it has no secret:
    /// nobody knows where a client sends a form.
    fn elicit(&self, pending: &Pending, question: &Question) -> Option<Elicited> {
        if !self.connection.has_elicitation() {
            return None;
        }
        let form = QuestionForm::of(question)?;
        if question.kind != QuestionKind::Secrets
            && self.connection.covered(&form.message)? != form.message
        {
            return None;
        }
        let params = elicitation(&form.message, &form.choices, form.text_title);
        let asked = self.connection.ask("elicitation/create", &params);
        let way_in = asked.way_in();
        let (pending, question) = (pending.clone(), question.clone());
        let thread = thread::spawn(move || {
            let answer = asked.answer();
            let answer = ElicitAnswer::read(answer.as_ref(), &form.choices);
            if let Some(verdict) = verdict(&question, answer) {
                // Should it not be the first answer, the first one holds.
                let _ = pending.decide(&question, &verdict);
            }
        });
        Some((way_in, thread))
    }
}

/// A question as a form.
#[derive(Debug)]
struct QuestionForm {
    message: String,
    choices: Vec<ElicitChoice>,
    text_title: &'static str,
}

impl QuestionForm {
    fn of(question: &Question) -> Option<Self> {
        if question.shown.chars().count() > LONGEST_SHOWN {
            return None;
        }
        let shown = escape_text(&question.shown);
        let title = escape_text(&question.title);
        let (message, choices) = match question.kind {
            QuestionKind::Model => (format!("The model asks:\n{shown}"), Vec::new()),
            QuestionKind::Step => {
                let mut choices = vec![YES, NO];
                let mut always = String::new();
                if let Some(proposal) = &question.proposal {
                    choices.push(ALWAYS);
                    always = format!("\n\"Always\" allows from now on: {}", escape_text(proposal));
                }
                let asked = if question.is_about_script() {
                    format!("Run {title}?")
                } else {
                    format!("Allow this change: {title}?")
                };
                let message = format!(
                    "{asked}\n\n{shown}\n\nWhy: {}\nWhat it may do: {}{always}",
                    escape_text(&question.why),
                    escape_text(&question.may),
                );
                (message, choices)
            }
            QuestionKind::Network => (
                format!(
                    "This command failed, probably for lack of a network. Run it again with the network?\n\n{shown}\n\n\"Always\" gives the network to every command of this session."
                ),
                vec![YES, NO, ALWAYS],
            ),
            QuestionKind::Plan => (
                format!("The model's plan:\n\n{shown}\n\nMay it begin?"),
                vec![YES, NO],
            ),
            QuestionKind::Secrets => (
                format!(
                    "Send these values to the chat as they are? {}\n\n{shown}",
                    escape_text(&question.why)
                ),
                vec![YES, NO],
            ),
            QuestionKind::CheckCannotRun => (
                format!("Your check `{title}` cannot run: {shown}\nBegin all the same?"),
                vec![YES, NO],
            ),
            _ => return None,
        };
        let text_title = if choices.is_empty() {
            "Your answer"
        } else {
            "A word to the model, if you say no"
        };
        Some(Self {
            message,
            choices,
            text_title,
        })
    }
}

/// The decision that an answer is, if it is one.
fn verdict(question: &Question, answer: ElicitAnswer) -> Option<Verdict> {
    match answer {
        ElicitAnswer::Chosen { word, text } => match (word.as_str(), text) {
            ("yes", _) => Some(Verdict::Yes),
            ("always", _) => Some(Verdict::Always),
            ("no", reason) => Some(Verdict::No { reason }),
            ("", Some(text)) => Some(Verdict::Say { text }),
            _ => None,
        },
        ElicitAnswer::Declined if question.kind == QuestionKind::Model => Some(Verdict::Skip),
        ElicitAnswer::Declined => Some(Verdict::No { reason: None }),
        ElicitAnswer::Nobody => None,
    }
}

/// Says to the chat what a call waits for, and where the person decides; in the client only if it shows
/// a form.
fn waiting(question: &Question, has_form: bool) -> String {
    let here = if has_form { "here, " } else { "" };
    if question.kind == QuestionKind::Model {
        return format!(
            "waits for the user's answer; they answer {here}with `agent say` or on the page of `agent serve`"
        );
    }
    let mut title: String = question.title.chars().take(LONGEST_TITLE).collect();
    if title.len() < question.title.len() {
        title.push_str("...");
    }
    format!(
        "waits for the user's decision about {title}; they decide {here}with `agent approve {key}` or `agent decline {key}`, or on the page of `agent serve`",
        key = question.key()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_shows_a_question_whole_or_not_at_all() {
        let mut question = Question::about_network(1, 2, "curl \u{1b}[2J example.org");
        let form = QuestionForm::of(&question).unwrap();
        assert!(form.message.contains("curl"), "{}", form.message);
        assert!(!form.message.contains('\u{1b}'), "{}", form.message);
        assert_eq!(form.choices, [YES, NO, ALWAYS]);
        question.shown = "x".repeat(LONGEST_SHOWN + 1);
        assert!(QuestionForm::of(&question).is_none());
    }

    #[test]
    fn only_a_decision_decides() {
        let question = Question::of_model(1, "tabs?");
        assert!(QuestionForm::of(&question).unwrap().choices.is_empty());
        let said = ElicitAnswer::Chosen {
            word: String::new(),
            text: Some("tabs".to_owned()),
        };
        let text = "tabs".to_owned();
        assert_eq!(verdict(&question, said), Some(Verdict::Say { text }));
        assert_eq!(verdict(&question, ElicitAnswer::Nobody), None);
        let step = Question::about_network(1, 2, "curl");
        let no = verdict(&step, ElicitAnswer::Declined);
        assert_eq!(no, Some(Verdict::No { reason: None }));
    }
}
