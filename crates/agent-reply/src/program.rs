//! Programs of other languages than a shell's that only write files of the workspace.
//!
//! A model without tools often shows such a program in the place of an edit. It is told from code
//! that is only explained by what it calls: a program that writes files reads, replaces, joins and
//! prints, and calls nothing else. A function of its own counts too, if it is called.

use std::collections::HashMap;

use crate::line::has_word;
use crate::{file_name, script};

/// Languages of code blocks that may hold such a program.
const LANGUAGES: &str = "\
    cjs javascript js mjs node perl php pl py python python3 rb ruby ts typescript";

/// Calls that change the file which they name.
const WRITERS: &str = "\
    appendFile appendFileSync copy copy2 copyFile copyFileSync copyfile file_put_contents move remove \
    rename renameSync rmSync unlink unlinkSync writeFile writeFileSync writeTextFile write_bytes \
    write_text";

/// Calls that a program needs around them.
const HELPERS: &str = "\
    Path append basename close compile dedent dict dirname dump dumps endswith enumerate exists exit \
    extend file_get_contents findall for format get gsub if indent index indexOf insert is_file isfile \
    items join keys len lines list load loads log lstrip main makedirs map match mkdir mkdirSync open \
    parent parse pop print println push put puts range read readFile readFileSync read_text readlines \
    replace replaceAll require resolve rstrip search slice sort sorted splice split splitlines \
    startswith str stringify strip sub subn trim trimEnd values while write writelines";

/// Strings that are no text of a file.
const NO_TEXT: &str = "< > >> a ab ascii node r rb rt utf-8 utf8 w wb wt x __main__";

/// Strings that may go on over lines.
const LONG_QUOTES: [&str; 3] = ["\"\"\"", "'''", "`"];

/// Files that a program writes at a line, of which any may be meant.
pub(super) struct ProgramWrite<'l> {
    pub(super) line: usize,
    pub(super) files: Vec<&'l str>,
}

/// The files that a program in a code block of this language writes, if it does nothing else.
pub(super) fn writes<'l>(language: &str, lines: &[&'l str]) -> Vec<ProgramWrite<'l>> {
    const MOST_LINES: usize = 2_000;
    let is_known = language.is_empty() || has_word(LANGUAGES, &language.to_ascii_lowercase());
    if !is_known || lines.len() > MOST_LINES {
        return Vec::new();
    }
    let mut text = ProgramText::default();
    for (at, line) in lines.iter().enumerate() {
        text.read(at, line);
    }
    let calls_nothing_else = || {
        text.calls.iter().all(|(name, call)| match call {
            FunctionUse {
                is_own: true,
                count,
            } => *count > 1,
            _ => has_word(WRITERS, name) || has_word(HELPERS, name),
        })
    };
    if text.writes.is_empty() || !text.has_text || !calls_nothing_else() {
        return Vec::new();
    }
    text.writes
}

/// How a program uses a function.
#[derive(Default)]
struct FunctionUse {
    is_own: bool,
    /// How often its name stands before a bracket.
    count: usize,
}

/// A program, as far as it was read.
#[derive(Default)]
struct ProgramText<'l> {
    /// The end of the string in which a line ends.
    open: Option<&'static str>,
    calls: HashMap<&'l str, FunctionUse>,
    /// Files in strings that no line has written.
    named: Vec<&'l str>,
    /// It has a text to write: an excerpt takes it from elsewhere.
    has_text: bool,
    writes: Vec<ProgramWrite<'l>>,
}

impl<'l> ProgramText<'l> {
    fn read(&mut self, at: usize, line: &'l str) {
        let mut rest = line;
        if let Some(end) = self.open {
            let Some((_, behind)) = line.split_once(end) else {
                return;
            };
            self.open = None;
            rest = behind;
        }
        let is_import = |before: &str| {
            let leads = ["import ", "from "];
            leads.iter().any(|lead| line.starts_with(lead)) || before.ends_with("require(")
        };
        let (mut files, mut writes, mut opens, mut has_mode) = (Vec::new(), false, false, false);
        let is_mark = |byte| matches!(byte, b'"' | b'\'' | b'`' | b'(' | b'#' | b'/');
        while let Some(mark) = rest.bytes().position(is_mark) {
            let (before, behind) = rest.split_at(mark);
            if let Some(values) = behind.strip_prefix('(') {
                let name = before.trim_end_matches(|c: char| c.is_alphanumeric() || c == '_');
                let (lead, name) = before.split_at(name.len());
                if !name.is_empty() {
                    let call = self.calls.entry(name).or_default();
                    call.count += 1;
                    call.is_own |= lead.ends_with("def ") || lead.ends_with("function ");
                    let is_file = ["File.", "Bun."].iter().any(|it| lead.ends_with(it));
                    writes |= has_word(WRITERS, name) || (name == "write" && is_file);
                    opens |= name == "open";
                }
                rest = values;
            } else if behind.starts_with(['#', '/']) {
                let is_free = before.is_empty() || before.ends_with([' ', '\t']);
                if is_free && (behind.starts_with('#') || behind.starts_with("//")) {
                    break;
                }
                rest = &behind[1..];
            } else {
                let long = LONG_QUOTES.into_iter().find(|it| behind.starts_with(it));
                let quote = long.unwrap_or(&behind[..1]);
                let behind = &behind[quote.len()..];
                let Some(end) = end_of_string(behind, quote) else {
                    self.open = long;
                    self.has_text |= long.is_some();
                    break;
                };
                let string = &behind[..end];
                has_mode |= is_write_mode(string);
                let before = &line[..line.len() - behind.len() - quote.len()];
                if file_name::is_file(string) && script::is_in_workspace(string) {
                    files.push(string);
                } else {
                    self.has_text |= !(is_import(before) || has_word(NO_TEXT, string));
                }
                rest = &behind[end + quote.len()..];
            }
        }
        if !(writes || (opens && has_mode)) {
            self.named.append(&mut files);
            return;
        }
        if files.is_empty() {
            files = std::mem::take(&mut self.named);
        }
        if !files.is_empty() {
            self.writes.push(ProgramWrite { line: at, files });
        }
    }
}

