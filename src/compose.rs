//! Turns a session into the text of the next outbox.
//!
//! Four sections in a fixed order: header, protocol, context, prompt. No paste and no file exceeds
//! what the chat takes (`carriage`): what is cut, and in which order, is decided in `budget`, and
//! each cut says so in the text; what is too long for one paste all the same goes in `parts` or as
//! an attachment. Writing it to files is left to `mailbox`.

pub mod budget;
mod carriage;
mod changed;
mod check;
mod content;
mod contents;
mod cuts;
mod filling;
mod gathered;
mod handover;
mod history;
mod instructions;
mod listing;
mod meter;
pub mod parts;
mod passage;
mod places;
mod promises;
mod relevance;
mod results;
mod titles;
mod unasked;
mod words;

use std::time::Duration;

use self::budget::Claim;
pub use self::carriage::{Carriage, FileLimit, TooLong};
use self::carriage::{Made, Room};
pub use self::content::{Content, fenced};
use self::cuts::Cuts;
pub use self::gathered::gather;
pub use self::handover::{Handover, hand_over, is_handover};
pub use self::instructions::example as example_instructions;
pub use self::listing::{Listing, ListingChanges};
pub use self::meter::{Meter, Takes, estimated_tokens, measure};
pub use self::parts::Limit;
pub use self::places::{ErrorLocation, places};
use self::promises::Promises;
use self::relevance::Relevance;
pub use self::relevance::{
    NamedFile, companions, identifiers, is_beside_sources, is_changelog, is_test, named, named_in,
    tests_and_sources,
};
use crate::protocol::{RelPath, ShellLanguage, ShownLines};
use crate::session::Session;

/// The material of a message.
#[derive(Debug)]
pub struct Material<'a> {
    /// The session, with what the last round told.
    pub session: &'a Session,
    /// The files of the workspace as they are now.
    pub listing: &'a Listing,
    /// The files as the last outbox showed them; nothing before the first.
    pub shown_before: Option<&'a Listing>,
    /// The contents that the model asked for, in the order of the session's requests.
    pub contents: &'a [Content],
    /// The files that the task names.
    pub named_files: &'a [NamedFile<'a>],
    /// Their contents.
    pub named: &'a [Content],
    /// Content that the model did not ask for and will need next.
    pub unasked: &'a [Content],
    /// The person's changes, as a diff; empty if there are none.
    pub changed: &'a str,
    /// The project's instructions, the general before the specific.
    pub project: &'a [Content],
    /// Files that have rare words of the task in them.
    pub mentions: &'a [RelPath],
    /// The facts about this session for the instructions.
    pub facts: Facts,
    /// The most items that the listing shows.
    pub max_list_items: usize,
    /// How it travels.
    pub carriage: Carriage,
}

/// Facts in the instructions that depend on the settings.
#[derive(Debug, Clone, Copy)]
pub struct Facts {
    /// How long a command runs that names no time of its own.
    pub command_timeout: Duration,
    /// The longest time that a command can ask for.
    pub max_command_timeout: Duration,
    /// The language of the scripts that commands run.
    pub shell: ShellLanguage,
    /// True if commands are run at all.
    pub runs_commands: bool,
    /// True if the workspace is a git repository.
    pub has_repository: bool,
    /// True if secrets are kept from the chat.
    pub conceals_secrets: bool,
    /// Who takes messages to the model.
    pub carrier: MessageCarrier,
}

/// Who takes messages to the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageCarrier {
    /// The person, by copying and pasting.
    Person,
    /// An API.
    Api,
}

/// The material of the answer to one call.
#[derive(Debug)]
pub struct AnswerMaterial<'a> {
    /// The session, with nothing but the call's own result, and words of the person that are new.
    pub session: &'a Session,
    /// The contents that the call asked for.
    pub contents: &'a [Content],
    /// True if the check was run because of the call.
    pub tells_check: bool,
    /// The most characters.
    pub room: usize,
}

