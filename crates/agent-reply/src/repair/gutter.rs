//! Line numbers before every line, as editors and listings show them.

/// What stands between a line's number and its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Divider {
    Bar,
    Colon,
    Tab,
}

impl Divider {
    /// Each of them.
    pub(super) const ALL: [Self; 3] = [Self::Bar, Self::Colon, Self::Tab];
}

/// The lines without their numbers, if every line has one, one of these stands behind each, and
/// they count up without a gap.
pub(crate) fn without_line_numbers<'a>(
    lines: &[&'a str],
    dividers: &[Divider],
) -> Option<Vec<&'a str>> {
    let (first, divider, _) = number(lines.first()?)?;
    if lines.len() < 2 || !dividers.contains(&divider) {
        return None;
    }
    lines
        .iter()
        .zip(u64::from(first)..)
        .map(|(line, expected)| {
            let (number, own, text) = number(line)?;
            (u64::from(number) == expected && own == divider).then_some(text)
        })
        .collect()
}

/// The number at the beginning of a line, what divides it from the text, and the text.
fn number(line: &str) -> Option<(u32, Divider, &str)> {
    let text = line.trim_start_matches(' ');
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let number = text.get(..digits)?.parse().ok()?;
    let rest = &text[digits..];
    if let Some(text) = rest.strip_prefix('\t') {
        return Some((number, Divider::Tab, text));
    }
    if let Some(text) = rest.strip_prefix(':') {
        return Some((
            number,
            Divider::Colon,
            text.strip_prefix(' ').unwrap_or(text),
        ));
    }
    let text = rest
        .trim_start_matches(' ')
        .strip_prefix(['|', '\u{2502}'])?;
    Some((number, Divider::Bar, text.strip_prefix(' ').unwrap_or(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_must_have_the_next_number() {
        let plain = |text: &str| {
            let lines: Vec<&str> = text.split('\n').collect();
            without_line_numbers(&lines, &Divider::ALL).map(|lines| lines.join("\n"))
        };
        assert_eq!(plain("  9\ta\n 10\t\tb").as_deref(), Some("a\n\tb"));
        assert_eq!(plain("7:a\n8:  b").as_deref(), Some("a\n b"));
        assert_eq!(plain("1 \u{2502} a\n2 \u{2502}").as_deref(), Some("a\n"));
        for text in [
            "1 | a",
            "1 | a\n2: b",
            "1 | a\n3 | b",
            "a\n2 | b",
            "1 | a\n",
            "4294967295: a\nb",
            "4294967295: a\n0: b",
        ] {
            assert_eq!(plain(text), None, "{text}");
        }
    }
}
