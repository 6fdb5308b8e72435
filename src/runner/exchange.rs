//! Commands where the workspace is not: another machine, a pod. Files go there before a command, and
//! what it changed comes back after it.
//!
//! The other side is asked which files it has, with a hash of each, before and after a command; what
//! differs between the two answers was changed by the command. Our side remembers a hash of each file
//! that it sent. So only changes travel, in either direction, as an archive of `tar`. Ignored files
//! stay where they are made, and so does what a command must not change here.
//!
//! Nothing is lost: before a command begins, our side writes down what the other side has. After a
//! lost connection or a kill, the next command first fetches what the lost one changed. A file that
//! changed on both sides stays as it is here, and the other side's is put beside it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::channel::{self, Belongings, Errand, quoted};
use super::tar::{self, TarContent, TarEntry, TarWriter};
use super::{Job, Ran, Runner};
use crate::fs::{Durability, write_atomic};
use crate::protocol::RelPath;
use crate::protocol::generated::generated_directory;
use crate::sandbox::{self, Property, PropertyName};
use crate::workspace::{Kind, Workspace};

/// Marks the directory on the other side as that of this workspace.
const MARK: &str = ".agent-runner";

/// The most bytes that travel at once in one direction.
const MAX_BYTES: usize = 512 << 20;

/// The most files that are fetched at once.
const MAX_NAMES: usize = 1000;

/// How long the other side may be silent while files travel.
const SILENCE: Duration = Duration::from_mins(1);

/// The end of the name of a file that changed on both sides.
const OTHER: &str = ".other-side";

/// How the other side is reached.
pub trait RemoteConnection: std::fmt::Debug + Send + Sync {
    /// A program that runs a script there: this one, or else the one that it reads from its standard
    /// input.
    fn client(&self, script: Option<&str>) -> Result<Command, String>;

    /// The words of a failure, with what to do about it.
    fn explain(&self, words: &str) -> String;

    /// Properties that hold for every command there.
    fn promises(&self) -> &'static [PropertyName] {
        &[]
    }

    /// A sentence for the person about what was asked of it and does not count.
    fn notice(&self) -> Option<String> {
        None
    }

    /// Tells what holds there.
    fn test(&self) -> Result<Vec<Property>, String> {
        Ok(Vec::new())
    }

    /// Runs a job in a directory there, which is a word of the shell.
    fn run(&self, directory: &str, job: Job<'_>) -> Ran {
        let client = match self.client(None) {
            Ok(client) => client,
            Err(reason) => return Ran::not_started(reason),
        };
        let errand = Errand {
            client,
            directory,
            environment: &[],
            belongings: Belongings::Marked,
        };
        channel::run(errand, job)
    }

    /// Removes what the connection itself keeps there.
    fn discard(&self) -> Result<(), String> {
        Ok(())
    }
}

/// Runs commands on the other side of a connection, and exchanges files with it.
#[derive(Debug)]
pub struct ExchangeRunner<C> {
    connection: C,
    workspace: Workspace,
    /// The directory there, as a word of the shell.
    directory: String,
    /// True if the directory is ours alone, to be removed.
    is_own: bool,
    /// Where our side writes down what the other side has.
    memory: Option<PathBuf>,
    known: Mutex<Option<ExchangeState>>,
    /// The directory there has been made, or may have been.
    has_entered: AtomicBool,
}

/// What both sides have, as of the last exchange.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct ExchangeState {
    /// The mark in the directory there: with another one it is not the directory that this is about.
    mark: String,
    /// Our files, as they were sent or fetched.
    here: BTreeMap<String, ExchangedContent>,
    /// The files of the other side, before the command that runs or runs next.
    there: BTreeMap<String, ExchangedContent>,
}

/// The content of a name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
enum ExchangedContent {
    File { hash: String, executable: bool },
    Link(String),
    Directory,
}

/// What became of the changes of a command.
#[derive(Debug, Default)]
struct Fetched {
    /// Changed on both sides.
    conflicts: Vec<String>,
    /// Protected here, so left there.
    refused: Vec<String>,
    /// Could not be written here.
    failed: Vec<String>,
}

