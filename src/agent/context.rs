//! Context that a message brings unasked, because the model would ask for it next.
//!
//! The first message brings the files that matter, whole, smallest first, as long as they take no
//! more than a share of what the chat accepts. A file matters if the task, the check command or its
//! failing output names it; so do the tests and sources that belong to it. Of a file that is too
//! long, the message shows the beginning and the lines that the check names, or only the name if
//! even that is too much. Of a changelog it shows only the head, and of a long script that only the
//! check names, the lines about what the check asks of it. Then come the places where names from
//! the task occur, outlines of the long files with most of them, the definitions of these names,
//! and the other files of a small workspace.
//!
//! Later messages bring the current text of a file that was edited wrongly, unless the result of
//! the edit shows it, and the lines that the output of a failed command or check names. Everything
//! is read through `workspace`; `compose` decides if there is room. `project` handles the project's
//! own instructions.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::time::Duration;

use super::Agent;
use super::project::PROJECT_NAMES;
use super::redact::{self, Redactor};
use crate::compose::{self, Content, Listing, NamedFile, places};
use crate::execute::{self, FileOutline, Limits, Mention, Shown};
use crate::protocol::generated::unread;
use crate::protocol::{CommandKind, Listed, ReadRequest, RelPath, Status, StepResult};
use crate::session::{Instructions, Session};

/// The share of what the chat takes that whole files which matter may have, in percent.
const WHOLE_SHARE: usize = 40;

/// Limit on the other files in the first message, in characters; the whole files that matter count
/// towards it.
const FIRST: usize = 10_000;

/// Files that matter and do not fit are named up to this number.
const LEFT_OUT: usize = 10;

/// How many lines are shown of the beginning of a file that matters and is too long.
const HEAD: u32 = 30;

/// The beginning of a longer file is not shown, in bytes: it was hardly written by hand.
const HUGE: u64 = 200_000;

/// In a workspace with more files than these, not all tests matter.
const FEW_FILES: usize = 40;

/// Limit on the lines where names from the task occur, in characters.
const OCCURRENCES: usize = 3_000;

/// How many files with names of the task in them are shown whole, if they fit, or in outline.
const WITH_NAMES: usize = 3;

/// Limits on the outlines of long files, in characters: on each, and on all of them.
const OUTLINE: usize = 2_000;
const OUTLINES: usize = 4_000;

/// Limit on the definitions of names from the task in long files, in characters.
const DEFINITIONS: usize = 5_000;

/// A script that only the check command names is shown in part if it is longer, in bytes.
const SCRIPT: u64 = 5_000;

/// The longest prose that comes unasked, in bytes.
const PROSE: u64 = 3_000;

/// Limit on the context of later messages, in characters, so that they stay short.
const LATER: usize = 2_500;

/// Characters that a file takes besides its contents.
const HEADER: usize = 40;

/// How long a README is that is shown of a large workspace, in bytes.
const README: u64 = 3_000;

/// How long is looked for files that have names of the task in them: before the first message, where
/// finding them saves the person a round, and before later ones.
const LOOKING_FIRST: Duration = Duration::from_secs(1);
const LOOKING: Duration = Duration::from_millis(300);

/// How many lines are shown above and below a place.
const AROUND: u32 = 6;

/// How many places are shown.
const PLACES: usize = 5;

/// Limit on the beginnings of long files that the task names, in characters. It is generous,
/// because the model would read these files next anyway.
const NAMED: usize = 20_000;

/// Context that a message brings unasked.
#[derive(Debug, Default)]
pub(super) struct Unasked {
    /// The files that the task names, or their first lines.
    pub(super) named: Vec<Content>,
    /// Other context that may be useful.
    pub(super) other: Vec<Content>,
}

/// Gathers excerpts until the budget is used up.
struct Gathering<'a, 'r> {
    agent: &'a Agent,
    redactor: &'a mut Redactor<'r>,
    /// With no limit on lines where whole files are meant.
    limits: Limits,
    left: usize,
    found: Vec<(RelPath, Shown)>,
}

/// The outcome of trying to show a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum GatherResult {
    /// It is there.
    Shown,
    /// It is empty, or no text.
    Nothing,
    /// It is too long.
    TooLong,
}

