//! `RelPath`: a path in the workspace, as a model may write it.
//!
//! Always relative, `/`-separated, without `.`, `..` or empty components, and never the root
//! itself. A holder of a `RelPath` need not check it again. Symbolic links are left to `workspace`,
//! which resolves paths beneath the root.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use serde::{Deserialize, Serialize, Serializer};

use crate::unseen::is_stray;

/// The longest path that is accepted, in bytes; the limit of Linux.
const MAX_BYTES: usize = 4096;

/// A checked path relative to the workspace root. Listings of a large workspace have very many, so
/// copies share the text, and so do the paths of one directory.
#[derive(Clone, Deserialize)]
#[serde(try_from = "String")]
pub struct RelPath {
    text: Arc<str>,
    /// Where in the text the path begins.
    start: u32,
    /// No path is longer than the limit, so that these need no more.
    length: u16,
    /// Where in the path its last component begins.
    name: u16,
}

/// The reason why a text is not a path in the workspace.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathProblem {
    /// Empty, white space or just `.`.
    #[error("the path is empty")]
    Empty,
    /// Starts at the root of the file system, a drive, a share or the home directory.
    #[error("`{0}` is not relative to the workspace")]
    Absolute(String),
    /// Has a `..` component.
    #[error("`{0}` leaves the workspace")]
    Escapes(String),
    /// Has a NUL or another control character, or one that makes it look like other text.
    #[error("the path contains a control character")]
    ControlCharacter,
    /// Has an invisible character, which makes it look like another path.
    #[error("the path contains the invisible character U+{:04X}", u32::from(*.0))]
    Unseen(char),
    /// The address of a page, or a link that a chat page made of a path.
    #[error("`{0}` is a link, not a path")]
    Link(String),
    /// Cannot be the name of a file on Windows, or means another file there.
    #[error("`{0}` is no file name on Windows")]
    Reserved(String),
    /// Longer than the operating system allows.
    #[error("the path is longer than 4,096 bytes")]
    TooLong,
    /// A list with too many parts.
    #[error("the list is longer than 200 paths")]
    TooMany,
}

impl RelPath {
    /// Checks a path from a reply.
    ///
    /// Drops surrounding white space, a leading `./`, doubled and trailing slashes, and invisible
    /// characters around the path, because chat pages put direction marks beside words. A backslash
    /// also separates components: models on Windows write `src\main.rs`, and file names with a
    /// backslash are far rarer. Backslashes that Markdown added are removed.
    pub fn parse(text: &str) -> Result<Self, PathProblem> {
        if is_tidy(text) {
            return Self::unless_reserved(text);
        }
        let text = text.trim_matches(|c: char| c.is_whitespace() || is_stray(c));
        if text.len() > MAX_BYTES {
            return Err(PathProblem::TooLong);
        }
        if text.chars().any(is_misleading) {
            return Err(PathProblem::ControlCharacter);
        }
        if let Some(unseen) = text.chars().find(|c| is_stray(*c)) {
            return Err(PathProblem::Unseen(unseen));
        }
        if text.contains("://") || text.contains("](") {
            return Err(PathProblem::Link(text.to_owned()));
        }
        let separated = if Self::is_escaped(text) {
            text.replace("\\_", "_")
        } else {
            text.replace('\\', "/")
        };
        if is_absolute(&separated) {
            return Err(PathProblem::Absolute(text.to_owned()));
        }
        if separated.split('/').any(|part| part == "..") {
            return Err(PathProblem::Escapes(text.to_owned()));
        }
        let parts: Vec<&str> = separated
            .split('/')
            .filter(|part| !part.is_empty() && *part != ".")
            .collect();
        if parts.is_empty() {
            return Err(PathProblem::Empty);
        }
        let tidy = parts.join("/");
        // Tidying can move white space or a `~` to the front, so a path that is already tidy is
        // kept.
        if tidy == text {
            Self::unless_reserved(&tidy)
        } else {
            Self::parse(&tidy)
        }
    }

    /// The path, unless a component of it is reserved on this system.
    fn unless_reserved(tidy: &str) -> Result<Self, PathProblem> {
        if cfg!(windows) {
            refuse_reserved(tidy)?;
        }
        Ok(Self::whole(tidy))
    }