impl<C: RemoteConnection> ExchangeRunner<C> {
    /// A runner for this workspace. Without a directory it makes one of its own there, named by `name`.
    pub fn new(
        connection: C,
        workspace: Workspace,
        directory: Option<&str>,
        name: &str,
        memory: Option<PathBuf>,
    ) -> Self {
        let own = || format!("\"${{XDG_CACHE_HOME:-$HOME/.cache}}\"/agent/{name}");
        Self {
            connection,
            workspace,
            is_own: directory.is_none(),
            directory: directory.map_or_else(own, |directory| match directory.strip_prefix("~/") {
                Some(rest) => format!("\"$HOME\"/{}", quoted(rest)),
                None => quoted(directory),
            }),
            memory,
            known: Mutex::default(),
            has_entered: AtomicBool::new(false),
        }
    }

    /// Makes both sides equal, as far as files changed here; fetches what an earlier command left.
    fn send(&self, stop: &AtomicBool) -> Result<(ExchangeState, Fetched), String> {
        let in_step = self.known().take();
        let (mut known, fetched) = match in_step {
            Some(known) => (known, Fetched::default()),
            None => self.catch_up(stop)?,
        };
        let here = self.here(&known)?;
        let mut archive = TarWriter::default();
        let (mut bytes, mut sent) = (0, 0_usize);
        for (name, content) in &here {
            if known.here.get(name) == Some(content) {
                continue;
            }
            let content = match content {
                ExchangedContent::Link(target) => TarContent::Link(target.clone()),
                ExchangedContent::Directory => TarContent::Directory,
                ExchangedContent::File { executable, .. } => {
                    let read = self.workspace.read_exact(Path::new(name), MAX_BYTES as u64);
                    let Ok(Some(read)) = read else { continue };
                    bytes += read.len();
                    TarContent::File {
                        bytes: read,
                        executable: *executable,
                    }
                }
            };
            if bytes > MAX_BYTES {
                return Err("the workspace is too large to be sent: ignore what the other side does not need, with a `.gitignore`".to_owned());
            }
            sent += 1;
            let name = name.clone();
            archive.add(&TarEntry { name, content });
        }
        let gone: Vec<&String> = (known.here.keys().rev())
            .filter(|name| !here.contains_key(*name))
            .collect();
        if sent > 0 || !gone.is_empty() || known.there.is_empty() {
            self.clear(&gone, &known, &here, stop)?;
            let mut script = format!("cd {} && tar -xmf - || exit 1\n", self.directory);
            script.push_str(&self.listing());
            let listed = self.call(&script, archive.finish(), stop)?;
            known.there = parse_listing(&listed)?;
        }
        known.here = here;
        self.keep(&known)?;
        Ok((known, fetched))
    }

    /// Enters the directory there, for the first time in this process or after a lost connection.
    fn catch_up(&self, stop: &AtomicBool) -> Result<(ExchangeState, Fetched), String> {
        let mark = self.enter(stop)?;
        match self.recall() {
            Some(mut known) if known.mark == mark => {
                let fetched = self.fetch(&mut known, stop)?;
                Ok((known, fetched))
            }
            _ => Ok((
                ExchangeState {
                    mark,
                    ..ExchangeState::default()
                },
                Fetched::default(),
            )),
        }
    }

    /// Removes there what is gone here, and what became something else.
    fn clear(
        &self,
        gone: &[&String],
        known: &ExchangeState,
        here: &BTreeMap<String, ExchangedContent>,
        stop: &AtomicBool,
    ) -> Result<(), String> {
        let is_directory = |content: &ExchangedContent| *content == ExchangedContent::Directory;
        let other = here.iter().filter(|(name, content)| {
            let before = known.here.get(*name);
            before.is_some_and(|before| is_directory(before) != is_directory(content))
        });
        let mut list = String::new();
        for name in gone {
            let _ = writeln!(list, "-{name}");
        }
        for (name, _) in other {
            let _ = writeln!(list, "={name}");
        }
        if list.is_empty() {
            return Ok(());
        }
        let script = format!(
            "cd {} || exit 1; while IFS= read -r n; do f=${{n#?}}; case $n in \
             -*) rm -f \"./$f\" 2>/dev/null || rmdir \"./$f\" 2>/dev/null;; \
             =*) rm -rf \"./$f\";; esac; done; exit 0",
            self.directory
        );
        self.call(&script, list.into_bytes(), stop).map(drop)
    }

