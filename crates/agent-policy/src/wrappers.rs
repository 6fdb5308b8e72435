//! Programs that start the command in their arguments, and where that command begins.

use super::names::is_in;
use super::reading::UNKNOWN;

/// Wrappers: their names, the number of words before the command, the subcommands after which they
/// run one (always if there are none), and the options whose value is the next word: letters, then
/// long options.
#[rustfmt::skip]
static WRAPPERS: &[(&str, usize, &str, &str)] = &[
    ("command builtin coproc nohup setsid busybox toybox pkexec firejail unbuffer valgrind \
        dbus-run-session bunx \
        foreach-object foreach % where-object invoke-command icm start-job call", 0, "", ""),
    ("env", 0, "", "uC --unset --chdir"),
    ("exec", 0, "", "a"),
    ("nice", 0, "", "n --adjustment"),
    ("ionice", 0, "", "cnpPu --class --classdata --pid"),
    ("caffeinate", 0, "", "tw"),
    ("time", 0, "", "fo --format --output"),
    ("timeout", 1, "", "ks --signal --kill-after"),
    ("stdbuf", 0, "", "ioe --input --output --error"),
    ("xargs", 0, "", "InPLdEsa --max-args --max-procs --max-chars --max-lines --delimiter \
        --arg-file --process-slot-var"),
    ("parallel", 0, "", "jNI --jobs --max-args --delay --timeout"),
    ("unshare", 0, "", "SGR"),
    ("strace ltrace", 0, "", "eosp"),
    ("watch", 0, "", "n --interval"),
    ("doas", 0, "", "uC"),
    ("sudo", 0, "", "ughpCrtTDR"),
    ("fakeroot", 0, "", "lsib"),
    ("prlimit", 0, "", "p"),
    ("xvfb-run", 0, "", "nsef"),
    ("setpriv", 0, "", " --reuid --regid --groups --inh-caps --bounding-set --ambient-caps"),
    ("nsenter", 0, "", "tSGw --target --setuid --setgid"),
    ("systemd-run", 0, "", "pHMuE --unit --property --uid --gid --slice --setenv \
        --working-directory"),
    ("chroot taskset sg", 1, "", ""),
    ("flock", 1, "", "wE --timeout --wait --conflict-exit-code"),
    ("chrt", 1, "", "TPD"),
    ("ssh", 1, "", "bcDEeFIiJLlmOopQRSWw"),
    ("npx", 0, "", "p --package"),
    ("uvx", 0, "", "p --from --with --python"),
    ("uv", 0, "run", "p --with --python --extra --group --directory --project --env-file"),
    ("npm", 0, "exec x", ""),
    ("pnpm yarn", 0, "exec dlx", ""),
    ("bun", 0, "x", ""),
    ("poetry pipx pdm rye hatch", 0, "run", ""),
    ("bundle", 0, "exec", ""),
    ("rustup", 1, "run", ""),
    ("conda", 0, "run", "np"),
    ("perf", 0, "stat record trace", "eo"),
];

/// The index of the command of a wrapper; `None` if there is no wrapper or it has no command.
pub(super) fn inner_command(words: &[String]) -> Option<usize> {
    let name = program_name(words.first()?);
    let wrapper = WRAPPERS.iter().find(|(names, ..)| is_in(names, &name))?;
    let (_, mut positional, subcommands, valued) = *wrapper;
    let mut awaits_subcommand = !subcommands.is_empty();
    let mut at = 1;
    while let Some(word) = words.get(at) {
        if word == "--" {
            at += 1;
            break;
        } else if word.starts_with('-') && (word.len() > 1 || name == "env") {
            // `command -v rm` only prints where it is.
            if name == "command" && word.contains(['v', 'V']) {
                return None;
            }
            at += usize::from(takes_next_word(valued, word));
        } else if name == "env" && word.contains('=') {
            // An assignment.
        } else if awaits_subcommand {
            // One letter, as in `npm x`, may be the value of an option before it.
            let is_doubtful = word.len() == 1 && at > 1;
            if is_doubtful || !is_in(subcommands, word) {
                return None;
            }
            awaits_subcommand = false;
        } else if positional > 0 {
            positional -= 1;
        } else {
            break;
        }
        at += 1;
    }
    let mut begins = at + positional;
    // `coproc x { ls; }`
    if let Some(brace) = words.iter().take(begins + 2).rposition(|word| word == "{") {
        begins = begins.max(brace + 1);
    }
    (!awaits_subcommand && begins < words.len()).then_some(begins)
}

/// The directory in which a wrapper starts its command, if an option of these names one.
pub(super) fn directory_option<'a>(name: &str, options: &'a [String]) -> Option<&'a str> {
    let names = match name {
        "env" => "-C --chdir",
        "uv" => "--directory",
        "systemd-run" => "--working-directory",
        _ => return None,
    };
    let mut found = None;
    for (at, word) in options.iter().enumerate() {
        let next = || options.get(at + 1).map(String::as_str);
        if let Some((option, value)) = word.split_once('=').filter(|_| word.starts_with("--")) {
            found = Some(value).filter(|_| is_in(names, option)).or(found);
        } else if word.starts_with("--") {
            found = next().filter(|_| is_in(names, word)).or(found);
        } else if let Some(at) = word
            .find('C')
            .filter(|_| name == "env" && word.starts_with('-'))
        {
            found = Some(&word[at + 1..])
                .filter(|value| !value.is_empty())
                .or_else(next);
        }
    }
    found
}

/// A value may also be joined to the letter of its option, which is the last in a cluster.
fn takes_next_word(valued: &str, option: &str) -> bool {
    let (letters, long) = valued.split_once(' ').unwrap_or((valued, ""));
    if option.starts_with("--") {
        return is_in(long, option);
    }
    let first = option.find(|letter| letters.contains(letter));
    first.is_some_and(|at| at + 1 == option.len())
}

/// Returns true if a program runs the command in its arguments, whatever they are.
pub(super) fn is_wrapper(name: &str) -> bool {
    let is_named = |names: &str, subcommands: &str| subcommands.is_empty() && is_in(names, name);
    WRAPPERS
        .iter()
        .any(|(names, _, subcommands, _)| is_named(names, subcommands))
}

/// A command, the command that it starts if it is a wrapper, and so on.
pub(super) fn commands_within(command: &[String]) -> impl Iterator<Item = &[String]> {
    std::iter::successors(Some(command), |words| Some(&words[inner_command(words)?..]))
}

/// The part of a command that begins with the program that does the work.
pub(super) fn without_wrappers(command: &[String]) -> &[String] {
    commands_within(command).last().unwrap_or(command)
}

/// The last component of a program's path, in lower case, without `.exe`.
///
/// An unknown directory is all that may be unknown before it, as in `$venv/bin/python`.
pub(super) fn program_name(word: &str) -> String {
    let known = word
        .strip_prefix(UNKNOWN)
        .filter(|rest| rest.starts_with('/'));
    if known.unwrap_or(word).contains(UNKNOWN) {
        return UNKNOWN.to_string();
    }
    let name = word.rsplit(['/', '\\']).next().unwrap_or(word);
    let mut name = name.to_lowercase();
    name.truncate(name.strip_suffix(".exe").map_or(name.len(), str::len));
    name
}
