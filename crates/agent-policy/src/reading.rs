//! Lists the programs that a script starts.
//!
//! `grammar` splits bash into commands with literal words, `windows` does so for PowerShell and
//! `cmd`; this module follows each command to the programs that it starts in turn: behind wrappers
//! (`env`, `xargs`), in text for a shell (`sh -c '...'`, `eval '...'`, a here-document for `bash`),
//! in `find -exec` and in settings of git. Such text is read again with the same grammar. Code in
//! other languages is not read.
//!
//! Variables and output are not followed. A part of a word that only the running shell knows is
//! `UNKNOWN`, and the rules ask where that matters. This is no boundary, the kernel is: the result
//! never allows anything. The work is bounded for any input.

use std::rc::Rc;

use super::command::{
    Git, Invocation, facts, inner_command, is_a, is_in, program_name, split_options,
};
use super::shell::MAX_BYTES;
use super::targets::{KnownDirectories, resolve};
use super::{grammar, windows};

/// Stands in a word for text that only the running shell knows. A character of private use, which
/// bash takes for a letter, so that text with it can be read again.
pub(super) const UNKNOWN: char = '\u{10fffd}';
pub(super) const UNKNOWN_WORD: &str = "\u{10fffd}";

/// The maximum depth of syntax, in a script and in the scripts within it together.
const MAX_DEPTH: usize = 250;

/// The maximum number of programs that are listed.
const MAX_INVOCATIONS: usize = 512;

/// The maximum number of reports of the parser on a script and the scripts within it; see `grammar`.
/// Enough for some hundred lines.
const MAX_REPORTS: usize = 100;

/// The maximum length of all scripts within a script together, itself included, in bytes.
const MAX_WORK: usize = 2 * MAX_BYTES;

/// The maximum length of a directory that is followed, in bytes.
const MAX_PATH: usize = 1024;

/// The maximum length of literal input for `xargs`, in bytes.
const MAX_INPUT: usize = 256;

/// The shell that reads a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// `sh` and `bash`.
    Posix,
    /// PowerShell.
    PowerShell,
}

/// The state that a subshell restores when it ends.
#[derive(Debug, Clone)]
pub(super) struct ShellState {
    pub directory: Option<Rc<str>>,
    /// The standard input, if it comes from the script.
    pub input: Option<Rc<str>>,
}

/// Everything known about a script that is read from beginning to end.
pub(super) struct ScriptReader<'a> {
    pub places: &'a KnownDirectories,
    pub context: ShellState,
    /// The programs that it seems to start, roughly in order; a wrapper precedes the command that it
    /// starts.
    pub invocations: Vec<Invocation>,
    /// True if the grammar understood all of it so far.
    pub is_complete: bool,
    /// The reports that the parser may still make.
    pub reports: usize,
    work: usize,
    depth: usize,
}

impl<'a> ScriptReader<'a> {
    /// A reader of scripts that would run in the workspace.
    pub(super) fn new(places: &'a KnownDirectories) -> Self {
        Self {
            places,
            context: ShellState {
                directory: Some(places.workspace.as_str().into()),
                input: None,
            },
            invocations: Vec::new(),
            is_complete: true,
            reports: MAX_REPORTS,
            work: MAX_WORK,
            depth: 0,
        }
    }

    /// Notes that a part of the script is not understood, unless this holds; returns if it does.
    pub(super) fn require(&mut self, is_understood: bool) -> bool {
        self.is_complete &= is_understood;
        is_understood
    }

    /// Returns true if one level more is not too deep.
    pub(super) fn descend(&mut self) -> bool {
        let is_shallow = self.require(self.depth < MAX_DEPTH);
        self.depth += usize::from(is_shallow);
        is_shallow
    }

    pub(super) fn ascend(&mut self) {
        self.depth -= 1;
    }

    /// Reads a script, or text that is fed to a shell.
    pub(super) fn script(&mut self, text: &str, dialect: Dialect) {
        if !self.require(text.len() <= self.work) || !self.descend() {
            return;
        }
        self.work -= text.len();
        match dialect {
            Dialect::Posix => grammar::read(text, self),
            Dialect::PowerShell => windows::read(text, self),
        }
        self.ascend();
    }

    fn bash(&mut self, text: &str) {
        self.script(text, Dialect::Posix);
    }

    /// Reads text that a shell runs at once. A part of it that only the running shell knows may end
    /// a command and begin another one.
    fn run_code(&mut self, name: &str, text: &str) {
        if text.contains(UNKNOWN) {
            self.record("|", &[name.to_owned()]);
        }
        if text.chars().ne([UNKNOWN]) {
            self.bash(text);
        }
    }

    pub(super) fn record(&mut self, name: &str, arguments: &[String]) {
        if self.require(self.invocations.len() < MAX_INVOCATIONS) {
            self.invocations.push(Invocation {
                name: name.to_owned(),
                arguments: arguments.to_vec(),
                directory: self.context.directory.clone(),
                starts_another: false,
            });
        }
    }

