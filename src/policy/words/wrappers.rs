//! Programs that start other programs, and what they start.

use super::output::Piped;
use super::{State, UNKNOWN, is_assignment, is_interpreter, is_program_text};
use crate::policy::git::Git;

/// A program that runs the command in its arguments.
#[derive(Clone, Copy)]
struct Wrapper {
    name: &'static str,
    /// Short options whose value is the next word.
    valued: &'static str,
    /// Long options whose value is the next word.
    valued_long: &'static [&'static str],
    /// It runs a command only behind one of these words; always if there are none.
    subcommands: &'static [&'static str],
    /// How many words stand before the command, options aside.
    positional: usize,
}

const fn wrapper(name: &'static str, valued: &'static str) -> Wrapper {
    Wrapper {
        name,
        valued,
        valued_long: &[],
        subcommands: &[],
        positional: 0,
    }
}

const fn wrapper_after(name: &'static str, valued: &'static str, positional: usize) -> Wrapper {
    Wrapper {
        positional,
        ..wrapper(name, valued)
    }
}

const fn wrapper_long(
    name: &'static str,
    valued: &'static str,
    valued_long: &'static [&'static str],
) -> Wrapper {
    Wrapper {
        valued_long,
        ..wrapper(name, valued)
    }
}

const fn wrapper_behind(
    name: &'static str,
    valued: &'static str,
    subcommands: &'static [&'static str],
) -> Wrapper {
    Wrapper {
        subcommands,
        ..wrapper(name, valued)
    }
}

static WRAPPERS: &[Wrapper] = &[
    wrapper_long("env", "uCS", &["--unset", "--chdir", "--split-string"]),
    wrapper("command", ""),
    wrapper("builtin", ""),
    wrapper("exec", "a"),
    wrapper_long("nice", "n", &["--adjustment"]),
    wrapper_long("ionice", "cnpPu", &["--class", "--classdata", "--pid"]),
    wrapper("nohup", ""),
    wrapper_long("time", "fo", &["--format", "--output"]),
    Wrapper {
        positional: 1,
        ..wrapper_long("timeout", "ks", &["--signal", "--kill-after"])
    },
    wrapper_long("stdbuf", "ioe", &["--input", "--output", "--error"]),
    wrapper("setsid", ""),
    wrapper_long(
        "xargs",
        "InPLdEsa",
        &[
            "--max-args",
            "--max-procs",
            "--max-chars",
            "--max-lines",
            "--delimiter",
            "--arg-file",
            "--process-slot-var",
        ],
    ),
    wrapper_long(
        "parallel",
        "jNI",
        &["--jobs", "--max-args", "--delay", "--timeout"],
    ),
    wrapper("busybox", ""),
    wrapper("toybox", ""),
    wrapper("unshare", "SGR"),
    wrapper("strace", "eosp"),
    wrapper("ltrace", "eosp"),
    wrapper_long("watch", "n", &["--interval"]),
    wrapper("caffeinate", "tw"),
    wrapper("doas", "uC"),
    wrapper("sudo", "ughpCrtTDR"),
    wrapper("pkexec", ""),
    wrapper("firejail", ""),
    wrapper("fakeroot", "lsib"),
    wrapper("unbuffer", ""),
    wrapper("valgrind", ""),
    wrapper("prlimit", "p"),
    wrapper("xvfb-run", "nsef"),
    wrapper("dbus-run-session", ""),
    wrapper_long(
        "setpriv",
        "",
        &[
            "--reuid",
            "--regid",
            "--groups",
            "--inh-caps",
            "--bounding-set",
            "--ambient-caps",
        ],
    ),
    wrapper_long("nsenter", "tSGw", &["--target", "--setuid", "--setgid"]),
    wrapper_long(
        "systemd-run",
        "pHMuE",
        &[
            "--unit",
            "--property",
            "--uid",
            "--gid",
            "--slice",
            "--setenv",
            "--working-directory",
        ],
    ),
    wrapper_after("chroot", "", 1),
    wrapper_after("flock", "wE", 1),
    wrapper_after("taskset", "", 1),
    wrapper_after("chrt", "TPD", 1),
    wrapper_after("sg", "", 1),
    wrapper_after("ssh", "bcDEeFIiJLlmOopQRSWw", 1),
    wrapper_long("npx", "p", &["--package"]),
    wrapper("bunx", ""),
    wrapper_long("uvx", "p", &["--from", "--with", "--python"]),
    Wrapper {
        subcommands: &["run"],
        ..wrapper_long(
            "uv",
            "p",
            &[
                "--with",
                "--python",
                "--extra",
                "--group",
                "--directory",
                "--project",
                "--env-file",
            ],
        )
    },
    wrapper_behind("npm", "", &["exec", "x"]),
    wrapper_behind("pnpm", "", &["exec", "dlx"]),
    wrapper_behind("yarn", "", &["exec", "dlx"]),
    wrapper_behind("bun", "", &["x"]),
    wrapper_behind("poetry", "", &["run"]),
    wrapper_behind("pipx", "", &["run"]),
    wrapper_behind("pdm", "", &["run"]),
    wrapper_behind("rye", "", &["run"]),
    wrapper_behind("hatch", "", &["run"]),
    wrapper_behind("bundle", "", &["exec"]),
    wrapper_behind("conda", "np", &["run"]),
    wrapper_behind("perf", "eo", &["stat", "record", "trace"]),
];

