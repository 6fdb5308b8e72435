//! Files that are shown: code blocks under an unmistakable path.
//!
//! Its lines are content, whatever they look like: no dialect looks into them, unless the
//! block is an edit of that file from its first line on. Tags count there as everywhere. A block
//! that is an edit or a call for something else is neither written nor done.

use std::cell::LazyCell;

use agent_protocol::{Command, RelPath};

use crate::candidate::{BlockCandidate, BlockTrouble, CandidateItem, ReplyOffer};
use crate::carried_out::ShownWork;
use crate::code_fence::{self, Fence};
use crate::line::{begins_with, ends_with_colon, has_word, is_blank_or_fence};
use crate::recognise::other::begins_edit;
use crate::scan::{OpenBlock, Scan, UnclearBlock, UnclearReason};
use crate::tags::copy_button;
use crate::trim::{is_blank, trim, trim_end};
use crate::whole_file::{self, FileBlock, FileBlockEnd, NamedBlock};
use crate::{
    diff, file_name, json, patch, program, script, search_replace, undone, work, workspace_root,
};

/// Languages in which a block of code is no place for a call.
const PROGRAMS: &str = "bash c cpp cs csharp go html java javascript js kotlin lua php py python rb \
                        rs ruby rust sh shell swift ts typescript";

/// Languages of blocks that are scripts for a shell, and of those that may be its output too.
const SHELLS: &str = "bash sh shell zsh fish bat cmd powershell pwsh ps1";
const SESSIONS: &str = "console terminal text";

/// Words above a script that tell the person what to do with it.
pub(crate) const PERSON: &str = "if later locally optionally you your yourself";

/// First words above a script that is to be used: `Run it with:`, `To start it:`.
const USES: &str = "run to try usage";

/// Words above a program that only explains something.
const EXAMPLES: &str = "demo e.g example examples how instance sample snippet usage";

/// Words with which the model says that it runs a script now.
const OWN_WORK: &str = "i run |i'll run |i will run |i install |i'll install |let me run |\
    let me install |now i run |running |installing ";

/// Extensions of files that hold diffs, and of those that hold JSON.
const DIFF_FILES: &str = "diff patch";
const JSON_FILES: &str = "json json5 jsonc jsonl ndjson ipynb";

/// The text that an edit is part of in its code block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum QuotedIn {
    /// A string or a here-document: certainly content.
    Text,
    /// A program, or what says so.
    Program,
}

/// A code block that is not looked into.
pub(crate) struct ShownBlock {
    pub(crate) content: ShownContent,
    /// The line below it.
    pub(crate) end: usize,
}

/// The content of such a block.
pub(crate) enum ShownContent {
    /// The file of this name.
    File(String),
    /// A file whose block does not end.
    Cut(String),
    /// Something that is neither written nor done.
    Unclear(UnclearBlock),
    /// A script that writes files, or a diff that says no place.
    Script(Vec<ReplyOffer>),
}

/// The block to be left alone that begins with the fence on a line.
pub(crate) fn find(scan: &Scan<'_>, at: usize, fence: &Fence<'_>) -> Option<ShownBlock> {
    let after = scan.code.after.max(scan.free_from);
    if let Some(named) = whole_file::named(&scan.lines, at, after, fence) {
        return file(scan, at, fence, &named);
    }
    if fence.is_frame() || !scan.known.is_patient() {
        return None;
    }
    let (lines, end) = block_lines(scan, at, fence)?;
    let mut offers = script(scan, at, fence, lines);
    if offers.is_empty() {
        offers = program(scan, at, fence, lines);
    }
    offers.extend(headless_diff(at, fence, lines));
    (!offers.is_empty()).then_some(ShownBlock {
        content: ShownContent::Script(offers),
        end,
    })
}

