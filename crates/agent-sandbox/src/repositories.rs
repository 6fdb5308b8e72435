//! Finds git directories in a workspace, and disables what a command made git run.
//!
//! The configuration and hooks of a repository name programs, and git runs them whenever somebody
//! works there: the person, their prompt, their editor. A command can create any repository. So
//! after each command the git directories are compared with those before it, and everything new
//! that could run a program, or lead git to another file, is disabled. The original is kept beside
//! it.
//!
//! Everything that existed before a command stays unchanged, and no setting stays active unless it
//! is known to be harmless. A path elsewhere that a repository leads to counts only if it led there
//! before. A new reference is itself disabled; otherwise a command could have other people's files
//! disabled by referring to them.

mod config;
mod find;
mod kept;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, SystemTime};

use cap_std::ambient_authority;
use cap_std::fs::Dir;

use agent_files::fs::resolve_dots;
use agent_files::workspace::KnownNames;
use agent_files::workspace::joint_walk::{DirectorySearch, look_through};
pub use config::{GitSetting, parse, render};
pub use find::GIT_ENTRIES;
use find::{FoundRepositories, RepositorySearch};
pub use kept::KeptInventory;
use serde::{Deserialize, Serialize};

/// Suffix of disabled files.
pub const DISABLED: &str = ".disabled-by-agent";

/// The largest configuration to read, in bytes; a larger one is disabled as a whole.
const MAX_CONFIG: u64 = 1024 * 1024;

/// Bytes of a hook to compare.
const MAX_HOOK: u64 = 16 * 1024 * 1024;

/// Limit on the files that one configuration includes.
const MAX_INCLUDES: usize = 1_000;

/// A test of a file's content.
type ContentTest = fn(&[u8]) -> bool;

/// Files of an interrupted rebase, cherry-pick or revert that can make git run a program when it goes
/// on, and the test that tells if they do.
const UNFINISHED: [(&str, ContentTest); 4] = [
    ("rebase-merge/git-rebase-todo", has_shell_command),
    ("rebase-merge/strategy", is_foreign_strategy),
    ("rebase-apply/strategy", is_foreign_strategy),
    ("sequencer/opts", chooses_foreign_strategy),
];

/// The merge strategies of git itself. Any other name is a program: `git-merge-NAME`, beneath the work
/// tree if the name has a slash.
const STRATEGIES: [&str; 6] = ["octopus", "ort", "ours", "recursive", "resolve", "subtree"];

/// The other object stores that a repository reads from.
const ALTERNATES: &str = "objects/info/alternates";

/// File times may lag behind the clock by this much.
const CLOCK_LAG: Duration = Duration::from_secs(1);

/// The hooks that git runs. Among other files, only these count.
const HOOKS: [&str; 27] = [
    "applypatch-msg",
    "commit-msg",
    "fsmonitor-watchman",
    "p4-changelist",
    "p4-post-changelist",
    "p4-pre-submit",
    "p4-prepare-changelist",
    "post-applypatch",
    "post-checkout",
    "post-commit",
    "post-index-change",
    "post-merge",
    "post-receive",
    "post-rewrite",
    "post-update",
    "pre-applypatch",
    "pre-auto-gc",
    "pre-commit",
    "pre-merge-commit",
    "pre-push",
    "pre-rebase",
    "pre-receive",
    "prepare-commit-msg",
    "proc-receive",
    "push-to-checkout",
    "reference-transaction",
    "update",
];

/// The git directories of a workspace, and everything in them that could make git run a program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inventory {
    #[serde(with = "kept::map")]
    directories: BTreeMap<PathBuf, Repository>,
    /// Links and pointers to a git directory that is outside the workspace or does not name them as
    /// its own, with their targets.
    #[serde(with = "kept::map")]
    leading_out: BTreeMap<PathBuf, StoredPath>,
    /// Links in git directories, with their targets.
    #[serde(with = "kept::map")]
    links: BTreeMap<PathBuf, StoredPath>,
    /// Directories that could not be listed.
    #[serde(with = "kept::set")]
    closed: BTreeSet<PathBuf>,
    /// Directories that were closed since the search before, and opened to look into them.
    #[serde(skip)]
    opened: BTreeSet<PathBuf>,
    /// The person's own configuration, as far as it is in the workspace.
    #[serde(default)]
    person: Repository,
    /// Directories outside the workspace that links in it lead to.
    #[serde(skip)]
    outward: BTreeSet<PathBuf>,
    /// True if not all of the workspace was searched.
    is_cut: bool,
    /// When the search began.
    taken: SystemTime,
}

/// The files that git obeys in one git directory.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Repository {
    #[serde(with = "kept::map")]
    configs: BTreeMap<PathBuf, ObeyedContent>,
    #[serde(with = "kept::map")]
    hooks: BTreeMap<PathBuf, ObeyedContent>,
    /// Further configuration in the workspace, whether or not it exists.
    #[serde(with = "kept::map")]
    led_configs: BTreeMap<PathBuf, Option<ObeyedContent>>,
    /// Directories and files of hooks elsewhere in the workspace, with the existing hooks.
    #[serde(with = "kept::map")]
    led_hooks: BTreeMap<PathBuf, LedHooks>,
    /// Links on the way to any of these, with their targets.
    #[serde(default, with = "kept::map")]
    led_links: BTreeMap<PathBuf, StoredPath>,
    /// The work tree, if the configuration names it.
    files: Option<StoredPath>,
    /// The list of other object stores to read from, if one of them belongs to no repository in the
    /// workspace.
    alternates: Option<ObeyedContent>,
}

/// The hooks in one place.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct LedHooks(#[serde(with = "kept::map")] BTreeMap<PathBuf, ObeyedContent>);

/// A serialised path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct StoredPath(#[serde(with = "kept::path")] PathBuf);

/// The content of a file, as far as it matters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
enum ObeyedContent {
    Bytes(#[serde(with = "kept::bytes")] Vec<u8>),
    Hash([u8; 32]),
    /// A link, with its target.
    Link(StoredPath),
    /// A file with further names. Git writes a commit message in place, and one of them may be that.
    Shared(Box<Self>),
    /// Not a file or link, or too large, or unreadable.
    Other,
}

/// Something that was disabled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Disarmed {
    /// The file, relative to the workspace.
    pub path: PathBuf,
    /// The disabled settings; empty if the whole file was disabled.
    pub settings: Vec<String>,
    /// The reason why it is still active, if it is.
    pub failure: Option<String>,
}

impl fmt::Display for Disarmed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const NAMED: usize = 5;
        for (index, setting) in self.settings.iter().take(NAMED).enumerate() {
            let separator = if index == 0 { "" } else { ", " };
            write!(f, "{separator}`{}`", setting.escape_debug())?;
        }
        if self.settings.len() > NAMED {
            write!(f, " and {} more", self.settings.len() - NAMED)?;
        }
        if !self.settings.is_empty() {
            f.write_str(" in ")?;
        }
        let path = self.path.to_string_lossy();
        write!(f, "`{}`", path.escape_debug())?;
        match &self.failure {
            Some(failure) => write!(f, " (still in force: {failure})"),
            None => Ok(()),
        }
    }
}

