//! Scripts made of parts: words, and the directory in which to run.

/// The script, run in a directory; nothing and `.` are the workspace.
pub(super) fn in_directory(directory: &str, script: String) -> String {
    match directory.trim() {
        "" | "." | "./" => script,
        directory => format!("cd {} || exit 1\n{script}", quote(directory)),
    }
}

/// A word as a shell reads it back.
pub(super) fn quote(word: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./=:,@%+".contains(&byte);
    if !word.is_empty() && word.bytes().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}
