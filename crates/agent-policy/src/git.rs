//! Splits a git command into options, subcommand and arguments.

use super::targets::resolve;

/// The words after `git`, split.
#[derive(Debug)]
pub(super) struct Git<'a> {
    /// The subcommand.
    pub subcommand: &'a str,
    /// The words after the subcommand.
    pub arguments: &'a [String],
    /// The values of `-c`, as `key=value`.
    pub settings: Vec<&'a str>,
    /// The directories given with `-C`.
    directories: Vec<&'a str>,
}

impl<'a> Git<'a> {
    /// Splits the words after `git`; `None` if there is no subcommand.
    pub(super) fn of(words: &'a [String]) -> Option<Self> {
        let mut settings = Vec::new();
        let mut directories = Vec::new();
        let mut at = 0;
        while let Some(word) = words.get(at).filter(|word| word.starts_with('-')) {
            let value = words.get(at + 1).map(String::as_str);
            match word.as_str() {
                "-C" => directories.extend(value),
                "-c" => settings.extend(value),
                _ => settings.extend(word.strip_prefix("--config-env=")),
            }
            at += match word.as_str() {
                "-C" | "-c" | "--git-dir" | "--work-tree" | "--namespace" | "--config-env"
                | "--attr-source" | "--super-prefix" => 2,
                _ => 1,
            };
        }
        Some(Self {
            subcommand: words.get(at)?,
            arguments: &words[at + 1..],
            settings,
            directories,
        })
    }

    /// The directory that the command works in, if it is started in this one.
    pub(super) fn directory(&self, started_in: Option<&str>) -> Option<String> {
        let start = started_in.map(str::to_owned);
        self.directories
            .iter()
            .fold(start, |directory, word| resolve(directory.as_deref(), word))
    }

    /// The first argument.
    pub(super) fn first(&self) -> &'a str {
        self.arguments.first().map_or("", String::as_str)
    }

    /// The arguments that are not options.
    pub(super) fn operands(&self) -> impl Iterator<Item = &'a str> {
        let mut is_value = false;
        self.arguments
            .iter()
            .map(String::as_str)
            .filter(move |word| {
                let follows = std::mem::replace(&mut is_value, takes_a_value(word));
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
                let own_name = last.strip_suffix(".git").unwrap_or(last);
                operands.next().unwrap_or(own_name)
            }
            _ => return None,
        };
        resolve(self.directory(started_in).as_deref(), name)
    }

    /// Returns true if the subcommand comes with git.
    pub(super) fn is_known(&self) -> bool {
        KNOWN.contains(&self.subcommand)
    }

    /// Returns true if the command defines an alias.
    pub(super) fn sets_an_alias(&self) -> bool {
        self.settings
            .iter()
            .any(|setting| setting.to_ascii_lowercase().starts_with("alias."))
    }
}

/// Options of `init` and `clone` whose value is the next word.
fn takes_a_value(word: &str) -> bool {
    VALUED.contains(&word)
}

#[rustfmt::skip]
const VALUED: &[&str] = &[
    "-b", "--initial-branch", "--branch", "-o", "--origin", "--depth", "--template",
    "--object-format", "--separate-git-dir", "--reference", "--filter", "-j", "-c", "--config",
    "-u", "--upload-pack",
];

/// The commands that come with git.
#[rustfmt::skip]
static KNOWN: &[&str] = &[
    "add", "am", "annotate", "apply", "archive", "bisect", "blame", "branch", "bugreport", "bundle",
    "cat-file", "check-attr", "check-ignore", "check-mailmap", "check-ref-format", "checkout",
    "checkout-index", "cherry", "cherry-pick", "citool", "clean", "clone", "column", "commit",
    "commit-graph", "commit-tree", "config", "count-objects", "credential", "describe", "diagnose",
    "diff", "diff-files", "diff-index", "diff-tree", "difftool", "fast-export", "fast-import",
    "fetch", "fetch-pack", "filter-branch", "filter-repo", "fmt-merge-msg", "for-each-ref",
    "for-each-repo", "format-patch", "fsck", "gc", "get-tar-commit-id", "grep", "gui",
    "hash-object", "help", "hook", "index-pack", "init", "init-db", "interpret-trailers", "lfs",
    "log", "ls-files", "ls-remote", "ls-tree", "mailinfo", "mailsplit", "maintenance", "merge",
    "merge-base", "merge-file", "merge-index", "merge-tree", "mergetool", "mktag", "mktree",
    "multi-pack-index", "mv", "name-rev", "notes", "pack-objects", "pack-refs", "patch-id", "prune",
    "prune-packed", "pull", "push", "range-diff", "read-tree", "rebase", "reflog", "remote",
    "repack", "replace", "replay", "request-pull", "rerere", "reset", "restore", "rev-list",
    "rev-parse", "revert", "rm", "send-email", "send-pack", "shortlog", "show", "show-branch",
    "show-index", "show-ref", "sparse-checkout", "stash", "status", "stripspace", "submodule",
    "subtree", "switch", "symbolic-ref", "tag", "unpack-file", "unpack-objects", "update-index",
    "update-ref", "var", "verify-commit", "verify-pack", "verify-tag", "version", "whatchanged",
    "worktree", "write-tree",
];
