//! Line numbers before every line, as editors and listings show them.

/// The sign between a line's number and its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Divider {
    Bar,
    Colon,
    Tab,
    Dot,
    Bracket,
    /// Around the number: `[1] `.
    Brackets,
    Arrow,
}

impl Divider {
    /// Each of them.
    pub(crate) const ALL: [Self; 7] = [
        Self::Bar,
        Self::Colon,
        Self::Dot,
        Self::Bracket,
        Self::Brackets,
        Self::Arrow,
        Self::Tab,
    ];

    /// Those that may stand in a whole file of code: a tab divides columns of data, unless blanks
    /// before the number or three lines from 1 on show a listing.
    pub(crate) fn in_code(lines: &[&str]) -> &'static [Self] {
        let begins = |start: &str| lines.first().is_some_and(|line| line.starts_with(start));
        let is_listing = begins(" ") || (begins("1\t") && lines.len() > 2);
        &Self::ALL[..Self::ALL.len() - usize::from(!is_listing)]
    }

    /// The texts without the blank behind the sign, if each has one: in `7:a` and `8:  b` there is
    /// none. Two that all lines have are both of the gutter, because code is not indented by one.
    fn without_gap(self, mut texts: Vec<&str>) -> Vec<&str> {
        let blanks = |text: &&str| text.len() - text.trim_start_matches(' ').len();
        let filled = texts.iter().filter(|text| !text.trim().is_empty());
        let gap = match filled.map(blanks).min() {
            _ if matches!(self, Self::Tab | Self::Arrow) => 0,
            Some(2) => 2,
            least => least.unwrap_or(1).min(1),
        };
        for text in &mut texts {
            *text = text.get(gap..).unwrap_or_default();
        }
        texts
    }
}

/// The lines without their numbers, if every line has one, one of these stands behind each, and
/// they count up without a gap. A blank line between them may lack its number.
pub(crate) fn without_line_numbers<'a>(
    lines: &[&'a str],
    dividers: &[Divider],
) -> Option<Vec<&'a str>> {
    let (first, divider, _) = numbered(lines.first()?)?;
    if lines.len() < 2 || !dividers.contains(&divider) {
        return None;
    }
    let last = lines.len() - 1;
    let texts: Option<Vec<&str>> = (lines.iter().enumerate())
        .zip(u64::from(first)..)
        .map(|((at, line), expected)| {
            if line.trim().is_empty() && at < last {
                return Some("");
            }
            let (number, own, text) = numbered(line)?;
            (u64::from(number) == expected && own == divider).then_some(text)
        })
        .collect();
    texts.map(|texts| divider.without_gap(texts))
}

/// The lines of a whole file of code without its numbers, in whatever form they stand.
pub(crate) fn without_gutter<'a>(lines: &[&'a str]) -> Option<Vec<&'a str>> {
    without_line_numbers(lines, Divider::in_code(lines))
        .or_else(|| without_number_lines(lines))
        .or_else(|| without_number_column(lines))
        .or_else(|| without_spaced_numbers(lines))
}

/// Returns true if the texts behind numbers are lines of settings themselves, so that the numbers are
/// no keys of these: a line is indented, or each is an entry, an item or a remark.
pub(crate) fn are_settings(texts: &[&str]) -> bool {
    let is_entry = |line: &str| {
        line.contains(": ")
            || line.ends_with(':')
            || line.starts_with("- ")
            || line.starts_with('#')
    };
    let mut filled = texts.iter().filter(|line| !line.trim().is_empty());
    texts
        .iter()
        .any(|line| line.starts_with("  ") || line.starts_with('\t'))
        || filled.all(|line| is_entry(line.trim()))
}

/// The lines without the numbers before them that only blanks divide from the text, if they count
/// up from 1 without a gap, as a printed listing has them.
fn without_spaced_numbers<'a>(lines: &[&'a str]) -> Option<Vec<&'a str>> {
    /// Fewer lines may count something themselves.
    const ENOUGH: usize = 3;
    let behind = |(line, number): (&&'a str, usize)| {
        let text = line.trim_start_matches(' ');
        let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
        let digits = &text[..text.len() - rest.len()];
        (digits.parse() == Ok(number) && (rest.is_empty() || rest.starts_with(' '))).then_some(rest)
    };
    let rests: Vec<&str> = lines.iter().zip(1..).map(behind).collect::<Option<_>>()?;
    let blanks = |rest: &&str| rest.len() - rest.trim_start_matches(' ').len();
    let filled = || rests.iter().filter(|rest| !rest.trim().is_empty());
    let gap = filled().map(blanks).min()?;
    let text = |rest: &&'a str| rest.get(gap..).unwrap_or_default();
    (filled().count() >= ENOUGH).then(|| rests.iter().map(text).collect())
}

/// The lines of code without what a page put between them: `Show more lines`.
pub(crate) fn without_labels<'a>(lines: &[&'a str]) -> Option<Vec<&'a str>> {
    let is_label =
        |line: &&str| matches!(line.trim_end(), "Show more lines" | "Continue generating");
    let kept = || lines.iter().copied().filter(|line| !is_label(line));
    (lines.iter().any(is_label)).then(|| kept().collect())
}

/// The lines without those on which only a number stands, if every other line is one and they count
/// up without a gap, as where a page has the numbers in a column of their own.
pub(crate) fn without_number_lines<'a>(lines: &[&'a str]) -> Option<Vec<&'a str>> {
    // No listing has more lines than fit, and the next number must exist.
    let alone = |line: &str| line.trim().parse::<u32>().ok().map(u64::from);
    let first = alone(lines.first()?)?;
    let (numbers, texts): (Vec<_>, Vec<_>) =
        lines.chunks(2).map(|pair| (pair[0], pair.get(1))).unzip();
    let counts = |(line, number): (&&str, u64)| alone(line) == Some(number);
    let is_column = numbers.len() > 1 && numbers.iter().zip(first..).all(counts);
    let texts = texts.into_iter().flatten().copied();
    is_column.then(|| texts.collect())
}