/// Everything that was disabled, and what could not be looked through.
///
/// Displayed in words for the model.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DisarmReport {
    /// The setting or file that was disabled.
    pub disarmed: Vec<Disarmed>,
    /// Directories that the command had closed and that were opened, to look into them.
    pub opened: Vec<PathBuf>,
    /// Directories that nobody can look into.
    pub closed: Vec<PathBuf>,
    /// True if the workspace is too large to be looked through.
    pub is_cut: bool,
    /// True if nobody knows how it was before the command, so that nothing could be compared.
    pub is_unknown: bool,
    /// True if all of this is in the cache of commands, to which a link in the workspace leads.
    pub in_cache: bool,
}

impl fmt::Display for DisarmReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.in_cache {
            f.write_str("in the cache of commands, to which a link leads: ")?;
        }
        let told = [
            in_words(&self.disarmed),
            (!self.opened.is_empty()).then(|| {
                let opened = named(&self.opened);
                format!("the command had closed {opened}: opened, to look for repositories")
            }),
            (!self.closed.is_empty()).then(|| {
                let closed = named(&self.closed);
                format!("nobody can look into {closed}, or knows what git would run there")
            }),
            self.is_cut.then(|| {
                "the workspace is too large to be looked through for repositories, so nobody knows what git would run in all of them".to_owned()
            }),
            self.is_unknown.then(|| {
                "nobody knows what the command made git run: look at new repositories before you use git in them".to_owned()
            }),
        ];
        let told: Vec<String> = told.into_iter().flatten().collect();
        f.write_str(&told.join("; "))
    }
}

/// The paths that git obeys outside the repository, because its configuration says so.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConfiguredPaths {
    /// Directories of hooks.
    pub hooks: BTreeSet<PathBuf>,
    /// Further configuration.
    pub configs: BTreeSet<PathBuf>,
    /// Attribute files, which choose among the programs that a configuration names.
    pub attributes: BTreeSet<PathBuf>,
    /// Other files that git runs: targets of hooks that are links, and programs or arguments that a
    /// setting names.
    pub run: BTreeSet<PathBuf>,
    /// Missing files that a setting would run, in directories that may be missing too.
    pub absent: BTreeSet<PathBuf>,
    /// The person's own configuration and attribute file. They may be links into the workspace, or
    /// the workspace may be the home.
    pub personal: BTreeSet<PathBuf>,
}

impl ConfiguredPaths {
    /// Reads the targets of configuration files, of a repository or of the person.
    ///
    /// A relative path means another file in each work tree of the repository.
    pub fn by(configs: &[PathBuf], trees: &BTreeSet<PathBuf>, home: &Path) -> Self {
        let mut led = Self::default();
        let mut next: Vec<PathBuf> = configs.to_vec();
        let mut read = BTreeSet::new();
        while let Some(config) = next.pop() {
            if read.len() > MAX_INCLUDES || !read.insert(config.clone()) {
                continue;
            }
            let Some(settings) = settings_of(&config) else {
                continue;
            };
            for setting in settings {
                let Some(text) = setting.text().filter(|text| !text.is_empty()) else {
                    continue;
                };
                let at = |base: &Path| match text.strip_prefix("~/") {
                    Some(rest) => by_both_names(&home.join(rest)),
                    None => by_both_names(&base.join(text)),
                };
                let in_trees = || trees.iter().flat_map(|tree| at(tree));
                if setting.is("core", "hookspath") {
                    for hooks in in_trees() {
                        // husky keeps the scripts that run the hooks beside this directory.
                        if hooks.ends_with(".husky/_") {
                            led.hooks.extend(hooks.parent().map(Path::to_owned));
                        }
                        led.hooks.insert(hooks);
                    }
                } else if setting.is("core", "attributesfile") {
                    led.attributes.extend(in_trees());
                } else if setting.is("init", "templatedir") {
                    led.hooks
                        .extend(in_trees().map(|template| template.join("hooks")));
                } else if setting.names_program() {
                    // An alias may well name files that it does not run.
                    let is_alias = setting.section == "alias";
                    let marks = if is_alias { &['/'][..] } else { &['/', '.'] };
                    for tree in trees {
                        led.add_command(text, marks, tree, home);
                    }
                } else if setting.name == "path" && setting.section.starts_with("include") {
                    let included = at(config.parent().unwrap_or(Path::new("/")));
                    led.configs.extend(included.iter().cloned());
                    next.extend(included);
                }
            }
        }
        led
    }

    /// Adds the files that the words of a command name, which git runs at the top of a work tree. A
    /// word with none of the marks is an option or a system program, except after an interpreter.
    ///
    /// A guess, which takes rather too much: shells have more ways to write a path.
    fn add_command(&mut self, command: &str, marks: &[char], tree: &Path, home: &Path) {
        let words = words_in_command(command);
        // `cd tools && ./x`, `PATH=tools:$PATH x.sh`
        let inner = words.iter().map(|word| tree.join(word));
        let inner = inner.filter(|path| path.is_dir());
        let bases: Vec<PathBuf> = [tree.to_owned()].into_iter().chain(inner).collect();
        let mut is_run = false;
        for word in &words {
            let is_named = word.contains(marks) || (is_run && !word.starts_with('-'));
            is_run = is_interpreter(word) || (is_run && word.starts_with('-'));
            if !is_named {
                continue;
            }
            // What is left of `~/x`, `$HOME/x`, `${PWD}/x` and `$(git rev-parse --show-toplevel)/x`.
            let starts = ["~/", "HOME/", "PWD/", "/"];
            let rest = starts.iter().find_map(|start| word.strip_prefix(start));
            let plain = bases.iter().map(|base| base.join(word));
            let expanded = rest
                .into_iter()
                .flat_map(|rest| [tree.join(rest), home.join(rest)]);
            for file in plain.chain(expanded).flat_map(|path| by_both_names(&path)) {
                let is_run = match file.symlink_metadata() {
                    Ok(found) if found.is_dir() => continue,
                    Ok(_) => true,
                    // One without a slash is looked for in `PATH`.
                    Err(_) => word.contains('/') && file.parent().is_some_and(Path::is_dir),
                };
                let files = if is_run {
                    &mut self.run
                } else {
                    &mut self.absent
                };
                files.insert(file);
            }
        }
    }

    /// The links of a directory on the way to any of them, with their targets.
    fn links_on_the_way(&self, directory: &Path) -> BTreeMap<PathBuf, StoredPath> {
        let beneath = self
            .beneath(directory)
            .chain(self.missing_beneath(directory));
        let steps = beneath.flat_map(|path| path.ancestors());
        let steps = steps.filter(|step| step.starts_with(directory) && *step != directory);
        let steps: BTreeSet<&Path> = steps.collect();
        let links = steps.into_iter().filter(|step| step.is_symlink());
        links
            .map(|link| (link.to_owned(), StoredPath(really(link))))
            .collect()
    }

