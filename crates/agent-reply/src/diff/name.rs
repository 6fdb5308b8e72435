//! The names in the headers of a diff, and which file they mean.
//!
//! Without the workspace at hand the prefixes tell: `a/` and `b/`, or any two directories under
//! which the rest is the same, are not part of the path, as git and `patch -p1` have it. Of two
//! other names the shorter one is meant, as GNU patch has it, if the longer is the same with a
//! suffix such as `.orig`.

use std::collections::HashSet;
use std::ops::Range;

use crate::work;

/// A name as a header gives it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HeaderName {
    pub(super) text: String,
    /// True if its time is the beginning of time: `diff -N` says so of a file that is not there.
    pub(super) is_absent: bool,
}

impl HeaderName {
    /// Returns true if there is no file on this side.
    pub(super) fn is_null(&self) -> bool {
        self.text == "/dev/null"
    }
}

/// Reads what follows `--- ` or `+++ `.
pub(super) fn read(text: &str) -> HeaderName {
    work::count(text.len());
    let text = text.trim_end();
    if let Some((name, rest)) = text.strip_prefix('"').and_then(unquote) {
        return HeaderName {
            text: name,
            is_absent: is_epoch(rest.trim()),
        };
    }
    let (name, time) = match text.split_once('\t') {
        Some(parts) => parts,
        None => split_time(text).unwrap_or((text, "")),
    };
    HeaderName {
        text: name.trim().trim_matches('`').to_owned(),
        is_absent: is_epoch(time.trim()),
    }
}

/// Reads the rest of a name in quotes as C writes it; gives what follows the quotes.
pub(super) fn unquote(text: &str) -> Option<(String, &str)> {
    let bytes = text.as_bytes();
    let mut name = Vec::new();
    let mut at = 0;
    loop {
        match bytes.get(at)? {
            b'"' => return Some((String::from_utf8(name).ok()?, &text[at + 1..])),
            b'\\' => {
                let (byte, length) = escaped(&bytes[at + 1..])?;
                name.push(byte);
                at += 1 + length;
            }
            byte => {
                name.push(*byte);
                at += 1;
            }
        }
    }
}

fn escaped(bytes: &[u8]) -> Option<(u8, usize)> {
    let simple = match bytes.first()? {
        b'a' => 7,
        b'b' => 8,
        b't' => b'\t',
        b'n' => b'\n',
        b'v' => 11,
        b'f' => 12,
        b'r' => b'\r',
        byte @ (b'"' | b'\\') => *byte,
        b'0'..=b'3' => {
            let digits = std::str::from_utf8(bytes.get(..3)?).ok()?;
            return Some((u8::from_str_radix(digits, 8).ok()?, 3));
        }
        _ => return None,
    };
    Some((simple, 1))
}

/// Splits off a time that follows the name after spaces: `a.c     1969-12-31 18:00:00 -0600`.
fn split_time(text: &str) -> Option<(&str, &str)> {
    gaps(text)
        .map(|gap| (&text[..gap.start], &text[gap.end..]))
        .find(|(_, rest)| {
            date(rest).is_some()
                || rest.starts_with("(revision ")
                || rest.starts_with("(working copy")
        })
}

/// Where the spaces between words stand, run by run.
///
/// Only the first of them: a name of very many words is none, and each is looked at as a place where
/// a name may end.
fn gaps(text: &str) -> impl Iterator<Item = Range<usize>> {
    const MAX_GAPS: usize = 64;
    let mut at = 0;
    let next = move || {
        let start = at + text[at..].find(' ')?;
        let length = text[start..]
            .bytes()
            .take_while(|byte| *byte == b' ')
            .count();
        work::count(start + length - at);
        at = start + length;
        Some(start..at)
    };
    std::iter::from_fn(next).take(MAX_GAPS)
}

/// The date at the start of a time: `1970-01-01 00:00:00`.
fn date(text: &str) -> Option<&str> {
    let date = text.get(..10)?;
    let shape = date.bytes().enumerate().all(|(at, byte)| match at {
        4 | 7 => byte == b'-',
        _ => byte.is_ascii_digit(),
    });
    (shape && text[10..].starts_with([' ', 'T'])).then_some(date)
}

/// Returns true if a time is about the beginning of time; which day that is depends on the zone.
fn is_epoch(time: &str) -> bool {
    matches!(date(time), Some("1970-01-01" | "1969-12-31"))
}

/// The name below its first directory.
pub(super) fn without_first(name: &str) -> Option<&str> {
    name.split_once('/')
        .map(|(_, rest)| rest)
        .filter(|rest| !rest.is_empty())
}