    /// Makes the directory there and tells its mark.
    fn enter(&self, stop: &AtomicBool) -> Result<String, String> {
        self.has_entered.store(true, Ordering::Relaxed);
        let new = uuid::Uuid::new_v4().simple();
        let script = format!(
            "umask 077; mkdir -p {0} && cd {0} || exit 1; [ -s {MARK} ] || echo {new} >{MARK} || exit 1; cat {MARK}",
            self.directory
        );
        let mark = self.call(&script, Vec::new(), stop)?;
        Ok(String::from_utf8_lossy(&mark).trim().to_owned())
    }

    /// Fetches what changed there since the last listing.
    fn fetch(&self, known: &mut ExchangeState, stop: &AtomicBool) -> Result<Fetched, String> {
        let script = format!("cd {} || exit 1\n{}", self.directory, self.listing());
        let there = parse_listing(&self.call(&script, Vec::new(), stop)?)?;
        let rules = Ignored::of(&self.workspace);
        let is_exchanged = |name: &str| !known.here.contains_key(name) && rules.ignores(name);
        let changed: Vec<(&String, &ExchangedContent)> = (there.iter())
            .filter(|(name, content)| known.there.get(*name) != Some(*content))
            .filter(|(name, _)| !is_exchanged(name))
            .collect();
        let wanted: Vec<&str> = (changed.iter())
            .filter(|(_, content)| matches!(content, ExchangedContent::File { .. }))
            .map(|(name, _)| name.as_str())
            .collect();
        let files = self.contents(&wanted, stop)?;
        let mut fetched = Fetched::default();
        for (name, content) in &changed {
            let content = match content {
                ExchangedContent::Directory => TarContent::Directory,
                ExchangedContent::Link(target) => TarContent::Link(target.clone()),
                ExchangedContent::File { .. } => {
                    let Some(content) = files.get(name.as_str()) else {
                        fetched.failed.push((*name).clone());
                        continue;
                    };
                    content.clone()
                }
            };
            self.put(name, content, known, &mut fetched);
        }
        let gone = known
            .there
            .keys()
            .rev()
            .filter(|name| !there.contains_key(*name));
        let gone: Vec<String> = gone.cloned().collect();
        for name in gone {
            self.remove(&name, known, &mut fetched);
        }
        known.there = there;
        Ok(fetched)
    }

    /// The contents of these files there.
    fn contents(
        &self,
        names: &[&str],
        stop: &AtomicBool,
    ) -> Result<BTreeMap<String, TarContent>, String> {
        // Not every `tar` reads names from a file, and a command line has a limit.
        let script = format!(
            "cd {} || exit 1; if tar -cf - -T /dev/null >/dev/null 2>&1; then exec tar -cf - -T -; fi; \
             set --; while IFS= read -r n; do set -- \"$@\" \"$n\"; done; exec tar -cf - \"$@\"",
            self.directory
        );
        let mut contents = BTreeMap::new();
        for names in names.chunks(MAX_NAMES) {
            let mut list = String::new();
            for name in names {
                let _ = writeln!(list, "./{name}");
            }
            let archive = self.call(&script, list.into_bytes(), stop)?;
            let entries =
                tar::entries(&archive).ok_or("the archive of the other side is damaged")?;
            contents.extend(entries.into_iter().map(|entry| {
                let name = entry.name.strip_prefix("./").unwrap_or(&entry.name);
                (name.to_owned(), entry.content)
            }));
        }
        Ok(contents)
    }

