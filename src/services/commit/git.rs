//! A git repository, as far as a commit needs it, with nothing of its own choosing being run.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::error::{Error, Result};
use crate::execute::git::{GIT_ISOLATION, filters_off, without_git_variables};
use crate::platform::programs;

/// Options of every call: nothing that a repository names is run, and `:name` is the name of a file.
const HARDENED: &[&str] = &[
    "--no-pager",
    "--literal-pathspecs",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.quotePath=false",
    "-c",
    "gc.auto=0",
    "-c",
    "maintenance.auto=false",
    "-c",
    "protocol.allow=never",
];

/// Variables for a git that commits, beside those of every git that we run.
const COMMITTING: [(&str, &str); 3] = [
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_EDITOR", "false"),
    ("LC_ALL", "C"),
];

/// The mode of an entry that is another repository.
const SUBMODULE: &str = "160000";

/// A file in a tree: its mode and the name of its object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TreeEntry {
    pub(super) mode: String,
    pub(super) id: String,
}

impl TreeEntry {
    pub(super) fn file(id: String, is_executable: bool) -> Self {
        let mode = if is_executable { "100755" } else { "100644" };
        Self {
            mode: mode.to_owned(),
            id,
        }
    }

    pub(super) fn link(id: String) -> Self {
        Self {
            mode: "120000".to_owned(),
            id,
        }
    }

    pub(super) fn is_submodule(&self) -> bool {
        self.mode == SUBMODULE
    }
}

/// The repository that a workspace belongs to.
#[derive(Debug)]
pub(in crate::services) struct GitRepository {
    git: PathBuf,
    root: PathBuf,
    /// The workspace from the root, with a slash at its end; empty if it is the root.
    prefix: String,
    /// The last commit; none in a new repository.
    head: Option<String>,
    /// Variables that switch filters off.
    filters_off: Vec<(String, String)>,
}

impl GitRepository {
    /// Finds the repository; a workspace without one cannot be committed.
    pub(in crate::services) fn around(workspace: &Path) -> Result<Self> {
        let none = || {
            Error::mendable(format!("`{}` is in no git repository", workspace.display()))
                .hint("`git init` makes one")
        };
        let workspace = crate::fs::canonical(workspace).map_err(|_| none())?;
        let mut above = workspace.ancestors();
        let root = above.find(|directory| directory.join(".git").exists());
        let root = root.ok_or_else(none)?.to_owned();
        let mut found = Self {
            git: root.join(".git"),
            prefix: match workspace.strip_prefix(&root) {
                Ok(below) if below.as_os_str().is_empty() => String::new(),
                Ok(below) => format!("{}/", with_slashes(&below.to_string_lossy())),
                Err(_) => return Err(none()),
            },
            root,
            head: None,
            filters_off: Vec::new(),
        };
        // This also makes sure that the repository belongs to the person.
        let directory = found.text_of(&["rev-parse", "--absolute-git-dir"])?;
        found.git = PathBuf::from(directory);
        found.filters_off = found.switch_filters_off()?;
        let head = found.output(
            &["rev-parse", "--verify", "--quiet", "HEAD^{commit}"],
            None,
            &[],
        )?;
        found.head = head
            .status
            .success()
            .then(|| String::from_utf8_lossy(&head.stdout).trim().to_owned());
        Ok(found)
    }

    /// Returns true if this names a commit.
    pub(super) fn has_commit(&self, revision: &str) -> Result<bool> {
        let commit = format!("{revision}^{{commit}}");
        let words = [
            "rev-parse",
            "--verify",
            "--quiet",
            "--end-of-options",
            &commit,
        ];
        Ok(self.output(&words, None, &[])?.status.success())
    }

    /// Refuses to commit in the middle of something else.
    pub(super) fn ensure_idle(&self) -> Result<()> {
        const UNDER_WAY: [(&str, &str); 5] = [
            ("MERGE_HEAD", "a merge"),
            ("CHERRY_PICK_HEAD", "a cherry-pick"),
            ("REVERT_HEAD", "a revert"),
            ("rebase-merge", "a rebase"),
            ("rebase-apply", "a rebase"),
        ];
        let found = UNDER_WAY
            .iter()
            .find(|(name, _)| self.git.join(name).exists());
        match found {
            Some((_, what)) => Err(Error::mendable(format!(
                "{what} is under way in this repository"
            ))
            .hint("finish it or abort it first")),
            None => Ok(()),
        }
    }

