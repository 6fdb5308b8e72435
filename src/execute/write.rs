//! `CREATE_FILE`, `DELETE_FILE`, `MOVE_FILE`.

use super::ledger::Known;
use super::replace::{copied_characters_remark, is_prose};
use super::{Execution, count};
use crate::edit::{self, Refusal};
use crate::protocol::{ContentSource, Outcome, RelPath};
use crate::workspace::FileProblem;
use crate::workspace::text::{TextEncoding, TextFile};

/// The result of replacing a whole file.
pub(super) struct Overwrite {
    /// The bytes to write.
    pub(super) content: Vec<u8>,
    /// How many lines they are.
    pub(super) lines: usize,
    /// A remark about repairs in the new content, or about its differences to the old one.
    pub(super) remark: Option<String>,
    /// The content before.
    pub(super) before: PriorContent,
}

/// The content at the place where a file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PriorContent {
    Nothing,
    /// Exactly these bytes.
    Same,
    Other,
}

impl Execution<'_> {
    /// Creates or overwrites a file.
    pub(super) fn create_file(
        &mut self,
        path: &RelPath,
        content: &str,
        source: ContentSource,
    ) -> Outcome {
        let old = match self.ledger.read(path) {
            Ok(old) => Some(old),
            Err(FileProblem::NotFound(_)) => None,
            Err(problem @ FileProblem::TooLarge { .. }) => {
                return failed(&problem).with_hint("DELETE_FILE first if it is to go");
            }
            Err(problem) => return failed(&problem),
        };
        let overwrite = match overwritten(path, old.as_deref(), content, source) {
            Ok(overwrite) => overwrite,
            Err(Refusal { message, hint, .. }) => {
                return Outcome::failed(format!("`{path}` was not changed: {message}"))
                    .with_hint(hint);
            }
        };
        let known = Known::written(&overwrite.content, overwrite.lines);
        let lines = count(overwrite.lines, "line");
        if overwrite.before == PriorContent::Same {
            self.ledger.enter(path, known);
            let message = format!("{} is unchanged ({lines})", path.quoted());
            return Outcome::ok(message).with_remarks(overwrite.remark);
        }
        if let Err(problem) = self.ledger.write(path, &overwrite.content, known) {
            return failed(&problem);
        }
        let verb = match overwrite.before {
            PriorContent::Nothing => "created",
            PriorContent::Same | PriorContent::Other => "overwrote",
        };
        Outcome::ok(format!("{verb} {} ({lines})", path.quoted()))
            .with_remarks(overwrite.remark)
            .with_changed([path.clone()])
    }

    /// Deletes a file.
    pub(super) fn delete_file(&mut self, path: &RelPath) -> Outcome {
        match self.ledger.staging.remove(path) {
            Ok(()) => {
                self.ledger.enter(path, Known::removed());
                Outcome::ok(format!("deleted {}", path.quoted())).with_changed([path.clone()])
            }
            Err(problem) => self.walks.explained(&problem),
        }
    }

    /// Moves a file, with what is known of it.
    pub(super) fn move_file(&mut self, from: &RelPath, to: &RelPath) -> Outcome {
        if from == to {
            return Outcome::failed(format!("`{from}` cannot be moved onto itself"));
        }
        // A file too large to be read can be moved all the same.
        let _ = self.ledger.read(from);
        match self.ledger.staging.rename(from, to) {
            Ok(()) => {
                self.ledger.carry(from, to);
                self.ledger.enter(from, Known::removed());
                Outcome::ok(format!("moved {} to {}", from.quoted(), to.quoted()))
                    .with_changed([from.clone(), to.clone()])
            }
            Err(problem) => self.walks.explained(&problem),
        }
    }
}