    fn whole(text: &str) -> Self {
        let name = text.rfind('/').map_or(0, |slash| slash + 1);
        Self::within(&text.into(), 0, text.len(), name)
    }

    /// The path that begins there in a text, with its length and where its last component begins.
    fn within(text: &Arc<str>, start: u32, length: usize, name: usize) -> Self {
        let in_path = |at: usize| u16::try_from(at).unwrap_or(u16::MAX);
        Self {
            text: Arc::clone(text),
            start,
            length: in_path(length),
            name: in_path(name),
        }
    }

    /// Returns true if the backslashes of a path are Markdown escapes: each is in front of a `_`
    /// and each `_` is behind one, as in `my\_file.py`.
    pub fn is_escaped(text: &str) -> bool {
        let escaped = text.matches("\\_").count();
        let count = |wanted: u8| text.bytes().filter(|byte| *byte == wanted).count();
        escaped > 0 && escaped == count(b'\\') && escaped == count(b'_')
    }

    /// Checks a path that may also be the workspace itself: empty, `.` or `/` give `None`.
    pub fn parse_directory(text: &str) -> Result<Option<Self>, PathProblem> {
        if matches!(text.trim(), "" | "." | "./" | "/") {
            return Ok(None);
        }
        Self::parse(text).map(Some)
    }

    /// The path of a directory entry, if parsing that path gives exactly this entry.
    ///
    /// `directory` is a `RelPath` as text, or empty for the workspace itself; `name` has no `/`.
    pub fn of_entry(directory: &str, name: &str) -> Option<Self> {
        let paths = Self::of_entries(directory, std::iter::once(name));
        paths.into_iter().next().flatten()
    }

    /// Does the same for all entries of a directory.
    pub fn of_entries<'n>(
        directory: &str,
        names: impl Iterator<Item = &'n str> + Clone,
    ) -> Vec<Option<Self>> {
        let before = directory.len() + usize::from(!directory.is_empty());
        let length = names.clone().map(|name| before + name.len());
        let mut text = String::with_capacity(length.sum());
        let mut found = Vec::with_capacity(names.size_hint().0);
        for name in names {
            let start = text.len();
            if !directory.is_empty() {
                text.push_str(directory);
                text.push('/');
            }
            text.push_str(name);
            let is_path = is_path_of_entry(&text[start..], name);
            let start = u32::try_from(start).ok().filter(|_| is_path);
            found.push(start.map(|start| (start, before + name.len())));
        }
        let text: Arc<str> = text.into();
        let path = |(start, length)| Self::within(&text, start, length, before);
        found.into_iter().map(|found| found.map(path)).collect()
    }

    /// The path with `/` between its components.
    #[inline]
    pub fn as_str(&self) -> &str {
        let start = self.start as usize;
        &self.text[start..start + usize::from(self.length)]
    }

    /// The path for use in a sentence, see [`quoted`].
    pub fn quoted(&self) -> Cow<'_, str> {
        quoted(self.as_str())
    }

    /// The components, outermost first; never empty.
    pub fn components(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.as_str().split('/')
    }

    /// The last component.
    #[inline]
    pub fn file_name(&self) -> &str {
        &self.as_str()[usize::from(self.name)..]
    }

    /// The directory, empty at the top, and the last component.
    #[inline]
    pub fn split(&self) -> (&str, &str) {
        let (directory, name) = self.as_str().split_at(usize::from(self.name));
        (directory.strip_suffix('/').unwrap_or(directory), name)
    }

    /// Returns true if both are in the same directory.
    #[inline]
    pub fn is_beside(&self, other: &Self) -> bool {
        // Only paths of one directory share a text.
        Arc::ptr_eq(&self.text, &other.text) || self.split().0 == other.split().0
    }

    /// True for copies, whose text need not be compared; two listings have many of them.
    #[inline]
    fn is_copy_of(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.text, &other.text)
            && (self.start, self.length) == (other.start, other.length)
    }

    /// The directory that contains it, `None` at the top.
    pub fn parent(&self) -> Option<RelPath> {
        match self.split() {
            ("", _) => None,
            (directory, _) => Some(Self::whole(directory)),
        }
    }
}