    /// A path of the workspace from the root of the repository; none for what git keeps for itself.
    pub(super) fn path_of(&self, path: &Path) -> Option<String> {
        let is_own = |part: &std::ffi::OsStr| part.eq_ignore_ascii_case(".git");
        if path.components().any(|part| is_own(part.as_os_str())) {
            return None;
        }
        Some(format!("{}{}", self.prefix, with_slashes(path.to_str()?)))
    }

    /// Those of these paths of the workspace that git ignores.
    pub(super) fn ignored(&self, paths: impl Iterator<Item = String>) -> Result<BTreeSet<String>> {
        let output = self.output(
            &["check-ignore", "-z", "--stdin"],
            Some(&self.listed(paths)),
            &[],
        )?;
        let found = String::from_utf8_lossy(&output.stdout).into_owned();
        let names = found.split_terminator('\0');
        Ok(names.filter_map(|name| self.in_workspace(name)).collect())
    }

    /// Those of these paths of the workspace that git stores through a filter, each with its name.
    pub(super) fn filtered(
        &self,
        paths: impl Iterator<Item = String>,
    ) -> Result<BTreeMap<String, String>> {
        let listed = self.listed(paths);
        let found = self.run(
            &["check-attr", "-z", "--stdin", "filter"],
            Some(&listed),
            &[],
        )?;
        let found = String::from_utf8_lossy(&found).into_owned();
        let fields: Vec<&str> = found.split_terminator('\0').collect();
        let filters = fields.chunks_exact(3).filter_map(|fields| match fields {
            [path, _, filter] if !matches!(*filter, "unspecified" | "unset") => {
                Some((self.in_workspace(path)?, (*filter).to_owned()))
            }
            _ => None,
        });
        Ok(filters.collect())
    }

    fn listed(&self, paths: impl Iterator<Item = String>) -> Vec<u8> {
        let mut bytes = Vec::new();
        for path in paths {
            bytes.extend_from_slice(format!("{}{path}\0", self.prefix).as_bytes());
        }
        bytes
    }

    fn in_workspace(&self, path: &str) -> Option<String> {
        path.strip_prefix(&self.prefix).map(str::to_owned)
    }

    /// Finds the entry of the last commit under a path.
    pub(super) fn head_entry(&self, path: &str) -> Result<Option<TreeEntry>> {
        let Some(head) = &self.head else {
            return Ok(None);
        };
        self.entry_of(head, path)
    }

    fn entry_of(&self, commit: &str, path: &str) -> Result<Option<TreeEntry>> {
        let found = self.run(
            &["ls-tree", "-z", "--full-tree", commit, "--", path],
            None,
            &[],
        )?;
        let found = String::from_utf8_lossy(&found).into_owned();
        let entry = found.split_terminator('\0').find_map(|line| {
            let (head, name) = line.split_once('\t')?;
            let mut words = head.split(' ');
            let (mode, kind, id) = (words.next()?, words.next()?, words.next()?);
            (name == path && kind != "tree").then(|| TreeEntry {
                mode: mode.to_owned(),
                id: id.to_owned(),
            })
        });
        Ok(entry)
    }

    /// The content of a path in the index.
    pub(super) fn staged(&self, path: &str) -> Result<Option<String>> {
        let found = self.run(&["ls-files", "-z", "--stage", "--", path], None, &[])?;
        let found = String::from_utf8_lossy(&found).into_owned();
        Ok(found.split_terminator('\0').find_map(|line| {
            let (entry, name) = line.split_once('\t')?;
            let id = entry.split(' ').nth(1)?;
            (name == path).then(|| id.to_owned())
        }))
    }

    /// Stores a content, converted as the attributes of that path of the workspace say, and names it.
    pub(super) fn store(&self, path: Option<&str>, content: &[u8]) -> Result<String> {
        let mut words = vec![
            "hash-object".to_owned(),
            "-w".to_owned(),
            "--stdin".to_owned(),
        ];
        match path {
            Some(path) => words.push(format!("--path={}{path}", self.prefix)),
            None => words.push("--no-filters".to_owned()),
        }
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let conversions = self.conversions();
        let made = self.run(&words, Some(content), &conversions)?;
        Ok(String::from_utf8_lossy(&made).trim().to_owned())
    }

