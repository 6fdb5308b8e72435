//! The files of the workspace, to look at, and how much of a message files would take.
//!
//! Paths are opened beneath the workspace, component by component, without following a link; `.git`
//! and the folders of `agent` are not shown.

use std::path::Path;

use super::open::{self, FirstRun};
use super::{Caller, guard};
use crate::agent::added::find_files;
use crate::compose::{Meter, estimated_tokens};
use crate::error::{Error, Result};
use crate::protocol::RelPath;
use crate::settings::{Chat, Loaded};
use crate::workspace::text::TextFile;
use crate::workspace::{FileKind, Workspace};

/// The largest file that is shown, in bytes.
const LARGEST: u64 = 512 * 1024;
/// The most entries of a folder that are shown.
const MAX_ENTRIES: usize = 2_000;
/// The most files whose cost is counted.
const MAX_COUNTED: usize = 200;

/// A file or a folder of the workspace.
#[derive(Debug)]
pub enum BrowsedPath {
    /// A folder: its entries, folders first, and how many more there are.
    Folder {
        /// The entries.
        entries: Vec<BrowsedEntry>,
        /// How many are left out.
        left_out: usize,
    },
    /// A text file.
    Text(String),
    /// A file that is not shown, and why.
    Unshown(&'static str),
}

/// An entry of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrowsedEntry {
    /// Its name.
    pub name: String,
    /// True for a folder.
    pub is_folder: bool,
    /// True for a link, a pipe or something else that is not opened.
    pub is_special: bool,
    /// The size of a file, in bytes.
    pub size: u64,
}

/// Looks at a path of the workspace; an empty one is the workspace itself.
pub fn browse(workspace: &Path, own: &[RelPath], path: &str) -> Result<BrowsedPath> {
    let workspace = Workspace::open(workspace)?;
    let wanted = RelPath::parse_directory(path)
        .map_err(|problem| Error::usage(format!("`{path}` cannot be shown: {problem}")))?;
    let Some(wanted) = wanted else {
        return folder(&workspace, own, "");
    };
    let path = wanted.as_str();
    let is_own = |own: &RelPath| path == own.as_str() || is_beneath(path, own.as_str());
    let gone = || Error::mendable(format!("there is no `{path}` in the workspace"));
    if own.iter().any(is_own) {
        return Err(gone());
    }
    let found = (workspace.stat_exact(Path::new(path))).map_err(|cause| gone().because(cause))?;
    match found.map(|stat| stat.kind) {
        None => Err(gone()),
        Some(FileKind::Directory) => folder(&workspace, own, path),
        Some(FileKind::File { .. }) => file(&workspace, path),
        Some(FileKind::Link) => Ok(BrowsedPath::Unshown("It is a link.")),
        Some(FileKind::Special) => Ok(BrowsedPath::Unshown("It is no regular file.")),
    }
}

fn is_beneath(path: &str, folder: &str) -> bool {
    (path.strip_prefix(folder)).is_some_and(|rest| rest.starts_with('/'))
}

fn folder(workspace: &Workspace, own: &[RelPath], path: &str) -> Result<BrowsedPath> {
    let unreadable = |cause| Error::mendable(format!("could not read `{path}`")).because(cause);
    let names = workspace.names_exact(Path::new(path)).map_err(unreadable)?;
    let entry = |name: &std::ffi::OsString| {
        let whole = Path::new(path).join(name);
        let is_own = own.iter().any(|own| Path::new(own.as_str()) == whole);
        // What is gone by now, or is never looked at, is left out.
        let stat = workspace.stat_exact(&whole).ok().flatten();
        let stat = stat.filter(|_| !is_own)?;
        Some(BrowsedEntry {
            name: name.to_string_lossy().into_owned(),
            is_folder: stat.kind == FileKind::Directory,
            is_special: matches!(stat.kind, FileKind::Link | FileKind::Special),
            size: stat.size,
        })
    };
    let mut entries: Vec<BrowsedEntry> = names.iter().filter_map(entry).collect();
    entries.sort_by(|one, other| {
        (other.is_folder.cmp(&one.is_folder)).then_with(|| one.name.cmp(&other.name))
    });
    let left_out = entries.len().saturating_sub(MAX_ENTRIES);
    entries.truncate(MAX_ENTRIES);
    Ok(BrowsedPath::Folder { entries, left_out })
}

