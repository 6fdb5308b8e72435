//! The attributes of a tag.
//!
//! ```text
//! attributes := { name [ "=" value ] }
//! value      := quote text quote | text without white space
//! ```
//!
//! A quote ends a value only where another attribute or the end of the tag follows it, so that a
//! value may contain quotes of its own. Names are compared without letter case and without `_`
//! and `-`: `startLine`, `start_line` and `START-LINE` are one.

use crate::line::has_word;
use crate::work;

/// The attributes of one tag that nobody has asked for yet.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Attributes {
    left: Vec<Attribute>,
    /// The values that were asked for.
    taken: Vec<String>,
    /// How many values stood in quotes that are not ASCII.
    pub(super) curly: usize,
    /// The name of an attribute whose quote is never closed.
    pub(super) unclosed: Option<String>,
    /// The first attribute that can be read in two ways.
    pub(super) doubt: Option<Doubt>,
}

/// Why the values of a tag are not certain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Doubt {
    /// A value without quotes is followed by a word that may belong to it: `path=old notes.txt`.
    Unquoted(String),
    /// The quote after this name is never closed, although there are more.
    Unclosed(String),
}

/// One attribute.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Attribute {
    /// Its name as it was written.
    pub(super) written: String,
    /// Its name written plain.
    pub(super) name: String,
    pub(super) value: Option<String>,
}

/// Attributes that may stand without a value, and then mean yes.
const FLAGS: &str = "regex casesensitive numbered isregex matchcase";

impl Attributes {
    /// Reads what stands between the name of a tag and its closing bracket.
    pub(super) fn read(text: &str) -> Self {
        let mut attributes = Self::default();
        let mut rest = text.trim_start_matches(is_separator);
        let mut bare = None;
        while !rest.is_empty() {
            let (after, value) = attributes.read_one(rest);
            if let (AttributeValue::None(word), Some(before)) = (value, bare) {
                attributes
                    .doubt
                    .get_or_insert_with(|| Doubt::Unquoted(format!("{before} {word}")));
            }
            bare = match value {
                AttributeValue::Bare(written) => Some(written),
                _ => None,
            };
            rest = after.trim_start_matches(is_separator);
        }
        attributes
    }

