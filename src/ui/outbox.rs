//! A message that is ready: which files, how long, what takes the space, and what to do with it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use anstyle::Style;

use super::escape_line;
use super::palette::{BOLD, DIM, MAGENTA};
use super::plain::{RenderContext, Sign, columns_of_talk, shown, shown_home, sign};
use super::wrap::columns_of;
use crate::number::{count, grouped};
use crate::protocol::Event;

/// The next action is the brightest on the screen.
const NEXT: Style = BOLD;
/// More lines than these about what was left out nobody reads.
const MOST_CUTS: usize = 8;

/// From which share of what a chat takes the size of a message is told.
const TIGHT: usize = 70;

/// Returns true if a message takes so many percent of what a chat takes that its size is told.
pub(super) fn is_tight(percent: usize) -> bool {
    percent > TIGHT
}

/// How the reply can come back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReplyRoute {
    /// As a file.
    Files,
    /// As a file, or pasted at the prompt.
    Prompt,
    /// From the clipboard, or pasted at the prompt.
    Clipboard,
}

impl ReplyRoute {
    /// The way at this terminal.
    fn at(view: &RenderContext) -> Self {
        match (view.has_prompt, view.takes_clipboard) {
            (true, true) => Self::Clipboard,
            (true, false) => Self::Prompt,
            (false, _) => Self::Files,
        }
    }

    /// Tells the person where to put the reply, as a sentence.
    fn words(self, inbox: &str) -> String {
        match self {
            Self::Files => format!("Save the reply as a .txt or .md file in {inbox}"),
            Self::Prompt => format!(
                "Copy its reply and paste it here, or save it as a .txt or .md file in {inbox}"
            ),
            Self::Clipboard => {
                "Copy its reply: it is taken from the clipboard. Or paste it here.".to_owned()
            }
        }
    }
}

/// The lines of an outbox event: the next action first, in one line.
pub(super) fn ready(event: &Event, view: &RenderContext) -> String {
    let Event::Outbox {
        pastes,
        attachment,
        inbox,
        sequence,
        becomes_file,
        percent,
        cuts,
        is_waiting,
        carried_by,
        ..
    } = event
    else {
        return String::new();
    };
    // The round that the limit does not allow any more: nobody is to send it now.
    if view.last_round.is_some_and(|last| *sequence > last) {
        return String::new();
    }
    let way = ReplyRoute::at(view);
    let mut text = format!("\n{BOLD}Round {sequence}{BOLD:#}");
    let is_told = !is_waiting || carried_by.is_some();
    if is_told || attachment.is_some() || pastes.len() > 1 {
        let _ = write!(text, ": {}", what(event, view));
    }
    text.push('\n');
    if !is_told {
        let inbox = linked(inbox, view);
        match (attachment, pastes.as_slice()) {
            (Some(file), _) => with_file(&mut text, &linked(file, view), &way.words(&inbox), view),
            (None, [_, _, ..]) => in_parts(&mut text, pastes, &inbox, view),
            (None, pastes) => {
                let path = pastes.first().map(String::as_str).unwrap_or_default();
                let file = if *becomes_file && *sequence == 1 {
                    "\n     If the chat makes an attachment of it by itself, that is fine."
                } else {
                    ""
                };
                let chat = if *sequence == 1 { "your" } else { "the" };
                let arrow = arrow(view);
                let reply = match way {
                    ReplyRoute::Prompt if *sequence > 1 => {
                        "Copy its reply and paste it here.".to_owned()
                    }
                    way => way.words(&inbox),
                };
                let action = first_action(path, chat, view);
                let _ = writeln!(
                    text,
                    "{action}{file}\n{:width$}2. {}",
                    "",
                    reply,
                    width = arrow.chars().count(),
                );
            }
        }
    }
    if view.is_verbose || is_tight(*percent) || carried_by.is_some() {
        let _ = writeln!(text, "  {DIM}{}{DIM:#}", how_long(event));
    }
    left_out(&mut text, cuts);
    if view.last_round == Some(*sequence) {
        let _ = writeln!(
            text,
            "  {MAGENTA}The last round{MAGENTA:#} of this session (`MaxRounds`); then `agent resume` allows more."
        );
    }
    if !is_told && way == ReplyRoute::Files && *sequence == 1 {
        let _ = writeln!(
            text,
            "{DIM}Waiting for the reply. Ctrl-C pauses; nothing is lost.{DIM:#}"
        );
    }
    text
}

/// Says what to paste, and where the file of it is.
fn first_action(path: &str, chat: &str, view: &RenderContext) -> String {
    let arrow = arrow(view);
    let action = if view.is_copied {
        format!("{NEXT}{arrow}1. Paste the clipboard into {chat} chat{NEXT:#}, or this:")
    } else {
        format!("{NEXT}{arrow}1. Paste this into {chat} chat:{NEXT:#}")
    };
    match columns_of_talk() {
        None => format!("{action} {}", shown(path)),
        Some(columns) => with_path(&action, path, columns, view),
    }
}

