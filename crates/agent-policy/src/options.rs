//! Decides if the words after those of an allow rule are covered by it.
//!
//! `rg` searches, but `rg --pre` runs a program on every file. `cat` shows files, but `cat
//! /home/me/.ssh/id_rsa` shows one that is not part of the project. A rule that allows the
//! beginning of a command is not meant for these. The words after those of the rule are covered
//! only if they
//!
//! - name no path outside the workspace, and none that the workspace protects;
//! - have no option that makes the program run, fetch, write or obey something else;
//! - are, if they are code for the program itself (`sed`, `awk`), code that only prints.
//!
//! To allow one of these, name it in the rule.

use super::git::Git;
use super::wrappers::{inner_command, is_wrapper};
use super::{Policy, propose, protected, sed};

/// Programs with their risky options: whole words, short options, whose value may be joined to
/// them, and long options, of which every prefix counts.
#[rustfmt::skip]
static RISKY: &[(&str, &str)] = &[
    ("find", "-exec -execdir -ok -okdir -delete -fprint -fprint0 -fprintf -fls -files0-from"),
    ("fd", "-x -X --exec --exec-batch"),
    ("fdfind", "-x -X --exec --exec-batch"),
    ("rg", "--pre --hostname-bin"),
    ("ag", "--pager"),
    ("ack", "--pager --output --ackrc"),
    ("bat", "--pager"),
    ("less", "-o -O -k --log-file --LOG-FILE --lesskey-file --lesskey-src --lesskey-content"),
    ("man", "-P -H --pager --html"),
    ("file", "-C -f --compile --files-from"),
    ("tree", "-o -R --output --fromfile"),
    ("sort", "-o --output --compress-program --files0-from"),
    ("wc", "--files0-from"),
    ("du", "--files0-from"),
    ("shuf", "-o --output"),
    ("split", "--filter"),
    ("install", "--strip-program"),
    ("tar", "-I -F -P -g -T --checkpoint-action --to-command --use-compress-program --rsh-command --rmt-command --info-script --new-volume-script --absolute-names --listed-incremental --index-file --remove-files --volno-file --files-from"),
    ("zip", "-TT -m --unzip-command --move"),
    ("unzip", "-: -P"),
    ("rsync", "-e --rsh --rsync-path --remove-source-files --daemon --write-batch --files-from"),
    ("curl", "-o -O -J -K -T -F -d -D -c --output --output-dir --remote-name --remote-name-all --config --upload-file --form --data --data-binary --data-raw --data-urlencode --json --dump-header --cookie-jar --trace --trace-ascii --stderr --libcurl --etag-save --hsts --alt-svc --engine --netrc --netrc-file --unix-socket --proxy --preproxy"),
    ("wget", "-O -o -a -P -i -e --output-document --output-file --append-output --directory-prefix --input-file --execute --config --post-file --post-data --body-file --body-data --use-askpass --save-cookies --warc-file"),
    ("go", "-exec -toolexec -vettool --exec --toolexec --vettool"),
    ("gh", "alias extension ext auth config secret ssh-key"),
    ("printf", "-v"),
    ("test", "-v -R"),
    ("git", "-O -x run foreach --output --open-files-in-pager --no-index --exec --extcmd --ext-diff --textconv --filters --upload-pack --receive-pack --template --config --separate-git-dir --sendmail-cmd --tree-filter --repo --remote --strategy --unsafe-paths --edit-description --output-directory --pathspec-from-file"),
    ("git clone", "-u -c"), ("git archive", "-o"), ("git format-patch", "-o"),
    ("git bugreport", "-o"), ("git diagnose", "-o"), ("git merge", "-s"), ("git pull", "-s"),
    ("git rebase", "-s"), ("git difftool", "-t"), ("git mergetool", "-t"),
];

/// Subcommands of git that are covered by a rule without a subcommand, besides everyday work: those
/// that only read. Others change the configuration, run programs, print credentials or set up
/// timers.
#[rustfmt::skip]
const GIT_UNNAMED: &[&str] = &[
    "apply", "cat-file", "check-ignore", "cherry", "clean", "count-objects", "diff-files",
    "diff-index", "diff-tree", "for-each-ref", "ls-remote", "ls-tree", "merge-base", "name-rev",
    "notes", "range-diff", "rebase", "reflog", "reset", "rm", "show-branch", "show-ref", "version",
    "whatchanged", "worktree",
];

/// Builtins that change the meaning of later words in the script.
#[rustfmt::skip]
const CHANGES_THE_SHELL: &[&str] = &[
    ".", "alias", "bind", "complete", "compopt", "coproc", "declare", "enable", "eval", "exec",
    "export", "fc", "getopts", "hash", "let", "local", "mapfile", "read", "readarray", "readonly",
    "set", "shopt", "source", "trap", "typeset", "ulimit", "umask", "unalias", "unset",
];

