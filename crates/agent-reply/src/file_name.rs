//! File names as chats write them above and beside code.
//!
//! Everything here gives the text of a name; whether it is a path in the workspace is decided by
//! `RelPath`, and a name that is refused there is news for the model rather than prose.

use crate::line::has_word;
use crate::link;
use crate::trim::trim;

/// Files that are known without an extension.
const WELL_KNOWN: &str = "\
    Makefile makefile GNUmakefile Dockerfile Containerfile Justfile justfile Rakefile Gemfile \
    Procfile Vagrantfile Jenkinsfile Brewfile Caddyfile Tiltfile BUILD WORKSPACE LICENSE README \
    CHANGELOG CODEOWNERS Kconfig";

/// Extensions that make a word in prose a file: `console.log` is code, `console.ts` is a file.
const EXTENSIONS: &str = "\
    adoc asm astro awk bash bat bazel bib bzl c cc cfg cjs clj cljs cmake cmd conf cpp cs csproj \
    css csv cu cxx d dart diff el elm env erl ex exs fish fs fsx gleam go gql gradle graphql \
    groovy h haml hbs hcl hh hpp hs htm html hxx ini ipynb java jl js json json5 jsonc jsonl jsx \
    kt kts less lisp lock lua m markdown md mdx mjs mk ml mli mm nim nix odin org pas patch php \
    pl plist pm prisma properties proto ps1 pug py pyi pyx r rake rb rkt rs rst s sass scala scm \
    scss sh sln sol sql styl sv svelte svg swift tcl tex tf tfvars thrift toml ts tsv tsx txt v \
    vb vbs vhd vim vue wat wgsl xaml xml xsd yaml yml zig zsh";

/// Products that are written as if they were files; `node.js` in small letters is one.
const PRODUCTS: &str = "\
    Alpine.js Angular.js Backbone.js D3.js Discord.js Ember.js Express.js Nest.js \
    Next.js Node.js Nuxt.js React.js Three.js Vue.js";

/// Directories below which a name without an extension is a file: `bin/tool`, not `client/server`.
const DIRECTORIES: &str = "\
    app bin cmd config docs etc hooks include internal lib pkg scripts src test tests tools";

/// Words before a name, a colon or a code span after them.
const LABELS: [&str; 7] = [
    "file",
    "filename",
    "file name",
    "file path",
    "filepath",
    "path",
    "new file",
];

/// The longest line that can be a name; the limit of Linux for a path, and room for decoration.
const MAX_BYTES: usize = 4200;

/// The file that a line names and does nothing else: `### src/main.rs`, `**File: a.py**`.
///
/// It must be unmistakable: a slash, an extension or a well-known name.
pub(super) fn alone(line: &str) -> Option<&str> {
    let name = word(line)?;
    is_unmistakable(name).then_some(name)
}

/// The only word of a line, decoration aside; a name in backticks may have spaces.
pub(super) fn word(line: &str) -> Option<&str> {
    if line.len() > MAX_BYTES {
        return None;
    }
    let mut text = trim(line);
    let mut quoted = false;
    loop {
        let (next, in_quotes) = undecorate(text);
        quoted |= in_quotes;
        if next == text {
            break;
        }
        text = next;
    }
    let spaced = text.contains(char::is_whitespace);
    (is_possible(text) && (!spaced || (quoted && is_unmistakable(text)))).then_some(text)
}

/// The only file that a sentence leading to code names in backticks: ``Now change `a.py`:``.
///
/// The sentence must be a heading, be bold or end with a colon, so that it belongs to what follows.
pub(super) fn in_sentence(line: &str) -> Option<&str> {
    let text = trim(line);
    let leads = text.ends_with(':')
        || text.ends_with(":**")
        || text.starts_with('#')
        || (text.starts_with("**") && text.ends_with("**"));
    if !leads || text.len() > MAX_BYTES {
        return None;
    }
    let mut names = text
        .split('`')
        .skip(1)
        .step_by(2)
        .filter(|span| is_file(span));
    let name = names.next()?;
    names.all(|other| other == name).then_some(name)
}

/// The files that a line of words names: in backticks, with a directory, or with an extension that
/// is not part of a product's name, as in `Node.js`.
pub(super) fn in_words(line: &str) -> Vec<&str> {
    if line.len() > MAX_BYTES {
        return Vec::new();
    }
    let is_edge = |c: char| c.is_whitespace() || "*\"'`()[]{}<>,;:!|=".contains(c);
    let has_capital = |word: &str| {
        let mut letters = word.chars();
        letters.next().is_some_and(char::is_uppercase) && letters.any(char::is_lowercase)
    };
    let mut names = Vec::new();
    for (part, text) in line.split('`').enumerate() {
        let is_code = part % 2 == 1;
        for word in text.split(is_edge) {
            let word = word.trim_end_matches('.');
            let word = between(word, "__", "__").unwrap_or(word);
            let is_path = is_code
                || word.contains('/')
                || !has_capital(word.split('.').next().unwrap_or(word));
            let has_extension = extension(word).is_some();
            if is_file(word) && is_path && (is_code || has_extension) && !names.contains(&word) {
                names.push(word);
            }
        }
    }
    names
}

