//! A reply that a terminal or an editor wrapped at a column.
//!
//! A tag that goes on on the next line shows it, and is put together. In a body nobody can tell where
//! a line went on, so a reply with a wrapped body is refused as a whole. What shows it are lines that
//! end where the next word did not fit any more, and go on at the margin: code goes on deeper than it
//! began. One is enough that reaches the edge itself and leaves a bracket or a quote open, or that ends
//! near it within a string of code. In JSON, line ends within strings that also have `\n` show it, if
//! all of them are at the edge.

use std::collections::HashSet;

use super::{Done, Mended, RepairedLines};
use crate::line::has_word;
use crate::search_replace;
use crate::tags::{self, Kind, Name};
use crate::trim::{trim, trim_end};

/// Widths that people set, the narrowest first.
const WIDTHS: [usize; 5] = [60, 72, 80, 100, 120];

/// The narrowest line that may have been cut off at its end.
const NARROWEST: usize = 40;

/// How far from the edge a line with an open bracket may end because the next word did not fit.
const RAGGED: usize = 20;

/// Words with which something of its own begins at the margin.
const BEGINNINGS: &str = "\
    abstract async class const def enum export extern final fn for from func function if impl \
    import interface let macro_rules! mod module namespace package private protected pub public \
    return static struct trait try type typedef union unsafe use var while with";

/// Puts tags together whose last part stands on the next line.
pub(super) fn join_tags(text: &str) -> Mended {
    let mut joined = String::new();
    let (mut count, mut kept) = (0, 0);
    let first = text.starts_with('[').then_some(0);
    let others = memchr::memmem::find_iter(text.as_bytes(), b"\n[").map(|at| at + 1);
    for start in first.into_iter().chain(others) {
        let mut lines = text[start..].split('\n');
        let (line, next) = (lines.next().unwrap_or_default(), lines.next());
        let Some((tag, next)) = next.and_then(|next| Some((whole_tag(line, next)?, next))) else {
            continue;
        };
        joined.push_str(&text[kept..start]);
        joined.push_str(&tag);
        count += 1;
        kept = start + line.len() + 1 + next.len();
    }
    joined.push_str(&text[kept..]);
    (count > 0).then(|| {
        let done = Done {
            what: crate::repair::copied::WRAPPED_TAGS,
            count,
            changed: RepairedLines::Nothing,
        };
        (joined, done)
    })
}

/// The tag that begins on a line and ends on the next one.
fn whole_tag(line: &str, next: &str) -> Option<String> {
    let inner = line.strip_prefix('[')?;
    let line = trim_end(line);
    let inner = trim_end(inner);
    if line.len() < NARROWEST || line.ends_with(']') || next.starts_with(['[', ' ', '\t']) {
        return None;
    }
    let name = inner
        .split(' ')
        .next()
        .filter(|name| name.len() < inner.len())?;
    let is_ours = Name::read(name).is_some_and(|known| known.as_str() == name);
    if !is_ours || !trim_end(next).ends_with(']') {
        return None;
    }
    let is_in_value = memchr::memchr_iter(b'"', line.as_bytes()).count() % 2 == 1;
    let between = if is_in_value { "" } else { " " };
    let tag = format!("{line}{between}{}", trim(next));
    let is_open = matches!(tags::read(0, &tag)?.kind, Kind::Open { inline: None, .. });
    is_open.then_some(tag)
}

/// The column at which the bodies of a reply were wrapped, if they were.
pub(crate) fn width(lines: &[&str]) -> Option<usize> {
    let mut width = WIDTHS[0];
    for line in lines {
        // A word that is longer than the line is not broken.
        if line.len() > width && trim(line).contains(' ') {
            width = line.len();
        }
    }
    let (mut certain, mut likely) = (0, 0);
    let mut part = BodyPart::Outside;
    let mut searched = HashSet::new();
    let mut above = "";
    for &line in lines {
        if let Some(b'[' | b'<' | b'>' | b'+' | b'-' | b'=') = line.as_bytes().first() {
            part = part.after(line);
        }
        if part == BodyPart::Searched && line.len() >= NARROWEST {
            searched.insert(line);
        }
        let is_new = part == BodyPart::New && above.len() >= NARROWEST;
        if is_new && goes_on_at_margin(line) && !searched.contains(above) {
            let is_open = is_open(above);
            let next = line.split_whitespace().next().map_or(0, str::len);
            let is_indented = above.starts_with("  ") || above.starts_with('\t');
            let is_near = above.len() + 1 + next > width;
            let is_ragged = is_open && above.len() + RAGGED > width;
            let is_full = above.len() == width;
            let is_certain = (is_full || (is_near && opens_value(above))) && is_open;
            let is_comment = is_near && is_comment(above) && is_words(trim(line));
            let is_rest = is_full && is_indented && line.starts_with([';', ',']);
            let is_certain = is_certain || is_comment || is_rest;
            let is_likely = is_indented && (is_near || is_ragged);
            certain += usize::from(is_certain);
            likely += usize::from(is_likely);
        }
        above = line;
    }
    // The last word of the longest line may have left a gap.
    let mut usual = WIDTHS.into_iter().filter(|usual| *usual >= width);
    let named = usual.find(|usual| *usual < width + 8).unwrap_or(width);
    let is_wrapped = certain > 0 || likely > 1 || is_json_wrapped(lines, width);
    is_wrapped.then_some(named)
}