/// Decides what a file contains after its whole content was sent, or why that is not done.
///
/// A file that is overwritten keeps its byte order mark and its kind of line ends, and the last line has
/// one only if it had: a chat has no way to send them. A file that was not UTF-8 becomes UTF-8 where its
/// own encoding does not do.
pub(super) fn overwritten(
    path: &RelPath,
    old: Option<&[u8]>,
    content: &str,
    source: ContentSource,
) -> Result<Overwrite, Refusal> {
    let Some(old) = old else {
        return Ok(Overwrite {
            content: content.into(),
            lines: content.lines().count(),
            remark: new_file_remark(path, content),
            before: PriorContent::Nothing,
        });
    };
    let (new, lines, remark) = match TextFile::decode(old.to_vec()) {
        Ok(file) => {
            if source == ContentSource::CodeBlock && edit::is_excerpt(&file.text, content) {
                return Err(
                    Refusal::new("the new content may be only a part of it").with_hint(
                        "send the whole file as [CREATE_FILE], or the change as [EDIT_FILE]",
                    ),
                );
            }
            refuse_losses(&file.text, content)?;
            let restored = edit::restore_copy(&file.text, &file.text, content);
            restored.refuse_unrepairable()?;
            let lines = restored.text.lines().count();
            let new = in_the_manner_of(&file, &restored.text);
            (new, lines, restored.remark())
        }
        Err(_) => (content.into(), content.lines().count(), None),
    };
    Ok(Overwrite {
        before: if new == old {
            PriorContent::Same
        } else {
            PriorContent::Other
        },
        content: new,
        lines,
        remark,
    })
}

/// Says what looks wrong in a file that did not exist.
fn new_file_remark(path: &RelPath, content: &str) -> Option<String> {
    let placeholder = || {
        let line = edit::omission_in_file("", content).filter(|_| !is_prose(path))?;
        Some(format!("it leaves code out (`{line}`)"))
    };
    // The paragraphs of a document may be a line each.
    let doubled = || edit::doubled_lines_remark(content).filter(|_| !is_prose(path));
    copied_characters_remark(path, "", content)
        .or_else(|| edit::lost_tabs_remark(path.file_name(), content))
        .or_else(doubled)
        .or_else(placeholder)
}

/// Keeps a model from dropping what it only did not want to write again.
fn refuse_losses(old: &str, new: &str) -> Result<(), Refusal> {
    if new.trim().is_empty() && !old.trim().is_empty() {
        return Err(Refusal::new("the new content is empty")
            .with_hint("send the whole file, or DELETE_FILE first if it is to be empty"));
    }
    if let Some(placeholder) = edit::omission_in_file(old, new) {
        return Err(
            Refusal::new(format!("the new content leaves code out (`{placeholder}`)"))
                .with_hint("send the whole file, or use EDIT_FILE"),
        );
    }
    if edit::drops_most(old, new) {
        return Err(Refusal::new(format!(
            "the new content has {} where the file has {}",
            count(new.lines().count(), "line"),
            old.lines().count()
        ))
        .with_hint(
            "send the whole file, use EDIT_FILE, or DELETE_FILE first if so much is to go",
        ));
    }
    Ok(())
}

fn in_the_manner_of(old: &TextFile, content: &str) -> Vec<u8> {
    // If the end of the last line is all that differs, it was asked for.
    let is_unended = !old.text.is_empty() && !old.text.ends_with('\n');
    let unended = (content.strip_suffix("\r\n")).or_else(|| content.strip_suffix('\n'));
    let unended = unended.filter(|text| is_unended && !text.ends_with('\n') && *text != old.text);
    let content = unended.unwrap_or(content);
    let text = if ends_lines_with_crlf(&old.text) && !content.contains("\r\n") {
        content.replace('\n', "\r\n")
    } else {
        content.to_owned()
    };
    let file = old.with_text(text.trim_start_matches('\u{feff}'));
    match file.encode() {
        Ok(bytes) => bytes,
        Err(_) => TextFile {
            encoding: TextEncoding::Utf8,
            ..file
        }
        .text
        .into_bytes(),
    }
}

/// Returns true if most lines end with CRLF.
fn ends_lines_with_crlf(text: &str) -> bool {
    let crlf = memchr::memmem::find_iter(text.as_bytes(), b"\r\n").count();
    let all = memchr::memchr_iter(b'\n', text.as_bytes()).count();
    crlf * 2 > all
}

/// A problem with a file, as an outcome.
pub(super) fn failed(problem: &FileProblem) -> Outcome {
    Outcome::failed(problem.to_string())
}

#[cfg(test)]
mod tests {
    use super::super::stage::{create, delete, path, rename, stage};
    use crate::protocol::{Command, ContentSource, Status};