/// True if parsing the text, the path of a directory entry of this name, gives that path.
fn is_path_of_entry(text: &str, name: &str) -> bool {
    if cfg!(windows) && is_reserved(name) {
        return false;
    }
    text.len() <= MAX_BYTES && is_plain_name(name)
        || RelPath::parse(text).is_ok_and(|path| path.as_str() == text)
}

/// Fails if a component of the path is reserved on Windows.
fn refuse_reserved(text: &str) -> Result<(), PathProblem> {
    match text.split('/').find(|part| is_reserved(part)) {
        Some(part) => Err(PathProblem::Reserved(part.to_owned())),
        None => Ok(()),
    }
}

/// Returns true for names that most calls of Windows take for a device, or for the same name without its
/// end. Some calls do not, so that files with such names can exist.
pub fn is_renamed_by_windows(name: &str) -> bool {
    const DEVICES: [&str; 6] = ["con", "prn", "aux", "nul", "conin$", "conout$"];
    const NUMBERED: [&str; 2] = ["com", "lpt"];
    let stem = name.split('.').next().unwrap_or_default();
    let device = stem.trim_end().to_ascii_lowercase();
    let is_numbered = NUMBERED.iter().any(|known| {
        let number = device.strip_prefix(known);
        number.is_some_and(|number| {
            matches!(number, "\u{b9}" | "\u{b2}" | "\u{b3}")
                || number.len() == 1 && number.as_bytes()[0].is_ascii_digit()
        })
    });
    is_numbered || DEVICES.contains(&&*device) || name.ends_with(['.', ' '])
}

/// Returns true for names that mean something else on Windows, also a part of a file (`a:b`) or the short
/// name of another file: `GIT~1` may be `.git`; and for those that no file can have. `*` and `?` are left
/// to the system, because globs are paths too.
fn is_reserved(name: &str) -> bool {
    let (stem, extension) = name.split_once('.').unwrap_or((name, ""));
    let is_short = stem.len() <= 8
        && extension.len() <= 3
        && stem.rsplit_once('~').is_some_and(|(_, number)| {
            !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
        });
    is_short || name.contains([':', '<', '>', '"', '|']) || is_renamed_by_windows(name)
}

/// Returns true for paths that need no closer check, which are nearly all.
fn is_tidy(text: &str) -> bool {
    text.len() <= MAX_BYTES && text.split('/').all(is_plain_name)
}

/// Returns true if a name has only common characters and is neither `.` nor `..`.
fn is_plain_name(name: &str) -> bool {
    let is_plain =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-' | b'+');
    !matches!(name, "" | "." | "..") && name.bytes().all(is_plain)
}

