//! Splits PowerShell and `cmd` into commands and words.
//!
//! There is no grammar for them here: quotes are removed, everything that separates commands in
//! either of them separates, and a variable is unknown. Windows has no sandbox, so that each command
//! is asked about anyway.

use super::command::is_in;
use super::reading::{ScriptReader, UNKNOWN};

/// The maximum number of words from `if` to the end of its command's name.
const MAX_CONDITION: usize = 7;

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
    for word in &mut words {
        let path = word.trim_start_matches(UNKNOWN).replace('\\', "/");
        let (first, rest) = path.split_at(path.find('/').unwrap_or(path.len()));
        if first == "~" || first.eq_ignore_ascii_case("$home") {
            *word = format!("{}{rest}", reader.places.home);
        }
    }
    // `do @rd x`, `if not exist x rd x`, `if a==b rd x`: the command begins somewhere behind.
    let is_one_of = |list, word: &String| is_in(list, &word.to_ascii_lowercase());
    let leads = words
        .iter()
        .take_while(|word| is_one_of(". @ do else", word));
    words.drain(..leads.count());
    let is_condition = words.first().is_some_and(|word| is_one_of("if", word));
    let starts = if is_condition { MAX_CONDITION } else { 1 };
    for at in 0..words.len().min(starts) {
        let mut command = words[at..].to_vec();
        if command[0].starts_with('@') {
            command[0].remove(0);
        }
        reader.start(command);
    }
}