    /// Adds the targets of hooks that are links, in the git directory and in the directories that
    /// its configuration names.
    fn and_links(mut self, git: &Path) -> Self {
        let hooks = git.join("hooks");
        if hooks.is_symlink() {
            self.hooks.insert(really(&hooks));
        }
        for name in ["config", "config.worktree"] {
            let config = git.join(name);
            if config.is_symlink() {
                self.configs.insert(really(&config));
            }
        }
        for directory in self.hooks.iter().chain([&hooks]) {
            let entries = fs::read_dir(directory).into_iter().flatten().flatten();
            let links = entries.filter(|entry| {
                let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
                is_link && !is_idle(&entry.file_name())
            });
            self.run
                .extend(links.filter_map(|link| agent_files::fs::canonical(link.path()).ok()));
        }
        self
    }

    /// The targets of the configuration of the person and of the repositories that the workspace is in.
    /// They may begin above it, and a repository may be a submodule of another.
    pub fn in_workspace(workspace: &Path, home: &Path) -> Self {
        let above = workspace.ancestors().skip(1);
        let above = above.take_while(|directory| *directory != home);
        let has_git = |top: &&Path| top.join(".git").symlink_metadata().is_ok();
        let mut all = Self::of_work_tree(workspace, home);
        for top in above.filter(has_git) {
            let led = Self::of_work_tree(top, home);
            all.hooks.extend(led.hooks);
            all.configs.extend(led.configs);
            all.attributes.extend(led.attributes);
            all.run.extend(led.run);
            all.absent.extend(led.absent);
            all.personal.extend(led.personal);
        }
        all
    }

    /// The targets of the configuration of the person and of the repository that this directory has,
    /// or points to.
    pub fn of_work_tree(top: &Path, home: &Path) -> Self {
        let git = top.join(".git");
        let git = find::pointed_to(&git, "gitdir: ", top).unwrap_or(git);
        let shared = find::pointed_to(&git.join("commondir"), "", &git);
        let shared = shared.unwrap_or_else(|| git.clone());
        let mut trees = work_trees(&shared);
        trees.insert(top.to_owned());
        let own = [git.join("config.worktree")];
        Self::in_repository(&shared, &own, &trees, home)
    }

    /// The targets of the configuration of the person and of this git directory, with further
    /// configurations of its own.
    pub fn in_repository(
        git: &Path,
        more: &[PathBuf],
        trees: &BTreeSet<PathBuf>,
        home: &Path,
    ) -> Self {
        let mut configs = personal_configs(home);
        let attributes = home.join(".config/git/attributes");
        let personal = configs.iter().chain([&attributes]);
        let personal = personal.flat_map(|path| by_both_names(path)).collect();
        configs.extend([git.join("config"), git.join("config.worktree")]);
        configs.extend_from_slice(more);
        let mut led = Self::by(&configs, trees, home).and_links(git);
        led.personal = personal;
        led
    }

    /// All of them that are below a directory.
    pub fn beneath(&self, directory: &Path) -> impl Iterator<Item = &PathBuf> {
        let all = self.hooks.iter().chain(&self.configs);
        let all = all.chain(&self.attributes).chain(&self.run);
        let all = all.chain(&self.personal);
        all.filter(move |path| path.starts_with(directory) && *path != directory)
    }

    /// The missing files below a directory that git would run.
    pub fn missing_beneath(&self, directory: &Path) -> impl Iterator<Item = &PathBuf> {
        let absent = self.absent.iter();
        absent.filter(move |path| path.starts_with(directory) && *path != directory)
    }
}

/// The directories in which git obeys a git directory: relative paths in its configuration are meant
/// from there.
///
/// Beside the one that has it, those that its configuration names and its linked work trees.
pub fn work_trees(git: &Path) -> BTreeSet<PathBuf> {
    let above = |path: PathBuf| Some(path.parent()?.to_owned());
    let configs = ["config", "config.worktree"].map(|name| git.join(name));
    let settings = configs.iter().filter_map(|config| settings_of(config));
    let settings: Vec<GitSetting> = settings.flatten().collect();
    let named = settings.iter().filter(|one| one.is("core", "worktree"));
    let named = named.filter_map(|one| Some(really(&git.join(one.text()?))));
    let linked = fs::read_dir(git.join("worktrees")).into_iter().flatten();
    let linked = linked.flatten().map(|entry| entry.path());
    let linked = linked
        .chain([git.to_owned()])
        .filter_map(|linked| find::pointed_to(&linked.join("gitdir"), "", &linked).and_then(above));
    let own = git.parent().unwrap_or(git).to_owned();
    [own].into_iter().chain(named).chain(linked).collect()
}

/// The words of a command: split at every mark of the shell, and once more with what is in quotes, or
/// follows a backslash, as part of a word.
fn words_in_command(command: &str) -> Vec<String> {
    const MARKS: &str = "!;&|(){}<>$=:,`";
    let is_mark = |letter: char| letter.is_whitespace() || MARKS.contains(letter);
    let plain = command.split(|letter| is_mark(letter) || "'\"".contains(letter));
    let mut words: Vec<String> = plain.map(|word| word.replace('\\', "")).collect();
    let mut word = String::new();
    let mut quote = None;
    let mut letters = command.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' if quote != Some('\'') => word.extend(letters.next()),
            '\'' | '"' if quote == Some(letter) => quote = None,
            '\'' | '"' if quote.is_none() => quote = Some(letter),
            _ if is_mark(letter) && (quote.is_none() || letter == '$') => {
                words.push(std::mem::take(&mut word));
            }
            _ => word.push(letter),
        }
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    words
}

/// True if a program runs the file that its first argument names, in the current directory too.
fn is_interpreter(word: &str) -> bool {
    const INTERPRETERS: [&str; 13] = [
        "sh", "ash", "bash", "dash", "ksh", "zsh", "bun", "lua", "node", "perl", "php", "python",
        "ruby",
    ];
    let name = word.rsplit('/').next().unwrap_or(word);
    let name = name.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
    INTERPRETERS.contains(&name)
}

/// The configuration of the machine. Tests expect nothing of it.
const MACHINE_CONFIG: &str = if cfg!(test) {
    "/none"
} else {
    "/etc/gitconfig"
};

/// The files that git reads as the configuration of the machine and the person, whether or not they
/// exist.
fn personal_configs(home: &Path) -> Vec<PathBuf> {
    let mut configs = vec![
        PathBuf::from(MACHINE_CONFIG),
        home.join(".gitconfig"),
        home.join(".config/git/config"),
    ];
    let variable = |name: &str| {
        let path = std::env::var_os(name).map(PathBuf::from);
        path.filter(|path| path.is_absolute())
    };
    configs.extend(variable("XDG_CONFIG_HOME").map(|directory| directory.join("git/config")));
    configs.extend(variable("GIT_CONFIG_GLOBAL"));
    configs.extend(variable("GIT_CONFIG_SYSTEM"));
    configs
}

/// The settings of a configuration file, if it can be read.
pub fn settings_of(file: &Path) -> Option<Vec<GitSetting>> {
    match content(file, MAX_CONFIG, ContentForm::Bytes)? {
        ObeyedContent::Link(_) => {
            let real = agent_files::fs::canonical(file).ok()?;
            content(&real, MAX_CONFIG, ContentForm::Bytes)?.settings()
        }
        found => found.settings(),
    }
}

