//! The header above the hunks of a file: its names, its modes, whether it moves.

use super::name::{self, HeaderName};
use super::{BlockTrouble, unified_hint};

/// All that a header says, not yet weighed.
#[derive(Debug, Default)]
pub(super) struct Header<'a> {
    /// The words after `diff --git`.
    pub(super) git: Option<&'a str>,
    /// The name behind `--- `.
    pub(super) old: Option<HeaderName>,
    /// The name behind `+++ `.
    pub(super) new: Option<HeaderName>,
    /// The name behind `Index: `.
    pub(super) index: Option<&'a str>,
    pub(super) rename: (Option<String>, Option<String>),
    pub(super) copy: (Option<String>, Option<String>),
    pub(super) new_mode: Option<u32>,
    pub(super) added: bool,
    pub(super) deleted: bool,
    pub(super) trouble: Option<BlockTrouble>,
}

impl Header<'_> {
    /// Returns true if it asks for something even without hunks.
    pub(super) fn acts_alone(&self) -> bool {
        self.added
            || self.deleted
            || self.new_mode.is_some()
            || self.rename.1.is_some()
            || self.copy.1.is_some()
    }

    fn wrong(&mut self, message: impl Into<String>) {
        let trouble = BlockTrouble::new(message, unified_hint());
        self.trouble.get_or_insert(trouble);
    }
}

/// Reads the header that begins on the line `at`; gives the line after it.
pub(super) fn read_header<'a>(lines: &[&'a str], mut at: usize, header: &mut Header<'a>) -> usize {
    while let Some(line) = lines.get(at) {
        let next = |start: &str| {
            lines
                .get(at + 1)
                .is_some_and(|line| line.starts_with(start))
        };
        if let Some(rest) = line.strip_prefix("diff --git ") {
            // Another file: this one has no hunks.
            if header.git.is_some() {
                break;
            }
            header.git = Some(rest);
        } else if let Some(rest) = line.strip_prefix("Index: ") {
            if header.index.is_some() || header.git.is_some() {
                break;
            }
            header.index = Some(rest.trim());
        } else if let Some(rest) = line.strip_prefix("--- ") {
            if header.old.is_some() || !(next("+++ ") || next("@@")) {
                break;
            }
            header.old = Some(name::read(rest));
        } else if let Some(rest) = line.strip_prefix("+++ ") {
            if header.new.is_some() {
                break;
            }
            header.new = Some(name::read(rest));
        } else if line.starts_with("diff --cc ") || line.starts_with("@@@") {
            header.wrong("the patch is a diff of a merge, which cannot be applied");
        } else if line.starts_with("*** ") {
            header.wrong(
                "the patch is a context diff (`***` and `---` lines), which is not supported",
            );
            return end_of_context_diff(lines, at);
        } else if !extended(line, header) {
            break;
        }
        at += 1;
        let is_reversed = header.old.is_none()
            && lines.get(at).is_some_and(|line| line.starts_with("--- "))
            && lines.get(at + 1).is_some_and(|line| line.starts_with("@@"));
        if header.new.is_some() && !is_reversed {
            break;
        }
    }
    at
}

/// The lines of git's extended header and the decoration of other tools.
fn extended(line: &str, header: &mut Header<'_>) -> bool {
    let unquoted = |rest: &str| Some(name::read(rest).text);
    if let Some(rest) = line
        .strip_prefix("rename from ")
        .or_else(|| line.strip_prefix("rename old "))
    {
        header.rename.0 = unquoted(rest);
    } else if let Some(rest) = line
        .strip_prefix("rename to ")
        .or_else(|| line.strip_prefix("rename new "))
    {
        header.rename.1 = unquoted(rest);
    } else if let Some(rest) = line.strip_prefix("copy from ") {
        header.copy.0 = unquoted(rest);
    } else if let Some(rest) = line.strip_prefix("copy to ") {
        header.copy.1 = unquoted(rest);
    } else if let Some(rest) = line.strip_prefix("new file mode ") {
        header.added = true;
        header.new_mode = mode(rest, header);
    } else if let Some(rest) = line.strip_prefix("deleted file mode ") {
        header.deleted = true;
        mode(rest, header);
    } else if let Some(rest) = line.strip_prefix("new mode ") {
        header.new_mode = mode(rest, header);
    } else if let Some(rest) = line.strip_prefix("old mode ") {
        mode(rest, header);
    } else if line.starts_with("GIT binary patch") || line.starts_with("Binary files ") {
        header.wrong("the patch changes a binary file, which a reply cannot carry");
    } else {
        let decoration = [
            "index ",
            "similarity index ",
            "dissimilarity index ",
            "=====",
        ];
        return decoration.iter().any(|start| line.starts_with(start)) || line.starts_with("diff ");
    }
    true
}

fn mode(text: &str, header: &mut Header<'_>) -> Option<u32> {
    const SYMBOLIC_LINK: u32 = 0o12;
    const REPOSITORY: u32 = 0o16;
    let Ok(mode) = u32::from_str_radix(text.trim(), 8) else {
        header.wrong(format!("`{}` is not a file mode", text.trim()));
        return None;
    };
    match mode >> 12 {
        SYMBOLIC_LINK => {
            header.wrong("the patch makes or changes a symbolic link, which is not supported");
        }
        REPOSITORY => header.wrong("the patch changes a submodule, which is not supported"),
        _ => {}
    }
    Some(mode)
}

fn end_of_context_diff(lines: &[&str], at: usize) -> usize {
    let belongs = |line: &&str| {
        ["***", "---", "! ", "+ ", "- ", "  "]
            .iter()
            .any(|start| line.starts_with(start))
    };
    at + lines[at..].iter().take_while(|line| belongs(line)).count()
}