/// The text of an outbox and how it came to its size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outbox {
    /// The whole message.
    pub text: String,
    /// How it gets into the chat.
    pub form: OutboxForm,
    /// The omissions for lack of room, in words for the person.
    pub cuts: Vec<String>,
    /// The lines of files that it shows.
    pub shown: Vec<ShownLines>,
    /// True if it tells of the person's changes, or that some are missing.
    pub tells_changes: bool,
    /// The steps whose results it does not tell in full, by their numbers.
    pub cut_results: Vec<u32>,
    /// How many lines of each of the project's instructions it shows, if it does at all.
    pub project: Vec<Option<usize>>,
}

/// How a message gets into the chat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OutboxForm {
    /// In one paste.
    Whole,
    /// In these, one after the other.
    Parts(Vec<String>),
    /// As a file, beside this.
    Attached {
        /// The text to paste.
        message: String,
    },
}

/// A section of the context, before it is cut to its room.
trait Section {
    /// Its claims, one for each thing that can be cut on its own.
    fn claims(&self) -> Vec<Claim>;

    /// The text, with so much room for each claim; says what it had to cut.
    fn fit(&self, rooms: &[usize], cuts: &mut Cuts) -> String;
}

/// Takes out of a text what the chat must not read; to do it again changes nothing.
pub type Veil<'a> = dyn FnMut(&mut String) + 'a;

/// Writes the outbox of the session's current round.
///
/// The material has been through the veil already: the text goes through it once more before it is
/// measured and split, for what only the whole tells.
pub fn compose(material: &Material<'_>, veil: &mut Veil<'_>) -> Outbox {
    compose_in(MessageFrame::Whole, material, veil)
}

/// Writes what a chat must know that begins or goes on by calls: a message without its instructions and
/// its prompt.
pub fn compose_overview(material: &Material<'_>, veil: &mut Veil<'_>) -> Outbox {
    compose_in(MessageFrame::ContextOnly, material, veil)
}

/// The text around the context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MessageFrame {
    Whole,
    ContextOnly,
}

fn compose_in(frame: MessageFrame, material: &Material<'_>, veil: &mut Veil<'_>) -> Outbox {
    let mut promises = Promises::new(material.session, material.contents);
    let made = loop {
        let made = {
            let mut draft = MessageDraft::of(&Material {
                session: promises.session(),
                contents: promises.contents(),
                ..*material
            });
            if frame == MessageFrame::ContextOnly {
                draft.head.clear();
                draft.prompt.clear();
            }
            (material.carriage).fitted(veil, |room| draft.fit(room))
        };
        if !promises.are_broken_by(&made.cuts) {
            break made;
        }
    };
    outbox(made, material.session, material.carriage, veil)
}

/// Writes the answer to one call: what the next message would say of it.
pub fn compose_answer(material: &AnswerMaterial<'_>, veil: &mut Veil<'_>) -> Outbox {
    let mut promises = Promises::new(material.session, material.contents);
    let (mut text, cuts) = loop {
        let (text, cuts) = {
            let session = promises.session();
            let mut sections: Vec<Box<dyn Section + '_>> = vec![
                Box::new(results::Results::new(session)),
                Box::new(contents::requested(promises.contents())),
                Box::new(words::section(session)),
            ];
            if material.tells_check {
                sections.push(Box::new(check::section(session)));
            }
            filling::fill(&sections, material.room)
        };
        if !promises.are_broken_by(&cuts) {
            break (text, cuts);
        }
    };
    veil(&mut text);
    // The result comes first and needs no heading.
    let text = text.strip_prefix(results::HEADING).unwrap_or(&text);
    let made = Made {
        text: text.trim_start_matches('\n').to_owned(),
        cuts,
        pastes: 1,
    };
    Outbox {
        form: OutboxForm::Whole,
        ..outbox(
            made,
            material.session,
            Carriage::of_answer(material.room),
            veil,
        )
    }
}

/// A message as it goes out.
fn outbox(made: Made, session: &Session, carriage: Carriage, veil: &mut Veil<'_>) -> Outbox {
    let Made { text, cuts, .. } = made;
    Outbox {
        form: form(&text, session, carriage, veil),
        text,
        cuts: cuts.words,
        shown: cuts.shown,
        tells_changes: cuts.tells_changes,
        cut_results: cuts.results,
        project: cuts.project,
    }
}