/// Takes the prefixes off a pair of names; both are there.
pub(super) fn strip_pair<'a>(old: &'a str, new: &'a str) -> (&'a str, &'a str) {
    let (Some((old_first, old_rest)), Some((new_first, new_rest))) =
        (old.split_once('/'), new.split_once('/'))
    else {
        return (old, new);
    };
    // Git never gives both sides the same one; models do, with the two that they know best.
    let is_given = old_first != new_first || matches!(old_first, "a" | "b");
    let conventional = is_given && is_prefix(old_first) && is_prefix(new_first);
    let parallel = old_first != new_first && old_rest == new_rest;
    if conventional || parallel {
        (old_rest, new_rest)
    } else {
        (old, new)
    }
}

/// The first directories of the names in a diff.
#[derive(Debug, Default)]
pub(super) struct FirstDirectories {
    /// Those that are not part of the path.
    prefixes: HashSet<String>,
    /// Those that are.
    kept: HashSet<String>,
}

impl FirstDirectories {
    /// Takes note of a pair of names.
    pub(super) fn add(&mut self, old: &str, new: &str) {
        let set = if strip_pair(old, new) == (old, new) {
            &mut self.kept
        } else {
            &mut self.prefixes
        };
        let first = |name: &str| Some(name.split_once('/')?.0.to_owned());
        set.extend([old, new].into_iter().filter_map(first));
    }

    /// Takes note of the names after `diff --git` if they are the same: git adds no prefix then.
    pub(super) fn add_git(&mut self, names: &str) {
        if let Some((old, new)) = names.split_at_checked(names.len() / 2)
            && new.strip_prefix(' ') == Some(old)
        {
            self.add(old, old);
        }
    }

    /// Takes the prefix off a name that stands alone, the other being `/dev/null`: a conventional one,
    /// or one that the other files of the diff have.
    pub(super) fn strip_single<'a>(&self, name: &'a str) -> &'a str {
        let Some((first, rest)) = name.split_once('/') else {
            return name;
        };
        let is_given = match (self.prefixes.contains(first), self.kept.contains(first)) {
            // A directory that another file keeps is seldom a prefix.
            (is_given, true) => is_given && is_prefix(first),
            (is_given, false) => is_given || is_prefix(first),
        };
        if is_given { rest } else { name }
    }
}

/// The prefixes that git gives, with and without `diff.mnemonicPrefix`.
fn is_prefix(component: &str) -> bool {
    matches!(component, "a" | "b" | "c" | "i" | "o" | "w")
}

/// The two names after `diff --git`, prefixes taken off.
pub(super) fn git_pair(text: &str) -> Option<(String, String)> {
    /// Twice the longest path, with room for the prefixes.
    const MAX_BYTES: usize = 8400;
    if text.len() > MAX_BYTES {
        return None;
    }
    if let Some(rest) = text.strip_prefix('"') {
        let (old, rest) = unquote(rest)?;
        let new = read(rest.trim_start()).text;
        let (old, new) = strip_pair(&old, &new);
        return Some((old.to_owned(), new.to_owned()));
    }
    // Names may have spaces: the split is right where both halves name the same file.
    let mut first = None;
    for gap in gaps(text) {
        let (old, new) = (&text[..gap.start], read(&text[gap.end..]).text);
        let (old, new) = strip_pair(old, &new);
        if old == new {
            return Some((old.to_owned(), new.to_owned()));
        }
        first.get_or_insert_with(|| (old.to_owned(), new.to_owned()));
    }
    // Without spaces in them there is only one way to split two different names.
    first.filter(|_| text.matches(' ').count() == 1)
}

