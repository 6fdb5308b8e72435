//! Guesses which programs a script starts, even if it is opaque.
//!
//! A lenient parser for rules that refuse or ask. It removes quotes and backslashes, follows
//! variables and directories that the script itself sets, and looks into substitutions, groups,
//! here-documents for shells and the arguments of wrappers (`env`, `xargs`, `bash -c`). This is a
//! best effort against obvious destruction, not a boundary: the kernel stops what it misses. It
//! accepts any input, its work is bounded, and its result never allows anything.

mod expand;
mod follow;
mod interpreters;
mod names;
mod output;
mod parameter;
mod redirect;
mod wrappers;

use std::collections::HashMap;
use std::rc::Rc;

use super::targets::{KnownDirectories, resolve};
pub(super) use interpreters::{is_interpreter, is_program_text};
pub(super) use names::is_code_runner;
use output::Piped;
use redirect::HereDocument;
pub(super) use wrappers::{inner_command, is_wrapper};

/// Replaces text in a word that only the running shell knows.
pub(super) const UNKNOWN: char = '\0';

/// The maximum depth of scripts within scripts.
const MAX_DEPTH: usize = 16;

/// The maximum number of characters that are read, scripts within scripts included.
const MAX_WORK: usize = 512 * 1024;

/// The maximum length of a directory that is followed, in bytes; the limit of Linux.
const MAX_PATH: usize = 4096;

/// A program that a script seems to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Invocation {
    /// The last component of the program's path, in lower case; `>` for writing to a file, `<` for
    /// reading one, `|` for a shell with unknown input.
    pub name: String,
    /// The words after it.
    pub arguments: Vec<String>,
    /// The directory in which it runs, if known.
    pub directory: Option<Rc<str>>,
    /// True for a wrapper; the words of the command that it starts are left out then.
    pub starts_another: bool,
}

/// The programs that a script seems to start.
#[derive(Debug)]
pub(super) struct ScriptReading {
    /// The programs, roughly in order; a wrapper precedes the command that it starts.
    pub invocations: Vec<Invocation>,
    /// True if all of the script was examined.
    pub is_complete: bool,
}

/// The shell that reads a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// `sh` and `bash`.
    Posix,
    /// PowerShell: a backslash is a character like any other.
    PowerShell,
}

/// Examines a script that would run in the workspace.
pub(super) fn read(script: &str, places: &KnownDirectories, dialect: Dialect) -> ScriptReading {
    let mut state = ScriptState {
        places,
        dialect,
        directory: Some(places.workspace().into()),
        variables: HashMap::from([
            ("HOME".to_owned(), places.home().to_owned()),
            ("IFS".to_owned(), " ".to_owned()),
        ]),
        piped: Piped::Nothing,
        output: String::new(),
        captures: 0,
        invocations: Vec::new(),
        work: MAX_WORK,
        depth: 0,
    };
    state.script(script);
    ScriptReading {
        is_complete: state.work > 0,
        invocations: state.invocations,
    }
}

/// Everything known while the script is read from beginning to end.
struct ScriptState<'a> {
    places: &'a KnownDirectories,
    dialect: Dialect,
    directory: Option<Rc<str>>,
    variables: HashMap<String, String>,
    /// The standard input of the next command.
    piped: Piped,
    /// The output of the innermost substitution so far.
    output: String,
    /// The number of substitutions that are being read.
    captures: usize,
    invocations: Vec<Invocation>,
    /// The rest of `MAX_WORK`; at 0 all reading ends.
    work: usize,
    depth: usize,
}