/// The words of a line in small letters, without the name of a file.
pub(super) fn words_beside(line: &str, name: &str) -> Vec<String> {
    let lower = trim(line).to_lowercase().replace('\u{2019}', "'");
    let lower = lower.replace(&name.to_lowercase(), " ");
    let is_part = |c: char| !(c.is_alphanumeric() || matches!(c, '\'' | '.'));
    let words = lower.split(is_part).map(|word| word.trim_matches('.'));
    words
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

/// Returns true if the words after a fence cite lines of a file: `4:7:src/a.py`.
pub(super) fn is_citation(info: &str) -> bool {
    cited(info).is_some()
}

/// The file behind the first and the last of its lines.
fn cited(info: &str) -> Option<&str> {
    let (first, rest) = info.split_once(':')?;
    let (last, name) = rest.split_once(':')?;
    let is_line = |text: &str| !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
    (is_line(first) && is_line(last)).then_some(name.trim())
}

/// The file that the words after a fence name: `python src/a.py`, `src/a.py`, `js title="a.js"`.
pub(super) fn in_info(info: &str) -> Option<&str> {
    if info.len() > MAX_BYTES {
        return None;
    }
    let info = cited(info).unwrap_or(info);
    if let Some((language, name)) = info.split_once(':')
        && !language.contains(char::is_whitespace)
        && is_unmistakable(name.trim())
    {
        return Some(name.trim());
    }
    let mut quote = None;
    let mut words = info.split(move |c: char| {
        if quote.is_none() && matches!(c, '"' | '\'') {
            quote = Some(c);
        } else if quote == Some(c) {
            quote = None;
        }
        quote.is_none() && c.is_whitespace()
    });
    words.find_map(|word| {
        let word = word.trim_matches(['{', '}']);
        let (key, value) = word.split_once('=').unwrap_or(("", word));
        let value = value.trim_matches(['"', '\'', '`']);
        let is_name = match key {
            // `{.python}` is a class of the block.
            "" if word.starts_with('.') && info.starts_with('{') => false,
            "path" | "file" | "filename" | "filepath" => is_possible(value),
            "" | "title" | "name" => is_unmistakable(value),
            _ => false,
        };
        (is_name && !value.contains(char::is_whitespace)).then_some(value)
    })
}

/// Takes one layer of decoration off; also tells whether it was the quotes of a name.
fn undecorate(text: &str) -> (&str, bool) {
    if let Some(rest) = text.strip_suffix(':') {
        return (rest.trim_end(), false);
    }
    if let Some(words) = link::to_itself(text) {
        return (words, false);
    }
    for (before, after) in [("**", "**"), ("/*", "*/"), ("<!--", "-->")] {
        if let Some(inner) = between(text, before, after) {
            return (inner, false);
        }
    }
    for quote in ["`", "\"", "'"] {
        if let Some(inner) = between(text, quote, quote) {
            return (inner, true);
        }
    }
    for mark in ["**", "#", "> ", "- ", "* ", "+ ", "// ", "-- ", "; ", "% "] {
        if let Some(rest) = text.strip_prefix(mark) {
            return (rest.trim_start(), false);
        }
    }
    if let Some(rest) = without_label(text).or_else(|| without_number(text)) {
        return (rest, false);
    }
    if let Some((name, remark)) = text
        .strip_suffix(')')
        .and_then(|rest| rest.rsplit_once(" ("))
        && !names_lines(remark)
    {
        return (name.trim_end(), false);
    }
    (text, false)
}

/// Returns true if a remark behind a name says that only some lines of the file follow: `lines
/// 5-7`, `L12`, `excerpt`.
fn names_lines(remark: &str) -> bool {
    const WORDS: [&str; 8] = [
        "line", "lines", "excerpt", "snippet", "part", "partial", "around", "example",
    ];
    let mut words = remark.split(|c: char| !c.is_ascii_alphanumeric());
    words.any(|word| {
        let word = word.to_ascii_lowercase();
        let digits = word.strip_prefix('l').unwrap_or(&word);
        let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        is_number || WORDS.contains(&word.as_str())
    })
}

fn between<'a>(text: &'a str, before: &str, after: &str) -> Option<&'a str> {
    let inner = text.strip_prefix(before)?.strip_suffix(after)?;
    let single = !inner.contains(before) && !inner.contains(after);
    (single && !inner.is_empty()).then_some(inner.trim())
}

