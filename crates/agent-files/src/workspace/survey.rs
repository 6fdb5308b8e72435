//! Surveys everything in the workspace by exact name, with metadata, for checkpoints.
//!
//! `walk` lists what a model may see; a survey also includes ignored files, empty directories and
//! names that are not UTF-8. The same ignore rules decide which directories are entered. `.git`,
//! `.agent` and our own incomplete files are skipped. No link is followed and nothing is changed.
//!
//! A survey is a search of a joint walk. Usually it is the only one; the survey for the snapshot after a
//! command is made in the look that the sandbox has to take then (`after_command`).

mod after_command;
mod content;
mod kept;

use std::cell::OnceCell;
use std::collections::{BTreeSet, HashMap};
use std::ffi::{OsStr, OsString};
use std::io::{self, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt, OpenOptionsSyncExt};
use cap_std::fs::{Dir, Metadata, OpenOptions};

pub use self::after_command::CommandSurvey;
pub(super) use self::after_command::SurveyMemory;
pub use self::content::{DirectoryContent, DirectoryState, Surveyed};
pub(crate) use self::kept::{KeptDirectory, KeptSurvey, SurveyedTree};
use super::ignored::{Absolute, IgnoreFiles, Is, MAX_IGNORE_BYTES, Rules, is_ignored};
use super::joint_walk::{DirectoryNames, DirectorySearch, NamedEntry, walk_together};
use super::look::is_hidden;
use super::neighbours::is_beneath;
use super::walk::{MAX_CREDENTIALS, Walked, settled_credentials};
use super::{FileKind, Workspace, kind_of};
use crate::error::{Error, Result};
use crate::fs::{TEMPORARY, joined};
use crate::platform::files::relative_to;
use agent_protocol::generated::{GeneratedDirectories, has_credentials, is_ignored_output};
use agent_protocol::{Listed, RelPath};

/// The metadata of a file, without following links.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileStat {
    /// The type.
    pub kind: FileKind,
    /// The permission bits to restore; 0 on systems without them.
    pub mode: u32,
    /// Size in bytes.
    pub size: u64,
    /// Modification time, in nanoseconds since 1970.
    pub modified: i64,
    /// Change time, in nanoseconds since 1970. Unlike the modification time it cannot be set. 0 if it
    /// is not kept, as may be on what is mounted.
    pub changed: i64,
    /// Inode number; 0 on systems without one.
    pub inode: u64,
    /// The number of names of the file; 1 on systems that do not tell.
    pub links: u64,
    /// Creation time, in nanoseconds since 1970, if the file system records it. A rename does not
    /// change it.
    pub born: Option<i64>,
}

/// The part of the workspace to survey.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SurveyScope {
    /// Limit on the number of names.
    pub max_entries: usize,
    /// Directories to skip, relative to the root.
    pub leave_out: Vec<PathBuf>,
    /// If set, only these paths are visited, ignored or not; it must include their parent
    /// directories.
    pub only: Option<BTreeSet<PathBuf>>,
}

impl SurveyScope {
    fn looks_at(&self, directory: &Path, name: &OsStr) -> bool {
        let only = self.only.as_ref();
        only.is_none_or(|only| only.contains(&directory.join(name)))
    }
}

/// A directory that is being visited.
pub struct SurveyedDirectory<'a> {
    reader: DirectoryReader<'a>,
    /// What is in it.
    pub content: Arc<DirectoryContent>,
}

/// The content of a file that was surveyed.
pub struct FileRead {
    /// All of it.
    pub bytes: Vec<u8>,
    /// True if it is another file than the one that was surveyed, which was replaced or moved since.
    pub is_other: bool,
}

/// Reads files of a directory that is being visited.
struct DirectoryReader<'a> {
    workspace: &'a Workspace,
    place: SurveyTask,
    /// `None` if it could not be listed, or was listed earlier.
    names: Option<&'a DirectoryNames<'a>>,
    /// Opened again, if it was listed earlier.
    reopened: OnceCell<Dir>,
}

/// The part of a listing that comes from one directory.
#[derive(Debug, Default)]
pub struct ListedDirectory {
    /// The files and links that `walk` would list.
    files: Vec<Listed>,
    /// Credential files, including ignored ones.
    credentials: Vec<Listed>,
    /// Ignored directories other than build output and dependencies.
    ignored: Vec<RelPath>,
    /// Number of names that a model cannot write.
    unnamable: u64,
}

