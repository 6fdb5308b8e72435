//! Finds files among installed tools that are meant only for their owner.
//!
//! Tools keep tokens and keys beside what they installed, under names that nobody can list. What
//! these files have in common is that others may not read them, which is unusual there: so the mode
//! decides. Files that may contain a credential, and are often readable by all, are known by name
//! and hidden if they do contain one.
//!
//! Downloaded packages are not searched: they are public, and there are very many.

use std::ffi::OsStr;
use std::fs::{self, DirEntry, Metadata};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::toolbox::Stamp;

/// Maximum depth below the directory of a tool.
const MAX_DEPTH: usize = 6;

/// Limit on the names to look at below the directory of a tool: a few milliseconds.
const MAX_NAMES: usize = 4000;

/// Directories of packages, sources and documentation.
const PACKAGES: &[&str] = &[
    "node_modules",
    "site-packages",
    "dist-packages",
    "registry",
    "repository",
    "packages",
    "plugins",
    "pkg",
    "pkgs",
    "gems",
    "git",
    "cache",
    "store",
    "lib",
    "lib64",
    "libexec",
    "share",
    "include",
    "sources",
    "src",
    "doc",
    "docs",
    "man",
    "test",
    "tests",
    ".git",
];

/// Configuration files that may contain a credential.
const CONFIGURATION: &[&str] = &[
    "npmrc",
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    "condarc",
    ".condarc",
    "pip.conf",
    ".pypirc",
    "uv.toml",
    "auth.json",
    "NuGet.Config",
];

/// Words of which one appears beside most credentials; the last is for conda channels.
const TELLING: &[&str] = &[
    "token", "password", "secret", "_auth", "api_key", "apikey", "/t/",
];

/// Finds the paths to hide in the directory of a tool, which itself is visible.
pub(super) fn beneath(tool: &Path) -> PrivateFileSearch {
    let mut search = PrivateFileSearch {
        names: 0,
        modes_tell: *MODES_TELL.get_or_init(modes_tell),
        private: Vec::new(),
        read: Vec::new(),
    };
    if !is_packages(tool.file_name()) {
        search.look_into(tool, 0);
    }
    search
}

static MODES_TELL: OnceLock<bool> = OnceLock::new();

/// True if the modes of files are meaningful: not if the person's umask makes every file private.
fn modes_tell() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status
        .lines()
        .find_map(|line| line.strip_prefix("Umask:"))
        .and_then(|mask| u32::from_str_radix(mask.trim(), 8).ok());
    mask.is_none_or(|mask| mask & FOR_OTHERS != FOR_OTHERS)
}

/// Read permission for group and others.
const FOR_OTHERS: u32 = 0o044;
const TO_EXECUTE: u32 = 0o111;

/// A search for private files, and afterwards its results.
pub(super) struct PrivateFileSearch {
    names: usize,
    modes_tell: bool,
    /// The files and directories to hide.
    pub(super) private: Vec<PathBuf>,
    /// The directories and configuration files that were read, as they were just before.
    pub(super) read: Vec<(PathBuf, Option<Stamp>)>,
}

impl PrivateFileSearch {
    fn look_into(&mut self, directory: &Path, depth: usize) {
        self.read.push(Stamp::with(directory.to_owned()));
        let Ok(entries) = fs::read_dir(directory) else {
            return;
        };
        let mut further = Vec::new();
        for entry in entries.flatten() {
            self.names += 1;
            if self.names > MAX_NAMES {
                return;
            }
            let Ok(kind) = entry.file_type() else {
                continue;
            };
            if kind.is_dir() && depth < MAX_DEPTH && !is_packages(Some(&entry.file_name())) {
                further.push(entry);
            } else if kind.is_file() && self.is_private(&entry) {
                self.private.push(entry.path());
            }
        }
        for entry in further {
            if self.modes_tell && is_private_directory(&entry) {
                self.read.push(Stamp::with(entry.path()));
                self.private.push(entry.path());
            } else {
                self.look_into(&entry.path(), depth + 1);
            }
        }
    }

    fn is_private(&mut self, entry: &DirEntry) -> bool {
        let name = entry.file_name();
        let is_configuration = CONFIGURATION.iter().any(|known| name == *known);
        if is_configuration {
            self.read.push(Stamp::with(entry.path()));
        }
        let is_closed = || entry.metadata().is_ok_and(|found| is_closed_file(&found));
        self.modes_tell && is_closed() || is_configuration && holds_credential(&entry.path())
    }
}

