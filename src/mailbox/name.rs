//! Tells from its name what a file in the inbox is.
//!
//! Tools leave files beside the one that they save, for a moment or for good; the person should
//! hear nothing of them. What is neither a reply nor such a file is probably a mistake, and is
//! named. Letter case never matters.

/// The kind of file that a name promises.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NameKind {
    /// A reply: `.txt` or `.md`.
    Reply,
    /// A hidden, swap, lock or backup file, or half of a download: nobody's business.
    Bystander,
    /// Anything else.
    Other,
}

/// How the names of bystanders end.
const BYSTANDERS: [&str; 14] = [
    "~",
    ".swp",
    ".swo",
    ".swx",
    ".tmp",
    ".temp",
    ".bak",
    ".lock",
    ".part",
    ".partial",
    ".filepart",
    ".download",
    ".opdownload",
    ".crdownload",
];

/// Classifies a name.
pub(super) fn kind(name: &str) -> NameKind {
    let name = name.to_ascii_lowercase();
    if is_bystander(&name) {
        NameKind::Bystander
    } else if matches!(extension(&name), Some("txt" | "md")) {
        NameKind::Reply
    } else {
        NameKind::Other
    }
}

/// True if a file of another kind may contain plain text, so that renaming it is enough.
pub(super) fn may_be_text(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    matches!(
        extension(&name),
        None | Some("text" | "markdown" | "mdown" | "json" | "log" | "patch" | "diff")
    )
}

/// The name without its extension.
pub(super) fn stem(name: &str) -> &str {
    match name.rsplit_once('.') {
        Some((stem, _)) if !stem.is_empty() => stem,
        _ => name,
    }
}

fn extension(name: &str) -> Option<&str> {
    match name.rsplit_once('.') {
        Some((stem, extension)) if !stem.is_empty() => Some(extension),
        _ => None,
    }
}

fn is_bystander(name: &str) -> bool {
    // Office programs lock `x` with `~$x`; macOS saves through `x.sb-1a2b`; Vim tries a directory
    // out with a file named `4913`, or a larger number where that is taken.
    name.starts_with('.')
        || name.starts_with("~$")
        || (name.starts_with('#') && name.ends_with('#'))
        || name.contains(".sb-")
        || (name.len() <= 5 && name.bytes().all(|byte| byte.is_ascii_digit()))
        || matches!(name, "desktop.ini" | "thumbs.db")
        || BYSTANDERS.iter().any(|ending| name.ends_with(ending))
}

/// Cuts a name to `max` bytes, keeping a short extension, so that it can take a prefix.
pub fn shortened(name: &str, max: usize) -> String {
    if name.len() <= max {
        return name.to_owned();
    }
    let ending = extension(name)
        .filter(|extension| extension.len() < 10)
        .map(|extension| format!(".{extension}"))
        .unwrap_or_default();
    let kept = name.floor_char_boundary(max.saturating_sub(ending.len()));
    format!("{}{ending}", &name[..kept])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn case(expected: NameKind, names: &[&str]) {
        for name in names {
            assert_eq!(kind(name), expected, "{name}");
        }
    }

    #[test]
    fn knows_replies_whatever_their_letter_case() {
        case(
            NameKind::Reply,
            &["reply.txt", "Reply.TXT", "a.Md", "a b (1).txt", "x.docx.md"],
        );
    }

    #[test]
    fn leaves_the_files_of_tools_alone() {
        case(
            NameKind::Bystander,
            &[
                ".reply.txt",
                ".reply.txt.swp",
                ".agent-x7.txt",
                "reply.txt~",
                "#reply.txt#",
                "4913",
                "5036",
                "reply.txt.tmp",
                "reply.txt.crdownload",
                "Unconfirmed 12.CRDOWNLOAD",
                "reply.txt.part",
                "reply.partial",
                "reply.txt.download",
                "~$reply.txt",
                "reply.txt.sb-1a2b",
                "Thumbs.db",
            ],
        );
    }

    #[test]
    fn names_the_rest() {
        case(
            NameKind::Other,
            &["reply", "reply.docx", "reply.txt.pdf", "txt", "reply."],
        );
    }

    #[test]
    fn a_long_name_keeps_its_extension() {
        assert_eq!(shortened("reply.txt", 9), "reply.txt");
        assert_eq!(shortened("reply-long.txt", 9), "reply.txt");
        assert_eq!(shortened("äöü.txt", 8), "äö.txt");
        assert_eq!(shortened("äöü", 3), "ä");
    }
}