/// The joined listing of all directories of a survey.
#[derive(Debug, Default)]
pub struct SurveyListing {
    walked: Arc<Walked>,
    /// The credential files in directories that are not ignored.
    credentials: Vec<Listed>,
    /// Ignored directories other than build output and dependencies, where a survey does not look.
    ignored: Vec<RelPath>,
}

/// The visitor's result for a directory, and the index range of its subdirectories.
#[derive(Debug)]
pub struct Visited<T> {
    /// The visitor's result.
    pub value: T,
    /// The entered subdirectories, in the order of their names.
    pub children: Range<usize>,
}

/// A directory to visit.
struct SurveyTask {
    path: PathBuf,
    /// Its metadata before it is visited, if known.
    stat: Option<FileStat>,
    rules: Option<Arc<Rules>>,
}

/// A survey that is being made.
struct Survey<'a, T, V> {
    workspace: &'a Workspace,
    scope: Arc<SurveyScope>,
    visit: V,
    /// Names that were seen so far.
    seen: AtomicUsize,
    /// The directories to visit, each with the index of its result, by path relative to the
    /// workspace, which the task gets back, and its bytes: a path is hashed component by component.
    waiting: Mutex<HashMap<OsString, (usize, SurveyTask)>>,
    /// How many results there will be, as far as is known.
    count: AtomicUsize,
    /// The results with their indices, unsorted.
    visited: Mutex<Vec<(usize, Visited<T>)>>,
}

impl<'a, T: Send, V: Fn(SurveyedDirectory<'_>) -> T + Sync> Survey<'a, T, V> {
    fn new(workspace: &'a Workspace, scope: Arc<SurveyScope>, visit: V) -> Self {
        if scope.only.is_none() {
            workspace.count_walk();
        }
        let top = SurveyTask {
            path: PathBuf::new(),
            stat: (workspace.root.dir_metadata().ok()).map(|metadata| FileStat::of(&metadata)),
            rules: None,
        };
        Self {
            workspace,
            scope,
            visit,
            seen: AtomicUsize::new(0),
            waiting: Mutex::new(HashMap::from([(OsString::new(), (0, top))])),
            count: AtomicUsize::new(1),
            visited: Mutex::default(),
        }
    }

    /// The results, once all directories were visited: parents before children.
    fn finish(self) -> Vec<Visited<T>> {
        let visited = self.visited.into_inner();
        let mut visited = visited.unwrap_or_else(PoisonError::into_inner);
        assert_eq!(
            visited.len(),
            self.count.into_inner(),
            "a walk visits every directory that a search asks for"
        );
        visited.sort_unstable_by_key(|(index, _)| *index);
        visited.into_iter().map(|(_, visited)| visited).collect()
    }
}