    /// Writes a change of the other side here, unless the file changed here too.
    fn put(
        &self,
        name: &str,
        content: TarContent,
        known: &mut ExchangeState,
        fetched: &mut Fetched,
    ) {
        if is_protected(name) {
            fetched.refused.push(name.to_owned());
            return;
        }
        let now = self.content(name);
        let is_mine = now.as_ref() == known.here.get(name);
        let (new, is_file) = match &content {
            TarContent::File { bytes, executable } => {
                let hash = blake3::hash(bytes).to_hex().to_string();
                let executable = *executable;
                (ExchangedContent::File { hash, executable }, true)
            }
            TarContent::Link(target) => (ExchangedContent::Link(target.clone()), false),
            TarContent::Directory => (ExchangedContent::Directory, false),
        };
        if now.as_ref() == Some(&new) {
            known.here.insert(name.to_owned(), new);
            return;
        }
        let place = if is_mine {
            name.to_owned()
        } else {
            fetched.conflicts.push(name.to_owned());
            if !is_file {
                return;
            }
            format!("{name}{OTHER}")
        };
        let path = Path::new(&place);
        let is_directory = matches!(now, Some(ExchangedContent::Directory));
        if is_mine && is_directory && new != ExchangedContent::Directory {
            // Its files were removed there too; what is ignored here keeps it.
            let _ = self.workspace.remove_directory_exact(path);
        } else if is_mine && new == ExchangedContent::Directory && now.is_some() && !is_directory {
            let _ = self.workspace.remove_exact(path);
        }
        let written = self.make_parents(path).and_then(|()| match content {
            TarContent::File { bytes, executable } => {
                let mode = self.mode_for(path, executable);
                self.workspace.write_exact(path, &bytes, mode)
            }
            TarContent::Link(target) => self.workspace.link_exact(path, target.as_ref()),
            TarContent::Directory => self.workspace.make_directory_exact(path),
        });
        match written {
            Ok(()) if is_mine => {
                known.here.insert(name.to_owned(), new);
            }
            Ok(()) => {}
            Err(_) => fetched.failed.push(name.to_owned()),
        }
    }

    /// The permissions of a file here: those that it has, but for the bit that counts.
    fn mode_for(&self, path: &Path, executable: bool) -> u32 {
        let found = self.workspace.stat_exact(path).ok().flatten();
        let mode = found.filter(|found| matches!(found.kind, Kind::File { .. }));
        let mode = mode.map_or(0o644, |found| found.mode);
        if executable {
            mode | ((mode & 0o444) >> 2)
        } else {
            mode & !0o111
        }
    }

    fn make_parents(&self, path: &Path) -> std::io::Result<()> {
        let mut above: Vec<&Path> = path.ancestors().skip(1).collect();
        above.reverse();
        for directory in above
            .into_iter()
            .filter(|path| !path.as_os_str().is_empty())
        {
            if self.workspace.stat_exact(directory)?.is_none() {
                self.workspace.make_directory_exact(directory)?;
            }
        }
        Ok(())
    }

    /// Removes here what a command removed there, unless it changed here.
    fn remove(&self, name: &str, known: &mut ExchangeState, fetched: &mut Fetched) {
        let (now, path) = (self.content(name), Path::new(name));
        if now.is_none() || is_protected(name) {
            known.here.remove(name);
            return;
        }
        if now.as_ref() != known.here.get(name) {
            fetched.conflicts.push(name.to_owned());
            return;
        }
        let removed = match now {
            // It may hold files that are ignored.
            Some(ExchangedContent::Directory) => {
                self.workspace.remove_directory_exact(path).or(Ok(()))
            }
            _ => self.workspace.remove_exact(path),
        };
        match removed {
            Ok(()) => drop(known.here.remove(name)),
            Err(_) => fetched.failed.push(name.to_owned()),
        }
    }

    /// Our files now, and the directories that hold them.
    fn here(&self, known: &ExchangeState) -> Result<BTreeMap<String, ExchangedContent>, String> {
        let walked = self
            .workspace
            .walk(None)
            .map_err(|error| error.to_string())?;
        let mut here = BTreeMap::new();
        for file in walked.files {
            let name = file.path.as_str();
            if let Some(content) = self.content(name) {
                for above in Path::new(name).ancestors().skip(1) {
                    let above = above.to_string_lossy();
                    if !above.is_empty() && !here.contains_key(above.as_ref()) {
                        here.insert(above.into_owned(), ExchangedContent::Directory);
                    }
                }
                here.insert(name.to_owned(), content);
            }
        }
        // An empty directory that came from there is still there.
        for (name, content) in &known.here {
            if *content == ExchangedContent::Directory
                && self.content(name).as_ref() == Some(content)
            {
                here.entry(name.clone())
                    .or_insert(ExchangedContent::Directory);
            }
        }
        Ok(here)
    }