    /// Lays the change between two contents over a third; nothing if they meet in the same lines.
    pub(super) fn merged(&self, ours: &str, before: &str, after: &str) -> Result<Option<String>> {
        let directory = crate::fs::temporary_directory("agent-commit-")?;
        let mut paths = Vec::new();
        for (name, id) in [("ours", ours), ("before", before), ("after", after)] {
            let content = self.run(&["cat-file", "blob", id], None, &[])?;
            let path = directory.path().join(name);
            crate::fs::write_atomic(&path, &content, crate::fs::Durability::Atomic)?;
            paths.push(path.to_string_lossy().into_owned());
        }
        let words = [
            "merge-file",
            "-p",
            "--quiet",
            &paths[0],
            &paths[1],
            &paths[2],
        ];
        let merged = self.output(&words, None, &[])?;
        if !merged.status.success() {
            return Ok(None);
        }
        let words = ["hash-object", "-w", "--stdin", "--no-filters"];
        let made = self.run(&words, Some(&merged.stdout), &[])?;
        Ok(Some(String::from_utf8_lossy(&made).trim().to_owned()))
    }

    /// The person's name and address: from the environment, else from their own git configuration.
    pub(super) fn identity(&self) -> Result<(String, String)> {
        let value = |variable: &str, key: &str| {
            let given = std::env::var(variable).ok();
            let given = given.filter(|value| !value.trim().is_empty());
            given.or_else(|| self.own_setting(key))
        };
        let name = value("GIT_AUTHOR_NAME", "user.name");
        let address = value("GIT_AUTHOR_EMAIL", "user.email");
        name.zip(address).ok_or_else(|| {
            Error::mendable("your own git configuration has no name and e-mail address; that of the repository is not read, because a command may have changed it")
                .hint("git config --global user.name \"Your Name\"")
                .hint("git config --global user.email you@example.com")
        })
    }

    /// A value of the person's own git configuration, whatever the repository says.
    fn own_setting(&self, key: &str) -> Option<String> {
        let mut command = programs::command("git").ok()?;
        without_git_variables(&mut command);
        command
            .args(["config", "--global", "--get", key])
            .current_dir(&self.root)
            .stdin(Stdio::null());
        let output = command.output().ok()?;
        let value = String::from_utf8(output.stdout).ok()?;
        let value = value.trim();
        (output.status.success() && !value.is_empty()).then(|| value.to_owned())
    }

    /// How the person wants line ends converted; without it, files would look changed.
    fn conversions(&self) -> Vec<(String, String)> {
        let keys = ["core.autocrlf", "core.eol"];
        let values = keys.iter().filter_map(|key| {
            let value = self.own_setting(key)?;
            Some(((*key).to_owned(), value))
        });
        values.collect()
    }

    /// Returns true if a commit is the last one, or one before it.
    pub(super) fn has_in_history(&self, commit: &str) -> bool {
        let is_name = commit.len() >= 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
        let Some(head) = self.head.as_ref().filter(|_| is_name) else {
            return false;
        };
        let words = ["merge-base", "--is-ancestor", commit, head];
        self.output(&words, None, &[])
            .is_ok_and(|output| output.status.success())
    }

    /// Makes a commit from objects: no hook and no filter runs.
    pub(super) fn commit(
        &self,
        entries: &BTreeMap<String, Option<TreeEntry>>,
        (name, address): &(String, String),
        message: &str,
    ) -> Result<String> {
        self.ensure_index_is_free()?;
        let directory = crate::fs::temporary_directory("agent-commit-")?;
        let index = self.index_with(entries, directory.path())?;
        let variables = [("GIT_INDEX_FILE", index.as_str())];
        let tree = self.run_with(&["write-tree"], None, &variables)?;
        let tree = String::from_utf8_lossy(&tree).trim().to_owned();
        let mut words = vec!["commit-tree", &tree, "-F", "-"];
        if let Some(head) = &self.head {
            words.extend(["-p", head]);
        }
        let who = [
            ("GIT_AUTHOR_NAME", name.as_str()),
            ("GIT_AUTHOR_EMAIL", address.as_str()),
            ("GIT_COMMITTER_NAME", name.as_str()),
            ("GIT_COMMITTER_EMAIL", address.as_str()),
        ];
        let made = self.run_with(&words, Some(message.as_bytes()), &who)?;
        let made = String::from_utf8_lossy(&made).trim().to_owned();
        let subject = message.lines().next().unwrap_or_default();
        let reflog = format!("commit: {subject}");
        let none = "0".repeat(made.len());
        let old = self.head.as_deref().unwrap_or(&none);
        self.run_with(
            &["update-ref", "-m", &reflog, "HEAD", &made, old],
            None,
            &who,
        )
        .map_err(|error| {
            error.hint("the branch has moved meanwhile; nothing was committed, try again")
        })?;
        self.follow(&made, entries)?;
        Ok(made)
    }

