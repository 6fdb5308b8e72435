//! The files that a path in a script would hit, and the program that a word of it starts.
//!
//! A word is joined with the directory in which the command would run, `.` and `..` are resolved,
//! and the result is compared with the workspace and the home directory. That takes only the text.
//! For allow rules, links are followed as well, through a function that the caller provides. A name in
//! such a rule means the program that the name leads to outside of everything that commands may write:
//! a `git` in the workspace is not `git`.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agent_protocol::RelPath;

use super::Policy;
use super::command::is_a;
use super::reading::UNKNOWN;

/// The directories that the rules mention: the workspace, the home directory, writable ones.
#[derive(Debug, Clone)]
pub struct KnownDirectories {
    pub(super) workspace: String,
    pub(super) home: String,
    /// Directories besides the workspace where commands may write.
    writable: Vec<PathBuf>,
    links: Option<MachineLookup<Path, Option<PathBuf>>>,
    /// The workspace without links.
    real_workspace: String,
}

/// The extent of what removing a path would remove; the worst is the greatest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum RemovalReach {
    /// Something in the workspace or in a temporary directory.
    Inside,
    /// Something else.
    Outside,
    /// Anything: only the running shell knows the path.
    Unknown,
    /// The whole workspace.
    Workspace,
    /// A home directory, a system directory, or one that contains the workspace.
    Everything,
}

impl KnownDirectories {
    /// The absolute paths of the workspace and of the person's home directory.
    pub fn new(workspace: &Path, home: Option<&Path>) -> Self {
        Self {
            workspace: tidy(workspace),
            real_workspace: tidy(workspace),
            // Without a home directory no path equals this one, and `~` still leads out of the
            // workspace.
            home: home.map_or_else(|| "/~".to_owned(), tidy),
            writable: Vec::new(),
            links: None,
        }
    }

    /// Adds directories besides the workspace where commands may write.
    #[must_use]
    pub fn with_writable(mut self, directories: impl IntoIterator<Item = PathBuf>) -> Self {
        self.writable.extend(directories);
        self
    }

    /// Follows links with this function: it returns the path without links, also for a file that
    /// does not exist yet, and `None` if that is unknown.
    #[must_use]
    pub fn with_links(
        mut self,
        follow: impl Fn(&Path) -> Option<PathBuf> + Send + Sync + 'static,
    ) -> Self {
        let workspace = follow(Path::new(&self.workspace));
        self.real_workspace = workspace.map_or_else(|| self.workspace.clone(), |path| tidy(&path));
        self.links = Some(MachineLookup::new(follow));
        self
    }

    /// Returns true if a command could have put a program at this path.
    pub(super) fn is_writable(&self, path: &Path) -> bool {
        let text = tidy(path);
        self.is_ours(&text) || is_temporary(&text)
    }

    /// Returns true if a path is in the workspace or in a directory besides it that the person
    /// named.
    fn is_ours(&self, path: &str) -> bool {
        let mut writable = self.writable.iter();
        is_within(path, &self.workspace)
            || writable.any(|directory| Path::new(path).starts_with(directory))
    }

    /// The paths in the workspace that a word names and leads to, with links followed, as a path of
    /// a command that runs in this directory. None if it may lead out of the places where commands
    /// may write.
    ///
    /// Temporary directories count as inside only where a sandbox makes them private, and not the
    /// one in which the workspace is: what is beside the workspace is there too.
    pub(super) fn paths_of(
        &self,
        directory: &str,
        word: &str,
        has_sandbox: bool,
    ) -> Option<Vec<RelPath>> {
        let path = resolve(Some(directory), word)?;
        let is_private = has_sandbox && is_temporary(&path) && !is_temporary(&self.workspace);
        let is_ours = self.is_ours(&path);
        if !is_ours && !is_private && path != "/dev/null" {
            return None;
        }
        let mut paths: Vec<RelPath> = below(&path, &self.workspace).into_iter().collect();
        if let Some(links) = self.links.as_ref().filter(|_| is_ours) {
            // With its `..`: behind a link they lead elsewhere than the text says.
            let real = tidy(&links.find(&Path::new(directory).join(word))?);
            if !is_within(&real, &self.real_workspace) && !self.is_ours(&real) {
                return None;
            }
            paths.extend(below(&real, &self.real_workspace));
        }
        Some(paths)
    }