    /// The content of a name here.
    fn content(&self, name: &str) -> Option<ExchangedContent> {
        let path = Path::new(name);
        let found = self.workspace.stat_exact(path).ok()??;
        match found.kind {
            Kind::Directory => Some(ExchangedContent::Directory),
            Kind::Link => {
                let target = self.workspace.read_link_exact(path).ok()?;
                Some(ExchangedContent::Link(
                    target.to_string_lossy().into_owned(),
                ))
            }
            Kind::File { .. } => {
                let bytes = self.workspace.read_exact(path, MAX_BYTES as u64).ok()??;
                Some(ExchangedContent::File {
                    hash: blake3::hash(&bytes).to_hex().to_string(),
                    executable: found.mode & 0o100 != 0,
                })
            }
            Kind::Special => None,
        }
    }

    /// A script that lists the files there, in sections.
    fn listing(&self) -> String {
        let mut left_out = String::from("-name .git -o -name .agent -o -name .agent-runner");
        for name in Ignored::of(&self.workspace).plain_names() {
            let _ = write!(left_out, " -o -name {}", quoted(&name));
        }
        let find = format!("find . \\( {left_out} \\) -prune -o");
        format!(
            "if command -v sha256sum >/dev/null 2>&1; then h='sha256sum'; else h='shasum -a 256'; fi\n\
             {find} -type f -exec $h {{}} +\n\
             echo ==executable; {find} -type f -perm -100 -print\n\
             echo ==directories; {find} -type d -print\n\
             echo ==links; {find} -type l -exec sh -c 'for f; do printf \"%s\\n\" \"$f\"; readlink \"$f\"; done' sh {{}} +\n\
             echo ==end\n"
        )
    }

    /// Runs a script there that reads this input; tells its output.
    fn call(&self, script: &str, input: Vec<u8>, stop: &AtomicBool) -> Result<Vec<u8>, String> {
        let client = self.connection.client(Some(script))?;
        talk(client, input, stop).map_err(|words| self.connection.explain(&words))
    }

    fn known(&self) -> std::sync::MutexGuard<'_, Option<ExchangeState>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn recall(&self) -> Option<ExchangeState> {
        let bytes = std::fs::read(self.memory.as_ref()?).ok()?;
        serde_json::from_slice(&bytes).ok()
    }

    fn keep(&self, known: &ExchangeState) -> Result<(), String> {
        let Some(file) = &self.memory else {
            return Ok(());
        };
        let bytes = serde_json::to_vec(known).map_err(|error| error.to_string())?;
        write_atomic(file, &bytes, Durability::Atomic).map_err(|error| error.to_string())
    }
}

impl<C: RemoteConnection> Runner for ExchangeRunner<C> {
    fn keeps_files(&self) -> bool {
        let is_remembered = self.memory.as_ref().is_none_or(|memory| memory.exists());
        is_remembered || self.has_entered.load(Ordering::Relaxed)
    }

    fn clean(&self) -> Result<(), String> {
        if self.is_own {
            let stop = AtomicBool::new(false);
            self.call(&format!("rm -rf {}", self.directory), Vec::new(), &stop)?;
        }
        self.connection.discard()?;
        *self.known() = None;
        if let Some(memory) = &self.memory {
            let _ = crate::fs::remove(memory);
        }
        Ok(())
    }