    #[track_caller]
    fn case(files: &[(&str, &str)], command: Command, status: Status, message: &str) {
        let outcome = stage(files).reply(vec![command]).remove(0);
        assert_eq!(
            (outcome.status, outcome.message.as_str()),
            (status, message)
        );
        let is_change = status == Status::Ok && !message.contains("unchanged");
        assert_eq!(outcome.changed.is_empty(), !is_change);
    }

    #[test]
    fn a_code_block_under_a_path_replaces_a_file_only_as_a_whole() {
        let lines: Vec<String> = (1..=12).map(|line| format!("line {line}")).collect();
        let old = lines.join("\n") + "\n";
        let shown = |content: &str| Command::CreateFile {
            path: path("a.rs"),
            content: content.to_owned(),
            source: ContentSource::CodeBlock,
        };
        for (content, status) in [
            ("line 3\nline 4\n".to_owned(), Status::Failed),
            ("something else\n".to_owned(), Status::Failed),
            (old.replace("line 3", "third"), Status::Ok),
            (old.clone(), Status::Ok),
        ] {
            let outcome = stage(&[("a.rs", &old)])
                .reply(vec![shown(&content)])
                .remove(0);
            assert_eq!(outcome.status, status, "{content}: {}", outcome.message);
        }
        let small = stage(&[("a.rs", "old\n")])
            .reply(vec![shown("new\n")])
            .remove(0);
        assert_eq!(small.status, Status::Ok);
        // As the body of a command it is meant as it stands.
        let outcome = stage(&[("a.rs", &old)])
            .reply(vec![create("a.rs", "line 3\n")])
            .remove(0);
        assert_eq!(outcome.status, Status::Ok);
    }

    #[test]
    fn a_very_large_file_is_moved_and_deleted_without_being_read() {
        let mut stage = stage(&[]);
        let large = std::fs::File::create(stage.directory.path().join("large")).unwrap();
        // To read so much would take minutes.
        large.set_len(1 << 40).unwrap();
        stage.succeeds(vec![rename("large", "d/large"), delete("d/large")]);
        assert!(!stage.directory.path().join("d/large").exists());
    }

    #[test]
    fn says_what_it_did() {
        let files = &[("a.rs", "one\ntwo\n"), ("b.rs", "")][..];
        case(
            files,
            create("x/new.rs", "1\n2\n"),
            Status::Ok,
            "created x/new.rs (2 lines)",
        );
        case(
            files,
            create("a.rs", "1\n"),
            Status::Ok,
            "overwrote a.rs (1 line)",
        );
        case(
            files,
            create("a.rs", "one\ntwo\n"),
            Status::Ok,
            "a.rs is unchanged (2 lines)",
        );
        case(files, delete("a.rs"), Status::Ok, "deleted a.rs");
        case(
            files,
            delete("gone"),
            Status::Failed,
            "`gone` does not exist",
        );
        case(
            files,
            rename("a.rs", "y/c.rs"),
            Status::Ok,
            "moved a.rs to y/c.rs",
        );
        case(
            files,
            rename("a.rs", "b.rs"),
            Status::Failed,
            "`b.rs` exists already",
        );
        case(
            files,
            rename("a.rs", "a.rs"),
            Status::Failed,
            "`a.rs` cannot be moved onto itself",
        );
    }

    #[test]
    fn an_overwritten_file_keeps_its_line_ends_and_its_mark() {
        let mut stage = stage(&[
            ("a", "\u{feff}one\r\ntwo\r\n"),
            ("b", "one\r\ntwo\nthree\n"),
            ("c", "one\r\ntwo"),
            ("d", "one"),
            ("e", "one"),
        ]);
        stage.reply(vec![
            create("a", "1\n2\n"),
            create("b", "1\n2\n"),
            create("c", "1\r\n2\r\n"),
            create("d", "1\n2\n"),
            create("e", "one\n"),
        ]);
        assert_eq!(stage.text("a"), "\u{feff}1\r\n2\r\n");
        assert_eq!(stage.text("b"), "1\n2\n");
        assert_eq!(stage.text("c"), "1\r\n2");
        assert_eq!(stage.text("d"), "1\n2");
        assert_eq!(stage.text("e"), "one\n", "that is all that was asked for");
    }