/// The file that the fence here begins to show under its name; none if the block is an edit of it.
fn file<'a>(
    scan: &Scan<'a>,
    at: usize,
    fence: &Fence<'a>,
    named: &NamedBlock<'a>,
) -> Option<ShownBlock> {
    let name = named.text;
    let outermost = scan.code.open.first();
    let limit = outermost.map(|open| open.last_close(&scan.lines));
    let limit = limit.filter(|last| *last > at).unwrap_or(scan.lines.len());
    let lines = &scan.lines[..limit];
    let mut content = BlockContent::begun(name, &lines[at..]);
    if content == BlockContent::Edits {
        return None;
    }
    let block = FileBlock::under(lines, at, fence, named);
    if content == BlockContent::File && !block.is_text() {
        content = BlockContent::of_file(name, block.content(lines));
    }
    let unclear = |trouble, reason| {
        ShownContent::Unclear(UnclearBlock {
            fence: at,
            name: name.to_owned(),
            trouble,
            reason,
        })
    };
    let content = match (content, block.end) {
        (BlockContent::Other | BlockContent::Mixed | BlockContent::Conflict, _) => {
            unclear(content.trouble(name), UnclearReason::Content)
        }
        (_, FileBlockEnd::Uncertain) => unclear(whole_file::uncertain(name), UnclearReason::End),
        (_, FileBlockEnd::Missing) => ShownContent::Cut(name.to_owned()),
        _ => ShownContent::File(name.to_owned()),
    };
    let end = block.lines.end;
    Some(ShownBlock { content, end })
}

/// Tells of a script in the code block here that writes files.
fn script(scan: &Scan<'_>, at: usize, fence: &Fence<'_>, lines: &[&str]) -> Vec<ReplyOffer> {
    let info = fence.info.to_ascii_lowercase();
    let is_shell = has_word(SHELLS, &info);
    let may_be_shell = is_shell || info.is_empty() || has_word(SESSIONS, &info);
    if !may_be_shell {
        return Vec::new();
    }
    let words = LazyCell::new(|| words_above(scan, at));
    let is_advice = LazyCell::new(|| is_advice(&words));
    let mut offers: Vec<ReplyOffer> = Vec::new();
    let mut left: Vec<ReplyOffer> = Vec::new();
    let mut here_document = None;
    for (index, text) in lines.iter().enumerate() {
        let line = at + 1 + index;
        let program = || script::file_written_by_program(text, &lines[index + 1..]);
        let has_text = script::written_file(text).is_some();
        if here_document.is_some() {
            here_document = here_document.filter(|mark| trim(text) != *mark);
        } else if let Some(name) = script::file_written_by(text).or_else(program) {
            // What the person is to type is short.
            offers.extend((has_text || !*is_advice).then(|| only_shown(line, name, text)));
            here_document = script::here_document_mark(text);
        } else if let Some(name) = script::file_left_by(text) {
            left.push(only_shown(line, name, text));
        }
    }
    if !offers.is_empty() {
        offers.extend(left.into_iter().filter(|_| !*is_advice));
        offers.sort_by_key(|offer| offer.line);
    } else if is_shell {
        if begins_with(&words.join(" "), OWN_WORK) {
            offers.push(only_announced(at, lines));
        } else if !*is_advice {
            offers = files_left_behind(lines, at + 1);
        }
    }
    offers
}

/// Returns true if words above a script tell the person what to do with it.
fn is_advice(words: &[String]) -> bool {
    let is_use = |word: &String| has_word(USES, word);
    words.iter().any(|word| has_word(PERSON, word)) || words.first().is_some_and(is_use)
}