impl Gathering<'_, '_> {
    /// Adds a file or some lines of it, if they fit as a whole.
    fn add(&mut self, request: &ReadRequest) -> GatherResult {
        let (agent, redactor) = (self.agent, &mut *self.redactor);
        let mut veil = |path: &RelPath, text| redactor.file(path, text);
        let shown = execute::read_file(&agent.workspace, request, &self.limits, &mut veil);
        if shown.contents.is_empty() && shown.contents.omitted == 0 {
            return GatherResult::Nothing;
        }
        let size = shown.contents.text.chars().count() + HEADER;
        let is_whole = shown.contents.omitted == 0 && !shown.has_cut_lines;
        if !is_whole || size > self.left {
            return GatherResult::TooLong;
        }
        self.left -= size;
        self.found.push((request.path.clone(), shown));
        GatherResult::Shown
    }

    /// Adds a whole file, unless some of it is there.
    fn add_file(&mut self, path: &RelPath) -> GatherResult {
        if self.has(path) {
            return GatherResult::Shown;
        }
        self.add(&whole(path))
    }

    fn has(&self, path: &RelPath) -> bool {
        self.found.iter().any(|(known, _)| known == path)
    }

    /// Takes the files found since the last call, as they are shown.
    fn take(&mut self) -> Vec<(RelPath, Content)> {
        let found = std::mem::take(&mut self.found).into_iter();
        found
            .map(|(path, shown)| (path, redact::content(shown)))
            .collect()
    }
}

/// A request for all of a file.
pub(super) fn whole(path: &RelPath) -> ReadRequest {
    ReadRequest {
        path: path.clone(),
        start_line: None,
        end_line: None,
        numbered: false,
        step: 0,
    }
}

/// Finds what a message brings unasked.
#[derive(Debug)]
pub(super) struct ContextFinder<'a> {
    pub(super) agent: &'a Agent,
    pub(super) session: &'a Session,
}

