//! Commits what a session changed.
//!
//! Nothing of the repository's choosing runs: the commit is made from objects (`hash-object`,
//! `write-tree`, `commit-tree`, `update-ref`), with hooks, filters and the file system monitor
//! switched off, because a hook often runs files that the model may have edited. What goes in is what
//! the checkpoints of the rounds say, laid over the last commit, so that the person's own changes stay
//! theirs. Name and e-mail are read from the person's own git configuration.

mod after_rounds;
pub(super) mod git;
mod hooks;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

pub(super) use self::after_rounds::RoundCommits;
pub use self::after_rounds::ensure_possible;
use self::git::{GitRepository, TreeEntry};
pub use self::hooks::{HookFile, RunFile};
use super::open::{self, SessionFiles};
use super::{Caller, choices, find};
use crate::agent::undo::tidied;
use crate::checkpoint::{ChangeKind, CheckpointStore, Node};
use crate::error::{Error, Result};
use crate::fs::{Durability, write_atomic};
use crate::known_keys::KnownKeys;
use crate::protocol::generated::GeneratedDirectories;
use crate::session::{Checkpoint, History, Session};
use crate::workspace::Workspace;

/// The longest first line of a message that is proposed, in characters.
const SUBJECT: usize = 72;
/// The largest file that is committed, in bytes.
const LARGEST: u64 = 64 << 20;
/// The name of the file that says how far a session is committed.
const COMMITTED: &str = "committed.json";

/// Says if the person's own changes are committed too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OwnChanges {
    /// They stay as they are.
    LeftOut,
    /// Files that the session changed are committed as they are now.
    Included,
}

/// Says if the hooks of the repository run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommitHooks {
    /// None does.
    Off,
    /// They run outside of the sandbox, because the person saw them and said so.
    Run,
}

/// Refuses what is no commit of the repository around a directory; a range is left to git.
pub(super) fn ensure_commit(directory: &Path, revision: &str) -> Result<()> {
    let repository = GitRepository::around(directory)?;
    if revision.contains("..") || repository.has_commit(revision)? {
        return Ok(());
    }
    Err(Error::usage(format!("`{revision}` is no commit"))
        .hint("name a branch, a tag or a commit: `--add-diff=main`"))
}

/// A commit that could be made.
#[derive(Debug)]
pub struct PlannedCommit {
    /// The message that is proposed.
    pub message: String,
    /// Who it will be by: `Name <address>`.
    pub author: String,
    /// The files of the commit, from the root of the repository; a moved one as `old -> new`.
    pub files: Vec<String>,
    /// Files that the session changed and that are left out, each with why.
    pub left_out: Vec<(String, String)>,
    repository: GitRepository,
    entries: BTreeMap<String, Option<TreeEntry>>,
    /// All that the session changed, from the root of the repository.
    changed: BTreeSet<String>,
    identity: (String, String),
    record: PathBuf,
    last_round: u32,
    /// Files that a later commit looks at again.
    still_out: BTreeSet<PathBuf>,
}

/// A commit that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MadeCommit {
    /// Its name in short.
    pub id: String,
    /// The first line of its message.
    pub subject: String,
    /// How many files it changes.
    pub files: usize,
}

/// How far a session is committed.
#[derive(Debug, Default, Serialize, Deserialize)]
struct CommittedRounds {
    round: u32,
    commit: String,
    /// Files of these rounds that were left out, and can be committed once the reason is gone.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    left_out: BTreeSet<PathBuf>,
}

/// The changes of the rounds to one file, in their order.
#[derive(Debug, Default)]
struct FileStory {
    turns: Vec<(Option<Node>, Option<Node>)>,
    /// Its name before a round moved it.
    moved_from: Option<PathBuf>,
}

/// Tells what would be committed; changes nothing but for objects that nobody refers to yet.
pub fn plan(caller: &Caller, id: Option<&str>, own: OwnChanges) -> Result<PlannedCommit> {
    let mut files = open::files_to_change(caller)?;
    let session = find::find_any(&files.store, &*caller.person, id)?;
    choices::recall_files(&mut files, caller, &session)?;
    plan_of(&files, &session, own)
}