    /// Records a command and everything that it would start.
    pub(super) fn start(&mut self, mut words: Vec<String>) {
        split_switches(&mut words);
        let Some(first) = words.first() else { return };
        let name = program_name(first);
        let inner = inner_command(&words).unwrap_or_default();
        let own = &words[1..words.len() - inner.len()];
        let (options, _) = split_options(&name, &words[1..]);
        let given = |section| {
            let meant = facts(section, &name).next().unwrap_or_default();
            let mut options = options.iter().rev();
            options.find(|one| is_in(meant, &one.option))
        };
        // `env -S'rm -rf /'`, `env --split-string=rm -rf /`
        if let Some(script) = given("wrapper-script") {
            let script = format!("{} {}", script.value, script.behind.join(" "));
            self.run_code(&name, &script);
        }
        self.record(&name, own);
        if inner.is_empty() {
            return self.follow(&name, own);
        }
        if let Some(wrapper) = self.invocations.last_mut() {
            wrapper.starts_another = true;
        }
        self.follow_mentioned(own);
        let mut started = inner.to_vec();
        if is_in("xargs parallel", &name) {
            for word in &mut started {
                *word = word.replace("{}", UNKNOWN_WORD);
            }
            let input = self.context.input.as_deref();
            let input = input.filter(|text| text.len() <= MAX_INPUT);
            let added = input.unwrap_or(UNKNOWN_WORD).split_whitespace();
            started.extend(added.map(str::to_owned));
        }
        if !self.descend() {
            return;
        }
        let around = self.context.directory.clone();
        let entered = given("wrapper-directory");
        if let Some(directory) = entered {
            self.change_directory(&[directory.value.to_owned()]);
        }
        // `watch 'a b'` runs a script.
        if started[0].contains([' ', '\n']) {
            self.bash(&started.join(" "));
        } else {
            self.start(started);
        }
        if entered.is_some() {
            self.context.directory = around;
        }
        self.ascend();
    }

    fn follow(&mut self, name: &str, arguments: &[String]) {
        match name {
            "cd" | "pushd" | "chdir" | "set-location" | "sl" => self.change_directory(arguments),
            "popd" | "pop-location" => self.context.directory = None,
            "eval" => {
                let script = joined_after(arguments, |word| word == "--");
                self.run_code(name, &script);
            }
            "ssh" | "at" | "batch" => self.follow_input(name),
            "find" => self.follow_find(arguments),
            "git" => self.follow_git(arguments),
            _ if is_a("windows-shells", name) => self.follow_windows(name, arguments),
            _ if is_a("shells", name) => self.follow_shell(name, arguments),
            _ if is_a("interpreters", name) => {
                // Code in its language is not read, and nobody could read this.
                let is_hidden = |pair: &[String]| {
                    is_in("-c -e -E -r --eval", &pair[0]) && pair[1] == UNKNOWN_WORD
                };
                if arguments.windows(2).any(is_hidden) {
                    self.record("|", &[name.to_owned()]);
                } else if reads_its_input(arguments)
                    && self.context.input.as_deref() == Some(UNKNOWN_WORD)
                {
                    self.follow_input(name);
                }
            }
            _ if is_a("run-words", name) => self.read_words(arguments, |_| true),
            _ => {
                if is_a("run-strings", name) {
                    self.read_words(arguments, |word| word.contains(' '));
                }
                // `fd -x rm`
                let is_known = is_a("looks self-contained start-no-argument", name);
                if !is_known || name.starts_with("fd") {
                    self.follow_mentioned(arguments);
                }
            }
        }
    }

    /// Reads words that may be scripts: `script -c reboot`, `alias x='a b'`, `--to-command='a b'`.
    fn read_words(&mut self, words: &[String], is_script: impl Fn(&str) -> bool) {
        for word in words.iter().filter(|word| is_script(word)) {
            let first = word.split(' ').next().unwrap_or(word);
            // `-x'a b'` is an option with a script.
            let is_option = word.starts_with('-');
            let value = first
                .rfind('=')
                .map_or(usize::from(is_option) * 2, |at| at + 1);
            let whole = Some(word.as_str()).filter(|_| value > 0 && !is_option);
            for script in [word.get(value..), whole].into_iter().flatten() {
                self.bash(script.trim_start_matches('!'));
            }
        }
    }

    fn change_directory(&mut self, arguments: &[String]) {
        let mut operands = arguments.iter();
        let target = operands.find(|word| !word.starts_with('-') || *word == "-");
        self.context.directory = match target {
            None => Some(self.places.home.as_str().into()),
            Some(word) if word == "-" => None,
            Some(word) => resolve(self.context.directory.as_deref(), word)
                .filter(|path| path.len() <= MAX_PATH && !path.contains(UNKNOWN))
                .map(Rc::from),
        };
    }