/// The mark before the next action.
fn arrow(view: &RenderContext) -> &'static str {
    match sign(view.look, Sign::Next) {
        "" => "  ",
        sign => sign,
    }
}

/// A path; on a terminal the whole one, which can be clicked.
fn linked(path: &str, view: &RenderContext) -> String {
    if columns_of_talk().is_none() {
        return shown(path);
    }
    link(path, &escape_line(path), view)
}

/// A name of a file that can be clicked, on a terminal that shows more than plain text.
fn link(path: &str, name: &str, view: &RenderContext) -> String {
    if !view.look.is_rich() || !Path::new(path).is_absolute() {
        return name.to_owned();
    }
    let address: String = path.bytes().map(in_address).collect();
    format!("\u{1b}]8;;file://{address}\u{1b}\\{name}\u{1b}]8;;\u{1b}\\")
}

/// An action with the path that it is about, in one line: the whole path, else from the home, else from
/// here as a link to the whole one. Where none of these fits, or nothing can be a link, the path has a
/// line of its own.
fn with_path(action: &str, path: &str, columns: usize, view: &RenderContext) -> String {
    let (whole, home, here) = (escape_line(path), shown_home(path), shown(path));
    let used = columns_of(action) + 1;
    let fits = |form: &String| used + columns_of(form) <= columns;
    if let Some(form) = [&whole, &home].into_iter().find(|form| fits(form)) {
        return format!("{action} {}", link(path, form, view));
    }
    if view.look.is_rich() && fits(&here) {
        return format!("{action} {}", link(path, &here, view));
    }
    let form = if columns_of(&whole) + 5 <= columns {
        &whole
    } else {
        &home
    };
    format!("{action}\n     {}", link(path, form, view))
}

/// A byte of a path as it stands in an address; whatever could end the sequence is encoded.
fn in_address(byte: u8) -> String {
    match byte {
        b'/' | b'-' | b'_' | b'.' | b'~' => char::from(byte).to_string(),
        letter if letter.is_ascii_alphanumeric() => char::from(letter).to_string(),
        other => format!("%{other:02X}"),
    }
}

/// Lists the parts that the message has no room for.
fn left_out(text: &mut String, cuts: &[String]) {
    let mut tell = |what: &str| {
        let _ = writeln!(
            text,
            "  {MAGENTA}left out{MAGENTA:#}, no room: {}",
            escape_line(what)
        );
    };
    let told = match cuts.len() {
        all if all > MOST_CUTS => MOST_CUTS - 1,
        all => all,
    };
    cuts[..told].iter().for_each(|cut| tell(cut));
    if told < cuts.len() {
        tell(&format!(
            "{} more, see [TRUNCATED ...] there",
            cuts.len() - told
        ));
    }
}

/// Names the files of the message.
fn what(event: &Event, view: &RenderContext) -> String {
    let Event::Outbox {
        path,
        pastes,
        attachment,
        chat,
        ..
    } = event
    else {
        return String::new();
    };
    match (attachment, pastes.len()) {
        (Some(attachment), _) => format!(
            "your message is {}, with the file {}",
            linked(path, view),
            linked(attachment, view)
        ),
        (None, 0 | 1) => format!("your message is {}", linked(path, view)),
        (None, parts) => format!(
            "your message has {parts} parts, because {} not take it at once",
            match chat.as_str() {
                "generic" => "most chats do".to_owned(),
                chat => format!("`{}` does", escape_line(chat)),
            }
        ),
    }
}

/// How long it is, and what takes the space.
fn how_long(event: &Event) -> String {
    let Event::Outbox {
        characters,
        tokens,
        takes,
        chat,
        percent,
        carried_by,
        ..
    } = event
    else {
        return String::new();
    };
    if let Some(api) = carried_by {
        let length = length(*characters, *tokens);
        return format!("{length}, to {}: {}", escape_line(api), space(takes));
    }
    // Nobody chose this chat; the limit may be the person's own number.
    let limit = match chat.as_str() {
        "generic" => "the limit of a message".to_owned(),
        chat => format!("the limit of `{}`", escape_line(chat)),
    };
    let fits = if is_tight(*percent) { "tight" } else { "fits" };
    format!(
        "{}, {fits} ({percent}% of {limit}): {}",
        length(*characters, *tokens),
        space(takes)
    )
}

/// `12,345 characters, ~3,456 tokens`.
pub fn length(characters: usize, tokens: usize) -> String {
    format!(
        "{}, ~{} tokens",
        count(characters, "character"),
        grouped(tokens as u64)
    )
}