/// True if git would take the directory for a git directory, whatever its name.
pub fn is_git_directory(directory: &Path) -> bool {
    find::is_git_directory(|name| directory.join(name).symlink_metadata().is_ok())
}

/// The path in a `.git` file, a `commondir` or a `gitdir`, after a keyword.
pub fn pointer(file: &Path, word: &str) -> Option<PathBuf> {
    find::pointer(file, word)
}

/// The first of the paths that a step changes which lies in a git directory and which git obeys, or
/// which the configuration of a repository below the top names.
///
/// The step may complete the directory: one without `HEAD` is no repository yet, so that nothing in it
/// was disabled. In a directory named `.git` only what git runs or obeys counts, because the rules know
/// that name; in any other all of it does.
pub fn obeyed_in_repository<'p>(root: &Path, changed: &[&'p Path]) -> Option<&'p Path> {
    let will_have = |directory: &Path, name: &str| {
        let is_there = |path: &Path| path.symlink_metadata().is_ok();
        let comes = |path: &&Path| {
            let inside = path.strip_prefix(directory).ok();
            let first = inside.and_then(|inside| inside.iter().next());
            first.is_some_and(|first| first.eq_ignore_ascii_case(name))
        };
        is_there(&root.join(directory).join(name)) || changed.iter().any(comes)
    };
    let is_obeyed = |path: &&&Path| {
        let mut above = path.ancestors().skip(1);
        above.any(|directory| {
            let is_called_git = directory.file_name().is_some_and(find::is_git);
            find::is_git_directory(|name| will_have(directory, name))
                && (!is_called_git || is_obeyed_in(directory, path))
        })
    };
    let home = std::env::home_dir().unwrap_or_default();
    let is_led_to = |led: &ConfiguredPaths, path: &Path| {
        let mut named = led.beneath(root).chain(led.missing_beneath(root));
        named.any(|named| root.join(path).starts_with(named))
    };
    let is_named = |path: &&&Path| {
        let mut above = path.ancestors().skip(1).map(|top| root.join(top));
        above.any(|top| {
            top != root
                && top.join(".git").symlink_metadata().is_ok()
                && is_led_to(&ConfiguredPaths::of_work_tree(&top, &home), path)
        })
    };
    let mut changed = changed.iter();
    changed
        .find(|path| is_obeyed(path) || is_named(path))
        .copied()
}

/// True if git runs or obeys a file of this git directory.
fn is_obeyed_in(git: &Path, path: &Path) -> bool {
    let inside = path.strip_prefix(git).unwrap_or(path).to_string_lossy();
    let inside = inside.to_ascii_lowercase();
    let unfinished = UNFINISHED.map(|(name, _)| name);
    let known = [
        "config",
        "config.worktree",
        "commondir",
        "gitdir",
        ALTERNATES,
    ];
    let mut known = known.into_iter().chain(unfinished);
    inside.starts_with("hooks/") || known.any(|known| inside == known)
}

impl Inventory {
    /// Searches the workspace, except for `left_out`.
    pub fn take(workspace: &Path, left_out: &[PathBuf]) -> Self {
        Self::take_knowing(None, workspace, left_out)
    }

    /// Searches the workspace, except for `left_out`; what a survey has just seen is not looked at
    /// again.
    pub fn take_knowing(
        known: Option<&KnownNames>,
        workspace: &Path,
        left_out: &[PathBuf],
    ) -> Self {
        Self::search(&[], workspace, left_out, &|_| false, known)
    }

    /// Searches the workspace after a command, except for `left_out`.
    ///
    /// A directory that cannot be listed hides a repository, but git finds it by its name. Those
    /// that were closed since `before` are opened for their owner. Other searches share the walk; they
    /// are not told what is in a directory that was opened. A directory that did not change since a
    /// survey is not listed again.
    pub fn take_after(
        before: &Self,
        workspace: &Path,
        left_out: &[PathBuf],
        others: &[&dyn DirectorySearch],
        known: Option<&KnownNames>,
    ) -> Self {
        let is_new = |directory: &Path| {
            !before.closed.contains(directory)
                && (!before.is_cut || is_changed_since(directory, before.taken))
        };
        Self::search(others, workspace, left_out, &is_new, known)
    }

    /// Searches the workspace, except for `left_out`, in the same walk as another search.
    #[cfg(target_os = "linux")]
    pub(crate) fn take_beside(
        other: &dyn DirectorySearch,
        workspace: &Path,
        left_out: &[PathBuf],
        known: Option<&KnownNames>,
    ) -> Self {
        Self::search(&[other], workspace, left_out, &|_| false, known)
    }

    fn search(
        others: &[&dyn DirectorySearch],
        workspace: &Path,
        left_out: &[PathBuf],
        may_open: &(dyn Fn(&Path) -> bool + Sync),
        known: Option<&KnownNames>,
    ) -> Self {
        let taken = SystemTime::now();
        let search = RepositorySearch::new(workspace, left_out, may_open);
        let others: Vec<_> = others.iter().map(|other| search.beside(*other)).collect();
        let others = others.iter().map(|other| other as &dyn DirectorySearch);
        let searches: Vec<_> = others.chain([&search as _]).collect();
        look_through(workspace, &searches, known);
        Self::of_found(search.finish(), workspace, taken)
    }

    fn of_found(found: FoundRepositories, workspace: &Path, taken: SystemTime) -> Self {
        let mut directories = BTreeMap::new();
        for directory in &found.directories {
            let mut repository = Repository::read(directory, workspace);
            let list = directory.join(ALTERNATES);
            if leads_to_unknown_objects(&list, directory, &found.directories)
                || has_several_names(&list)
            {
                repository.alternates = content(&list, MAX_CONFIG, ContentForm::Hash);
            }
            directories.insert(directory.clone(), repository);
        }
        let stored = |paths: BTreeMap<PathBuf, PathBuf>| {
            let paths = paths.into_iter();
            paths.map(|(from, to)| (from, StoredPath(to))).collect()
        };
        let trees = all_work_trees(&directories, workspace);
        let home = std::env::home_dir().unwrap_or_default();
        Self {
            directories,
            leading_out: stored(found.leading_out),
            links: stored(found.links),
            closed: found.closed,
            opened: found.opened,
            person: Repository::of_person(workspace, &trees, &home),
            outward: found.outward,
            is_cut: found.is_cut,
            taken,
        }
    }

    /// Disables everything new since `before`. Reports it, and what was not searched; nothing if
    /// there is neither.
    pub fn disarm_and_tell(&mut self, before: &Self, workspace: &Path) -> Option<DisarmReport> {
        let report = DisarmReport {
            disarmed: self.disarm(before, workspace),
            opened: self.opened.iter().cloned().collect(),
            closed: self.closed.difference(&before.closed).cloned().collect(),
            is_cut: self.is_cut,
            ..DisarmReport::default()
        };
        (report != DisarmReport::default()).then_some(report)
    }

