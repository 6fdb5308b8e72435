//! Differences between the text that a model quotes and the text of the file that may be overlooked.
//!
//! Folding makes two lines equal that differ only in white space or in the kind of a quote, a dash
//! or a space. A `Shift` is one and the same change of indentation over several lines.

use std::borrow::Cow;
use std::ops::Range;

/// The plain form of a character that chats and word processors like to replace; that of a
/// character without width is nothing.
fn plain(character: char) -> Option<&'static str> {
    let plain = match character {
        '\u{2018}'..='\u{201b}' | '\u{2032}' | '\u{2035}' => "'",
        '\u{201c}'..='\u{201f}' | '\u{2033}' | '\u{2036}' => "\"",
        '\u{2010}'..='\u{2015}' | '\u{2212}' => "-",
        '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => {
            " "
        }
        '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}' => "",
        _ => return None,
    };
    Some(plain)
}

/// The line with plain quotes, dashes and spaces.
pub(super) fn punctuation(line: &str) -> Cow<'_, str> {
    if line.is_ascii() || !line.chars().any(|character| plain(character).is_some()) {
        return Cow::Borrowed(line);
    }
    Cow::Owned(rewritten(line, |_| true))
}

fn rewritten(line: &str, is_meant: impl Fn(char) -> bool) -> String {
    let mut plainer = String::with_capacity(line.len());
    for character in line.chars() {
        match plain(character).filter(|_| is_meant(character)) {
            Some(plain) => plainer.push_str(plain),
            None => plainer.push(character),
        }
    }
    plainer
}

/// The line with plain punctuation and without white space, but for one space where it divides two
/// words or two equal signs.
pub(super) fn loose(line: &str) -> Cow<'_, str> {
    match punctuation(line) {
        Cow::Borrowed(line) => collapse(line),
        Cow::Owned(line) => Cow::Owned(collapse(&line).into_owned()),
    }
}

fn collapse(line: &str) -> Cow<'_, str> {
    let line = line.trim();
    if !line.contains(char::is_whitespace) {
        return Cow::Borrowed(line);
    }
    let mut collapsed = String::with_capacity(line.len());
    for part in line.split_whitespace() {
        let ends = collapsed.chars().next_back().zip(part.chars().next());
        if ends.is_some_and(|(end, start)| end == start || (is_of_word(end) && is_of_word(start))) {
            collapsed.push(' ');
        }
        collapsed.push_str(part);
    }
    collapsed.into()
}

/// The characters of a quoted passage that the file does not have and that have a plain form.
///
/// Where the quote is wrong about a character, the new text is taken to be wrong about it as well.
pub(super) fn fancy<'t>(
    quoted: impl Iterator<Item = &'t str>,
    file: impl Iterator<Item = &'t str>,
) -> Vec<char> {
    let mut fancy: Vec<char> = (quoted.flat_map(str::chars))
        .filter(|&character| plain(character).is_some())
        .collect();
    fancy.sort_unstable();
    fancy.dedup();
    if !fancy.is_empty() {
        for line in file {
            fancy.retain(|&character| !line.contains(character));
        }
    }
    fancy
}

/// The line with the plain forms of these characters.
pub(super) fn without(line: &str, fancy: &[char]) -> String {
    rewritten(line, |character| fancy.contains(&character))
}

/// Returns true if a word is one of these, which white space divides.
pub(super) fn is_among(words: &str, word: &str) -> bool {
    words.split_whitespace().any(|known| known == word)
}

pub(super) fn strs<L: AsRef<str>>(lines: &[L]) -> Vec<&str> {
    lines.iter().map(AsRef::as_ref).collect()
}

/// Returns true if a character is one of words and names.
pub(super) fn is_of_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// The words and names of a line.
pub(super) fn words(line: &str) -> impl DoubleEndedIterator<Item = &str> {
    let words = line.split(|character: char| !is_of_word(character));
    words.filter(|word| !word.is_empty())
}

