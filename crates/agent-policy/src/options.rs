//! Decides if the words after those of an allow rule are covered by it.
//!
//! `rg` searches, but `rg --pre` runs a program on every file. `cat` shows files, but `cat
//! /home/me/.ssh/id_rsa` shows one that is not part of the project. A rule that allows the
//! beginning of a command is not meant for these. The words after those of the rule are covered
//! only if they
//!
//! - name no path outside the workspace, and none that the workspace protects, through a link
//!   neither;
//! - have no option that makes the program run, fetch, write or obey something else;
//! - are, if they are code for the program itself (`sed`, `awk`), code that only prints.
//!
//! To allow one of these, name it in the rule.

use super::code::CodeReading;
use super::git::Git;
use super::names::{self, facts, is_a, is_in};
use super::targets::PathEnd;
use super::wrappers::{commands_within, is_wrapper, option_letters, without_wrappers};
use super::{Policy, protected};
use agent_protocol::RelPath;

/// Returns true if a word makes a compiler or a linker run or obey something else: another linker,
/// a plugin, or a file with arguments.
fn redirects_compiler(name: &str, word: &str) -> bool {
    // `x86_64-linux-gnu-gcc-14`
    let name = name.trim_end_matches(|c: char| c.is_ascii_digit() || ".-".contains(c));
    let tool = name.rsplit('-').next().unwrap_or(name);
    let is_tool = |section| is_a(section, name) || is_a(section, tool);
    let is_compiler = is_tool("compilers");
    if !is_compiler && !is_tool("binary-tools") {
        return false;
    }
    let mut options = facts("compiler-options", "*").flat_map(str::split_whitespace);
    // `-Wl,-plugin,x.so`
    word.split(',').any(|piece| {
        let option = piece.trim_start_matches('-');
        // `rustc -C linker=x`
        let is_option = piece.len() > option.len() || option.starts_with("link");
        let begins = |listed: &str| option.starts_with(listed);
        // Linkers take the beginning of an option for the option.
        let given = option.split('=').next().unwrap_or(option);
        let is_plugin = given.len() > 1 && "plugin".starts_with(given);
        piece.starts_with('@')
            || is_compiler && piece.starts_with("-B")
            || is_option && (is_plugin || options.any(begins))
    })
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
    name.starts_with("git-") || is_in("git gh hg jj", name)
}

/// Returns true if a program takes arguments from the output of another one.
pub(super) fn takes_unseen_arguments(command: &[String]) -> bool {
    commands_within(command).any(|inner| is_in("xargs parallel", name_of(inner)))
}

/// Returns true if a builtin changes the meaning of later words in the script, or evaluates its
/// argument. No allow rule matches it, because none says anything about the rest of the script.
pub(super) fn changes_the_shell(command: &[String]) -> bool {
    let inner = without_wrappers(command);
    let name = inner.first().map_or("", String::as_str);
    // Of `test` too: array indices are evaluated, with all substitutions in them.
    let sets = || {
        has_option("risky", inner, &inner[1..]) || inner[1..].iter().any(|word| stores_count(word))
    };
    is_a("change-the-shell", name) || is_in("printf test [ wait", name) && sets()
}

/// Returns true if a format of `printf` has a conversion `%n`, which sets a variable.
fn stores_count(format: &str) -> bool {
    format
        .replace("%%", "")
        .split('%')
        .skip(1)
        .any(|conversion| {
            let is_modifier = |c: char| c.is_ascii_digit() || "#-+ '.*$hlLqjzt".contains(c);
            conversion.trim_start_matches(is_modifier).starts_with('n')
        })
}

/// The words after the first `named` ones. The first word for `tar` and the like is options, also
/// without a dash.
fn added_words(name: &str, command: &[String], named: usize) -> Vec<String> {
    let mut added = command[named.min(command.len())..].to_vec();
    if let (true, Some(options)) = (is_in("tar ar jar", name) && named <= 1, added.first_mut())
        && !options.starts_with('-')
    {
        options.insert(0, '-');
    }
    added
}

/// Returns true if a word is a command of a database's client, or SQL that runs a program or reads
/// and writes files.
fn leaves_sql(word: &str) -> bool {
    const LEAVING: &str = "load_extension readfile writefile edit( fsdir attach program pg_read \
        pg_ls lo_import lo_export load_file outfile dumpfile infile system source copy";
    let is_command = |line: &str| {
        let line = line.trim_start();
        line.starts_with('.') && !line.starts_with("./") && !line.starts_with("../")
    };
    let lower = word.to_ascii_lowercase();
    // In `select payload` these are no words of their own.
    let mut words = lower.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.any(|word| is_in("load vacuum", word))
        || word.lines().any(is_command)
        || word.contains('\\')
        || LEAVING.split_whitespace().any(|name| lower.contains(name))
}

/// Returns true if the words after the first `named` ones make the program do something else than
/// those say, or name a path outside the workspace. The command runs in one of the directories.
pub(super) fn goes_beyond(
    command: &[String],
    named: usize,
    policy: &Policy,
    directories: &[String],
) -> bool {
    let inner = without_wrappers(command);
    let begins = command.len() - inner.len();
    // The program that does the work must be named.
    if named <= begins || does_something_else(command, named) {
        return true;
    }
    let name = name_of(inner);
    let added = added_words(name, inner, named - begins);
    if !policy.has_sandbox() && has_option("reach-unnamed", inner, &added) {
        return true;
    }
    let code = CodeReading::of(name, inner).map_or_else(Vec::new, |reading| reading.code);
    let mut added = (0..inner.len()).skip(named - begins);
    added.any(|at| !code.contains(&at) && leads_out(name, &inner[at], policy, directories))
}

