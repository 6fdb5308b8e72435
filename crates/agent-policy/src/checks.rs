//! The checks of the table that look at one command: rows of `programs.txt`, which describes their
//! form, and predicates for what a row cannot say.

use super::command::{Invocation, is_a, is_covered_by_git, is_in, is_wrapper};
use super::reading::{UNKNOWN, UNKNOWN_WORD};
use super::targets::{KnownDirectories, RemovalReach, resolve};

impl Invocation {
    fn any(&self, is_meant: impl Fn(&str) -> bool) -> bool {
        self.arguments.iter().any(|word| is_meant(word))
    }

    /// The arguments that are not options; everything after `--` is one.
    fn operands(&self) -> Vec<&str> {
        let is_cmd = is_in("del erase rd rmdir", &self.name);
        let end = self.arguments.iter().position(|word| word == "--");
        let (before, after) = self.arguments.split_at(end.unwrap_or(self.arguments.len()));
        let is_operand = |word: &&String| {
            let is_switch = is_cmd && word.len() < 6 && word.starts_with('/');
            !is_switch && (word.len() < 2 || !word.starts_with('-'))
        };
        let operands = before.iter().filter(is_operand).chain(after.iter().skip(1));
        operands.map(String::as_str).collect()
    }
}

/// Returns true if the command removes whole trees.
fn removes_trees(command: &Invocation) -> bool {
    command
        .whole()
        .is_any("removes-trees removes-trees-on-windows")
}

/// The paths whose trees a command removes or changes.
fn targets(command: &Invocation) -> Vec<&str> {
    let operands = command.operands();
    match command.name.as_str() {
        // Only `cmd` knows what `%USERPROFILE%` is.
        "del" | "erase" | "rd" | "rmdir" if removes_trees(command) => {
            let is_known = |word: &&str| word.matches('%').nth(1).is_none();
            let known = |word| Some(word).filter(is_known).unwrap_or(UNKNOWN_WORD);
            operands.into_iter().map(known).collect()
        }
        _ if removes_trees(command) => operands,
        // The first operand is the mode or the owner; as a path it would be in the workspace.
        "chmod" | "chown" | "chgrp" if command.whole().has("-R|--recursive") => {
            let is_unknown = operands.len() > 1 && operands[0].contains(UNKNOWN);
            operands.into_iter().skip(usize::from(is_unknown)).collect()
        }
        "rsync" if command.any(|word| word.starts_with("--del")) => {
            operands.last().copied().into_iter().collect()
        }
        "find" if command.any(removes_found) => find_starts(command),
        _ => Vec::new(),
    }
}

fn find_starts(command: &Invocation) -> Vec<&str> {
    // The value of `-D` counts as a start too, and does no harm.
    let is_option = |word: &&str| is_in("-H -L -P -D", word) || word.starts_with("-O");
    let is_start = |word: &&str| !word.starts_with(['-', '(', '!']);
    let words = command.arguments.iter().map(String::as_str);
    let words = words.take_while(|word| is_option(word) || is_start(word));
    let starts: Vec<&str> = words.filter(is_start).collect();
    if starts.is_empty() { vec!["."] } else { starts }
}

fn removes_found(word: &str) -> bool {
    word == "-delete" || is_in("rm unlink shred", word.rsplit('/').next().unwrap_or(word))
}

/// The farthest reach of what a command removes or changes with everything in it.
pub(super) fn reach(command: &Invocation, places: &KnownDirectories) -> RemovalReach {
    use RemovalReach::{Everything, Inside, Outside, Unknown, Workspace};
    let reach = |target: &&str| places.reach(command.directory.as_deref(), target);
    // The workspace itself may be searched with a filter and get other modes.
    let spares_workspace = match command.name.as_str() {
        "chmod" | "chown" | "chgrp" => true,
        "find" | "rsync" => command.any(|word| is_a("find-filters", word)),
        _ => false,
    };
    let counted = |target: &&str| match reach(target) {
        Workspace if spares_workspace => Inside,
        Workspace => Everything,
        Outside if !removes_trees(command) => Inside,
        reach => reach,
    };
    let farthest = targets(command).iter().map(counted).max();
    let is_unknown =
        |word: &str| word.starts_with(UNKNOWN) || word.starts_with("of=") && word.contains(UNKNOWN);
    // A word that only the shell knows may be `-r`.
    let goes_too_far = |target: &&str| reach(target) >= Workspace;
    let besides = match command.name.as_str() {
        "rm" if command.whole().has("--no-preserve-root") => Everything,
        "rm" if command.any(is_unknown) && command.operands().iter().any(goes_too_far) => Unknown,
        "dd" if command.any(is_unknown) => Unknown,
        _ => Inside,
    };
    farthest.unwrap_or(Inside).max(besides)
}

