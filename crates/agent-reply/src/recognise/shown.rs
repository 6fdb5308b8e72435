//! Files that are shown: code blocks under an unmistakable path.
//!
//! Its lines are content, whatever they look like: no dialect looks into them, unless the
//! block is an edit of that file from its first line on. Tags count there as everywhere. A block
//! that is an edit or a call for something else is neither written nor done.

use crate::candidate::{BlockTrouble, DoubtedMeaning, ReplyOffer};
use crate::code_fence::{self, Fence};
use crate::line::has_word;
use crate::scan::{Scan, UnclearBlock, UnclearReason};
use crate::tags::copy_button;
use crate::trim::{is_blank, trim, trim_end};
use crate::whole_file::{self, FileBlock, FileBlockEnd};
use crate::{file_name, script, search_replace, work};
use content::BlockContent;

mod content;

/// Languages in which a block of code is no place for a call.
const PROGRAMS: &str = "bash c cpp cs csharp go html java javascript js kotlin lua php py python rb \
                        rs ruby rust sh shell swift ts typescript";

/// Languages of blocks that are scripts for a shell, or say nothing.
const SHELLS: &str = "bash sh shell zsh console terminal text";

/// The text that an edit is part of in its code block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum QuotedIn {
    /// A string or a here-document: certainly content.
    Text,
    /// A program, or what says so.
    Program,
}

/// A code block that is not looked into, up to the line `end`.
pub(crate) enum ShownBlock {
    File {
        end: usize,
        name: String,
    },
    /// A file whose block does not end.
    Cut {
        end: usize,
        name: String,
    },
    /// A block that is neither written nor done.
    Unclear {
        end: usize,
        unclear: UnclearBlock,
    },
    /// A script that writes files.
    Script {
        end: usize,
        offer: ReplyOffer,
    },
}

/// The block to be left alone that begins with the fence on a line.
pub(crate) fn find(scan: &Scan<'_>, at: usize, fence: &Fence<'_>) -> Option<ShownBlock> {
    file(scan, at, fence)
        .or_else(|| script(scan, at, fence))
        .or_else(|| commented(scan, at, fence))
}

/// The file that only a comment in the block here names: `# src/app.py`. A block with anything of a
/// command or an edit in it is not one.
fn commented(scan: &Scan<'_>, at: usize, fence: &Fence<'_>) -> Option<ShownBlock> {
    if fence.is_frame() || !scan.code.open.is_empty() {
        return None;
    }
    let (name, close) = whole_file::named_in_comment(&scan.lines, at)?;
    let is_work = |line: &&str| line.starts_with(['[', '<', '@', '*', '+', '-', '{']);
    if scan.lines[at + 2..close].iter().any(is_work) {
        return None;
    }
    let name = name.to_owned();
    Some(ShownBlock::File {
        end: close + 1,
        name,
    })
}

/// The file that the fence here begins to show.
fn file(scan: &Scan<'_>, at: usize, fence: &Fence<'_>) -> Option<ShownBlock> {
    let after = scan.code.after.max(scan.free_from);
    let named = whole_file::named(&scan.lines, at, after, fence)?;
    let name = named.text;
    let outermost = scan.code.open.first();
    let limit = outermost.map(|open| open.last_close(&scan.lines));
    let limit = limit.filter(|last| *last > at).unwrap_or(scan.lines.len());
    let lines = &scan.lines[..limit];
    let mut content = BlockContent::begun(name, &lines[at..]);
    if content == BlockContent::Edits {
        return None;
    }
    let block = FileBlock::under(lines, at, fence, &named);
    if content == BlockContent::File && !block.is_text() {
        content = BlockContent::of_file(name, block.content(lines));
    }
    let end = block.lines.end;
    let (trouble, reason) = match (content, block.end) {
        (BlockContent::Other | BlockContent::Mixed | BlockContent::Conflict, _) => {
            (content.trouble(name), UnclearReason::Content)
        }
        (_, FileBlockEnd::Uncertain) => (whole_file::uncertain(name), UnclearReason::End),
        (_, FileBlockEnd::Missing) => {
            let name = name.to_owned();
            return Some(ShownBlock::Cut { end, name });
        }
        _ => {
            let name = name.to_owned();
            return Some(ShownBlock::File { end, name });
        }
    };
    let unclear = UnclearBlock {
        fence: at,
        name: name.to_owned(),
        trouble,
        reason,
    };
    Some(ShownBlock::Unclear { end, unclear })
}

/// The script that writes files and begins with the fence here: it is only shown.
fn script(scan: &Scan<'_>, at: usize, fence: &Fence<'_>) -> Option<ShownBlock> {
    let info = fence.info.to_ascii_lowercase();
    let is_shell = info.is_empty() || has_word(SHELLS, &info);
    if !is_shell || fence.is_frame() || !scan.known.is_patient() {
        return None;
    }
    let lines = &scan.lines[at + 1..];
    let close = lines.iter().position(|line| {
        work::count(1);
        fence.is_closed_by(line) || code_fence::is_tag(line)
    });
    if close.is_none() {
        scan.known.add_vain_look();
    }
    let lines = &lines[..close?];
    let (line, name) = lines
        .iter()
        .enumerate()
        .find_map(|(line, text)| Some((line, script::written_file(text)?)))?;
    let trouble = BlockTrouble::new(
        format!("a shell block that writes `{name}` was only shown: shell blocks are not run"),
        format!(
            "Send the file as `[CREATE_FILE path=\"{name}\"]`, or the script in `[RUN_COMMAND]`, if it was meant."
        ),
    );
    let offer = ReplyOffer::remark(at + 1 + line).problem(trouble.of("CREATE_FILE"));
    Some(ShownBlock::Script {
        end: at + 1 + lines.len(),
        offer: offer.doubted(DoubtedMeaning::Change),
    })
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
    let offer = ReplyOffer::remark(at).problem(trouble.of("EDIT_FILE"));
    Some(offer.doubted(DoubtedMeaning::Change))
}

/// Returns true if a line is within code that does not begin with it: there a call is data of a
/// program.
pub(crate) fn is_in_program(scan: &Scan<'_>, at: usize) -> bool {
    let Some(open) = scan.code.open.last() else {
        return false;
    };
    open.is_program && open.line >= scan.free_from && open.first_line(&scan.lines) < at
}

/// Returns true if a code block with this fence holds a program.
pub(crate) fn is_program(fence: &Fence<'_>) -> bool {
    let language = fence.info.split([' ', ':', '{']).next();
    has_word(PROGRAMS, &language.unwrap_or_default().to_ascii_lowercase())
}
