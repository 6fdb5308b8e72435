//! What a message brings unasked, because the model would ask for it next.
//!
//! With the first message: the files that the task names, or their first lines, and those of a small
//! workspace. With later ones: the current text of a file that was edited wrongly, unless the result
//! of the edit shows it. With every one: the lines that the output of a failed command or check
//! names. All of it is read through `workspace`, and all of it is within a budget; whether there is
//! room is decided in `compose`. What the project says about working on it is left to `project`.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::conceal::{self, Concealed};
use super::project::PROJECT_NAMES;
use super::{Agent, Conversation};
use crate::compose::{self, Content, Listed, Listing, places};
use crate::execute::{self, Shown};
use crate::protocol::generated::unread;
use crate::protocol::{ReadRequest, RelPath, Status, StepResult};
use crate::session::Instructions;

/// What the first message shows of files at most, in characters.
const FIRST: usize = 10_000;

/// What a later one shows at most, so that it stays short.
const LATER: usize = 2_500;

/// What a file takes beside its contents, in characters.
const HEADER: usize = 40;

/// How long a README is that is shown of a large workspace, in bytes.
const README: u64 = 3_000;

/// How long is looked for files that have rare words of the task in them.
const LOOKING: Duration = Duration::from_millis(100);

/// How many lines are shown above and below a place.
const AROUND: u32 = 6;

/// How many places are shown.
const PLACES: usize = 5;

/// How long a file is that is shown as a whole where the first check names it, in bytes.
const SHORT: u64 = 3_000;

/// What the first one shows at most of files that the task names, in characters: they are read next
/// in any case.
const NAMED: usize = 20_000;

/// What a message brings unasked.
#[derive(Debug, Default)]
pub(super) struct Unasked {
    /// The files that the task names, or their first lines.
    pub(super) named: Vec<Content>,
    /// What else may be of use.
    pub(super) other: Vec<Content>,
}

/// Gathers excerpts until the budget is used up.
struct Gathering<'a> {
    agent: &'a Agent,
    concealed: &'a mut Concealed,
    left: usize,
    found: Vec<(RelPath, Shown)>,
}

