//! Code in other languages: the programs it starts are looked for in its string literals.

use super::ScriptState;

/// Returns true if a program runs code in a language of its own.
pub(crate) fn is_interpreter(name: &str) -> bool {
    let name = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    matches!(
        name,
        "python"
            | "pypy"
            | "node"
            | "deno"
            | "perl"
            | "ruby"
            | "php"
            | "lua"
            | "tclsh"
            | "osascript"
    )
}

/// Returns true if the arguments or the input of a program may be code.
pub(crate) fn is_program_text(name: &str) -> bool {
    is_interpreter(name) || matches!(name, "awk" | "gawk" | "mawk" | "nawk")
}

/// Functions that code calls to start a program.
const STARTERS: [&str; 10] = [
    "system",
    "popen",
    "Popen",
    "subprocess",
    "exec",
    "spawn",
    "child_process",
    "getoutput",
    "Open3",
    "pty",
];

/// Returns true if code seems to start programs.
fn starts_programs(name: &str, code: &str) -> bool {
    STARTERS.iter().any(|starter| code.contains(starter))
        || code.contains("rm -")
        || match name {
            _ if name.ends_with("awk") => code.contains('|'),
            _ if name.starts_with("perl") => code.contains('`') || code.contains("qx"),
            _ if name.starts_with("ruby") => code.contains('`') || code.contains("%x"),
            _ if name.starts_with("php") => code.contains('`'),
            _ => false,
        }
}

impl ScriptState<'_> {
    /// Reads the string literals of code that starts programs as scripts.
    pub(super) fn follow_interpreter(&mut self, name: &str, arguments: &[String]) {
        for code in arguments.iter().filter(|code| starts_programs(name, code)) {
            for literal in literals(code) {
                if self.work == 0 {
                    return;
                }
                self.script(&literal);
            }
        }
    }
}

/// The text between quotes of any kind.
fn literals(code: &str) -> Vec<String> {
    let mut literals = Vec::new();
    let mut open: Option<(char, String)> = None;
    let mut characters = code.chars();
    while let Some(next) = characters.next() {
        open = match open.take() {
            None if matches!(next, '\'' | '"' | '`') => Some((next, String::new())),
            None => None,
            Some((quote, literal)) if next == quote => {
                literals.push(literal);
                None
            }
            Some((quote, mut literal)) => {
                let is_escape = next == '\\';
                literal.extend(if is_escape {
                    characters.next()
                } else {
                    Some(next)
                });
                Some((quote, literal))
            }
        };
    }
    literals.extend(open.map(|(_, literal)| literal));
    literals
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_are_what_stands_between_quotes() {
        assert_eq!(literals("f('a b', \"c\\\"d\") + `e"), ["a b", "c\"d", "e"]);
        assert!(literals("1 + 2").is_empty());
    }
}
