//! The author of commits: the only part of the person's git configuration that commands see.
//!
//! The rest may contain credentials and programs to run.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// The name and e-mail address that git puts into a commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Author {
    /// The name.
    pub name: String,
    /// The e-mail address.
    pub email: String,
}

impl Author {
    /// The author from the person's own configuration.
    pub fn of_home(home: &Path) -> Option<Self> {
        [".gitconfig", ".config/git/config"]
            .iter()
            .find_map(|file| Self::parse(&fs::read_to_string(home.join(file)).ok()?))
    }

    fn parse(configuration: &str) -> Option<Self> {
        let mut is_user = false;
        let (mut name, mut email) = (None, None);
        for line in configuration.lines().map(str::trim) {
            if line.starts_with('[') {
                is_user = line.eq_ignore_ascii_case("[user]");
            } else if let (true, Some((key, value))) = (is_user, line.split_once('=')) {
                let value = value.trim().trim_matches('"').to_owned();
                match key.trim().to_ascii_lowercase().as_str() {
                    "name" => name = Some(value),
                    "email" => email = Some(value),
                    _ => {}
                }
            }
        }
        Some(Self {
            name: name?,
            email: email?,
        })
    }

    /// A git configuration with only this author.
    pub fn to_configuration(&self) -> String {
        let quoted = |text: &str| text.replace(['\\', '"', '\n', '\r'], "");
        format!(
            "[user]\n\tname = \"{}\"\n\temail = \"{}\"\n",
            quoted(&self.name),
            quoted(&self.email)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_name_and_address_are_taken() {
        let text = "[credential]\n\tname = x\n[User]\n\tname = A \"B\n\temail=\"a@b\"\n[http]\n\textraHeader = secret\n";
        let author = Author::parse(text).unwrap();
        assert_eq!(
            author.to_configuration(),
            "[user]\n\tname = \"A B\"\n\temail = \"a@b\"\n"
        );
        assert_eq!(Author::parse("[user]\nname = a\n"), None);
        assert_eq!(Author::parse("\u{0}[[[\n=\n"), None);
    }
}
