//! Ignore rules, as git and ripgrep apply them.
//!
//! Uses the matcher of the `ignore` crate, but not its walker: that opens ignore files by path, and
//! one that is a pipe or a link to `/dev/zero` would never end. Here they are read through the
//! workspace, up to a limit.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use blake3::{Hash, Hasher};
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::Workspace;
use agent_protocol::RelPath;

/// Larger ignore files are not applied, in bytes.
pub(super) const MAX_IGNORE_BYTES: u64 = 256 * 1024;

/// Expected length of a name, in bytes.
const NAME: usize = 64;

/// The ignore files that a directory has.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct IgnoreFiles {
    ignore: bool,
    gitignore: bool,
    exclude: bool,
}

impl IgnoreFiles {
    /// All that can exist.
    pub(super) const POSSIBLE: Self = Self {
        ignore: true,
        gitignore: true,
        exclude: true,
    };

    /// Those that exist in a directory.
    pub(super) fn among(has: impl Fn(&str) -> bool, is_root: bool) -> Self {
        Self {
            ignore: has(".ignore"),
            gitignore: has(".gitignore"),
            exclude: is_root && has(".git"),
        }
    }

    fn are_any(self) -> bool {
        self.ignore || self.gitignore || self.exclude
    }
}

/// The type of the path to match.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Is {
    File,
    Directory,
}

/// The ignore rules of a directory and its parents.
#[derive(Debug)]
pub(super) struct Rules {
    above: Option<Arc<Rules>>,
    /// `.ignore`, which overrides git's rules.
    ignore: Option<IgnoreFile>,
    /// `.gitignore`.
    gitignore: Option<IgnoreFile>,
    /// `.git/info/exclude`, which has the lowest priority.
    exclude: Option<IgnoreFile>,
    /// Rules with the same digest ignore the same.
    pub(super) digest: Hash,
}

impl Rules {
    /// The rules in a directory; those of its parent if it has no ignore files.
    ///
    /// `read` returns the content of a file in that directory, if it can be read. `known` are the rules
    /// that it had earlier: the same files are not parsed again.
    pub(super) fn read(
        read: impl Fn(&str) -> Option<Vec<u8>>,
        directory: &Path,
        which: IgnoreFiles,
        above: Option<Arc<Rules>>,
        known: Option<&Arc<Rules>>,
    ) -> Option<Arc<Rules>> {
        if !which.are_any() {
            return above;
        }
        let mut hasher = Hasher::new();
        let mut add = |part: &[u8]| {
            hasher.update(&part.len().to_le_bytes()).update(part);
        };
        // The same rules leave out other paths in another directory.
        add(directory.as_os_str().as_encoded_bytes());
        add(above.as_ref().map_or(&[], |above| above.digest.as_bytes()));
        let is_root = directory.as_os_str().is_empty();
        let wanted = [
            (which.ignore, ".ignore"),
            (which.gitignore, ".gitignore"),
            (which.exclude && is_root, ".git/info/exclude"),
        ];
        let contents = wanted.map(|(is_wanted, name)| {
            let content = is_wanted.then(|| read(name)).flatten()?;
            add(name.as_bytes());
            add(&content);
            Some(content)
        });
        let digest = hasher.finalize();
        if let Some(known) = known.filter(|known| known.digest == digest) {
            return Some(Arc::clone(known));
        }
        let [ignore, gitignore, exclude] = contents.map(|content| {
            Some(IgnoreFile::parse(&content?, directory)).filter(|file| !file.rules.is_empty())
        });
        if ignore.is_none() && gitignore.is_none() && exclude.is_none() {
            return above;
        }
        Some(Arc::new(Self {
            above,
            ignore,
            gitignore,
            exclude,
            digest,
        }))
    }

    /// True if the rules ignore a path, which must begin with a slash.
    pub(super) fn leave_out(&self, absolute: &Path, is: Is) -> bool {
        let is_directory = is == Is::Directory;
        let path = absolute.as_os_str().as_encoded_bytes();
        let in_order = (self.chain().map(|rules| &rules.ignore))
            .chain(self.chain().map(|rules| &rules.gitignore))
            .chain(self.chain().map(|rules| &rules.exclude));
        for file in in_order.flatten().filter(|file| file.endings.include(path)) {
            match file.rules.matched(absolute, is_directory) {
                Match::None => {}
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
            }
        }
        false
    }

    /// The innermost directory first.
    fn chain(&self) -> impl Iterator<Item = &Rules> {
        std::iter::successors(Some(self), |rules| rules.above.as_deref())
    }
}