impl Gathering<'_> {
    /// Adds a file or some lines of it, if they fit as a whole.
    fn add(&mut self, request: &ReadRequest) {
        let Agent {
            workspace, limits, ..
        } = self.agent;
        let (agent, concealed) = (self.agent, &mut *self.concealed);
        let mut veil = |path: &RelPath, text| concealed.file(agent, path, text);
        let shown = execute::read_file(workspace, request, limits, &mut veil);
        let size = shown.contents.text.chars().count() + HEADER;
        let is_whole = shown.contents.omitted == 0 && !shown.has_cut_lines;
        if shown.contents.is_empty() || !is_whole || size > self.left {
            return;
        }
        self.left -= size;
        self.found.push((request.path.clone(), shown));
    }

    /// Adds a whole file, unless some of it is there.
    fn add_file(&mut self, path: &RelPath) {
        if !self.found.iter().any(|(known, _)| known == path) {
            self.add(&whole(path));
        }
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

impl Conversation<'_> {
    /// What this message brings unasked.
    pub(super) fn unasked(&mut self, listing: &Listing) -> Unasked {
        let is_first = self.session.sequence_number == 1;
        let mut concealed = std::mem::take(&mut self.concealed);
        let named = if is_first {
            self.named_files(listing, &mut concealed)
        } else {
            Vec::new()
        };
        let used: usize = (named.iter())
            .map(|(_, content)| content.text.text.chars().count())
            .sum();
        let mut gathering = Gathering {
            agent: self.agent,
            concealed: &mut concealed,
            left: if is_first {
                FIRST.saturating_sub(used)
            } else {
                LATER
            },
            found: Vec::new(),
        };
        if is_first {
            self.named_by_first_check(listing, &named, &mut gathering);
            self.first_files(listing, &named, &mut gathering);
        } else {
            self.after_failures(listing, &mut gathering);
        }
        let other = gathering.found.into_iter();
        let other = other.map(|(_, shown)| conceal::content(shown)).collect();
        self.concealed = concealed;
        Unasked {
            named: named.into_iter().map(|(_, content)| content).collect(),
            other,
        }
    }

    /// The files that the task names, the first lines of those that are long.
    fn named_files(&self, listing: &Listing, concealed: &mut Concealed) -> Vec<(RelPath, Content)> {
        let is_shown =
            |path: &&&RelPath| unread(path).is_none() && !PROJECT_NAMES.contains(&path.file_name());
        let paths = compose::named(&self.session, listing);
        let requests: Vec<ReadRequest> = (paths.iter().filter(is_shown))
            .map(|path| whole(path))
            .collect();
        let agent = self.agent;
        let mut veil = |path: &RelPath, text| concealed.file(agent, path, text);
        let contents = compose::gather(&requests, NAMED, |request| {
            let (workspace, limits) = (&agent.workspace, &agent.limits);
            conceal::content(execute::read_file(workspace, request, limits, &mut veil))
        });
        let paths = requests.into_iter().map(|request| request.path);
        let found = paths.zip(contents);
        // An empty or a binary one has nothing to show.
        found.filter(|(_, content)| !content.is_bare()).collect()
    }

    /// The files with rare words of the task in them, if the whole of a large listing is shown.
    pub(super) fn mentions(&self, now: &Listing, before: Option<&Listing>) -> Vec<RelPath> {
        let Agent {
            workspace, limits, ..
        } = self.agent;
        if before.is_some() || now.files.len() <= limits.max_list_items as usize {
            return Vec::new();
        }
        let words = compose::identifiers(&self.session.task);
        execute::mentions(workspace, &words, LOOKING)
    }

    /// What the words of the task may mean, and all of a small workspace.
    fn first_files(
        &self,
        listing: &Listing,
        named: &[(RelPath, Content)],
        gathering: &mut Gathering<'_>,
    ) {
        let mut paths = compose::suggested(&self.session, listing);
        let short = listing.files.iter().filter(|file| is_short_readme(file));
        paths.extend(short.map(|file| &file.path));
        paths.extend(of_small(listing, FIRST));
        let mut known: BTreeSet<&RelPath> = named.iter().map(|(path, _)| path).collect();
        for path in paths {
            let is_instructions = PROJECT_NAMES.contains(&path.file_name());
            if unread(path).is_none() && !is_instructions && known.insert(path) {
                gathering.add_file(path);
            }
        }
    }

    /// The files of failed edits, and the places that failed commands name.
    fn after_failures(&self, listing: &Listing, gathering: &mut Gathering<'_>) {
        let asked: BTreeSet<&RelPath> = (self.session.read_file_requests.iter())
            .map(|request| &request.path)
            .collect();
        let mut known = BTreeSet::new();
        let failed = (self.session.last_results.iter())
            .filter(|result| result.outcome.status == Status::Failed);
        let (runs, edits): (Vec<&StepResult>, Vec<&StepResult>) =
            failed.partition(|result| result.command == "RUN_COMMAND");
        for result in edits {
            let is_edit = matches!(result.command.as_str(), "EDIT_FILE" | "INSERT_TEXT");
            let shows_lines = !result.outcome.excerpts.is_empty();
            let path = RelPath::parse(&result.subject).ok();
            let path = path.filter(|_| is_edit && !shows_lines);
            if let Some(path) = path.filter(|path| !asked.contains(path))
                && known.insert(path.clone())
            {
                gathering.add_file(&path);
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

    /// The files that the check named before any change: the short ones, and the lines of others.
    fn named_by_first_check(
        &self,
        listing: &Listing,
        named: &[(RelPath, Content)],
        gathering: &mut Gathering<'_>,
    ) {
        let outputs = self.output_of_check();
        let is_shown =
            |path: &RelPath| (named.iter()).any(|(known, one)| known == path && one.is_complete());
        let is_readable = |path: &RelPath| unread(path).is_none() && !is_shown(path);
        for (path, lines) in self.named_places(outputs, listing, is_readable) {
            let is_short = |file: &Listed| file.path == path && file.size <= SHORT;
            if listing.files.iter().any(is_short) {
                gathering.add_file(&path);
                continue;
            }
            for request in around(&path, &lines) {
                gathering.add(&request);
            }
        }
    }

    /// What the check printed that fails, as far as the chat has not been told before.
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
    let is_offered = |file: &&Listed| file.size > 0 && unread(&file.path).is_none();
    let mut files: Vec<&Listed> = listing.files.iter().filter(is_offered).collect();
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

/// Whether a file says at the top what the project is and how it is tested, in few words.
fn is_short_readme(file: &Listed) -> bool {
    let path = file.path.as_str();
    let is_readme = |name: &str| name.eq_ignore_ascii_case("readme");
    path.get(..6).is_some_and(is_readme) && file.size <= README && !path.contains('/')
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
        let file = |path: &str, size| Listed {
            path: RelPath::parse(path).unwrap(),
            size,
            modified: 0,
            is_link: false,
        };
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
            let file = |(number, size)| Listed {
                path: RelPath::parse(&format!("f{number:04}.py")).unwrap(),
                size,
                modified: 0,
                is_link: false,
            };
            let listing = Listing {
                files: sizes.enumerate().map(file).collect(),
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
