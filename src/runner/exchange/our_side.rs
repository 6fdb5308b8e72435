//! The workspace as the exchange sees it: contents to compare, files to send, results to write.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::super::listing::{ExchangedContent, LeftReason, MAX_FILE, PrunedDirectories};
use super::super::tar::{TarContent, TarEntry};
use super::state::ExchangeState;
use super::{MARK, TRIAL};
use crate::protocol::RelPath;
use crate::protocol::generated::generated_directory;
use crate::sandbox;
use crate::workspace::{FileKind, IgnoreLookup, Workspace};

/// The workspace, whose files are sent and which takes results.
#[derive(Debug)]
pub(super) struct ExchangedWorkspace {
    pub(super) workspace: Workspace,
}

impl ExchangedWorkspace {
    /// The content of a name here.
    pub(super) fn content(&self, name: &str) -> Option<ExchangedContent> {
        let read = self.read(name)?;
        Some(read.map_or_else(ExchangedContent::Left, |entry| content_of(&entry)))
    }

    /// Something of ours, to be sent; none if it cannot be read.
    pub(super) fn entry(&self, name: &str) -> Option<TarEntry> {
        self.read(name)?.ok()
    }

    fn read(&self, name: &str) -> Option<Result<TarEntry, LeftReason>> {
        let path = Path::new(name);
        let found = self.workspace.stat_exact(path).ok()??;
        let (mode, content) = match found.kind {
            FileKind::Directory => (found.mode & 0o777 | 0o700, TarContent::Directory),
            FileKind::Link => {
                let target = self.workspace.read_link_exact(path).ok()?;
                match target.into_string() {
                    Ok(target) => (0o777, TarContent::Link(target)),
                    Err(_) => return Some(Err(LeftReason::Special)),
                }
            }
            FileKind::File { size } if size > MAX_FILE => {
                return Some(Err(LeftReason::TooLarge(size)));
            }
            FileKind::File { .. } => match self.workspace.read_exact(path, MAX_FILE) {
                Ok(Some(bytes)) => (found.mode & 0o777, TarContent::File(bytes)),
                _ => return Some(Err(LeftReason::Unreadable)),
            },
            FileKind::Special => return None,
        };
        let name = name.to_owned();
        Some(Ok(TarEntry {
            name,
            mode,
            content,
        }))
    }

    pub(super) fn write(&self, place: &str, entry: &TarEntry) -> std::io::Result<()> {
        let path = Path::new(place);
        self.make_parents(path)?;
        match &entry.content {
            TarContent::File(bytes) => {
                let mode = self.mode_for(path, entry.mode);
                self.workspace.write_exact(path, bytes, mode)
            }
            TarContent::Link(target) => self.workspace.link_exact(path, target.as_ref()),
            TarContent::Directory => self.workspace.make_directory_exact(path),
        }
    }

    /// The permissions of a file here: those that it has, but for the bit that counts. A new one is as
    /// private as it is there.
    fn mode_for(&self, path: &Path, there: u32) -> u32 {
        let found = self.workspace.stat_exact(path).ok().flatten();
        let found = found.filter(|found| matches!(found.kind, FileKind::File { .. }));
        let mode = found.map_or(0o600 | (there & 0o044), |found| found.mode);
        if there & 0o100 == 0 {
            mode & !0o111
        } else {
            mode | ((mode & 0o444) >> 2)
        }
    }

    fn make_parents(&self, path: &Path) -> std::io::Result<()> {
        let mut above: Vec<&Path> = path.ancestors().skip(1).collect();
        above.reverse();
        for directory in above
            .into_iter()
            .filter(|path| !path.as_os_str().is_empty())
        {
            if self.workspace.stat_exact(directory)?.is_none() {
                self.workspace.make_directory_exact(directory)?;
            }
        }
        Ok(())
    }

    /// True if all directories above a name are directories or can be made.
    pub(super) fn has_room(&self, name: &str) -> bool {
        let mut above = name.match_indices('/').map(|(at, _)| &name[..at]);
        above.all(|above| {
            let found = self.workspace.stat_exact(Path::new(above));
            found.is_ok_and(|found| found.is_none_or(|found| found.is_directory()))
        })
    }