fn plan_of(files: &SessionFiles, session: &Session, own: OwnChanges) -> Result<PlannedCommit> {
    let repository = GitRepository::around(&files.workspace)?;
    repository.ensure_idle()?;
    let id = &session.session_id;
    let record = files.store.folder(id).join(COMMITTED);
    let done = committed(&record, &repository);
    let history = files.store.history(id)?;
    let mut rounds = history.undoable(done.round);
    rounds.reverse();
    let mut objects = CheckpointStore::open(&files.store.objects())?;
    let workspace = Workspace::open(&files.workspace)?;
    let output = output_of(&workspace);
    let mut left_out = Vec::new();
    let mut stories = stories_of(&rounds, &mut objects, &mut left_out)?;
    let new: BTreeSet<PathBuf> = stories.keys().cloned().collect();
    stories.extend(earlier_stories(&done, own, &history, &mut objects)?);
    let last_round = rounds.last().map_or(done.round, |round| round.round);
    let mut maker = EntryMaker {
        repository: &repository,
        objects,
        workspace: &files.workspace,
        own,
    };
    let ignored = repository.ignored(stories.keys().map(|path| named(path)))?;
    let filtered = repository.filtered(stories.keys().map(|path| named(path)))?;
    let (mut entries, mut changed) = (BTreeMap::new(), BTreeSet::new());
    let mut still_out = BTreeSet::new();
    for (path, story) in &stories {
        let name = named(path);
        let Some(in_repository) = repository.path_of(path) else {
            continue;
        };
        changed.insert(in_repository.clone());
        let is_output = (output.as_ref()).is_some_and(|all| all.containing_output(&name).is_some());
        let is_hidden = is_output || ignored.contains(&name);
        let verdict = if is_output {
            Err("build output".to_owned())
        } else if ignored.contains(&name) {
            Err("git ignores it".to_owned())
        } else if let Some(filter) = filtered.get(&name) {
            Err(format!(
                "git stores it through the filter `{filter}`, which is not run; commit it yourself"
            ))
        } else {
            maker.entry(path, &in_repository, story)?
        };
        match verdict {
            Ok(Some(entry)) => {
                entries.insert(in_repository, entry);
            }
            Ok(None) => {}
            Err(why) => {
                if !is_output {
                    still_out.insert(path.clone());
                }
                // Of these the person was told once.
                if !is_hidden || new.contains(path) {
                    left_out.push((name, why));
                }
            }
        }
    }
    left_out.sort();
    left_out.dedup();
    let identity = repository.identity()?;
    let names = names_of(&entries, &stories, &repository);
    Ok(PlannedCommit {
        message: match rounds.as_slice() {
            // What the model said is the message of an earlier commit.
            [] => changed_files_message(&names),
            _ => proposed(session, &names),
        },
        author: format!("{} <{}>", identity.0, identity.1),
        files: names,
        left_out,
        repository,
        entries,
        changed,
        identity,
        record,
        last_round,
        still_out,
    })
}

/// The names of the files of a commit; a file that was moved is one.
fn names_of(
    entries: &BTreeMap<String, Option<TreeEntry>>,
    stories: &BTreeMap<PathBuf, FileStory>,
    repository: &GitRepository,
) -> Vec<String> {
    let moved: BTreeMap<String, String> = (stories.iter())
        .filter_map(|(path, story)| {
            let from = repository.path_of(story.moved_from.as_ref()?)?;
            let to = repository.path_of(path)?;
            let is_whole = entries.get(&from)?.is_none() && entries.get(&to)?.is_some();
            is_whole.then_some((to, from))
        })
        .collect();
    let old: BTreeSet<&String> = moved.values().collect();
    let names = entries.keys().filter(|name| !old.contains(name));
    let shown = names.map(|name| match moved.get(name) {
        Some(from) => format!("{from} -> {name}"),
        None => name.clone(),
    });
    shown.collect()
}

/// Gathers what all rounds did to the files that an earlier commit left out; with the person's own
/// changes to all files, because they may have changed one since it was committed.
fn earlier_stories(
    done: &CommittedRounds,
    own: OwnChanges,
    history: &History,
    objects: &mut CheckpointStore,
) -> Result<BTreeMap<PathBuf, FileStory>> {
    if own == OwnChanges::LeftOut && done.left_out.is_empty() {
        return Ok(BTreeMap::new());
    }
    let mut rounds = history.undoable(0);
    rounds.reverse();
    let mut stories = stories_of(&rounds, objects, &mut Vec::new())?;
    stories.retain(|path, _| own == OwnChanges::Included || done.left_out.contains(path));
    Ok(stories)
}

