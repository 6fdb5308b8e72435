//! Shell scripts: the files that their lines write, and scripts made of words and a directory.

use crate::file_name;
use crate::line::{begins_with, has_word};
use crate::trim::trim;

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

/// The file that a line of a script writes, from a here-document or with words of its own.
pub(super) fn file_written_by(line: &str) -> Option<&str> {
    let line = trim(line);
    let line = line.strip_prefix("$ ").unwrap_or(line);
    let in_parts = || {
        // Most statements of a program end with one, and have no other.
        let line = line.trim_end_matches(';');
        let mut start = 0;
        let mut ends = memchr::memchr3_iter(b'&', b';', b'|', line.as_bytes()).peekable();
        ends.peek()?;
        let parts = ends.chain([line.len()]);
        let mut parts = parts.map(|end| &line[std::mem::replace(&mut start, end + 1)..end]);
        parts.find_map(|part| file_written_by_part(trim(part)))
    };
    written_file(line)
        .or_else(|| file_written_by_part(line))
        .or_else(in_parts)
}

/// The file in the workspace that one command of a line writes.
fn file_written_by_part(part: &str) -> Option<&str> {
    const WRITERS: [fn(&str) -> Option<&str>; 6] = [
        echoed_file,
        powershell_file,
        file_edited_in_place,
        file_removed_by,
        teed_file,
        dotnet_file,
    ];
    // The letters with which these commands begin: most lines of a program have another one.
    let bytes = part.as_bytes();
    let Some(b'a' | b'e' | b'g' | b'm' | b'o' | b'p' | b'r'..=b't' | b'A' | b'O' | b'S' | b'[') =
        bytes.first()
    else {
        return None;
    };
    let mut files = WRITERS.iter().filter_map(|file_of| file_of(part));
    files.find(|file| is_in_workspace(file))
}

/// The file that a line of a script leaves behind, if it does nothing else: `ls > files.txt`,
/// `cp a.toml b.toml`, `mkdir d && touch d/a.py`. Programs write their logs in the same way.
pub(super) fn file_left_by(line: &str) -> Option<&str> {
    const LOGS: &str = "err log out tmp";
    let line = trim(line);
    let line = line.strip_prefix("$ ").unwrap_or(line);
    // Most lines of a program have neither.
    let is_written = memchr::memchr(b'>', line.as_bytes()).is_some();
    (is_written || begins_with(line, "cp |ln |touch |mkdir |cd ")).then_some(())?;
    let mut last = None;
    for part in line.split("&&").flat_map(|part| part.split(';')) {
        let mut words = part.split_whitespace();
        let target = match words.next() {
            Some("mkdir" | "cd") | None => continue,
            Some("cp" | "ln" | "touch") => words.next_back()?,
            Some(_) => trim(part.rsplit_once('>')?.1),
        };
        let target = target.trim_matches(['\'', '"']);
        let is_log = has_word(LOGS, file_name::extension(target).unwrap_or_default());
        if is_log || !is_in_workspace(target) || !file_name::is_file(target) {
            return None;
        }
        last = Some(target);
    }
    last
}