impl ContextFinder<'_> {
    /// Collects the unasked context for this message; `mentions` are the places of names from the
    /// task.
    pub(super) fn unasked(
        &self,
        listing: &Listing,
        named: &[NamedFile<'_>],
        mentions: &[Mention],
        redactor: &mut Redactor<'_>,
    ) -> Unasked {
        if self.session.sequence_number == 1 {
            return self.first_unasked(listing, named, mentions, redactor);
        }
        let mut gathering = Gathering {
            agent: self.agent,
            redactor,
            limits: self.agent.limits.clone(),
            left: LATER,
            found: Vec::new(),
        };
        self.after_failures(listing, &mut gathering);
        let other = gathering.take().into_iter();
        Unasked {
            named: Vec::new(),
            other: other.map(|(_, content)| content).collect(),
        }
    }

    fn first_unasked(
        &self,
        listing: &Listing,
        named: &[NamedFile<'_>],
        mentions: &[Mention],
        redactor: &mut Redactor<'_>,
    ) -> Unasked {
        let is_offered =
            |path: &RelPath| unread(path).is_none() && !PROJECT_NAMES.contains(&path.file_name());
        let named = named.iter().map(|(_, path)| *path);
        let named: Vec<&RelPath> = named.filter(|path| is_offered(path)).collect();
        let room = self.whole_room();
        let mut gathering = Gathering {
            agent: self.agent,
            redactor,
            limits: Limits {
                max_read_lines: u32::MAX,
                ..self.agent.limits.clone()
            },
            left: room,
            found: Vec::new(),
        };
        let offered = self.mattering(listing, &named).into_iter();
        let offered = offered.filter(|file| is_offered(&file.path));
        let too_long = self.add_mattering(offered, &named, &mut gathering);
        let (whole_named, mut other): (Vec<_>, Vec<_>) =
            (gathering.take().into_iter()).partition(|(path, _)| named.contains(&path));
        let mut known: BTreeSet<RelPath> = (whole_named.iter().chain(&other))
            .map(|(path, _)| path.clone())
            .collect();
        gathering.left = FIRST.saturating_sub(room - gathering.left);
        let (cut, too_long): (Vec<_>, Vec<_>) =
            (too_long.into_iter()).partition(|path| named.contains(path));
        let long_named: Vec<RelPath> = cut.iter().map(|path| (*path).clone()).collect();
        let cut = self.first_lines(&cut, gathering.redactor);
        self.parts_of(&too_long, listing, &mut gathering);
        let parts = gathering.take();
        let unread = too_long.iter().filter(|path| {
            let is_shown = |(known, _): &(RelPath, Content)| known == **path;
            !parts.iter().any(is_shown)
        });
        let unread: Vec<Content> = (unread.take(LEFT_OUT))
            .map(|path| Content::unread(path.quoted().into_owned()))
            .collect();
        known.extend(parts.iter().map(|(path, _)| path.clone()));
        other.extend(parts);
        Self::other_files(listing, mentions, &known, &mut gathering);
        other.extend(gathering.take());
        let shown: BTreeSet<&RelPath> = (known.iter())
            .chain(other.iter().map(|(path, _)| path))
            .collect();
        let occurrences = occurrences(mentions, &shown);
        let (outlines, definitions) = self.outlines(&long_named, mentions, &shown);
        gathering.left = DEFINITIONS;
        for request in &definitions {
            gathering.add(request);
        }
        let definitions = gathering.take();
        let other = definitions.into_iter().chain(other);
        let other = other.map(|(_, content)| content);
        Unasked {
            named: (whole_named.into_iter().map(|(_, content)| content))
                .chain(cut)
                .collect(),
            other: (occurrences.into_iter())
                .chain(outlines)
                .chain(other)
                .chain(unread)
                .collect(),
        }
    }

    /// Adds files that matter, whole but for changelogs and long scripts; returns those that are too
    /// long.
    fn add_mattering<'l>(
        &self,
        files: impl Iterator<Item = &'l Listed>,
        named: &[&RelPath],
        gathering: &mut Gathering<'_, '_>,
    ) -> Vec<&'l RelPath> {
        let mut too_long = Vec::new();
        for file in files {
            let path = &file.path;
            let requests = if compose::is_changelog(path) && file.size > PROSE {
                vec![head(path)]
            } else if self.is_long_script(file, named) {
                around(path, &self.lines_of_script(path))
            } else {
                vec![whole(path)]
            };
            let results = requests.iter().map(|request| gathering.add(request));
            if results.max() == Some(GatherResult::TooLong) {
                too_long.push(path);
            }
        }
        too_long
    }

    /// Returns how many characters the whole files that matter may take.
    fn whole_room(&self) -> usize {
        /// In most texts a token has more of them.
        const CHARACTERS_PER_TOKEN: usize = 3;
        let carriage = self.agent.manner.carriage;
        let tokens = (carriage.limit.tokens).saturating_mul(CHARACTERS_PER_TOKEN);
        let room = carriage.limit.characters.min(tokens) / 100 * WHOLE_SHARE;
        // Where a paste holds little, several come anyway, and a file in pieces costs a round more.
        room.max(FIRST.min(carriage.most_characters() / 100 * WHOLE_SHARE))
    }

    /// The files that matter, the smallest first.
    fn mattering<'l>(&self, listing: &'l Listing, named: &[&'l RelPath]) -> Vec<&'l Listed> {
        let mut paths: BTreeSet<&RelPath> = named.iter().copied().collect();
        if let Some(check) = &self.agent.manner.check {
            paths.extend(compose::named_in(&check.command, listing));
        }
        if let Some(output) = self.output_of_check() {
            let root = format!("{}/", self.agent.workspace.path().display());
            paths.extend(compose::named_in(&output.replace(&root, ""), listing));
            let places = places(output).into_iter();
            let resolved: BTreeSet<RelPath> = places
                .filter_map(|place| self.resolve(&place.path, listing))
                .collect();
            let listed = listing.files.iter().map(|file| &file.path);
            paths.extend(listed.filter(|path| resolved.contains(*path)));
        }
        let companions = compose::companions(listing, &paths);
        paths.extend(companions);
        if listing.files.len() <= FEW_FILES {
            paths.extend(compose::tests_and_sources(listing));
        }
        let files = listing.files.iter();
        let mut files: Vec<&Listed> = files.filter(|file| paths.contains(&file.path)).collect();
        files.sort_by_key(|file| file.size);
        files
    }

    /// The first lines of files that the task names.
    fn first_lines(&self, paths: &[&RelPath], redactor: &mut Redactor<'_>) -> Vec<Content> {
        let requests: Vec<ReadRequest> = paths.iter().map(|path| whole(path)).collect();
        let agent = self.agent;
        let mut veil = |path: &RelPath, text| redactor.file(path, text);
        compose::gather(&requests, NAMED, |request| {
            let (workspace, limits) = (&agent.workspace, &agent.limits);
            redact::content(execute::read_file(workspace, request, limits, &mut veil))
        })
    }

    /// The beginning of files, with imports and declarations, and the lines that the check names.
    fn parts_of(&self, paths: &[&RelPath], listing: &Listing, gathering: &mut Gathering<'_, '_>) {
        let is_wanted = |path: &RelPath| paths.contains(&path);
        let mut places = self.named_places(self.output_of_check(), listing, is_wanted);
        let is_huge = |path: &RelPath| {
            let at = listing.files.binary_search_by(|file| file.path.cmp(path));
            at.is_ok_and(|at| listing.files[at].size > HUGE)
        };
        for path in paths {
            let mut lines = places.remove(*path).unwrap_or_default();
            if lines.is_empty() && is_huge(path) {
                continue;
            }
            lines.extend(head_lines());
            for request in around(path, &lines) {
                gathering.add(&request);
            }
        }
    }

    /// True for a long file that is no test, and that only the check command names.
    fn is_long_script(&self, file: &Listed, named: &[&RelPath]) -> bool {
        const EXTENSIONS: [&str; 8] = ["sh", "bash", "zsh", "fish", "mk", "bat", "cmd", "ps1"];
        let path = &file.path;
        let extension = (path.file_name().rsplit_once('.')).map(|(_, extension)| extension);
        let is_script = extension.is_none_or(|extension| EXTENSIONS.contains(&extension));
        let is_of_check = || {
            let check = self.agent.manner.check.as_ref();
            check.is_some_and(|check| check.command.contains(path.file_name()))
        };
        file.size > SCRIPT && is_script && !named.contains(&path) && is_of_check()
    }

    /// The beginning of a script, and the first lines that have a word of the check command.
    fn lines_of_script(&self, path: &RelPath) -> BTreeSet<u32> {
        const MAX_BYTES: u64 = 1 << 20;
        const SHORTEST: usize = 3;
        let mut lines: BTreeSet<u32> = head_lines().collect();
        let Some(check) = &self.agent.manner.check else {
            return lines;
        };
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
        let words: BTreeSet<&str> = (check.command.split_whitespace())
            .filter(|word| !word.contains(path.file_name()))
            .flat_map(|word| word.split(|c| !is_part(c)))
            .map(|word| word.trim_matches('-'))
            .filter(|word| word.len() >= SHORTEST)
            .collect();
        let bytes = self
            .agent
            .workspace
            .read(path, MAX_BYTES)
            .unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        let has_word = |(_, line): &(u32, &str)| {
            line.split(|c| !is_part(c))
                .any(|word| words.contains(word.trim_matches('-')))
        };
        let found = (1_u32..).zip(text.lines()).filter(has_word);
        lines.extend(found.map(|(number, _)| number).take(PLACES));
        lines
    }

    /// Outlines of the files that the task names and of those with most of its names, as far as they
    /// are not shown whole; those first in which the names are defined. Also requests for the lines of
    /// these definitions.
    fn outlines(
        &self,
        named: &[RelPath],
        mentions: &[Mention],
        shown: &BTreeSet<&RelPath>,
    ) -> (Vec<Content>, Vec<ReadRequest>) {
        let lines_of = |path: &RelPath| -> BTreeSet<usize> {
            let mention = mentions.iter().find(|mention| mention.path == *path);
            mention.map_or_else(BTreeSet::new, |mention| {
                mention.lines.keys().copied().collect()
            })
        };
        let mentioned = mentions.iter().map(|mention| &mention.path);
        let mentioned = mentioned.filter(|path| !shown.contains(path) && !named.contains(path));
        let outline = |path| {
            let workspace = &self.agent.workspace;
            let outline = execute::outline_of_file(workspace, path, &lines_of(path), OUTLINE)?;
            Some((path, outline))
        };
        let candidates = named.iter().chain(mentioned).take(2 * WITH_NAMES);
        let mut found: Vec<(&RelPath, FileOutline)> = candidates.filter_map(outline).collect();
        found
            .sort_by_key(|(path, outline)| (!named.contains(path), outline.definitions.is_empty()));
        found.truncate(WITH_NAMES);
        let requests = (found.iter())
            .flat_map(|(path, outline)| outline.definitions.iter().map(move |lines| (path, lines)))
            .filter_map(|(path, (first, last))| {
                Some(ReadRequest {
                    start_line: Some(u32::try_from(*first).ok()?),
                    end_line: Some(u32::try_from(*last).ok()?),
                    numbered: true,
                    ..whole(path)
                })
            })
            .collect();
        let mut left = OUTLINES;
        let fits = |(_, outline): &(&RelPath, FileOutline)| {
            let rest = left.checked_sub(outline.text.chars().count());
            left = rest.unwrap_or(left);
            rest.is_some()
        };
        let content = |(_, outline): (&RelPath, FileOutline)| Content {
            title: format!("Outline of {}", outline.header),
            lines: None,
            text: outline.text.into(),
            sighting: None,
        };
        let outlines = found.into_iter().filter(fits).map(content).collect();
        (outlines, requests)
    }

    /// The files with names of the task in them: all of them for a large listing or the first message.
    pub(super) fn mentions(&self, now: &Listing, before: Option<&Listing>) -> Vec<Mention> {
        let Agent {
            workspace, limits, ..
        } = self.agent;
        let is_first = self.session.sequence_number == 1;
        let is_large = now.files.len() > limits.max_list_items as usize;
        if before.is_some() || !(is_first || is_large) {
            return Vec::new();
        }
        let words = compose::identifiers(&self.session.task);
        // What is generated, or made by the check, is not listed.
        let is_listed = |path: &RelPath| {
            let found = now.files.binary_search_by(|file| file.path.cmp(path));
            found.is_ok()
        };
        let time = if is_first { LOOKING_FIRST } else { LOOKING };
        let mut mentions = execute::mentions(workspace, &words, &is_listed, time);
        mentions.sort_by_key(|mention| compose::is_beside_sources(&mention.path));
        mentions
    }

    /// Files with names of the task in them, a short README, and all of a small workspace.
    fn other_files(
        listing: &Listing,
        mentions: &[Mention],
        known: &BTreeSet<RelPath>,
        gathering: &mut Gathering<'_, '_>,
    ) {
        let with_names = mentions.iter().map(|mention| &mention.path);
        let mut paths: Vec<&RelPath> = with_names.take(WITH_NAMES).collect();
        let short = listing.files.iter().filter(|file| is_short_readme(file));
        paths.extend(short.map(|file| &file.path));
        paths.extend(of_small(listing, FIRST));
        for path in paths {
            let is_instructions = PROJECT_NAMES.contains(&path.file_name());
            if unread(path).is_none() && !is_instructions && !known.contains(path) {
                gathering.add_file(path);
            }
        }
    }

    /// The files of failed edits, and the places that failed commands name.
    fn after_failures(&self, listing: &Listing, gathering: &mut Gathering<'_, '_>) {
        let asked: BTreeSet<&RelPath> = (self.session.read_file_requests.iter())
            .map(|request| &request.path)
            .collect();
        let mut known = BTreeSet::new();
        let failed = (self.session.last_results.iter())
            .filter(|result| result.outcome.status == Status::Failed);
        let (runs, edits): (Vec<&StepResult>, Vec<&StepResult>) =
            failed.partition(|result| result.is_run());
        for result in edits {
            let is_edit = result.is(CommandKind::EditFile) || result.is(CommandKind::InsertText);
            let shows_lines = !result.outcome.excerpts.is_empty();
            let path = RelPath::parse(&result.subject).ok();
            let path = path.filter(|_| is_edit && !shows_lines);
            if let Some(path) = path.filter(|path| !asked.contains(path))
                && known.insert(path.clone())
            {
                let _ = gathering.add_file(&path);
            }
        }
        let printed = runs.iter().map(|run| run.outcome.detail.text.as_str());
        let outputs = self.output_of_check().into_iter().chain(printed);
        let is_news = |path: &RelPath| !asked.contains(path) && !known.contains(path);
        for (path, lines) in self.named_places(outputs, listing, is_news) {
            for request in around(&path, &lines) {
                gathering.add(&request);
            }
        }
    }

    /// Returns the output of a failed check, unless the chat has seen it already.
    fn output_of_check(&self) -> Option<&str> {
        let report = self.session.check.as_ref()?;
        let is_told = report.when.is_told() && self.session.instructions == Instructions::Reminder;
        let is_news = report.outcome.status == Status::Failed && !is_told;
        is_news.then_some(report.outcome.detail.text.as_str())
    }

    /// The first places that these outputs name, by their files.
    fn named_places<'t>(
        &self,
        outputs: impl IntoIterator<Item = &'t str>,
        listing: &Listing,
        is_wanted: impl Fn(&RelPath) -> bool,
    ) -> BTreeMap<RelPath, BTreeSet<u32>> {
        let places = outputs.into_iter().flat_map(places);
        let found =
            places.filter_map(|place| Some((self.resolve(&place.path, listing)?, place.line)));
        let (mut lines, mut count) = (BTreeMap::<RelPath, BTreeSet<u32>>::new(), 0);
        for (path, line) in found.filter(|(path, _)| is_wanted(path)) {
            count += usize::from(lines.entry(path).or_default().insert(line));
            if count == PLACES {
                break;
            }
        }
        lines
    }

    /// The file of the workspace that an output means; nothing if it is not clear.
    fn resolve(&self, written: &str, listing: &Listing) -> Option<RelPath> {
        let root = self.agent.workspace.path().to_string_lossy();
        let written = written.strip_prefix(root.as_ref()).unwrap_or(written);
        let written = written.trim_start_matches(['/', '\\']).replace('\\', "/");
        let path = RelPath::parse(written.trim_start_matches("./")).ok()?;
        let is_listed = |path: &RelPath| {
            let found = listing.files.binary_search_by(|file| file.path.cmp(path));
            found.is_ok()
        };
        if is_listed(&path) {
            return Some(path);
        }
        // Named from another directory, or only by its name, as in a stack trace of Java.
        let ending = format!("/{path}");
        let mut fitting = listing
            .files
            .iter()
            .filter(|file| file.path.as_str().ends_with(&ending));
        let only = fitting.next()?;
        fitting.next().is_none().then(|| only.path.clone())
    }
}

