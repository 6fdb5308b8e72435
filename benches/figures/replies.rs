//! Replies as chats write them, of any size, in each dialect.

use std::fmt::Write;

/// Twelve lines of a program, different for each number.
fn code(number: usize) -> String {
    format!(
        "/// Counts what item {number} holds.\n\
         fn count_{number}(items: &[Item], limit: usize) -> usize {{\n\
         \x20   let mut total = {number};\n\
         \x20   for item in items.iter().take(limit) {{\n\
         \x20       if item.is_open() && item.name != \"item_{number}\" {{\n\
         \x20           total += item.count();\n\
         \x20       }}\n\
         \x20   }}\n\
         \x20   total\n\
         }}\n\n"
    )
}

fn repeated(size: usize, mut part: impl FnMut(usize, &mut String)) -> String {
    let mut text = String::with_capacity(size + 4096);
    let mut number = 0;
    while text.len() < size {
        part(number, &mut text);
        number += 1;
    }
    text
}

/// `CREATE_FILE` with bodies of some 4 KB.
pub(crate) fn tags(size: usize) -> String {
    repeated(size, |number, text| {
        let _ = writeln!(
            text,
            "Now file {number}.\n\n[CREATE_FILE path=\"src/part_{number}.rs\"]"
        );
        (0..12).for_each(|part| text.push_str(&code(number * 12 + part)));
        text.push_str("[/CREATE_FILE]\n");
    })
}

/// SEARCH/REPLACE blocks under a file name, fenced.
pub(crate) fn search_replace(size: usize) -> String {
    repeated(size, |number, text| {
        let (old, new) = (code(number), code(number + 1));
        let _ = write!(
            text,
            "src/part_{number}.rs\n```rust\n<<<<<<< SEARCH\n{old}=======\n{new}>>>>>>> REPLACE\n```\n\n"
        );
    })
}

/// A unified diff of many files, as git writes it.
pub(crate) fn diff(size: usize) -> String {
    repeated(size, |number, text| {
        let name = format!("src/part_{number}.rs");
        let _ = write!(
            text,
            "diff --git a/{name} b/{name}\n--- a/{name}\n+++ b/{name}\n"
        );
        for part in 0..4 {
            let (start, code) = (part * 50 + 1, code(number * 4 + part));
            let lines: Vec<&str> = code.lines().collect();
            let _ = writeln!(text, "@@ -{start},{0} +{start},{0} @@", lines.len());
            for (position, line) in lines.iter().enumerate() {
                if position == 5 {
                    let _ = writeln!(text, "-{line}\n+{line} // changed");
                } else {
                    let _ = writeln!(text, " {line}");
                }
            }
        }
    })
}

/// A `*** Begin Patch` envelope with many files.
pub(crate) fn envelope(size: usize) -> String {
    let files = repeated(size, |number, text| {
        let _ = writeln!(text, "*** Update File: src/part_{number}.rs");
        for part in 0..4 {
            text.push_str("@@\n");
            for (position, line) in code(number * 4 + part).lines().enumerate() {
                if position == 5 {
                    let _ = writeln!(text, "-{line}\n+{line} // changed");
                } else {
                    let _ = writeln!(text, " {line}");
                }
            }
        }
    });
    format!("*** Begin Patch\n{files}*** End Patch\n")
}

/// One JSON plan with many `write_file` actions.
pub(crate) fn json(size: usize) -> String {
    let actions = repeated(size, |number, text| {
        let content: String = (0..12).map(|part| code(number * 12 + part)).collect();
        let content = serde_json::Value::String(content);
        let comma = if number == 0 { "" } else { ",\n" };
        let _ = write!(
            text,
            "{comma}    {{\"tool\": \"write_file\", \"path\": \"src/part_{number}.rs\", \"content\": {content}}}"
        );
    });
    format!("{{\n  \"thought\": \"write the parts\",\n  \"actions\": [\n{actions}\n  ]\n}}\n")
}

/// Words and code blocks without a single command.
pub(crate) fn prose(size: usize) -> String {
    repeated(size, |number, text| {
        let code = code(number);
        let _ = write!(
            text,
            "## Step {number}\n\nThe function *counts* what is open, see `count_{number}`:\n\n```\n{code}```\n\n- it is linear\n- it takes [a list](https://example.org/{number})\n\n"
        );
    })
}

/// A command, and then explanations without end.
pub(crate) fn paragraphs(size: usize) -> String {
    let words = repeated(size, |number, text| {
        let sentence =
            format!("Item {number} is counted once it is open, and closed ones are not. ");
        let _ = write!(text, "{}\n\n", sentence.repeat(5));
    });
    format!("[CREATE_FILE path=\"a.txt\"]\nhello\n[/CREATE_FILE]\n\n{words}")
}

/// The reply of [`tags`], quoted with HTML entities as a mail program does it.
pub(crate) fn damaged(size: usize) -> String {
    let text = tags(size / 4 * 3)
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;");
    ["> ", &text.trim_end().replace('\n', "\r\n> "), "\r\n"].concat()
}