impl<T: Send, V: Fn(SurveyedDirectory<'_>) -> T + Sync> DirectorySearch for Survey<'_, T, V> {
    fn may_go_on(&self) -> bool {
        true
    }

    fn pass_over(&self, _directory: &Path) {}

    fn stat_of(&self, directory: &Path) -> Option<FileStat> {
        let path = relative_to(&self.workspace.path, directory);
        let waiting = lock(&self.waiting);
        waiting.get(path.as_os_str())?.1.stat
    }

    fn search(&self, directory: &Path, names: &io::Result<DirectoryNames<'_>>) -> Vec<PathBuf> {
        let path = relative_to(&self.workspace.path, directory);
        let waiting = lock(&self.waiting).remove_entry(path.as_os_str());
        let Some((path, (index, mut place))) = waiting else {
            return Vec::new();
        };
        place.path = path.into();
        // Another directory may have taken its place since; what is in it is not known under these
        // metadata then.
        let listed = names.as_ref().ok().and_then(DirectoryNames::inode_listed);
        (place.stat).take_if(|stat| listed.is_some_and(|inode| inode != stat.inode));
        let reader = DirectoryReader {
            workspace: self.workspace,
            place,
            names: names.as_ref().ok(),
            reopened: OnceCell::new(),
        };
        let surveyed = SurveyedDirectory {
            content: DirectoryContent::look(&reader, &self.scope, &self.seen),
            reader,
        };
        let places = surveyed.places();
        let value = (self.visit)(surveyed);
        let beneath = |place: &SurveyTask| joined(&self.workspace.path, place.path.as_os_str());
        let beneath: Vec<PathBuf> = places.iter().map(beneath).collect();
        let start = (self.count).fetch_add(beneath.len(), Ordering::Relaxed);
        let children = start..start + beneath.len();
        let waiting = children.clone().zip(places).map(|(index, mut place)| {
            let path = std::mem::take(&mut place.path);
            (path.into_os_string(), (index, place))
        });
        lock(&self.waiting).extend(waiting);
        lock(&self.visited).push((index, Visited { value, children }));
        beneath
    }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Workspace {
    /// Calls the visitor for every directory, on several threads. Parents come before children in
    /// the result.
    pub fn survey<T: Send>(
        &self,
        scope: Arc<SurveyScope>,
        visit: impl Fn(SurveyedDirectory<'_>) -> T + Sync,
    ) -> Result<Vec<Visited<T>>> {
        self.ensure_in_place()?;
        let survey = Survey::new(self, scope, visit);
        let known = self.names_seen();
        let open = || self.root.try_clone();
        walk_together(&self.path, open, &[&survey], known.as_ref());
        Ok(survey.finish())
    }

    /// Surveys everything, from this time on.
    pub(crate) fn survey_everything(
        &self,
        scope: &SurveyScope,
        began: SystemTime,
    ) -> Result<KeptSurvey> {
        let scope = self.shared_scope(scope);
        Ok(KeptSurvey {
            scope: Arc::clone(&scope),
            began,
            directories: self.survey(scope, KeptDirectory::of)?,
        })
    }

    /// Joins what the directories of a survey list; `is_cut` is true if the survey did not see all of
    /// them.
    pub fn join_listed(&self, directories: &[Arc<ListedDirectory>], is_cut: bool) -> SurveyListing {
        let mut joined = ListedDirectory::default();
        for directory in directories {
            joined.files.extend_from_slice(&directory.files);
            joined.credentials.extend_from_slice(&directory.credentials);
            joined.unnamable += directory.unnamable;
            joined.ignored.extend_from_slice(&directory.ignored);
        }
        let records = self.records_among(joined.files.iter().map(|file| &file.path));
        if !records.is_empty() {
            let is_open = |path: &RelPath| !records.iter().any(|records| is_beneath(path, records));
            joined.files.retain(|file| is_open(&file.path));
            joined.credentials.retain(|file| is_open(&file.path));
            joined.ignored.retain(is_open);
        }
        joined.ignored.truncate(MAX_CREDENTIALS);
        joined.files.sort_by(|a, b| a.path.cmp(&b.path));
        let walked = Walked {
            generated: GeneratedDirectories::among(&joined.files),
            files: Arc::new(joined.files),
            unnamable: joined.unnamable,
            cut: is_cut,
            credentials: Vec::new(),
        };
        SurveyListing {
            walked: Arc::new(walked),
            credentials: joined.credentials,
            ignored: joined.ignored,
        }
    }

    /// The result of `walk`, without a walk; right as long as a new survey would see the same.
    pub fn walked(&self, listing: &mut SurveyListing) -> Arc<Walked> {
        let ignored = self.credentials_beneath(listing.ignored.clone());
        let credentials = settled_credentials(listing.credentials.clone(), ignored);
        if listing.walked.credentials != credentials {
            Arc::make_mut(&mut listing.walked).credentials = credentials;
        }
        Arc::clone(&listing.walked)
    }

    /// Checks that the workspace is still at the path where it was opened.
    ///
    /// A directory that is deleted while open looks empty, and an empty snapshot would be wrong.
    pub fn ensure_in_place(&self) -> Result<()> {
        let gone = || {
            Error::mendable(format!(
                "the workspace `{}` was moved or deleted",
                self.path.display()
            ))
            .hint("put it back, or start again with `--workspace`; `agent resume` continues, and carries out a reply that was already accepted")
        };
        let there = std::fs::metadata(&self.path).map_err(|cause| gone().because(cause))?;
        let here = (self.root.dir_metadata()).map_err(|cause| gone().because(cause))?;
        if is_same(&there, &here) {
            Ok(())
        } else {
            Err(gone())
        }
    }
}

#[cfg(unix)]
fn is_same(there: &std::fs::Metadata, here: &Metadata) -> bool {
    use cap_std::fs::MetadataExt as _;
    use std::os::unix::fs::MetadataExt as _;
    there.dev() == here.dev() && there.ino() == here.ino()
}

#[cfg(not(unix))]
fn is_same(there: &std::fs::Metadata, _here: &Metadata) -> bool {
    there.is_dir()
}

impl DirectoryReader<'_> {
    fn rules_here(&self, names: &[NamedEntry]) -> Option<Arc<Rules>> {
        // All that are wanted begin with a dot, and few names do.
        let first = |(name, _): &NamedEntry| name.as_encoded_bytes().first().copied();
        let from = names.partition_point(|name| first(name) < Some(b'.'));
        let dotted = &names[from..];
        let dotted = &dotted[..dotted.partition_point(|name| first(name) == Some(b'.'))];
        let has = |wanted: &str| dotted.iter().any(|(name, _)| &**name == wanted);
        let read = |wanted: &str| {
            if has(wanted) {
                return self
                    .read_name(OsStr::new(wanted), MAX_IGNORE_BYTES)
                    .ok()
                    .flatten();
            }
            // `.git/info/exclude` is in a subdirectory.
            let path = RelPath::parse(wanted).ok()?;
            self.workspace.read(&path, MAX_IGNORE_BYTES).ok()
        };
        let is_root = self.path().as_os_str().is_empty();
        let which = IgnoreFiles::among(has, is_root);
        let known = self.names.and_then(|names| names.known);
        let known = known.and_then(|known| known.rules.as_ref());
        Rules::read(read, self.path(), which, self.place.rules.clone(), known)
    }

    fn path(&self) -> &Path {
        &self.place.path
    }

    /// The metadata of an entry, without following links.
    fn stat(&self, name: &OsStr) -> io::Result<FileStat> {
        let names = self.names.ok_or(io::ErrorKind::NotFound)?;
        names.stat(name)
    }

    fn read_name(&self, name: &OsStr, max_bytes: u64) -> io::Result<Option<Vec<u8>>> {
        let file = read_regular(self.opened()?, name, max_bytes)?;
        Ok(file.map(|(bytes, _)| bytes))
    }

    fn opened(&self) -> io::Result<&Dir> {
        if let Some(Ok(opened)) = self.names.map(DirectoryNames::opened) {
            return Ok(opened);
        }
        if let Some(reopened) = self.reopened.get() {
            return Ok(reopened);
        }
        let reopened = self.workspace.open_exact(self.path())?;
        Ok(self.reopened.get_or_init(|| reopened))
    }
}

impl SurveyedDirectory<'_> {
    /// Reads a file in this directory; `None` if it is larger than `max_bytes` or no longer
    /// regular.
    pub fn read(&self, entry: &Surveyed, max_bytes: u64) -> io::Result<Option<FileRead>> {
        let file = read_regular(self.reader.opened()?, &entry.name, max_bytes)?;
        Ok(file.map(|(bytes, inode)| FileRead {
            bytes,
            is_other: inode != entry.stat.inode,
        }))
    }

    /// True if the file system resolves the name, possibly to an entry with another spelling.
    ///
    /// On a case-insensitive file system a name can be taken although no entry has it.
    pub fn answers_to(&self, name: &OsStr) -> bool {
        let names = self.reader.names;
        names.is_some_and(|names| names.metadata(name).is_ok())
    }

    /// The path relative to the root, which is empty.
    pub fn path(&self) -> &Path {
        self.reader.path()
    }

    /// The metadata of the directory before it was visited, if known.
    pub fn stat(&self) -> Option<FileStat> {
        self.reader.place.stat
    }

    /// True if the ignore rules match a file in this directory.
    pub fn is_ignored(&self, entry: &Surveyed) -> bool {
        let path = self.path().join(&*entry.name);
        is_ignored(self.content.rules.as_deref(), &path, Is::File)
    }

    /// The part of a listing that comes from this directory.
    pub fn listed(&self) -> ListedDirectory {
        let mut listed = ListedDirectory::default();
        let Some(directory) = self.nameable_path() else {
            return listed;
        };
        let mut absolute = Absolute::within(&directory);
        for entry in &self.content.entries {
            let path = (entry.name.to_str()).and_then(|name| RelPath::of_entry(&directory, name));
            let Some(path) = path else {
                listed.unnamable += 1;
                continue;
            };
            let is_file = match entry.stat.kind {
                _ if self.reader.workspace.left_out.contains(&path) => continue,
                FileKind::Directory if entry.is_entered || is_ignored_output(path.file_name()) => {
                    continue;
                }
                FileKind::Directory => {
                    listed.ignored.push(path);
                    continue;
                }
                FileKind::Special => continue,
                FileKind::File { .. } => true,
                FileKind::Link => false,
            };
            let found = Listed {
                size: if is_file { entry.stat.size } else { 0 },
                modified: if is_file { entry.stat.modified } else { 0 },
                is_link: !is_file,
                path,
            };
            if is_file && has_credentials(found.path.file_name()) {
                listed.credentials.push(found.clone());
            }
            let rules = self.content.rules.as_deref();
            let place = absolute.of(found.path.file_name());
            if !rules.is_some_and(|rules| rules.leave_out(place, Is::File)) {
                listed.files.push(found);
            }
        }
        listed
    }

    /// The path with `/` between its components; `None` if nothing beneath it is listed, because the
    /// model cannot write it or it is left out.
    fn nameable_path(&self) -> Option<String> {
        if self.path().as_os_str().is_empty() {
            return Some(String::new());
        }
        let names: Option<Vec<&str>> = self.path().iter().map(OsStr::to_str).collect();
        let text = names?.join("/");
        let path = RelPath::parse(&text)
            .ok()
            .filter(|it| it.as_str() == text)?;
        let mut above = std::iter::successors(Some(path), RelPath::parent);
        let is_left_out = above.any(|path| self.reader.workspace.left_out.contains(&path));
        (!is_left_out).then_some(text)
    }

    /// The target of a link in this directory.
    pub fn read_link(&self, entry: &Surveyed) -> io::Result<OsString> {
        let target = self.reader.opened()?.read_link_contents(&*entry.name)?;
        Ok(target.into_os_string())
    }

    fn places(&self) -> Vec<SurveyTask> {
        let entered = self.content.entries.iter().filter(|entry| entry.is_entered);
        // What is mounted here goes on below.
        let keeps_change_times = self.reader.place.stat.is_some_and(|stat| stat.changed != 0);
        entered
            .map(|entry| {
                let mut stat = entry.stat;
                if !keeps_change_times {
                    stat.changed = 0;
                }
                SurveyTask {
                    path: joined(self.path(), &entry.name),
                    stat: Some(stat),
                    rules: self.content.rules.clone(),
                }
            })
            .collect()
    }
}

/// Reads a regular file, not through a link, and its inode number; `None` if it is larger than
/// `max_bytes`.
pub(super) fn read_regular(
    directory: &Dir,
    name: &OsStr,
    max_bytes: u64,
) -> io::Result<Option<(Vec<u8>, u64)>> {
    let mut options = OpenOptions::new();
    // Without `nonblock`, opening a pipe would wait for a writer.
    options.read(true).nonblock(true).follow(FollowSymlinks::No);
    let file = directory.open_with(name, &options)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() || metadata.len() > max_bytes {
        return Ok(None);
    }
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or_default() + 1);
    // It may grow while it is read.
    file.take(max_bytes.saturating_add(1))
        .read_to_end(&mut bytes)?;
    let is_whole = bytes.len() as u64 <= max_bytes;
    Ok(is_whole.then(|| (bytes, FileStat::of(&metadata).inode)))
}

