//! Recognises scripts for `sed` that only print, and takes all others for more than that.
//!
//! ```text
//! script  = command { ( ";" | newline ) command }
//! command = [ address [ "," address ] ] [ "!" ] ( letter | "q" [ number ] | substitution | "{" | "}" )
//! address = number | "$" | "/" regex "/" [ "I" ]
//! letter  = one of  p P d D n N g G h H x l =
//! substitution = "s" mark regex mark replacement mark { "g" | "p" | "i" | "I" | "m" | "M" | digit }
//! ```
//!
//! `w`, `W` and the flag `w` write files, `r` and `R` read any, `e` and the flag `e` run programs;
//! `a`, `i` and `c` take text to the end of the line, and are left to the person with the rest.

use std::iter::Peekable;
use std::str::Chars;

/// Returns true if the words after the first `named` ones make a `sed` command do more than print.
pub(super) fn does_more_than_print(command: &[String], named: usize) -> bool {
    let reading = SedReading::of(command);
    reading.others.iter().any(|at| *at >= named)
        || (reading.scripts.iter()).any(|(at, script)| *at >= named && !only_prints(script))
}

/// A `sed` command, split; words are given by their indices.
pub(super) struct SedReading<'a> {
    /// The scripts.
    pub scripts: Vec<(usize, &'a str)>,
    /// Options that change files, take the script from one, or are unknown.
    others: Vec<usize>,
}

impl<'a> SedReading<'a> {
    pub(super) fn of(command: &'a [String]) -> Self {
        let (mut scripts, mut others) = (Vec::new(), Vec::new());
        let mut first_operand = None;
        let mut at = 1;
        while let Some(word) = command.get(at) {
            match option(word) {
                SedOption::Operand => {
                    first_operand.get_or_insert(at);
                }
                SedOption::Harmless => {}
                SedOption::Script(Some(script)) => scripts.push((at, script)),
                SedOption::Script(None) => {
                    at += 1;
                    scripts.extend(command.get(at).map(|script| (at, script.as_str())));
                }
                SedOption::NumberFollows => at += 1,
                SedOption::Other => others.push(at),
            }
            at += 1;
        }
        // Without `-e` the first operand is the script.
        if let (true, Some(at)) = (scripts.is_empty(), first_operand) {
            scripts.push((at, &command[at]));
        }
        Self { scripts, others }
    }
}

enum SedOption<'a> {
    Operand,
    Harmless,
    /// A script, in this word or the next.
    Script(Option<&'a str>),
    NumberFollows,
    /// Changes files, takes the script from one, or is unknown.
    Other,
}

fn option(word: &str) -> SedOption<'_> {
    if let Some(long) = word.strip_prefix("--") {
        let (name, value) = long
            .split_once('=')
            .map_or((long, None), |(n, v)| (n, Some(v)));
        return match name {
            "quiet" | "silent" | "regexp-extended" | "separate" | "unbuffered" | "null-data"
            | "posix" | "debug" | "sandbox" | "" => SedOption::Harmless,
            "expression" => SedOption::Script(value),
            _ => SedOption::Other,
        };
    }
    let Some(letters) = word.strip_prefix('-').filter(|rest| !rest.is_empty()) else {
        return SedOption::Operand;
    };
    for (at, letter) in letters.char_indices() {
        let rest = &letters[at + letter.len_utf8()..];
        match letter {
            'n' | 'r' | 'E' | 's' | 'u' | 'z' => {}
            'e' => return SedOption::Script((!rest.is_empty()).then_some(rest)),
            'l' if rest.is_empty() => return SedOption::NumberFollows,
            _ => return SedOption::Other,
        }
    }
    SedOption::Harmless
}

/// Returns true if a script is understood completely and only prints.
fn only_prints(script: &str) -> bool {
    let mut rest = script.chars().peekable();
    loop {
        skip(&mut rest, &[' ', '\t', '\n', ';', '}']);
        if rest.peek().is_none() {
            return true;
        }
        if command(&mut rest).is_none() {
            return false;
        }
    }
}

fn skip(rest: &mut Peekable<Chars<'_>>, characters: &[char]) {
    while rest.next_if(|next| characters.contains(next)).is_some() {}
}