fn without_label(text: &str) -> Option<&str> {
    LABELS.iter().find_map(|label| {
        let rest = text
            .get(..label.len())
            .filter(|start| start.eq_ignore_ascii_case(label))
            .map(|start| &text[start.len()..])?;
        let rest = rest.strip_prefix(['*', '`']).unwrap_or(rest);
        let rest = match rest.strip_prefix(':') {
            Some(rest) => rest.trim_start_matches('*'),
            None => rest
                .strip_prefix(' ')
                .filter(|rest| rest.starts_with('`'))?,
        };
        (!rest.trim().is_empty()).then(|| rest.trim())
    })
}

fn without_number(text: &str) -> Option<&str> {
    let rest = text.trim_start_matches(|character: char| character.is_ascii_digit());
    if rest.len() == text.len() {
        return None;
    }
    rest.strip_prefix(". ").or_else(|| rest.strip_prefix(") "))
}

/// Returns true if the text could be a name at all.
fn is_possible(text: &str) -> bool {
    let bytes = text.as_bytes();
    let is_strange = |(at, byte): (usize, &u8)| match byte {
        b'<' | b'>' | b'|' | b'*' | b'?' | b'"' | b'`' | b'=' | b';' | b',' => true,
        b'$' => matches!(bytes.get(at + 1), Some(b'(' | b'{')),
        b':' => bytes[at + 1..].starts_with(b"//"),
        _ => false,
    };
    !text.is_empty()
        && !bytes.iter().enumerate().any(is_strange)
        && !text.starts_with("$ ")
        && !text.ends_with(['/', '\\', '.', ':', '!'])
        && !names_a_line(text)
        && text.contains(char::is_alphanumeric)
}

/// Returns true if a text leads to a line of a file rather than to the file: `src/main.rs:5`,
/// `a.py:5-7`, `a.py#L12`.
fn names_a_line(text: &str) -> bool {
    let Some((name, place)) = text.rsplit_once([':', '#']) else {
        return false;
    };
    let place = place.strip_prefix('L').unwrap_or(place);
    let is_place = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'-' | b'L' | b',');
    name.len() > 1 && !place.is_empty() && place.bytes().all(is_place)
}

/// Returns true if the text cannot well be anything but a path.
pub(super) fn is_unmistakable(text: &str) -> bool {
    is_possible(text)
        && (text.contains(['/', '\\'])
            || has_word(WELL_KNOWN, text)
            || extension(text).is_some()
            || is_hidden_file(text))
}

/// Returns true if the text is a name such as `.gitignore`: `.python` is the class of a code block.
fn is_hidden_file(text: &str) -> bool {
    let stem = text.strip_prefix('.').unwrap_or_default();
    stem.len() > 1 && !stem.starts_with('.') && !crate::tags::copy_button::is_language(stem)
}

/// Returns true if the name that a line over a code block consists of is that of a file:
/// `RegExp.prototype.test` has a dot, `Debian/Ubuntu` and `client/server` have a slash.
pub(super) fn names_file(line: &str, name: &str) -> bool {
    let directory = name.split(['/', '\\']).next().unwrap_or_default();
    let is_said = || {
        let before = line.split(name).next().unwrap_or_default();
        before.contains(['`', ':'])
            || matches!(directory, "" | "." | "..")
            || is_hidden_file(directory)
            || has_word(DIRECTORIES, directory)
    };
    let last = last_component(name);
    is_file(name)
        || is_hidden_file(last)
        || (name.contains(' ') && extension(name).is_some())
        || (last.len() < name.len()
            && !is_product(name)
            && (extension(name).is_some() || (name.contains(char::is_alphabetic) && is_said())))
}

/// Returns true if the text is a product, or several: `Node.js`, `Deno/Node.js`.
fn is_product(text: &str) -> bool {
    let directory = &text[..text.len() - last_component(text).len()];
    let mut directories = directory.split_terminator('/');
    has_word(PRODUCTS, last_component(text))
        && directories.all(|it| it.starts_with(char::is_uppercase))
}

/// Returns true if the text is a file even inside a sentence, where `os.path` and `and/or` may
/// stand too.
pub(super) fn is_file(text: &str) -> bool {
    is_possible(text)
        && !text.starts_with('/')
        && !text.contains(char::is_whitespace)
        && !is_product(text)
        && (has_word(WELL_KNOWN, last_component(text))
            || extension(text).is_some_and(|extension| {
                let lower = extension.to_ascii_lowercase();
                has_word(EXTENSIONS, &lower)
            }))
}

/// The extension of the last component, without its dot.
pub(super) fn extension(text: &str) -> Option<&str> {
    let (stem, extension) = last_component(text).rsplit_once('.')?;
    let sound = !stem.is_empty()
        && (1..=12).contains(&extension.len())
        && extension.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && extension.bytes().any(|byte| byte.is_ascii_alphabetic());
    sound.then_some(extension)
}

