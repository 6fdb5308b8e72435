//! Follows the programs that a command starts: in its arguments, its options, its input.

use super::names::{is_ordinary, is_refused, names_a_program, runs_strings, talks_about_programs};
use super::output::Piped;
use super::wrappers::{inner_command, program_name};
use super::{ScriptState, UNKNOWN, is_assignment, is_code_runner, is_interpreter, is_program_text};
use crate::git::Git;

impl ScriptState<'_> {
    /// Records a command and everything that it would start.
    pub(super) fn start(&mut self, mut words: Vec<String>) {
        let mut begins = 0;
        while let Some(first) = words.get(begins) {
            // `watch 'a b'` runs a script.
            if begins > 0 && first.contains([' ', '\n']) {
                self.script(&words[begins..].join(" "));
                break;
            }
            let name = program_name(first);
            let inner = inner_command(&words[begins..]);
            if inner.is_some() && matches!(name.as_str(), "xargs" | "parallel") {
                words.extend(self.take_piped_words());
            }
            let command = &words[begins..];
            let end = inner.unwrap_or(command.len());
            self.record(&name, &command[1..end]);
            let Some(inner) = inner else {
                self.follow(&name, &words[begins + 1..]);
                break;
            };
            if let Some(wrapper) = self.invocations.last_mut() {
                wrapper.starts_another = true;
            }
            let options = &words[begins + 1..begins + inner];
            self.follow_option_scripts(&name, options);
            self.follow_refused(options);
            begins += inner;
            if self.work == 0 {
                break;
            }
        }
    }

    /// The words that `xargs` reads; one unknown word if they are not known.
    fn take_piped_words(&mut self) -> Vec<String> {
        match std::mem::take(&mut self.piped) {
            Piped::Text(text) => text.split_whitespace().map(str::to_owned).collect(),
            Piped::Unknown | Piped::Nothing => vec![UNKNOWN.to_string()],
        }
    }

    /// `env -S 'rm -rf /'` has a command in an option, alone or after other letters.
    fn follow_option_scripts(&mut self, name: &str, options: &[String]) {
        if name != "env" {
            return;
        }
        let mut words = options.iter();
        while let Some(word) = words.next() {
            let script = match word.strip_prefix("--split-string") {
                Some("") => words.next().map(String::as_str),
                Some(joined) => joined.strip_prefix('='),
                None => match word.strip_prefix('-').and_then(|rest| rest.split_once('S')) {
                    Some((letters, _)) if !letters.chars().all(|c| "iv0".contains(c)) => None,
                    Some((_, "")) => words.next().map(String::as_str),
                    Some((_, script)) => Some(script),
                    None => None,
                },
            };
            if let Some(script) = script {
                self.script(script);
            }
        }
    }

    fn follow(&mut self, name: &str, arguments: &[String]) {
        match name {
            "cd" | "pushd" | "chdir" | "set-location" => self.change_directory(arguments),
            "popd" => self.directory = None,
            "export" | "declare" | "local" | "readonly" | "typeset" => {
                for word in arguments.iter().filter(|word| is_assignment(word)) {
                    self.set_variable(word);
                }
            }
            "set" => self.set_positional(arguments),
            "shift" => self
                .variables
                .retain(|name, _| !name.starts_with(is_positional)),
            "read" => self.read_variables(arguments),
            "eval" => self.script(&arguments.join(" ")),
            "trap" => {
                if let Some(script) = arguments.iter().find(|word| !word.starts_with('-')) {
                    self.script(script);
                }
            }
            "alias" => {
                for (_, script) in arguments.iter().filter_map(|word| word.split_once('=')) {
                    self.script(script);
                }
            }
            "env" => self.follow_option_scripts(name, arguments),
            "find" => self.follow_find(arguments),
            "git" => self.follow_git(arguments),
            _ if is_code_runner(name) => self.follow_shell(name, arguments),
            _ if is_program_text(name) => {
                self.follow_interpreter(name, arguments);
                if is_interpreter(name) && reads_its_input(arguments) {
                    self.follow_input(name);
                }
            }
            _ => self.follow_others(name, arguments),
        }
    }

    /// Follows the arguments of other programs that may start some of them.
    fn follow_others(&mut self, name: &str, arguments: &[String]) {
        if runs_strings(name) {
            for script in arguments.iter().filter(|word| word.contains(' ')) {
                self.script(script);
            }
        }
        if !talks_about_programs(name) {
            self.follow_removal(arguments);
        }
        if !talks_about_programs(name) && !is_ordinary(name) {
            self.follow_refused(arguments);
        }
    }

    /// `set -- a b` sets `$1` and `$2`.
    fn set_positional(&mut self, arguments: &[String]) {
        let Some(at) = arguments.iter().position(|word| word == "--") else {
            return;
        };
        let values = &arguments[at + 1..];
        let all = values.join(" ");
        self.set_variable(&format!("@={all}"));
        self.set_variable(&format!("*={all}"));
        for (number, value) in values.iter().take(9).enumerate() {
            self.set_variable(&format!("{}={value}", number + 1));
        }
    }

    /// `read name` reads its input. Only the last name gets the rest, but here each gets
    /// everything.
    fn read_variables(&mut self, arguments: &[String]) {
        let value = match &self.piped {
            Piped::Text(text) => text.clone(),
            Piped::Unknown | Piped::Nothing => UNKNOWN.to_string(),
        };
        for name in arguments
            .iter()
            .filter(|word| !word.starts_with('-'))
            .take(9)
        {
            self.set_variable(&format!("{name}={value}"));
        }
    }

    /// Follows the programs that git runs, from a setting or after a subcommand.
    fn follow_git(&mut self, arguments: &[String]) {
        let Some(git) = Git::of(arguments) else {
            return;
        };
        for (key, value) in git
            .settings
            .iter()
            .filter_map(|setting| setting.split_once('='))
        {
            if names_a_program(key) {
                self.script(value.trim_start_matches('!'));
            }
        }
        let behind_options = || {
            let rest = git.arguments.get(1..).unwrap_or_default();
            let options = rest.iter().take_while(|word| word.starts_with('-')).count();
            rest[options..].join(" ")
        };
        match (git.subcommand, git.first()) {
            ("bisect", "run") | ("submodule", "foreach") => self.script(&behind_options()),
            ("rebase" | "filter-branch" | "difftool" | "for-each-repo", _) => {
                for script in git
                    .arguments
                    .iter()
                    .filter(|word| !word.starts_with("--onto"))
                {
                    let script = script.strip_prefix("--exec=").unwrap_or(script);
                    self.script(script.strip_prefix("-x").unwrap_or(script));
                }
            }
            _ => {}
        }
    }

    fn follow_shell(&mut self, name: &str, arguments: &[String]) {
        let flag = arguments.iter().position(|word| {
            let word = word.to_ascii_lowercase();
            matches!(word.as_str(), "/c" | "/k" | "-command")
                || word.starts_with('-') && !word.starts_with("--") && word.contains('c')
        });
        if let Some(flag) = flag {
            let script = arguments[flag + 1..]
                .iter()
                .position(|word| !word.starts_with('-'));
            if let Some(script) = script {
                let rest = arguments[flag + 1 + script..].join(" ");
                self.script(&rest);
            }
        } else if reads_its_input(arguments) {
            self.follow_input(name);
        }
    }

    /// Follows input that is code for this program, and records unknown input.
    fn follow_input(&mut self, name: &str) {
        match std::mem::take(&mut self.piped) {
            Piped::Nothing => {}
            Piped::Unknown => self.record("|", &[name.to_owned()]),
            Piped::Text(text) if is_code_runner(name) => {
                self.script(&text);
                // Some shells interpret escapes in `echo`.
                if text.contains('\\') {
                    let unescaped = self.unescaped(&text);
                    self.script(&unescaped);
                }
            }
            Piped::Text(text) => self.follow_interpreter(name, &[text]),
        }
    }

    /// Follows `-exec`; the start of the search is checked with `find` itself.
    fn follow_find(&mut self, arguments: &[String]) {
        let mut rest = arguments;
        while let Some(at) = rest
            .iter()
            .position(|word| matches!(word.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir"))
        {
            rest = &rest[at + 1..];
            let end = rest
                .iter()
                .position(|word| word == ";" || word == "+")
                .unwrap_or(rest.len());
            if !self.enter() {
                return;
            }
            self.start(rest[..end].to_vec());
            self.leave();
            rest = &rest[end..];
        }
    }

    /// Checks an unknown wrapper: `rm` among its arguments counts.
    fn follow_removal(&mut self, arguments: &[String]) {
        if let Some(at) = arguments.iter().position(|word| program_name(word) == "rm") {
            self.record("rm", &arguments[at + 1..]);
        }
    }

    /// Checks the arguments of other programs for programs that are always refused.
    fn follow_refused(&mut self, arguments: &[String]) {
        let refused = arguments.iter().enumerate().find_map(|(at, word)| {
            let name = program_name(word);
            is_refused(&name).then_some((at, name))
        });
        if let Some((at, name)) = refused {
            self.record(&name, &arguments[at + 1..]);
        }
    }
}

/// Returns true if a shell or an interpreter gets no file, so that it runs its input.
fn reads_its_input(arguments: &[String]) -> bool {
    let is_input = |word: &str| {
        matches!(word, "-" | "-s" | "/dev/stdin")
            || ["/dev/fd/", "/proc/self/fd/"]
                .iter()
                .any(|directory| word.starts_with(directory))
    };
    match arguments
        .iter()
        .find(|word| is_input(word) || !word.starts_with('-'))
    {
        Some(word) => is_input(word),
        None => !arguments
            .iter()
            .any(|word| matches!(word.as_str(), "--version" | "--help" | "-V" | "-v" | "-h")),
    }
}

fn is_positional(first: char) -> bool {
    first.is_ascii_digit() || matches!(first, '@' | '*')
}