/// Returns true if a line is a comment of a program. `#` and `*` are also Markdown.
fn is_comment(line: &str) -> bool {
    let text = line.trim_start();
    text.starts_with("//") || (text.starts_with("# ") && text.len() < line.len())
}

/// Returns true if a line is made of words alone, as no program is.
fn is_words(line: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || " ,.:;`'\u{2019}-".contains(c);
    line.starts_with(char::is_lowercase) && line.chars().all(is_part)
}

/// Returns true if the last quote of a line begins a value of code: `x="some words`.
fn opens_value(line: &str) -> bool {
    let above = line.rsplit_once('"').map_or("", |(above, _)| above);
    above.ends_with(['=', '(']) && above.matches('"').count().is_multiple_of(2)
}

/// Returns true if a JSON call was wrapped: line ends stand in its strings, each where the next word
/// did not fit, although it writes the line ends of the content as `\n`.
fn is_json_wrapped(lines: &[&str], width: usize) -> bool {
    let (mut is_in_string, mut is_in_call) = (false, false);
    let (mut breaks, mut at_edge, mut has_escape) = (0, 0, false);
    let mut lines = lines.iter().peekable();
    while let Some(line) = lines.next() {
        if !is_in_call {
            let begins = ["{\"", "[{\"", "{ \""]
                .iter()
                .any(|start| line.starts_with(start));
            if !begins {
                continue;
            }
            (is_in_call, is_in_string) = (true, false);
            (breaks, at_edge, has_escape) = (0, 0, false);
        }
        let mut bytes = line.bytes();
        while let Some(byte) = bytes.next() {
            match byte {
                b'"' => is_in_string = !is_in_string,
                b'\\' if is_in_string => has_escape |= bytes.next() == Some(b'n'),
                _ => {}
            }
        }
        if is_in_string {
            let next = lines.peek().and_then(|next| next.split(' ').next());
            breaks += 1;
            at_edge += usize::from(line.len() + 1 + next.map_or(0, str::len) > width);
        } else if trim_end(line).ends_with(['}', ']']) {
            is_in_call = false;
            let is_enough = breaks > 1 || (breaks == 1 && WIDTHS.contains(&width));
            if is_enough && breaks == at_edge && has_escape {
                return true;
            }
        }
    }
    false
}

/// The part of a command that a line belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BodyPart {
    Outside,
    /// A text to look for: the file tells if it was wrapped, and its lines in the new text with it.
    Searched,
    New,
}

impl BodyPart {
    /// The part that goes on below a line.
    fn after(self, line: &str) -> Self {
        match tags::read(0, line).map(|tag| tag.kind) {
            Some(Kind::Open {
                name, inline: None, ..
            }) if name.needs_body() => Self::New,
            Some(Kind::Open { .. } | Kind::Close { .. }) => Self::Outside,
            _ if search_replace::is_head(line) => Self::Searched,
            _ if search_replace::is_tail(line) => Self::Outside,
            _ if self == Self::Searched && search_replace::is_divider(line) => Self::New,
            _ => self,
        }
    }
}

/// Returns true if a line at the margin, or behind the blank at which it was broken, may be the rest
/// of the one above it.
fn goes_on_at_margin(line: &str) -> bool {
    let text = line.strip_prefix(' ').unwrap_or(line);
    let begins = |c: char| c.is_whitespace() || ")]}<=>#@/*-+|".contains(c);
    let is_own = |word| has_word(BEGINNINGS, word);
    !text.starts_with(begins) && !text.split_whitespace().next().is_none_or(is_own)
}

