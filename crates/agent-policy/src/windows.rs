//! Splits PowerShell and `cmd` into commands and words.
//!
//! There is no grammar for them here: quotes are removed, everything that separates commands in
//! either of them separates, and a variable is unknown. Windows has no sandbox, so that each command
//! is asked about anyway.

use super::names::is_in;
use super::reading::{ScriptReader, UNKNOWN};

/// Reads a script and starts its commands.
pub(super) fn read(text: &str, reader: &mut ScriptReader<'_>) {
    let mut words: Vec<String> = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut characters = text.chars();
    while let Some(next) = characters.next() {
        match (quote, next) {
            (Some(open), _) if open == next => quote = None,
            (None, '\'' | '"') => {
                quote = Some(next);
                word.get_or_insert_default();
            }
            (None | Some('"'), '`') | (None, '^') => {
                word.get_or_insert_default().extend(characters.next());
            }
            (None, ' ' | '\t') => words.extend(word.take()),
            (None, ';' | '|' | '&' | '\n' | '\r' | '{' | '}' | '(' | ')') => {
                words.extend(word.take());
                start(std::mem::take(&mut words), reader);
            }
            (None | Some('"'), '$') => word.get_or_insert_default().extend([UNKNOWN, '$']),
            _ => word.get_or_insert_default().push(next),
        }
    }
    words.extend(word);
    start(words, reader);
}

/// Starts a command; an assignment or another expression before it starts nothing.
fn start(mut words: Vec<String>, reader: &mut ScriptReader<'_>) {
    if let Some(at) = words.iter().position(|word| word == "=") {
        words.drain(..=at);
    }
    let here = reader.context.directory.as_deref().unwrap_or("/");
    for word in &mut words {
        let path = word.trim_start_matches(UNKNOWN).replace('\\', "/");
        let first = path.split('/').next().unwrap_or_default();
        let directory = match first.to_ascii_lowercase().as_str() {
            "$home" | "$env:userprofile" | "~" => &reader.places.home,
            "$pwd" => here,
            _ => continue,
        };
        *word = format!("{directory}{}", &path[first.len()..]);
    }
    // `if not exist x rd x`, `if a==b rd x`, `for ... do rd x`, `@rd x`
    let lower = |words: &[String], at: usize| words.get(at).map(|word| word.to_ascii_lowercase());
    while let Some(word) = lower(&words, 0) {
        let next = lower(&words, 1).unwrap_or_default();
        let skipped = match word.as_str() {
            "if" | "not" => 1 + usize::from(!is_in("not exist defined errorlevel", &next)),
            "exist" | "defined" | "errorlevel" => 2,
            "." | "@" | "do" | "else" => 1,
            _ if word.starts_with('@') => {
                words[0].remove(0);
                continue;
            }
            _ => break,
        };
        words.drain(..skipped.min(words.len()));
    }
    if !words.is_empty() {
        reader.start(words);
    }
}