impl ScriptState<'_> {
    fn script(&mut self, text: &str) {
        if self.enter() {
            ScriptReader::new(text, self).commands();
            self.leave();
        }
    }

    /// Goes one level deeper; too deep ends all reading.
    fn enter(&mut self) -> bool {
        if self.depth >= MAX_DEPTH {
            self.work = 0;
            return false;
        }
        self.depth += 1;
        true
    }

    fn leave(&mut self) {
        self.depth -= 1;
    }

    fn spend(&mut self, amount: usize) {
        self.work = self.work.saturating_sub(amount);
    }

    fn set_variable(&mut self, assignment: &str) {
        if let Some((name, value)) = assignment.split_once('=') {
            self.spend(value.len());
            match name.strip_suffix('+') {
                Some(name) => {
                    let before = self.variables.get(name).map_or("", String::as_str);
                    let joined = format!("{before}{value}");
                    self.spend(before.len());
                    self.variables.insert(name.to_owned(), joined);
                }
                None => drop(self.variables.insert(name.to_owned(), value.to_owned())),
            }
        }
    }

    fn record(&mut self, name: &str, arguments: &[String]) {
        self.spend(arguments.iter().map(|word| word.len() + 1).sum());
        self.invocations.push(Invocation {
            name: name.to_owned(),
            arguments: arguments.to_vec(),
            directory: self.directory.clone(),
            starts_another: false,
        });
    }

    fn change_directory(&mut self, arguments: &[String]) {
        let target = arguments
            .iter()
            .find(|word| !word.starts_with('-') || *word == "-");
        self.directory = match target {
            None => Some(self.places.home().into()),
            Some(word) if word == "-" => None,
            Some(word) => resolve(self.directory.as_deref(), word)
                .filter(|path| path.len() <= MAX_PATH)
                .map(Rc::from),
        };
    }
}

/// The end of a simple command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Separator {
    Pipe,
    Other,
}

/// One text that is read as commands.
struct ScriptReader<'a, 'b> {
    text: Vec<char>,
    at: usize,
    state: &'a mut ScriptState<'b>,
    /// The here-documents whose bodies begin on the next line.
    here_documents: Vec<HereDocument>,
    /// The number of programs that were known at the start of the line.
    line_begins: usize,
    /// The number of `$(` without their `)`.
    open_substitutions: usize,
    /// The number of open groups where `((` began: inside it, `<<` shifts numbers.
    arithmetic: Option<usize>,
}

impl<'a, 'b> ScriptReader<'a, 'b> {
    fn new(text: &str, state: &'a mut ScriptState<'b>) -> Self {
        Self {
            text: text.chars().collect(),
            at: 0,
            here_documents: Vec::new(),
            line_begins: state.invocations.len(),
            open_substitutions: 0,
            arithmetic: None,
            state,
        }
    }
}

impl ScriptReader<'_, '_> {
    fn peek(&self) -> Option<char> {
        self.ahead(0)
    }

    fn ahead(&self, distance: usize) -> Option<char> {
        if self.state.work == 0 {
            return None;
        }
        self.text.get(self.at + distance).copied()
    }

    fn advance(&mut self) {
        self.at += 1;
        self.state.spend(1);
    }

    fn take_if(&mut self, expected: char) -> bool {
        let is_there = self.peek() == Some(expected);
        if is_there {
            self.advance();
        }
        is_there
    }

    /// Reads commands to the end of the text or to a `)` that was not opened in it.
    fn commands(&mut self) {
        let mut words = Vec::new();
        let mut directories = Vec::new();
        while let Some(next) = self.peek() {
            match next {
                ' ' | '\t' | '\r' => self.advance(),
                '\n' => {
                    self.advance();
                    self.finish(&mut words, Separator::Other);
                    self.read_here_documents();
                }
                '&' if self.ahead(1) == Some('>') => self.advance(),
                '|' if self.ahead(1) != Some('|') => {
                    self.advance();
                    self.finish(&mut words, Separator::Pipe);
                }
                ';' | '&' | '|' => {
                    self.advance();
                    self.finish(&mut words, Separator::Other);
                }
                '(' if self.follows_assignment(&words) => self.array(&mut words),
                '(' => {
                    self.advance();
                    self.finish(&mut words, Separator::Other);
                    if self.peek() == Some('(') {
                        self.arithmetic.get_or_insert(directories.len());
                    }
                    directories.push(self.state.directory.clone());
                }
                ')' => {
                    // An unmatched `)` ends a pattern of `case`.
                    if directories.is_empty() && self.open_substitutions == 0 {
                        words.clear();
                    }
                    self.finish(&mut words, Separator::Other);
                    if directories.is_empty() && self.open_substitutions > 0 {
                        return;
                    }
                    if let Some(directory) = directories.pop() {
                        self.state.directory = directory;
                    }
                    self.arithmetic.take_if(|depth| *depth >= directories.len());
                    self.advance();
                }
                '#' => self.skip_line(),
                '<' | '>' => self.redirection(&mut words),
                _ => self.word(&mut words),
            }
        }
        self.finish(&mut words, Separator::Other);
    }

