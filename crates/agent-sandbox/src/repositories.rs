//! Git directories in a workspace, and what git would run because of them.
//!
//! A repository's configuration and hooks name programs, and git runs them whenever somebody works
//! there: the person, their prompt, their editor. A command can make a repository as it likes, so
//! after each command the git directories are compared with those before it, and what is new and could
//! run something, or lead git to another file, is taken out of force. The original stays beside it.
//!
//! What always holds: what was there before a command stays as it is, and a setting that is not known
//! to be harmless does not stay in force.

mod config;
mod find;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::Dir;

pub use config::{Setting, parse, render};

/// The end of the name of what was taken out of force.
pub const DISABLED: &str = ".disabled-by-agent";

/// The largest configuration that is read; what is larger is taken out of force as a whole.
const MAX_CONFIG: u64 = 1024 * 1024;

/// How much of a hook is compared.
const MAX_HOOK: u64 = 16 * 1024 * 1024;

/// How many files one configuration leads to through includes.
const MAX_INCLUDES: usize = 20;

/// The hooks that git runs. Where they lie among other files, only these count.
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

/// The git directories of a workspace, and what in them could make git run something.
#[derive(Debug, Clone, Default)]
pub struct Inventory {
    directories: BTreeMap<PathBuf, Repository>,
    /// Directories that could not be listed.
    closed: BTreeSet<PathBuf>,
    /// Whether not all of the workspace was looked through.
    is_cut: bool,
}

/// What git obeys in one git directory.
#[derive(Debug, Clone, Default)]
struct Repository {
    configs: BTreeMap<PathBuf, Content>,
    hooks: BTreeMap<PathBuf, Content>,
}

/// What a file holds, as far as it matters.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Content {
    Bytes(Vec<u8>),
    Hash([u8; 32]),
    /// A link, which leads there.
    Link(PathBuf),
    /// Neither a file nor a link, or too large, or unreadable.
    Other,
}

/// Something that was taken out of force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Disarmed {
    /// The file, from the workspace.
    pub path: PathBuf,
    /// Settings of it; none if it is the whole file.
    pub settings: Vec<String>,
    /// Why it is still in force, if it is.
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

/// What git would look for besides the repository itself, because its configuration says so.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Led {
    /// Directories of hooks.
    pub hooks: BTreeSet<PathBuf>,
    /// Further configuration.
    pub configs: BTreeSet<PathBuf>,
    /// Files of attributes, which choose among the programs that a configuration names.
    pub attributes: BTreeSet<PathBuf>,
}

impl Led {
    /// Reads where the configuration files lead: those of a repository, or of the person.
    ///
    /// `files` is where the repository's files are; relative paths are looked for there.
    pub fn by(configs: &[PathBuf], files: &Path, home: &Path) -> Self {
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
                    Some(rest) => plainly(&home.join(rest)),
                    None => plainly(&base.join(text)),
                };
                if setting.is("core", "hookspath") {
                    let hooks = at(files);
                    // There husky keeps what runs the hooks beside it.
                    if hooks.ends_with(".husky/_") {
                        led.hooks.extend(hooks.parent().map(Path::to_owned));
                    }
                    led.hooks.insert(hooks);
                } else if setting.is("core", "attributesfile") {
                    led.attributes.insert(at(files));
                } else if setting.name == "path" && setting.section.starts_with("include") {
                    let included = at(config.parent().unwrap_or(files));
                    led.configs.insert(included.clone());
                    next.push(included);
                }
            }
        }
        led
    }

    /// Where the configuration of the person, and of the repository at the top of the workspace, leads.
    pub fn in_workspace(workspace: &Path, home: &Path) -> Self {
        let git = workspace.join(".git");
        let linked = pointer(&git, "gitdir: ").map(|path| workspace.join(path));
        let git = linked.unwrap_or(git);
        let shared = pointer(&git.join("commondir"), "").map(|path| git.join(path));
        Self::in_repository(shared.as_deref().unwrap_or(&git), workspace, home)
    }

    /// Where the configuration of the person, and of this git directory, leads.
    pub fn in_repository(git: &Path, files: &Path, home: &Path) -> Self {
        let configs = [
            home.join(".gitconfig"),
            home.join(".config/git/config"),
            git.join("config"),
            git.join("config.worktree"),
        ];
        Self::by(&configs, files, home)
    }

    /// All of them that lie beneath a directory.
    pub fn beneath(&self, directory: &Path) -> impl Iterator<Item = &PathBuf> {
        let all = self.hooks.iter().chain(&self.configs);
        let all = all.chain(&self.attributes);
        all.filter(move |path| path.starts_with(directory) && *path != directory)
    }
}