/// The files of a small workspace, the shortest first; none of one of whose files most do not fit.
fn of_small(listing: &Listing, room: usize) -> Vec<&RelPath> {
    let is_offered =
        |file: &&Listed| file.size > 0 && unread(&file.path).is_none() && !gives_way(file);
    // Of more files, most do not fit, whatever their sizes.
    let most = 2 * (room / HEADER);
    let files = listing.files.iter().filter(is_offered);
    let mut files: Vec<&Listed> = files.take(most + 1).collect();
    if files.len() > most {
        return Vec::new();
    }
    files.sort_by_key(|file| file.size);
    let mut left = room as u64;
    let fits = |file: &&&Listed| {
        let rest = left.checked_sub(file.size.saturating_add(HEADER as u64));
        left = rest.unwrap_or_default();
        rest.is_some()
    };
    let fitting = files.iter().take_while(fits).count();
    if fitting * 2 < files.len() {
        return Vec::new();
    }
    files.iter().map(|file| &file.path).take(fitting).collect()
}

/// True for files that tell little about a task: licences, dotfiles, long prose.
fn gives_way(file: &Listed) -> bool {
    const NAMES: [&str; 7] = [
        "license",
        "licence",
        "copying",
        "notice",
        "authors",
        "changelog",
        "codeowners",
    ];
    let path = file.path.as_str();
    let (stem, extension) =
        (file.path.file_name().rsplit_once('.')).unwrap_or((file.path.file_name(), ""));
    let stem = stem.to_ascii_lowercase();
    let is_prose = matches!(extension, "md" | "rst" | "txt" | "adoc");
    path.split('/').any(|name| name.starts_with('.'))
        || NAMES.iter().any(|name| stem.starts_with(name))
        || (is_prose && file.size > PROSE)
}

