//! Files that are shown: code blocks under an unmistakable path.
//!
//! What stands in one is its content, whatever it looks like: no dialect looks into it, unless the
//! block is an edit of that file from its first line on. Tags count there as everywhere. A block
//! that is an edit or a call for something else is neither written nor done.

use std::collections::HashSet;

use super::talk::Meant;
use super::{Assembly, VAIN_LOOKS};
use crate::code_fence::{self, Fence};
use crate::found::{Found, Item};
use crate::tags::{Name, copy_button};
use crate::trim::{is_blank, trim, trim_end};
use crate::whole_file::{self, Block, End};
use crate::{file_name, script, search_replace, work};
use content::Content;

mod content;

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
    /// The files that are shown, each with the line of its fence.
    files: Vec<(usize, String)>,
    /// The file whose block is not closed.
    cut_file: Option<(usize, String)>,
    /// Whether commands stand in tags, so that no file is written from a block.
    pub(super) has_tags: bool,
}

/// What an edit is part of in its code block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum QuotedIn {
    /// A string or a here-document: certainly content.
    Text,
    /// A program, or what says so.
    Program,
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
    name: String,
    item: Item,
    why: Why,
}

#[derive(PartialEq, Eq)]
enum Why {
    Content,
    End,
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
        let end = self.shown_at(at, after);
        match end.or_else(|| self.script_at(at, &fence)) {
            None => self.code.open.push(open),
            Some(end) => {
                self.code.shown = Some((end, open));
                self.code.after = end;
            }
        }
    }

    /// The line below a script that writes files and is only shown, which begins with the fence here.
    fn script_at(&mut self, at: usize, fence: &Fence<'_>) -> Option<usize> {
        const SHELLS: &str = "bash sh shell zsh console terminal text";
        let is_shell = |info: &str| info.is_empty() || SHELLS.split(' ').any(|shell| shell == info);
        if !is_shell(&fence.info.to_ascii_lowercase()) || fence.is_frame() {
            return None;
        }
        if self.vain_looks >= VAIN_LOOKS {
            return None;
        }
        let lines = &self.lines[at + 1..];
        let close = lines.iter().position(|line| {
            work::count(1);
            fence.is_closed_by(line) || code_fence::is_tag(line)
        });
        self.vain_looks += u32::from(close.is_none());
        let lines = &lines[..close?];
        let (line, name) = lines
            .iter()
            .enumerate()
            .find_map(|(line, text)| Some((line, script::written_file(text)?)))?;
        let message =
            format!("a shell block that writes `{name}` was only shown: shell blocks are not run");
        let hint = format!(
            "Send the file as `[CREATE_FILE path=\"{name}\"]`, or the script in `[RUN_COMMAND]`, if it was meant."
        );
        let end = at + 1 + lines.len();
        let line = at + 1 + line;
        self.doubted(line, Some(Name::CreateFile), Meant::Change, message, hint);
        Some(end)
    }

    /// Whether an edit on a line is part of the text around it in its code block: of a string, of a
    /// here-document, of a program.
    pub(super) fn quoted_in_code(&mut self, at: usize) -> Option<QuotedIn> {
        const MOST_LABELS: usize = 6;
        const QUOTES: [&str; 5] = ["\"\"\"", "'''", "`", "\"", "r#\""];
        let open = self.code.open.last()?;
        if open.line < self.free_from || open.line >= at {
            return None;
        }
        let above = &self.lines[open.line + 1..at];
        let mut near = above.iter().rev().filter(|line| !is_blank(line));
        let is_label = |line: &&&str| {
            let line = trim(line);
            file_name::word(line).is_some()
                || copy_button::is_button(line)
                || script::feeds_patch(line)
        };
        let led = near
            .clone()
            .take(MOST_LABELS)
            .find(|line| !is_label(line))?;
        let led = trim_end(led);
        let is_fed = near.next().is_some_and(|line| script::feeds_patch(line));
        let opens_string = QUOTES.iter().any(|quote| led.ends_with(quote));
        if is_fed {
            None
        } else if opens_string || script::written_file(led).is_some() {
            Some(QuotedIn::Text)
        } else {
            self.is_in_program(at).then_some(QuotedIn::Program)
        }
    }

    /// Points out a SEARCH/REPLACE block below other lines of a program, which is not done.
    pub(super) fn tell_edit_in_program(&mut self, at: usize) {
        let is_head = search_replace::is_head(self.lines[at]);
        if !is_head || self.quoted_in_code(at) != Some(QuotedIn::Program) {
            return;
        }
        let message =
            "a SEARCH/REPLACE block stands below other lines of a program, so it was not done";
        let hint = "Send it again with only its file name above it, if it was meant.";
        self.doubted(
            at,
            Some(Name::EditFile),
            Meant::Change,
            message.to_owned(),
            hint.to_owned(),
        );
    }

    /// Takes a code block that is open at the end of a reply without an end mark for a cut, if
    /// commands stand above it.
    pub(super) fn find_cut_block(&mut self) {
        let is_whole = self.reply.end.is_some() || self.reply.cut.is_some();
        if is_whole || self.count == 0 {
            return;
        }
        if let Some((line, name)) = self.code.cut_file.take() {
            return self.cut(line, format!("CREATE_FILE {name}"));
        }
        let Some(open) = self.code.open.last() else {
            return;
        };
        if open.line < self.free_from || open.fence.is_frame() {
            return;
        }
        // A fence with nothing below it may only be one too many.
        let has_text = self.texts(open.line + 1..self.lines.len()) > 0;
        if has_text || !open.fence.info.is_empty() {
            self.cut(open.line, "a code block".to_owned());
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
        let mut content = Content::begun(name, &lines[at..]);
        if content == Content::Edits {
            return None;
        }
        let block = Block::at(lines, at, after)?;
        if content == Content::File && !block.is_text() {
            content = Content::of_file(name, block.content(lines));
        }
        let (item, why) = match (content, block.end) {
            (Content::Other | Content::Mixed | Content::Conflict, _) => {
                (content.trouble(name), Why::Content)
            }
            (_, End::Uncertain) => (whole_file::uncertain(name), Why::End),
            (_, End::Missing) => {
                self.code.cut_file = Some((at, name.to_owned()));
                return Some(block.lines.end);
            }
            _ => {
                self.code.files.push((at, name.to_owned()));
                return Some(block.lines.end);
            }
        };
        self.code.unclear.push(Unclear {
            fence: at,
            name: name.to_owned(),
            item,
            why,
        });
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
    ///
    /// Beside commands in tags no block is written, so it does not matter where one ends; one for a
    /// file that is changed elsewhere only shows what is done there.
    pub(super) fn tell_unclear(&mut self) {
        let changed = self.changed_names();
        for unclear in std::mem::take(&mut self.code.unclear) {
            let is_only_shown = match unclear.why {
                Why::End => self.code.has_tags,
                Why::Content => changed.contains(&unclear.name),
            };
            let Item::Problem {
                command,
                message,
                hint,
            } = unclear.item
            else {
                continue;
            };
            if !is_only_shown {
                self.malformed(unclear.fence, command, message, hint);
            } else if unclear.why == Why::Content {
                self.issue(unclear.fence, None, command, message, hint);
            }
        }
        self.tell_unwritten(&changed);
    }

    /// Points out files that are shown beside commands and changed by none of them: they may have
    /// been meant to be written.
    fn tell_unwritten(&mut self, changed: &HashSet<String>) {
        let mut is_told = HashSet::new();
        let ends = self.ends_session();
        for (fence, name) in std::mem::take(&mut self.code.files) {
            if changed.contains(&name) || !is_told.insert(name.clone()) {
                continue;
            }
            let message = format!(
                "the code block under `{name}` was not written, because the reply has commands beside it"
            );
            let hint = format!(
                "Send it as `[CREATE_FILE path=\"{name}\"]` if it is the whole file, or as `[EDIT_FILE path=\"{name}\"]` if it is a change."
            );
            if ends {
                self.malformed(fence, Some("CREATE_FILE"), message, hint);
            } else {
                self.issue(fence, None, Some("CREATE_FILE"), message, hint);
            }
        }
    }

    /// The files that the commands of the reply change, with and without their directories.
    fn changed_names(&self) -> HashSet<String> {
        let steps = self.reply.steps.iter();
        let paths = steps.flat_map(|step| step.command.changed_paths());
        paths
            .flat_map(|path| [path.as_str().to_owned(), path.file_name().to_owned()])
            .collect()
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