    /// Makes a commit as `git commit` does, with the person's settings and the repository's hooks;
    /// filters do not run.
    pub(super) fn commit_with_hooks(
        &self,
        entries: &BTreeMap<String, Option<TreeEntry>>,
        message: &str,
    ) -> Result<String> {
        self.ensure_index_is_free()?;
        let directory = crate::fs::temporary_directory("agent-commit-")?;
        let index = self.index_with(entries, directory.path())?;
        let file = directory.path().join("message");
        crate::fs::write_atomic(&file, message.as_bytes(), crate::fs::Durability::Atomic)?;
        let mut command = programs::command("git").map_err(|cause| failed("commit", &cause))?;
        without_git_variables(&mut command);
        command
            .args(["-c", "core.fsmonitor=false"])
            .args(["commit", "--cleanup=verbatim", "-F"])
            .arg(&file)
            .current_dir(&self.root)
            .env("GIT_INDEX_FILE", &index)
            .envs(self.filters_off.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null());
        let output = command.output().map_err(|cause| failed("commit", &cause))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            return Err(
                Error::mendable("git did not commit; a hook may have refused it")
                    .because(said.trim().to_owned()),
            );
        }
        let made = self.text_of(&["rev-parse", "--verify", "HEAD^{commit}"])?;
        self.follow(&made, entries)?;
        Ok(made)
    }

    /// Refuses while another program changes the index: it could not follow the commit, and would take
    /// it back with the person's next one.
    fn ensure_index_is_free(&self) -> Result<()> {
        let lock = self.text_of(&["rev-parse", "--git-path", "index.lock"])?;
        if !self.root.join(&lock).exists() {
            return Ok(());
        }
        Err(
            Error::mendable("another program works with this repository; nothing was committed")
                .hint(format!("if there is none, remove `{lock}`")),
        )
    }

    /// The index of the last commit with these entries, as a file of its own.
    fn index_with(
        &self,
        entries: &BTreeMap<String, Option<TreeEntry>>,
        directory: &Path,
    ) -> Result<String> {
        let index = directory.join("index").to_string_lossy().into_owned();
        let variables = [("GIT_INDEX_FILE", index.as_str())];
        match &self.head {
            Some(head) => self.run_with(&["read-tree", head], None, &variables)?,
            None => self.run_with(&["read-tree", "--empty"], None, &variables)?,
        };
        let entries = entries.iter().map(|(path, entry)| (path, entry.as_ref()));
        let info = index_info(entries, self.id_length());
        self.run_with(
            &["update-index", "-z", "--index-info"],
            Some(&info),
            &variables,
        )?;
        Ok(index)
    }

    /// Brings the person's index up to the commit, for its files only.
    fn follow(&self, commit: &str, entries: &BTreeMap<String, Option<TreeEntry>>) -> Result<()> {
        let mut now = BTreeMap::new();
        for path in entries.keys() {
            now.insert(path, self.entry_of(commit, path)?);
        }
        let entries = now.iter().map(|(path, entry)| (*path, entry.as_ref()));
        let info = index_info(entries, self.id_length());
        self.run(&["update-index", "-z", "--index-info"], Some(&info), &[])
            .map(|_| ())
            .map_err(|error| error.hint("it is committed; `git reset` brings the index up to it"))
    }

    /// How long the names of objects are; nothing is removed where there is no commit yet.
    fn id_length(&self) -> usize {
        self.head.as_ref().map_or(40, String::len)
    }

    /// The directory of hooks, as the person's git finds it.
    pub(super) fn hooks_directory(&self) -> Result<PathBuf> {
        let mut command = programs::command("git").map_err(|cause| failed("rev-parse", &cause))?;
        without_git_variables(&mut command);
        command
            .args(["rev-parse", "--git-path", "hooks"])
            .current_dir(&self.root)
            .stdin(Stdio::null());
        let output = command
            .output()
            .map_err(|cause| failed("rev-parse", &cause))?;
        let path = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        Ok(self.root.join(path))
    }

    /// The root of the working tree.
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// Variables that empty every filter that the settings name.
    fn switch_filters_off(&self) -> Result<Vec<(String, String)>> {
        let words = [
            "config",
            "--null",
            "--name-only",
            "--get-regexp",
            r"^filter\.",
        ];
        let found = self.output(&words, None, &[])?;
        let found = String::from_utf8_lossy(&found.stdout).into_owned();
        let keys: BTreeSet<&str> = found.split_terminator('\0').collect();
        Ok(filters_off(&keys))
    }

    /// Runs git and gives the text that it printed, without the space around it.
    pub(in crate::services) fn text_of(&self, words: &[&str]) -> Result<String> {
        let output = self.run(words, None, &[])?;
        Ok(String::from_utf8_lossy(&output).trim().to_owned())
    }

    /// Runs git and gives what it printed; an error if it failed.
    fn run(
        &self,
        words: &[&str],
        input: Option<&[u8]>,
        settings: &[(String, String)],
    ) -> Result<Vec<u8>> {
        ended(words, self.output(words, input, settings)?)
    }

    fn run_with(
        &self,
        words: &[&str],
        input: Option<&[u8]>,
        variables: &[(&str, &str)],
    ) -> Result<Vec<u8>> {
        let mut command = self.command(words, &[])?;
        command.envs(variables.iter().copied());
        ended(words, communicate(command, input, words)?)
    }

    fn output(
        &self,
        words: &[&str],
        input: Option<&[u8]>,
        settings: &[(String, String)],
    ) -> Result<Output> {
        let command = self.command(words, settings)?;
        communicate(command, input, words)
    }

    fn command(&self, words: &[&str], settings: &[(String, String)]) -> Result<Command> {
        let mut command = programs::command("git")
            .map_err(|cause| Error::mendable("git is not installed").because(cause))?;
        without_git_variables(&mut command);
        command.args(HARDENED);
        for (key, value) in settings {
            command.args(["-c", &format!("{key}={value}")]);
        }
        let mut directory = std::ffi::OsString::from("--git-dir=");
        directory.push(&self.git);
        let mut files = std::ffi::OsString::from("--work-tree=");
        files.push(&self.root);
        command
            .args([directory, files])
            .args(words)
            .current_dir(&self.root)
            .envs(GIT_ISOLATION.into_iter().chain(COMMITTING))
            .envs(self.filters_off.iter().map(|(name, value)| (name, value)));
        Ok(command)
    }
}