/// The lines without the numbers above them, if these count up from 1 and there are as many, as
/// where a page has the numbers in a column of their own that was copied first.
fn without_number_column<'a>(lines: &[&'a str]) -> Option<Vec<&'a str>> {
    const ENOUGH: usize = 3;
    let (numbers, texts) = lines.split_at(lines.len() / 2);
    let counts = |(line, number): (&&str, usize)| line.trim().parse() == Ok(number);
    let is_column = lines.len().is_multiple_of(2)
        && numbers.len() >= ENOUGH
        && numbers.iter().zip(1..).all(counts)
        && !texts.iter().zip(1..).all(counts);
    is_column.then(|| texts.to_vec())
}

/// The runs of lines with numbers that count up without a gap, each with its lines without them.
pub(super) fn numbered_runs<'a>(lines: &[&'a str]) -> Vec<(usize, Vec<&'a str>)> {
    let mut runs = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let Some((first, divider, text)) = numbered(lines[at]) else {
            at += 1;
            continue;
        };
        let mut plain = vec![text];
        for (line, expected) in lines[at + 1..].iter().zip(u64::from(first) + 1..) {
            match numbered(line) {
                Some((number, own, text)) if u64::from(number) == expected && own == divider => {
                    plain.push(text);
                }
                _ => break,
            }
        }
        let end = at + plain.len();
        if plain.len() > 2 {
            runs.push((at, divider.without_gap(plain)));
        }
        at = end;
    }
    runs
}

/// The number at the beginning of a line, what divides it from the text, and the text with the
/// blank that may stand before it.
pub(crate) fn numbered(line: &str) -> Option<(u32, Divider, &str)> {
    let text = line.trim_start_matches(' ');
    let mark = text.chars().next().filter(|c| matches!(c, 'L' | '['));
    let text = &text[mark.map_or(0, char::len_utf8)..];
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let number = text.get(..digits)?.parse().ok()?;
    let rest = &text[digits..];
    let sign = rest.trim_start_matches(' ').chars().next()?;
    let divider = match (mark, sign) {
        (Some('['), ']') => Divider::Brackets,
        (None | Some('L'), ':') => Divider::Colon,
        (None, '\t') => Divider::Tab,
        (None, '.') => Divider::Dot,
        (None, ')') => Divider::Bracket,
        (None, '\u{2192}') => Divider::Arrow,
        (None, '|' | '\u{2502}') => Divider::Bar,
        _ => return None,
    };
    let is_spaced = divider == Divider::Bar;
    let rest = if is_spaced {
        rest.trim_start_matches(' ')
    } else {
        rest
    };
    let text = rest.strip_prefix(sign)?;
    let needs_blank = matches!(divider, Divider::Dot | Divider::Bracket | Divider::Brackets);
    let has_blank = text.is_empty() || text.starts_with(' ');
    (has_blank || !needs_blank).then_some((number, divider, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_has_no_next_one_is_no_line_number() {
        assert_eq!(
            without_number_lines(&["18446744073709551615", "x", "0", "y"]),
            None
        );
    }

    #[test]
    fn numbers_that_were_copied_first_go() {
        let lines = ["1", "2", "3", "a", "", "b"];
        assert_eq!(without_number_column(&lines).unwrap(), ["a", "", "b"]);
        assert_eq!(without_number_column(&lines[..5]), None);
        assert_eq!(without_number_column(&["1", "2", "3", "1", "2", "3"]), None);
    }

    #[test]
    fn every_line_must_have_the_next_number() {
        let plain = |text: &str| {
            let lines: Vec<&str> = text.split('\n').collect();
            without_line_numbers(&lines, &Divider::ALL).map(|lines| lines.join("\n"))
        };
        assert_eq!(plain("  9\ta\n 10\t\tb").as_deref(), Some("a\n\tb"));
        assert_eq!(plain("7:a\n8:  b").as_deref(), Some("a\n  b"));
        assert_eq!(plain("7|a\n8|  b").as_deref(), Some("a\n  b"));
        assert_eq!(plain("7: a\n8:\n9:   b").as_deref(), Some("a\n\n  b"));
        assert_eq!(
            plain("  1\u{2192}a\n  2\u{2192}  b").as_deref(),
            Some("a\n  b")
        );
        assert_eq!(plain("L1: a\nL2:   b").as_deref(), Some("a\n  b"));
        assert_eq!(plain("1) a\n2)   b").as_deref(), Some("a\n  b"));
        assert_eq!(plain("[1] a\n[2]\n[3]   b").as_deref(), Some("a\n\n  b"));
        assert_eq!(plain("2: a\n\n4:   b").as_deref(), Some("a\n\n  b"));
        assert_eq!(plain("1.  a\n2.\n3.    b").as_deref(), Some("a\n\n  b"));
        assert_eq!(plain("4:   a\n5:     b").as_deref(), Some("  a\n    b"));
        assert_eq!(plain("1 \u{2502} a\n2 \u{2502}").as_deref(), Some("a\n"));
        for text in [
            "1 | a",
            "1 | a\n2: b",
            "1 | a\n3 | b",
            "a\n2 | b",
            "1 | a\n",
            "1: a\n\n2: b",
            "4294967295: a\nb",
            "4294967295: a\n0: b",
            "[1, 2]\n[2, 3]",
            "[1]: a\n[2]: b",
        ] {
            assert_eq!(plain(text), None, "{text}");
        }
    }
}