fn is_packages(name: Option<&OsStr>) -> bool {
    name.is_some_and(|name| PACKAGES.iter().any(|known| name == *known))
}

/// True if only the owner can read it, and it is not a program.
fn is_closed_file(found: &Metadata) -> bool {
    let mode = found.permissions().mode();
    mode & FOR_OTHERS == 0 && mode & TO_EXECUTE == 0
}

/// True if only the owner can enter it, and it contains nothing but files that are not programs.
/// Tools are installed into private directories too, but never into such.
fn is_private_directory(entry: &DirEntry) -> bool {
    let is_closed = entry
        .metadata()
        .is_ok_and(|found| found.permissions().mode() & (FOR_OTHERS | 0o011) == 0);
    if !is_closed {
        return false;
    }
    let Ok(entries) = fs::read_dir(entry.path()) else {
        return false;
    };
    let mut entries = entries.flatten().peekable();
    entries.peek().is_some()
        && entries.all(|entry| {
            entry
                .metadata()
                .is_ok_and(|found| found.is_file() && found.permissions().mode() & TO_EXECUTE == 0)
        })
}

/// True if a file seems to contain a credential, or if that cannot be ruled out.
fn holds_credential(path: &Path) -> bool {
    let Ok(text) = fs::read_to_string(path) else {
        return true;
    };
    let text = text.to_ascii_lowercase();
    TELLING.iter().any(|word| text.contains(word)) || text.contains("://") && text.contains('@')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(files: &[(&str, u32, &str)]) -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        for (name, mode, text) in files {
            let path = directory.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            agent_files::fs::write_atomic(
                &path,
                text.as_bytes(),
                agent_files::fs::Durability::Atomic,
            )
            .unwrap();
            fs::set_permissions(path, fs::Permissions::from_mode(*mode)).unwrap();
        }
        directory
    }

    #[track_caller]
    fn hides(tool: &tempfile::TempDir, expected: &[&str]) {
        let mut search = PrivateFileSearch {
            names: 0,
            modes_tell: true,
            private: Vec::new(),
            read: Vec::new(),
        };
        search.look_into(tool.path(), 0);
        let mut hidden: Vec<_> = search
            .private
            .iter()
            .map(|path| path.strip_prefix(tool.path()).unwrap().to_str().unwrap())
            .collect();
        hidden.sort_unstable();
        assert_eq!(hidden, expected);
    }

    #[test]
    fn what_only_its_owner_reads_is_hidden_unless_it_is_a_program() {
        let tool = tool(&[
            ("credentials/x.toml", 0o600, ""),
            ("deep/a/b/c/key", 0o400, ""),
            ("bin/tool", 0o700, ""),
            ("readme", 0o644, ""),
            ("for-the-group", 0o640, ""),
            ("lib/module", 0o600, ""),
        ]);
        hides(&tool, &["credentials/x.toml", "deep/a/b/c/key"]);
    }

    #[test]
    fn a_closed_directory_of_plain_files_is_hidden_as_a_whole() {
        let tool = tool(&[
            ("keys/a", 0o644, ""),
            ("keys/b", 0o644, ""),
            ("tool/bin/x", 0o755, ""),
            ("tool/settings", 0o644, ""),
            ("scripts/x", 0o755, ""),
        ]);
        for closed in ["keys", "tool", "scripts"] {
            let path = tool.path().join(closed);
            fs::set_permissions(path, fs::Permissions::from_mode(0o700)).unwrap();
        }
        hides(&tool, &["keys"]);
    }

    #[test]
    fn configuration_is_hidden_where_a_credential_stands_in_it() {
        let tool = tool(&[
            ("versions/1/etc/npmrc", 0o644, "//host/:_authToken=x"),
            ("versions/2/etc/npmrc", 0o644, "prefix=/opt"),
            ("pip.conf", 0o644, "index-url = https://me:pw@host/"),
            (".condarc", 0o644, "channels: [conda-forge]"),
            ("other", 0o644, "token"),
        ]);
        hides(&tool, &["pip.conf", "versions/1/etc/npmrc"]);
    }

    #[test]
    fn no_more_is_looked_at_than_takes_no_time() {
        let directory = tempfile::tempdir().unwrap();
        for number in 0..MAX_NAMES + 10 {
            fs::File::create(directory.path().join(number.to_string())).unwrap();
        }
        let mut search = PrivateFileSearch {
            names: 0,
            modes_tell: true,
            private: Vec::new(),
            read: Vec::new(),
        };
        search.look_into(directory.path(), 0);
        assert_eq!(search.names, MAX_NAMES + 1);
    }
}
