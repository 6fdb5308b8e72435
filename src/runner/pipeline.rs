//! The exit codes of every part of a script's last pipeline.
//!
//! The exit code of `pytest | tail -5` is that of `tail`. `pipefail` would tell, but it changes what
//! a script means: `seq 9999 | head` would fail. So bash is asked when it exits, by a trap in front
//! of the script, on its first line so that line numbers stay. The trap leaves the exit code alone
//! and writes one escape sequence to the output, which [`EscapeFilter`](super::escapes::EscapeFilter)
//! removes. A script that sets its own `EXIT` trap or sends the output of the whole shell elsewhere
//! tells nothing; neither does a shell without `PIPESTATUS`.

use crate::protocol::ShellLanguage;

/// The text of the escape sequence that reports the exit codes begins with this.
pub(super) const REPORT: &str = "agent-pipeline ";

/// Reports a pipeline of several parts, if the shell still writes both outputs to our pipe. A trace
/// (`set -x`) does not show it.
const TRAP: &str = concat!(
    r#"trap '{ set -- "${PIPESTATUS[@]}"; set +x; IFS=" "; } 2>/dev/null; "#,
    r#"[[ $# -lt 2 || ! ( -p /dev/fd/2 && /dev/fd/1 -ef /dev/fd/2 ) ]] || "#,
    r#"printf "\033_agent-pipeline %s\a" "$*" >&2 || :' EXIT; "#
);

/// The code of a program that was killed by SIGPIPE, because a later part had read enough.
const BROKEN_PIPE: i32 = 128 + 13;

/// The script with the trap in front of it, if it may have a pipeline.
pub(super) fn observed(shell: ShellLanguage, script: &str) -> Option<String> {
    let is_bash = shell == ShellLanguage::Bash;
    let has_pipe = script.replace("||", "").contains('|');
    (is_bash && has_pipe).then(|| format!("{TRAP}{script}"))
}

/// The output without the trap, which bash quotes with the first line if its syntax is wrong.
pub(super) fn without_trap(text: String) -> String {
    if text.contains(TRAP) {
        text.replace(TRAP, "")
    } else {
        text
    }
}

/// The exit codes that a report tells.
pub(super) fn parse(report: &str) -> Vec<i32> {
    let codes = report.split_ascii_whitespace().map(str::parse);
    codes.collect::<Result<_, _>>().unwrap_or_default()
}

/// A part of a pipeline whose failure its last part hid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedPart {
    /// Its number, from 1.
    pub number: usize,
    /// Its command, as far as the script tells.
    pub command: String,
    /// Its exit code.
    pub code: i32,
}

/// The first part before the last one that failed: not by SIGPIPE, and not `grep` without a match.
pub fn hidden_failure(script: &str, codes: &[i32], output: &str) -> Option<FailedPart> {
    let (_, hidden) = codes.split_last()?;
    if hidden.iter().all(|code| matches!(*code, 0 | BROKEN_PIPE)) {
        return None;
    }
    let parts = last_pipeline(script, codes.len()).unwrap_or_else(|| vec![""; codes.len()]);
    let is_read_in_part = |at: usize| parts[at + 1..].iter().any(|part| reads_in_part(part));
    let is_broken = |at: usize| has_broken_pipe(output) && is_read_in_part(at);
    let mut failed = hidden.iter().enumerate().filter(|&(at, &code)| {
        !matches!(code, 0 | BROKEN_PIPE) && !is_no_match(parts[at], code) && !is_broken(at)
    });
    failed.next().map(|(at, &code)| FailedPart {
        number: at + 1,
        command: parts[at].to_owned(),
        code,
    })
}

/// True if the code says that a search found nothing.
fn is_no_match(part: &str, code: i32) -> bool {
    const SEARCHES: [&str; 8] = [
        "grep", "egrep", "fgrep", "zgrep", "rg", "ag", "ack", "pgrep",
    ];
    let is_search = |word: &str| SEARCHES.contains(&word.rsplit('/').next().unwrap_or(word));
    let mut words = command_words(part);
    match words.next() {
        Some("git") => code == 1 && words.next() == Some("grep"),
        // Its own code for a command that ended with 1 to 125.
        Some("xargs") => code == 123 && words.any(is_search),
        Some(word) => code == 1 && is_search(word),
        None => false,
    }
}

/// True if a program stops before the end of its input, so that writers may find it gone.
fn reads_in_part(part: &str) -> bool {
    matches!(
        command_words(part).next(),
        Some("head" | "grep" | "rg" | "sed" | "awk" | "less" | "more" | "true")
    )
}

/// Returns true if a program says that nobody reads its output: some ignore SIGPIPE.
fn has_broken_pipe(output: &str) -> bool {
    const WORDS: [&str; 4] = ["Broken pipe", "BrokenPipe", "broken pipe", "EPIPE"];
    WORDS.iter().any(|words| output.contains(words))
}

/// The words of a command, without keywords, assignments and programs that start another one.
fn command_words(part: &str) -> impl Iterator<Item = &str> {
    const BEFORE: [&str; 17] = [
        "!", "{", "(", "do", "then", "else", "if", "while", "until", "time", "command", "env",
        "nice", "nohup", "exec", "sudo", "stdbuf",
    ];
    let mut words = part.split_whitespace().peekable();
    while let Some(word) = words.peek() {
        let is_assignment = word.split_once('=').is_some_and(|(name, _)| {
            !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_')
        });
        if !BEFORE.contains(word) && !is_assignment {
            break;
        }
        words.next();
    }
    words
}