/// The name that is meant by two different ones, if that is clear.
pub(super) fn choose<'a>(old: &'a str, new: &'a str) -> Option<&'a str> {
    let (short, long) = if old.len() <= new.len() {
        (old, new)
    } else {
        (new, old)
    };
    let suffix = long.strip_prefix(short)?;
    let is_copy = suffix == "~" || (suffix.starts_with('.') && !suffix.contains('/'));
    (suffix.is_empty() || is_copy).then_some(short)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn case(text: &str, name: &str, is_absent: bool) {
        assert_eq!(
            read(text),
            HeaderName {
                text: name.to_owned(),
                is_absent
            }
        );
    }

    #[test]
    fn reads_names_with_times_and_quotes() {
        case("a/x.c", "a/x.c", false);
        case(
            "a/x y.c\t2010-08-18 20:13:31.484002255 -0500",
            "a/x y.c",
            false,
        );
        case(
            "a/x.c     1969-12-31 18:00:00.000000000 -0600",
            "a/x.c",
            true,
        );
        case("a/x y.c 2005-04-12 02:14:06 -07:00", "a/x y.c", false);
        case("x\t1970-01-01 00:00:00", "x", true);
        case("x\t1969-12-31 16:00:00 -08:00", "x", true);
        case("x\t1970-01-02 00:00:00 +0900", "x", false);
        case("x\t(revision 12)", "x", false);
        case("\"b/qu\\157te \\\"x\\\"\"", "b/quote \"x\"", false);
        case(
            "\"b/\\303\\244.txt\"\t1970-01-01 00:00:00 +0000",
            "b/ä.txt",
            true,
        );
        case("post image.txt\t", "post image.txt", false);
    }

    #[test]
    fn prefixes_are_known_by_their_pair() {
        for (old, new, expected) in [
            ("a/x", "b/x", ("x", "x")),
            ("i/x", "w/x", ("x", "x")),
            ("a/x", "a/x", ("x", "x")),
            ("linux-1/d/x", "linux-2/d/x", ("d/x", "d/x")),
            ("src/x", "src/x", ("src/x", "src/x")),
            ("c/main.c", "c/main.c", ("c/main.c", "c/main.c")),
            ("f.orig", "f", ("f.orig", "f")),
            ("a/old", "b/new", ("old", "new")),
        ] {
            assert_eq!(strip_pair(old, new), expected);
        }
    }

    #[test]
    fn a_name_alone_loses_the_prefix_of_the_others() {
        let of = |pairs: &[(&str, &str)]| {
            let mut directories = FirstDirectories::default();
            for (old, new) in pairs {
                directories.add(old, new);
            }
            directories
        };
        let versions = of(&[("p-1/src/a", "p-2/src/a")]);
        assert_eq!(versions.strip_single("p-2/src/new"), "src/new");
        assert_eq!(versions.strip_single("b/src/new"), "src/new");
        assert_eq!(versions.strip_single("src/new"), "src/new");
        let moved = of(&[("src/a", "lib/a"), ("lib/b", "lib/b")]);
        assert_eq!(moved.strip_single("lib/new"), "lib/new");
        for pair in [("src/a", "src/a"), ("src/a.orig", "src/a"), ("a", "b")] {
            assert_eq!(of(&[pair]).strip_single("src/new"), "src/new");
        }
    }

    #[test]
    fn a_directory_with_the_name_of_a_prefix_is_known_by_the_other_files() {
        for first in ["c", "i", "o", "w"] {
            let (old, new) = (format!("{first}/main.c"), format!("{first}/util.c"));
            let mut directories = FirstDirectories::default();
            assert_eq!(directories.strip_single(&new), "util.c");
            directories.add(&old, &old);
            assert_eq!(directories.strip_single(&new), new);
            let mut directories = FirstDirectories::default();
            directories.add_git(&format!("{new} {new}"));
            assert_eq!(directories.strip_single(&new), new);
        }
        let mut directories = FirstDirectories::default();
        directories.add_git("a/a/x b/a/x");
        directories.add_git("b/x b/x");
        assert_eq!(directories.strip_single("b/a/y"), "a/y");
    }

    #[test]
    fn git_names_may_have_spaces() {
        let pair = |text| git_pair(text).unwrap();
        assert_eq!(pair("a/x y b/x y"), ("x y".to_owned(), "x y".to_owned()));
        assert_eq!(pair("a/f b/g"), ("f".to_owned(), "g".to_owned()));
        assert_eq!(pair("x/f x/f"), ("x/f".to_owned(), "x/f".to_owned()));
        assert_eq!(
            pair("\"a/\\303\\244\" \"b/\\303\\244\""),
            ("ä".to_owned(), "ä".to_owned())
        );
        assert_eq!(git_pair("a/x y b/z w"), None);
    }

    #[test]
    fn the_work_on_a_name_grows_with_it_and_not_faster() {
        let line = |size: usize| format!("diff --git {}x\n", " ".repeat(size));
        work::assert_linear(1_000, |size| {
            git_pair(&line(size)["diff --git ".len()..]);
        });
        work::assert_linear(1_000, |size| {
            git_pair(&"x ".repeat(size / 2));
        });
        work::assert_linear(100_000, |size| {
            read(&format!("{}x", " ".repeat(size)));
        });
        work::assert_linear(100_000, |size| {
            read(&"x ".repeat(size / 2));
        });
    }

    #[test]
    fn of_two_names_the_shorter_is_meant_only_with_a_suffix() {
        assert_eq!(choose("f.orig", "f"), Some("f"));
        assert_eq!(choose("f", "f.new"), Some("f"));
        assert_eq!(choose("f", "g"), None);
        assert_eq!(choose("f", "f/x"), None);
    }
}