/// How a text that has been through the veil gets into the chat.
fn form(text: &str, session: &Session, carriage: Carriage, veil: &mut Veil<'_>) -> OutboxForm {
    let limit = carriage.limit;
    match carriage.too_long {
        TooLong::Attachment { above, .. } if chars(text) > above || !limit.holds(text) => {
            let mut message = instructions::beside_attachment(session);
            veil(&mut message);
            OutboxForm::Attached { message }
        }
        _ if limit.holds(text) => OutboxForm::Whole,
        _ => OutboxForm::Parts(parts::split(text, limit)),
    }
}

/// The length of a whole section.
fn length(section: &dyn Section) -> usize {
    section.claims().iter().map(|claim| claim.need).sum()
}

/// A section in this room.
fn fit(section: &dyn Section, room: usize, cuts: &mut Cuts) -> String {
    section.fit(&budget::divide(&section.claims(), room), cuts)
}

/// A message before it is cut to its length.
struct MessageDraft<'a> {
    /// The header, the protocol and the beginning of the context.
    head: String,
    sections: Vec<Box<dyn Section + 'a>>,
    prompt: String,
}

impl<'a> MessageDraft<'a> {
    fn of(material: &Material<'a>) -> Self {
        let session = material.session;
        let relevance = match material.shown_before {
            None => relevance::relevance(
                session,
                material.listing,
                material.named_files,
                material.mentions,
            ),
            Some(_) => Relevance::default(),
        };
        Self {
            head: head(session, material.facts),
            sections: vec![
                Box::new(check::section(session)),
                Box::new(listing::section(
                    material.listing,
                    material.shown_before,
                    || relevance,
                    material.max_list_items,
                )),
                Box::new(contents::project(material.project)),
                Box::new(history::section(&session.history)),
                Box::new(results::Results::new(session)),
                Box::new(contents::requested(material.contents)),
                Box::new(changed::section(material.changed)),
                Box::new(contents::named(material.named)),
                Box::new(unasked::section(material.unasked)),
                Box::new(words::section(session)),
            ],
            prompt: format!("=== PROMPT ===\n{}", instructions::prompt(session)),
        }
    }

    fn fixed(&self) -> usize {
        chars(&self.head) + chars(&self.prompt) + 2
    }

    fn claims(&self) -> Vec<Claim> {
        let claims = self.sections.iter().map(|section| section.claims());
        claims.flatten().collect()
    }

    /// How many pastes it takes to tell all that is worth one.
    fn pastes(&self, room: Room) -> usize {
        let required = self.fixed() + budget::required(&self.claims());
        (1..room.pastes)
            .find(|pastes| required <= room.of(*pastes))
            .unwrap_or(room.pastes)
    }

    /// The whole text, in as many pastes as it takes.
    fn fit(&self, room: Room) -> Made {
        let pastes = self.pastes(room);
        let room = room.of(pastes).saturating_sub(self.fixed());
        let (context, cuts) = filling::fill(&self.sections, room);
        let (head, prompt) = (&self.head, &self.prompt);
        let context = context.trim_start_matches('\n');
        Made {
            text: format!("{head}{context}\n{prompt}"),
            cuts,
            pastes,
        }
    }
}

/// The header, the protocol and the beginning of the context.
fn head(session: &Session, facts: Facts) -> String {
    format!(
        "{}=== PROTOCOL ===\n{}\n\n=== CONTEXT ===\n",
        header(session, &instructions::tasks(session)),
        instructions::text(session, facts),
    )
}

/// The first section.
fn header(session: &Session, tasks: &str) -> String {
    format!(
        "=== HEADER ===\nSession: {}\nSequence: {}\nTask: {tasks}\nProtocol: 2\n\n",
        session.session_id, session.sequence_number,
    )
}

/// The number of characters of a text, which is what chats count.
fn chars(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests;
