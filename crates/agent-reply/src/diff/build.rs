//! Turns what a diff says about its files into changes.

use agent_protocol::{FileChange, Hunk, HunkLine, RelPath};

use super::name::{self, FirstDirectories, HeaderName};
use super::{BlockTrouble, FileDiff, Header, unified_hint};
use crate::{changes, workspace_root};

/// All changes of a diff below a line that may name its file, or the first thing that is wrong with it.
///
/// A sentence may name another file than it is about: it only fills in what the diff does not say.
pub(super) fn changes_below(
    files: Vec<FileDiff<'_>>,
    above: Option<&RelPath>,
) -> Result<Vec<FileChange>, BlockTrouble> {
    let directories = first_directories(&files);
    let is_other = |file: &FileDiff<'_>| {
        let names = names(&file.header, &directories).unwrap_or_default();
        let agrees = |name: &str| above.is_some_and(|above| agreed(name, above).is_ok());
        names.file.is_some_and(|name| !agrees(&name))
    };
    let path = above.filter(|_| !files.iter().any(is_other));
    changes(files, path)
}

/// All changes of a diff, or the first thing that is wrong with it; `path` is the file that its command
/// names.
pub(super) fn changes(
    files: Vec<FileDiff<'_>>,
    path: Option<&RelPath>,
) -> Result<Vec<FileChange>, BlockTrouble> {
    let is_one = files.len() == 1;
    let directories = first_directories(&files);
    let changes: Vec<FileChange> = files
        .into_iter()
        .map(|file| change(file, path, is_one, &directories))
        .collect::<Result<_, _>>()?;
    if changes.is_empty() {
        return Err(BlockTrouble::new(
            "the patch changes no file",
            unified_hint(),
        ));
    }
    Ok(changes)
}

fn change(
    file: FileDiff<'_>,
    path: Option<&RelPath>,
    is_one: bool,
    directories: &FirstDirectories,
) -> Result<FileChange, BlockTrouble> {
    if let Some(trouble) = file.trouble {
        return Err(trouble);
    }
    let header = &file.header;
    let is_moved = header.rename.1.is_some() || header.copy.1.is_some();
    let names = match (names(header, directories), path) {
        // Who names the file in the command makes the names in the diff up.
        (_, Some(_)) if is_one && !is_moved => HeaderNames::default(),
        (names, _) => names?,
    };
    let target = match (names.file.as_deref(), path) {
        (None, None) => return Err(no_name()),
        (None, Some(path)) => path.clone(),
        (Some(name), None) => parse(name)?,
        (Some(name), Some(path)) => agreed(name, path)?,
    };
    if file.hunks.is_empty() && !header.acts_alone() {
        return Err(BlockTrouble::new(
            format!("the patch has no hunks for `{target}`"),
            "write an `@@` line and the changed lines under the header",
        ));
    }
    let side = side(header, &file.hunks);
    match side {
        Side::Added => added(target, header.new_mode, &file.hunks),
        Side::Deleted => Ok(FileChange::Delete {
            path: target,
            hunks: file.hunks,
        }),
        Side::Both => {
            let move_to = names.moved.as_deref().map(parse).transpose()?;
            Ok(FileChange::Update {
                path: target,
                move_to,
                copy: header.copy.1.is_some(),
                overwrite: false,
                mode: header.new_mode,
                hunks: file.hunks,
            })
        }
    }
}

/// On which side of the diff the file is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Added,
    Deleted,
    Both,
}

fn side(header: &Header<'_>, hunks: &[Hunk]) -> Side {
    let all = |test: fn(&HunkLine) -> bool| hunks.iter().flat_map(|hunk| &hunk.lines).all(test);
    let is_missing = |name: &Option<HeaderName>, is_other_side: fn(&HunkLine) -> bool| {
        let name = name.as_ref();
        name.is_some_and(|name| name.is_null() || (name.is_absent && all(is_other_side)))
    };
    if header.added || is_missing(&header.old, |line| line.before().is_none()) {
        Side::Added
    } else if header.deleted || is_missing(&header.new, |line| line.after().is_none()) {
        Side::Deleted
    } else {
        Side::Both
    }
}

fn added(path: RelPath, mode: Option<u32>, hunks: &[Hunk]) -> Result<FileChange, BlockTrouble> {
    let mut content = String::new();
    for line in hunks.iter().flat_map(|hunk| &hunk.lines) {
        match line {
            HunkLine::Add(text) => content.push_str(text),
            // An empty line that lost its mark.
            HunkLine::Keep(text) if text.is_empty() => {}
            _ => {
                return Err(BlockTrouble::new(
                    format!(
                        "the patch makes the new file `{path}` and has a line without `+` in it"
                    ),
                    "begin every line of a new file with `+`",
                ));
            }
        }
        content.push('\n');
    }
    if hunks.last().is_some_and(|hunk| hunk.new_without_newline) {
        content.pop();
    }
    Ok(FileChange::Add {
        path,
        content,
        mode,
        overwrite: false,
    })
}