/// True for a name that begins with a dot.
fn is_dotted(name: &OsStr) -> bool {
    name.as_encoded_bytes().first() == Some(&b'.')
}

/// True for `.git`, `.agent` and our own temporary files. On Windows also for names under which another
/// file would be changed: a command can create `a.`, and an undo would remove `a`.
pub(super) fn is_passed_by(name: &OsStr) -> bool {
    if !cfg!(windows) && !is_dotted(name) {
        return false;
    }
    let Some(name) = name.to_str() else {
        return false;
    };
    let is_temporary = || name.strip_prefix(TEMPORARY)?.strip_suffix(".tmp");
    is_hidden(name)
        || is_temporary().is_some()
        || cfg!(windows) && agent_protocol::is_renamed_by_windows(name)
}

impl FileStat {
    /// The metadata of an entry of a directory, without following links.
    ///
    /// A round asks for that of every file twice. The conversions of cap-std would take a seventh
    /// of that time, and a name without slashes needs none of its checks.
    #[cfg(target_os = "linux")]
    pub(super) fn in_directory(directory: &Dir, name: &OsStr) -> io::Result<Self> {
        use rustix::fs::{AtFlags, StatxFlags, statx};

        debug_assert!(
            !name.as_encoded_bytes().contains(&b'/'),
            "a name, not a path"
        );
        let wanted = StatxFlags::BASIC_STATS | StatxFlags::BTIME;
        match statx(directory, name, AtFlags::SYMLINK_NOFOLLOW, wanted) {
            Ok(stat) => Ok(Self::of_statx(&stat)),
            // Another call does the same on an old kernel, or where a filter forbids this one.
            Err(_) => Ok(Self::of(&directory.symlink_metadata(name)?)),
        }
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn in_directory(directory: &Dir, name: &OsStr) -> io::Result<Self> {
        Ok(Self::of(&directory.symlink_metadata(name)?))
    }

    #[cfg(target_os = "linux")]
    fn of_statx(stat: &rustix::fs::Statx) -> Self {
        use rustix::fs::{FileType, StatxAttributes, StatxFlags, StatxTimestamp};

        let time = |time: StatxTimestamp| nanoseconds(time.tv_sec, time.tv_nsec.into());
        let mode = u32::from(stat.stx_mode);
        let kind = match FileType::from_raw_mode(mode) {
            FileType::RegularFile => FileKind::File {
                size: stat.stx_size,
            },
            FileType::Directory => FileKind::Directory,
            FileType::Symlink => FileKind::Link,
            _ => FileKind::Special,
        };
        let has_birth = stat.stx_mask & StatxFlags::BTIME.bits() != 0;
        let is_mount = stat.stx_attributes.contains(StatxAttributes::MOUNT_ROOT);
        let keeps_change_time = !is_mount || kind != FileKind::Directory;
        Self {
            kind,
            mode: mode_to_restore(mode, kind, stat.stx_uid),
            size: stat.stx_size,
            modified: time(stat.stx_mtime),
            changed: if keeps_change_time {
                time(stat.stx_ctime)
            } else {
                0
            },
            inode: stat.stx_ino,
            links: stat.stx_nlink.into(),
            born: Some(time(stat.stx_btime)).filter(|born| has_birth && *born >= 0),
        }
    }

    #[cfg(unix)]
    pub(super) fn of(metadata: &Metadata) -> Self {
        use cap_std::fs::MetadataExt;

        let kind = kind_of(metadata);
        Self {
            kind,
            mode: mode_to_restore(metadata.mode(), kind, metadata.uid()),
            size: metadata.len(),
            modified: nanoseconds(metadata.mtime(), metadata.mtime_nsec()),
            changed: nanoseconds(metadata.ctime(), metadata.ctime_nsec()),
            inode: metadata.ino(),
            links: metadata.nlink(),
            born: born(metadata),
        }
    }

    #[cfg(not(unix))]
    pub(super) fn of(metadata: &Metadata) -> Self {
        let nanoseconds = |time: io::Result<cap_std::time::SystemTime>| {
            time.ok()
                .and_then(|time| {
                    time.into_std()
                        .duration_since(std::time::SystemTime::UNIX_EPOCH)
                        .ok()
                })
                .and_then(|since| i64::try_from(since.as_nanos()).ok())
                .unwrap_or_default()
        };
        Self {
            kind: kind_of(metadata),
            mode: mode_to_restore(metadata),
            size: metadata.len(),
            modified: nanoseconds(metadata.modified()),
            changed: nanoseconds(metadata.created()),
            inode: 0,
            links: 1,
            born: born(metadata),
        }
    }
}

fn born(metadata: &Metadata) -> Option<i64> {
    let born = metadata.created().ok()?.into_std();
    let since = born
        .duration_since(std::time::SystemTime::UNIX_EPOCH)
        .ok()?;
    i64::try_from(since.as_nanos()).ok()
}

/// The read-only attribute as permission bits.
#[cfg(not(unix))]
fn mode_to_restore(metadata: &Metadata) -> u32 {
    match (metadata.is_dir(), metadata.permissions().readonly()) {
        (true, _) => 0o755,
        (false, false) => 0o644,
        (false, true) => 0o444,
    }
}

/// The permission bits, without setuid and setgid for files of other users: a restored file belongs
/// to us and would grant our rights.
#[cfg(unix)]
fn mode_to_restore(mode: u32, kind: FileKind, owner: u32) -> u32 {
    const LENDING: u32 = 0o6000;
    let mode = mode & 0o7777;
    let is_ours = || owner == rustix::process::geteuid().as_raw();
    // Few files have these bits: the user is asked for only then.
    if mode & LENDING != 0 && matches!(kind, FileKind::File { .. }) && !is_ours() {
        mode & !LENDING
    } else {
        mode
    }
}

/// A time in nanoseconds.
#[cfg(unix)]
fn nanoseconds(seconds: i64, rest: i64) -> i64 {
    seconds.saturating_mul(1_000_000_000).saturating_add(rest)
}
