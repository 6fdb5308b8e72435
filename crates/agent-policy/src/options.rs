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

use super::command::{
    ComparedCommand, Git, commands_within, facts, is_a, is_covered_by_git, is_in, is_wrapper,
    name_of, rows, without_wrappers,
};
use super::{Policy, protected};
use agent_protocol::RelPath;

/// The patterns of words that an allow rule does not cover, and of code that it does, compiled.
static PATTERNS: LazyLock<HashMap<&str, Regex>> = LazyLock::new(|| {
    let patterns = rows("risky-text").chain(rows("harmless-code"));
    let compiled = patterns.filter_map(|pattern| Some((pattern, Regex::new(pattern).ok()?)));
    compiled.collect()
});

/// Returns true if a program obeys files in its working directory, which may be unprotected: a git
/// repository says which programs git runs.
pub(super) fn obeys_its_directory(command: &[String]) -> bool {
    let name = name_of(without_wrappers(command));
    name.starts_with("git-") || is_in("git gh hg jj", name)
}

/// Returns true if no allow rule matches a command, because it takes arguments from the output of
/// another one, or because a builtin changes the meaning of later words in the script or evaluates its
/// argument.
pub(super) fn is_never_allowed(command: &[String]) -> bool {
    let inner = without_wrappers(command);
    // Of `test` too: array indices are evaluated, with all substitutions in them.
    let may_set = is_in("printf test [ wait", &inner[0]);
    is_a("change-the-shell", &inner[0])
        || may_set && does_something_else(inner, 1)
        || commands_within(command).any(|one| is_in("xargs parallel", name_of(one)))
}

/// The words of a command that begins with the program that does the work, and the number of them that
/// a rule names if it names so many of the whole command. The first word for `tar` and the like is
/// options, also without a dash.
fn own_words(command: &[String], named: usize) -> (Vec<String>, usize) {
    let mut own = without_wrappers(command).to_vec();
    let named = (named + own.len()).saturating_sub(command.len());
    let takes_letters = is_in("tar ar jar", name_of(&own)) && named <= 1;
    if let Some(options) = own.get_mut(1).filter(|_| takes_letters)
        && !options.starts_with('-')
    {
        options.insert(0, '-');
    }
    (own, named)
}

/// Returns true if the words after the first `named` ones make the program do something else than
/// those say, or name a path outside the workspace. The command runs in one of the directories.
pub(super) fn goes_beyond(
    command: &[String],
    named: usize,
    policy: &Policy,
    directories: &[String],
) -> bool {
    let (own, own_named) = own_words(command, named);
    // The program that does the work must be named.
    if own_named == 0 || does_something_else(command, named) {
        return true;
    }
    let added = &own[own_named.min(own.len())..];
    let compared = ComparedCommand::added(&own, own_named);
    if !policy.has_sandbox() && !added.is_empty() && compared.is_any("reach-unnamed") {
        return true;
    }
    let code = code_in(&own).unwrap_or_default();
    let inner = without_wrappers(command);
    let mut added = (own_named..inner.len()).filter(|at| *at != code);
    added.any(|at| leads_out(compared.name, &inner[at], policy, directories))
}

/// Returns true if the words after the first `named` ones make a program run, fetch, write or obey
/// something that those do not mention.
pub(super) fn does_something_else(command: &[String], named: usize) -> bool {
    let (own, named) = own_words(command, named);
    let compared = ComparedCommand::added(&own, named);
    let added = &own[named.min(own.len())..];
    if added.is_empty() {
        return false;
    }
    let is_code = code_in(&own).filter(|at| *at >= named);
    compared.is_any("risky")
        || added.iter().any(|word| has_risky_text(&compared, word))
        || is_code.is_some_and(|at| !is_harmless_code(compared.name, &own[at]))
        // A wrapper without a command, as in `env -S...`.
        || is_wrapper(compared.name)
        || compared.name == "git" && redirects_git(&own, named)
}

/// Returns true if a word makes a program run, write or obey something else: `@file` and plugins of a
/// compiler, commands of a database's client, `%n` of `printf`.
fn has_risky_text(command: &ComparedCommand<'_>, word: &str) -> bool {
    let name = command.name;
    // `x86_64-linux-gnu-gcc-14`
    let tool = name.trim_end_matches(|c: char| c.is_ascii_digit() || ".-".contains(c));
    let tool = tool.rsplit_once('-').map_or(tool, |(_, tool)| tool);
    let subcommand = command.git.as_ref().map_or("", |git| git.subcommand);
    let names = [name, tool, &format!("git-{subcommand}")];
    let mut patterns = names.into_iter().flat_map(|name| facts("risky-text", name));
    patterns.any(|pattern| PATTERNS[pattern].is_match(word))
}

/// The index of the word that is code in a language of the program itself.
fn code_in(command: &[String]) -> Option<usize> {
    let is_operand = |word: &String| !word.starts_with('-');
    let operand = command.iter().skip(1).position(is_operand)?;
    is_a("harmless-code", name_of(command)).then_some(operand + 1)
}

fn is_harmless_code(name: &str, code: &str) -> bool {
    facts("harmless-code", name).any(|pattern| PATTERNS[pattern].is_match(code))
}

/// Returns true if a git command uses another repository or configuration, or has a subcommand that a
/// rule without one does not cover.
fn redirects_git(command: &[String], named: usize) -> bool {
    let git = Git::of("git", &command[1..]);
    let at = git
        .as_ref()
        .map_or(command.len(), |git| command.len() - git.arguments.len() - 1);
    let mut options = command[..at].iter().skip(named);
    options.any(|word| !is_in("--no-pager --version", word))
        || at >= named && git.is_some_and(|git| !is_covered_by_git(git.subcommand))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_that_only_prints_is_known() {
        for script in [
            "p",
            "1,5p",
            "$d",
            "/a\\/b/p",
            "1!d",
            "s/a/b/",
            "s/a/b/gp",
            "s|/usr|x|2;p",
            "10q",
            "$=",
            "n; d",
            "",
            "s/a\\/w x/b/",
        ] {
            assert!(is_harmless_code("sed", script), "{script}");
        }
    }

    #[test]
    fn code_that_reads_writes_or_runs_is_not_harmless() {
        for script in [
            "w /tmp/x",
            "1w x",
            "1e id",
            "e",
            "r /etc/passwd",
            "R x",
            "W x",
            "s/a/b/w x",
            "s/a/b/e",
            "s/a/id/ge",
            "s/a/b/;e",
            "p;e id",
            "p\ne id",
            "/x/{e id\n}",
            "1,5{p;w x\n}",
            "a text",
            "i\\\ntext",
            "c x",
            "s/a/b\n/e",
            "s/a",
            "sxaxbxe",
            "s/a\\/b/e",
            "y/a/b/",
            "b x",
            ": x",
            "#n\ne",
            "\\,x,e",
            "F",
            "v",
            "z",
            "p e",
            "1~2e",
            "+3e",
            "s/[/]/x/e",
            "Q",
            "L",
            "s/[/]/p;s/w x/w y/",
            "s/[[:x:]/]/p;s/w x/w y/",
            "s[a]b[e[",
            "s/[^]/]/;s/w x/w y/",
            "s/[a^/]/p;s/w x/w y/",
            "s/[[:space:]]*$//",
            "/x/{p;d}",
        ] {
            assert!(!is_harmless_code("sed", script), "{script}");
        }
    }
}