/// Tells of a program in the code block here that only writes files.
fn program(scan: &Scan<'_>, at: usize, fence: &Fence<'_>, lines: &[&str]) -> Vec<ReplyOffer> {
    let writes = program::writes(fence.language(), lines);
    if writes.is_empty() {
        return Vec::new();
    }
    let words = words_above(scan, at);
    if is_advice(&words) || words.iter().any(|word| has_word(EXAMPLES, word)) {
        return Vec::new();
    }
    let offers = writes.into_iter().map(|write| {
        let name = write.files[0];
        let trouble = BlockTrouble::new(
            format!("a program that writes `{name}` was only shown: code blocks are not run"),
            format!(
                "Send the file as `[CREATE_FILE path=\"{name}\"]`, or the program in `[RUN_COMMAND]`, if it was meant."
            ),
        );
        let work = ShownWork::lines(lines).of_files(write.files);
        ReplyOffer::shown(at + 1 + write.line, trouble.of("CREATE_FILE"), work)
    });
    offers.collect()
}

/// Tells of the files that a script leaves behind, if it does nothing else.
fn files_left_behind(lines: &[&str], first: usize) -> Vec<ReplyOffer> {
    let is_command = |text: &str| !is_blank(text) && !trim(text).starts_with('#');
    let commands = (first..).zip(lines).filter(|(_, text)| is_command(text));
    let offers = commands.map(|(line, text)| {
        let name = script::file_left_by(text)?;
        Some(only_shown(line, name, text))
    });
    offers.collect::<Option<Vec<_>>>().unwrap_or_default()
}

/// The words of the line above a code block.
fn words_above(scan: &Scan<'_>, at: usize) -> Vec<String> {
    let mut above = scan.lines[scan.free_from.min(at)..at].iter().rev();
    let above = above.find(|line| !is_blank(line));
    above.map_or_else(Vec::new, |line| file_name::words_beside(line, "`"))
}

/// Tells of a script that the model says to run now.
fn only_announced(line: usize, lines: &[&str]) -> ReplyOffer {
    let trouble = BlockTrouble::new(
        "a shell block was only shown: shell blocks are not run",
        "Send the script in `[RUN_COMMAND]`, if it was meant.",
    );
    let is_command = |line: &&&str| !trim(line).starts_with('#');
    let work = ShownWork::lines(lines.iter().filter(is_command));
    ReplyOffer::shown(line, trouble.of("RUN_COMMAND"), work)
}

/// The lines of the code block here, up to its end or a tag, and the line below the block.
fn block_lines<'s>(
    scan: &'s Scan<'_>,
    at: usize,
    fence: &Fence<'_>,
) -> Option<(&'s [&'s str], usize)> {
    const MOST_LOOKS: usize = 4;
    let lines = &scan.lines[at + 1..];
    let looked = scan.known.block_lines.get();
    if looked > MOST_LOOKS * scan.lines.len() {
        return None;
    }
    let close = lines.iter().position(|line| {
        work::count(1);
        fence.is_closed_by(line) || code_fence::is_tag(line)
    });
    let length = close.unwrap_or(lines.len());
    scan.known.block_lines.set(looked + length);
    let lines = &lines[..scan.known.looked_for(close)?];
    let end = at + 1 + lines.len();
    let is_closed = fence.is_closed_by(scan.lines[end]);
    Some((lines, end + usize::from(is_closed)))
}

/// A here-document among words, or in the frame around all commands, that would write a file.
pub(crate) fn bare_script(scan: &Scan<'_>, at: usize) -> Option<ReplyOffer> {
    const MOST_LINES: usize = 5_000;
    let is_framed = |open: &OpenBlock<'_>| open.fence.is_frame();
    if !scan.known.is_patient() || !scan.code.open.last().is_none_or(is_framed) {
        return None;
    }
    let name = script::written_file(scan.lines[at])?;
    let mark = script::here_document_mark(scan.lines[at])?;
    let mut below = scan.lines[at + 1..].iter().take(MOST_LINES);
    let length = below.position(|line| {
        work::count(1);
        trim(line) == mark
    });
    let end = at + scan.known.looked_for(length)? + 2;
    let mut offer = only_shown(at, name, scan.lines[at]);
    // A diff in it is content; a tag counts wherever it stands.
    if scan.next_boundary(at) >= end {
        offer.span = at..end;
    }
    Some(offer)
}

