//! Where the directories of the settings really are.
//!
//! Every path here is absolute, free of `.` and `..`, and of links as far as it exists. A directory
//! that a project chose stays in the base directory, unless its file is trusted; a link must not
//! lead it out behind our back, nor onto another of them.

use std::path::{Path, PathBuf};

use super::Settings;
use super::base::Base;
use super::keys::Key;
use super::origin::Origin;
use super::suggestion::quoted;
use crate::error::{Error, Result};
use crate::fs::resolve_dots;

/// The directories in use, absolute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paths {
    /// The files that the model works on.
    pub workspace: PathBuf,
    /// Where replies arrive.
    pub inbox: PathBuf,
    /// Where messages to paste appear.
    pub outbox: PathBuf,
    /// Where our own records are.
    pub sessions: PathBuf,
    /// The settings file, if there is one: by its name, and what it is a link to.
    pub settings_files: Vec<PathBuf>,
}

impl Paths {
    /// Places the directories of the settings and refuses what does not go together.
    pub(super) fn place(
        base: &Base,
        settings: &Settings,
        origin: impl Fn(&str) -> Origin,
    ) -> Result<Self> {
        let place = |directory: &Path| resolve_dots(&base.directory.join(directory));
        let mut settings_files: Vec<PathBuf> = base.settings_file.iter().cloned().collect();
        let real = settings_files.first().map(|file| resolved(file));
        settings_files.extend(real.filter(|real| !settings_files.contains(real)));
        let named = Self {
            workspace: place(&settings.workspace_dir),
            inbox: place(&settings.inbox_dir),
            outbox: place(&settings.outbox_dir),
            sessions: place(&settings.sessions_dir),
            settings_files,
        };
        // What is hidden and protected later is what is used, not another name of it.
        let placed = Self {
            workspace: resolved(&named.workspace),
            inbox: resolved(&named.inbox),
            outbox: resolved(&named.outbox),
            sessions: resolved(&named.sessions),
            settings_files: named.settings_files.clone(),
        };
        placed.refuse_links_out(&named, base, origin)?;
        placed.refuse_overlaps()?;
        Ok(placed)
    }

    /// The directories that belong to `agent` and not to the model.
    pub fn directories(&self) -> [&Path; 3] {
        [&self.inbox, &self.outbox, &self.sessions]
    }

    /// All that belongs to `agent` and not to the model.
    pub fn own(&self) -> impl Iterator<Item = &Path> {
        let files = self.settings_files.iter().map(PathBuf::as_path);
        self.directories().into_iter().chain(files)
    }

    fn named(&self) -> [(&'static str, &Path); 4] {
        [
            ("WorkspaceDir", &self.workspace),
            ("InboxDir", &self.inbox),
            ("OutboxDir", &self.outbox),
            ("SessionsDir", &self.sessions),
        ]
    }

    /// Refuses two settings that name the same place, and a workspace amid our own records.
    fn refuse_overlaps(&self) -> Result<()> {
        let named = self.named();
        for (index, (one, place)) in named.iter().enumerate() {
            for (other, other_place) in &named[index + 1..] {
                if place == other_place {
                    return Err(Error::mendable(format!(
                        "`{one}` and `{other}` are both `{}`",
                        place.display()
                    ))
                    .hint(format!("give `{other}` a directory of its own")));
                }
            }
        }
        for (name, place) in &named[1..] {
            if self.workspace.starts_with(place) {
                return Err(Error::mendable(format!(
                    "`WorkspaceDir` is inside `{name}`, `{}`",
                    place.display()
                ))
                .hint("keep what the model works on apart from the records of `agent`"));
            }
        }
        Ok(())
    }

    /// Refuses a directory in the base that is a link to somewhere else, unless the person named
    /// it: trust in a file says nothing about a link that came with the project.
    fn refuse_links_out(
        &self,
        as_named: &Self,
        base: &Base,
        origin: impl Fn(&str) -> Origin,
    ) -> Result<()> {
        let inside = resolved(&base.directory);
        for ((name, place), (_, target)) in as_named.named().into_iter().zip(self.named()) {
            let came_with_the_project = matches!(origin(name), Origin::Default | Origin::File(_));
            if !came_with_the_project || !place.starts_with(&base.directory) {
                continue;
            }
            if !target.starts_with(&inside) {
                let flag = Key::named(name).map_or("--base", |key| key.flag);
                return Err(Error::mendable(format!(
                    "`{}` (`{name}`) is a link that leads out of `{}`, to `{}`",
                    place.display(),
                    base.directory.display(),
                    target.display()
                ))
                .hint(format!(
                    "if you want that, say so: `{flag} {}`",
                    quoted(target)
                )));
            }
        }
        Ok(())
    }
}

/// Where a directory that is named from the base directory really is.
pub fn placed(base: &Path, directory: &str) -> PathBuf {
    resolved(&resolve_dots(&base.join(directory)))
}

/// Returns true if a directory of the settings lies outside of the base directory.
pub(super) fn leads_out(base: &Path, directory: &str) -> bool {
    !resolve_dots(&base.join(directory)).starts_with(base)
}

/// The place after all links, as far as it exists.
pub fn resolved(place: &Path) -> PathBuf {
    for ancestor in place.ancestors() {
        if let Ok(real) = crate::fs::canonical(ancestor) {
            let mut resolved = without_verbatim_prefix(real);
            // Nothing is joined where nothing is left: a slash at the end would follow a link.
            resolved.extend(place.strip_prefix(ancestor).into_iter().flatten());
            return resolved;
        }
    }
    place.to_owned()
}

/// Turns `\\?\C:\x`, as Windows resolves paths, into `C:\x`, which its programs understand.
pub(super) fn without_verbatim_prefix(path: PathBuf) -> PathBuf {
    let is_drive = |rest: &str| rest.as_bytes().get(1) == Some(&b':');
    match path.to_str().and_then(|text| text.strip_prefix(r"\\?\")) {
        Some(rest) if is_drive(rest) => PathBuf::from(rest),
        _ => path,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_inside_from_outside() {
        let base = Path::new("/base");
        for inside in ["workspace", ".", "a/../b", "/base/x", "a/b/../.."] {
            assert!(!leads_out(base, inside), "{inside}");
        }
        for outside in ["..", "/", "/base2", "a/../..", "../base2", "/base/../x"] {
            assert!(leads_out(base, outside), "{outside}");
        }
    }

    #[test]
    fn the_prefix_of_windows_is_dropped_where_it_may_be() {
        let case = |path: &str, expected: &str| {
            assert_eq!(
                without_verbatim_prefix(PathBuf::from(path)),
                PathBuf::from(expected)
            );
        };
        case(r"\\?\C:\x", r"C:\x");
        case(r"\\?\UNC\server\share", r"\\?\UNC\server\share");
        case("/x", "/x");
    }
}