/// The names of a file, prefixes taken off.
#[derive(Default)]
struct HeaderNames {
    file: Option<String>,
    /// Where it goes, if it moves or is copied.
    moved: Option<String>,
}

/// The first directories of the files that have two names.
fn first_directories(files: &[FileDiff<'_>]) -> FirstDirectories {
    let mut directories = FirstDirectories::default();
    for header in files.iter().map(|file| &file.header) {
        if let (Some(old), Some(new)) = (&header.old, &header.new)
            && !old.is_null()
            && !new.is_null()
        {
            directories.add(&old.text, &new.text);
        }
        if let Some(names) = header.git {
            directories.add_git(names);
        }
    }
    directories
}

fn names(header: &Header<'_>, directories: &FirstDirectories) -> Result<HeaderNames, BlockTrouble> {
    let from_lines = from_lines(header, directories)?;
    for moved in [&header.rename, &header.copy] {
        if let (Some(from), Some(to)) = moved {
            return Ok(HeaderNames {
                file: Some(from.clone()),
                moved: Some(to.clone()),
            });
        }
    }
    let Some(git) = header.git else {
        let index = || header.index.map(str::to_owned);
        return Ok(HeaderNames {
            file: from_lines.or_else(index),
            moved: None,
        });
    };
    let pair = name::git_pair(git);
    match (pair, from_lines) {
        (Some((old, new)), Some(file)) if file != old && file != new => Err(BlockTrouble::new(
            format!("the patch names two files, `{new}` and `{file}`, for one change"),
            "use the same path in `diff --git`, `---` and `+++`",
        )),
        (Some((old, new)), _) if old != new => Err(BlockTrouble::new(
            format!(
                "the patch turns `{old}` into `{new}` without `rename from` and `rename to` lines"
            ),
            "add both lines, or use `*** Move to:` in a `*** Begin Patch` envelope",
        )),
        (Some((old, _)), _) => Ok(HeaderNames {
            file: Some(old),
            moved: None,
        }),
        (None, file) => Ok(HeaderNames { file, moved: None }),
    }
}

/// The file that the lines `---` and `+++` name.
fn from_lines(
    header: &Header<'_>,
    directories: &FirstDirectories,
) -> Result<Option<String>, BlockTrouble> {
    let is_moved = header.rename.1.is_some() || header.copy.1.is_some();
    let (old, new) = match (&header.old, &header.new) {
        (None, None) => return Ok(None),
        (Some(only), None) | (None, Some(only)) => {
            return Ok(Some(directories.strip_single(&only.text).to_owned()));
        }
        (Some(old), Some(new)) => (old, new),
    };
    let file = match (old.is_null(), new.is_null()) {
        (true, true) => return Err(no_name()),
        (true, false) => directories.strip_single(&new.text),
        (false, true) => directories.strip_single(&old.text),
        (false, false) => {
            let (old, new) = name::strip_pair(&old.text, &new.text);
            match name::choose(old, new) {
                Some(file) => file,
                None if is_moved => old,
                None if header.git.is_some() => new,
                None => {
                    return Err(BlockTrouble::new(
                        format!("the patch names two files, `{old}` and `{new}`, for one change"),
                        "use the same path after `---` and `+++`, or `*** Move to:` in a `*** Begin Patch` envelope",
                    ));
                }
            }
        }
    };
    Ok(Some(file.to_owned()))
}

/// The path of the command wins over a short name in the diff, never over another file.
fn agreed(name: &str, path: &RelPath) -> Result<RelPath, BlockTrouble> {
    let parsed = parse(name)?;
    let is_below = path
        .as_str()
        .strip_suffix(parsed.as_str())
        .is_some_and(|rest| rest.ends_with('/'));
    let is_word = !name.contains(['/', '.']);
    if parsed == *path || is_below || is_word {
        Ok(path.clone())
    } else {
        Err(BlockTrouble::new(
            format!("the patch is for `{path}` and names `{parsed}`"),
            "leave the path of the command away, or use the same one in the patch",
        ))
    }
}

fn parse(name: &str) -> Result<RelPath, BlockTrouble> {
    workspace_root::path(name).map_err(|problem| changes::refused(&problem))
}

fn no_name() -> BlockTrouble {
    BlockTrouble::new(
        "the patch does not say which file it changes",
        "write `--- a/path` and `+++ b/path` above the first `@@` line",
    )
}