/// Returns true if a character may not appear in a name that is shown in a line of text: it starts
/// another line or changes the direction of text.
fn is_misleading(character: char) -> bool {
    character.is_control() || matches!(character, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// A name or path for use in a sentence: in backticks, unless it is too plain to be mistaken for
/// anything else.
pub fn quoted(name: &str) -> Cow<'_, str> {
    let is_plain = |character: char| {
        character.is_alphanumeric() || matches!(character, '.' | '_' | '-' | '+' | '@' | '/')
    };
    if name.is_empty() || name.chars().all(is_plain) {
        return Cow::Borrowed(name);
    }
    if name.contains('`') {
        return Cow::Owned(format!("`` {name} ``"));
    }
    Cow::Owned(format!("`{name}`"))
}

fn is_absolute(text: &str) -> bool {
    let bytes = text.as_bytes();
    let drive = bytes.len() >= 2 && bytes[0].is_ascii_alphabetic() && bytes[1] == b':';
    text.starts_with('/') || text == "~" || text.starts_with("~/") || drive
}

impl PartialEq for RelPath {
    fn eq(&self, other: &Self) -> bool {
        self.is_copy_of(other) || self.as_str() == other.as_str()
    }
}

impl Eq for RelPath {}

impl Hash for RelPath {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl PartialOrd for RelPath {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for RelPath {
    fn cmp(&self, other: &Self) -> Ordering {
        if self.is_copy_of(other) {
            return Ordering::Equal;
        }
        self.as_str().cmp(other.as_str())
    }
}

impl fmt::Debug for RelPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RelPath").field(&self.as_str()).finish()
    }
}

impl fmt::Display for RelPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl TryFrom<String> for RelPath {
    type Error = PathProblem;

    fn try_from(text: String) -> Result<Self, PathProblem> {
        Self::parse(&text)
    }
}

impl From<RelPath> for String {
    fn from(path: RelPath) -> Self {
        path.as_str().into()
    }
}

impl Serialize for RelPath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn case(text: &str, expected: &str) {
        assert_eq!(
            RelPath::parse(text).map(String::from),
            Ok(expected.to_owned())
        );
    }

    #[test]
    fn tidies_what_models_write() {
        case("src/main.rs", "src/main.rs");
        case("./src//main.rs", "src/main.rs");
        case(" docs/ ", "docs");
        case("src\\main.rs", "src/main.rs");
        case("..hidden/a...b", "..hidden/a...b");
        case("src/a\\b", "src/a/b");
        case("my\\_file.py", "my_file.py");
        case("src/a\\_b\\_c.py", "src/a_b_c.py");
        case("src\\_private\\a.py", "src/_private/a.py");
        case("src\\_private_a.py", "src/_private_a.py");
    }

    #[test]
    fn refuses_what_would_pass_for_other_text() {
        for text in ["a\u{202e}b", "a\u{2066}b", "a\u{2028}b", "a\nb", "a\u{85}b"] {
            let refused = Err(PathProblem::ControlCharacter);
            assert_eq!(RelPath::parse(text), refused, "{text:?}");
            assert_eq!(RelPath::of_entry("d", text), None, "{text:?}");
        }
    }

    #[test]
    fn refuses_what_looks_like_another_path() {
        for text in ["a\u{200e}.py", "a\u{200b}b", "src\u{200f}/a", "a\u{ad}b"] {
            let refused = matches!(RelPath::parse(text), Err(PathProblem::Unseen(_)));
            assert!(refused, "{text:?}");
            assert_eq!(RelPath::of_entry("d", text), None, "{text:?}");
        }
        case("\u{200e}a.py\u{200f} ", "a.py");
        assert_eq!(RelPath::of_entry("", "\u{200e}a.py"), None);
        for word in [
            "\u{645}\u{6cc}\u{200c}\u{634}.md",
            "\u{2764}\u{fe0f}.md",
            "a\u{200d}b",
        ] {
            case(word, word);
        }
    }

    #[test]
    fn knows_what_windows_takes_for_something_else() {
        for name in [
            "con",
            "NUL",
            "nul.txt",
            "Aux .md",
            "com1",
            "LPT\u{b2}.log",
            "CONOUT$",
            "a.",
            "a ",
            ".git.",
            ".git ",
            "a:b",
            ".git::$INDEX_ALLOCATION",
            "GIT~1",
            "PROGRA~1.txt",
            "a<b>",
            "a\"b",
            "a|b",
        ] {
            assert!(is_reserved(name), "{name}");
            // A file can have these names and be found under them.
            let is_exact = name.contains(['~', ':', '<', '"', '|']);
            assert_eq!(is_renamed_by_windows(name), !is_exact, "{name}");
            let inside = refuse_reserved(&format!("src/{name}/x"));
            assert_eq!(inside, Err(PathProblem::Reserved(name.to_owned())));
        }
        for name in [
            "console.log",
            "com",
            "com10",
            "context",
            "nullable.rs",
            ".git",
            "a.b",
            "~",
            "notes~",
            "backup~old1",
            "a+b",
            "src*",
        ] {
            assert!(!is_reserved(name), "{name}");
            assert_eq!(refuse_reserved(name), Ok(()), "{name}");
        }
    }

    #[test]
    fn refuses_links() {
        for text in [
            "[main.py](http://main.py)",
            "https://example.org/a.py",
            "[a](sandbox:/a)",
        ] {
            let link = Err(PathProblem::Link(text.to_owned()));
            assert_eq!(RelPath::parse(text), link);
        }
        for name in [
            "app/[id]/page.tsx",
            "app/(group)/[...slug].ts",
            "ab:c",
            "x (1).txt",
        ] {
            case(name, name);
        }
    }

    #[test]
    fn only_plain_names_stand_in_a_sentence_as_they_are() {
        for plain in ["src/a_b-1.c++.rs", "@scope/x", "größe.txt"] {
            assert_eq!(quoted(plain), plain);
        }
        assert_eq!(quoted("## A Note"), "`## A Note`");
        assert_eq!(quoted("x (3 lines)"), "`x (3 lines)`");
        assert_eq!(quoted("a`b"), "`` a`b ``");
    }

    #[test]
    fn refuses_what_is_not_inside() {
        for text in [
            "../x",
            "a/../../x",
            "a/..",
            "..",
            "a\\..\\x",
            "a/b\\..\\..\\..\\x",
        ] {
            assert_eq!(
                RelPath::parse(text),
                Err(PathProblem::Escapes(text.to_owned())),
                "{text}"
            );
        }
        for text in [
            "/etc/passwd",
            "\\\\server\\share",
            "C:\\x",
            "c:/x",
            "~/x",
            "~",
        ] {
            assert_eq!(
                RelPath::parse(text),
                Err(PathProblem::Absolute(text.to_owned())),
                "{text}"
            );
        }
        for text in ["", "  ", ".", "./", "././"] {
            assert_eq!(RelPath::parse(text), Err(PathProblem::Empty), "{text}");
        }
        assert_eq!(RelPath::parse("a\0b"), Err(PathProblem::ControlCharacter));
        assert_eq!(RelPath::parse("a\nb"), Err(PathProblem::ControlCharacter));
        assert_eq!(RelPath::parse(&"x".repeat(5000)), Err(PathProblem::TooLong));
    }

    #[test]
    fn a_directory_may_be_the_workspace_itself() {
        for text in ["", ".", "./", "/"] {
            assert_eq!(RelPath::parse_directory(text), Ok(None), "{text}");
        }
        assert_eq!(
            RelPath::parse_directory("src/").unwrap().unwrap().as_str(),
            "src"
        );
        assert!(RelPath::parse_directory("/etc").is_err());
    }

    #[test]
    fn knows_its_parts() {
        let path = RelPath::parse("a/b/c.rs").unwrap();
        assert_eq!(path.file_name(), "c.rs");
        assert_eq!(path.parent().unwrap().as_str(), "a/b");
        assert_eq!(RelPath::parse("c.rs").unwrap().parent(), None);
    }

    #[test]
    fn the_entries_of_a_directory_are_beside_each_other() {
        let paths = RelPath::of_entries("a", ["x.rs", "a\nb", "y.rs"].into_iter());
        let [Some(one), None, Some(other)] = &paths[..] else {
            panic!("{paths:?}");
        };
        assert_eq!((one.as_str(), other.as_str()), ("a/x.rs", "a/y.rs"));
        assert!(one < other && one.is_beside(other));
        assert!(one.is_beside(&RelPath::parse("a/z.rs").unwrap()));
        assert!(!one.is_beside(&RelPath::parse("a/b/z.rs").unwrap()));
        assert!(!one.is_beside(&RelPath::parse("x.rs").unwrap()));
    }

    proptest! {
        #[test]
        fn an_entry_is_what_its_written_path_would_be(
            directory in "|a|a b/c|~a", name in "[a-c.~: _\\\\\u{e4}-]{1,6}",
        ) {
            let text = if directory.is_empty() { name.clone() } else { format!("{directory}/{name}") };
            let parsed = RelPath::parse(&text).ok().filter(|path| path.as_str() == text);
            prop_assert_eq!(RelPath::of_entry(&directory, &name), parsed);
        }

        #[test]
        fn never_escapes(text in "[a-c./\\\\~: _]{0,24}") {
            if let Ok(path) = RelPath::parse(&text) {
                prop_assert!(!path.as_str().starts_with('/'));
                prop_assert!(path.components().all(|part| !part.is_empty() && part != "." && part != ".."));
                prop_assert_eq!(RelPath::parse(path.as_str()), Ok(path.clone()));
            }
        }
    }
}