    /// Ignored directories that a listing need not enter. A rule counts only if it names a directory
    /// plainly, nothing excepts that name, and nothing in such a directory was exchanged.
    pub(super) fn pruned(&self, here: &BTreeMap<String, ExchangedContent>) -> PrunedDirectories {
        const MAX: u64 = 256 * 1024;
        let read = |file: &str| {
            let content = self.workspace.read_exact(Path::new(file), MAX);
            let content = content.ok().flatten().unwrap_or_default();
            String::from_utf8_lossy(&content).into_owned()
        };
        let last = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
        let rules = here
            .keys()
            .filter(|name| matches!(last(name).as_str(), ".gitignore" | ".ignore"));
        let excepted: BTreeSet<String> = rules
            .flat_map(|file| {
                let text = read(file);
                let lines = text.lines().filter_map(|line| line.strip_prefix('!'));
                let names = lines.map(|line| last(line.trim().trim_end_matches('/')));
                names.collect::<Vec<_>>()
            })
            .collect();
        let held: BTreeSet<String> = (here.iter())
            .filter(|(_, content)| **content == ExchangedContent::Directory)
            .map(|(name, _)| last(name))
            .collect();
        let is_plain = |c: char| c.is_alphanumeric() || "._-/".contains(c);
        let mut pruned = PrunedDirectories::default();
        for line in [".gitignore", ".ignore"]
            .map(read)
            .iter()
            .flat_map(|text| text.lines())
        {
            let line = line.trim();
            let path = line.trim_start_matches('/').trim_end_matches('/');
            let name = last(path);
            let is_excepted =
                |excepted: &String| *excepted == name || !excepted.chars().all(is_plain);
            if path.is_empty()
                || !path.chars().all(is_plain)
                || held.contains(&name)
                || excepted.iter().any(is_excepted)
            {
                continue;
            }
            if line.starts_with('/') || path.contains('/') {
                pruned.paths.insert(path.to_owned());
            } else {
                pruned.names.insert(path.to_owned());
            }
        }
        pruned
    }
}

/// True for a name that the exchange itself uses in the directory there.
pub(super) fn is_reserved(name: &str) -> bool {
    let first = name.split('/').next().unwrap_or_default();
    first == MARK || first.starts_with(TRIAL)
}

pub(super) fn link(name: &str, target: &str) -> TarEntry {
    TarEntry {
        name: name.to_owned(),
        mode: 0o777,
        content: TarContent::Link(target.to_owned()),
    }
}

pub(super) fn content_of(entry: &TarEntry) -> ExchangedContent {
    match &entry.content {
        TarContent::File(bytes) => ExchangedContent::File {
            hash: blake3::hash(bytes).to_hex().to_string(),
            executable: entry.mode & 0o100 != 0,
            mode: entry.mode & 0o777,
        },
        TarContent::Link(target) => ExchangedContent::Link(target.clone()),
        TarContent::Directory => ExchangedContent::Directory,
    }
}

pub(super) fn is_directory(content: Option<&ExchangedContent>) -> bool {
    content == Some(&ExchangedContent::Directory)
}

/// True if two contents of our side differ at most in who may read them.
pub(super) fn is_alike(one: &ExchangedContent, other: &ExchangedContent) -> bool {
    use ExchangedContent::File;
    match (one, other) {
        (
            File {
                hash, executable, ..
            },
            File {
                hash: other,
                executable: other_executable,
                ..
            },
        ) => hash == other && executable == other_executable,
        _ => one == other,
    }
}

/// True for a name that commands must not change here, or that leads out.
pub(super) fn is_protected(name: &str) -> bool {
    let is_plain = |part: std::path::Component<'_>| matches!(part, std::path::Component::Normal(_));
    let path = Path::new(name);
    // An editor obeys its configuration in whatever directory the person opens.
    let is_configuration = |part: &str| {
        let mut names = sandbox::PROTECTED.iter();
        names.any(|name| part.eq_ignore_ascii_case(name))
    };
    let mut workflows = sandbox::WORKFLOWS.iter();
    !path.components().all(is_plain)
        || name.split('/').any(is_configuration)
        || workflows.any(|guarded| path.starts_with(guarded))
}

/// True for a name that is ignored here and was not exchanged before.
pub(super) fn is_left_out(
    lookup: &mut IgnoreLookup<'_>,
    known: &ExchangeState,
    name: &str,
    content: &ExchangedContent,
) -> bool {
    if known.here.contains_key(name) {
        return false;
    }
    RelPath::parse(name).is_ok_and(|path| {
        generated_directory(&path).is_some() || lookup.ignores(&path, is_directory(Some(content)))
    })
}

/// True for a name that our side cannot hold, in a directory that is ignored here.
pub(super) fn is_odd_left_out(lookup: &mut IgnoreLookup<'_>, name: &str) -> bool {
    let slashes: Vec<usize> = name.match_indices('/').map(|(at, _)| at).collect();
    let mut above = slashes.into_iter().rev();
    above.any(|at| {
        RelPath::parse(&name[..at])
            .is_ok_and(|path| generated_directory(&path).is_some() || lookup.ignores(&path, true))
    })
}