    pub(super) fn reach(&self, directory: Option<&str>, word: &str) -> RemovalReach {
        use RemovalReach::{Everything, Inside, Outside, Unknown, Workspace};
        // Beneath an unknown directory a name means only itself.
        let is_name = word.starts_with(|first: char| first.is_ascii_alphanumeric());
        match resolve(directory, word).as_deref().map(without_pattern) {
            None if is_name => Inside,
            None => Unknown,
            Some(path) if path.contains(UNKNOWN) => Unknown,
            Some(path) if path == self.workspace => Workspace,
            Some(path) if is_within(&self.workspace, path) => Everything,
            Some(path) if is_within(&self.home, path) => Everything,
            Some(path) if is_within(path, &self.workspace) || is_temporary(path) => Inside,
            Some(path) if path[1..].contains('/') => Outside,
            Some(_) => Everything,
        }
    }
}

fn tidy(path: &Path) -> String {
    let text = path.to_string_lossy();
    resolve(Some("/"), &text).unwrap_or_else(|| text.into_owned())
}

/// Returns true if a path is a directory or in it.
pub(super) fn is_within(path: &str, directory: &str) -> bool {
    let rest = path.strip_prefix(directory);
    directory == "/" || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The path relative to a directory that contains it.
fn below(path: &str, directory: &str) -> Option<RelPath> {
    let rest = path.strip_prefix(directory)?;
    RelPath::parse(rest.trim_start_matches('/')).ok()
}

fn is_temporary(path: &str) -> bool {
    let mut directories = ["/tmp/", "/var/tmp/", "/dev/shm/"].iter();
    directories.any(|directory| path.starts_with(directory))
}

/// The absolute path that a word names, without `.` and `..`; `None` if it is unknown.
pub(super) fn resolve(directory: Option<&str>, word: &str) -> Option<String> {
    if word.starts_with(UNKNOWN) {
        return None;
    }
    let with_drive = slashed_with_drive(word);
    let word = with_drive.as_deref().unwrap_or(word);
    let is_absolute = word.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    let base = if is_absolute { "" } else { directory? };
    for part in base.split('/').chain(word.split('/')) {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            _ => parts.push(part),
        }
    }
    Some(format!("/{}", parts.join("/")))
}

/// `c:\x` as `/C:/x`; `None` for a path without a drive.
fn slashed_with_drive(word: &str) -> Option<String> {
    match word.as_bytes() {
        [drive, b':', rest @ ..]
            if drive.is_ascii_alphabetic() && matches!(rest, [] | [b'/' | b'\\', ..]) =>
        {
            let drive = char::from(drive.to_ascii_uppercase());
            Some(format!("/{drive}:{}", word[2..].replace('\\', "/")))
        }
        _ => None,
    }
}

/// A glob for everything in a directory counts as the directory; at the root every glob does.
fn without_pattern(mut path: &str) -> &str {
    while let Some((directory, last)) = path.rsplit_once('/') {
        let is_pattern = last.contains(['*', '?', '[', UNKNOWN]);
        let is_all = is_pattern && last.chars().all(|c| "*?.[]!^".contains(c));
        if directory.is_empty() {
            return if is_pattern { "/" } else { path };
        }
        if !is_all {
            return path;
        }
        path = directory;
    }
    path
}

/// A program that was found on the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundProgram {
    /// The absolute path where it was found.
    pub path: PathBuf,
    /// The path with all links resolved.
    pub real: PathBuf,
}

/// Finds something on the machine, with a function that the caller provides.
pub struct MachineLookup<Q: ?Sized, A>(Arc<dyn Fn(&Q) -> A + Send + Sync>);

/// Finds programs as the shell of a command would: a name in `PATH`, a path as it is.
pub type ProgramLookup = MachineLookup<str, Option<FoundProgram>>;