/// The parts of the last pipeline that has this many of them.
fn last_pipeline(script: &str, parts: usize) -> Option<Vec<&str>> {
    let mut pipelines = Pipelines::default();
    pipelines.read(script);
    let mut found = pipelines.found.into_iter().rev();
    let pipeline = found.find(|pipeline| pipeline.len() == parts)?;
    Some(
        pipeline
            .into_iter()
            .map(|part| script[part].trim())
            .collect(),
    )
}

/// Splits a script at its separators, outside of quotes and parentheses.
///
/// Bodies of here-documents are split like the rest: they give pipelines that nobody asks for.
#[derive(Debug, Default)]
struct Pipelines {
    found: Vec<Vec<std::ops::Range<usize>>>,
    parts: Vec<std::ops::Range<usize>>,
    part: usize,
    /// Open parentheses.
    depth: usize,
}

impl Pipelines {
    fn read(&mut self, script: &str) {
        let bytes = script.as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            let next = bytes.get(at + 1).copied();
            match bytes[at] {
                b'\\' => at += 1,
                quote @ (b'\'' | b'"' | b'`') => at = quoted_end(bytes, at, quote),
                b'#' if at == 0 || bytes[at - 1].is_ascii_whitespace() => {
                    let line = script[at..].find('\n');
                    let length = line.unwrap_or(bytes.len() - at);
                    if self.depth == 0 {
                        self.end_line(script, at);
                        self.part = at + length;
                    }
                    at += length;
                    continue;
                }
                b'(' => self.depth += 1,
                b')' => self.depth = self.depth.saturating_sub(1),
                // Redirections: `>|`, `>&`, `&>`.
                b'>' if matches!(next, Some(b'|' | b'&')) => at += 1,
                b'&' if next == Some(b'>') => at += 1,
                _ if self.depth > 0 => {}
                b'|' if next == Some(b'|') => self.end_pipeline(at, 2),
                b'&' if next == Some(b'&') => self.end_pipeline(at, 2),
                b'|' => self.end_part(at, 1 + usize::from(next == Some(b'&'))),
                b'&' | b';' => self.end_pipeline(at, 1),
                b'\n' => self.end_line(script, at),
                _ => {}
            }
            at = (at + 1).max(self.part);
        }
        self.end_pipeline(bytes.len(), 0);
    }

    /// Ends a pipeline at the end of its line, unless the line ends behind a pipe.
    fn end_line(&mut self, script: &str, at: usize) {
        if !script[self.part.min(at)..at].trim().is_empty() {
            self.end_pipeline(at, 0);
        }
    }

    fn end_part(&mut self, at: usize, length: usize) {
        self.parts.push(self.part.min(at)..at);
        self.part = at + length;
    }

    fn end_pipeline(&mut self, at: usize, length: usize) {
        self.end_part(at, length);
        self.found.push(std::mem::take(&mut self.parts));
    }
}

/// The closing quote, or the end of the script.
fn quoted_end(bytes: &[u8], start: usize, quote: u8) -> usize {
    let mut at = start + 1;
    while at < bytes.len() && bytes[at] != quote {
        at += 1 + usize::from(bytes[at] == b'\\' && quote != b'\'');
    }
    at.min(bytes.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn case(script: &str, parts: usize, expected: &[&str]) {
        let found = last_pipeline(script, parts).unwrap_or_default();
        assert_eq!(found, expected, "{script}");
    }

    #[test]
    fn finds_the_parts_of_the_last_pipeline() {
        case("a | b", 2, &["a", "b"]);
        case("a | b\nc 2>&1 | d || e", 2, &["c 2>&1", "d"]);
        case(
            "x && pytest -k 'a|b' |& tail -5;",
            2,
            &["pytest -k 'a|b'", "tail -5"],
        );
        case("a |\n  b \\\n  c # d | e", 2, &["a", "b \\\n  c"]);
        case("cat <<E | sort\nx; y\nE", 2, &["cat <<E", "sort"]);
        case("(a | b) | c", 2, &["(a | b)", "c"]);
        case("echo \"$(a | b)\" | c", 2, &["echo \"$(a | b)\"", "c"]);
        case("a &> x | b & c", 2, &["a &> x", "b"]);
        case("a | b", 3, &[]);
        case("é 'ü | b", 2, &[]);
    }

    #[track_caller]
    fn hidden(script: &str, codes: &[i32], output: &str, expected: Option<(usize, i32)>) {
        let found = hidden_failure(script, codes, output);
        assert_eq!(
            found.map(|part| (part.number, part.code)),
            expected,
            "{script}"
        );
    }

    #[test]
    fn a_failed_part_counts_unless_nobody_read_on_or_nothing_was_found() {
        hidden("pytest | tail", &[1, 0], "", Some((1, 1)));
        hidden("a | b | c", &[0, 2, 0], "", Some((2, 2)));
        hidden("seq 9 | head -1", &[141, 0], "", None);
        hidden("a | b", &[0, 1], "", None);
        hidden("a | b", &[], "", None);
        hidden("grep -r x . | wc -l", &[1, 0], "", None);
        hidden("for f in *; do grep x $f | wc -l; done", &[1, 0], "", None);
        hidden("A=1 /bin/grep x | cat", &[1, 0], "", None);
        hidden("git grep x | cat", &[1, 0], "", None);
        hidden("find . | xargs grep x | cat", &[0, 123, 0], "", None);
        hidden("grep -r x missing | wc -l", &[2, 0], "", Some((1, 2)));
        hidden("make | grep error", &[2, 1], "", Some((1, 2)));
        let python = "x\nBrokenPipeError: [Errno 32] Broken pipe\n";
        hidden("python gen.py | head -1", &[1, 0], python, None);
        hidden("python gen.py | tail -1", &[1, 0], python, Some((1, 1)));
    }
}