    fn follow_shell(&mut self, name: &str, arguments: &[String]) {
        let is_flag =
            |word: &String| word.starts_with('-') && !word.starts_with("--") && word.contains('c');
        let is_operand = |word: &String| !word.starts_with('-');
        let flag = arguments.iter().position(is_flag);
        let options = flag.map_or(0, |flag| flag + 1);
        let operand = arguments[options..].iter().position(is_operand);
        // A word before the code or the file may be an option with other code: `X='-c x'; sh $X`.
        let ends = operand.map_or(arguments.len(), |operand| options + operand + 1);
        let may_be_code = |word: &String| program_name(word).contains(UNKNOWN);
        if !is_in("source .", name) && arguments[..ends].iter().any(may_be_code) {
            self.record("|", &[name.to_owned()]);
        }
        match (flag, operand) {
            (Some(_), Some(operand)) => self.run_code(name, &arguments[options + operand]),
            (None, _) if reads_its_input(arguments) => self.follow_input(name),
            _ => {}
        }
    }

    /// Reads the input of a shell.
    fn follow_input(&mut self, name: &str) {
        if let Some(text) = self.context.input.take() {
            self.run_code(name, &text);
        }
    }

    /// `cmd /c` and `powershell -Command` take all words that follow for the script. An encoded one
    /// is as good as `iex` of unknown text. PowerShell takes `/enc` for `-enc`, `cmd` takes `/crd` for
    /// `/c rd`.
    fn follow_windows(&mut self, name: &str, arguments: &[String]) {
        let flag = |word: &String| {
            let letters = word.strip_prefix(['-', '/']).unwrap_or_default();
            letters.to_ascii_lowercase()
        };
        let is_encoded =
            |word: &String| flag(word).starts_with('e') && !flag(word).starts_with("ex");
        let is_command =
            |word: &String| !flag(word).is_empty() && "command".starts_with(&flag(word));
        let is_run = |word: &String| word.starts_with('/') && flag(word).starts_with(['c', 'k']);
        let is_powershell = is_in("powershell pwsh", name);
        if is_powershell && arguments.iter().any(is_encoded) {
            return self.start(["iex", UNKNOWN_WORD].map(str::to_owned).to_vec());
        }
        let command = arguments
            .iter()
            .position(is_command)
            .filter(|_| is_powershell);
        let run = arguments.iter().position(is_run).filter(|_| name == "cmd");
        let script = match (command, run) {
            (Some(at), _) => arguments[at + 1..].join(" "),
            (_, Some(at)) => arguments[at..].join(" ").split_off(2),
            _ => joined_after(arguments, |word| word.starts_with(['-', '/'])),
        };
        self.script(&script, Dialect::PowerShell);
    }

    /// Follows `-exec`; the start of the search is checked with `find` itself.
    fn follow_find(&mut self, arguments: &[String]) {
        let runs = |word: &String| is_in("-exec -execdir -ok -okdir", word);
        for command in arguments.split(runs).skip(1) {
            let ends = |word: &String| word == ";" || word == "+";
            self.start(command.split(ends).next().unwrap_or_default().to_vec());
        }
    }

    /// Follows the programs that git runs, from a setting or after a subcommand.
    fn follow_git(&mut self, arguments: &[String]) {
        let Some(git) = Git::of("git", arguments) else {
            return;
        };
        let is_known = |word: &str| !word.contains(UNKNOWN);
        let settings: Vec<String> = git.values("-c").map(str::to_owned).collect();
        self.read_words(&settings, is_known);
        if is_a("git-runs", git.subcommand) {
            self.read_words(git.arguments, is_known);
        }
        // `git bisect run`, `git submodule foreach`
        if is_in("bisect submodule", git.subcommand) {
            let runs = |word: &String| is_in("run foreach", word);
            for command in git.arguments.splitn(2, runs).skip(1) {
                self.bash(&joined_after(command, |word| word.starts_with('-')));
            }
        }
    }

    /// Checks the arguments of an unknown wrapper for programs that are always refused.
    fn follow_mentioned(&mut self, arguments: &[String]) {
        for (at, word) in arguments.iter().enumerate() {
            let name = program_name(word);
            if is_a("telling", &name) {
                return self.record(&name, &arguments[at + 1..]);
            }
        }
    }
}

/// The words after the first ones that are of this kind, as one text.
pub(super) fn joined_after(words: &[String], is_skipped: impl Fn(&str) -> bool) -> String {
    let skipped = words.iter().take_while(|word| is_skipped(word)).count();
    words[skipped..].join(" ")
}

/// `cmd` takes `rd/s/q x` for `rd /s/q x`.
fn split_switches(words: &mut Vec<String>) {
    let first = words.first().and_then(|word| word.split_once('/'));
    if let Some((name, switches)) = first
        && is_in("del erase rd rmdir", &name.to_ascii_lowercase())
    {
        let parts = [name.to_owned(), format!("/{switches}")];
        words.splice(..1, parts);
    }
}

/// Returns true if a shell or an interpreter gets no file, so that it runs its input.
fn reads_its_input(arguments: &[String]) -> bool {
    let is_input = |word: &str| {
        is_in("- -s /dev/stdin", word)
            || word.starts_with("/dev/fd/")
            || word.starts_with("/proc/self/fd/")
    };
    let mut words = arguments.iter();
    match words.find(|word| is_input(word) || !word.starts_with('-')) {
        Some(file) => is_input(file),
        None => !(arguments.iter()).any(|word| is_in("--version --help -V -v -h", word)),
    }
}
