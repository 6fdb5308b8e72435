//! Splits a git command into options, subcommand and arguments.

use super::targets::resolve;
use super::wrappers::takes_next_word;

/// The words after `git`, split.
#[derive(Debug)]
pub(super) struct Git<'a> {
    /// The subcommand.
    pub subcommand: &'a str,
    /// The words after the subcommand.
    pub arguments: &'a [String],
    /// The options before the subcommand and their values.
    pub options: &'a [String],
}

impl<'a> Git<'a> {
    /// Splits the words after `git`; `None` if there is no subcommand.
    pub(super) fn of(words: &'a [String]) -> Option<Self> {
        let mut at = 0;
        while let Some(word) = words.get(at).filter(|word| word.starts_with('-')) {
            at += 1 + usize::from(takes_next_word("git", word));
        }
        Some(Self {
            subcommand: words.get(at)?,
            arguments: &words[at + 1..],
            options: &words[..at],
        })
    }

    /// The values of an option before the subcommand.
    pub(super) fn values(&self, option: &str) -> impl Iterator<Item = &'a str> {
        let pairs = self.options.windows(2);
        pairs
            .filter(move |pair| pair[0] == option)
            .map(|pair| pair[1].as_str())
    }

    /// The directory that the command works in, if it is started in this one.
    pub(super) fn directory(&self, started_in: Option<&str>) -> Option<String> {
        let start = started_in.map(str::to_owned);
        self.values("-C")
            .fold(start, |directory, word| resolve(directory.as_deref(), word))
    }

    /// The arguments that are not options.
    pub(super) fn operands(&self) -> impl Iterator<Item = &'a str> {
        let mut is_value = false;
        let words = self.arguments.iter().map(String::as_str);
        words.filter(move |word| {
            let follows = std::mem::replace(&mut is_value, takes_next_word("git-clone", word));
            !follows && !word.starts_with('-')
        })
    }

    /// The directory of the repository that the command creates, if it creates one.
    pub(super) fn made(&self, started_in: Option<&str>) -> Option<String> {
        let mut operands = self.operands();
        let name = match self.subcommand {
            "init" => operands.next().unwrap_or("."),
            "clone" => {
                let address = operands.next()?;
                let last = address.trim_end_matches('/').rsplit(['/', ':']).next()?;
                operands
                    .next()
                    .unwrap_or(last.strip_suffix(".git").unwrap_or(last))
            }
            _ => return None,
        };
        resolve(self.directory(started_in).as_deref(), name)
    }
}