/// Gathers what the rounds did to each file; what no checkpoint covers is left out.
fn stories_of(
    rounds: &[Checkpoint],
    objects: &mut CheckpointStore,
    left_out: &mut Vec<(String, String)>,
) -> Result<BTreeMap<PathBuf, FileStory>> {
    let mut stories: BTreeMap<PathBuf, FileStory> = BTreeMap::new();
    for round in rounds {
        for change in objects
            .changes(&round.before, &round.after)
            .map_err(tidied)?
        {
            if let ChangeKind::NotCovered(_) = change.kind {
                left_out.push((named(&change.path), "no checkpoint covers it".to_owned()));
                continue;
            }
            let mut turn = |path: &Path, before, after| {
                let story: &mut FileStory = stories.entry(path.to_owned()).or_default();
                story.turns.push((before, after));
            };
            match &change.kind {
                ChangeKind::Renamed { from } => {
                    turn(from, change.before, None);
                    turn(&change.path, None, change.after);
                    if let Some(story) = stories.get_mut(&change.path) {
                        story.moved_from = Some(from.clone());
                    }
                }
                _ => turn(&change.path, change.before, change.after),
            }
        }
    }
    stories.retain(|path, _| {
        let is_text = path.to_str().is_some();
        if !is_text {
            let why = "its name is no valid UTF-8; commit it yourself";
            left_out.push((named(path), why.to_owned()));
        }
        is_text
    });
    Ok(stories)
}

/// How far a session is committed, as long as the commit is still part of the branch.
fn committed(record: &Path, repository: &GitRepository) -> CommittedRounds {
    let read = crate::fs::read_plain(record, 1 << 20).ok();
    let known: Option<CommittedRounds> = read.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    known
        .filter(|known| repository.has_in_history(&known.commit))
        .unwrap_or_default()
}

fn output_of(workspace: &Workspace) -> Option<GeneratedDirectories> {
    workspace.walk(None).ok().map(|walked| walked.generated)
}

/// A path as git writes it.
fn named(path: &Path) -> String {
    git::with_slashes(&path.to_string_lossy())
}

/// Makes entries of the new tree.
struct EntryMaker<'a> {
    repository: &'a GitRepository,
    objects: CheckpointStore,
    workspace: &'a Path,
    own: OwnChanges,
}

/// The fate of a file: a new entry, nothing because it is as in the last commit, or why it is left
/// out.
type EntryVerdict = Result<Option<Option<TreeEntry>>, String>;

