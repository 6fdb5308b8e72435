//! Finds paths whose target a command can choose.
//!
//! A link outside the workspace that leads through the workspace leads wherever a command wants. To
//! mount its target would show the command any file of the person.

use std::fs;
use std::path::{Component, Path, PathBuf};

use super::Confinement;

/// Limit on the links of one path, as in the kernel.
const MAX_LINKS: usize = 40;

/// The directories that commands can change, and our own records, by their real paths.
pub(super) struct Changeable(Vec<PathBuf>);

impl Changeable {
    pub(super) fn of(confinement: &Confinement) -> Self {
        let directories = [&confinement.workspace]
            .into_iter()
            .chain(&confinement.cache)
            .chain(&confinement.extra_write)
            .chain(&confinement.hidden);
        Self(
            directories
                .filter_map(|path| agent_files::fs::canonical(path).ok())
                .collect(),
        )
    }

    /// True if a link on the way to the path is in one of these directories, or leads through one to
    /// somewhere else, or if the way cannot be followed.
    pub(super) fn decides_target_of(&self, path: &Path) -> bool {
        let mut links = 0;
        let mut real = PathBuf::from("/");
        let mut rest: Vec<PathBuf> = parts(path);
        // The first of them comes last.
        while let Some(part) = rest.pop() {
            if part == Path::new("..") {
                real.pop();
                continue;
            }
            let next = real.join(&part);
            let Ok(target) = fs::read_link(&next) else {
                real = next;
                continue;
            };
            links += 1;
            if links > MAX_LINKS || self.contains(&real) {
                return true;
            }
            if target.is_absolute() {
                real = PathBuf::from("/");
            }
            rest.extend(parts(&target));
        }
        // What is inside is visible anyway, unless the path outside is only a name for it: then
        // another directory can take its place.
        links > 0 && self.contains(&real)
    }

    fn contains(&self, path: &Path) -> bool {
        self.0.iter().any(|directory| path.starts_with(directory))
    }
}

/// The names in a path, the last one first.
fn parts(path: &Path) -> Vec<PathBuf> {
    let parts = path.components().rev().filter_map(|part| match part {
        Component::Normal(name) => Some(PathBuf::from(name)),
        Component::ParentDir => Some(PathBuf::from("..")),
        _ => None,
    });
    parts.collect()
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_link_through_the_workspace_leads_where_a_command_wants() {
        let directory = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(directory.path()).unwrap();
        let at = |path: &str| root.join(path);
        for path in ["work/bin", "home/bin", "home/tool/bin", "private"] {
            fs::create_dir_all(at(path)).unwrap();
        }
        for path in ["work/run", "home/tool/bin/node", "private/diary"] {
            fs::File::create(at(path)).unwrap();
        }
        symlink(at("work/run"), at("home/bin/run")).unwrap();
        symlink(at("work/moved"), at("home/bin/moved")).unwrap();
        symlink(at("private/diary"), at("work/moved")).unwrap();
        symlink("../../work/bin/../link/diary", at("home/bin/deep")).unwrap();
        symlink(at("private"), at("work/link")).unwrap();
        symlink("../tool/bin/node", at("home/bin/node")).unwrap();
        symlink(at("home/bin/loop"), at("home/bin/loop")).unwrap();
        let changeable = Changeable::of(&Confinement::of_workspace(at("work")));
        for (path, expected) in [
            ("home/bin/run", true),
            ("home/bin/moved", true),
            ("home/bin/deep", true),
            ("home/bin/loop", true),
            ("work/link/diary", true),
            ("home/bin/node", false),
            ("private/diary", false),
            ("work/run", false),
        ] {
            assert_eq!(changeable.decides_target_of(&at(path)), expected, "{path}");
        }
    }
}