/// Returns true if the words after the first `named` ones make a program run, fetch, write or obey
/// something that those do not mention.
pub(super) fn does_something_else(command: &[String], named: usize) -> bool {
    let inner = without_wrappers(command);
    let name = name_of(inner);
    let named = named.saturating_sub(command.len() - inner.len());
    let added = &added_words(name, inner, named);
    has_option("risky", inner, added)
        || added.iter().any(|word| redirects_compiler(name, word))
        || CodeReading::of(name, inner).is_some_and(|reading| reading.does_more(inner, named))
        || match name {
            "git" => redirects_git(inner, named),
            // `host:file` is on another machine.
            "tar" => added.iter().any(|word| word.contains(':')),
            "curl" => added.iter().any(|word| word.contains("%output{")),
            "sqlite3" | "psql" | "mysql" | "mariadb" => added.iter().any(|word| leaves_sql(word)),
            // A wrapper without a command, as in `env -S...`.
            _ => is_wrapper(name) && !added.is_empty(),
        }
}

/// Returns true if these words of a command have an option that a section of the table lists for its
/// program or for its subcommand.
fn has_option(section: &str, command: &[String], words: &[String]) -> bool {
    let name = name_of(command);
    let git = Git::of(command.get(1..).unwrap_or_default()).filter(|_| name == "git");
    let first = command.get(1).map_or("", String::as_str);
    let subcommand = format!("{name}-{}", git.map_or(first, |git| git.subcommand));
    let mut rows = facts(section, name).chain(facts(section, &subcommand));
    rows.any(|options| match options.strip_prefix("unless ") {
        Some(others) => !words.is_empty() && !words.iter().any(|word| is_in(others, word)),
        None => words.iter().any(|word| is_risky(name, options, word)),
    })
}

fn is_risky(name: &str, options: &str, word: &str) -> bool {
    let given = word.split('=').next().unwrap_or(word);
    options.split(' ').any(|option| match option.as_bytes() {
        [b'-', b'-', ..] => given.len() > 2 && option.starts_with(given),
        [b'-', _, ..] => option_letters(name, word).contains(&option[1..]),
        _ => option == given,
    })
}

/// Returns true if a git command uses another repository, configuration or machine, or has a
/// subcommand that a rule without one does not cover.
fn redirects_git(command: &[String], named: usize) -> bool {
    let redirects = |word: &String| !is_in("--no-pager --version", word);
    let Some(git) = Git::of(&command[1..]) else {
        return command[named.min(command.len())..].iter().any(redirects);
    };
    let at = command.len() - git.arguments.len() - 1;
    let is_covered = names::is_covered_by_git(git.subcommand);
    if command[named.clamp(1, at.max(1))..at].iter().any(redirects) || at >= named && !is_covered {
        return true;
    }
    let added = &command[named.max(at + 1).min(command.len())..];
    let is_option = |word: &&String| word.starts_with('-');
    // An `ext::` address runs a program.
    added.iter().any(|word| word.contains("::"))
        || match git.subcommand {
            "push" | "fetch" | "pull" | "ls-remote" => {
                // The remote is the first word, or anywhere among options and their values.
                let remotes = if added.iter().any(|word| is_option(&word)) {
                    added.len()
                } else {
                    1
                };
                let is_whole = added.len() == git.arguments.len();
                added
                    .iter()
                    .any(|word| word.contains("://") || word.contains('@'))
                    || is_whole && added.iter().take(remotes).any(|word| word.contains(':'))
            }
            // `git config user.name`, `git config --get x.y`, `git config --list`
            "config" => {
                let reads = "--get --get-all --get-regexp --list -l";
                let keys = || git.operands().filter(|word| !is_in("get list", word));
                let only_reads = keys().count() <= 1 && keys().all(|key| key.contains('.'));
                let mut options = added.iter().filter(is_option);
                !added.is_empty() && (!only_reads || options.any(|word| !is_in(reads, word)))
            }
            _ => false,
        }
}

/// Returns true if a word, or a value in it, is a path outside the workspace or a protected one.
fn leads_out(program: &str, word: &str, policy: &Policy, directories: &[String]) -> bool {
    // Longer clusters of options are nothing that a rule was written for.
    const LONGEST_CLUSTER: usize = 32;
    let only_reads = program == "git" || is_a("looks", program);
    let is_closed = |path: &RelPath| {
        protected::names_our_state(path.as_str())
            || policy.is_of_a_base(path)
            || !only_reads && policy.protects(path)
    };
    let leads = |piece: &str, directory: &String| {
        let named = policy.places.relative(directory, piece);
        match policy.places.end_of(directory, piece, policy.has_sandbox()) {
            PathEnd::Outside => true,
            PathEnd::Inside(real) => named.iter().chain(&real).any(is_closed),
        }
    };
    // The value of an option may begin behind any letter of a word such as `-xfvalue`.
    let cluster = word.strip_prefix('-').unwrap_or_default();
    let letters = cluster.find(['/', '.', '-']).unwrap_or(cluster.len());
    let starts = cluster.char_indices().map(|(at, _)| at);
    let starts = starts.skip(usize::from(letters > 0));
    let joined = starts
        .take_while(|at| *at <= letters)
        .map(|at| &cluster[at..]);
    // In an address, what is behind `//` is no path.
    let is_address = |piece: &&str| piece.starts_with("//") && piece.len() < word.len();
    let is_local = word.starts_with("file:");
    let pieces = word.split(['=', ':', ',', '@']);
    let pieces = pieces.filter(|piece| is_local || !is_address(piece));
    let mut paths = pieces.chain([word]).chain(joined);
    letters > LONGEST_CLUSTER
        || paths.any(|piece| directories.iter().any(|directory| leads(piece, directory)))
}
