//! Files that a round left behind and that other programs would run, and links out of the
//! workspace.
//!
//! The person hears of them after the round. They are found in its checkpoints, without another
//! walk. Checkpoints do not cover git's own hooks, so those of the repositories that were passed
//! by, and of directories that the round created, are looked up separately. Nothing is prevented
//! here.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::time::SystemTime;

use super::{Agent, text_of};
use crate::checkpoint::{CheckpointStore, Node, Snapshot, SnapshotChange};
use crate::error::Result;
use crate::protocol::generated::is_ignored_output;
use crate::protocol::obeyed::{
    OTHER_CONFIGURATION, OTHER_CONFIGURATION_ENDS, TOOL_CONFIGURATION, WORKFLOWS,
};
use crate::protocol::{Bounded, Event, OutwardLink, RelPath};
use crate::repositories;

/// How many of a kind are told.
const TOLD: usize = 50;
/// In how many new directories a repository is looked for.
const MAX_DIRECTORIES: usize = 1_000;
/// Directories whose files hook managers run.
const HOOK_DIRECTORIES: [&str; 3] = [".husky", ".githooks", ".git-hooks"];

/// The hooks that git would run, with what tells a changed one from an old one.
pub(super) type Hooks = BTreeMap<PathBuf, (u64, Option<SystemTime>)>;

/// The hooks of the repository in the workspace and of those further down.
pub(super) fn hooks_of(workspace: &Path, repositories: &[PathBuf]) -> Hooks {
    let mut hooks = hooks_in(workspace);
    for directory in repositories {
        hooks.extend(hooks_in(&workspace.join(directory)));
    }
    hooks
}

/// The hooks of the repository in a directory; git's samples, and what was disabled, are none.
fn hooks_in(directory: &Path) -> Hooks {
    let entries = fs::read_dir(directory.join(".git/hooks"));
    let mut hooks = Hooks::new();
    for entry in entries.into_iter().flatten().flatten() {
        let is_idle = repositories::is_idle(&entry.file_name());
        if let (false, Ok(file)) = (is_idle, entry.metadata()) {
            hooks.insert(entry.path(), (file.len(), file.modified().ok()));
        }
    }
    hooks
}

/// The findings that the person should see, by kind.
#[derive(Debug, Default, PartialEq, Eq)]
struct Report {
    hooks: Vec<String>,
    obeyed: Vec<String>,
    executables: BTreeSet<String>,
    links: Vec<OutwardLink>,
}

impl Report {
    /// Sorts a change in; `target` is where a link leads.
    fn add(
        &mut self,
        workspace: &Path,
        linked_from_home: &[RelPath],
        change: &SnapshotChange,
        target: Option<&Path>,
    ) {
        let path = text_of(&change.path);
        let is_left = change.after.is_some_and(|node| !node.is_directory());
        let is_linked = |linked: &RelPath| change.path.starts_with(linked.as_str());
        if is_left && (is_obeyed(&change.path) || linked_from_home.iter().any(is_linked)) {
            self.obeyed.push(path.clone());
        }
        if let Some(target) = target {
            if leads_out(workspace, &change.path, target) {
                let target = text_of(target);
                self.links.push(OutwardLink { path, target });
            }
        } else if is_hook(&change.path) && change.after.is_some() {
            self.hooks.push(path);
        } else if is_executable(change.after) && !is_executable(change.before) {
            self.executables.insert(folded(path));
        }
    }

    fn event(self) -> Event {
        Event::LeftBehind {
            hooks: Bounded::new(TOLD, self.hooks),
            obeyed: Bounded::new(TOLD, self.obeyed),
            executables: Bounded::new(TOLD, self.executables),
            links: Bounded::new(TOLD, self.links),
        }
    }
}

/// A path in build output stands for its directory: a build makes hundreds of programs.
fn folded(path: String) -> String {
    let slashes = path.match_indices('/').map(|(at, _)| at);
    let mut directories = slashes.map(|at| &path[..at]);
    let is_output =
        |directory: &&str| is_ignored_output(directory.rsplit('/').next().unwrap_or(directory));
    match directories.find(is_output) {
        Some(directory) => format!("{directory}/"),
        None => path,
    }
}

fn is_executable(node: Option<Node>) -> bool {
    matches!(node, Some(Node::File { mode, .. }) if mode & 0o111 != 0)
}

/// Returns true for a file that a hook manager runs.
fn is_hook(path: &Path) -> bool {
    path.parent().is_some_and(|parent| {
        parent.components().any(|part| {
            HOOK_DIRECTORIES
                .iter()
                .any(|name| part.as_os_str() == *name)
        })
    })
}

/// Returns true for a file that tells an editor, a shell or a build service what to run.
fn is_obeyed(path: &Path) -> bool {
    let is_configuration = |name: &OsStr| {
        let mut names = TOOL_CONFIGURATION.iter().chain(&OTHER_CONFIGURATION);
        let name = name.to_ascii_lowercase();
        let ends_with = |end: &&str| name.as_encoded_bytes().ends_with(end.as_bytes());
        names.any(|other| name == *other) || OTHER_CONFIGURATION_ENDS.iter().any(ends_with)
    };
    path.iter().any(is_configuration) || WORKFLOWS.iter().any(|name| path.starts_with(name))
}

