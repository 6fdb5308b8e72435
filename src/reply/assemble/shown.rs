//! Files that are shown: code blocks under an unmistakable path.
//!
//! What stands in one is its content, whatever it looks like: no dialect looks into it, unless the
//! block is an edit of that file from its first line on. Tags count there as everywhere. A block
//! that is an edit or a call for something else is neither written nor done.

use super::Assembly;
use crate::protocol::{Command, RelPath};
use crate::reply::code_fence::{self, Fence};
use crate::reply::found::{Found, Item};
use crate::reply::trim::is_blank;
use crate::reply::whole_file::{self, Block, End};
use crate::reply::{diff, file_name, json, patch, search_replace};

/// Languages in which a block of code is no place for a call.
const PROGRAMS: [&str; 24] = [
    "bash",
    "c",
    "cpp",
    "cs",
    "csharp",
    "go",
    "html",
    "java",
    "javascript",
    "js",
    "kotlin",
    "lua",
    "php",
    "py",
    "python",
    "rb",
    "rs",
    "ruby",
    "rust",
    "sh",
    "shell",
    "swift",
    "ts",
    "typescript",
];

/// What is known of the code blocks above a line.
#[derive(Default)]
pub(super) struct CodeBlocks<'a> {
    open: Vec<Open<'a>>,
    /// The first line below the last one that was closed.
    after: usize,
    /// The file that is shown here.
    shown: Option<(usize, Open<'a>)>,
    unclear: Vec<Unclear>,
}

/// A code block that was begun.
#[derive(Clone, Copy)]
struct Open<'a> {
    fence: Fence<'a>,
    line: usize,
    /// Its first line that is not blank, once it was looked for.
    first: Option<usize>,
    /// The last line of the text that can close it, once it was looked for.
    last_close: Option<usize>,
}

/// A block under a path that is not done.
struct Unclear {
    fence: usize,
    item: Item,
    why: Why,
}

#[derive(PartialEq, Eq)]
enum Why {
    Content,
    End,
}

/// What a block under a path holds.
#[derive(PartialEq, Eq)]
enum Content {
    File,
    /// Edits of that file.
    Edits,
    /// An edit or a call for something else.
    Unclear,
}

impl Assembly<'_> {
    /// Whether a line is of a file that is shown.
    pub(super) fn is_shown(&self, at: usize) -> bool {
        let shown = &self.code.shown;
        shown.as_ref().is_some_and(|(end, _)| at < *end)
    }

    /// Follows the code blocks of the reply, as far as nobody took their lines.
    pub(super) fn follow_fence(&mut self, at: usize) {
        if self.is_shown(at) {
            return;
        }
        let Some(fence) = Fence::read(self.lines[at]) else {
            return;
        };
        if self.closes_last(&fence) {
            self.code.after = at + 1;
            return;
        }
        let open = Open {
            fence,
            line: at,
            first: None,
            last_close: None,
        };
        let after = self.code.after.max(self.free_from);
        match self.shown_at(at, after) {
            None => self.code.open.push(open),
            Some(end) => {
                self.code.shown = Some((end, open));
                self.code.after = end;
            }
        }
    }

    /// Whether a line is within code that does not begin with it: there a call is data of a program.
    pub(super) fn is_in_program(&mut self, at: usize) -> bool {
        let (lines, free_from) = (&self.lines, self.free_from);
        let Some(open) = self.code.open.last_mut() else {
            return false;
        };
        let language = open.fence.info.split([' ', ':', '{']).next();
        let language = language.unwrap_or_default().to_ascii_lowercase();
        let mut first =
            || *(open.first).get_or_insert_with(|| code_fence::skip_blank(lines, open.line + 1));
        PROGRAMS.contains(&language.as_str()) && open.line >= free_from && first() < at
    }

    /// Follows them over a block that was taken.
    pub(super) fn follow_taken(&mut self, start: usize, end: usize) {
        // The fences in a body would be counted for those of the file around it.
        if end > start + 1
            && let Some((_, open)) = self.code.shown.take_if(|(until, _)| start < *until)
        {
            self.code.open.push(open);
        }
        if let Some(fence) = end
            .checked_sub(1)
            .and_then(|last| Fence::read(self.lines[last]))
        {
            self.closes_last(&fence);
        }
    }

    fn closes_last(&mut self, fence: &Fence<'_>) -> bool {
        let open = &mut self.code.open;
        open.pop_if(|open| fence.closes(&open.fence)).is_some()
    }

    /// The line below the file that the fence here begins to show.
    fn shown_at(&mut self, at: usize, after: usize) -> Option<usize> {
        whole_file::name_of(&self.lines, at, after)?;
        let limit = self.frame_end(at);
        let lines = &self.lines[..limit];
        let name = whole_file::name_of(lines, at, after)?;
        let content = content(name, &lines[at..]);
        if content == Content::Edits {
            return None;
        }
        let block = Block::at(lines, at, after)?;
        let (item, why) = match (content, block.end) {
            (Content::Unclear, _) => (unclear(name), Why::Content),
            (_, End::Uncertain) => (whole_file::uncertain(name), Why::End),
            _ => return Some(block.lines.end),
        };
        let fence = at;
        self.code.unclear.push(Unclear { fence, item, why });
        Some(block.lines.end)
    }

    /// Where the outermost code block ends that is open here, or the text.
    fn frame_end(&mut self, at: usize) -> usize {
        let lines = &self.lines;
        let last_close = self.code.open.first_mut().map(|open| {
            *open.last_close.get_or_insert_with(|| {
                let last = lines.iter().rposition(|line| open.fence.is_closed_by(line));
                last.unwrap_or(lines.len())
            })
        });
        last_close.filter(|last| *last > at).unwrap_or(lines.len())
    }

    /// Points out the blocks that were not done, in a reply that has something else.
    pub(super) fn tell_unclear(&mut self) {
        for Unclear { fence, item, .. } in std::mem::take(&mut self.code.unclear) {
            if let Item::Problem {
                command,
                message,
                hint,
            } = item
            {
                self.malformed(fence, command, message, hint);
            }
        }
    }

    /// Leaves out of the files of a reply what is not certain to be one.
    pub(super) fn without_unclear(&mut self, files: &mut [Found]) {
        let unclear = std::mem::take(&mut self.code.unclear);
        let mut unclear = unclear
            .into_iter()
            .filter(|it| it.why == Why::Content)
            .peekable();
        for file in files {
            while unclear.next_if(|it| it.fence < file.lines.start).is_some() {}
            if let Some(found) = unclear.next_if(|it| it.fence < file.lines.end) {
                file.items = vec![found.item];
            }
        }
    }
}