/// The characters before and after a stretch of a text.
pub(super) fn around(text: &str, stretch: &Range<usize>) -> (Option<char>, Option<char>) {
    let before = text[..stretch.start].chars().next_back();
    (before, text[stretch.end..].chars().next())
}

/// Returns true if a line has nothing but white space.
pub(super) fn is_blank(line: &str) -> bool {
    line.trim().is_empty()
}

/// The white space that a line begins with.
pub(super) fn indentation(line: &str) -> &str {
    &line[..line.len() - line.trim_start().len()]
}

/// Returns true if a line is indented by one blank at most, as a page leaves it that collapses space.
pub(super) fn is_collapsed(line: &str) -> bool {
    matches!(indentation(line), "" | " ") || is_blank(line)
}

/// One change of indentation that turns every line of a quote into the line of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Shift {
    /// The indentation is the same.
    None,
    /// The file has this before the indentation of the quote.
    Deeper(String),
    /// The quote has this before the indentation of the file.
    Shallower(String),
    /// The file has tabs where the quote has so many spaces each, and so many tabs more.
    ToTabs { width: usize, more: isize },
    /// The file has so many spaces where the quote has a tab, and so many tabs' worth more.
    ToSpaces { width: usize, more: isize },
    /// Both have spaces, the file in steps of another width.
    Scaled(Scale),
    /// Every line that is indented has one blank less in the quote.
    LostBlank,
}

/// Steps of indentation that are wider in one text than in the other, all of spaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Scale {
    /// The least indentation of the quote, and that of the file on the same line.
    least: (usize, usize),
    /// So many spaces in the quote are so many in the file: the widest step that all lines share.
    step: (usize, usize),
}

impl Scale {
    /// The scale between the widths of indentations in quote and file, if there is one.
    fn between(pairs: &[(&str, &str)]) -> Option<Self> {
        if !(pairs.iter()).all(|(quote, file)| is_all(quote, ' ') && is_all(file, ' ')) {
            return None;
        }
        let widths = || (pairs.iter()).map(|(quote, file)| (quote.len(), file.len()));
        let least = widths().min()?;
        let step = widths().try_fold((0, 0), |step, width| {
            let quote = width.0.checked_sub(least.0)?;
            let file = width.1.checked_sub(least.1)?;
            Some((gcd(step.0, quote), gcd(step.1, file)))
        })?;
        let scale = Self { least, step };
        // One space is no step of indentation that anybody writes.
        let is_scale = step.0 >= 2 && step.1 >= 2;
        (is_scale && widths().all(|(quote, file)| scale.width(quote) == file)).then_some(scale)
    }

    /// True if new lines have the steps of the file already, and not those of the quote: each block
    /// that they open shows it.
    pub(super) fn is_of_file(&self, quoted: &[&str], new: &[&str]) -> bool {
        let has_steps = |lines: &[&str], width: usize| {
            let mut steps = opened_steps(lines).peekable();
            steps.peek().is_some() && steps.all(|step| step == width)
        };
        self.least.0 == self.least.1
            && has_steps(quoted, self.step.0)
            && has_steps(new, self.step.1)
    }

    /// The width in the file of an indentation of the quote's kind.
    fn width(&self, quote: usize) -> usize {
        let (from, to) = self.step;
        let scaled = |width: usize| {
            let exact = width.checked_mul(to).filter(|width| width % from == 0);
            exact.map_or(width / from * to + width % from, |width| width / from)
        };
        let (least, base) = self.least;
        match quote.checked_sub(least) {
            Some(more) => base + scaled(more),
            None => base.saturating_sub(scaled(least - quote)),
        }
    }
}

