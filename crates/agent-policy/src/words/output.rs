//! The output of commands, if it is easy to see: it may be run, or name paths to remove.

use super::{ScriptReader, ScriptState, UNKNOWN};
use crate::targets::{RemovalReach, resolve};

/// The standard input of a command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) enum Piped {
    /// Nothing from another command of the script.
    #[default]
    Nothing,
    /// Something that only the running shell knows.
    Unknown,
    /// This text.
    Text(String),
}

impl Piped {
    pub(super) fn of(text: String) -> Self {
        if text.contains(UNKNOWN) {
            Self::Unknown
        } else {
            Self::Text(text)
        }
    }
}

/// The state around a substitution.
pub(super) struct CaptureState {
    directory: Option<std::rc::Rc<str>>,
    piped: Piped,
    output: String,
}

impl ScriptState<'_> {
    /// Starts to collect the output of commands.
    pub(super) fn begin_capture(&mut self) -> CaptureState {
        self.captures += 1;
        CaptureState {
            directory: self.directory.clone(),
            piped: self.piped.clone(),
            output: std::mem::take(&mut self.output),
        }
    }

    /// Returns the output since then, without the line breaks at its end.
    pub(super) fn end_capture(&mut self, around: CaptureState) -> String {
        self.captures -= 1;
        self.directory = around.directory;
        self.piped = around.piped;
        let output = std::mem::replace(&mut self.output, around.output);
        output.trim_end_matches('\n').to_owned()
    }

    /// Adds to the output, if it is being collected.
    pub(super) fn print(&mut self, text: &str) {
        if self.captures > 0 && !text.is_empty() {
            self.spend(text.len());
            self.output.push_str(text);
            self.output.push('\n');
        }
    }

    /// The output of a command; `None` if it is unknown.
    pub(super) fn printed_by(&mut self, command: &[String]) -> Option<String> {
        let (program, arguments) = command.split_first()?;
        let last = arguments.last().filter(|word| !word.starts_with('-'));
        match program.rsplit('/').next().unwrap_or(program) {
            "echo" => Some(self.echoed(arguments)),
            "printf" => self.formatted(arguments),
            "yes" => Some(arguments.join(" ")),
            "pwd" => self.directory.as_deref().map(str::to_owned),
            "which" | "command" | "type" => last.cloned(),
            "mktemp" => Some(made_by_mktemp(arguments)),
            "dirname" => Some(match last?.rsplit_once('/') {
                Some((directory, _)) if !directory.is_empty() => directory.to_owned(),
                Some(_) => "/".to_owned(),
                None if last?.contains(UNKNOWN) => return None,
                None => ".".to_owned(),
            }),
            "basename" => last?.rsplit('/').next().map(str::to_owned),
            "realpath" | "readlink" => resolve(self.directory.as_deref(), last?),
            "git" if arguments == ["rev-parse", "--show-toplevel"] => {
                Some(self.places.workspace().to_owned())
            }
            "find" => Some(self.found(arguments)),
            "cd" | "true" | ":" | "export" | "set" | "local" | "test" | "[" | "mkdir" => {
                Some(String::new())
            }
            _ => None,
        }
    }

    fn echoed(&mut self, arguments: &[String]) -> String {
        let is_option = |word: &&String| {
            word.len() > 1 && word.starts_with('-') && word[1..].chars().all(|c| "neE".contains(c))
        };
        let options = arguments.iter().take_while(is_option).count();
        let text = arguments[options..].join(" ");
        let has_escapes = arguments[..options].iter().any(|word| word.contains('e'));
        if has_escapes {
            self.unescaped(&text)
        } else {
            text
        }
    }

    /// The format with the arguments inserted, once.
    fn formatted(&mut self, arguments: &[String]) -> Option<String> {
        let arguments = match arguments {
            [first, rest @ ..] if first == "--" => rest,
            [first, ..] if first == "-v" => return Some(String::new()),
            all => all,
        };
        let (format, values) = arguments.split_first()?;
        let format = self.unescaped(format);
        let mut values = values.iter().map(String::as_str);
        let mut text = String::new();
        let mut rest = format.chars().peekable();
        while let Some(next) = rest.next() {
            if next != '%' {
                text.push(next);
            } else if rest.next_if_eq(&'%').is_some() {
                text.push('%');
            } else {
                while rest.next_if(|c| !c.is_ascii_alphabetic()).is_some() {}
                rest.next();
                text.push_str(values.next().unwrap_or_default());
            }
        }
        // The format is used again for the remaining arguments.
        for value in values {
            text.push(' ');
            text.push_str(value);
        }
        Some(text)
    }

    /// Interprets the escapes of `echo -e` and `printf`.
    pub(super) fn unescaped(&mut self, text: &str) -> String {
        if !text.contains('\\') {
            return text.to_owned();
        }
        let mut reader = ScriptReader::new(text, self);
        let mut value = String::new();
        while let Some(next) = reader.peek() {
            reader.advance();
            if next == '\\' {
                reader.ansi_escape(&mut value);
            } else {
                value.push(next);
            }
        }
        value
    }

    /// A search that starts at a root may find the root itself; others find something below their
    /// start.
    fn found(&self, arguments: &[String]) -> String {
        let mut starts: Vec<&str> = arguments
            .iter()
            .map(String::as_str)
            .take_while(|word| !word.starts_with(['-', '(', '!']))
            .collect();
        if starts.is_empty() {
            starts.push(".");
        }
        let found =
            starts.iter().map(
                |start| match self.places.reach(self.directory.as_deref(), start) {
                    RemovalReach::Everything | RemovalReach::Unknown => (*start).to_owned(),
                    RemovalReach::Inside | RemovalReach::Workspace | RemovalReach::Outside => {
                        format!("{start}/found")
                    }
                },
            );
        found.collect::<Vec<_>>().join("\n")
    }
}

/// A new name in the temporary directory, unless a template says otherwise.
fn made_by_mktemp(arguments: &[String]) -> String {
    let is_temporary = arguments
        .iter()
        .any(|word| matches!(word.as_str(), "-t" | "--tmpdir"));
    match arguments.last() {
        Some(template) if template.contains("XXX") && !is_temporary => template.clone(),
        _ => "/tmp/made-by-mktemp".to_owned(),
    }
}