    fn promises(&self) -> &'static [PropertyName] {
        self.connection.promises()
    }

    fn notice(&self) -> Option<String> {
        self.connection.notice()
    }

    fn test(&self, workspace: &Path) -> Result<Vec<Property>, String> {
        let is_in_use = self.memory.as_ref().is_none_or(|memory| memory.exists());
        let tested = self.connection.test().and_then(|mut properties| {
            properties.extend(self.test_survival(workspace)?);
            Ok(properties)
        });
        if !is_in_use {
            self.clean()?;
        }
        tested
    }

    fn run(&self, job: Job<'_>) -> Ran {
        let began = Instant::now();
        let (mut known, earlier) = match self.send(job.cancelled) {
            Ok(sent) => sent,
            Err(reason) => return Ran::not_started(format!("no files were exchanged: {reason}")),
        };
        let mut ran = self.connection.run(&self.directory, job);
        // Also of a command that was interrupted; but then nobody waits for a second Ctrl-C.
        let fetched = self.fetch(&mut known, &AtomicBool::new(false));
        let mut notes: Vec<String> = earlier.notes();
        match fetched {
            Ok(fetched) => {
                notes.extend(fetched.notes());
                // What cannot be remembered is fetched again.
                let _ = self.keep(&known);
                *self.known() = Some(known);
            }
            Err(reason) => notes.push(format!(
                "what it changed has not come back yet and is fetched before the next command: {reason}"
            )),
        }
        if ran.is_lost {
            notes.insert(0, "the connection was lost while it ran".to_owned());
        }
        ran.note = (!notes.is_empty()).then(|| notes.join("; "));
        ran.took = began.elapsed();
        ran
    }
}

impl Fetched {
    fn notes(&self) -> Vec<String> {
        let list = |names: &[String]| {
            let shown: Vec<String> = names
                .iter()
                .take(5)
                .map(|name| format!("`{name}`"))
                .collect();
            let more = names.len().saturating_sub(shown.len());
            match more {
                0 => shown.join(", "),
                more => format!("{} and {more} more", shown.join(", ")),
            }
        };
        let mut notes = Vec::new();
        if !self.conflicts.is_empty() {
            notes.push(format!(
                "changed here and by the command, so the file here stayed as it is, and the other one is beside it as `NAME{OTHER}`: {}",
                list(&self.conflicts)
            ));
        }
        if !self.refused.is_empty() {
            notes.push(format!(
                "protected here, so not taken from the other side: {}",
                list(&self.refused)
            ));
        }
        if !self.failed.is_empty() {
            notes.push(format!("could not be written here: {}", list(&self.failed)));
        }
        notes
    }
}

/// True for a name that commands must not change here, or that leads out.
fn is_protected(name: &str) -> bool {
    let is_plain = |part: std::path::Component<'_>| matches!(part, std::path::Component::Normal(_));
    let path = Path::new(name);
    let mut guarded = sandbox::PROTECTED.iter().chain(&sandbox::WORKFLOWS);
    !path.components().all(is_plain) || guarded.any(|guarded| path.starts_with(guarded))
}

/// The ignore rules of a workspace, for names that are not there yet.
struct Ignored {
    rules: Vec<ignore::gitignore::Gitignore>,
    names: BTreeSet<String>,
}

impl Ignored {
    /// Reads the ignore files at the top, which name what builds make.
    fn of(workspace: &Workspace) -> Self {
        const MAX: u64 = 256 * 1024;
        let (mut rules, mut names) = (Vec::new(), BTreeSet::new());
        for file in [".gitignore", ".ignore"] {
            let Ok(Some(content)) = workspace.read_exact(Path::new(file), MAX) else {
                continue;
            };
            let mut builder = ignore::gitignore::GitignoreBuilder::new("");
            for line in String::from_utf8_lossy(&content).lines() {
                // A line that is no rule is none for git either.
                let _ = builder.add_line(None, line);
                let name = line.trim().trim_end_matches('/');
                let is_plain = |c: char| c.is_alphanumeric() || "._-".contains(c);
                if line.trim().ends_with('/') && !name.is_empty() && name.chars().all(is_plain) {
                    names.insert(name.to_owned());
                }
            }
            rules.extend(builder.build());
        }
        Self { rules, names }
    }

    /// Names of directories that are ignored everywhere, so that they need not be listed.
    fn plain_names(&self) -> impl Iterator<Item = String> {
        self.names.iter().cloned()
    }

    fn ignores(&self, name: &str) -> bool {
        let path = Path::new(name);
        let generated = RelPath::parse(name);
        let is_generated = generated.is_ok_and(|path| generated_directory(&path).is_some());
        let matched = |rules: &ignore::gitignore::Gitignore| {
            let matched = |path: &Path, is_directory| rules.matched(path, is_directory).is_ignore();
            matched(path, false) || path.ancestors().skip(1).any(|above| matched(above, true))
        };
        is_generated || self.rules.iter().any(matched)
    }
}

