//! Programs that start the command in their arguments, and where that command begins.

use super::reading::UNKNOWN;

/// A program that runs the command in its arguments.
struct Wrapper {
    name: &'static str,
    /// Options whose value is the next word: letters, then long options.
    valued: &'static str,
    /// It runs a command only after one of these words; always if there are none.
    subcommands: &'static [&'static str],
    /// The number of words before the command, options aside.
    positional: usize,
}

const fn plain(name: &'static str, valued: &'static str) -> Wrapper {
    after(name, 0, valued)
}

const fn after(name: &'static str, positional: usize, valued: &'static str) -> Wrapper {
    Wrapper {
        name,
        valued,
        subcommands: &[],
        positional,
    }
}

const fn sub(
    name: &'static str,
    subcommands: &'static [&'static str],
    valued: &'static str,
) -> Wrapper {
    Wrapper {
        name,
        valued,
        subcommands,
        positional: 0,
    }
}

#[rustfmt::skip]
static WRAPPERS: &[Wrapper] = &[
    plain("env", "uC --unset --chdir"),
    plain("command", ""), plain("builtin", ""), plain("coproc", ""), plain("exec", "a"),
    plain("nice", "n --adjustment"),
    plain("ionice", "cnpPu --class --classdata --pid"),
    plain("nohup", ""), plain("setsid", ""), plain("caffeinate", "tw"),
    plain("time", "fo --format --output"),
    after("timeout", 1, "ks --signal --kill-after"),
    plain("stdbuf", "ioe --input --output --error"),
    plain("xargs", "InPLdEsa --max-args --max-procs --max-chars --max-lines --delimiter --arg-file --process-slot-var"),
    plain("parallel", "jNI --jobs --max-args --delay --timeout"),
    plain("busybox", ""), plain("toybox", ""), plain("unshare", "SGR"),
    plain("strace", "eosp"), plain("ltrace", "eosp"), plain("watch", "n --interval"),
    plain("doas", "uC"), plain("sudo", "ughpCrtTDR"), plain("pkexec", ""),
    plain("firejail", ""), plain("fakeroot", "lsib"), plain("unbuffer", ""), plain("valgrind", ""),
    plain("prlimit", "p"), plain("xvfb-run", "nsef"), plain("dbus-run-session", ""),
    plain("setpriv", " --reuid --regid --groups --inh-caps --bounding-set --ambient-caps"),
    plain("nsenter", "tSGw --target --setuid --setgid"),
    plain("systemd-run", "pHMuE --unit --property --uid --gid --slice --setenv --working-directory"),
    after("chroot", 1, ""), after("flock", 1, "wE"), after("taskset", 1, ""),
    after("chrt", 1, "TPD"), after("sg", 1, ""), after("ssh", 1, "bcDEeFIiJLlmOopQRSWw"),
    plain("npx", "p --package"), plain("bunx", ""), plain("uvx", "p --from --with --python"),
    sub("uv", &["run"], "p --with --python --extra --group --directory --project --env-file"),
    sub("npm", &["exec", "x"], ""), sub("pnpm", &["exec", "dlx"], ""),
    sub("yarn", &["exec", "dlx"], ""), sub("bun", &["x"], ""), sub("poetry", &["run"], ""),
    sub("pipx", &["run"], ""), sub("pdm", &["run"], ""), sub("rye", &["run"], ""),
    sub("hatch", &["run"], ""), sub("bundle", &["exec"], ""), sub("conda", &["run"], "np"),
    sub("perf", &["stat", "record", "trace"], "eo"),
];

/// The index of the command of a wrapper; `None` if there is no wrapper or it has no command.
pub(super) fn inner_command(words: &[String]) -> Option<usize> {
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
            at += if wrapper.takes_next_word(word) { 2 } else { 1 };
        } else if wrapper.name == "env" && word.contains('=') {
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
pub(super) fn is_wrapper(name: &str) -> bool {
    let mut wrappers = WRAPPERS.iter();
    wrappers.any(|wrapper| wrapper.name == name && wrapper.subcommands.is_empty())
}

impl Wrapper {
    /// A value may also be joined to the letter of its option, which is the last in a cluster.
    fn takes_next_word(&self, option: &str) -> bool {
        let (letters, long) = self.valued.split_once(' ').unwrap_or((self.valued, ""));
        if option.starts_with("--") {
            return long.split(' ').any(|valued| valued == option);
        }
        let first = option
            .char_indices()
            .find(|(_, letter)| letters.contains(*letter));
        first.is_some_and(|(at, letter)| at + letter.len_utf8() == option.len())
    }
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
    let name = word
        .rsplit(['/', '\\'])
        .next()
        .unwrap_or(word)
        .to_lowercase();
    name.strip_suffix(".exe")
        .map_or(name.clone(), str::to_owned)
}
