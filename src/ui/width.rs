//! How many columns a text takes on a terminal.

use super::palette::either;

/// A text in so many columns; what does not fit is left out, and a `…` says so.
pub fn shortened(text: &str, columns: usize) -> String {
    let total: usize = text.chars().map(width).sum();
    if total <= columns {
        return text.to_owned();
    }
    let sign: String = either("…", "...").chars().take(columns).collect();
    let mut short = String::new();
    let mut used = sign.chars().count();
    for character in text.chars() {
        used += width(character);
        if used > columns {
            break;
        }
        short.push(character);
    }
    short + &sign
}

/// Letters of East Asia and pictures take two columns; a table of all others is not worth its size.
pub(super) fn width(character: char) -> usize {
    match character {
        '\u{300}'..='\u{36f}' | '\u{fe00}'..='\u{fe0f}' => 0,
        '\u{1100}'..='\u{115f}'
        | '\u{2e80}'..='\u{a4cf}'
        | '\u{ac00}'..='\u{d7a3}'
        | '\u{f900}'..='\u{faff}'
        | '\u{fe30}'..='\u{fe6f}'
        | '\u{ff00}'..='\u{ff60}'
        | '\u{ffe0}'..='\u{ffe6}'
        | '\u{1f300}'..='\u{1faff}'
        | '\u{20000}'..='\u{3fffd}' => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_stays_and_what_does_not_is_cut_with_a_sign() {
        assert_eq!(shortened("four", 4), "four");
        assert_eq!(shortened("fives", 4), "fiv…");
        assert_eq!(shortened("日本語", 6), "日本語");
        assert_eq!(shortened("日本語", 5), "日本…");
        assert_eq!(shortened("x", 0), "");
    }
}