    /// Reads one attribute; returns what follows it, and how its value is written.
    fn read_one<'a>(&mut self, text: &'a str) -> (&'a str, AttributeValue<'a>) {
        let end = text
            .find(|c: char| c == '=' || is_separator(c))
            .unwrap_or(text.len());
        let (written, rest) = text.split_at(end.max(text.chars().next().map_or(1, char::len_utf8)));
        let after_space = rest.trim_start();
        let Some(value) = after_space.strip_prefix('=') else {
            self.push(written, None);
            return (rest, AttributeValue::None(written));
        };
        let value = value.trim_start();
        let Some(quote) = value.chars().next().and_then(AttributeQuote::of) else {
            let end = value.find(is_separator).unwrap_or(value.len());
            self.push(written, Some(value[..end].to_owned()));
            let rest = &value[end..];
            let whole = &text[..text.len() - rest.len()];
            return (rest, AttributeValue::Bare(whole));
        };
        let first = value.chars().next().map_or(0, char::len_utf8);
        if let Some((inner, rest, closer)) = quoted(&value[first..], quote) {
            let curly = !value.is_char_boundary(1) || !closer.is_ascii();
            self.curly += usize::from(curly);
            let inner = if quote == AttributeQuote::Double {
                inner.replace("\\\"", "\"")
            } else {
                inner.to_owned()
            };
            self.push(written, Some(inner));
            return (rest, AttributeValue::Quoted);
        }
        let inner = &value[first..];
        if inner.chars().any(|c| AttributeQuote::of(c) == Some(quote)) {
            let doubt = || Doubt::Unclosed(written.to_owned());
            self.doubt.get_or_insert_with(doubt);
        }
        self.unclosed.get_or_insert_with(|| written.to_owned());
        self.push(written, Some(inner.to_owned()));
        ("", AttributeValue::Quoted)
    }

    fn push(&mut self, written: &str, value: Option<String>) {
        self.left.push(Attribute {
            written: written.to_owned(),
            name: plain(written),
            value,
        });
    }

    /// Takes the value of the first of these names that is there; the names are written plain.
    pub(super) fn take(&mut self, names: &str) -> Option<String> {
        Some(self.take_attribute(names)?.value.unwrap_or_default())
    }

    /// Takes a yes or no: an attribute without a value says yes, one that is not there no, and a
    /// value that is neither is given back.
    pub(super) fn take_flag(&mut self, names: &str) -> Result<bool, String> {
        let Some(attribute) = self.take_attribute(names) else {
            return Ok(false);
        };
        let value = attribute.value.unwrap_or_default();
        match value.trim().to_ascii_lowercase().as_str() {
            "" | "true" | "yes" | "1" | "on" => Ok(true),
            "false" | "no" | "0" | "off" => Ok(false),
            _ => Err(attribute.written),
        }
    }

    /// The place of the first of these names that is there.
    fn place(&self, names: &str) -> Option<usize> {
        if self.left.is_empty() {
            return None;
        }
        each(names).find_map(|name| self.left.iter().position(|it| it.name.as_bytes() == name))
    }

    fn take_attribute(&mut self, names: &str) -> Option<Attribute> {
        work::count(self.left.len());
        let place = self.place(names)?;
        let attribute = self.left.remove(place);
        self.taken.extend(attribute.value.clone());
        Some(attribute)
    }

    /// Takes every value that has one of these names, in the order of the tag.
    pub(super) fn take_all(&mut self, names: &str) -> Vec<String> {
        let is_meant = |it: &mut Attribute| each(names).any(|name| name == it.name.as_bytes());
        let taken = self.left.extract_if(.., is_meant);
        taken.map(|it| it.value.unwrap_or_default()).collect()
    }

    /// Looks at a value without taking it.
    pub(super) fn peek(&self, names: &str) -> Option<&str> {
        self.left[self.place(names)?].value.as_deref()
    }

    /// Attributes that no command took.
    pub(super) fn left(&self) -> impl Iterator<Item = &Attribute> {
        self.left.iter()
    }

    /// Returns true if another attribute has this value already, or ends with it as a path with its
    /// name.
    pub(super) fn says_again(&self, value: &str) -> bool {
        let is_same = |taken: &String| {
            let before = taken.strip_suffix(value);
            before.is_some_and(|before| before.is_empty() || before.ends_with('/'))
        };
        !value.is_empty() && self.taken.iter().any(is_same)
    }

    /// Attributes that no command took, as they were written.
    pub(super) fn unknown(&self) -> Vec<&str> {
        self.left.iter().map(|it| it.written.as_str()).collect()
    }
}

