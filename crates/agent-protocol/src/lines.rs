//! Which lines of a file stand under its name, and the word about those that do not.

/// Lines of a file, from one of them on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lines {
    /// The number of the first one, from 1.
    pub first: usize,
    /// How many lines the file has.
    pub of: usize,
}

impl Lines {
    /// What stands behind the name where so many of them are shown: all of a file, or which.
    pub fn words(self, shown: usize) -> String {
        let Self { first, of } = self;
        match shown {
            _ if of == 1 => "(1 line)".to_owned(),
            0 => format!("({of} lines)"),
            _ if first == 1 && shown >= of => format!("({of} lines)"),
            _ => {
                let last = first.saturating_add(shown - 1);
                format!("(lines {first}-{last} of {of})")
            }
        }
    }
}

/// The word about lines that were left out of a reading.
pub fn truncated_lines(shown: usize, more: usize) -> String {
    format!("[TRUNCATED: showing first {shown} lines, {more} more available]")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_which_lines_are_shown() {
        let words = |first, of, shown| Lines { first, of }.words(shown);
        assert_eq!(words(1, 1, 1), "(1 line)");
        assert_eq!(words(1, 5, 5), "(5 lines)");
        assert_eq!(words(1, 5, 2), "(lines 1-2 of 5)");
        assert_eq!(words(4, 5, 2), "(lines 4-5 of 5)");
        assert_eq!(words(4, 5, 0), "(5 lines)");
    }
}
