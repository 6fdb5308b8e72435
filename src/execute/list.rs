//! `LIST_FILES`: one file a line, with its size.

use super::select::{Meant, Scope};
use super::{Execution, count};
use crate::protocol::{Capped, Listed, Outcome, Selection};
use crate::workspace::walk::Walked;

impl Execution<'_> {
    /// Lists the files that are meant.
    pub(super) fn list_files(&self, places: Option<&Selection>, glob: Option<&str>) -> Outcome {
        let scope = match Scope::resolve(&self.walks, places, glob) {
            Ok(scope) => scope,
            Err(outcome) => return outcome,
        };
        let Meant { walked, skipped } = match scope.walk(&self.walks) {
            Ok(meant) => meant,
            Err(outcome) => return outcome,
        };
        let limit = self.limits.max_list_items as usize;
        let message = format!("{}{}", summary(&walked), scope.but_missing());
        let outcome = Outcome::ok(message).with_detail(listing(&walked.files, limit));
        skipped.add_to(outcome, None)
    }
}

fn summary(walked: &Walked) -> String {
    let mut parts = vec![match walked.files.len() {
        0 => "no files".to_owned(),
        files => count(files, "file"),
    }];
    if walked.cut {
        parts.push("the workspace has too many files to look at all of them".to_owned());
    }
    if walked.unnamable > 0 {
        let names = usize::try_from(walked.unnamable).unwrap_or(usize::MAX);
        let names = count(names, "name");
        parts.push(format!(
            "left out: {names} that cannot be written in a reply"
        ));
    }
    parts.join("; ")
}

fn listing(files: &[Listed], limit: usize) -> Capped {
    let mut lines: Vec<String> = files.iter().take(limit).map(line).collect();
    let omitted = files.len().saturating_sub(limit);
    if omitted > 0 {
        lines.push(format!("[TRUNCATED: first {limit} items]"));
    }
    Capped {
        text: lines.join("\n"),
        omitted: omitted as u64,
    }
}

fn line(found: &Listed) -> String {
    let Listed { path, size, .. } = found;
    if found.is_link {
        format!("{path} (link)")
    } else {
        format!(
            "{path} ({})",
            count(usize::try_from(*size).unwrap_or(usize::MAX), "byte")
        )
    }
}

#[cfg(test)]
mod tests {
    use super::super::stage::{files, stage};
    use crate::protocol::{Command, Status};

    const FILES: &[(&str, &str)] = &[
        (".gitignore", "*.log\n"),
        ("a.log", ""),
        ("src/lib.rs", "12345"),
        ("src/deep/x.rs", ""),
        ("readme.md", "1"),
    ];

    #[track_caller]
    fn case(beneath: Option<&str>, glob: Option<&str>, message: &str, detail: &str) {
        let mut stage = stage(FILES);
        stage.limits.max_list_items = 3;
        let outcome = stage.one(Command::ListFiles {
            path: beneath.map(files),
            glob: glob.map(str::to_owned),
        });
        assert_eq!(
            (outcome.message.as_str(), outcome.detail.text.as_str()),
            (message, detail)
        );
    }

    #[test]
    fn lists_files_with_their_sizes() {
        case(
            None,
            None,
            "4 files",
            ".gitignore (6 bytes)\nreadme.md (1 byte)\nsrc/deep/x.rs (0 bytes)\n[TRUNCATED: first 3 items]",
        );
        case(
            Some("src"),
            None,
            "2 files",
            "src/deep/x.rs (0 bytes)\nsrc/lib.rs (5 bytes)",
        );
        case(Some("src/lib.rs"), None, "1 file", "src/lib.rs (5 bytes)");
    }

    #[test]
    fn a_glob_without_a_slash_is_about_names() {
        case(None, Some("*.md"), "1 file", "readme.md (1 byte)");
        case(
            None,
            Some("*.rs"),
            "2 files",
            "src/deep/x.rs (0 bytes)\nsrc/lib.rs (5 bytes)",
        );
        case(None, Some("src/*.rs"), "1 file", "src/lib.rs (5 bytes)");
        case(
            None,
            Some("**/*.rs"),
            "2 files",
            "src/deep/x.rs (0 bytes)\nsrc/lib.rs (5 bytes)",
        );
        case(
            Some("src"),
            Some("deep/*"),
            "1 file",
            "src/deep/x.rs (0 bytes)",
        );
        case(None, Some("*.{c,h}"), "no files", "");
    }

    #[test]
    fn says_what_cannot_be_listed() {
        let mut stage = stage(FILES);
        let mut list = |beneath: Option<&str>, glob: Option<&str>| {
            let outcome = stage.one(Command::ListFiles {
                path: beneath.map(files),
                glob: glob.map(str::to_owned),
            });
            assert_eq!(outcome.status, Status::Failed);
            outcome.message
        };
        assert_eq!(list(Some("gone"), None), "`gone` does not exist");
        assert!(list(None, Some("a[")).starts_with("`a[` is not a glob: "));
    }
}
