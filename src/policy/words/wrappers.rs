//! Programs that start other programs, and what they start.

use super::{State, is_assignment};

/// A program that runs the command in its arguments.
struct Wrapper {
    name: &'static str,
    /// Short options whose value is the next word.
    valued: &'static str,
    /// Long options whose value is the next word.
    valued_long: &'static [&'static str],
    /// How many words stand before the command, options aside.
    positional: usize,
}

const fn wrapper(name: &'static str, valued: &'static str) -> Wrapper {
    Wrapper {
        name,
        valued,
        valued_long: &[],
        positional: 0,
    }
}

const fn wrapper_after(name: &'static str, valued: &'static str, positional: usize) -> Wrapper {
    Wrapper {
        name,
        valued,
        valued_long: &[],
        positional,
    }
}

static WRAPPERS: &[Wrapper] = &[
    Wrapper {
        name: "env",
        valued: "uCS",
        valued_long: &["--unset", "--chdir", "--split-string"],
        positional: 0,
    },
    wrapper("command", ""),
    wrapper("builtin", ""),
    wrapper("exec", "a"),
    Wrapper {
        name: "nice",
        valued: "n",
        valued_long: &["--adjustment"],
        positional: 0,
    },
    wrapper("ionice", "cnpPu"),
    wrapper("nohup", ""),
    wrapper("time", "fo"),
    Wrapper {
        name: "timeout",
        valued: "ks",
        valued_long: &["--signal", "--kill-after"],
        positional: 1,
    },
    wrapper("stdbuf", "ioe"),
    wrapper("setsid", ""),
    wrapper("xargs", "InPLdEsa"),
    wrapper("parallel", "jN"),
    wrapper("busybox", ""),
    wrapper("toybox", ""),
    wrapper("unshare", ""),
    wrapper("strace", "eosp"),
    wrapper("ltrace", "eosp"),
    wrapper("watch", "n"),
    wrapper("caffeinate", "tw"),
    wrapper("doas", "uC"),
    wrapper("sudo", "ughpCrtTDR"),
    wrapper("pkexec", ""),
    wrapper("firejail", ""),
    wrapper_after("chroot", "", 1),
    wrapper_after("flock", "wE", 1),
    wrapper_after("taskset", "", 1),
    wrapper_after("chrt", "TPD", 1),
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

/// Whether a program runs code in a language of its own.
pub(in crate::policy) fn is_interpreter(name: &str) -> bool {
    let name = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    matches!(
        name,
        "python"
            | "pypy"
            | "node"
            | "deno"
            | "perl"
            | "ruby"
            | "php"
            | "lua"
            | "tclsh"
            | "osascript"
    )
}

/// The index at which the command of a wrapper begins; nothing where there is no wrapper or it has
/// no command.
pub(in crate::policy) fn inner_command(words: &[String]) -> Option<usize> {
    let name = program_name(words.first()?);
    let wrapper = WRAPPERS.iter().find(|wrapper| wrapper.name == name)?;
    let mut positional = wrapper.positional;
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
        } else if positional > 0 {
            positional -= 1;
            at += 1;
        } else {
            break;
        }
    }
    (at + positional < words.len()).then_some(at + positional)
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
            let name = program_name(first);
            if name == "xargs"
                && let Some(piped) = self.piped.take()
            {
                words.extend(piped);
            }
            let command = &words[begins..];
            let inner = inner_command(command);
            let end = inner.unwrap_or(command.len());
            self.record(&name, &command[1..end]);
            let Some(inner) = inner else {
                self.follow(&name, &words[begins + 1..]);
                break;
            };
            if let Some(wrapper) = self.invocations.last_mut() {
                wrapper.starts_another = true;
            }
            self.follow_option_scripts(&name, &words[begins + 1..begins + inner]);
            begins += inner;
            if self.work == 0 {
                break;
            }
        }
    }

    /// `env -S 'rm -rf /'` holds a command in an option.
    fn follow_option_scripts(&mut self, name: &str, options: &[String]) {
        if name != "env" {
            return;
        }
        let mut words = options.iter();
        while let Some(word) = words.next() {
            let script = if word == "-S" || word == "--split-string" {
                words.next().map(String::as_str)
            } else {
                word.strip_prefix("--split-string=")
                    .or_else(|| word.strip_prefix("-S"))
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
            "eval" | "trap" => self.script(&arguments.join(" ")),
            "alias" => {
                for (_, script) in arguments.iter().filter_map(|word| word.split_once('=')) {
                    self.script(script);
                }
            }
            "env" => self.follow_option_scripts(name, arguments),
            "find" => self.follow_find(arguments),
            _ if is_code_runner(name) => self.follow_shell(arguments),
            _ if is_interpreter(name) => self.follow_interpreter(arguments),
            _ if talks_about_programs(name) => {}
            _ => self.follow_removal(arguments),
        }
    }

    fn follow_shell(&mut self, arguments: &[String]) {
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
        } else if let Some(piped) = self.piped.take() {
            self.script(&piped.join(" "));
        }
    }

    /// Code in another language: a string in it that removes files is read as a script.
    fn follow_interpreter(&mut self, arguments: &[String]) {
        for code in arguments.iter().filter(|word| word.contains("rm -")) {
            for literal in code.split(['\'', '"', '`']) {
                if literal.contains("rm -") {
                    self.script(literal);
                }
            }
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
    )
}