/// Where names of the task occur, by file, but for files that are shown.
fn occurrences(mentions: &[Mention], shown: &BTreeSet<&RelPath>) -> Option<Content> {
    let mut text = String::new();
    for mention in mentions
        .iter()
        .filter(|mention| !shown.contains(&mention.path))
    {
        let mut lines = format!("{}\n", mention.path);
        for (number, line) in &mention.lines {
            let _ = writeln!(lines, "  {number}: {line}");
        }
        if text.chars().count() + lines.chars().count() > OCCURRENCES {
            break;
        }
        text.push_str(&lines);
    }
    (!text.is_empty()).then(|| Content {
        title: "Where names of the task occur".to_owned(),
        lines: None,
        text: text.into(),
        sighting: None,
    })
}

/// Returns true for a short README in the root: it says what the project is and how it is tested.
fn is_short_readme(file: &Listed) -> bool {
    let path = file.path.as_str();
    let is_readme = |name: &str| name.eq_ignore_ascii_case("readme");
    path.get(..6).is_some_and(is_readme) && file.size <= README && !path.contains('/')
}

/// Lines around which the beginning of a file lies.
fn head_lines() -> impl Iterator<Item = u32> {
    (1..=HEAD).step_by(AROUND as usize)
}

/// A request for the beginning of a file.
fn head(path: &RelPath) -> ReadRequest {
    ReadRequest {
        start_line: Some(1),
        end_line: Some(HEAD),
        ..whole(path)
    }
}