/// Returns true if a line opens a bracket or a quote that it does not close.
fn is_open(line: &str) -> bool {
    let mut depth = 0_i32;
    let mut quote = None;
    let mut escaped = false;
    for byte in line.bytes() {
        match (quote, byte) {
            _ if std::mem::take(&mut escaped) => {}
            (Some(_), b'\\') => escaped = true,
            (Some(open), byte) if open == byte => quote = None,
            (None, b'"' | b'`') => quote = Some(byte),
            (None, b'(' | b'[') => depth += 1,
            (None, b')' | b']') => depth -= 1,
            _ => {}
        }
    }
    depth > 0 || quote.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn width(text: &str) -> Option<usize> {
        super::width(&crate::trim::lines(text))
    }

    #[test]
    fn a_wrapped_tag_is_put_together() {
        let text = "[CREATE_FILE path=\"src/components/settings/notifications/\nPanel.tsx\"]\nx\n[/CREATE_FILE]\n";
        let (mended, _) = join_tags(text).unwrap();
        assert!(mended.starts_with(
            "[CREATE_FILE path=\"src/components/settings/notifications/Panel.tsx\"]\nx\n"
        ));
        for text in [
            "[READ_FILE path=\"a\"\nx]\n",
            "[READ_FILE path=\"a/long/path/that/is/whole/as/it/stands/here.py\"]\n[x]\n",
            "[See the long list of links that somebody made for this page\nfor more]\n",
        ] {
            assert_eq!(join_tags(text), None, "{text}");
        }
    }

    #[test]
    fn a_wrapped_call_is_seen() {
        let call = "{\"tool\": \"write_file\", \"path\": \"n.txt\", \"content\": \"word word word word\nword word word word word word word word word word word word word word\nword word end\\n\"}\n";
        assert_eq!(width(call), Some(72));
        let hard = "{\"tool\": \"write_file\", \"path\": \"n.txt\", \"content\": \"word word word wwwww\nd\\n\"}\n";
        assert_eq!(hard.lines().next().map(str::len), Some(72));
        assert_eq!(width(hard), Some(72));
        // A model that does not escape its line ends has short lines, and no `\n`.
        for sound in [
            "{\"tool\": \"write_file\", \"path\": \"n.txt\", \"content\": \"word word word word\nword\nword word end\\n\"}\n",
            "{\"tool\": \"write_file\", \"path\": \"n.txt\", \"content\": \"word word word word\nword word word word word word word word word word word word word word\nword word end\"}\n",
        ] {
            assert_eq!(width(sound), None, "{sound}");
        }
    }

    const WRAPPED: &str = "[CREATE_FILE path=\"a.py\"]\ndef f():\n    raise ValueError(\"the value of the setting must be a number between one\nand nine\")\n    logging.getLogger(__name__).warning(\"the value of the setting is %s and\nshould be less\", 1)\n[/CREATE_FILE]\n";

    #[test]
    fn a_wrapped_body_is_seen() {
        assert_eq!(width(WRAPPED), Some(80));
        let comments = "[CREATE_FILE path=\"a.py\"]\ndef f():\n    # this comment is long enough that a terminal of eighty columns has to break\n it somewhere in the middle of it\n    # another long comment that goes on and on until the terminal has to break i\nt into two lines as well\n    return x\n[/CREATE_FILE]\n";
        assert_eq!(width(comments), Some(80));
        let replaced = "a.py\n<<<<<<< SEARCH\n    return x\n=======\n    return some_function_name(argument_one, argument_two, argument_three, argume\nnt_four)\n>>>>>>> REPLACE\n";
        assert_eq!(width(replaced), Some(80));
        // Whether a SEARCH was wrapped, the file tells.
        let searched = "a.py\n<<<<<<< SEARCH\n    return some_function_name(argument_one, argument_two, argument_three, argume\nnt_four)\n=======\n    return some_function_name(argument_one, argument_two, argument_three, argume\nnt_four)\n    pass\n>>>>>>> REPLACE\n";
        assert_eq!(width(searched), None);
        let margin = "a.py\n<<<<<<< SEARCH\ndef f():\n=======\ndef f(x=\"this is a rather long default string that goes on and on beyond\none hundred columns\", y=1):\n>>>>>>> REPLACE\n";
        assert_eq!(width(margin), Some(72));
        let narrow = "a.py\n<<<<<<< SEARCH\nx = 1\n=======\n    raise ValueError(\"the value of the setting must be a\nnumber\")\n    logging.getLogger(__name__).warning(\"the value is %s\nnow\", 1)\n>>>>>>> REPLACE\n";
        assert_eq!(width(narrow), Some(60));
        let ninety = "a.py\n<<<<<<< SEARCH\nx = 1\n=======\n    # this comment is long enough that a terminal of ninety columns has to break it there\nin the middle\n    x = 2\n>>>>>>> REPLACE\n";
        assert_eq!(width(ninety), Some(89));
        let rest = "[CREATE_FILE path=\"a.rs\"]\nfn f() {\n    let scrubbed = |text: &str| ApiKey::new(text).unwrap().scrub(format!(\"{text} {x}!!\"))\n;\n}\n[/CREATE_FILE]\n";
        assert_eq!(width(rest), Some(89));
        let address = format!("{WRAPPED}https://example.org/{}\n", "word/".repeat(40));
        assert_eq!(width(&address), Some(80));
        let long = format!("{WRAPPED}{}\n", "word ".repeat(40));
        assert_eq!(width(&long), None);
        let sound = WRAPPED
            .replace("one\nand", "one and")
            .replace("and\nshould", "and should");
        assert_eq!(width(&sound), None);
    }
}
