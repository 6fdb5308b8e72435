//! The label that says which lines of a file are shown, and the notice about lines that are not.

/// A run of lines of a file, beginning at `first`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineWindow {
    /// The number of the first line, from 1.
    pub first: usize,
    /// The number of lines in the file.
    pub of: usize,
}

impl LineWindow {
    /// The label after the file's name: the whole file, or which lines of it.
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

/// The notice about lines that were left out.
pub fn truncated_lines(shown: usize, more: usize) -> String {
    format!("[TRUNCATED: showing first {shown} lines, {more} more available]")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_which_lines_are_shown() {
        let words = |first, of, shown| LineWindow { first, of }.words(shown);
        assert_eq!(words(1, 1, 1), "(1 line)");
        assert_eq!(words(1, 5, 5), "(5 lines)");
        assert_eq!(words(1, 5, 2), "(lines 1-2 of 5)");
        assert_eq!(words(4, 5, 2), "(lines 4-5 of 5)");
        assert_eq!(words(4, 5, 0), "(5 lines)");
    }
}