/// The files of a listing.
fn parse_listing(listed: &[u8]) -> Result<BTreeMap<String, ExchangedContent>, String> {
    let text = String::from_utf8_lossy(listed);
    if !text.ends_with("==end\n") {
        return Err("the list of files of the other side is incomplete".to_owned());
    }
    let mut there = BTreeMap::new();
    let (mut section, mut link) = ("", None::<&str>);
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("==") {
            (section, link) = (name, None);
            continue;
        }
        let name = |line: &'_ str| line.strip_prefix("./").map(str::to_owned);
        match (section, link) {
            ("", _) => {
                // A name with a line break in it is quoted, and stays there.
                if let Some((hash, file)) =
                    line.split_once("  ").filter(|_| !line.starts_with('\\'))
                    && let Some(file) = name(file)
                {
                    let hash = hash.to_owned();
                    there.insert(
                        file,
                        ExchangedContent::File {
                            hash,
                            executable: false,
                        },
                    );
                }
            }
            ("executable", _) => {
                let file = name(line).and_then(|name| there.get_mut(&name));
                if let Some(ExchangedContent::File { executable, .. }) = file {
                    *executable = true;
                }
            }
            ("directories", _) => {
                there.extend(name(line).map(|name| (name, ExchangedContent::Directory)));
            }
            ("links", None) => link = Some(line),
            ("links", Some(from)) => {
                there
                    .extend(name(from).map(|name| (name, ExchangedContent::Link(line.to_owned()))));
                link = None;
            }
            _ => {}
        }
    }
    Ok(there)
}

/// Runs a client with this input to its end; tells its output, or its words if it fails.
fn talk(mut client: Command, input: Vec<u8>, stop: &AtomicBool) -> Result<Vec<u8>, String> {
    client
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut client, 0);
    let mut client = client.spawn().map_err(|error| error.to_string())?;
    let (Some(mut to), Some(mut from), Some(mut errors)) = (
        client.stdin.take(),
        client.stdout.take(),
        client.stderr.take(),
    ) else {
        return Err("the client has no pipes".to_owned());
    };
    let (news, heard) = mpsc::channel::<Option<Vec<u8>>>();
    let words = thread::scope(|scope| {
        scope.spawn(move || {
            // One that ended has said why.
            let _ = to.write_all(&input);
        });
        let words = scope.spawn(move || {
            let mut words = Vec::new();
            let _ = (&mut errors).take(64 * 1024).read_to_end(&mut words);
            String::from_utf8_lossy(&words).into_owned()
        });
        scope.spawn(move || {
            let mut buffer = vec![0; 256 * 1024];
            while let Ok(length @ 1..) = from.read(&mut buffer) {
                if news.send(Some(buffer[..length].to_vec())).is_err() {
                    return;
                }
            }
            let _ = news.send(None);
        });
        let mut output = Vec::new();
        let mut last = Instant::now();
        let trouble = loop {
            match heard.recv_timeout(Duration::from_millis(50)) {
                Ok(Some(bytes)) => {
                    output.extend(bytes);
                    last = Instant::now();
                }
                Ok(None) => break None,
                Err(_) => {}
            }
            if stop.load(Ordering::Relaxed) {
                break Some("the user interrupted");
            }
            if last.elapsed() > SILENCE {
                break Some("the other side does not answer");
            }
            if output.len() > MAX_BYTES {
                break Some("too much changed there to be fetched");
            }
        };
        if trouble.is_some() {
            let _ = client.kill();
        }
        drop(heard);
        (output, trouble, words.join().unwrap_or_default())
    });
    let (output, trouble, words) = words;
    let status = client.wait().map_err(|error| error.to_string())?;
    match trouble {
        Some(trouble) => Err(trouble.to_owned()),
        None if status.success() => Ok(output),
        None if words.trim().is_empty() => Err(format!("the other side ended with {status}")),
        None => Err(words),
    }
}