/// How the value of an attribute is written.
#[derive(Debug, Clone, Copy)]
enum AttributeValue<'a> {
    /// There is only this word.
    None(&'a str),
    /// Without quotes: the whole of the attribute.
    Bare(&'a str),
    Quoted,
}

/// Each of several names, which single spaces divide.
fn each(names: &str) -> impl Iterator<Item = &[u8]> {
    names.as_bytes().split(|byte| *byte == b' ')
}

fn plain(name: &str) -> String {
    name.chars()
        .filter(|c| !matches!(c, '_' | '-' | '\\'))
        .map(|c| c.to_ascii_lowercase())
        .collect()
}

fn is_separator(c: char) -> bool {
    c.is_whitespace() || c == ','
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AttributeQuote {
    Double,
    Single,
    Backtick,
}

impl AttributeQuote {
    fn of(c: char) -> Option<Self> {
        match c {
            '"' | '\u{201c}'..='\u{201f}' | '\u{2033}' | '\u{ab}' | '\u{bb}' => Some(Self::Double),
            '\'' | '\u{2018}'..='\u{201b}' | '\u{2032}' => Some(Self::Single),
            '`' => Some(Self::Backtick),
            _ => None,
        }
    }
}

/// The text up to the quote that ends it, what follows that quote, and the quote.
fn quoted(text: &str, quote: AttributeQuote) -> Option<(&str, &str, char)> {
    let ends = || {
        text.char_indices()
            .filter(|(_, c)| AttributeQuote::of(*c) == Some(quote))
            .filter(|(at, c)| ends_value(&text[at + c.len_utf8()..]))
    };
    let (at, closer) = ends()
        .find(|(at, _)| !text[..*at].ends_with('\\'))
        .or_else(|| ends().next_back())?;
    Some((&text[..at], &text[at + closer.len_utf8()..], closer))
}

/// Returns true if another attribute or nothing follows.
fn ends_value(rest: &str) -> bool {
    let next = rest.trim_start_matches(is_separator);
    if next.is_empty() {
        return true;
    }
    if next.len() == rest.len() {
        return false;
    }
    let word = next
        .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-')))
        .unwrap_or(next.len());
    let after = next[word..].trim_start();
    word > 0
        && (after.starts_with('=')
            || (next[word..].chars().next().is_none_or(is_separator)
                && has_word(FLAGS, &plain(&next[..word]))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn case(text: &str, expected: &[(&str, Option<&str>)]) {
        let attributes = Attributes::read(text);
        let got: Vec<_> = attributes
            .left
            .iter()
            .map(|it| (it.name.as_str(), it.value.as_deref()))
            .collect();
        assert_eq!(got, expected, "{text}");
    }

    #[test]
    fn reads_quotes_of_every_kind_and_none() {
        case(r#"path="a b.rs""#, &[("path", Some("a b.rs"))]);
        case(
            "path='a'  line=3",
            &[("path", Some("a")), ("line", Some("3"))],
        );
        case("path=\u{201c}a\u{201d}", &[("path", Some("a"))]);
        case("path=\u{201e}a\u{201c}", &[("path", Some("a"))]);
        case(
            "path = \"a\", line = 3",
            &[("path", Some("a")), ("line", Some("3"))],
        );
        case("path=`a`", &[("path", Some("a"))]);
        case(
            "numbered path=a",
            &[("numbered", None), ("path", Some("a"))],
        );
    }

    #[test]
    fn a_value_may_contain_quotes_and_brackets() {
        case(
            r#"pattern="say "hi" [0]""#,
            &[("pattern", Some(r#"say "hi" [0]"#))],
        );
        case(
            r#"pattern="a \"b\" c d" regex"#,
            &[("pattern", Some(r#"a "b" c d"#)), ("regex", None)],
        );
        case(
            r#"path="C:\dir\" line=2"#,
            &[("path", Some(r"C:\dir\")), ("line", Some("2"))],
        );
        case(
            r#"pattern="it's" path='x'"#,
            &[("pattern", Some("it's")), ("path", Some("x"))],
        );
    }

    #[test]
    fn names_are_compared_plainly() {
        case(
            "startLine=1 END-LINE=2",
            &[("startline", Some("1")), ("endline", Some("2"))],
        );
    }

    #[test]
    fn says_what_can_be_read_in_two_ways() {
        let unquoted = |text: &str| Some(Doubt::Unquoted(text.to_owned()));
        for (text, doubt) in [
            ("path=old notes.txt", unquoted("path=old notes.txt")),
            ("path=a,b.csv line=3", unquoted("path=a b.csv")),
            ("from=a b.txt to=c d.txt", unquoted("from=a b.txt")),
            ("path=a numbered", unquoted("path=a numbered")),
            ("path=a, line=3", None),
            ("numbered path=a", None),
            (r#"path="a b" numbered"#, None),
            (r#"path="a"#, None),
            (r#"path="a" b"#, Some(Doubt::Unclosed("path".to_owned()))),
        ] {
            assert_eq!(Attributes::read(text).doubt, doubt, "{text}");
        }
    }

    #[test]
    fn takes_every_value_of_a_kind() {
        let mut attributes = Attributes::read("path=a x=1 file=b path=c");
        assert_eq!(attributes.take_all("path file"), ["a", "b", "c"]);
        assert_eq!(attributes.unknown(), ["x"]);
    }

    #[test]
    fn says_which_quote_is_open() {
        let attributes = Attributes::read(r#"path="a"#);
        assert_eq!(attributes.unclosed.as_deref(), Some("path"));
        assert_eq!(Attributes::read("path=\u{201c}a\u{201d}").curly, 1);
        assert_eq!(Attributes::read("=").unknown(), ["="]);
    }
}