/// Whether a program runs shell code that it is given or that it reads.
pub(in crate::policy) fn is_code_runner(name: &str) -> bool {
    matches!(
        name,
        "sh" | "bash"
            | "dash"
            | "zsh"
            | "ksh"
            | "mksh"
            | "ash"
            | "fish"
            | "cmd"
            | "powershell"
            | "pwsh"
            | "source"
            | "."
    )
}

/// The index at which the command of a wrapper begins; nothing where there is no wrapper or it has
/// no command.
pub(in crate::policy) fn inner_command(words: &[String]) -> Option<usize> {
    let name = program_name(words.first()?);
    let wrapper = WRAPPERS.iter().find(|wrapper| wrapper.name == name)?;
    let mut positional = wrapper.positional;
    let mut awaits_subcommand = !wrapper.subcommands.is_empty();
    let mut at = 1;
    while let Some(word) = words.get(at) {
        if word == "--" {
            at += 1;
            break;
        } else if word.len() > 1 && word.starts_with('-') {
            // `command -v rm` only asks where it is.
            if wrapper.name == "command" && word.contains(['v', 'V']) {
                return None;
            }
            at += if takes_next_word(wrapper, word) { 2 } else { 1 };
        } else if wrapper.name == "env" && is_assignment(word) {
            at += 1;
        } else if awaits_subcommand {
            // One letter, as in `npm x`, may be the value of an option before it.
            let is_doubtful = word.len() == 1 && at > 1;
            if is_doubtful || !wrapper.subcommands.contains(&word.as_str()) {
                return None;
            }
            awaits_subcommand = false;
            at += 1;
        } else if positional > 0 {
            positional -= 1;
            at += 1;
        } else {
            break;
        }
    }
    let begins = at + positional;
    (!awaits_subcommand && begins < words.len()).then_some(begins)
}

fn takes_next_word(wrapper: &Wrapper, option: &str) -> bool {
    if option.starts_with("--") {
        return wrapper.valued_long.contains(&option);
    }
    option
        .chars()
        .last()
        .is_some_and(|last| wrapper.valued.contains(last))
        && option[1..]
            .chars()
            .take_while(|c| !wrapper.valued.contains(*c))
            .count()
            + 2
            == option.chars().count()
}

/// The last component of a program's path, in lower case, without `.exe`.
fn program_name(word: &str) -> String {
    let name = word.rsplit(['/', '\\']).next().unwrap_or(word);
    let name = name.to_lowercase();
    name.strip_suffix(".exe")
        .map_or(name.clone(), str::to_owned)
}