    #[test]
    fn a_file_in_an_old_encoding_keeps_it_while_it_can() {
        let mut stage = stage(&[]);
        for name in ["a", "b"] {
            stage.workspace.write(&path(name), b"caf\xe9\n").unwrap();
        }
        stage.reply(vec![create("a", "th\u{e9}\n"), create("b", "\u{4e2d}\n")]);
        assert_eq!(stage.bytes("a"), b"th\xe9\n");
        assert_eq!(stage.text("b"), "\u{4e2d}\n");
    }

    #[test]
    fn a_file_is_not_overwritten_by_a_part_of_it() {
        let long = "line\n".repeat(100);
        let mut stage = stage(&[("a.rs", &long)]);
        stage.fails(
            create("a.rs", "one\ntwo\n"),
            "`a.rs` was not changed: the new content has 2 lines where the file has 100",
        );
        let with_gap = format!("{long}// ... rest of the code unchanged ...\n");
        stage.fails(create("a.rs", &with_gap), "leaves code out");
        assert_eq!(stage.text("a.rs"), long);
        stage.succeeds(vec![delete("a.rs"), create("a.rs", "one\n")]);
    }

    #[test]
    fn a_short_file_is_not_overwritten_by_a_part_of_it_either() {
        let short = "import os\nimport sys\n\ndef f():\n    a()\n    b()\n\nmain()\n";
        let mut stage = stage(&[("a.py", short)]);
        for sign in [
            "...",
            "(rest of functions ...)",
            "# existing imports",
            "--- snip ---",
        ] {
            let new = format!("import os\n\n{sign}\n\nmain()\n");
            stage.fails(create("a.py", &new), "leaves code out");
        }
        stage.fails(create("a.py", ""), "the new content is empty");
        assert_eq!(stage.text("a.py"), short);
    }

    #[test]
    fn what_looks_wrong_in_a_new_file_is_told() {
        let mut stage = stage(&[]);
        let rest = "# ... existing code ...\n";
        for (name, text, remark) in [
            ("a.py", rest, "it leaves code out"),
            ("b.py", "a = 1\n\nb = 2\n\nc = 3\n\n", "a blank line below"),
            ("b.md", "a\n\nb\n\nc\n\n", ""),
            ("Makefile", "all:\n    cc a.c\n", "`make` wants tabs"),
            ("a.md", rest, ""),
        ] {
            let outcomes = stage.reply(vec![create(name, text)]);
            let told = outcomes[0].remarks.join("; ");
            assert_eq!(told.is_empty(), remark.is_empty(), "{told}");
            assert!(told.contains(remark), "{told}");
            assert_eq!(stage.text(name), text);
        }
    }

    #[test]
    fn a_file_that_lost_its_indentation_is_not_written() {
        let old = "f() {\n  a();\n}\ng();\n";
        let mut stage = stage(&[("a.js", old)]);
        stage.fails(
            create("a.js", "f() {\na();\n}\nh();\n"),
            "lost its indentation",
        );
        assert_eq!(stage.text("a.js"), old);
    }

    #[test]
    fn what_copying_did_to_a_file_is_repaired_and_told() {
        let old = "if a < b {\n\tx(\"1\");\n\ty();\n}\n";
        let mut stage = stage(&[("a.c", old)]);
        let sent = "if a &lt; b {\n    x(\u{201c}1\u{201d});\n    z(\"2\");\n}\n";
        let outcome = stage.one(create("a.c", sent));
        assert_eq!(
            outcome.line("you"),
            "overwrote a.c (4 lines); repaired what copying did to it: entities such as `&lt;`, curly quotes, long dashes or unusual spaces, another kind of indentation"
        );
        assert_eq!(stage.text("a.c"), old.replace("y()", "z(\"2\")"));
        let outcome = stage.one(create(
            "a.c",
            &format!("{}// \u{2014}\n", stage.text("a.c")),
        ));
        assert_eq!(
            outcome.line("you"),
            "overwrote a.c (5 lines); unlike before it has curly quotes, long dashes or unusual spaces"
        );
    }
}
