//! Tells whether indentation has a meaning in a text.
//!
//! In Python and YAML a line that is indented in another way means something else; between braces it
//! only looks odd. Which of the two a file is can be read off how its lines begin and end. Lines
//! within brackets that are still open are free even in Python.

/// Signs in lines by which languages differ.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct CodeLayout {
    has_statement: bool,
    colons: usize,
    braces: usize,
}

impl CodeLayout {
    /// Counts the signs in some more lines.
    pub(super) fn with<'t>(mut self, lines: impl Iterator<Item = &'t str>) -> Self {
        for line in lines.map(str::trim) {
            if line.ends_with(':') {
                self.has_statement |= opens_block(line);
                self.colons += 1;
            } else if line.starts_with("- ") {
                self.colons += 1;
            } else if line.ends_with([';', '{']) || line.starts_with('}') {
                self.braces += 1;
            }
        }
        self
    }

    /// Tells whether indentation says what belongs to what.
    ///
    /// Labels and cases end with a colon in languages with braces too, but braces are more.
    pub(super) fn is_meaningful(self) -> bool {
        self.has_statement || self.colons > self.braces
    }
}

/// Tells whether a line that ends with a colon is a statement that has one nowhere but in Python.
fn opens_block(line: &str) -> bool {
    const WORDS: [&str; 14] = [
        "async", "class", "def", "elif", "else:", "except", "except:", "finally:", "for", "if",
        "match", "try:", "while", "with",
    ];
    let word = line.split(char::is_whitespace).next();
    word.is_some_and(|word| WORDS.contains(&word))
}

/// Which of the lines begin outside of all brackets; nothing if brackets are not closed among them,
/// or closed that were not opened.
pub(super) fn statements(lines: &[&str]) -> Option<Vec<bool>> {
    let mut open = 0_usize;
    let mut statements = Vec::with_capacity(lines.len());
    for line in lines {
        statements.push(open == 0);
        let mut quote = None;
        let mut characters = line.chars();
        while let Some(character) = characters.next() {
            match (character, quote) {
                ('\\', Some(_)) => {
                    characters.next();
                }
                (_, Some(mark)) if mark == character => quote = None,
                ('"' | '\'' | '`', None) => quote = Some(character),
                ('(' | '[' | '{', None) => open += 1,
                (')' | ']' | '}', None) => open = open.checked_sub(1)?,
                _ => {}
            }
        }
    }
    (open == 0).then_some(statements)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn case(text: &str, is_meaningful: bool) {
        let layout = CodeLayout::default().with(text.lines());
        assert_eq!(layout.is_meaningful(), is_meaningful);
    }

    #[test]
    fn the_lines_tell_whether_indentation_matters() {
        case("def f():\n    a = {\n    }\n    return a\n", true);
        case("on:\n  push:\n    branches: [main]\n", true);
        case("- a\n  - b\n", true);
        case("all:\n\tcc a.c\n", true);
        case("switch (a) {\ncase 1:\n  b();\n}\n", false);
        case("switch a {\ncase 1:\n\tb()\ndefault:\n\tc()\n}\n", false);
        case("a\nb\n", false);
    }

    #[test]
    fn lines_within_brackets_are_no_statements() {
        let begin = |text: &str| statements(&text.lines().collect::<Vec<_>>());
        assert_eq!(
            begin("f(1,\n  [2,\n3])\ng()"),
            Some(vec![true, false, false, true])
        );
        assert_eq!(begin("f(\"(\")\ng('\\'(')"), Some(vec![true, true]));
        assert_eq!(begin("f(1,"), None);
        assert_eq!(begin("2)"), None);
    }
}