/// A path with the separators of git; elsewhere than on Windows a backslash is part of a name.
pub(super) fn with_slashes(path: &str) -> String {
    if cfg!(windows) {
        path.replace('\\', "/")
    } else {
        path.to_owned()
    }
}

/// Lines for `git update-index --index-info`; what has no entry is removed.
fn index_info<'a>(
    entries: impl Iterator<Item = (&'a String, Option<&'a TreeEntry>)>,
    length: usize,
) -> Vec<u8> {
    let mut text = String::new();
    for (path, entry) in entries {
        let _ = match entry {
            Some(TreeEntry { mode, id }) => write!(text, "{mode} {id}\t{path}\0"),
            None => write!(text, "0 {}\t{path}\0", "0".repeat(length)),
        };
    }
    text.into_bytes()
}

fn communicate(mut command: Command, input: Option<&[u8]>, words: &[&str]) -> Result<Output> {
    let what = words.first().copied().unwrap_or_default();
    command
        .stdin(if input.is_some() {
            Stdio::piped()
        } else {
            Stdio::null()
        })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|cause| failed(what, &cause))?;
    let writer = input.map(<[u8]>::to_vec).zip(child.stdin.take());
    // What git prints meanwhile must not fill a pipe that nobody reads.
    let writer = writer.map(|(bytes, mut stdin)| {
        std::thread::spawn(move || {
            let _ = stdin.write_all(&bytes);
        })
    });
    let output = child
        .wait_with_output()
        .map_err(|cause| failed(what, &cause))?;
    if let Some(writer) = writer {
        let _ = writer.join();
    }
    Ok(output)
}

fn ended(words: &[&str], output: Output) -> Result<Vec<u8>> {
    if output.status.success() {
        return Ok(output.stdout);
    }
    let what = words.first().copied().unwrap_or_default();
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(Error::mendable(format!("`git {what}` failed")).because(said))
}

fn failed(what: &str, cause: &std::io::Error) -> Error {
    Error::mendable(format!("could not run `git {what}`")).because(cause.to_string())
}