fn last_component(text: &str) -> &str {
    text.rsplit(['/', '\\']).next().unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_a_name_through_its_decoration() {
        for line in [
            "src/a.rs",
            "src/a.rs:",
            "### src/a.rs",
            "#### `src/a.rs`:",
            "**src/a.rs**",
            "**`src/a.rs`**:",
            "**`src/a.rs`:**",
            "**File: src/a.rs**",
            "**File:** `src/a.rs`",
            "File: src/a.rs",
            "file path: `src/a.rs`",
            "File `src/a.rs`:",
            "# src/a.rs",
            "// src/a.rs",
            "/* src/a.rs */",
            "<!-- src/a.rs -->",
            "- src/a.rs",
            "1. `src/a.rs`",
            "### 2. `src/a.rs` (new file)",
            "src/a.rs (modified)",
        ] {
            assert_eq!(alone(line), Some("src/a.rs"), "{line}");
        }
        assert_eq!(alone("`my file.txt`"), Some("my file.txt"));
        assert_eq!(alone("__init__.py"), Some("__init__.py"));
        assert_eq!(alone("Makefile"), Some("Makefile"));
        assert_eq!(alone(".gitignore"), Some(".gitignore"));
        assert_eq!(alone("app/[id]/page.tsx"), Some("app/[id]/page.tsx"));
        assert_eq!(alone("../x.py"), Some("../x.py"));
        assert_eq!(alone("app/routes/$id.tsx"), Some("app/routes/$id.tsx"));
        assert_eq!(alone("$(pwd)/a.py"), None);
    }

    #[test]
    fn prose_is_not_a_name() {
        for line in [
            "",
            "Here is main.py",
            "Done.",
            "Output",
            "https://example.com/a.py",
            "cargo run --bin x.rs",
            "```",
            "...",
            "x = a/b",
            "src/main.rs:5",
            "src/main.rs:5-7",
            "src/main.rs#L5",
            "src/main.rs (lines 5-7):",
            "src/main.rs (L12)",
            "src/main.rs (excerpt)",
            ".python",
        ] {
            assert_eq!(alone(line), None, "{line}");
        }
        assert_eq!(word("file1"), Some("file1"));
        assert_eq!(word("two words"), None);
    }

    #[test]
    fn a_word_over_a_block_is_a_file_only_if_it_looks_like_one() {
        for (line, is_name) in [
            ("app.py", true),
            ("App.js", true),
            ("node.js", true),
            ("**Main.java**", true),
            ("### Makefile", true),
            (".gitignore", true),
            ("bin/tool", true),
            (".github/CODEOWNERS", true),
            ("./run", true),
            ("`client/server`", true),
            ("File: client/server", true),
            ("data/blob.xyz", true),
            ("Node.js", false),
            ("### Node.js:", false),
            ("`Vue.js`", false),
            ("Deno/Node.js", false),
            ("and/or", false),
            ("10/10", false),
            ("`10/10`", false),
            ("CI/CD", false),
            ("### CI/CD", false),
            ("client/server", false),
            ("**client/server**:", false),
            ("yes/no/maybe", false),
            ("Debian/Ubuntu", false),
            ("RegExp.prototype.test", false),
        ] {
            let found = alone(line).is_some_and(|name| names_file(line, name));
            assert_eq!(found, is_name, "{line}");
        }
    }

    #[test]
    fn a_sentence_names_one_file_in_backticks() {
        assert_eq!(in_sentence("Now change `src/a.rs`:"), Some("src/a.rs"));
        assert_eq!(in_sentence("### 1. Update `a.py`"), Some("a.py"));
        assert_eq!(in_sentence("Mock `subprocess.run`:"), None);
        assert_eq!(in_sentence("Change `a.py` and `b.py`:"), None);
        assert_eq!(in_sentence("This is in `a.py`."), None);
    }

    #[test]
    fn the_fence_line_may_name_the_file() {
        for info in [
            "python src/a.py",
            "src/a.py",
            "python path=src/a.py",
            "py title=\"src/a.py\"",
            "python:src/a.py",
            "{.python filename=\"src/a.py\"}",
            "{.python .numberLines file='src/a.py'}",
            "python {file=src/a.py}",
            "python {title=\"src/a.py\"}",
        ] {
            assert_eq!(in_info(info), Some("src/a.py"), "{info}");
        }
        assert_eq!(in_info("4:7:src/a.py"), Some("src/a.py"));
        assert_eq!(in_info("python"), None);
        assert_eq!(in_info("c++ linenos=1.5"), None);
        assert_eq!(in_info("{.python}"), None);
        assert_eq!(in_info("python file=x"), Some("x"));
        assert_eq!(in_info("python title=\"How to use a.py\""), None);
    }
}