/// The settings of a configuration file, if it can be read.
pub fn settings_of(file: &Path) -> Option<Vec<Setting>> {
    match content(file, MAX_CONFIG, Keep::Bytes)? {
        Content::Bytes(bytes) => parse(&bytes).ok(),
        Content::Link(_) => {
            let real = file.canonicalize().ok()?;
            match content(&real, MAX_CONFIG, Keep::Bytes)? {
                Content::Bytes(bytes) => parse(&bytes).ok(),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Whether git would take the directory for a git directory, whatever it is called.
pub fn is_git_directory(directory: &Path) -> bool {
    find::is_git_directory(|name| directory.join(name).symlink_metadata().is_ok())
}

/// The path that stands in a `.git` file, a `commondir` or a `gitdir`, after a word.
pub fn pointer(file: &Path, word: &str) -> Option<PathBuf> {
    find::pointer(file, word)
}

/// Whether changing this path changes what git runs or obeys in a git directory that is there.
pub fn is_obeyed_in_repository(root: &Path, path: &Path) -> bool {
    let lies_in = |depth: usize| {
        let directory = path.ancestors().nth(depth);
        directory.is_some_and(|directory| is_git_directory(&root.join(directory)))
    };
    let name = |depth: usize| path.ancestors().nth(depth).and_then(Path::file_name);
    let is = |depth: usize, names: &[&str]| {
        let name = name(depth);
        name.is_some_and(|name| names.iter().any(|known| name.eq_ignore_ascii_case(known)))
    };
    let configures = is(0, &["config", "config.worktree", "commondir", "gitdir"]);
    (configures && lies_in(1)) || (is(1, &["hooks"]) && lies_in(2))
}

impl Inventory {
    /// Looks through the workspace, but for what is `left_out`.
    pub fn take(workspace: &Path, left_out: &[PathBuf]) -> Self {
        let found = find::find(workspace, left_out);
        let mut directories = BTreeMap::new();
        for directory in found.directories {
            let repository = Repository::read(&directory, workspace);
            directories.insert(directory, repository);
        }
        Self {
            directories,
            closed: found.closed,
            is_cut: found.is_cut,
        }
    }

    /// Why there may be repositories that nobody looked at since `before`, if so.
    pub fn unknown(&self, before: &Self) -> Option<String> {
        if let Some(closed) = self.closed.difference(&before.closed).next() {
            let path = closed.to_string_lossy();
            return Some(format!(
                "`{}` cannot be looked into, so nobody knows what git would run there",
                path.escape_debug()
            ));
        }
        self.is_cut.then(|| {
            "the workspace is too large to be looked through for repositories, so nobody knows what git would run in all of them".to_owned()
        })
    }

    /// Takes what came since `before` out of force, and tells what it was.
    pub fn disarm(&mut self, before: &Self, workspace: &Path) -> Vec<Disarmed> {
        let mut disarmed = Vec::new();
        let Ok(root) = Dir::open_ambient_dir(workspace, ambient_authority()) else {
            return disarmed;
        };
        let nothing = Repository::default();
        for (directory, repository) in &mut self.directories {
            let known = before.directories.get(directory).unwrap_or(&nothing);
            let mut disarm = Disarming {
                root: &root,
                workspace,
                directory,
                disarmed: &mut disarmed,
            };
            disarm.configs(repository, known);
            disarm.hooks(repository, known);
        }
        disarmed
    }
}

impl Repository {
    fn read(directory: &Path, workspace: &Path) -> Self {
        let mut repository = Self::default();
        let own = ["config", "config.worktree"].map(|name| directory.join(name));
        let files = directory.parent().unwrap_or(directory);
        // What `~` stands for does not lie here.
        let led = Led::by(&own, files, Path::new("/"));
        let is_here = |path: &&PathBuf| path.starts_with(workspace);
        let configs = own.iter().chain(led.configs.iter().filter(is_here));
        for config in configs {
            if let Some(content) = content(config, MAX_CONFIG, Keep::Bytes) {
                repository.configs.insert(config.clone(), content);
            }
        }
        repository.read_hooks(&directory.join("hooks"), |name| !is_idle(name));
        for directory in led.hooks.iter().filter(is_here) {
            repository.read_hooks(directory, |name| HOOKS.iter().any(|hook| name == *hook));
        }
        repository
    }

    fn read_hooks(&mut self, directory: &Path, is_hook: impl Fn(&OsStr) -> bool) {
        match directory.symlink_metadata() {
            Ok(found) if found.is_dir() => {}
            // A link in its place is a hook as a whole.
            Ok(_) => {
                let link = content(directory, MAX_HOOK, Keep::Hash).unwrap_or(Content::Other);
                self.hooks.insert(directory.to_owned(), link);
                return;
            }
            Err(_) => return,
        }
        let Ok(entries) = fs::read_dir(directory) else {
            // Git needs no list of them to run one.
            self.hooks.insert(directory.to_owned(), Content::Other);
            return;
        };
        for entry in entries.flatten() {
            let path = entry.path();
            let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if !is_dir
                && is_hook(&entry.file_name())
                && let Some(content) = content(&path, MAX_HOOK, Keep::Hash)
            {
                self.hooks.insert(path, content);
            }
        }
    }
}

/// Whether git runs no hook of this name.
pub fn is_idle(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    name.ends_with(b".sample") || name.ends_with(DISABLED.as_bytes())
}

/// Takes things out of force in one git directory.
struct Disarming<'a> {
    root: &'a Dir,
    workspace: &'a Path,
    directory: &'a Path,
    disarmed: &'a mut Vec<Disarmed>,
}

impl Disarming<'_> {
    fn configs(&mut self, repository: &mut Repository, known: &Repository) {
        for (path, content) in &mut repository.configs {
            let before = known.configs.get(path);
            if before == Some(content) {
                continue;
            }
            let old = before.and_then(Content::settings).unwrap_or_default();
            let (kept, dropped): (Vec<Setting>, Vec<Setting>) = match content.settings() {
                Some(settings) => settings
                    .into_iter()
                    .partition(|setting| self.may_stay(setting) || old.contains(setting)),
                // Nobody knows what it says.
                None => (old, Vec::new()),
            };
            if dropped.is_empty() && content.settings().is_some() {
                continue;
            }
            let text = render(&kept);
            let failure = self.replace(path, &text).err();
            if failure.is_none() {
                *content = Content::Bytes(text);
            }
            let mut settings: Vec<String> = dropped.iter().map(Setting::key).collect();
            settings.dedup();
            self.tell(path, settings, failure);
        }
    }

    fn hooks(&mut self, repository: &mut Repository, known: &Repository) {
        let is_new =
            |(path, content): &(&PathBuf, &Content)| known.hooks.get(*path) != Some(*content);
        let new: Vec<PathBuf> = repository
            .hooks
            .iter()
            .filter(is_new)
            .map(|(path, _)| path.clone())
            .collect();
        for path in new {
            let failure = self.set_aside(&path).err();
            if failure.is_none() {
                repository.hooks.remove(&path);
            }
            self.tell(&path, Vec::new(), failure);
        }
    }

    /// Whether a setting that was not there before may be.
    fn may_stay(&self, setting: &Setting) -> bool {
        if setting.is("core", "worktree") {
            // That of a submodule; one elsewhere would have git change files there.
            let files = setting.text().map(|text| self.directory.join(text));
            let files = files.and_then(|files| files.canonicalize().ok());
            return files.is_some_and(|files| files.starts_with(self.workspace));
        }
        setting.is_harmless()
    }

    fn replace(&self, path: &Path, text: &[u8]) -> io::Result<()> {
        self.set_aside(path)?;
        let (directory, name) = self.parent(path)?;
        directory.write(name, text)
    }

    /// Gives the file a name that git does not know.
    fn set_aside(&self, path: &Path) -> io::Result<()> {
        let (directory, name) = self.parent(path)?;
        let mut other = name.to_owned();
        other.push(DISABLED);
        let rename = || directory.rename(name, &directory, &other);
        rename()
            // A command can close the directory, and its owner can open it again.
            .or_else(|_| open_up(&directory).and_then(|()| rename()))
            // Something else that cannot be replaced has the name: better gone than in force.
            .or_else(|_| directory.remove_file(name))
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
        // Worktrees and included files are met more than once.
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

/// Lets its owner change what is in a directory.
#[cfg(unix)]
fn open_up(directory: &Dir) -> io::Result<()> {
    use cap_std::fs::PermissionsExt;
    let mut permissions = directory.dir_metadata()?.permissions();
    permissions.set_mode(permissions.mode() | 0o700);
    directory.set_permissions(".", permissions)
}

#[cfg(not(unix))]
fn open_up(_directory: &Dir) -> io::Result<()> {
    Ok(())
}

impl Content {
    fn settings(&self) -> Option<Vec<Setting>> {
        match self {
            Self::Bytes(bytes) => parse(bytes).ok(),
            Self::Hash(_) | Self::Link(_) | Self::Other => None,
        }
    }
}

/// How a file's content is remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Keep {
    Bytes,
    Hash,
}

/// What a file holds; nothing if there is none.
fn content(path: &Path, max: u64, keep: Keep) -> Option<Content> {
    let found = path.symlink_metadata().ok()?;
    if found.is_symlink() {
        return Some(fs::read_link(path).map_or(Content::Other, Content::Link));
    }
    if !found.is_file() || found.len() > max {
        return Some(Content::Other);
    }
    let mut bytes = Vec::new();
    let read = fs::File::open(path).and_then(|file| file.take(max + 1).read_to_end(&mut bytes));
    Some(match read {
        Ok(_) if keep == Keep::Bytes => Content::Bytes(bytes),
        Ok(_) => Content::Hash(*blake3::hash(&bytes).as_bytes()),
        Err(_) => Content::Other,
    })
}

/// Takes `.` and `..` out of an absolute path, by its letters.
pub fn plainly(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            other => plain.push(other),
        }
    }
    plain
}

/// The words about what was taken out of force; none if there is nothing.
pub fn in_words(disarmed: &[Disarmed]) -> Option<String> {
    const NAMED: usize = 5;
    if disarmed.is_empty() {
        return None;
    }
    let named: Vec<String> = disarmed
        .iter()
        .take(NAMED)
        .map(ToString::to_string)
        .collect();
    let more = match disarmed.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Some(format!(
        "git would have run or obeyed this, so it was disabled (the originals are beside it as `*{DISABLED}`): {}{more}",
        named.join("; ")
    ))
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
