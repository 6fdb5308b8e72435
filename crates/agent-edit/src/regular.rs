//! Replacements by regular expression.
//!
//! `^` and `$` stand for the ends of lines, whatever the line endings of the file are. In the
//! replacement `$1`, `${1}`, `${name}` and `\1` are groups, `$0` and `$&` the whole match, `$$` is a
//! `$`, and `$\1` is a `\1` that is no group; anything else stands for itself.

use regex::{Captures, Regex, RegexBuilder};

use super::Refusal;
use super::document::Document;
use super::refuse::{self, MAX_WRITTEN, QuotedPiece, shortened};
use agent_protocol::{Level, Replacement};

/// How large a compiled expression may be, in bytes.
const MAX_SIZE: usize = 1 << 20;
/// How much text may be read in all, in bytes: every match may read the text to its end.
const MAX_READ: usize = 1 << 31;
/// How many places are looked at to tell that there are several.
const SEVERAL: usize = 100;

/// Replaces the only match, or all of them.
pub(super) fn apply(document: &mut Document<'_>, edit: &Replacement) -> Result<Level, Refusal> {
    let regex = compile(&edit.search)?;
    let flat = document.flat();
    let mut found = Vec::new();
    let mut written = 0;
    let most = if edit.all {
        (MAX_READ / flat.len().max(1)).clamp(1000, 100_000)
    } else {
        SEVERAL
    };
    for captures in regex.captures_iter(flat).take(most) {
        let Some(whole) = captures.get(0) else {
            continue;
        };
        let new = expand(&edit.replace, &captures);
        written += new.len();
        refuse::too_much(1, written)?;
        found.push((whole.range(), new));
    }
    if found.len() == most {
        return Err(Refusal::new(format!(
            "the regular expression matches {most} places or more"
        ))
        .with_hint("edit fewer at a time"));
    }
    if found.is_empty() {
        return Err(Refusal::new(format!(
            "the regular expression `{}` matches nothing in the file",
            shortened(&edit.search, 80)
        )));
    }
    if found.len() > 1 && !edit.all {
        let numbers = document.lines_at(found.iter().map(|(range, _)| range.start));
        return Err(refuse::ambiguous(QuotedPiece::Regex, &numbers));
    }
    if found
        .iter()
        .all(|(range, new)| flat[range.clone()] == **new)
    {
        return Err(Refusal::new(
            "the match and its replacement are the same: it changes nothing",
        ));
    }
    document.splice_flat(found);
    Ok(Level::Exact)
}

fn compile(pattern: &str) -> Result<Regex, Refusal> {
    RegexBuilder::new(pattern)
        .multi_line(true)
        .size_limit(MAX_SIZE)
        .dfa_size_limit(MAX_SIZE)
        .nest_limit(50)
        .build()
        .map_err(|error| Refusal {
            detail: shortened(&error.to_string(), 1000),
            ..Refusal::new(format!(
                "`{}` is not a regular expression that can be used",
                shortened(pattern, 80)
            ))
        })
}

/// A text as a replacement that stands for it and for nothing else.
pub fn quoted_replacement(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let is_reference = character == '\\' && characters.peek().is_some_and(char::is_ascii_digit);
        if character == '$' || is_reference {
            quoted.push('$');
        }
        quoted.push(character);
    }
    quoted
}

/// The replacement with the groups put in; line endings become `\n`.
fn expand(replacement: &str, captures: &Captures<'_>) -> String {
    let mut expanded = String::with_capacity(replacement.len());
    let mut rest = replacement;
    while let Some(at) = rest.find(['$', '\\', '\r']) {
        // Long enough to be refused; a match may be as long as the file.
        if expanded.len() > MAX_WRITTEN {
            return expanded;
        }
        expanded.push_str(&rest[..at]);
        rest = &rest[at..];
        let (text, length) = group(rest, captures).unwrap_or((&rest[..1], 1));
        expanded.push_str(text);
        rest = &rest[length..];
    }
    expanded.push_str(rest);
    expanded
}

/// The text for the reference at the beginning of `text`, and how long the reference is.
fn group<'t>(text: &'t str, captures: &'t Captures<'_>) -> Option<(&'t str, usize)> {
    let of = |group: Option<regex::Match<'t>>| group.map_or("", |group| group.as_str());
    if text.starts_with("\r\n") {
        return Some(("\n", 2));
    }
    let after = &text[1..];
    if let Some(digits) = leading_group(after, captures.len()) {
        let number: usize = after[..digits].parse().ok()?;
        return Some((of(captures.get(number)), 1 + digits));
    }
    if text.starts_with('\\') {
        return None;
    }
    match after.chars().next()? {
        '$' => Some(("$", 2)),
        '\\' if after[1..].starts_with(|next: char| next.is_ascii_digit()) => Some(("\\", 2)),
        '&' => Some((of(captures.get(0)), 2)),
        '{' => {
            let end = after.find('}')?;
            let name = &after[1..end];
            let found = match name.parse::<usize>() {
                Ok(number) => captures.get(number),
                Err(_) => captures.name(name),
            }?;
            Some((found.as_str(), end + 2))
        }
        _ => None,
    }
}

/// How many digits, at most two, name a group that the expression has.
fn leading_group(text: &str, groups: usize) -> Option<usize> {
    let digits = text.bytes().take(2).take_while(u8::is_ascii_digit).count();
    (1..=digits).rev().find(|&length| {
        text[..length]
            .parse::<usize>()
            .is_ok_and(|number| number < groups)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quoted_text_stands_for_itself() {
        let regex = compile("(k)ey").unwrap();
        let captures = regex.captures("key").unwrap();
        for text in [
            "a\\1b",
            "$1",
            "$\\1",
            "\\0\\9",
            "$$",
            "C:\\new",
            "${1}",
            "$&\\",
            "$\\alpha$",
        ] {
            assert_eq!(expand(&quoted_replacement(text), &captures), text);
        }
        assert_eq!(expand("\\1$1$\\alpha", &captures), "kk$\\alpha");
    }
}