/// The rules of one ignore file.
#[derive(Debug)]
struct IgnoreFile {
    rules: Gitignore,
    endings: RuleEndings,
}

impl IgnoreFile {
    fn parse(content: &[u8], directory: &Path) -> Self {
        let mut builder = GitignoreBuilder::new(absolute(directory));
        let mut endings = RuleEndings::default();
        let text = String::from_utf8_lossy(content);
        for line in text.trim_start_matches('\u{feff}').lines() {
            // An invalid glob ignores nothing, as in git.
            let _ = builder.add_line(None, line);
            endings.add(line);
        }
        Self {
            rules: builder.build().unwrap_or_else(|_| Gitignore::empty()),
            endings,
        }
    }
}

/// The last two bytes of every path that a rule can match, reduced to five bits each.
///
/// Most paths end in other bytes. The matcher would need a tenth of a walk to find that out.
#[derive(Debug, Default)]
struct RuleEndings {
    bits: [u32; 32],
}

impl RuleEndings {
    /// Adds the ending that a line requires: the text after the last special character of its glob.
    fn add(&mut self, line: &str) {
        let line = line.trim_end();
        if line.is_empty() || line.starts_with('#') {
            return;
        }
        let glob = line.trim_end_matches('/').as_bytes();
        let is_special = |byte: &u8| b"*?[]{}\\!/".contains(byte);
        match glob.rsplit(is_special).next().unwrap_or(glob) {
            [.., before, last] => self.bits[low_bits(*before)] |= 1 << low_bits(*last),
            [last] => (self.bits.iter_mut()).for_each(|bits| *bits |= 1 << low_bits(*last)),
            [] => self.bits = [u32::MAX; 32],
        }
    }

    /// Returns false if no rule can match a path with this ending.
    fn include(&self, path: &[u8]) -> bool {
        match path {
            [.., before, last] => self.bits[low_bits(*before)] & (1 << low_bits(*last)) != 0,
            _ => true,
        }
    }
}

fn low_bits(byte: u8) -> usize {
    usize::from(byte & 31)
}

/// Tells which paths the ignore rules of a workspace leave out, also paths that do not exist in it.
///
/// Each ignore file is read once, so a lookup serves until one of them changes.
pub struct IgnoreLookup<'a> {
    workspace: &'a Workspace,
    /// The rules that hold in a directory, by its path.
    rules: BTreeMap<String, Option<Arc<Rules>>>,
}

impl Workspace {
    /// A lookup in the ignore rules as they are now.
    pub fn ignore_lookup(&self) -> IgnoreLookup<'_> {
        IgnoreLookup {
            workspace: self,
            rules: BTreeMap::new(),
        }
    }
}

impl IgnoreLookup<'_> {
    /// True if a walk would leave out this file, or this directory and all that it holds.
    pub fn ignores(&mut self, path: &RelPath, is_directory: bool) -> bool {
        self.ignores_name(path.as_str(), is_directory)
    }

    /// Like [`IgnoreLookup::ignores`], for a path with a name that no command can have.
    pub fn ignores_name(&mut self, text: &str, is_directory: bool) -> bool {
        let mut ends: Vec<usize> = text.match_indices('/').map(|(at, _)| at).collect();
        ends.push(text.len());
        let mut directory = "";
        for end in ends {
            let is = if end < text.len() || is_directory {
                Is::Directory
            } else {
                Is::File
            };
            let rules = self.within(directory);
            if is_ignored(rules.as_deref(), Path::new(&text[..end]), is) {
                return true;
            }
            directory = &text[..end];
        }
        false
    }

    fn within(&mut self, directory: &str) -> Option<Arc<Rules>> {
        if let Some(rules) = self.rules.get(directory) {
            return rules.clone();
        }
        let above = match directory.rsplit_once('/') {
            Some((above, _)) => self.within(above),
            None if directory.is_empty() => None,
            None => self.within(""),
        };
        let read = |name: &str| read_beneath(self.workspace, directory, name);
        let rules = Rules::read(
            read,
            Path::new(directory),
            IgnoreFiles::POSSIBLE,
            above,
            None,
        );
        self.rules.insert(directory.to_owned(), rules.clone());
        rules
    }
}

/// Reads an ignore file through the workspace; an unreadable one has no rules.
pub(super) fn read_beneath(workspace: &Workspace, directory: &str, name: &str) -> Option<Vec<u8>> {
    let path = RelPath::parse(&join(directory, name)).ok()?;
    workspace.read(&path, MAX_IGNORE_BYTES).ok()
}