/// The part of a plain command that begins with the program that does the work.
pub(super) fn without_wrappers(command: &[String]) -> &[String] {
    let mut begins = 0;
    while let Some(inner) = inner_command(&command[begins..]) {
        begins += inner;
    }
    &command[begins..]
}

/// The name of the program at the start of these words.
pub(super) fn name_of(words: &[String]) -> &str {
    let program = words.first().map_or("", String::as_str);
    program.rsplit('/').next().unwrap_or(program)
}

/// Returns true if a program obeys files in its working directory, which may be unprotected: a git
/// repository says which programs git runs.
pub(super) fn obeys_its_directory(command: &[String]) -> bool {
    let name = name_of(without_wrappers(command));
    name.starts_with("git-") || matches!(name, "git" | "gh" | "hg" | "jj")
}

/// Returns true if a program takes arguments from the output of another one.
pub(super) fn takes_unseen_arguments(command: &[String]) -> bool {
    let mut inner = command;
    loop {
        if matches!(name_of(inner), "xargs" | "parallel") {
            return true;
        }
        match inner_command(inner) {
            Some(begins) => inner = &inner[begins..],
            None => return false,
        }
    }
}

/// Returns true if a builtin changes the meaning of later words in the script, or evaluates its
/// argument. No allow rule matches it, because none says anything about the rest of the script.
pub(super) fn changes_the_shell(command: &[String]) -> bool {
    let inner = without_wrappers(command);
    let sets = |option: &str| inner.iter().skip(1).any(|word| word.starts_with(option));
    match inner.first().map_or("", String::as_str) {
        "printf" => sets("-v"),
        // Array indices are evaluated, with all substitutions in them.
        "test" | "[" => sets("-v") || sets("-R"),
        "wait" => sets("-p"),
        name => CHANGES_THE_SHELL.contains(&name),
    }
}

/// Returns true if the words after the first `named` ones make the program do something else than
/// those say, or name a path outside the workspace.
pub(super) fn goes_beyond(command: &[String], named: usize, policy: &Policy) -> bool {
    let inner = without_wrappers(command);
    let begins = command.len() - inner.len();
    // The program that does the work must be named.
    if named <= begins || does_something_else(command, named) {
        return true;
    }
    let name = name_of(inner);
    let code = code_places(inner);
    let mut added = (0..inner.len()).skip(named - begins);
    added.any(|at| !code.contains(&at) && leads_out(name, &inner[at], policy))
}

/// The indices of the words that are code for the program itself, and not paths.
fn code_places(command: &[String]) -> Vec<usize> {
    match name_of(command) {
        "sed" | "gsed" => {
            let scripts = sed::SedReading::of(command).scripts;
            scripts.into_iter().map(|(at, _)| at).collect()
        }
        "awk" | "gawk" | "mawk" | "nawk" => awk_code(command).into_iter().collect(),
        _ => Vec::new(),
    }
}

/// Returns true if the words after the first `named` ones make a program run, fetch, write or obey
/// something that those do not mention.
pub(super) fn does_something_else(command: &[String], named: usize) -> bool {
    let inner = without_wrappers(command);
    let name = name_of(inner);
    let named = named.saturating_sub(command.len() - inner.len());
    let added = &inner[named.min(inner.len())..];
    let has = |option: &str| added.iter().any(|word| word == option);
    has_risky_option(name, added)
        || match name {
            "git" => redirects_git(inner, named),
            "sed" | "gsed" => sed::does_more_than_print(inner, named),
            "awk" | "gawk" | "mawk" | "nawk" => is_more_than_plain_awk(inner, named),
            // Its first word is options without a dash; `host:file` is on another machine.
            "tar" => added.iter().enumerate().any(|(at, word)| {
                word.contains(':') || named + at == 1 && word.contains(['I', 'F', 'P', 'g', 'T'])
            }),
            // `go env -w` and similar write the person's own settings.
            "go" => inner.get(1).is_some_and(|word| word == "env") && (has("-w") || has("-u")),
            // A wrapper without a command, as in `env -S...`.
            _ => is_wrapper(name) && !added.is_empty(),
        }
}

fn has_risky_option(name: &str, words: &[String]) -> bool {
    let mut rows = RISKY.iter().filter(|(program, _)| *program == name);
    rows.any(|(_, options)| words.iter().any(|word| is_risky(options, word)))
}

fn is_risky(options: &str, word: &str) -> bool {
    let given = word.split('=').next().unwrap_or(word);
    let is_cluster = word.starts_with('-') && !word.starts_with("--");
    options.split(' ').any(|option| match option.as_bytes() {
        [b'-', b'-', ..] => given.len() > 2 && option.starts_with(given),
        [b'-', _] => is_cluster && word[1..].contains(&option[1..]),
        _ => option == given,
    })
}