impl EntryMaker<'_> {
    /// Lays what the rounds did to a file over what the last commit has of it.
    fn entry(&mut self, path: &Path, name: &str, story: &FileStory) -> Result<EntryVerdict> {
        let head = self.repository.head_entry(name)?;
        if head.as_ref().is_some_and(TreeEntry::is_submodule) {
            return Ok(Err("it is a repository of its own".to_owned()));
        }
        let made = match self.own {
            OwnChanges::Included => self.as_it_is(path)?,
            OwnChanges::LeftOut => {
                let staged = self.repository.staged(name)?;
                if staged.as_deref() != id_of(head.as_ref())
                    && !self.is_of_rounds(path, staged.as_deref(), story)?
                {
                    return Ok(Err(
                        "you have staged changes of it; commit them first, or use `--with-mine`"
                            .to_owned(),
                    ));
                }
                self.as_the_rounds_say(path, head.clone(), story)?
            }
        };
        Ok(match made {
            Ok(entry) if entry == head => Ok(None),
            Ok(entry) => Ok(Some(entry)),
            Err(why) => Err(why),
        })
    }

    /// Returns true if a round left a file as it is staged: a command staged it then, with `git mv` for
    /// example.
    fn is_of_rounds(
        &mut self,
        path: &Path,
        staged: Option<&str>,
        story: &FileStory,
    ) -> Result<bool> {
        let name = named(path);
        for (_, after) in &story.turns {
            let after = self.stored(&name, after.as_ref())?;
            if id_of(after.as_ref()) == staged {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn as_it_is(&self, path: &Path) -> Result<Result<Option<TreeEntry>, String>> {
        let whole = self.workspace.join(path);
        let Ok(found) = whole.symlink_metadata() else {
            return Ok(Ok(None));
        };
        if found.is_symlink() {
            let target = std::fs::read_link(&whole);
            let target = target.map_err(|cause| Error::file("read", &whole, cause))?;
            let content = target.as_os_str().as_encoded_bytes();
            return Ok(Ok(Some(TreeEntry::link(
                self.repository.store(None, content)?,
            ))));
        }
        if !found.is_file() {
            return Ok(Err("it is no regular file".to_owned()));
        }
        if found.len() > LARGEST {
            return Ok(Err("it is larger than 64 MiB".to_owned()));
        }
        let content = std::fs::read(&whole).map_err(|cause| Error::file("read", &whole, cause))?;
        let name = named(path);
        let id = self.repository.store(Some(&name), &content)?;
        let is_executable = is_executable(&found);
        Ok(Ok(Some(TreeEntry::file(id, is_executable))))
    }

    fn as_the_rounds_say(
        &mut self,
        path: &Path,
        head: Option<TreeEntry>,
        story: &FileStory,
    ) -> Result<Result<Option<TreeEntry>, String>> {
        const THEIRS: &str = "it has changes of yours that the session built on; `--with-mine` commits the whole file";
        let name = named(path);
        let mut now = head;
        for (before, after) in &story.turns {
            let before_id = self.stored(&name, before.as_ref())?;
            let after_id = self.stored(&name, after.as_ref())?;
            let id = id_of(now.as_ref());
            if id == id_of(before_id.as_ref()) || id == id_of(after_id.as_ref()) {
                now = after_id;
                continue;
            }
            let (Some(base), Some(before_id), Some(after_id)) = (&now, before_id, after_id) else {
                return Ok(Err(if now.is_none() {
                    "git does not track it; `--with-mine` adds it as it is".to_owned()
                } else {
                    THEIRS.to_owned()
                }));
            };
            match self
                .repository
                .merged(&base.id, &before_id.id, &after_id.id)?
            {
                Some(merged) => {
                    now = Some(TreeEntry {
                        id: merged,
                        ..after_id
                    });
                }
                None => return Ok(Err(THEIRS.to_owned())),
            }
        }
        Ok(Ok(now))
    }

    /// A file of a checkpoint as an object of the repository; nothing if there is none.
    fn stored(&mut self, name: &str, node: Option<&Node>) -> Result<Option<TreeEntry>> {
        let Some(node) = node else {
            return Ok(None);
        };
        let Some(content) = self.objects.content(node).map_err(tidied)? else {
            return Ok(None);
        };
        Ok(Some(match node {
            Node::Link { .. } => TreeEntry::link(self.repository.store(None, &content)?),
            Node::File { mode, .. } => {
                let id = self.repository.store(Some(name), &content)?;
                TreeEntry::file(id, mode & 0o111 != 0)
            }
            Node::Directory { .. } | Node::PassedOver { .. } => return Ok(None),
        }))
    }
}

fn id_of(entry: Option<&TreeEntry>) -> Option<&str> {
    entry.map(|entry| entry.id.as_str())
}

impl PlannedCommit {
    /// Makes the commit, unless the branch has moved since.
    pub fn carry_out(&self, message: &str, hooks: CommitHooks) -> Result<MadeCommit> {
        let message = KnownKeys::of_this_process().scrub(&clean(message));
        let subject = message.lines().next().unwrap_or_default().to_owned();
        if subject.trim().is_empty() {
            return Err(
                Error::usage("the message is empty").hint("agent commit -m \"what changed\"")
            );
        }
        if self.entries.is_empty() {
            return Err(Error::mendable("there is nothing to commit")
                .hint("`agent diff` shows what the session changed"));
        }
        let id = match hooks {
            CommitHooks::Off => self
                .repository
                .commit(&self.entries, &self.identity, &message)?,
            CommitHooks::Run => self.repository.commit_with_hooks(&self.entries, &message)?,
        };
        let known = CommittedRounds {
            round: self.last_round,
            commit: id.clone(),
            left_out: self.still_out.clone(),
        };
        let json = serde_json::to_vec(&known).unwrap_or_default();
        // Without it the next commit looks at all rounds again, which costs only time.
        let _ = write_atomic(&self.record, &json, Durability::Atomic);
        Ok(MadeCommit {
            id: id.chars().take(10).collect(),
            subject,
            files: self.files.len(),
        })
    }

    /// The hooks that would run, what they execute, and what of that the session changed.
    pub fn hooks(&self) -> Result<Vec<HookFile>> {
        hooks::found(&self.repository, &self.changed)
    }
}

/// The message that is proposed: what the model says it did, or the task.
fn proposed(session: &Session, files: &[String]) -> String {
    let summary = session.summary.as_deref().unwrap_or_default();
    let said = without_trailers(&clean(summary));
    let source = if said.trim().is_empty() {
        clean(session.task.trim().lines().next().unwrap_or_default())
    } else {
        said
    };
    let source = source.trim();
    let (line, further) = source.split_once('\n').unwrap_or((source, ""));
    let first = line.trim().trim_start_matches(['#', '*', '-', ' ']);
    let sentence = first.split_inclusive(". ").next().unwrap_or(first);
    let rest = first[sentence.len()..].trim();
    let sentence = sentence.trim().trim_end_matches('.');
    let mut subject: String = sentence.chars().take(SUBJECT).collect();
    if subject.chars().count() < sentence.chars().count() {
        let cut = subject.rfind(' ').unwrap_or(subject.len());
        subject.truncate(cut);
    }
    if subject.is_empty() {
        subject = changed_files_message(files);
    }
    // What the subject says whole is not said again.
    let body = if subject == sentence {
        format!("{rest}\n{further}")
    } else {
        source.to_owned()
    };
    match body.trim() {
        "" => format!("{subject}\n"),
        body => format!("{subject}\n\n{body}\n"),
    }
}

/// A message that only says which files change.
fn changed_files_message(files: &[String]) -> String {
    match files {
        [one] => format!("Change {}", clean(one)),
        several => format!("Change {} files", several.len()),
    }
}

/// A text without the trailers at its end, such as `Signed-off-by: somebody`: only the person can say
/// such a thing in their commit.
fn without_trailers(text: &str) -> String {
    let is_trailer = |line: &&str| {
        let key = line.split_once(':').map(|(key, _)| key.trim());
        key.is_some_and(|key| {
            let is_of_key = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
            let is_plain = key.chars().all(is_of_key);
            is_plain && (key.contains('-') || key.eq_ignore_ascii_case("cc"))
        })
    };
    let mut lines: Vec<&str> = text.trim().lines().collect();
    loop {
        let last = lines.iter().rposition(|line| line.trim().is_empty());
        let begin = last.map_or(0, |blank| blank + 1);
        let paragraph = lines.split_off(begin);
        let count = paragraph.len();
        lines.extend(paragraph.into_iter().filter(|line| !is_trailer(line)));
        if lines.len() > begin || count == 0 {
            return lines.join("\n");
        }
        // Nothing is left of it, so the one before is the last.
        while lines.last().is_some_and(|line| line.trim().is_empty()) {
            lines.pop();
        }
    }
}

/// A message without what steers a terminal.
fn clean(text: &str) -> String {
    let is_kept = |character: &char| *character == '\n' || !character.is_control();
    let text = text.replace("\r\n", "\n").replace('\t', "    ");
    text.chars().filter(is_kept).collect()
}

#[cfg(unix)]
fn is_executable(found: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    found.permissions().mode() & 0o111 != 0
}

#[cfg(not(unix))]
fn is_executable(_: &std::fs::Metadata) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(summary: Option<&str>, files: &[&str]) -> String {
        let mut session = crate::session::tests::session("ab12cd34");
        session.task = "fix the parser".to_owned();
        session.summary = summary.map(str::to_owned);
        let files: Vec<String> = files.iter().map(ToString::to_string).collect();
        proposed(&session, &files)
    }

    #[test]
    fn a_message_is_made_of_what_the_model_says() {
        assert_eq!(
            message(Some("The parser works."), &[]),
            "The parser works\n"
        );
        assert_eq!(
            message(Some("It works. It has tests."), &[]),
            "It works\n\nIt has tests.\n"
        );
        assert_eq!(
            message(Some("It works.\nIt has tests."), &[]),
            "It works\n\nIt has tests.\n"
        );
        assert_eq!(message(None, &["a"]), "fix the parser\n");
        assert_eq!(message(Some("a\u{1b}[2Jb"), &[]), "a[2Jb\n");
        let long = "word ".repeat(40);
        let subject = message(Some(&long), &[]);
        assert!(subject.lines().next().unwrap().chars().count() <= SUBJECT);
    }

    #[test]
    fn a_message_says_nothing_in_the_name_of_others() {
        let signed = "Did the thing.\n\nSigned-off-by: Evil <a@b>\n";
        assert_eq!(message(Some(signed), &[]), "Did the thing\n");
        let twice = "Did it.\n\nNote: it is slow.\nCo-authored-by : B <b@c>\n\nCc: C <c@d>\n";
        assert_eq!(message(Some(twice), &[]), "Did it\n\nNote: it is slow.\n");
        let only = "Reviewed-by: Evil <a@b>";
        assert_eq!(message(Some(only), &[]), "fix the parser\n");
    }
}