    fn skip_line(&mut self) {
        while self.peek().is_some_and(|next| next != '\n') {
            self.advance();
        }
    }

    /// Ends a simple command and follows what it starts.
    fn finish(&mut self, words: &mut Vec<String>, separator: Separator) {
        let words = std::mem::take(words);
        let mut begins = 0;
        while let Some(word) = words.get(begins).filter(|word| is_before_a_command(word)) {
            // A function is named before its body begins.
            begins += if word == "function" { 2 } else { 1 };
        }
        let begins = begins.min(words.len());
        for assignment in &words[..begins] {
            self.state.set_variable(assignment);
        }
        let command = &words[begins..];
        let in_arithmetic = self.arithmetic.is_some();
        let mut printed = None;
        match command.first().map(String::as_str) {
            None | Some("case") => printed = Some(String::new()),
            Some("for" | "select") => {
                self.bind_loop_variable(command);
                printed = Some(String::new());
            }
            // A number that only the running shell knows is not a program.
            Some(first) if in_arithmetic && first.contains(UNKNOWN) => {}
            Some(_) => {
                printed = self.state.printed_by(command);
                self.state.start(command.to_vec());
            }
        }
        let printed = printed.unwrap_or_else(|| UNKNOWN.to_string());
        if separator == Separator::Pipe {
            // The body of a here-document is read separately.
            self.state.piped = if self.here_documents.is_empty() {
                Piped::of(printed)
            } else {
                Piped::Nothing
            };
        } else if !command.is_empty() {
            self.state.piped = Piped::Nothing;
            self.state.print(&printed);
        }
    }

    /// Returns true if the last word is `name=` and the text continues directly after it.
    fn follows_assignment(&self, words: &[String]) -> bool {
        let is_adjacent = self.at > 0 && self.text.get(self.at - 1) == Some(&'=');
        is_adjacent
            && words
                .last()
                .is_some_and(|word| word.ends_with('=') && is_assignment(word))
    }

    /// Reads the list after `name=`; the variable gets its words, separated by blanks.
    fn array(&mut self, words: &mut [String]) {
        self.advance();
        let mut values = Vec::new();
        while let Some(next) = self.peek() {
            match next {
                ')' => {
                    self.advance();
                    break;
                }
                ' ' | '\t' | '\r' | '\n' | ';' | '&' | '|' | '(' => self.advance(),
                '#' => self.skip_line(),
                '<' | '>' => self.redirection(&mut values),
                _ => self.word(&mut values),
            }
        }
        if let Some(assignment) = words.last_mut() {
            assignment.push_str(&values.join(" "));
        }
    }

    fn bind_loop_variable(&mut self, command: &[String]) {
        if let [_, name, word, values @ ..] = command
            && word == "in"
        {
            self.state
                .set_variable(&format!("{name}={}", values.join(" ")));
        }
    }
}

/// Returns true if a word precedes a command: a keyword, a brace or an assignment.
fn is_before_a_command(word: &str) -> bool {
    matches!(
        word,
        "if" | "then"
            | "elif"
            | "else"
            | "fi"
            | "while"
            | "until"
            | "do"
            | "done"
            | "esac"
            | "in"
            | "coproc"
            | "function"
            | "!"
            | "{"
            | "}"
    ) || is_assignment(word)
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        let name = name.strip_suffix('+').unwrap_or(name);
        let name = match name.split_once('[') {
            Some((array, index)) if index.ends_with(']') => array,
            _ => name,
        };
        name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
            && name
                .chars()
                .all(|next| next.is_ascii_alphanumeric() || next == '_')
    })
}