    /// Disables everything in the commands' cache, if a link in the workspace leads there. Reports
    /// it.
    ///
    /// Nothing in the cache is the person's, so nothing needs to be compared. Without a link nobody
    /// works there, and it may be too large to search after each command.
    pub fn disarm_cache(&self, cache: &Path) -> Option<DisarmReport> {
        let cache = agent_files::fs::canonical(cache).ok()?;
        let leads_there =
            |target: &PathBuf| target.starts_with(&cache) || cache.starts_with(target);
        if !self.outward.iter().any(leads_there) {
            return None;
        }
        let mut now = Self::search(&[], &cache, &[], &|_| true, None);
        let nothing = Self {
            closed: BTreeSet::new(),
            directories: BTreeMap::new(),
            leading_out: BTreeMap::new(),
            links: BTreeMap::new(),
            person: Repository::default(),
            is_cut: false,
            ..now.clone()
        };
        Some(DisarmReport {
            in_cache: true,
            ..now.disarm_and_tell(&nothing, &cache)?
        })
    }

    /// True for something old, if not all of the workspace was searched: then nobody knows what it led
    /// to.
    fn knew(&self, path: &Path) -> bool {
        self.is_cut && !is_changed_since(path, self.taken)
    }

    /// Disables everything new since `before`, and returns the list.
    fn disarm(&mut self, before: &Self, workspace: &Path) -> Vec<Disarmed> {
        let mut disarmed = Vec::new();
        let Ok(root) = Dir::open_ambient_dir(workspace, ambient_authority()) else {
            return disarmed;
        };
        let mut ways = std::mem::take(&mut self.leading_out);
        ways.retain(|path, place| {
            let is_known = before.leading_out.get(path) == Some(place) || before.knew(path);
            let mut disarm = Disarming {
                root: &root,
                workspace,
                directory: path,
                disarmed: &mut disarmed,
                fetches_unasked: false,
                write: write_config,
            };
            is_known || !disarm.hook(path)
        });
        self.leading_out = ways;
        let mut links = std::mem::take(&mut self.links);
        links.retain(|path, target| {
            let is_known = before.links.get(path) == Some(target) || before.knew(path);
            let mut above = path.ancestors().skip(1);
            let Some(directory) = above.find(|above| self.directories.contains_key(*above)) else {
                return true;
            };
            let mut disarm = Disarming {
                root: &root,
                workspace,
                directory,
                disarmed: &mut disarmed,
                fetches_unasked: false,
                write: write_config,
            };
            is_known || !disarm.link(path)
        });
        self.links = links;
        for (directory, repository) in &mut self.directories {
            let unseen;
            let known = match before.directories.get(directory) {
                Some(known) => known,
                None if before.is_cut => {
                    unseen = repository.older_than(directory, before.taken);
                    &unseen
                }
                None => &Repository::default(),
            };
            let mut disarm = Disarming {
                root: &root,
                workspace,
                directory,
                disarmed: &mut disarmed,
                fetches_unasked: false,
                write: write_config,
            };
            disarm.led_links(repository, known, before);
            disarm.configs(repository, known);
            disarm.hooks(repository, known);
            disarm.alternates(repository, known);
            let again = || Repository::read(directory, workspace);
            disarm.newly_led(repository, known, before, again);
        }
        let trees = all_work_trees(&self.directories, workspace);
        let mut disarm = Disarming {
            root: &root,
            workspace,
            directory: workspace,
            disarmed: &mut disarmed,
            fetches_unasked: false,
            write: write_config,
        };
        disarm.led_links(&mut self.person, &before.person, before);
        disarm.configs(&mut self.person, &before.person);
        disarm.hooks(&mut self.person, &before.person);
        let home = std::env::home_dir().unwrap_or_default();
        let again = || Repository::of_person(workspace, &trees, &home);
        disarm.newly_led(&mut self.person, &before.person, before, again);
        disarmed
    }
}

impl Repository {
    fn read(directory: &Path, workspace: &Path) -> Self {
        let mut repository = Self::default();
        let own = ["config", "config.worktree"].map(|name| directory.join(name));
        let trees = work_trees(directory);
        let home = std::env::home_dir().unwrap_or_default();
        let led = ConfiguredPaths::by(&own, &trees, &home).and_links(directory);
        repository.read_configs(&own);
        repository.read_led(&led, workspace);
        repository.hooks = hooks_in(&directory.join("hooks"), |name| !is_idle(name));
        for (name, runs) in UNFINISHED {
            let file = directory.join(name);
            if may_run(&file, runs) || has_several_names(&file) {
                let content =
                    content(&file, MAX_HOOK, ContentForm::Hash).unwrap_or(ObeyedContent::Other);
                repository.hooks.insert(file, content);
            }
        }
        let worktrees = own.iter().filter_map(|config| settings_of(config));
        let mut worktrees = worktrees.flatten().filter(|one| one.is("core", "worktree"));
        repository.files = worktrees
            .next_back()
            .and_then(|setting| Some(StoredPath(really(&directory.join(setting.text()?)))));
        repository
    }

    /// The person's configuration that is in the workspace, because their home is there or links to
    /// it, and what it leads to in these work trees; also what the repository leads to that the
    /// workspace is in, which may be outside.
    fn of_person(workspace: &Path, trees: &BTreeSet<PathBuf>, home: &Path) -> Self {
        let mut person = Self::default();
        let configs = personal_configs(home);
        let real = configs.iter().map(|config| really(config));
        let here: Vec<PathBuf> = real.filter(|path| path.starts_with(workspace)).collect();
        person.read_configs(&here);
        person.read_led(&ConfiguredPaths::by(&configs, trees, home), workspace);
        person.read_led(&ConfiguredPaths::in_workspace(workspace, home), workspace);
        person
    }

    fn read_configs(&mut self, configs: &[PathBuf]) {
        for config in configs {
            if let Some(content) = content(config, MAX_CONFIG, ContentForm::Bytes) {
                self.configs.insert(config.clone(), content);
            }
        }
    }

    fn read_led(&mut self, led: &ConfiguredPaths, workspace: &Path) {
        let is_here = |path: &&PathBuf| path.starts_with(workspace);
        self.led_links.extend(led.links_on_the_way(workspace));
        for config in led.configs.iter().filter(is_here) {
            let content = content(config, MAX_CONFIG, ContentForm::Bytes);
            self.led_configs.insert(config.clone(), content);
        }
        for directory in led.hooks.iter().filter(is_here) {
            let hooks = hooks_in(directory, |name| HOOKS.iter().any(|hook| name == *hook));
            self.led_hooks.insert(directory.clone(), LedHooks(hooks));
        }
        for file in led.run.iter().filter(is_here) {
            let content = content(file, MAX_HOOK, ContentForm::Hash);
            let hook = content.map(|content| (file.clone(), content));
            let hooks = LedHooks(hook.into_iter().collect());
            self.led_hooks.insert(file.clone(), hooks);
        }
    }

    /// The part of it that existed at a time, judging by change times, which no command can set.
    fn older_than(&self, directory: &Path, time: SystemTime) -> Self {
        if is_changed_since(directory, time) {
            return Self::default();
        }
        let mut older = self.clone();
        let is_old = |path: &PathBuf| !is_changed_since(path, time);
        older.configs.retain(|path, _| is_old(path));
        older.hooks.retain(|path, _| is_old(path));
        older.led_configs.retain(|path, _| is_old(path));
        older.led_links.retain(|path, _| is_old(path));
        for LedHooks(hooks) in older.led_hooks.values_mut() {
            hooks.retain(|path, _| is_old(path));
        }
        (older.alternates).take_if(|_| !is_old(&directory.join(ALTERNATES)));
        older
    }
}

