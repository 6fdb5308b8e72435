//! Commands that seem to be only talked about: in backticks among words, in a quoted part, or with
//! words on the tag's own line. They are not done.
//!
//! Whether that is a failure, which keeps the session open, is decided when the whole reply is
//! known: what is done elsewhere in it was only announced.

use super::{Assembly, has_effects, number};
use crate::line::is_blank_or_fence;
use crate::tags::{self, Around, Kind, Name, Opening, TagLine, build};
use crate::trim::{is_blank, trim};
use crate::work;
use agent_protocol::Command;

/// What is known of such commands.
#[derive(Default)]
pub(super) struct Talk {
    /// The tags in backticks that were looked at last, which follow one another.
    run: Option<Run>,
    doubted: Vec<Doubted>,
}

/// Tags in backticks with only blank lines between them: what stands around all of them tells what
/// they are.
struct Run {
    /// The line below.
    end: usize,
    is_among_words: bool,
}

/// A command that was not done and is malformed unless it was only talked about.
struct Doubted {
    /// The line of its issue.
    line: u32,
    meant: Meant,
}

/// What it would have been.
pub(super) enum Meant {
    /// Nothing that could be done.
    Nothing,
    /// Certainly to be done.
    Certain,
    /// This command.
    Command(Command),
    /// Some command of this name.
    Named(Name),
    /// A change of some file.
    Change,
    /// A command of this name, announced with these words if one of them follows.
    Announced(Name, String),
}

impl Meant {
    /// A command of this name, if the words on the line of its tag do not announce one that follows.
    pub(super) fn announced(name: Name, words: &str) -> Self {
        const MAX_CHARS: usize = 400;
        Self::Announced(name, words.chars().take(MAX_CHARS).collect())
    }
}

impl Assembly<'_> {
    /// Points out a command in backticks that has words around it, and so is only talked about.
    /// Returns the line below it.
    ///
    /// One that only looks may be done, and one whose closing tag is dressed alike is meant.
    pub(super) fn quotation(&mut self, tag: &TagLine<'_>, name: Name) -> Option<usize> {
        if !tag.before.contains('`') || !self.is_among_words(tag.line) || !name.has_effects() {
            return None;
        }
        let next = self.tags.below(tag.line + 1).first();
        let closing = next
            .filter(|next| matches!(&next.kind, Kind::Close { name: other, .. } if *other == name));
        if closing.is_some_and(|closing| closing.before.contains('`')) {
            return None;
        }
        let meant = match closing {
            Some(_) => Meant::Named(name),
            None => quoted(tag),
        };
        let message =
            "it stands in backticks among words, so it was taken for a quotation and not done";
        let hint = "Send it again without backticks, in the code block, if it was meant.";
        self.doubted(
            tag.line,
            Some(name),
            meant,
            message.to_owned(),
            hint.to_owned(),
        );
        Some(self.take(tag.line, tag.line + 1))
    }

    /// Whether words stand above or below the tags in backticks of which one is on this line.
    fn is_among_words(&mut self, line: usize) -> bool {
        if let Some(run) = &self.talk.run
            && line < run.end
        {
            return run.is_among_words;
        }
        let is_word = |line: &str| tags::read(0, line).is_none() && !is_blank_or_fence(line);
        let above = &self.lines[self.free_from.min(line)..line];
        let above = above.iter().rfind(|line| !is_blank(line));
        let mut end = line + 1;
        let mut below = None;
        for (at, text) in self.lines.iter().enumerate().skip(line + 1) {
            work::count(1);
            if is_blank(text) {
                continue;
            }
            if !tags::read(0, text).is_some_and(|tag| tag.before.contains('`')) {
                below = Some(text);
                break;
            }
            end = at + 1;
        }
        let is_among_words = above.into_iter().chain(below).any(|line| is_word(line));
        self.talk.run = Some(Run {
            end,
            is_among_words,
        });
        is_among_words
    }

    /// Points out a command that is not done, with a number of its own until it is known whether it
    /// was only talked about.
    pub(super) fn doubted(
        &mut self,
        line: usize,
        name: Option<Name>,
        meant: Meant,
        message: String,
        hint: String,
    ) {
        if self.has_room_for_issues() {
            let line = number(line);
            self.talk.doubted.push(Doubted { line, meant });
        }
        self.malformed(line, name.map(Name::as_str), message, hint);
    }

    /// Takes their numbers from the commands that were only talked about.
    pub(super) fn settle_talk(&mut self) {
        let ends = self.ends_session();
        let steps = &self.reply.steps;
        for Doubted { line, meant } in std::mem::take(&mut self.talk.doubted) {
            let mut commands = steps.iter().map(|step| &step.command);
            let is_failure = match &meant {
                Meant::Nothing => false,
                Meant::Certain => true,
                Meant::Command(command) => ends && !commands.any(|other| other == command),
                Meant::Named(name) => ends && !commands.any(|it| it.name() == name.as_str()),
                Meant::Change => ends && !commands.any(Command::changes_files),
                Meant::Announced(name, words) => {
                    !commands.any(|it| it.name() == name.as_str() && announces(words, it))
                }
            };
            let issues = self.reply.issues.iter_mut();
            if let Some(issue) = issues.filter(|issue| issue.line == line).last()
                && !is_failure
            {
                issue.number = None;
            }
        }
    }
}

/// What a quoted tag stands for, if all of the command stands in it.
fn quoted(tag: &TagLine<'_>) -> Meant {
    let Kind::Open {
        name,
        attributes,
        inline,
    } = &tag.kind
    else {
        return Meant::Nothing;
    };
    let inline = inline
        .as_deref()
        .filter(|text| !text.is_empty())
        .map(|text| [text]);
    let lines = inline.as_ref().map(|text| &text[..]);
    let opening = Opening::read(*name, attributes);
    if *name == Name::Done || (opening.needs_body() && lines.is_none()) {
        return Meant::Nothing;
    }
    match build(opening, lines, Around::default()).command {
        Ok(command) if has_effects(&command) => Meant::Command(command),
        _ => Meant::Named(*name),
    }
}

/// Whether words tell of a command that the reply has: `src/a.py with the parser`.
fn announces(words: &str, command: &Command) -> bool {
    if let Command::RunCommand { script, .. } = command {
        let first = script.lines().map(trim).find(|line| !line.is_empty());
        return first.is_some_and(|line| words.contains(line));
    }
    let paths = command.changed_paths();
    paths.iter().any(|path| words.contains(path.as_str()))
}
