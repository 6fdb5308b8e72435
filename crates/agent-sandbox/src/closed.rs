//! Finds system files that are not readable by everyone.
//!
//! An ordinary user's commands cannot read them, and neither can root's if they run as an
//! unprivileged user. If they must run as root, each of these files is masked, whatever its name:
//! keys and passwords of services are files that only root may read.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Directories with files that are specific to a machine. The rest of `/usr` comes from packages,
/// is the same for everyone, and is far too large to search.
const PLACES: [&str; 3] = ["/etc", "/opt", "/usr/local"];

/// Limit on the names to look at: a few tenths of a second.
const MAX_NAMES: usize = 100_000;

/// Files and directories that others may not read, and those that could not be searched. The search
/// runs once per process.
pub(super) fn to_others() -> &'static [PathBuf] {
    static FOUND: OnceLock<Vec<PathBuf>> = OnceLock::new();
    FOUND.get_or_init(|| {
        let mut search = ClosedFileSearch::allowing(MAX_NAMES);
        for place in PLACES {
            search.directory(Path::new(place));
        }
        search.files_of_kernel(Path::new("/proc"));
        search.found
    })
}

struct ClosedFileSearch {
    found: Vec<PathBuf>,
    names_left: usize,
}

impl ClosedFileSearch {
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

    /// Files of `/proc` about the machine, outside the process directories.
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
            let mut search = ClosedFileSearch::allowing(names);
            search.directory(place.path());
            search.found.sort();
            search.found
        };
        assert_eq!(found(99), ["a/deep", "a/key", "a/shared", "b"].map(at));
        assert_eq!(found(0), ["a", "b"].map(at));
    }
}