/// The work trees of all git directories, and the workspace.
fn all_work_trees(
    directories: &BTreeMap<PathBuf, Repository>,
    workspace: &Path,
) -> BTreeSet<PathBuf> {
    let trees = directories.keys().flat_map(|git| work_trees(git));
    trees.chain([workspace.to_owned()]).collect()
}

/// True if a list of object stores names one that belongs to none of the known git directories.
///
/// Any other store may have such a list as well, which nobody would look at.
fn leads_to_unknown_objects(list: &Path, git: &Path, known: &BTreeSet<PathBuf>) -> bool {
    let mut text = Vec::new();
    match list.symlink_metadata() {
        Ok(found) if found.is_file() && found.len() <= MAX_CONFIG => {}
        found => return found.is_ok(),
    }
    let read = fs::File::open(list).and_then(|file| file.take(MAX_CONFIG).read_to_end(&mut text));
    let is_unknown = |line: &[u8]| {
        let store = really(&git.join("objects").join(find::from_bytes(line)));
        let git = store.parent().filter(|_| store.ends_with("objects"));
        // Git reads a line that begins with a quotation mark as an escaped text.
        line.starts_with(b"\"") || !git.is_some_and(|git| known.contains(git))
    };
    let lines = text.split(|byte| *byte == b'\n');
    let mut lines = lines.filter(|line| !line.is_empty() && !line.starts_with(b"#"));
    read.is_err() || lines.any(is_unknown)
}

/// True if something was created, changed or renamed since a time.
fn is_changed_since(path: &Path, time: SystemTime) -> bool {
    let found = path.symlink_metadata().ok();
    let changed = found.as_ref().and_then(changed);
    changed.is_none_or(|changed| changed + CLOCK_LAG >= time)
}

#[cfg(unix)]
fn changed(found: &fs::Metadata) -> Option<SystemTime> {
    use std::os::unix::fs::MetadataExt;
    let seconds = u64::try_from(found.ctime()).ok()?;
    let nanoseconds = u32::try_from(found.ctime_nsec()).ok()?;
    SystemTime::UNIX_EPOCH.checked_add(Duration::new(seconds, nanoseconds))
}

#[cfg(not(unix))]
fn changed(found: &fs::Metadata) -> Option<SystemTime> {
    found.modified().ok()
}

/// True if a file says so, or is there and cannot be read to its end.
fn may_run(file: &Path, says_so: ContentTest) -> bool {
    let mut text = Vec::new();
    match file.symlink_metadata() {
        Ok(found) if found.is_file() && found.len() <= MAX_HOOK => {}
        Ok(_) => return true,
        Err(cause) => return !is_absent(&cause),
    }
    let read = fs::File::open(file).and_then(|file| file.take(MAX_HOOK).read_to_end(&mut text));
    read.is_err() || says_so(&text)
}

/// True if a step of a rebase is a shell command.
fn has_shell_command(steps: &[u8]) -> bool {
    let is_command = |line: &[u8]| {
        let word = line
            .trim_ascii_start()
            .split(u8::is_ascii_whitespace)
            .next();
        matches!(word, Some(b"exec" | b"x"))
    };
    steps.split(|byte| *byte == b'\n').any(is_command)
}

/// True if a merge strategy is not one of git's own.
fn is_foreign_strategy(name: &[u8]) -> bool {
    let name = name.trim_ascii();
    !name.is_empty() && STRATEGIES.iter().all(|own| own.as_bytes() != name)
}

/// True if the options of a cherry-pick or revert name such a strategy, or cannot be read.
fn chooses_foreign_strategy(options: &[u8]) -> bool {
    let Ok(settings) = parse(options) else {
        return true;
    };
    let mut chosen = settings.iter().filter(|one| one.is("options", "strategy"));
    chosen.any(|one| is_foreign_strategy(one.value.as_deref().unwrap_or_default()))
}

/// The hooks in a directory.
fn hooks_in(
    directory: &Path,
    is_hook: impl Fn(&OsStr) -> bool,
) -> BTreeMap<PathBuf, ObeyedContent> {
    let mut hooks = BTreeMap::new();
    match directory.symlink_metadata() {
        Ok(found) if found.is_dir() => {}
        // A link in its place counts as one hook.
        Ok(_) => {
            let link =
                content(directory, MAX_HOOK, ContentForm::Hash).unwrap_or(ObeyedContent::Other);
            hooks.insert(directory.to_owned(), link);
            return hooks;
        }
        Err(cause) if is_absent(&cause) => return hooks,
        // Git has a shorter path to it, or may look into it later.
        Err(_) => {
            hooks.insert(directory.to_owned(), ObeyedContent::Other);
            return hooks;
        }
    }
    let Ok(entries) = fs::read_dir(directory) else {
        // Git can run a hook without listing the directory.
        hooks.insert(directory.to_owned(), ObeyedContent::Other);
        return hooks;
    };
    for entry in entries.flatten() {
        let path = entry.path();
        let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if !is_dir
            && is_hook(&entry.file_name())
            && let Some(content) = content(&path, MAX_HOOK, ContentForm::Hash)
        {
            hooks.insert(path, content);
        }
    }
    hooks
}

/// True if git runs no hook of this name.
pub fn is_idle(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    name.ends_with(b".sample") || name.ends_with(DISABLED.as_bytes())
}

fn write_config(directory: &Dir, name: &OsStr, text: &[u8]) -> io::Result<()> {
    directory.write(name, text)
}

/// Disables files and settings in one git directory.
struct Disarming<'a> {
    root: &'a Dir,
    workspace: &'a Path,
    directory: &'a Path,
    disarmed: &'a mut Vec<Disarmed>,
    /// The repository fetches missing objects by itself, from wherever its remotes are.
    fetches_unasked: bool,
    /// Writes a file; tests make it fail.
    write: fn(&Dir, &OsStr, &[u8]) -> io::Result<()>,
}