/// Returns true if a git command uses another repository, configuration or machine, or has a
/// subcommand that a rule without one does not cover.
fn redirects_git(command: &[String], named: usize) -> bool {
    let redirects = |word: &String| !matches!(word.as_str(), "--no-pager" | "--version");
    let Some(git) = Git::of(&command[1..]) else {
        return command[named.min(command.len())..].iter().any(redirects);
    };
    let at = command.len() - git.arguments.len() - 1;
    let is_covered =
        propose::GIT_WORK.contains(&git.subcommand) || GIT_UNNAMED.contains(&git.subcommand);
    if command[named.clamp(1, at.max(1))..at].iter().any(redirects) || at >= named && !is_covered {
        return true;
    }
    let added = &command[named.max(at + 1).min(command.len())..];
    has_risky_option(&format!("git {}", git.subcommand), added)
        // An `ext::` address runs a program.
        || added.iter().any(|word| word.contains("::"))
        || match git.subcommand {
            "push" | "fetch" | "pull" | "ls-remote" => {
                let is_address = |word: &String| word.contains("://") || word.contains('@');
                let is_whole = added.len() == git.arguments.len();
                added.iter().any(is_address) || is_whole && names_another_machine(added)
            }
            "config" => !only_reads_configuration(&git, added),
            _ => false,
        }
}

/// Returns true if the remote, which is the first word that is not an option, is an address:
/// `host:path`.
///
/// The first such word may be the value of the option before it.
fn names_another_machine(arguments: &[String]) -> bool {
    let is_option = |word: &String| word.starts_with('-');
    let Some(first) = arguments.iter().position(|word| !is_option(word)) else {
        return false;
    };
    let count = if first == 0 { 1 } else { 2 };
    let operands = arguments[first..].iter().filter(|word| !is_option(word));
    operands.take(count).any(|word| word.contains(':'))
}

/// `git config user.name`, `git config --get x`, `git config --list`.
fn only_reads_configuration(git: &Git<'_>, added: &[String]) -> bool {
    let is_read = |word: &String| {
        matches!(
            word.as_str(),
            "--get" | "--get-all" | "--get-regexp" | "--list" | "-l" | "get" | "list"
        )
    };
    let reads = git.arguments.iter().any(is_read);
    let operands = git.operands().count();
    added.is_empty()
        || added
            .iter()
            .all(|word| !word.starts_with('-') || is_read(word))
            && (reads || operands <= 1 && !matches!(git.first(), "edit" | "-e"))
}

/// The index of the code in an awk command: the first word that is neither an option nor its value.
fn awk_code(command: &[String]) -> Option<usize> {
    let mut at = 1;
    while let Some(word) = command.get(at) {
        match word.as_str() {
            "-F" | "-v" => at += 2,
            "--" => return Some(at + 1),
            _ if word.len() > 1 && word.starts_with('-') => at += 1,
            _ => return Some(at),
        }
    }
    None
}

/// Returns true if an awk command has code that may do more than print.
fn is_more_than_plain_awk(command: &[String], named: usize) -> bool {
    let code = awk_code(command).unwrap_or(command.len());
    // Other options take code from a file, load libraries, or write profiles and variables to
    // files.
    let is_other = |word: &String| {
        let is_known = word == "--" || word.starts_with("-F") || word.starts_with("-v");
        word.len() > 1 && word.starts_with('-') && !is_known
    };
    let has_other = |at: usize| at < code && is_other(&command[at]);
    let does_more = |code: &String| {
        let words = ["system", "getline", "ENVIRON", "ARG", "PROCINFO"];
        words.iter().any(|word| code.contains(word)) || code.contains(['|', '>', '@', '\\'])
    };
    (named..command.len()).any(has_other)
        || code >= named && command.get(code).is_some_and(does_more)
}

/// Returns true if a word, or the value in it, is a path outside the workspace or a protected one.
fn leads_out(program: &str, word: &str, policy: &Policy) -> bool {
    let joined = word
        .strip_prefix('-')
        .filter(|rest| !rest.starts_with('-'))
        .and_then(|rest| Some(&rest[rest.find(['/', '.'])?..]));
    let is_local = word.starts_with("file:");
    let only_reads = propose::only_looks(program) || program == "git";
    let pieces = word.split(['=', ':', ',', '@']).chain(joined);
    pieces
        .filter(|piece| is_local || !piece.starts_with("//") || piece.len() == word.len())
        .any(|piece| {
            let path = policy.places.relative(piece);
            policy.places.is_outside(piece)
                || protected::names_our_state(piece)
                || path.is_some_and(|path| {
                    policy.is_own(&path) || !only_reads && policy.protects(&path)
                })
        })
}