/// The file that a program writes whose text is on the line or in a here-document below it:
/// `python3 - <<'PY'`.
pub(super) fn file_written_by_program<'l>(line: &'l str, below: &[&'l str]) -> Option<&'l str> {
    const INTERPRETERS: &str = "node perl php python python3 ruby";
    const MOST_LINES: usize = 400;
    // Most lines begin with none of their letters.
    line.starts_with(['n', 'p', 'r']).then_some(())?;
    let interpreter = line.split_whitespace().next()?;
    has_word(INTERPRETERS, interpreter).then_some(())?;
    let end = |mark: &str| {
        let mut below = below.iter().take(MOST_LINES);
        below.position(|line| trim(line) == mark)
    };
    let length = here_document_mark(line).and_then(end).unwrap_or_default();
    let program = || std::iter::once(&line).chain(&below[..length]);
    let writes = program().any(|line| line.contains("write"));
    let mut texts = program().flat_map(|line| line.split(['"', '\'']).skip(1));
    texts.find(|text| writes && file_name::is_file(text))
}

/// The file that a part of a script copies its input to: `tee -a a.txt`.
fn teed_file(part: &str) -> Option<&str> {
    let files = part
        .strip_prefix("sudo ")
        .unwrap_or(part)
        .strip_prefix("tee ")?;
    files.split_whitespace().find(|word| !word.starts_with('-'))
}

/// The file that a line of a script removes or moves: `rm a.py`, `git mv a.py b.py`.
pub(super) fn file_removed_by(line: &str) -> Option<&str> {
    let line = line.strip_prefix("git ").unwrap_or(line);
    let files = ["rm ", "mv "].iter().find_map(|it| line.strip_prefix(it))?;
    let is_meant = |file: &&str| is_in_workspace(file) && file_name::is_file(file);
    files.split_whitespace().find(is_meant)
}

/// The file that a line of a script edits: `sed -i 's/a/b/' a.py`.
fn file_edited_in_place(line: &str) -> Option<&str> {
    if !begins_with(line, "sed -i|perl -pi|perl -i|awk -i|gawk -i") {
        return None;
    }
    line.split_whitespace().next_back()
}

/// The file that a line of a script writes from a here-document: `cat > a.md <<'EOF'`,
/// `dd of=a.md <<EOF`, `install /dev/stdin a.md <<EOF`.
pub(super) fn written_file(line: &str) -> Option<&str> {
    memchr::memchr(b'<', line.as_bytes())?;
    let (before, behind) = line.split_once("<<")?;
    let has_writer = |text: &str| {
        let mut words = text.split_whitespace();
        words.any(|word| matches!(word, "cat" | "tee" | "dd" | "install" | "cp" | "sponge"))
    };
    let mark = behind.trim_start_matches(['-', '~', ' ']);
    let is_mark =
        mark.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '\'' | '"' | '_'));
    if !has_writer(before) || !is_mark || behind.starts_with('<') {
        return None;
    }
    // `tee a.md > /dev/null` writes the file that is not redirected to.
    let teed = ["tee ", "sponge ", " of=", "/dev/stdin "]
        .iter()
        .find_map(|lead| line.split_once(lead));
    let teed = teed.map(|(_, rest)| rest.trim_start().trim_start_matches("-a "));
    let redirected = line.split('>').skip(1).filter(|rest| !rest.is_empty());
    let targets = teed.into_iter().chain(redirected);
    let mut targets = targets.filter_map(|target| first_word(target.trim_start_matches('|')));
    targets.find(|target| !target.starts_with(['&', '<', '>', '-']) && !target.starts_with("/dev/"))
}

/// The first word of a text as a shell reads it, its quotes aside.
fn first_word(text: &str) -> Option<&str> {
    let text = text.trim_start();
    let quote = text.chars().next().filter(|c| matches!(c, '\'' | '"'));
    let word = match quote {
        Some(quote) => text[1..].split(quote).next(),
        None => text
            .split(|c: char| c.is_whitespace() || matches!(c, '<' | ';'))
            .next(),
    };
    word.filter(|word| !word.is_empty())
}

/// The word that ends the here-document of a line.
pub(super) fn here_document_mark(line: &str) -> Option<&str> {
    let (_, mark) = line.split_once("<<")?;
    let mark = mark.trim_start_matches(['-', '~', ' ']);
    let mark = mark.split([' ', '>', '|']).next()?;
    Some(mark.trim_matches(['\'', '"']))
}

/// The file that a line of a script writes words to: `echo x > a.txt`.
fn echoed_file(line: &str) -> Option<&str> {
    let words = ["echo ", "printf "]
        .iter()
        .find_map(|it| line.strip_prefix(it))?;
    let (before, target) = words.rsplit_once('>')?;
    let is_whole = |quote| before.matches(quote).count().is_multiple_of(2);
    let target = target.trim().trim_matches(['\'', '"']);
    (is_whole('"') && is_whole('\'')).then_some(target)
}

/// The file that a line of PowerShell writes: `Set-Content -Path a.txt ...`.
fn powershell_file(line: &str) -> Option<&str> {
    const WRITERS: [&str; 3] = ["set-content", "add-content", "out-file"];
    const NAMES: [&str; 3] = ["-path", "-filepath", "-literalpath"];
    memchr::memchr(b'-', line.as_bytes())?;
    let is_one_of =
        |names: &[&str], word: &str| names.iter().any(|it| it.eq_ignore_ascii_case(word));
    let mut words = line.split_whitespace();
    words.find(|word| is_one_of(&WRITERS, word))?;
    let mut words = words.skip_while(|word| is_one_of(&NAMES, word));
    Some(words.next()?.trim_matches(['\'', '"']))
}

/// The file that a line of PowerShell writes with .NET:
/// `[IO.File]::WriteAllText("a.txt", ...)`.
fn dotnet_file(line: &str) -> Option<&str> {
    memchr::memchr(b']', line.as_bytes())?;
    let (_, call) = line.split_once("IO.File]::Write")?;
    let (_, values) = call.split_once('(')?;
    first_word(values)
}

pub(super) fn is_in_workspace(target: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || "._-/\\".contains(c);
    let is_relative = target.starts_with(|c: char| c.is_alphanumeric() || c == '.' || c == '_');
    is_relative && target.chars().all(is_word)
}

/// Returns true if no quote of a kind is straight, as after a page that turns them all.
pub(super) fn has_only_curly_quotes(text: &str) -> bool {
    let double = text.contains(['\u{201c}', '\u{201d}']) && !text.contains('"');
    let single = text.contains(['\u{2018}', '\u{2019}']) && !text.contains(['\'', '"']);
    double || single
}

