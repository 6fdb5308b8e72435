//! The head of a template.
//!
//! ```text
//! file  = [ "---" line* "---" ] text
//! line  = key ":" value | "#" comment | nothing
//! key   = "name" | "description"
//! value = a line of text, with or without quotes
//! ```
//!
//! It is the part of YAML that people write for this purpose. What means more in YAML is refused
//! rather than read as something else.

use crate::settings::nearest;

const FENCE: &str = "---";
/// Within how many lines it must be closed.
const MOST_LINES: usize = 20;
const LONGEST_NAME: usize = 40;
const LONGEST_DESCRIPTION: usize = 200;
const KEYS: [&str; 2] = ["name", "description"];

/// The fields of the head.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct FrontMatter {
    pub(super) name: Option<String>,
    pub(super) description: Option<String>,
}

/// Returns true if a template may have this name: a word that is easy to type and cannot be taken
/// for a path.
pub(super) fn is_name(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= LONGEST_NAME
        && text
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_".contains(&byte))
}

impl FrontMatter {
    /// Splits a file into its head, if it has one, and its text; else what is wrong with it.
    pub(super) fn split(file: &str) -> Result<(Self, String), String> {
        let file = file.trim_start_matches('\u{feff}').replace("\r\n", "\n");
        let Some(rest) = file.strip_prefix("---\n") else {
            return Ok((Self::default(), file));
        };
        let mut front = Self::default();
        let mut used = 0;
        for (index, line) in rest.split_inclusive('\n').take(MOST_LINES).enumerate() {
            used += line.len();
            let line = line.trim_end();
            if line == FENCE {
                return Ok((front, rest[used..].to_owned()));
            }
            // The fence is line 1.
            front
                .take(line)
                .map_err(|problem| format!("line {}: {problem}", index + 2))?;
        }
        Err(format!(
            "the `---` at its top is not closed by another one within {MOST_LINES} lines"
        ))
    }

    fn take(&mut self, line: &str) -> Result<(), String> {
        if line.trim().is_empty() || line.starts_with('#') {
            return Ok(());
        }
        let Some((key, value)) = line.split_once(':') else {
            return Err("`name: value` is expected".to_owned());
        };
        let value = plain(value.trim())?;
        let place = match key {
            "name" => &mut self.name,
            "description" => &mut self.description,
            _ => return Err(unknown(key)),
        };
        if place.is_some() {
            return Err(format!("`{key}` stands there twice"));
        }
        if key == "name" && !is_name(&value) {
            return Err(
                "`name` may have small letters, digits, `-` and `_`, at most 40".to_owned(),
            );
        }
        if value.chars().count() > LONGEST_DESCRIPTION {
            return Err(format!(
                "`{key}` has more than {LONGEST_DESCRIPTION} characters"
            ));
        }
        *place = Some(value);
        Ok(())
    }
}

/// The value without its quotes.
fn plain(value: &str) -> Result<String, String> {
    if value.chars().any(char::is_control) {
        return Err("a control character stands there".to_owned());
    }
    for quote in ['"', '\''] {
        if let Some(inside) = value.strip_prefix(quote) {
            return match inside.strip_suffix(quote) {
                Some(inside) if !inside.contains([quote, '\\']) => Ok(inside.to_owned()),
                _ => Err("the quotes do not match".to_owned()),
            };
        }
    }
    if value.starts_with(['|', '>', '[', '{', '&', '*', '!', '%', '@', '`']) {
        return Err("a line of text is expected; put it into quotes".to_owned());
    }
    Ok(value.to_owned())
}

fn unknown(key: &str) -> String {
    let shown: String = key
        .chars()
        .take(LONGEST_NAME)
        .flat_map(char::escape_debug)
        .collect();
    match nearest(key, KEYS.into_iter()) {
        Some(near) => format!("there is no `{shown}`; did you mean `{near}`?"),
        None => format!("there is no `{shown}`, only `name` and `description`"),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn read(file: &str, name: Option<&str>, description: Option<&str>, text: &str) {
        let (front, rest) = FrontMatter::split(file).unwrap();
        let expected = FrontMatter {
            name: name.map(str::to_owned),
            description: description.map(str::to_owned),
        };
        assert_eq!((front, rest.as_str()), (expected, text), "{file}");
    }

    #[track_caller]
    fn refused(file: &str, problem: &str) {
        let told = FrontMatter::split(file).unwrap_err();
        assert!(told.contains(problem), "{told}");
    }

    #[test]
    fn the_head_is_read_and_may_be_missing() {
        read("---\nname: fix\n---\ntext\n", Some("fix"), None, "text\n");
        read(
            "\u{feff}---\r\n# mine\r\nname: 'fix'\r\n\r\ndescription: \"a: b # c\"\r\n---\r\ntext",
            Some("fix"),
            Some("a: b # c"),
            "text",
        );
        read("text\n---\nmore", None, None, "text\n---\nmore");
        read("---\n---\n", None, None, "");
        read("--- not a fence", None, None, "--- not a fence");
        read("", None, None, "");
    }

    #[test]
    fn what_it_cannot_be_is_told_with_its_line() {
        refused("---\nname: fix\ntext", "line 3: `name: value` is expected");
        refused("---\nname: fix\n", "is not closed");
        refused(
            "---\nname: fix\nname: fax\n---\n",
            "line 3: `name` stands there twice",
        );
        refused("---\nnmae: fix\n---\n", "did you mean `name`?");
        refused("---\nrun\u{1b}: rm\n---\n", "there is no `run\\u{1b}`");
        refused("---\nname: ../../etc\n---\n", "small letters");
        refused("---\nname: Fix It\n---\n", "small letters");
        refused("---\ndescription: [1, 2]\n---\n", "put it into quotes");
        refused(
            "---\ndescription: !!python/object:os.system x\n---\n",
            "put it into quotes",
        );
        refused("---\ndescription: 'half\n---\n", "the quotes do not match");
        refused("---\ndescription: \u{1b}[2J\n---\n", "a control character");
        refused(
            &format!("---\ndescription: {}\n---\n", "x".repeat(201)),
            "more than 200",
        );
        refused(
            &format!("---\n{}---\n", "\n".repeat(100_000)),
            "is not closed",
        );
    }

    proptest! {
        #[test]
        fn any_file_is_read_or_refused(file in "(---\n)?(name|description|x)?:? ?.{0,20}\n(---\n)?.{0,9}") {
            if let Ok((_, text)) = FrontMatter::split(&file) {
                prop_assert!(file.replace("\r\n", "\n").ends_with(&text));
            }
        }
    }
}