impl Disarming<'_> {
    fn configs(&mut self, repository: &mut Repository, known: &Repository) {
        let led_off = |files: &StoredPath| !self.leads_back(&files.0);
        // The same setting can lead elsewhere through a link.
        let is_led_off =
            repository.files != known.files && repository.files.as_ref().is_some_and(led_off);
        let mut old = known.configs.values().filter_map(ObeyedContent::settings);
        self.fetches_unasked = old.any(|old| old.iter().any(GitSetting::fetches_unasked));
        for (path, content) in &mut repository.configs {
            self.config(path, content, known.configs.get(path), is_led_off);
        }
        for (path, content) in &mut repository.led_configs {
            if let (Some(content), Some(before)) = (content, known.led_configs.get(path)) {
                self.config(path, content, before.as_ref(), false);
            }
        }
    }

    /// Disables new settings, and the work tree if it led outside.
    fn config(
        &mut self,
        path: &Path,
        content: &mut ObeyedContent,
        before: Option<&ObeyedContent>,
        is_led_off: bool,
    ) {
        if before == Some(content) && !is_led_off {
            return;
        }
        let old = before.and_then(ObeyedContent::settings).unwrap_or_default();
        let is_old = |setting: &GitSetting| {
            old.contains(setting) && !(is_led_off && setting.is("core", "worktree"))
        };
        let (kept, dropped): (Vec<GitSetting>, Vec<GitSetting>) = match content.settings() {
            Some(settings) => settings
                .into_iter()
                .partition(|setting| self.may_stay(setting) || is_old(setting)),
            None if before == Some(content) => return,
            // Its content is unknown.
            None => (old, Vec::new()),
        };
        let is_shared = |content: &ObeyedContent| matches!(content, ObeyedContent::Shared(_));
        let is_shared = is_shared(content) && !before.is_some_and(is_shared);
        if dropped.is_empty() && content.settings().is_some() && !is_shared {
            return;
        }
        let text = render(&kept);
        let mut settings: Vec<String> = dropped.iter().map(GitSetting::key).collect();
        let failure = match self.set_aside(path) {
            Ok(()) if self.write(path, &text).is_ok() => {
                *content = ObeyedContent::Bytes(text);
                None
            }
            // On a full disk the harmless settings are lost with the others.
            Ok(()) => {
                *content = ObeyedContent::Bytes(Vec::new());
                settings.clear();
                None
            }
            // The link on the way to it is disabled.
            Err(_) if is_gone(path) => {
                *content = ObeyedContent::Bytes(Vec::new());
                return;
            }
            Err(cause) => self.bar_way_out(path, cause).err(),
        };
        settings.dedup();
        self.tell(path, settings, failure);
    }

    fn hooks(&mut self, repository: &mut Repository, known: &Repository) {
        (repository.hooks)
            .retain(|path, content| known.hooks.get(path) == Some(content) || !self.hook(path));
        for (place, LedHooks(hooks)) in &mut repository.led_hooks {
            if let Some(LedHooks(known)) = known.led_hooks.get(place) {
                hooks.retain(|path, content| known.get(path) == Some(content) || !self.hook(path));
            }
        }
    }

    /// Disables links that turned what the settings name to other files.
    fn led_links(&mut self, repository: &mut Repository, known: &Repository, before: &Inventory) {
        repository.led_links.retain(|path, target| {
            known.led_links.get(path) == Some(target) || before.knew(path) || !self.hook(path)
        });
    }

    /// Disables what the settings that stayed lead to now and did not before: a relative
    /// `core.hooksPath` means another directory in each work tree, and a command can move a directory
    /// to where a setting looks for its program.
    ///
    /// However old the files are: a command before this one may have made them.
    fn newly_led(
        &mut self,
        repository: &mut Repository,
        known: &Repository,
        before: &Inventory,
        again: impl FnOnce() -> Repository,
    ) {
        let is_new = |place: &PathBuf| !known.led_hooks.contains_key(place);
        if !repository.led_hooks.keys().any(is_new) {
            return;
        }
        let led = again().led_hooks;
        for (place, LedHooks(hooks)) in &mut repository.led_hooks {
            if is_new(place) && led.contains_key(place) {
                hooks.retain(|path, _| before.knew(path) || !self.hook(path));
            }
        }
    }

    fn alternates(&mut self, repository: &mut Repository, known: &Repository) {
        if repository.alternates != known.alternates {
            let list = self.directory.join(ALTERNATES);
            (repository.alternates).take_if(|_| self.hook(&list));
        }
    }

    /// Moves a link to the top of the git directory. Returns true if it is disabled.
    ///
    /// Among references git would follow it under any name.
    fn link(&mut self, path: &Path) -> bool {
        let inside = path.strip_prefix(self.directory).unwrap_or(path);
        let names: Vec<&OsStr> = inside.iter().collect();
        let mut name = names.join(OsStr::new("-"));
        name.push(DISABLED);
        let top = self.directory.join(name);
        let moved = self.parent(path).and_then(|(from, old)| {
            let (to, new) = self.parent(&top)?;
            let rename = || from.rename(old, &to, new);
            rename()
                .or_else(|_| {
                    open_up(&from)?;
                    open_up(&to)?;
                    rename()
                })
                .or_else(|_| from.remove_file(old))
        });
        let failure = moved.err();
        if failure.is_some() && is_gone(path) {
            // It was already disabled as something else.
            return true;
        }
        let is_done = failure.is_none();
        self.tell(path, Vec::new(), failure);
        is_done
    }

    /// Disables a file that git would run or follow. Returns true if it is disabled.
    fn hook(&mut self, path: &Path) -> bool {
        let set_aside = self.set_aside(path);
        let failure = set_aside
            .or_else(|cause| self.bar_way_out(path, cause))
            .err();
        if failure.is_some() && is_gone(path) {
            // It has a second name, through a link, and was disabled under that one.
            return true;
        }
        let is_done = failure.is_none();
        self.tell(path, Vec::new(), failure);
        is_done
    }

    /// True if a new setting is allowed.
    fn may_stay(&self, setting: &GitSetting) -> bool {
        if setting.is("core", "worktree") {
            // A submodule's own, which leads back.
            let files = setting.text().map(|text| self.directory.join(text));
            let files = files.and_then(|files| agent_files::fs::canonical(files).ok());
            return files.is_some_and(|files| self.leads_back(&files));
        }
        if self.fetches_unasked && setting.section == "remote" {
            return false;
        }
        setting.is_harmless()
    }

    /// True for a work tree in the workspace that has a pointer to this git directory. Elsewhere git
    /// would change files of others, such as the hooks of another repository.
    fn leads_back(&self, files: &Path) -> bool {
        let back = find::pointed_to(&files.join(".git"), "gitdir: ", files);
        files.starts_with(self.workspace) && back == Some(really(self.directory))
    }

    /// Writes a configuration, or leaves none.
    fn write(&self, path: &Path, text: &[u8]) -> io::Result<()> {
        let (directory, name) = self.parent(path)?;
        (self.write)(&directory, name, text).inspect_err(|_| {
            let _ = directory.remove_file(name);
        })
    }

    /// Renames the file to a name that git does not know.
    fn set_aside(&self, path: &Path) -> io::Result<()> {
        let (directory, name) = self.parent(path)?;
        let mut other = name.to_owned();
        other.push(DISABLED);
        let rename = || directory.rename(name, &directory, &other);
        rename()
            // A command can remove permissions from the directory, and its owner can restore them.
            .or_else(|_| {
                give_back(self.workspace, path.parent().unwrap_or(path))?;
                rename()
            })
            // The name is taken by something that cannot be replaced: better removed than active.
            .or_else(|_| directory.remove_file(name))
    }

    /// Removes the link that leads to something elsewhere, or returns the error again.
    fn bar_way_out(&self, path: &Path, cause: io::Error) -> io::Result<()> {
        let leads_out =
            |path: &&Path| path.is_symlink() && !really(path).starts_with(self.workspace);
        let inside = path.ancestors().skip(1);
        let mut inside = inside.take_while(|above| *above != self.workspace);
        match inside.find(leads_out) {
            Some(link) => self.set_aside(link),
            None => Err(cause),
        }
    }

    fn parent<'p>(&self, path: &'p Path) -> io::Result<(Dir, &'p OsStr)> {
        let lost = || io::Error::from(io::ErrorKind::NotFound);
        let inside = path.strip_prefix(self.workspace).map_err(|_| lost())?;
        let name = inside.file_name().ok_or_else(lost)?;
        let directory = match inside.parent() {
            Some(parent) if parent != Path::new("") => self.root.open_dir(parent)?,
            _ => self.root.try_clone()?,
        };
        Ok((directory, name))
    }

    fn tell(&mut self, path: &Path, settings: Vec<String>, failure: Option<io::Error>) {
        let path = path.strip_prefix(self.workspace).unwrap_or(path).to_owned();
        // Worktrees and included files are visited more than once.
        let failure = failure.map(|cause| cause.to_string());
        let disarmed = Disarmed {
            path,
            settings,
            failure,
        };
        if !self
            .disarmed
            .iter()
            .any(|known| known.path == disarmed.path)
        {
            self.disarmed.push(disarmed);
        }
    }
}