/// Tells of a script that writes a file and was not run.
fn only_shown(line: usize, name: &str, text: &str) -> ReplyOffer {
    let (verb, command, what) = match script::file_removed_by(trim(text)) {
        Some(_) if text.contains("mv ") => ("moves", "MOVE_FILE", "move"),
        Some(_) => ("removes", "DELETE_FILE", "removal"),
        None => ("writes", "CREATE_FILE", "file"),
    };
    let key = if verb == "moves" { "from" } else { "path" };
    let trouble = BlockTrouble::new(
        format!("a shell block that {verb} `{name}` was only shown: shell blocks are not run"),
        format!(
            "Send the {what} as `[{command} {key}=\"{name}\"]`, or the script in `[RUN_COMMAND]`, if it was meant."
        ),
    );
    let work = ShownWork::lines(&[text]).of_file(name);
    ReplyOffer::shown(line, trouble.of(command), work)
}

/// Tells of a block of changed lines that says neither its file nor its place.
fn headless_diff(at: usize, fence: &Fence<'_>, lines: &[&str]) -> Option<ReplyOffer> {
    let begins = |mark: char| lines.iter().any(|line| line.starts_with(mark));
    let is_called_diff = || matches!(fence.info, "diff" | "patch") && begins('+') && begins('-');
    let is_other =
        |(line, text): (usize, &&str)| text.starts_with("@@") || begins_edit(lines, line);
    if !(is_called_diff() || (is_marked(lines) && undone::is_changed_code(lines)))
        || lines.iter().enumerate().any(is_other)
    {
        return None;
    }
    let trouble = BlockTrouble::new(
        "a diff without `---`, `+++` and `@@` lines was only shown: nothing says where it belongs",
        "Send it again with them, or as `[EDIT_FILE path=\"...\"]` with a SEARCH/REPLACE block, if it was meant.",
    );
    let trouble = trouble.of("APPLY_PATCH");
    Some(ReplyOffer::shown(at, trouble, ShownWork::added(lines)))
}

/// Returns true if an edit on a line is part of the text around it in its code block: of a string,
/// of a here-document, of a program.
pub(crate) fn quoted_in_code(scan: &Scan<'_>, at: usize) -> Option<QuotedIn> {
    const MOST_LABELS: usize = 6;
    const QUOTES: [&str; 5] = ["\"\"\"", "'''", "`", "\"", "r#\""];
    let open = scan.code.open.last()?;
    if open.line < scan.free_from || open.line >= at {
        return None;
    }
    let above = &scan.lines[open.line + 1..at];
    let mut near = above.iter().rev().filter(|line| !is_blank(line));
    let is_label = |line: &&&str| {
        let line = trim(line);
        file_name::word(line).is_some() || copy_button::is_button(line) || script::feeds_patch(line)
    };
    let mut labelled = near.clone().take(MOST_LABELS);
    let led = trim_end(labelled.find(|line| !is_label(line))?);
    let is_fed = near.next().is_some_and(|line| script::feeds_patch(line));
    let opens_string = QUOTES.iter().any(|quote| led.ends_with(quote));
    if is_fed {
        None
    } else if opens_string || script::written_file(led).is_some() {
        Some(QuotedIn::Text)
    } else {
        is_in_program(scan, at).then_some(QuotedIn::Program)
    }
}

/// A SEARCH/REPLACE block below other lines of a program, which is pointed out and not done.
pub(crate) fn edit_in_program(scan: &Scan<'_>, at: usize) -> Option<ReplyOffer> {
    let is_head = search_replace::is_head(scan.lines[at]);
    if !is_head || quoted_in_code(scan, at) != Some(QuotedIn::Program) {
        return None;
    }
    let trouble = BlockTrouble::new(
        "a SEARCH/REPLACE block stands below other lines of a program, so it was not done",
        "Send it again with only its file name above it, if it was meant.",
    );
    let work = ShownWork::added(&scan.lines[at..scan.next_boundary(at)]);
    Some(ReplyOffer::shown(at, trouble.of("EDIT_FILE"), work))
}