/// What the block of this name holds whose fence is the first of the lines.
fn content(name: &str, lines: &[&str]) -> Content {
    let is_content = |line: &&str| !is_blank(line) && file_name::alone(line) != Some(name);
    let Some(at) = lines.iter().skip(1).position(is_content).map(|at| at + 1) else {
        return Content::File;
    };
    if search_replace::is_head(lines[at]) {
        return Content::Edits;
    }
    let is_patch = patch::begins(lines[at]) || diff::begins(lines, at);
    let (found, own_kinds): (_, &[&str]) = if is_patch {
        let patch = patch::find(lines, at, &mut patch::Ends::default());
        (patch.or_else(|| diff::find(lines, at)), &["diff", "patch"])
    } else {
        let call = json::find(lines, at).filter(|found| is_whole(found, lines));
        let kinds = &["json", "json5", "jsonc", "jsonl", "ndjson", "ipynb"];
        (call, kinds)
    };
    let Some(found) = found else {
        return Content::File;
    };
    let extension = file_name::extension(name).unwrap_or_default();
    let is_own_kind = own_kinds.contains(&extension.to_ascii_lowercase().as_str());
    let commands = || {
        found.items.iter().filter_map(|item| match item {
            Item::Command(command) => Some(command),
            Item::Problem { .. } => None,
        })
    };
    if commands().any(|command| is_for(command, name)) {
        Content::Edits
    } else if is_own_kind {
        Content::File
    } else if commands().all(only_looks) {
        // Nothing but what is wrong with it, or what does no harm.
        Content::Edits
    } else {
        Content::Unclear
    }
}

/// Whether nothing but other calls follows in the code block.
fn is_whole(found: &Found, lines: &[&str]) -> bool {
    let next = code_fence::skip_blank(lines, found.lines.end);
    let is_closed = Fence::read(lines[found.lines.end - 1]).is_some();
    is_closed
        || lines
            .get(next)
            .is_none_or(|line| code_fence::is_bare(line) || json::begins(lines, next))
}

/// Whether a command is about the file of this name.
fn is_for(command: &Command, name: &str) -> bool {
    let Ok(name) = RelPath::parse(name) else {
        return false;
    };
    let ends = |long: &RelPath, short: &RelPath| {
        let rest = long.as_str().strip_suffix(short.as_str());
        rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
    };
    let paths = command.changed_paths();
    let mut paths = paths.into_iter().chain(command.path());
    paths.any(|path| ends(path, &name) || ends(&name, path))
}

fn only_looks(command: &Command) -> bool {
    command.selection().is_some()
        || matches!(
            command,
            Command::GitStatus { .. } | Command::GitDiff { .. } | Command::ListFiles { .. }
        )
}

fn unclear(name: &str) -> Item {
    Item::Problem {
        command: None,
        message: format!(
            "the block under `{name}` is an edit or a call for something else, so it was neither written nor done"
        ),
        hint: format!(
            "send it as `[CREATE_FILE path=\"{name}\"]` if it is that file, else without `{name}` above it"
        ),
    }
}