/// The lines around these, joined where they touch.
fn around(path: &RelPath, lines: &BTreeSet<u32>) -> Vec<ReadRequest> {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for line in lines {
        let (start, end) = (
            line.saturating_sub(AROUND).max(1),
            line.saturating_add(AROUND),
        );
        match ranges.last_mut() {
            Some((_, last)) if start <= last.saturating_add(1) => *last = end,
            _ => ranges.push((start, end)),
        }
    }
    let request = |(start, end)| ReadRequest {
        start_line: Some(start),
        end_line: Some(end),
        numbered: true,
        ..whole(path)
    };
    ranges.into_iter().map(request).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_readme_at_the_top_comes_with_the_first_message() {
        let file = |path: &str, size| Listed::of_size(RelPath::parse(path).unwrap(), size);
        assert!(is_short_readme(&file("README.md", 100)));
        assert!(is_short_readme(&file("readme", 100)));
        assert!(!is_short_readme(&file("README.md", 100_000)));
        assert!(!is_short_readme(&file("lib/README.md", 100)));
        assert!(!is_short_readme(&file("reader.py", 100)));
    }

    #[test]
    fn a_workspace_is_small_by_its_characters_not_by_its_files() {
        let of_sizes = |sizes: &[(usize, u64)]| {
            let sizes = sizes.iter().flat_map(|(count, size)| vec![*size; *count]);
            let path = |number| RelPath::parse(&format!("f{number:04}.py")).unwrap();
            let file = |(number, size): (usize, u64)| Listed::of_size(path(number), size);
            let listing = Listing {
                files: std::sync::Arc::new(sizes.enumerate().map(file).collect()),
                ..Listing::default()
            };
            of_small(&listing, 10_000).len()
        };
        assert_eq!(of_sizes(&[(44, 10)]), 44);
        assert_eq!(of_sizes(&[(1, 9_000)]), 1);
        // One that is large does not keep the others back.
        assert_eq!(of_sizes(&[(4, 1_000), (1, 300_000)]), 4);
        assert_eq!(of_sizes(&[(20, 5_000)]), 0);
        assert_eq!(of_sizes(&[(20, 100), (200, 5_000)]), 0);
        // Empty files tell nothing.
        assert_eq!(of_sizes(&[(500, 0), (2, 100)]), 2);
        assert_eq!(of_sizes(&[]), 0);
    }

    #[test]
    fn neighbouring_places_are_shown_together() {
        let path = RelPath::parse("a.rs").unwrap();
        let ranges: Vec<_> = around(&path, &[3, 10, 100].into())
            .iter()
            .map(|request| (request.start_line.unwrap(), request.end_line.unwrap()))
            .collect();
        assert_eq!(ranges, [(1, 16), (94, 106)]);
    }
}