/// Returns true if a line is within code that does not begin with it: there a call is data of a
/// program.
pub(crate) fn is_in_program(scan: &Scan<'_>, at: usize) -> bool {
    let Some(open) = scan.code.open.last() else {
        return false;
    };
    open.is_program && open.line >= scan.free_from && open.first_line(&scan.lines) < at
}

/// Returns true if the line above calls in JSON gives them to a file that holds JSON and that they are
/// not about: `Add this to tasks.json:`.
pub(crate) fn is_given_to_file(scan: &Scan<'_>, found: &BlockCandidate) -> bool {
    const LOOKS: &str = "check execute inspect list open read reading run running search test tests \
        validate verify";
    // A line within a code block leads to nothing below that block.
    let from = scan.free_from.max(scan.code.after).min(found.span.start);
    let mut above = scan.lines[from..found.span.start].iter().rev().take(3);
    let Some(line) = above.find(|line| !is_blank_or_fence(line)) else {
        return false;
    };
    let mut names = file_name::in_words(line);
    names.retain(|name| is_of_kind(name, JSON_FILES));
    let Some(name) = names.first() else {
        return false;
    };
    let looks = |word: &String| has_word(LOOKS, word);
    let mut shown = scan.lines[found.span.clone()].iter();
    (ends_with_colon(line) || undone::leads_to_work(line, name))
        && !file_name::words_beside(line, name).iter().any(looks)
        && !shown.any(|line| line.contains(name))
}

/// Returns true if a code block with this fence holds a program.
pub(crate) fn is_program(fence: &Fence<'_>) -> bool {
    has_word(PROGRAMS, &fence.language().to_ascii_lowercase())
}

/// The content of a block under a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BlockContent {
    File,
    /// Edits of that file.
    Edits,
    /// An edit or a call for something else.
    Other,
    /// An edit with other lines above it, or one without its beginning.
    Mixed,
    /// Two versions between the markers of a conflict.
    Conflict,
}

impl BlockContent {
    /// Looks at the beginning of a block of this name; its fence is the first of the lines.
    fn begun(name: &str, lines: &[&str]) -> Self {
        let mut is_named_again = false;
        let is_content = |line: &&str| {
            // A label above the block may name the file without its directory.
            let is_name = file_name::alone(line).is_some_and(|it| ends_with_name(it, name));
            is_named_again |= is_name;
            // Some models write the path and the fence once more.
            let is_fence =
                is_named_again && Fence::read(line).is_some_and(|it| !it.info.is_empty());
            !is_blank(line) && !is_name && !is_fence
        };
        let labels = 1 + copy_button::labels(lines.get(1..).unwrap_or_default(), false);
        let first = lines.iter().skip(labels).position(is_content);
        let Some(at) = first.map(|at| at + labels) else {
            return Self::File;
        };
        // The path is a label over our own tags.
        if search_replace::is_head(lines[at]) || code_fence::is_tag(lines[at]) {
            return Self::Edits;
        }
        if search_replace::is_conflict(lines[at]) {
            return Self::Conflict;
        }
        let (found, own_kinds) = if begins_edit(lines, at) {
            let patch = patch::find(lines, at, &mut patch::Ends::default());
            (patch.or_else(|| diff::find(lines, at)), DIFF_FILES)
        } else {
            let call = json::find(lines, at).filter(|found| is_whole(found, lines));
            (call, JSON_FILES)
        };
        let Some(found) = found else {
            return Self::File;
        };
        let commands = || {
            found.items.iter().filter_map(|item| match item {
                CandidateItem::Command(command) => Some(command),
                CandidateItem::Problem(_) => None,
            })
        };
        if commands().any(|command| is_for(command, name)) {
            Self::Edits
        } else if is_of_kind(name, own_kinds) {
            Self::File
        } else if commands().all(only_looks) {
            // Nothing but what is wrong with it, or what does no harm.
            Self::Edits
        } else {
            Self::Other
        }
    }