#[cfg(unix)]
fn has_several_names(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    path.symlink_metadata().is_ok_and(|found| found.nlink() > 1)
}

#[cfg(not(unix))]
fn has_several_names(_path: &Path) -> bool {
    false
}

/// Restores write permission on a directory for its owner.
#[cfg(unix)]
fn open_up(directory: &Dir) -> io::Result<()> {
    use cap_std::fs::PermissionsExt;
    let mut permissions = directory.dir_metadata()?.permissions();
    permissions.set_mode(permissions.mode() | 0o700);
    directory.set_permissions(".", permissions)
}

#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "it can fail on Unix")]
fn open_up(_directory: &Dir) -> io::Result<()> {
    Ok(())
}

/// Restores all permissions on a directory in the workspace for its owner. It may lack even the one
/// to search it, so its parent is asked. Returns true if one was missing.
#[cfg(unix)]
fn give_back(workspace: &Path, directory: &Path) -> io::Result<bool> {
    use cap_std::fs::PermissionsExt;
    let above = workspace.parent().filter(|_| directory == workspace);
    let root = above.unwrap_or(workspace);
    let inside = directory.strip_prefix(root).map_err(io::Error::other)?;
    let root = Dir::open_ambient_dir(root, ambient_authority())?;
    let mut permissions = root.symlink_metadata(inside)?.permissions();
    let is_closed = permissions.mode() & 0o700 != 0o700;
    if is_closed {
        permissions.set_mode(permissions.mode() | 0o700);
        root.set_permissions(inside, permissions)?;
    }
    Ok(is_closed)
}

#[cfg(not(unix))]
fn give_back(_workspace: &Path, _directory: &Path) -> io::Result<bool> {
    Err(io::ErrorKind::PermissionDenied.into())
}

impl ObeyedContent {
    fn settings(&self) -> Option<Vec<GitSetting>> {
        match self {
            Self::Bytes(bytes) => parse(bytes).ok(),
            Self::Shared(content) => content.settings(),
            Self::Hash(_) | Self::Link(_) | Self::Other => None,
        }
    }
}

/// How a file's content is remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ContentForm {
    Bytes,
    Hash,
}

/// The content of a file; `None` if it does not exist.
fn content(path: &Path, max: u64, keep: ContentForm) -> Option<ObeyedContent> {
    let found = match path.symlink_metadata() {
        Ok(found) => found,
        Err(cause) if is_absent(&cause) => return None,
        // It may be there, beyond the longest path, and git has a shorter one.
        Err(_) => return Some(ObeyedContent::Other),
    };
    if found.is_symlink() {
        let target = fs::read_link(path).map(StoredPath);
        return Some(target.map_or(ObeyedContent::Other, ObeyedContent::Link));
    }
    if !found.is_file() || found.len() > max {
        return Some(ObeyedContent::Other);
    }
    let mut bytes = Vec::new();
    let read = fs::File::open(path).and_then(|file| file.take(max + 1).read_to_end(&mut bytes));
    let content = match read {
        Ok(_) if keep == ContentForm::Bytes => ObeyedContent::Bytes(bytes),
        Ok(_) => ObeyedContent::Hash(*blake3::hash(&bytes).as_bytes()),
        Err(_) => ObeyedContent::Other,
    };
    Some(if has_several_names(path) {
        ObeyedContent::Shared(Box::new(content))
    } else {
        content
    })
}

/// True if nothing is at a path any more.
fn is_gone(path: &Path) -> bool {
    let found = path.symlink_metadata();
    found.is_err_and(|cause| is_absent(&cause))
}

/// True if an error says that nothing is there.
fn is_absent(cause: &io::Error) -> bool {
    matches!(
        cause.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

/// Resolves links in the existing part of a path, also one to something that does not exist, and the
/// rest lexically.
pub fn really(path: &Path) -> PathBuf {
    /// As many as the kernel follows.
    const MAX_LINKS: usize = 40;
    let mut rest = Vec::new();
    let mut existing = path.to_owned();
    let mut links = 0;
    loop {
        if let Ok(real) = agent_files::fs::canonical(&existing) {
            rest.reverse();
            return resolve_dots(&rest.iter().fold(real, |path, part| path.join(part)));
        }
        if let (true, Ok(target)) = (links < MAX_LINKS, fs::read_link(&existing)) {
            links += 1;
            existing = existing.with_file_name("").join(target);
            continue;
        }
        let mut components = existing.components();
        match components.next_back() {
            Some(last @ (Component::Normal(_) | Component::ParentDir)) => {
                rest.push(last.as_os_str().to_owned());
            }
            _ => return resolve_dots(path),
        }
        existing = components.as_path().to_owned();
    }
}

/// The lexical path, and the real one if it differs.
fn by_both_names(path: &Path) -> BTreeSet<PathBuf> {
    BTreeSet::from([resolve_dots(path), really(path)])
}

/// The message about disabled files; `None` if there are none.
fn in_words(disarmed: &[Disarmed]) -> Option<String> {
    if disarmed.is_empty() {
        return None;
    }
    let disarmed: Vec<String> = disarmed.iter().map(ToString::to_string).collect();
    Some(format!(
        "git would have run or obeyed this, so it was disabled (the originals are beside it as `*{DISABLED}`): {}",
        first_few(&disarmed, "; ")
    ))
}

/// The message about files that were disabled as a whole; `None` if there are none.
pub fn set_aside_in_words(files: &[PathBuf], workspace: &Path) -> Option<String> {
    let disarmed = |path: &PathBuf| Disarmed {
        path: path.strip_prefix(workspace).unwrap_or(path).to_owned(),
        settings: Vec::new(),
        failure: None,
    };
    let disarmed: Vec<Disarmed> = files.iter().map(disarmed).collect();
    in_words(&disarmed)
}

fn named(paths: &[PathBuf]) -> String {
    let quoted = |path: &PathBuf| format!("`{}`", path.to_string_lossy().escape_debug());
    let paths: Vec<String> = paths.iter().map(quoted).collect();
    first_few(&paths, ", ")
}

fn first_few(texts: &[String], separator: &str) -> String {
    const NAMED: usize = 5;
    let first = texts[..texts.len().min(NAMED)].join(separator);
    match texts.len().saturating_sub(NAMED) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
