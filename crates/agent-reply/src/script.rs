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

/// The file that a line of a script writes from a here-document: `cat > a.md <<'EOF'`.
pub(super) fn written_file(line: &str) -> Option<&str> {
    let (before, behind) = line.split_once("<<")?;
    let mut words = before.split_whitespace();
    let is_writer = words.any(|word| matches!(word, "cat" | "tee"));
    let mark = behind.trim_start_matches(['-', '~', ' ']);
    let is_mark =
        mark.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '\'' | '"' | '_'));
    if !is_writer || !is_mark || behind.starts_with('<') {
        return None;
    }
    let target = line
        .split_once('>')
        .map(|(_, rest)| rest.trim_start_matches('>'))
        .or_else(|| {
            let (_, rest) = line.split_once("tee ")?;
            Some(rest.trim_start_matches("-a "))
        })?;
    let target = target.split_whitespace().next()?;
    let target = target.trim_matches(['\'', '"']);
    (!target.is_empty() && !target.starts_with("/dev/")).then_some(target)
}

/// Whether a line of a script hands the lines below it to a program that applies patches.
pub(super) fn feeds_patch(line: &str) -> bool {
    const PROGRAMS: [&str; 4] = ["apply_patch", "applypatch", "git apply", "patch -p"];
    line.contains("<<") && PROGRAMS.iter().any(|program| line.contains(program))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_which_file_a_here_document_writes() {
        for line in [
            "cat > docs/a.md <<'EOF'",
            "cat >docs/a.md <<EOF",
            "cat <<EOF > docs/a.md",
            "sudo tee docs/a.md <<EOF",
            "cat <<'EOF' | tee -a docs/a.md",
            "cat >> \"docs/a.md\" <<-EOF",
        ] {
            assert_eq!(written_file(line), Some("docs/a.md"), "{line}");
        }
        for line in [
            "cat a.md",
            "python <<EOF",
            "cat <<EOF",
            "cat <<< word > a",
            "x = a << b > c",
            "git apply <<'EOF'",
        ] {
            assert_eq!(written_file(line), None, "{line}");
        }
    }
}
