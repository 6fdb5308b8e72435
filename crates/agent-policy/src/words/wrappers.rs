//! Programs that start the command in their arguments, and where that command begins.

use super::is_assignment;

/// A program that runs the command in its arguments.
#[derive(Clone, Copy)]
struct Wrapper {
    name: &'static str,
    /// Short options whose value is the next word.
    valued: &'static str,
    /// Long options whose value is the next word.
    valued_long: &'static [&'static str],
    /// It runs a command only after one of these words; always if there are none.
    subcommands: &'static [&'static str],
    /// The number of words before the command, options aside.
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

/// The index of the command of a wrapper; `None` if there is no wrapper or it has no command.
pub(crate) fn inner_command(words: &[String]) -> Option<usize> {
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
            // `command -v rm` only prints where it is.
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

/// Returns true if a program runs the command in its arguments, whatever they are.
pub(crate) fn is_wrapper(name: &str) -> bool {
    let mut wrappers = WRAPPERS.iter();
    wrappers.any(|wrapper| wrapper.name == name && wrapper.subcommands.is_empty())
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
pub(super) fn program_name(word: &str) -> String {
    let name = word.rsplit(['/', '\\']).next().unwrap_or(word);
    let name = name.to_lowercase();
    name.strip_suffix(".exe")
        .map_or(name.clone(), str::to_owned)
}