    /// Looks at all lines of a block of this name that begins as a file.
    fn of_file(name: &str, lines: &[&str]) -> Self {
        let is_mixed = !is_of_kind(name, DIFF_FILES) && (holds_edit(lines) || is_marked(lines));
        if is_mixed { Self::Mixed } else { Self::File }
    }

    /// The problem of a block of this name that is neither written nor done.
    fn trouble(self, name: &str) -> BlockTrouble {
        let what = match self {
            Self::Mixed => "holds an edit that is not whole or has other lines above it",
            Self::Conflict => "begins with the marker of a conflict, not with `<<<<<<< SEARCH`",
            _ => "is an edit or a call for something else",
        };
        let otherwise = match self {
            Self::Mixed | Self::Conflict => {
                format!("as `[EDIT_FILE path=\"{name}\"]` if it is an edit of it")
            }
            _ => format!("without `{name}` above it if it is not"),
        };
        BlockTrouble::new(
            format!("the block under `{name}` {what}, so it was neither written nor done"),
            format!(
                "send it as `[CREATE_FILE path=\"{name}\"]` if it is that file, and {otherwise}"
            ),
        )
    }
}

fn is_of_kind(name: &str, extensions: &str) -> bool {
    let extension = file_name::extension(name).unwrap_or_default();
    has_word(extensions, &extension.to_ascii_lowercase())
}

/// Returns true if an edit in one of the dialects begins on any of the lines.
fn holds_edit(lines: &[&str]) -> bool {
    let changes = |line: &str| line.starts_with(['+', '-']);
    let last_tail = lines.iter().rposition(|line| search_replace::is_tail(line));
    let last_change = lines.iter().rposition(|line| changes(line));
    lines.iter().enumerate().any(|(at, line)| {
        let is_head = search_replace::is_head(line) && last_tail.is_some_and(|tail| at < tail);
        let is_hunk = (line.starts_with("@@ ") || trim_end(line) == "@@")
            && last_change.is_some_and(|change| at < change)
            && (lines.get(at + 1)).is_some_and(|next| next.starts_with(['+', '-', ' ']));
        is_head || is_hunk || patch::begins(line)
    })
}

/// Returns true if every line has the mark of a diff, and lines are added and removed.
fn is_marked(lines: &[&str]) -> bool {
    let begins = |mark: char| lines.iter().any(|line| line.starts_with(mark));
    let is_marked = |line: &&str| is_blank(line) || line.starts_with(['+', '-', ' ']);
    begins('+') && begins('-') && lines.iter().all(is_marked)
}

/// Returns true if nothing but other calls follows in the code block.
fn is_whole(found: &BlockCandidate, lines: &[&str]) -> bool {
    let next = code_fence::skip_blank(lines, found.span.end);
    let is_closed = Fence::read(lines[found.span.end - 1]).is_some();
    is_closed
        || lines
            .get(next)
            .is_none_or(|line| code_fence::is_bare(line) || json::begins(lines, next))
}

/// Returns true if a command is about the file of this name.
fn is_for(command: &Command, name: &str) -> bool {
    let Ok(name) = workspace_root::path(name) else {
        return false;
    };
    let ends = |long: &RelPath, short: &RelPath| ends_with_name(long.as_str(), short.as_str());
    let paths = command.changed_paths();
    let mut paths = paths.into_iter().chain(command.path());
    paths.any(|path| ends(path, &name) || ends(&name, path))
}

/// Returns true if a path is this one, or one below other directories.
fn ends_with_name(path: &str, name: &str) -> bool {
    let rest = path.strip_suffix(name);
    rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
}

fn only_looks(command: &Command) -> bool {
    command.selection().is_some()
        || matches!(
            command,
            Command::GitStatus { .. } | Command::GitDiff { .. } | Command::ListFiles { .. }
        )
}