/// Finds the records and settings of other base directories at or above a path.
pub type RecordsLookup = MachineLookup<RelPath, Vec<RelPath>>;

impl<Q: ?Sized, A> MachineLookup<Q, A> {
    /// Finds it with this function.
    pub fn new(find: impl Fn(&Q) -> A + Send + Sync + 'static) -> Self {
        Self(Arc::new(find))
    }

    pub(super) fn find(&self, question: &Q) -> A {
        (self.0)(question)
    }
}

impl<Q: ?Sized, A> Clone for MachineLookup<Q, A> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<Q: ?Sized, A> fmt::Debug for MachineLookup<Q, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MachineLookup")
    }
}

impl Policy {
    /// Returns true if a word of a rule and a word of a script start the same program; `has_moved`
    /// is true if the script changed its directory before.
    pub(super) fn are_the_same(&self, rule: &str, word: &str, has_moved: bool) -> bool {
        if is_relative(rule) || is_relative(word) {
            return rule == word && !has_moved;
        }
        if rule == word && is_a("builtins", word) {
            return true;
        }
        // Only words that could be the same are looked up.
        if rule.rsplit('/').next() != word.rsplit('/').next() {
            return false;
        }
        let (Some(meant), Some(started)) = (self.lookup.find(rule), self.lookup.find(word)) else {
            return false;
        };
        let is_trusted = |path: &Path| path.has_root() && !self.places.is_writable(path);
        meant.path == started.path && is_trusted(&started.path) && is_trusted(&started.real)
    }
}

/// Returns true for a path within the workspace, as in `./check.sh`.
pub(super) fn is_relative(word: &str) -> bool {
    word.contains('/') && !word.starts_with('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn case(word: &str, expected: RemovalReach) {
        let places = KnownDirectories::new(Path::new("/home/me/work"), Some(Path::new("/home/me")));
        assert_eq!(
            places.reach(Some("/home/me/work"), word),
            expected,
            "{word}"
        );
    }

    #[test]
    fn knows_what_holds_the_workspace() {
        for word in [
            "/", "/*", "/e*", "//", "/.", "/usr", "..", "../..", "../*", "/home/me", "/home",
        ] {
            case(word, RemovalReach::Everything);
        }
        for word in [
            ".",
            "./",
            "*",
            "./*",
            ".*",
            "./.[!.]*",
            "../work",
            "/home/me/work/",
            "a/..",
            "*/*",
        ] {
            case(word, RemovalReach::Workspace);
        }
        for word in [
            "build",
            "./build",
            "*.o",
            "/tmp/x",
            "a/*",
            "/home/me/work/a",
            "...",
        ] {
            case(word, RemovalReach::Inside);
        }
        for word in [
            "\u{10fffd}",
            "\u{10fffd}/",
            "\u{10fffd}/*",
            "./\u{10fffd}",
            "/home/me/\u{10fffd}",
        ] {
            case(word, RemovalReach::Unknown);
        }
        for word in [
            "../work-evil",
            "/home/me/other",
            "/usr/lib",
            "/home/me/*.txt",
        ] {
            case(word, RemovalReach::Outside);
        }
    }

    #[test]
    fn knows_drives() {
        let places = KnownDirectories::new(Path::new("C:\\Users\\me\\work"), None);
        let reach = |word| places.reach(Some(&places.workspace), word);
        assert_eq!(reach("c:\\"), RemovalReach::Everything);
        assert_eq!(reach("C:/Users"), RemovalReach::Everything);
        assert_eq!(reach("C:\\*"), RemovalReach::Everything);
        assert_eq!(reach("C:\\Users\\me\\work"), RemovalReach::Workspace);
        assert_eq!(reach("C:\\Users\\me\\work\\target"), RemovalReach::Inside);
        assert_eq!(reach("D:\\x\\y"), RemovalReach::Outside);
    }

    #[test]
    fn a_name_that_begins_like_the_workspace_is_another() {
        let places = KnownDirectories::new(Path::new("/ws"), None);
        assert!(places.is_writable(Path::new("/ws/bin/git")));
        assert!(!places.is_writable(Path::new("/ws-evil/bin/git")));
    }
}