/// How much deeper lines are than the line above them that opens a block.
fn opened_steps(lines: &[&str]) -> impl Iterator<Item = usize> {
    let filled = lines.iter().filter(|line| !is_blank(line));
    let pairs = filled.clone().zip(filled.skip(1));
    let opened = pairs.filter(|(above, _)| above.trim_end().ends_with([':', '{']));
    opened
        .map(|(above, line)| {
            indentation(line)
                .len()
                .saturating_sub(indentation(above).len())
        })
        .filter(|step| *step > 0)
}

fn gcd(one: usize, other: usize) -> usize {
    if other == 0 {
        one
    } else {
        gcd(other, one % other)
    }
}

impl Shift {
    /// The shift between the indentations of quote and file, given line by line, if there is one.
    pub(super) fn between(pairs: &[(&str, &str)]) -> Option<Self> {
        let &(quote, file) = pairs.first()?;
        let shift = if quote == file {
            Self::None
        } else if let Some(more) = file.strip_suffix(quote) {
            Self::Deeper(more.to_owned())
        } else if let Some(more) = quote.strip_suffix(file) {
            Self::Shallower(more.to_owned())
        } else {
            return Self::tabs(pairs);
        };
        if pairs.iter().all(|(quote, file)| shift.fits(quote, file)) {
            return Some(shift);
        }
        (Self::tabs(pairs).or_else(|| Scale::between(pairs).map(Self::Scaled))).or_else(|| {
            let has_lost = |(quote, file): &(&str, &str)| Self::LostBlank.fits(quote, file);
            pairs.iter().all(has_lost).then_some(Self::LostBlank)
        })
    }

    fn fits(&self, quote: &str, file: &str) -> bool {
        match self {
            Self::None => quote == file,
            Self::Deeper(more) => file.strip_suffix(quote) == Some(more),
            Self::Shallower(more) => quote.strip_suffix(file) == Some(more),
            Self::ToTabs { width, more } => {
                (is_all(quote, ' ') && is_all(file, '\t'))
                    && quote.len().is_multiple_of(*width)
                    && (quote.len() / width).checked_add_signed(*more) == Some(file.len())
            }
            Self::ToSpaces { width, more } => {
                (is_all(quote, '\t') && is_all(file, ' '))
                    && file.len().is_multiple_of(*width)
                    && quote.len().checked_add_signed(*more) == Some(file.len() / width)
            }
            Self::Scaled(scale) => scale.width(quote.len()) == file.len(),
            Self::LostBlank => is_all(file, ' ') && file.strip_prefix(' ').unwrap_or(file) == quote,
        }
    }

    fn tabs(pairs: &[(&str, &str)]) -> Option<Self> {
        let are_all = |quote_blank, file_blank| {
            (pairs.iter())
                .all(|(quote, file)| is_all(quote, quote_blank) && is_all(file, file_blank))
        };
        let to_tabs = are_all(' ', '\t');
        if !to_tabs && !are_all('\t', ' ') {
            return None;
        }
        let pair = |(quote, file): &(&str, &str)| {
            if to_tabs {
                (quote.len(), file.len())
            } else {
                (file.len(), quote.len())
            }
        };
        let (spaces, tabs) = pairs.iter().map(pair).max()?;
        let (fewer_spaces, fewer_tabs) = pairs.iter().map(pair).min()?;
        let width = if tabs > fewer_tabs {
            (spaces - fewer_spaces).checked_div(tabs - fewer_tabs)?
        } else {
            spaces.checked_div(tabs)?
        };
        // One space for a tab is no indentation that anybody writes.
        if width < 2 {
            return None;
        }
        let more = tabs.cast_signed() - (spaces / width).cast_signed();
        let shift = if to_tabs {
            Self::ToTabs { width, more }
        } else {
            Self::ToSpaces { width, more: -more }
        };
        (pairs.iter().all(|(quote, file)| shift.fits(quote, file))).then_some(shift)
    }