/// The script with straight quotes, if the mark of a here-document shows that a page made them curly:
/// `<<\u{2018}EOF\u{2019}` ends nowhere, and the rest of the script would be its text.
pub(super) fn straightened(script: &str) -> Option<String> {
    let is_curly = |c: char| matches!(c, '\u{2018}'..='\u{201f}');
    let has_curly_mark = script.split("<<").skip(1).any(|behind| {
        let mark = behind.trim_start_matches(['-', '~', ' ']);
        mark.starts_with(is_curly)
    });
    has_curly_mark.then(|| {
        let straight = |c: char| match c {
            '\u{2018}'..='\u{201b}' => '\'',
            '\u{201c}'..='\u{201f}' => '"',
            other => other,
        };
        script.chars().map(straight).collect()
    })
}

/// Returns true if a line of a script hands the lines below it to a program that applies patches.
pub(super) fn feeds_patch(line: &str) -> bool {
    const PROGRAMS: [&str; 4] = ["apply_patch", "applypatch", "git apply", "patch -p"];
    line.contains("<<") && PROGRAMS.iter().any(|program| line.contains(program))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_written_to_files_of_the_workspace() {
        for (line, file) in [
            ("echo 'print(1)' > x.py", Some("x.py")),
            ("printf '%s' a >> src/a.txt", Some("src/a.txt")),
            ("mkdir -p d && echo a > d/x", Some("d/x")),
            ("cd src && sed -i 's/a/b/' a.py", Some("a.py")),
            ("echo a | sudo tee -a d/x", Some("d/x")),
            ("jq .a p.json > tmp && mv tmp p.json", Some("p.json")),
            ("make | tee /dev/null", None),
            ("  echo \"a && b\" > x", Some("x")),
            ("$ echo a > x", Some("x")),
            ("'a' | Set-Content n.py", Some("n.py")),
            ("Out-File -FilePath 'a.txt' -Encoding utf8", Some("a.txt")),
            ("sed -i 's/a/b/' src/a.py", Some("src/a.py")),
            ("[IO.File]::WriteAllText(\"a.txt\", $text)", Some("a.txt")),
            ("sed 's/a/b/' src/a.py", None),
            ("Set-Content $path 'a'", None),
            ("echo a > /dev/null", None),
            ("echo a >> ~/.bashrc", None),
            ("echo a > $OUT", None),
            ("echo \"a -> b\"", None),
            ("cat a > b", None),
            ("rm -f src/a.py", Some("src/a.py")),
            ("git mv a.py b.py", Some("a.py")),
            ("rm -rf build", None),
        ] {
            assert_eq!(file_written_by(line), file, "{line}");
        }
    }

    #[test]
    fn files_are_left_behind() {
        for (line, file) in [
            ("ls src > files.txt", Some("files.txt")),
            ("jq '.a > 1' p.json | sort > q.json", Some("q.json")),
            ("cp a.example.toml a.toml", Some("a.toml")),
            ("$ mkdir -p d && touch d/a.py", Some("d/a.py")),
            ("touch a.py; make", None),
            ("make > build.log 2>&1", None),
            ("python a.py > out.log", None),
            ("cp a.toml /etc/a.toml", None),
            ("cp -r a b", None),
            ("mkdir d", None),
        ] {
            assert_eq!(file_left_by(line), file, "{line}");
        }
    }

    #[test]
    fn a_curly_mark_shows_what_a_page_did() {
        let script = "cat > a <<\u{2018}EOF\u{2019}\n\u{201c}x\u{201d}\nEOF\n";
        assert_eq!(
            straightened(script).as_deref(),
            Some("cat > a <<'EOF'\n\"x\"\nEOF\n")
        );
        assert_eq!(straightened("echo \u{201c}hi\u{201d} <<EOF\nEOF\n"), None);
    }

    #[test]
    fn knows_which_file_a_here_document_writes() {
        for line in [
            "cat > docs/a.md <<'EOF'",
            "cat >docs/a.md <<EOF",
            "cat <<EOF > docs/a.md",
            "sudo tee docs/a.md <<EOF",
            "cat <<'EOF' | tee -a docs/a.md",
            "cat >> \"docs/a.md\" <<-EOF",
            "tee docs/a.md >/dev/null <<'EOF'",
            "cat <<EOF | sudo tee docs/a.md > /dev/null",
            "cat 2>&1 >docs/a.md<<EOF",
            "cat >| docs/a.md <<EOF",
            "dd of=docs/a.md status=none <<EOF",
            "install -m 755 /dev/stdin docs/a.md <<'EOF'",
            "cp /dev/stdin docs/a.md <<EOF",
            "sponge docs/a.md <<EOF",
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
