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

use std::collections::HashMap;
use std::sync::LazyLock;

use regex::Regex;

use super::code::{code_in, does_more};
use super::git::Git;
use super::names::{self, facts, is_a, is_in, rows};
use super::wrappers::{commands_within, is_wrapper, option_letters, without_wrappers};
use super::{Policy, protected};
use agent_protocol::RelPath;

/// The patterns of words that an allow rule does not cover, compiled.
static RISKY_TEXT: LazyLock<HashMap<&str, Regex>> = LazyLock::new(|| {
    let patterns = rows("risky-text");
    let compiled = patterns.filter_map(|pattern| Some((pattern, Regex::new(pattern).ok()?)));
    compiled.collect()
});

/// Returns true if a word makes a program run, write or obey something else: `@file` and plugins of a
/// compiler, commands of a database's client, `%n` of `printf`.
fn is_risky_text(name: &str, word: &str) -> bool {
    // `x86_64-linux-gnu-gcc-14`
    let tool = name.trim_end_matches(|c: char| c.is_ascii_digit() || ".-".contains(c));
    let tool = tool.rsplit_once('-').map_or(tool, |(_, tool)| tool);
    let patterns = [name, tool].map(|name| facts("risky-text", name));
    let mut patterns = patterns.into_iter().flatten();
    patterns.any(|pattern| {
        RISKY_TEXT
            .get(pattern)
            .is_none_or(|risky| risky.is_match(word))
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
    let may_set = is_in("printf test [ wait", name);
    is_a("change-the-shell", name) || may_set && does_something_else(inner, 1)
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
    let code = code_in(name, inner);
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
        || added.iter().any(|word| is_risky_text(name, word))
        || does_more(name, inner, named)
        || match name {
            "git" => redirects_git(inner, named),
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
    // The options before a subcommand of git are none of its own.
    let own = if name == "git" { &subcommand } else { name };
    let mut rows = facts(section, name).chain(facts(section, &subcommand));
    rows.any(|options| match options.strip_prefix("unless ") {
        Some(others) => !words.is_empty() && !words.iter().any(|word| is_in(others, word)),
        None => words.iter().any(|word| is_risky(own, options, word)),
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
                let is_whole = added.len() == git.arguments.len();
                let has_options = added.iter().any(|word| is_option(&word));
                let mut words = added.iter().enumerate();
                words.any(|(at, word)| {
                    let may_be_remote = is_whole && (at == 0 || has_options);
                    word.contains("://")
                        || word.contains('@')
                        || may_be_remote && word.contains(':')
                })
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
        let paths = (policy.places).paths_of(directory, piece, policy.has_sandbox());
        paths.is_none_or(|paths| paths.iter().any(is_closed))
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
