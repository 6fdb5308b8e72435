//! The lines of an envelope that begin with three stars.

use crate::trim::trim_start;

/// A line of an envelope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Directive<'a> {
    Begin,
    End,
    Add(&'a str),
    Delete(&'a str),
    Update(&'a str),
    MoveTo(&'a str),
    EndOfFile,
}

/// Reads a directive, white space and closing stars aside.
pub(super) fn directive(line: &str) -> Option<Directive<'_>> {
    let text = trim_start(line).strip_prefix("***")?.trim();
    let text = text.strip_suffix("***").map_or(text, str::trim_end);
    for (words, directive) in [
        ("Begin Patch", Directive::Begin),
        ("End Patch", Directive::End),
        ("End of File", Directive::EndOfFile),
    ] {
        if text.eq_ignore_ascii_case(words) {
            return Some(directive);
        }
    }
    let (words, name) = text.split_once(':')?;
    let (words, name) = (words.trim_end(), name.trim());
    let is = |expected: &str| words.eq_ignore_ascii_case(expected);
    if name.is_empty() {
        None
    } else if is("Add File") {
        Some(Directive::Add(name))
    } else if is("Delete File") {
        Some(Directive::Delete(name))
    } else if is("Update File") {
        Some(Directive::Update(name))
    } else if is("Move to") {
        Some(Directive::MoveTo(name))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_directives_as_they_are_seen() {
        for line in [
            "*** Begin Patch",
            "*** Begin Patch ***",
            "***Begin Patch",
            " *** begin patch ",
        ] {
            assert_eq!(directive(line), Some(Directive::Begin), "{line}");
        }
        assert_eq!(
            directive("*** Update File: a b.rs"),
            Some(Directive::Update("a b.rs"))
        );
        assert_eq!(directive("***Add File:x"), Some(Directive::Add("x")));
        assert_eq!(directive("*** Move to: y"), Some(Directive::MoveTo("y")));
        for line in [
            "*** Frobnicate File: x",
            "+*** Begin Patch",
            "*** Update File:",
            "** Begin Patch",
            "****",
        ] {
            assert_eq!(directive(line), None, "{line}");
        }
    }
}