    /// A line of the new text, shifted as the quote has to be; a blank line stays as it is.
    pub(super) fn apply<'t>(&self, line: &'t str) -> Cow<'t, str> {
        let indentation = indentation(line);
        let body = &line[indentation.len()..];
        if body.is_empty() {
            return Cow::Borrowed(line);
        }
        match self {
            Self::Deeper(more) => Cow::Owned(format!("{more}{line}")),
            Self::Shallower(less) => match indentation.strip_prefix(less.as_str()) {
                Some(rest) => Cow::Borrowed(&line[indentation.len() - rest.len()..]),
                None => Cow::Borrowed(body),
            },
            Self::ToTabs { width, more } if is_all(indentation, ' ') => {
                let tabs = (indentation.len() / width).saturating_add_signed(*more);
                let rest = " ".repeat(indentation.len() % width);
                Cow::Owned(format!("{}{rest}{body}", "\t".repeat(tabs)))
            }
            Self::ToSpaces { width, more } if is_all(indentation, '\t') => {
                let spaces = indentation.len().saturating_add_signed(*more) * width;
                Cow::Owned(format!("{}{body}", " ".repeat(spaces)))
            }
            Self::Scaled(scale) if is_all(indentation, ' ') => {
                let spaces = scale.width(indentation.len());
                Cow::Owned(format!("{}{body}", " ".repeat(spaces)))
            }
            Self::LostBlank if !indentation.is_empty() => Cow::Owned(format!(" {line}")),
            Self::None
            | Self::LostBlank
            | Self::ToTabs { .. }
            | Self::ToSpaces { .. }
            | Self::Scaled(_) => Cow::Borrowed(line),
        }
    }
}

fn is_all(indentation: &str, character: char) -> bool {
    indentation.chars().all(|other| other == character)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folds_what_chats_replace() {
        assert_eq!(loose("  a\t b \u{a0}"), "a b");
        assert_eq!(
            loose("\u{201c}a\u{201d} \u{2014} it\u{2019}s"),
            "\"a\"-it's"
        );
        assert_eq!(loose("x\u{200b}y"), "xy");
        assert_eq!(loose(" \t"), "");
        assert_eq!(loose("if( a + +b ) {"), "if(a+ +b){");
        assert!(matches!(loose("  plain"), Cow::Borrowed("plain")));
    }

    #[track_caller]
    fn shift(pairs: &[(&str, &str)], line: &str, expected: &str) {
        let shift = Shift::between(pairs).expect("a uniform shift");
        assert_eq!(shift.apply(line), expected);
    }

    #[test]
    fn new_lines_are_shifted_as_the_quoted_ones_are() {
        shift(&[("", "    "), ("  ", "      ")], "    x", "        x");
        shift(&[("    ", ""), ("      ", "  ")], "    x", "x");
        shift(&[("    ", "")], "  x", "x");
        shift(&[("  ", "\t")], "    x", "\t\tx");
        shift(&[("", ""), ("    ", "\t")], "        x", "\t\tx");
        shift(&[("", "\t"), ("    ", "\t\t")], "        x", "\t\t\tx");
        shift(&[("\t", "  "), ("\t\t", "    ")], "\t\t\tx", "      x");
        shift(&[("", "  ")], "", "");
        let narrower = &[("    ", "  "), ("        ", "    ")][..];
        shift(narrower, "            x", "      x");
        shift(narrower, "x", "x");
        shift(narrower, "       x", "     x");
        shift(&[("", ""), ("        ", "    ")], "    x", "  x");
        shift(&[("", "  "), ("  ", "      ")], "    x", "          x");
    }

    #[test]
    fn different_shifts_are_no_shift() {
        assert_eq!(Shift::between(&[("", "  "), ("", "    ")]), None);
        assert_eq!(Shift::between(&[("  ", "\t"), ("   ", "\t\t")]), None);
        assert_eq!(Shift::between(&[("  ", "  "), ("    ", "   ")]), None);
        let mixed = [("", ""), ("    ", "  "), ("        ", "      ")];
        assert_eq!(Shift::between(&mixed), None);
        assert_eq!(Shift::between(&[]), None);
    }
}
