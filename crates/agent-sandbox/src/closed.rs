//! Files of the system that are not for everyone.
//!
//! A command of an ordinary user cannot read them, and one of root's cannot where it is run as a user
//! without any power. Where it is run as root after all, each of them is masked, whatever it is
//! called: keys and passwords of services are files that only root may read.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Where a machine keeps what is its own. The rest of `/usr` comes with packages, the same for
/// everyone, and is far too much to look through.
const PLACES: [&str; 3] = ["/etc", "/opt", "/usr/local"];

/// The most names that are looked at: some tenths of a second.
const MAX_NAMES: usize = 100_000;

/// Files and directories that others may not read, and what could not be looked through; searched
/// for once in the life of this process.
pub(super) fn to_others() -> &'static [PathBuf] {
    static FOUND: OnceLock<Vec<PathBuf>> = OnceLock::new();
    FOUND.get_or_init(|| {
        let mut search = Search::allowing(MAX_NAMES);
        for place in PLACES {
            search.directory(Path::new(place));
        }
        search.files_of_kernel(Path::new("/proc"));
        search.found
    })
}

struct Search {
    found: Vec<PathBuf>,
    names_left: usize,
}

impl Search {
    fn allowing(names: usize) -> Self {
        Self {
            found: Vec::new(),
            names_left: names,
        }
    }

    fn directory(&mut self, directory: &Path) {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            let path = entry.path();
            let Ok(found) = entry.metadata() else {
                continue;
            };
            if found.is_symlink() {
                continue;
            }
            if self.names_left == 0 || is_closed(&found) {
                self.found.push(path);
                continue;
            }
            self.names_left -= 1;
            if found.is_dir() {
                self.directory(&path);
            }
        }
    }

    /// What `/proc` tells about the machine, which is not in the directories of processes.
    fn files_of_kernel(&mut self, proc: &Path) {
        for entry in fs::read_dir(proc).into_iter().flatten().flatten() {
            let is_closed = entry
                .metadata()
                .is_ok_and(|found| found.is_file() && is_closed(&found));
            if is_closed {
                self.found.push(entry.path());
            }
        }
    }
}

fn is_closed(found: &fs::Metadata) -> bool {
    const READ: u32 = 0o004;
    const READ_AND_ENTER: u32 = 0o005;
    let needed = if found.is_dir() { READ_AND_ENTER } else { READ };
    found.permissions().mode() & needed != needed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_for_everyone_is_found_by_its_permissions() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        for (name, mode) in [("a", 0o755), ("b", 0o750), ("a/deep", 0o711)] {
            fs::create_dir(at(name)).unwrap();
            fs::set_permissions(at(name), fs::Permissions::from_mode(mode)).unwrap();
        }
        for (name, mode) in [
            ("a/open", 0o644),
            ("a/key", 0o600),
            ("a/shared", 0o640),
            ("b/inside", 0o600),
        ] {
            fs::File::create(at(name)).unwrap();
            fs::set_permissions(at(name), fs::Permissions::from_mode(mode)).unwrap();
        }
        std::os::unix::fs::symlink(at("a/open"), at("link")).unwrap();
        let found = |names: usize| {
            let mut search = Search::allowing(names);
            search.directory(place.path());
            search.found.sort();
            search.found
        };
        assert_eq!(found(99), ["a/deep", "a/key", "a/shared", "b"].map(at));
        assert_eq!(found(0), ["a", "b"].map(at));
    }
}