/// Returns true if a link's target leads out of the workspace, judging by the path alone. Links on
/// the way are reported themselves.
fn leads_out(workspace: &Path, link: &Path, target: &Path) -> bool {
    if target.is_absolute() {
        return !target.starts_with(workspace) || has_parent(target);
    }
    let mut depth = link.components().count() - 1;
    for part in target.components() {
        match part {
            Component::ParentDir if depth == 0 => return true,
            Component::ParentDir => depth -= 1,
            Component::Normal(_) => depth += 1,
            _ => {}
        }
    }
    false
}

fn has_parent(path: &Path) -> bool {
    path.components().any(|part| part == Component::ParentDir)
}

/// Reports what the round between two snapshots left behind that the person should know about
/// before they run anything.
///
/// `hooks` are those from before the round, where they are known.
pub(super) fn report(
    agent: &Agent,
    store: &mut CheckpointStore,
    repositories: &[PathBuf],
    [before, after]: [Snapshot; 2],
    hooks: Option<Hooks>,
) -> Result<Option<Event>> {
    let workspace = agent.workspace.path();
    let linked_from_home = &agent.manner.authorizer.policy.linked_from_home;
    let mut report = Report::default();
    let mut made = BTreeSet::new();
    for change in store.changes(&before, &after)? {
        let target = match &change.after {
            Some(link @ Node::Link { .. }) => store.content(link)?,
            _ => None,
        };
        let target = target.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let target = target.as_deref().map(Path::new);
        report.add(workspace, linked_from_home, &change, target);
        let is_directory = change.after.is_some_and(|node| node.is_directory());
        let directory = if is_directory {
            Some(change.path.as_path())
        } else {
            change.path.parent()
        };
        if let Some(directory) = directory
            && change.before.is_none()
            && made.len() < MAX_DIRECTORIES
            && directory != Path::new("")
        {
            made.insert(directory.to_owned());
        }
    }
    let mut found: Hooks = made
        .iter()
        .flat_map(|directory| hooks_in(&workspace.join(directory)))
        .collect();
    if let Some(known) = hooks {
        let own = hooks_of(workspace, repositories).into_iter();
        found.extend(own.filter(|(path, mark)| known.get(path) != Some(mark)));
    }
    let names = found.into_keys().map(|path| {
        let path = path.strip_prefix(workspace).unwrap_or(&path);
        text_of(path)
    });
    report.hooks.extend(names);
    Ok((report != Report::default()).then(|| report.event()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkpoint::ChangeKind;

    #[test]
    fn a_link_leads_out_by_its_words() {
        let case = |link: &str, target: &str| {
            leads_out(Path::new("/w"), Path::new(link), Path::new(target))
        };
        assert!(case("a", "/etc/passwd") && case("a", "../x") && case("a/b", "../../x"));
        assert!(case("a", "b/../../x") && case("a", "/w/../etc") && case("a", "/wide"));
        assert!(!case("a", "b") && !case("a/b", "../x") && !case("a", "/w/x"));
        assert!(!case("a/b/c", "../../x/./y"));
    }

    #[test]
    fn programs_in_build_output_are_told_as_their_directory() {
        let case = |path: &str| folded(path.to_owned());
        assert_eq!(case("run.sh"), "run.sh");
        assert_eq!(case("app/target/debug/build/x"), "app/target/");
        assert_eq!(case("node_modules/.bin/tsc"), "node_modules/");
        assert_eq!(case("targets/x"), "targets/x");
    }

    #[test]
    fn what_a_dotfile_of_the_home_leads_to_is_told() {
        let linked = [RelPath::parse("dot/bashrc").unwrap()];
        let told = |path: &str, linked: &[RelPath]| {
            let change = SnapshotChange {
                path: path.into(),
                kind: ChangeKind::Created,
                before: None,
                after: Some(Node::File {
                    content: blake3::hash(b""),
                    size: 0,
                    mode: 0o644,
                }),
            };
            let mut report = Report::default();
            report.add(Path::new("/w"), linked, &change, None);
            report.obeyed
        };
        assert_eq!(told("dot/bashrc", &linked), ["dot/bashrc"]);
        assert_eq!(told("dot/bashrc/x", &linked), ["dot/bashrc/x"]);
        assert!(told("dot/bashrc2", &linked).is_empty());
        assert!(told("dot/bashrc", &[]).is_empty());
    }

    #[test]
    fn what_tools_obey_is_known_anywhere_and_what_services_obey_at_the_top() {
        let case = |path: &str| is_obeyed(Path::new(path));
        assert!(case("sub/.vscode/tasks.json") && case(".envrc") && case("a/b/.ENVRC"));
        assert!(case(".github/workflows/ci.yml") && case("Jenkinsfile"));
        assert!(case("sub/.claude/settings.json") && case("x.Code-Workspace") && case(".zshenv"));
        assert!(!case("vscode/x") && !case("packages/x/Jenkinsfile") && !case(".github/x"));
    }
}