impl State<'_> {
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

    /// The words that `xargs` is fed; one that nobody knows where they are not known.
    fn take_piped_words(&mut self) -> Vec<String> {
        match std::mem::take(&mut self.piped) {
            Piped::Text(text) => text.split_whitespace().map(str::to_owned).collect(),
            Piped::Unknown | Piped::Nothing => vec![UNKNOWN.to_string()],
        }
    }

    /// `env -S 'rm -rf /'` holds a command in an option, alone or behind other letters.
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

    /// What another program may start of the words behind it.
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

    /// `read name` takes what is piped; the last name takes what is left, so all take all.
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

    /// What git is told to run, in a setting or behind a subcommand.
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

    /// What is piped is code for this program; what nobody knows is recorded as such.
    fn follow_input(&mut self, name: &str) {
        match std::mem::take(&mut self.piped) {
            Piped::Nothing => {}
            Piped::Unknown => self.record("|", &[name.to_owned()]),
            Piped::Text(text) if is_code_runner(name) => {
                self.script(&text);
                // Some shells undo escapes in `echo`.
                if text.contains('\\') {
                    let unescaped = self.unescaped(&text);
                    self.script(&unescaped);
                }
            }
            Piped::Text(text) => self.follow_interpreter(name, &[text]),
        }
    }

    /// What `-exec` starts; where the search begins is judged with `find` itself.
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

    /// A wrapper that nobody knows: `rm` among its arguments counts.
    fn follow_removal(&mut self, arguments: &[String]) {
        if let Some(at) = arguments.iter().position(|word| program_name(word) == "rm") {
            self.record("rm", &arguments[at + 1..]);
        }
    }

    /// Programs that are always refused count among the arguments of others, too.
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

/// Whether a shell or an interpreter is given no file, so that it runs what it reads.
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

/// Whether the value of a setting of git is a program.
fn names_a_program(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    let last = key.rsplit('.').next().unwrap_or(&key);
    key.starts_with("alias.")
        || matches!(
            last,
            "pager"
                | "editor"
                | "sshcommand"
                | "fsmonitor"
                | "askpass"
                | "external"
                | "textconv"
                | "command"
                | "cmd"
                | "helper"
                | "program"
                | "driver"
                | "clean"
                | "smudge"
                | "process"
        )
}

/// Programs that are refused whatever they are given and whose names mean nothing else.
fn is_refused(name: &str) -> bool {
    name.starts_with("mkfs.")
        || matches!(
            name,
            "sudo"
                | "doas"
                | "pkexec"
                | "run0"
                | "runuser"
                | "sudoedit"
                | "gsudo"
                | "mkfs"
                | "mke2fs"
                | "wipefs"
                | "blkdiscard"
        )
}

/// Programs that take scripts as arguments.
fn runs_strings(name: &str) -> bool {
    matches!(
        name,
        "script"
            | "tmux"
            | "screen"
            | "xterm"
            | "hyperfine"
            | "concurrently"
            | "nodemon"
            | "entr"
            | "nix-shell"
            | "nix"
    )
}

/// Programs of every day that start nothing of what stands behind them.
#[rustfmt::skip]
fn is_ordinary(name: &str) -> bool {
    matches!(
        name,
        "ls" | "cat" | "head" | "tail" | "less" | "more" | "cp" | "mv" | "ln" | "mkdir" | "rmdir"
            | "touch" | "wc" | "sort" | "uniq" | "cut" | "tr" | "paste" | "join" | "tee" | "diff"
            | "cmp" | "comm" | "file" | "stat" | "du" | "df" | "tree" | "basename" | "dirname"
            | "realpath" | "readlink" | "chmod" | "chown" | "chgrp" | "install" | "jq" | "yq"
            | "cargo" | "rustc" | "rustup" | "npm" | "pnpm" | "yarn" | "bun" | "pip" | "pip3"
            | "pytest" | "make" | "cmake" | "ninja" | "go" | "gcc" | "g++" | "cc" | "clang" | "mvn"
            | "gradle" | "gradlew" | "gh" | "curl" | "wget" | "tar" | "zip" | "unzip" | "gzip"
            | "kill" | "ps" | "export" | "read" | "local" | "declare" | "unset" | "set" | "cd"
            | ">" | "<" | "|" | "kubectl" | "helm" | "yum" | "pacman" | "ansible" | "expr" | "let"
    )
}

/// Whether a program names others without starting them.
fn talks_about_programs(name: &str) -> bool {
    matches!(
        name,
        "echo"
            | "printf"
            | "grep"
            | "egrep"
            | "fgrep"
            | "rg"
            | "ag"
            | "git"
            | "man"
            | "which"
            | "type"
            | "whereis"
            | "hash"
            | "command"
            | "sed"
            | "awk"
            | "test"
            | "["
            | "[["
            | "docker"
            | "podman"
            | "apt"
            | "apt-get"
            | "brew"
            | "apk"
            | "dnf"
            | "npm"
            | "rm"
            | "pkill"
            | "killall"
            | "pgrep"
            | "apropos"
            | "whatis"
            | "tldr"
    )
}