/// The matcher needs rules and paths below one root; the actual root does not matter.
fn absolute(path: &Path) -> PathBuf {
    Path::new("/").join(path)
}

/// Builds the absolute paths of a directory's entries for the matcher, reusing one buffer.
pub(super) struct Absolute {
    path: String,
    /// Length of the directory part.
    shared: usize,
}

impl Absolute {
    /// For a directory relative to the workspace; an empty path is the root.
    pub(super) fn within(directory: &str) -> Self {
        let mut path = String::with_capacity(directory.len() + NAME);
        path.push('/');
        if !directory.is_empty() {
            path.push_str(directory);
            path.push('/');
        }
        Self {
            shared: path.len(),
            path,
        }
    }

    /// The path of an entry.
    pub(super) fn of(&mut self, name: &str) -> &Path {
        self.path.truncate(self.shared);
        self.path.push_str(name);
        Path::new(&self.path)
    }
}

/// True if the rules ignore the path.
pub(super) fn is_ignored(rules: Option<&Rules>, path: &Path, is: Is) -> bool {
    rules.is_some_and(|rules| rules.leave_out(&absolute(path), is))
}

/// Joins a relative directory, empty for the root, and a name.
pub(super) fn join(directory: &str, name: &str) -> String {
    if directory.is_empty() {
        name.to_owned()
    } else {
        format!("{directory}/{name}")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::fs::{Durability, write_atomic};

    proptest! {
        #[test]
        fn endings_include_every_path_that_a_rule_matches(
            line in r"!?/?([ab]|\*|\*\*|\?|\[ab\]|\{a,b\}|\\[ab]|/|\.){1,5}/? ?",
            name in r"[ab.]{1,4}",
            is_directory in any::<bool>(),
        ) {
            let file = IgnoreFile::parse(line.as_bytes(), Path::new(""));
            let path = format!("/a/{name}");
            let is_matched = !file.rules.matched(Path::new(&path), is_directory).is_none();
            prop_assert!(!is_matched || file.endings.include(path.as_bytes()));
        }
    }

    #[test]
    fn paths_with_other_endings_are_not_matched() {
        let file = IgnoreFile::parse(b"# x\n\ntarget/\n*.log\n*~\n/dist\n", Path::new(""));
        for (path, expected) in [
            ("/a/main.rs", false),
            ("/a/x", false),
            ("/a/catalog", true),
            ("/b/main.rs~", true),
            ("/target", true),
        ] {
            let is_included = file.endings.include(path.as_bytes());
            assert_eq!(is_included, expected, "{path}");
        }
    }

    #[test]
    fn a_lookup_judges_paths_that_do_not_exist() {
        let directory = tempfile::tempdir().unwrap();
        let top = directory.path();
        std::fs::create_dir_all(top.join("sub")).unwrap();
        for (name, text) in [
            (".gitignore", "build/\nlogs/\n!src/logs/\n"),
            ("sub/.gitignore", "*.o\n"),
        ] {
            write_atomic(&top.join(name), text.as_bytes(), Durability::Atomic).unwrap();
        }
        let workspace = Workspace::open(top).unwrap();
        let mut lookup = workspace.ignore_lookup();
        for (path, is_directory, expected) in [
            ("build", true, true),
            ("deep/build/x", false, true),
            ("scripts/build", false, false),
            ("logs/a", false, true),
            ("src/logs/a", false, false),
            ("sub/new/a.o", false, true),
            ("a.o", false, false),
        ] {
            let path = RelPath::parse(path).unwrap();
            assert_eq!(lookup.ignores(&path, is_directory), expected, "{path}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_directory_whose_name_ends_like_a_digest_has_one_of_its_own() {
        use std::ffi::OsStr;
        use std::os::unix::ffi::OsStrExt;

        let rules = |directory: &[u8], above: Option<&Arc<Rules>>| {
            let read = |name: &str| (name == ".gitignore").then(|| b"x\n".to_vec());
            let directory = Path::new(OsStr::from_bytes(directory));
            Rules::read(read, directory, IgnoreFiles::POSSIBLE, above.cloned(), None).unwrap()
        };
        let above = rules(b"", None);
        let longer = [b"a", &above.digest.as_bytes()[..]].concat();
        assert_ne!(
            rules(b"a", Some(&above)).digest,
            rules(&longer, None).digest
        );
    }
}
