//! Options with which an ordinary program runs, reads or writes whatever it is told.
//!
//! `rg` searches, and `rg --pre` runs a program on every file. A rule that allows a beginning was
//! not meant for these: it covers one only if it names it.

use super::words::inner_command;

/// The options of one program.
struct Risky {
    name: &'static str,
    /// Whole words, and short options whose value may be joined to them.
    words: &'static [&'static str],
    /// Long options; every beginning of one counts, as most programs take them.
    long: &'static [&'static str],
}

const fn risky(
    name: &'static str,
    words: &'static [&'static str],
    long: &'static [&'static str],
) -> Risky {
    Risky { name, words, long }
}

static RISKY: &[Risky] = &[
    risky(
        "find",
        &[
            "-exec", "-execdir", "-ok", "-okdir", "-delete", "-fprint", "-fprint0", "-fprintf",
            "-fls",
        ],
        &[],
    ),
    risky("fd", &["-x", "-X"], &["--exec", "--exec-batch"]),
    risky("fdfind", &["-x", "-X"], &["--exec", "--exec-batch"]),
    risky("rg", &[], &["--pre", "--hostname-bin"]),
    risky("ag", &[], &["--pager"]),
    risky(
        "tar",
        &["-I", "-F"],
        &[
            "--checkpoint-action",
            "--to-command",
            "--use-compress-program",
            "--rsh-command",
            "--rmt-command",
            "--info-script",
            "--new-volume-script",
        ],
    ),
    risky("sort", &["-o"], &["--output", "--compress-program"]),
    risky("split", &[], &["--filter"]),
    risky("tree", &["-o"], &[]),
    risky("man", &["-P", "-H"], &["--pager", "--html"]),
    risky("zip", &["-TT"], &["--unzip-command"]),
    risky("rsync", &["-e"], &["--rsh", "--rsync-path"]),
    risky(
        "go",
        &["-exec", "-toolexec", "-vettool"],
        &["--exec", "--toolexec", "--vettool"],
    ),
    risky(
        "git",
        &["-O", "-x", "run", "foreach"],
        &[
            "--output",
            "--open-files-in-pager",
            "--no-index",
            "--exec",
            "--extcmd",
            "--ext-diff",
            "--textconv",
            "--upload-pack",
            "--receive-pack",
            "--template",
            "--config",
            "--separate-git-dir",
            "--sendmail-cmd",
            "--tree-filter",
        ],
    ),
];

/// The part of a plain command that begins with the program which does the work.
pub(super) fn without_wrappers(command: &[String]) -> &[String] {
    let mut begins = 0;
    while let Some(inner) = inner_command(&command[begins..]) {
        begins += inner;
    }
    &command[begins..]
}

/// The name of the program at the beginning of some words.
pub(super) fn name_of(words: &[String]) -> &str {
    let program = words.first().map_or("", String::as_str);
    program.rsplit('/').next().unwrap_or(program)
}

/// Whether a program obeys what it finds in the directory where it is started, although that can
/// be a place which nothing protects: a repository says which programs git runs.
pub(super) fn obeys_its_directory(command: &[String]) -> bool {
    let name = name_of(without_wrappers(command));
    name.starts_with("git-") || matches!(name, "git" | "gh" | "hg" | "jj")
}

/// Whether what follows the first `named` words of a command makes its program do something else
/// than those words say.
pub(super) fn goes_beyond(command: &[String], named: usize) -> bool {
    let inner = without_wrappers(command);
    let name = name_of(inner);
    let begins = command.len() - inner.len();
    let added = &command[named.clamp(begins, command.len())..];
    if name == "git" && redirects_git(inner, added) {
        return true;
    }
    RISKY
        .iter()
        .filter(|risky| risky.name == name)
        .any(|risky| added.iter().any(|word| risky.has(word)))
}

/// Options before the subcommand of git lead to another repository or another configuration, and
/// `ext::` is an address that runs a program.
fn redirects_git(command: &[String], added: &[String]) -> bool {
    let before_subcommand = command
        .iter()
        .skip(1)
        .take_while(|word| word.starts_with('-'))
        .count();
    let options_added = (before_subcommand + 1).saturating_sub(command.len() - added.len());
    added[..options_added.min(added.len())]
        .iter()
        .any(|word| word.starts_with('-') && !matches!(word.as_str(), "--no-pager" | "--version"))
        || added.iter().any(|word| word.contains("::"))
}

impl Risky {
    fn has(&self, word: &str) -> bool {
        if word.starts_with("--") {
            let option = word.split('=').next().unwrap_or(word);
            return option.len() > 2 && self.long.iter().any(|long| long.starts_with(option));
        }
        let option = word.split('=').next().unwrap_or(word);
        self.words.iter().any(|risky| {
            *risky == option
                || risky.len() == 2 && word.starts_with('-') && word[1..].contains(&risky[1..])
        })
    }
}
