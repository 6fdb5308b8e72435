//! The person's tools as commands see them, remembered from one command to the next.
//!
//! Looking through all tools takes as long as the rest of a sandbox. So the result is kept while
//! every directory and configuration file that was read is unchanged. A file in one of them that
//! becomes private by a change of its mode alone is noticed by the next process.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::{Confinement, private_files, tools};

/// The tools that commands see.
#[derive(Debug)]
pub(super) struct Toolbox {
    /// Visible read-only.
    pub(super) shown: Vec<PathBuf>,
    /// Hidden inside of what is visible.
    pub(super) private: Vec<PathBuf>,
    question: ToolboxKey,
    read: Vec<(PathBuf, Option<Stamp>)>,
}

/// Everything that the answer depends on, except for files.
#[derive(Debug, PartialEq, Eq)]
struct ToolboxKey {
    home: PathBuf,
    workspace: PathBuf,
    programs: Vec<PathBuf>,
    cache: Option<PathBuf>,
    extra_write: Vec<PathBuf>,
    hidden: Vec<PathBuf>,
    system: Vec<PathBuf>,
}

/// The state of a path; differs after a change.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    device: u64,
    inode: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    /// The path with its stamp, which is `None` if nothing is there.
    pub(super) fn with(path: PathBuf) -> (PathBuf, Option<Self>) {
        let stamp = Self::of(&path);
        (path, stamp)
    }

    fn of(path: &Path) -> Option<Self> {
        let found = fs::metadata(path).ok()?;
        Some(Self {
            device: found.dev(),
            inode: found.ino(),
            modified: (found.mtime(), found.mtime_nsec()),
            changed: (found.ctime(), found.ctime_nsec()),
        })
    }
}

/// Remembers the last toolbox.
struct ToolboxMemory(Mutex<Option<Arc<Toolbox>>>);

static LAST: ToolboxMemory = ToolboxMemory(Mutex::new(None));

/// The tools for this confinement. `system` is visible anyway.
pub(super) fn of(confinement: &Confinement, system: &[PathBuf]) -> Arc<Toolbox> {
    LAST.toolbox(confinement, system)
}

impl ToolboxMemory {
    fn toolbox(&self, confinement: &Confinement, system: &[PathBuf]) -> Arc<Toolbox> {
        let question = ToolboxKey {
            home: confinement.home.clone(),
            workspace: confinement.workspace.clone(),
            programs: confinement.programs.clone(),
            cache: confinement.cache.clone(),
            extra_write: confinement.extra_write.clone(),
            hidden: confinement.hidden.clone(),
            system: system.to_owned(),
        };
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(toolbox) = &*last
            && toolbox.question == question
            && toolbox.is_unchanged()
        {
            return Arc::clone(toolbox);
        }
        let toolbox = Arc::new(Toolbox::look_for(question, confinement));
        *last = Some(Arc::clone(&toolbox));
        toolbox
    }
}

impl Toolbox {
    fn look_for(question: ToolboxKey, confinement: &Confinement) -> Self {
        let mut read: Vec<_> = tools::decisive(confinement).map(Stamp::with).collect();
        let shown = tools::shown(confinement, &question.system);
        let mut private = Vec::new();
        for path in &shown {
            let found = private_files::beneath(path);
            private.extend(found.private);
            read.extend(found.read);
        }
        Self {
            shown,
            private,
            question,
            read,
        }
    }

    fn is_unchanged(&self) -> bool {
        let mut read = self.read.iter();
        read.all(|(path, stamp)| Stamp::of(path) == *stamp)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn write(path: &Path, text: &str, mode: u32) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::File::create(path)
            .and_then(|mut file| std::io::Write::write_all(&mut file, text.as_bytes()))
            .unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn a_change_among_the_tools_is_noticed_and_nothing_else_is_read_again() {
        let directory = tempfile::tempdir().unwrap();
        let home = directory.path().join("home");
        let npmrc = home.join(".nvm/etc/npmrc");
        write(&home.join(".nvm/bin/node"), "", 0o755);
        write(&npmrc, "color=true\n", 0o644);
        // Clocks of file systems are coarse: a change right after the first look must show.
        for path in [&npmrc, &home.join(".nvm")] {
            let file = fs::File::open(path).unwrap();
            file.set_modified(std::time::UNIX_EPOCH).unwrap();
        }
        let mut confinement = Confinement::of_workspace(directory.path().join("work"));
        confinement.home = home.clone();
        confinement.programs = Vec::new();
        let memory = ToolboxMemory(Mutex::new(None));
        let toolbox = || memory.toolbox(&confinement, &[]);

        let first = toolbox();
        assert_eq!(first.shown, [home.join(".nvm")]);
        assert!(first.private.is_empty());
        assert!(Arc::ptr_eq(&first, &toolbox()));

        write(&npmrc, "_authToken=abc\n", 0o644);
        assert_eq!(toolbox().private, std::slice::from_ref(&npmrc));

        let token = home.join(".nvm/versions/login");
        write(&token, "abc", 0o600);
        let mut private = toolbox().private.clone();
        private.sort();
        assert_eq!(private, [npmrc, token]);

        write(&home.join(".pyenv/bin/python"), "", 0o755);
        assert!(toolbox().shown.contains(&home.join(".pyenv")));

        let other = Confinement {
            workspace: home.join(".pyenv"),
            ..confinement.clone()
        };
        assert!(
            !memory
                .toolbox(&other, &[])
                .shown
                .contains(&home.join(".pyenv"))
        );
    }
}