/// Lists what takes the space, in characters, the most first.
pub fn space(takes: &BTreeMap<String, usize>) -> String {
    let mut takes: Vec<_> = takes.iter().collect();
    takes.sort_by_key(|(_, characters)| std::cmp::Reverse(**characters));
    let takes: Vec<String> = takes
        .iter()
        .map(|(what, characters)| format!("{what} {}", grouped(**characters as u64)))
        .collect();
    takes.join(", ")
}

fn with_file(text: &mut String, file: &str, reply: &str, view: &RenderContext) {
    let arrow = arrow(view);
    let _ = writeln!(
        text,
        "{NEXT}{arrow}1. Paste the message into your chat and drag {file} into it, then send.{NEXT:#}\n{:width$}2. {reply}",
        "",
        width = arrow.chars().count(),
    );
}

fn in_parts(text: &mut String, pastes: &[String], inbox: &str, view: &RenderContext) {
    let way = ReplyRoute::at(view);
    let total = pastes.len();
    for (number, path) in (1..).zip(pastes) {
        let answer = if number < total {
            format!("the chat answers OK {number}/{total}")
        } else {
            "the chat answers with its reply".to_owned()
        };
        let _ = writeln!(
            text,
            "  {number}. Paste {} and send it: {answer}.",
            linked(path, view)
        );
    }
    let reply = match way {
        ReplyRoute::Files => format!("Save only that reply, as a .txt or .md file in {inbox}"),
        ReplyRoute::Prompt | ReplyRoute::Clipboard => {
            format!("Paste only that reply here, or save it as a .txt or .md file in {inbox}")
        }
    };
    let _ = writeln!(text, "  {}. {reply}", total + 1);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::plain::OutputStyle;

    fn plain(pastes: &[&str], attachment: Option<&str>, cuts: &[String]) -> String {
        let pastes: Vec<String> = pastes.iter().map(|path| (*path).to_owned()).collect();
        let takes = [("instructions", 3_000), ("listing", 9_345)];
        let event = Event::Outbox {
            path: pastes[0].clone(),
            pastes,
            attachment: attachment.map(str::to_owned),
            inbox: "inbox".to_owned(),
            sequence: 1,
            characters: 12_345,
            tokens: 3_456,
            takes: takes.map(|(what, length)| (what.to_owned(), length)).into(),
            chat: "chatgpt-free".to_owned(),
            percent: 13,
            becomes_file: true,
            cuts: cuts.to_vec(),
            is_waiting: true,
            carried_by: None,
        };
        let view = RenderContext {
            is_verbose: true,
            is_interactive: false,
            has_prompt: false,
            ..RenderContext::plain()
        };
        let text = ready(&event, &view);
        anstream::adapter::strip_str(&text).to_string()
    }

    #[test]
    fn the_action_stays_in_one_line_and_the_whole_path_is_somewhere() {
        let action = "  1. Paste this into your chat:";
        let plain = RenderContext::plain();
        assert_eq!(
            with_path(action, "/a/outbox/x.txt", 80, &plain),
            "  1. Paste this into your chat: /a/outbox/x.txt"
        );
        let far = format!("/somewhere/{}/outbox/x.txt", "deep/".repeat(9));
        let text = with_path(action, &far, 80, &plain);
        assert_eq!(text, format!("{action}\n     {far}"));
        let rich = RenderContext {
            look: OutputStyle::Rich { columns: 80 },
            ..plain
        };
        let here = std::env::current_dir().unwrap().join("x".repeat(30));
        let text = with_path(action, here.to_str().unwrap(), 62, &rich);
        assert_eq!(text.lines().count(), 1, "{text}");
        let text = with_path(action, here.to_str().unwrap(), 62, &plain);
        assert_eq!(text.lines().count(), 2, "{text}");
    }

    #[test]
    fn tells_how_to_carry_a_message_in_one_paste() {
        insta::assert_snapshot!(plain(&["outbox/a.txt"], None, &[]));
    }

    #[test]
    fn tells_how_to_carry_parts_and_what_was_cut() {
        let cuts = ["the end of the file listing".to_owned()];
        insta::assert_snapshot!(plain(&["a_part1of2.txt", "a_part2of2.txt"], None, &cuts));
    }

    #[test]
    fn of_much_that_was_cut_some_is_told() {
        let cuts: Vec<String> = (0..410).map(|n| format!("some of result {n}")).collect();
        let text = plain(&["a.txt"], None, &cuts);
        assert_eq!(text.matches("left out").count(), MOST_CUTS, "{text}");
        assert!(text.contains("no room: 403 more, see"), "{text}");
    }

    #[test]
    fn tells_how_to_carry_an_attachment() {
        insta::assert_snapshot!(plain(&["a.txt"], Some("a_attachment.txt"), &[]));
    }
}