fn command(rest: &mut Peekable<Chars<'_>>) -> Option<()> {
    address(rest)?;
    skip(rest, &[' ']);
    if rest.next_if_eq(&',').is_some() {
        skip(rest, &[' ']);
        address(rest)?;
        skip(rest, &[' ']);
    }
    if rest.next_if_eq(&'!').is_some() {
        skip(rest, &[' ']);
    }
    match rest.next()? {
        '{' => return Some(()),
        'p' | 'P' | 'd' | 'D' | 'n' | 'N' | 'g' | 'G' | 'h' | 'H' | 'x' | 'l' | '=' => {}
        'q' => while rest.next_if(char::is_ascii_digit).is_some() {},
        's' => substitution(rest)?,
        _ => return None,
    }
    skip(rest, &[' ']);
    match rest.peek() {
        None | Some(';' | '\n' | '}') => Some(()),
        Some(_) => None,
    }
}

/// An address, or nothing at all.
fn address(rest: &mut Peekable<Chars<'_>>) -> Option<()> {
    if rest.next_if_eq(&'$').is_some() {
        return Some(());
    }
    if rest.next_if_eq(&'/').is_some() {
        regex(rest, '/')?;
        rest.next_if_eq(&'I');
        return Some(());
    }
    while rest.next_if(char::is_ascii_digit).is_some() {}
    Some(())
}

fn substitution(rest: &mut Peekable<Chars<'_>>) -> Option<()> {
    let mark = rest
        .next()
        .filter(|mark| mark.is_ascii_punctuation() && !matches!(mark, '\\' | '[' | ']'))?;
    regex(rest, mark)?;
    until(rest, mark)?;
    while rest
        .next_if(|next| matches!(next, 'g' | 'p' | 'i' | 'I' | 'm' | 'M' | '0'..='9'))
        .is_some()
    {}
    Some(())
}

/// Reads a regular expression up to its delimiter.
///
/// Some implementations allow a delimiter between brackets, GNU does not: such an expression is not
/// understood.
fn regex(rest: &mut Peekable<Chars<'_>>, mark: char) -> Option<()> {
    let text = until(rest, mark)?;
    let mut text = text.chars().peekable();
    while let Some(next) = text.next() {
        match next {
            '\\' => drop(text.next()),
            '[' => brackets(&mut text)?,
            _ => {}
        }
    }
    Some(())
}

fn brackets(text: &mut Peekable<Chars<'_>>) -> Option<()> {
    text.next_if_eq(&'^');
    text.next_if_eq(&']');
    loop {
        match text.next()? {
            ']' => return Some(()),
            '[' => {
                if let Some(kind) = text.next_if(|next| matches!(next, ':' | '.' | '=')) {
                    while text.next()? != kind || text.next_if_eq(&']').is_none() {}
                }
            }
            _ => {}
        }
    }
}

/// Reads up to the next unescaped delimiter; `None` if there is none.
fn until(rest: &mut Peekable<Chars<'_>>, mark: char) -> Option<String> {
    let mut text = String::new();
    loop {
        match rest.next()? {
            '\n' => return None,
            '\\' => {
                text.push('\\');
                text.push(rest.next().filter(|next| *next != '\n')?);
            }
            next if next == mark => return Some(text),
            next => text.push(next),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_prints_is_known() {
        for script in [
            "p",
            "1,5p",
            "$d",
            "/a\\/b/Ip",
            "1!d",
            "s/a/b/",
            "s/a/b/gp",
            "s|/usr|x|2;p",
            "/x/{p;d}",
            "10q",
            "$=",
            "1 , 3 p",
            "",
            "y\n".trim_start_matches('y'),
            "n;d",
            "s/a\\/w x/b/",
            "s/[[:space:]]*$//",
            "s/[]^]/x/",
        ] {
            assert!(only_prints(script), "{script}");
        }
    }

    #[test]
    fn what_reads_writes_or_runs_is_more() {
        for script in [
            "w /tmp/x",
            "1w x",
            "1e id",
            "e",
            "r /etc/passwd",
            "R x",
            "W x",
            "s/a/b/w x",
            "s/a/b/e",
            "s/a/id/ge",
            "s/a/b/;e",
            "p;e id",
            "p\ne id",
            "/x/{e id\n}",
            "1,5{p;w x\n}",
            "a text",
            "i\\\ntext",
            "c x",
            "s/a/b\n/e",
            "s/a",
            "sxaxbxe",
            "s/a\\/b/e",
            "y/a/b/",
            "b x",
            ": x",
            "#n\ne",
            "\\,x,e",
            "F",
            "v",
            "z",
            "p e",
            "1~2e",
            "+3e",
            "s/[/]/x/e",
            "Q",
            "L",
            "s/[/]/p;s/w x/w y/",
            "s/[[:x:]/]/p;s/w x/w y/",
            "s[a]b[e[",
        ] {
            assert!(!only_prints(script), "{script}");
        }
    }
}