/// Commands that write to a device.
pub(super) fn writes_to_a_device(command: &Invocation) -> bool {
    let is_device = |path: &str| is_device(command.directory.as_deref(), path);
    let mut words = command.arguments.iter().map(String::as_str);
    match command.name.as_str() {
        "dd" => words.any(|word| word.strip_prefix("of=").is_some_and(is_device)),
        ">" | "tee" | "shred" | "truncate" | "sponge" => words.any(is_device),
        // Copying from a device only reads it.
        "cp" | "mv" | "install" => command.operands().pop().is_some_and(is_device),
        _ => false,
    }
}

fn is_device(directory: Option<&str>, path: &str) -> bool {
    let path = resolve(directory, path).unwrap_or_default();
    let device = path.strip_prefix("/dev/").unwrap_or_default();
    let name = device.split('/').next().unwrap_or_default();
    path == "/proc/sysrq-trigger" || !name.is_empty() && !is_a("harmless-devices", name)
}

/// Commands that read the environment.
pub(super) fn reads_the_environment(command: &Invocation) -> bool {
    let mut words = command.arguments.iter().chain([&command.name]);
    let names_it = words.any(|word| {
        let lower = word.trim_start_matches(UNKNOWN).to_ascii_lowercase();
        lower.starts_with("env:")
            || lower.starts_with("$env")
            || is_environment_file(command.directory.as_deref(), word)
    });
    let only_options = command.arguments.iter().all(|word| word.starts_with('-'));
    let lists = command.arguments.is_empty() || command.whole().has("-p|-x");
    names_it
        || match command.name.as_str() {
            "env" => !command.starts_another,
            "set" => command.arguments.is_empty(),
            "export" | "declare" | "typeset" | "readonly" => only_options && lists,
            // Without a dash, `e` shows the environment.
            "ps" => matches!(command.arguments.first(),
                Some(word) if !word.starts_with('-') && word.contains('e')),
            _ => command.whole().is_any("prints-the-environment"),
        }
}

/// `/proc/self/environ` and similar, also as a glob or relative to its directory.
fn is_environment_file(directory: Option<&str>, word: &str) -> bool {
    let path = resolve(directory, word).filter(|path| path.starts_with("/proc/"));
    let last = path.as_deref().and_then(|path| path.rsplit('/').next());
    last.is_some_and(|last| last == "environ" || last.contains(['*', '?', '[']))
}

/// A program whose name only the running shell knows, also in a word for a wrapper that seems to
/// start nothing: `X='5 reboot'; timeout $X`.
pub(super) fn is_unknown_program(command: &Invocation) -> bool {
    let starts_none = !command.starts_another && !command.whole().has("-v|-V");
    let name = &command.name;
    let is_class = name.len() > 2 && name.contains('[') && name.contains(']');
    name.contains([UNKNOWN, '*', '?', '{'])
        || is_class
        || starts_none && is_wrapper(name) && command.any(|word| word.contains(UNKNOWN))
}

/// A git command that does not come with git, or that is given another meaning.
pub(super) fn is_unknown_to_git(command: &Invocation) -> bool {
    let is_alias = |setting: &str| setting.to_ascii_lowercase().starts_with("alias.");
    command.whole().git.is_some_and(|git| {
        let is_known = is_covered_by_git(git.subcommand) || is_a("git-others", git.subcommand);
        !is_known || git.values("-c").any(is_alias)
    })
}

/// Git commands that discard work, and the removal of `.git` itself.
pub(super) fn discards_work(command: &Invocation) -> bool {
    let is_git = |word: &str| word.split('/').any(|part| part == ".git");
    command.whole().is_any("discards-work") || removes_trees(command) && command.any(is_git)
}

/// Returns true if the script has a control character other than line breaks and tabs, or one that
/// changes the direction of text.
pub(super) fn has_deceptive_characters(script: &str) -> bool {
    let turns = |c| matches!(c, '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let is_control = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
    let script = script.replace("\r\n", "\n");
    script.contains(|c| is_control(c) || turns(c) || c == '\u{61c}')
}