/// Where the mark stands that ends a string; one behind a backslash does not.
fn end_of_string(text: &str, quote: &str) -> Option<usize> {
    let is_escaped = |at: usize| {
        let before = &text[..at];
        (before.len() - before.trim_end_matches('\\').len()) % 2 == 1
    };
    let mut ends = text.match_indices(quote).map(|(at, _)| at);
    ends.find(|at| !is_escaped(*at))
}

/// Returns true if a string opens a file to write to it: `w`, `ab`, `r+`, `>`.
fn is_write_mode(string: &str) -> bool {
    let is_mode = |c: char| "rwaxbt+>".contains(c);
    (1..=3).contains(&string.len())
        && string.chars().all(is_mode)
        && string.contains(['w', 'a', 'x', '+', '>'])
}

#[cfg(test)]
mod tests {
    use super::writes;

    #[track_caller]
    fn case(language: &str, program: &str, expected: &[&str]) {
        let lines: Vec<&str> = program.lines().collect();
        let written = writes(language, &lines);
        let files: Vec<&str> = written.into_iter().flat_map(|it| it.files).collect();
        assert_eq!(files, expected, "{program}");
    }

    #[test]
    fn a_program_that_only_writes_files_is_known_in_each_language() {
        case("python", "open('a.py', 'w').write('''x(\n''')", &["a.py"]);
        case(
            "py",
            "from pathlib import Path\np = Path(\"d/a.py\")\np.write_text(p.read_text().replace(\"f(\", \"g(\"))",
            &["d/a.py"],
        );
        case(
            "python",
            "files = {\n  'a.py': 'text',\n  'b.py': 'y',\n}\nfor name, text in files.items():\n  with open(name, 'w') as f:\n    f.write(text)",
            &["a.py", "b.py"],
        );
        case(
            "python",
            "def change(path):\n  text = open(path).read()  # it (was) so\n  open(path, 'w').write(text + 'x')\n\nchange('a.py')",
            &[],
        );
        case(
            "python",
            "def change(text, path='a.py'):\n  open(path, 'w').write(text)\n\nchange('text')",
            &["a.py"],
        );
        case(
            "js",
            "const fs = require('fs');\nfs.writeFileSync('a.js', `f(\n${g(1)}`); // h(1)",
            &["a.js"],
        );
        case("ruby", "File.write('a.rb', 'text')", &["a.rb"]);
        case(
            "python",
            "Path('a.py').write_text('it\\'s(1)\\n\\\\')",
            &["a.py"],
        );
        case(
            "python",
            "Path('a.js').write_text(\"const b = require('b')\\n\")",
            &["a.js"],
        );
        case("php", "file_put_contents(\"a.php\", 'text');", &["a.php"]);
        case(
            "perl",
            "open(my $f, '>', 'a.pl'); print $f 'text';",
            &["a.pl"],
        );
        case("", "open('a.py', 'w').write('text')", &["a.py"]);
    }

    #[test]
    fn a_program_that_does_more_or_only_defines_is_none() {
        for program in [
            "rows = fetch(url)\nopen('a.csv', 'w').write(rows)",
            "def save(text):\n  open('a.txt', 'w').write(text)",
            "text = open('a.txt').read()\nprint(text)",
            "class A:\n  def save(self):\n    open('a.txt', 'w').write(self.x)",
            "open('/etc/a.txt', 'w').write('text')",
            "open(sys.argv[1], 'w').write('text')",
            "x.append('a.py')",
            "open('a.txt', 'w', encoding='utf-8').write(text)",
        ] {
            case("python", program, &[]);
        }
        case("rust", "open('a.py', 'w').write('text')", &[]);
    }
}