fn file(workspace: &Workspace, path: &str) -> Result<BrowsedPath> {
    let read = workspace.read_exact(Path::new(path), LARGEST);
    let read =
        read.map_err(|cause| Error::mendable(format!("could not read `{path}`")).because(cause))?;
    let Some(bytes) = read else {
        return Ok(BrowsedPath::Unshown("It is too large to be shown."));
    };
    Ok(match TextFile::view(&bytes) {
        Ok((text, _)) => BrowsedPath::Text(text.into_owned()),
        Err(_) => BrowsedPath::Unshown("It is not a text."),
    })
}

/// The folders of `agent` inside of the workspace.
pub fn own_folders(caller: &Caller, workspace: &Path) -> Result<Vec<RelPath>> {
    let (_, loaded) = open::settings(caller, FirstRun::Look)?;
    Ok(guard::own_paths(&loaded, workspace))
}

/// The share of a message that added files would take.
#[derive(Debug)]
pub struct AddedCost {
    /// Each file with its estimated tokens; nothing for one that is not a text or too large.
    pub files: Vec<(RelPath, Option<usize>)>,
    /// All of them, in estimated tokens.
    pub tokens: usize,
    /// How much that is of what the chat takes at once.
    pub percent: usize,
}

/// Estimates what the files that these paths name would take of the first message; of another chat
/// than the one that is set if it is named.
pub fn added_cost(caller: &Caller, paths: &[String], chat: Option<&str>) -> Result<AddedCost> {
    let (_, mut loaded) = open::settings(caller, FirstRun::Look)?;
    if let Some(chat) = chat {
        loaded.settings.chat =
            Chat::named(chat).ok_or_else(|| Error::usage(format!("there is no chat `{chat}`")))?;
    }
    let workspace = opened(&loaded)?;
    let mut found: Vec<RelPath> = Vec::new();
    for path in paths {
        for file in find_files(&workspace, &caller.here, path)? {
            if !found.contains(&file) {
                found.push(file);
            }
        }
    }
    if found.len() > MAX_COUNTED {
        return Err(Error::usage(format!("these are {} files", found.len()))
            .hint(format!("name at most {MAX_COUNTED}")));
    }
    let mut all = Meter::default();
    let mut files = Vec::new();
    for path in found {
        let text = workspace.read(&path, LARGEST).ok();
        let text = text.as_deref().and_then(|bytes| TextFile::view(bytes).ok());
        let tokens = text.map(|(text, _)| {
            all.characters += text.chars().count();
            estimated_tokens(&text)
        });
        all.tokens += tokens.unwrap_or(0);
        files.push((path, tokens));
    }
    Ok(AddedCost {
        files,
        tokens: all.tokens,
        percent: open::carriage(&loaded.settings).limit.percent(&all),
    })
}

fn opened(loaded: &Loaded) -> Result<Workspace> {
    let workspace = Workspace::open(&loaded.paths.workspace)?;
    let own = guard::own_paths(loaded, workspace.path());
    Ok(workspace.leaving_out(own))
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use crate::fs::{Durability, write_atomic};

    #[test]
    fn only_what_lies_in_the_workspace_is_shown() {
        let root = tempfile::tempdir().unwrap();
        let workspace = root.path().join("work");
        for folder in ["work/.git", "work/sub", "work/sessions", "out"] {
            std::fs::create_dir_all(root.path().join(folder)).unwrap();
        }
        for file in [
            "work/.git/config",
            "work/sub/a.txt",
            "work/sessions/s",
            "out/secret",
        ] {
            write_atomic(&root.path().join(file), b"text\n", Durability::Atomic).unwrap();
        }
        write_atomic(&workspace.join("bytes"), &[0, 159], Durability::Atomic).unwrap();
        std::os::unix::fs::symlink(root.path().join("out"), workspace.join("link")).unwrap();
        std::os::unix::fs::symlink("sub/a.txt", workspace.join("near")).unwrap();
        let own = [RelPath::parse("sessions").unwrap()];
        let shown = |path: &str| browse(&workspace, &own, path);
        let BrowsedPath::Folder { entries, left_out } = shown("").unwrap() else {
            panic!();
        };
        let names: Vec<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
        assert_eq!(names, ["sub", "bytes", "link", "near"]);
        assert_eq!(left_out, 0);
        assert!(matches!(shown("sub/a.txt"), Ok(BrowsedPath::Text(text)) if text == "text\n"));
        for unshown in ["bytes", "link", "near"] {
            assert!(
                matches!(shown(unshown), Ok(BrowsedPath::Unshown(_))),
                "{unshown}"
            );
        }
        for refused in [
            "..",
            "../out/secret",
            "link/secret",
            "/etc/passwd",
            ".git/config",
            "sessions",
            "sessions/s",
            "sub/../../out/secret",
            "none",
        ] {
            assert!(shown(refused).is_err(), "{refused}");
        }
    }
}
