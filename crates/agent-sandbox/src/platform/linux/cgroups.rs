//! A control group that limits the number of processes in it.
//!
//! Root is exempt from the per-user process limit, so its commands are counted by a control group
//! where root can create one. Supports both versions of control groups.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Prefix of a group's name; the ID of the process that created it follows.
const NAME: &str = "agent-";

/// A group that this process has entered. Dropping it leaves and removes the group.
#[derive(Debug)]
pub struct ProcessGroup {
    path: PathBuf,
    /// The group that the process came from.
    origin: PathBuf,
}

impl ProcessGroup {
    /// Creates a group with this limit on processes and threads, and enters it.
    pub fn enter(limit: u64) -> io::Result<Self> {
        let groups = fs::read_to_string("/proc/self/cgroup")?;
        let mounts = fs::read_to_string("/proc/self/mountinfo")?;
        let own = Own::find(&groups, &mounts).ok_or(io::ErrorKind::Unsupported)?;
        let above = own.place_for_children()?;
        remove_abandoned(&above);
        let path = above.join(format!("{NAME}{}", std::process::id()));
        fs::create_dir(&path)?;
        let group = Self {
            path,
            origin: own.path,
        };
        put(&group.path, "pids.max", &limit.to_string())?;
        put(&group.path, "cgroup.procs", "0")?;
        Ok(group)
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        // If the group cannot be left, the next process that creates one removes it.
        let _ = put(&self.origin, "cgroup.procs", "0");
        let _ = fs::remove_dir(&self.path);
    }
}

/// The group of this process that can limit the number of processes.
#[derive(Debug, PartialEq, Eq)]
struct Own {
    path: PathBuf,
    /// Mount point of the group hierarchy.
    top: PathBuf,
    is_unified: bool,
}

impl Own {
    /// Finds it from the content of `cgroup` and `mountinfo` in `/proc`.
    fn find(groups: &str, mounts: &str) -> Option<Self> {
        let of_line = |line: &str| {
            let mut parts = line.splitn(3, ':').skip(1);
            let controllers = parts.next()?.to_owned();
            Some((controllers, parts.next()?.to_owned()))
        };
        let groups: Vec<(String, String)> = groups.lines().filter_map(of_line).collect();
        let counts = |list: &str| list.split(',').any(|name| name == "pids");
        // If both versions are mounted, the old one has the controller.
        let (controllers, group) = groups
            .iter()
            .find(|(controllers, _)| counts(controllers))
            .or_else(|| {
                groups
                    .iter()
                    .find(|(controllers, _)| controllers.is_empty())
            })?;
        let is_unified = controllers.is_empty();
        mounts.lines().find_map(|line| {
            let (before, after) = line.split_once(" - ")?;
            let mut after = after.split(' ');
            let (kind, options) = (after.next()?, after.nth(1)?);
            let is_it = if is_unified {
                kind == "cgroup2"
            } else {
                kind == "cgroup" && counts(options)
            };
            let mut before = before.split(' ').skip(3);
            let (root, top) = (before.next()?, PathBuf::from(before.next()?));
            let inside = Path::new(group).strip_prefix(root).ok()?;
            is_it.then(|| Self {
                path: top.join(inside),
                top,
                is_unified,
            })
        })
    }

    /// The nearest group whose children can have a limit.
    fn place_for_children(&self) -> io::Result<PathBuf> {
        if !self.is_unified {
            return Ok(self.path.clone());
        }
        let is_delegated = |group: &Path| {
            fs::read_to_string(group.join("cgroup.subtree_control"))
                .is_ok_and(|list| list.split_whitespace().any(|name| name == "pids"))
        };
        let mut above = self.path.ancestors();
        above
            .by_ref()
            .take_while(|group| group.starts_with(&self.top))
            .find(|group| is_delegated(group))
            .map(Path::to_owned)
            .ok_or_else(|| io::ErrorKind::Unsupported.into())
    }
}

/// Removes the groups of killed processes.
fn remove_abandoned(above: &Path) {
    for entry in fs::read_dir(above).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix(NAME));
        if number.is_some_and(|number| !Path::new("/proc").join(number).exists()) {
            // A group that still has members stays.
            let _ = fs::remove_dir(entry.path());
        }
    }
}

fn put(group: &Path, name: &str, text: &str) -> io::Result<()> {
    use std::io::Write;
    let mut file = fs::File::options().write(true).open(group.join(name))?;
    file.write_all(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn case(groups: &str, mounts: &str, expected: Option<(&str, bool)>) {
        let found = Own::find(groups, mounts);
        let found = found.as_ref();
        let found = found.map(|own| (own.path.to_str().unwrap(), own.is_unified));
        assert_eq!(found, expected);
    }

    const OLD: &str = "35 25 0:30 / /sys/fs/cgroup/pids rw,relatime - cgroup cgroup rw,pids";
    const NEW: &str = "36 25 0:31 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate";
    const BOUND: &str = "37 25 0:31 /box/7 /sys/fs/cgroup rw - cgroup2 cgroup2 rw";

    #[test]
    fn the_own_group_is_found_in_both_versions() {
        case(
            "8:pids:/a/b\n0::/",
            OLD,
            Some(("/sys/fs/cgroup/pids/a/b", false)),
        );
        case(
            "0::/user.slice/x",
            NEW,
            Some(("/sys/fs/cgroup/user.slice/x", true)),
        );
        case("0::/box/7/in", BOUND, Some(("/sys/fs/cgroup/in", true)));
        case("0::/elsewhere", BOUND, None);
        case("4:memory:/m", OLD, None);
        case("", "", None);
    }
}
