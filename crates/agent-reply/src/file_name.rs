//! File names as chats write them above and beside code.
//!
//! Everything here gives the text of a name; whether it is a path in the workspace is decided by
//! `RelPath`, and a name that is refused there is news for the model rather than prose.

use std::sync::LazyLock;

use memchr::memmem::Finder;

use crate::known_name;
use crate::line::{COLONS, ends_with_colon, has_word, is_number, is_symbol};
use crate::link;
use crate::trim::trim;

/// Files that are known without an extension.
const WELL_KNOWN: &str = "\
    Makefile makefile GNUmakefile Dockerfile Containerfile Justfile justfile Rakefile Gemfile \
    Procfile Vagrantfile Jenkinsfile Brewfile Caddyfile Tiltfile Pipfile Podfile Earthfile Fastfile \
    Appfile Guardfile Berksfile Capfile Dangerfile Puppetfile Steepfile CNAME LICENSE-MIT LICENSE-APACHE BUILD WORKSPACE LICENSE README AUTHORS \
    COPYING CHANGELOG CODEOWNERS Kconfig Kbuild PKGBUILD crontab gradlew go.mod go.sum .env .gitignore .gitattributes .gitmodules .ignore \
    .dockerignore .npmignore .eslintignore .prettierignore .editorconfig .npmrc .nvmrc .eslintrc \
    .prettierrc .babelrc .bashrc .zshrc .vimrc .pylintrc .flake8 .htaccess .clang-format \
    .python-version .node-version .tool-versions";

/// Extensions that make a word in prose a file: `console.log` is code, `console.ts` is a file.
const EXTENSIONS: &str = "\
    adoc asm astro awk bash bat bazel bib bicep bzl c cabal cc cfg cjs clj cljs cmake cmd conf \
    cpp cs csproj css csv cts cu cue cxx d dart diff dts dtsi eex ejs el elm env erb erl ex exs \
    f90 fish fs fsx gd gemspec gleam glsl go gql gradle graphql groovy h haml hbs hcl heex hh \
    hpp hs htm html hxx ini ipynb j2 java jinja jinja2 jl js json json5 jsonc jsonl jsp jsx kt \
    kts less liquid lisp lock lua m markdown md mdx mjs mk ml mli mm mts mustache ndjson nim nix \
    njk odin org pas patch php phtml pl plist pm po podspec prisma properties proto ps1 psd1 \
    psm1 pug py pyi pyx qml r rake rb rego resx rkt rs rst s sass sbt scala scm scss sh sln sol \
    sql styl sv svelte svg swift tcl tex tf tfvars thrift tmpl toml tpl ts tscn tsv tsx twig txt \
    v vb vbs vhd vim vue wat wgsl wsdl xaml xml xsd xsl xslt yaml yml zig zsh";

/// Products that are written as if they were files; `node.js` in small letters is one.
const PRODUCTS: &str = "\
    Alpine.js Angular.js Backbone.js D3.js Discord.js Ember.js Express.js Nest.js \
    Next.js Node.js Nuxt.js React.js Three.js Vue.js";

/// Directories below which a name without an extension is a file: `bin/tool`, not `client/server`.
const DIRECTORIES: &str = "\
    app bin cmd config docs etc hooks include internal lib pkg scripts src test tests tools";

/// Words for a file in a label before its name: `Datei: a.py`.
const FILE_NOUNS: &str = "\
    file filename filepath path datei dateiname dateipfad pfad fichier chemin archivo ruta arquivo \
    ficheiro caminho percorso bestand plik soubor dosya файл путь";

/// Such words in scripts that put no space around them.
const UNSPACED_FILE_NOUNS: &str = "文件 檔案 档案 路径 路徑 ファイル パス 파일 경로";

/// Words beside them that say that the whole of the file follows.
const FILE_ADJECTIVES: &str = "\
    a aktualisierte changed complete completo corrected created das die entire final fixed full \
    geänderte le la modified modifié name neue new nouveau novo nuevo revised rewritten the \
    updated vollständige whole your";

/// Parts of all names that are known without a dot and without two capitals. Most end with the first.
static NAME_PARTS: LazyLock<[Finder<'_>; 5]> =
    LazyLock::new(|| ["file", "Kconfig", "Kbuild", "crontab", "gradlew"].map(Finder::new));

/// The longest line that can be a name; the limit of Linux for a path, and room for decoration.
const MAX_BYTES: usize = 4200;

/// The file that a line names and does nothing else: `### src/main.rs`, `**File: a.py**`.
///
/// It must be unmistakable: a slash, an extension or a well-known name.
pub(super) fn alone(line: &str) -> Option<&str> {
    let name = may_stand_in(line).then(|| word(line))??;
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
    let is_word = !text.contains(char::is_whitespace)
        || (quoted && is_unmistakable(text) && !is_command_line(text));
    (is_word && is_possible(text)).then_some(text)
}

/// Returns true if several words are rather a command with its arguments than a name with blanks: `cat
/// src/a.py`, `bin/tool --help`. What it prints stands below it.
fn is_command_line(text: &str) -> bool {
    const PROGRAMS: &str = "awk bash bun cargo cat cd chmod cmake curl deno docker dotnet eslint gcc git \
        gradle grep java jq mkdir mypy node npm npx perl php pip pnpm poetry pytest python python3 rails \
        rake ruby rustc sed sh sudo tsc uv wget yarn";
    let mut words = text.split_whitespace();
    let first = words.next().unwrap_or_default();
    has_word(PROGRAMS, first)
        || first.starts_with("./")
        || known_name::is_known(first)
        || words.any(|word| known_name::is_known(word) || (word.starts_with('-') && word.len() > 1))
}

/// The only file that a sentence leading to code names in backticks: ``Now change `a.py`:``.
///
/// The sentence must be a heading, be bold or end with a colon, so that it belongs to what follows.
pub(super) fn in_sentence(line: &str) -> Option<&str> {
    let text = trim(line);
    let leads = ends_with_colon(text)
        || text.starts_with('#')
        || (text.starts_with("**") && text.ends_with("**"));
    if !leads || text.len() > MAX_BYTES {
        return None;
    }
    let mut names = text
        .split('`')
        .skip(1)
        .step_by(2)
        .filter(|span| is_file(span) || known_name::is_known(span));
    let name = names.next()?;
    names.all(|other| other == name).then_some(name)
}

/// The only text in backticks of a line, if it could be a name: a sentence calls it one.
pub(super) fn in_backticks(line: &str) -> Option<&str> {
    if line.len() > MAX_BYTES {
        return None;
    }
    let mut spans = line.split('`').skip(1).step_by(2);
    let name = spans.next()?;
    let is_name = spans.all(|other| other == name) && !name.contains(char::is_whitespace);
    (is_name && is_possible(name)).then_some(name)
}

/// The files that a line of words names: in backticks, with a directory, with an extension that is not
/// part of a product's name, as in `Node.js`, or as `Makefile` and `.gitignore` do.
pub(super) fn in_words(line: &str) -> Vec<&str> {
    const EDGES: &str = "*\"'`()[]{}<>,;:!|=：（），、。";
    if line.len() > MAX_BYTES || !may_name_file(line) {
        return Vec::new();
    }
    let is_edge = |c: char| !c.is_ascii_alphanumeric() && (c.is_whitespace() || EDGES.contains(c));
    let has_capital = |word: &str| {
        let mut letters = word.chars();
        letters.next().is_some_and(char::is_uppercase) && letters.any(char::is_lowercase)
    };
    let mut names = Vec::new();
    for (part, text) in line.split('`').enumerate() {
        let is_code = part % 2 == 1;
        for word in text.split(is_edge) {
            let word = word.trim_end_matches('.');
            // Outside of code a name needs an extension or is a word of its own, as no other word is;
            // most words have neither a dot nor this ending.
            let is_own = || {
                (word.starts_with('.') || (word.ends_with("file") && has_capital(word)))
                    && has_word(WELL_KNOWN, word)
            };
            if !is_code && memchr::memchr(b'.', word.as_bytes()).is_none() && !is_own() {
                continue;
            }
            let word = between(word, "__", "__").unwrap_or(word);
            let is_path = is_code
                || word.contains('/')
                || is_own()
                || !has_capital(word.split('.').next().unwrap_or(word));
            let has_extension = extension(word).is_some() || is_own();
            if is_file(word) && is_path && (is_code || has_extension) && !names.contains(&word) {
                names.push(word);
            }
        }
    }
    names
}

/// Returns false for most lines of words, which have no code, no dot within a word and no `Makefile`.
fn may_name_file(line: &str) -> bool {
    let bytes = line.as_bytes();
    memchr::memchr(b'`', bytes).is_some()
        || has_dot_within(bytes)
        || NAME_PARTS[0].find(bytes).is_some()
}

/// Returns true if a dot stands there that is not the end of a word.
fn has_dot_within(line: &[u8]) -> bool {
    let is_within =
        |dot: usize| (line.get(dot + 1)).is_some_and(|next| !next.is_ascii_whitespace());
    memchr::memchr_iter(b'.', line).any(is_within)
}

/// Returns false for most lines over code: without a dot and a slash, and without the letters of names
/// that are known without an extension, no file is named.
pub(super) fn may_stand_in(line: &str) -> bool {
    let bytes = line.as_bytes();
    let are_capitals = |pair: &[u8]| pair.iter().all(u8::is_ascii_uppercase);
    memchr::memchr2(b'/', b'\\', bytes).is_some()
        || has_dot_within(bytes)
        || bytes.windows(2).any(are_capitals)
        || NAME_PARTS.iter().any(|part| part.find(bytes).is_some())
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
    (is_number(first) && is_number(last)).then_some(name.trim())
}

/// The file that the words after a fence name: `python src/a.py`, `src/a.py`, `js title="a.js"`.
pub(super) fn in_info(info: &str) -> Option<&str> {
    let is_language = info.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if is_language || info.len() > MAX_BYTES {
        return None;
    }
    let info = cited(info).unwrap_or(info);
    // `python:src/a.py`, with a title between the two if it comes from Gemini's canvas.
    if let Some((language, rest)) = info.split_once(':')
        && let Some(name) = rest.rsplit(':').next().map(str::trim)
        && !language.contains(char::is_whitespace)
        && is_unmistakable(name)
    {
        return Some(name);
    }
    let first = info.split(char::is_whitespace).next();
    let mut quote = None;
    let words = info.split(move |c: char| {
        if quote.is_none() && matches!(c, '"' | '\'') {
            quote = Some(c);
        } else if quote == Some(c) {
            quote = None;
        }
        quote.is_none() && c.is_whitespace()
    });
    words.enumerate().find_map(|(at, word)| {
        let word = word.trim_matches(['{', '}']);
        let (key, value) = word.split_once('=').unwrap_or(("", word));
        let value = value.trim_matches(['"', '\'', '`']);
        let is_name = match key {
            // `{.python}` is a class of the block.
            "" if word.starts_with('.') && info.starts_with('{') => false,
            // `makefile` and `Dockerfile` are languages.
            "" if first == Some(value) && has_word(WELL_KNOWN, value) => value.contains('.'),
            "path" | "file" | "filename" | "filepath" => is_possible(value),
            // `text/plain` is a language too; behind a language, nothing else has a dot or a slash.
            "" => {
                let is_behind_language =
                    || at == 1 && value.contains(['.', '/']) && !is_product(value);
                is_unmistakable(value)
                    && (names_file(info, value)
                        || is_behind_language()
                        || known_name::is_known(value))
            }
            "title" | "name" => is_unmistakable(value),
            _ => false,
        };
        (is_name && !value.contains(char::is_whitespace)).then_some(value)
    })
}

/// The file whose language a fence names: `Makefile` for `makefile`.
pub(super) fn of_language(language: &str) -> Option<&'static str> {
    if language.is_empty() {
        return None;
    }
    let mut known = WELL_KNOWN.split(' ');
    known.find(|name| name.eq_ignore_ascii_case(language))
}

/// Takes one layer of decoration off; also tells whether it was the quotes of a name.
fn undecorate(text: &str) -> (&str, bool) {
    if let Some(rest) = text.strip_suffix(COLONS) {
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
    if let Some((name, remark)) = text
        .strip_suffix(')')
        .and_then(|rest| rest.rsplit_once(" ("))
        && !names_lines(remark)
    {
        return (name.trim_end(), false);
    }
    for mark in ["**", "#", "> ", "- ", "* ", "+ ", "// ", "-- ", "; ", "% "] {
        if let Some(rest) = text.strip_prefix(mark) {
            return (rest.trim_start(), false);
        }
    }
    if let Some(rest) = without_label(text).or_else(|| without_number(text)) {
        return (rest, false);
    }
    (without_symbol(text).unwrap_or(text), false)
}

/// The text behind a sign that a model puts before a name: `📄 a.py`, `✅ a.py`.
fn without_symbol(text: &str) -> Option<&str> {
    // Signs that cross out, and those of a drawn tree.
    const OTHERS: &str = "\u{274c}\u{1f6ab}\u{26d4}\u{2717}\u{2718}\u{2716}\u{2026}";
    let rest = text.trim_start_matches(is_symbol);
    let sign = &text[..text.len() - rest.len()];
    let is_other = |c: char| OTHERS.contains(c) || matches!(c, '\u{2500}'..='\u{257f}');
    (!sign.is_empty() && !sign.contains(is_other)).then(|| rest.trim_start())
}

/// Returns true if a remark behind a name says that only some lines of the file follow: `lines
/// 5-7`, `L12`, `excerpt`.
fn names_lines(remark: &str) -> bool {
    const WORDS: &str = "line lines excerpt snippet part partial around example";
    let mut words = remark.split(|c: char| !c.is_ascii_alphanumeric());
    words.any(|word| {
        let word = word.to_ascii_lowercase();
        is_number(word.strip_prefix('l').unwrap_or(&word)) || has_word(WORDS, &word)
    })
}

/// A path without the marks that a model or a page put around it.
pub(super) fn without_marks(path: &str) -> &str {
    let mut marks = [
        ("`", "`"),
        ("**", "**"),
        ("<", ">"),
        ("\u{201c}", "\u{201d}"),
    ]
    .iter();
    let inner = marks.find_map(|(before, after)| between(path, before, after));
    inner.unwrap_or(path)
}

fn between<'a>(text: &'a str, before: &str, after: &str) -> Option<&'a str> {
    let inner = text.strip_prefix(before)?.strip_suffix(after)?;
    let single = !inner.contains(before) && !inner.contains(after);
    (single && !inner.is_empty()).then_some(inner.trim())
}

/// The name behind a label: `File: a.py`, ``File `a.py` ``, `**Updated file:** a.py`.
fn without_label(text: &str) -> Option<&str> {
    let is_mark = |c: char| matches!(c, '*' | '`' | ' ');
    let colon = if text.is_ascii() {
        memchr::memchr(b':', text.as_bytes())
    } else {
        text.find(COLONS)
    };
    let (label, rest) = match colon {
        Some(colon) => {
            let (label, rest) = text.split_at(colon);
            let rest = rest.trim_start_matches(COLONS);
            (label, rest.trim_start_matches('*'))
        }
        None => text.split_at(memchr::memmem::find(text.as_bytes(), b" `")?),
    };
    let rest = rest.trim();
    (!rest.is_empty() && is_label(label.trim_matches(is_mark))).then_some(rest)
}

/// Returns true if some words say nothing but that a file follows.
fn is_label(words: &str) -> bool {
    const LONGEST_UNSPACED: usize = 8;
    const MOST_WORDS: usize = 4;
    let mut nouns = UNSPACED_FILE_NOUNS.split(' ');
    if !words.is_ascii() && nouns.any(|noun| words.contains(noun)) {
        return words.chars().count() <= LONGEST_UNSPACED;
    }
    if words.split_whitespace().nth(MOST_WORDS).is_some() {
        return false;
    }
    let words = words.to_lowercase();
    let words = || words.split_whitespace();
    let is_noun = |word: &str| has_word(FILE_NOUNS, word);
    words().any(is_noun) && words().all(|word| is_noun(word) || has_word(FILE_ADJECTIVES, word))
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
        && !text.contains(COLONS[1])
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
        before.contains(['`', COLONS[0], COLONS[1]])
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
    text.contains(char::is_uppercase)
        && has_word(PRODUCTS, last_component(text))
        && directories.all(|it| it.starts_with(char::is_uppercase))
}

/// Returns true if the text is a file even inside a sentence, where `os.path` and `and/or` may
/// stand too.
pub(super) fn is_file(text: &str) -> bool {
    let has_known_extension = || {
        let lower = extension(text).map(str::to_ascii_lowercase);
        lower.is_some_and(|extension| has_word(EXTENSIONS, &extension))
    };
    !text.starts_with('/')
        && !text.contains(char::is_whitespace)
        && (has_known_extension() || has_word(WELL_KNOWN, last_component(text)))
        && is_possible(text)
        && !is_product(text)
}

/// The extension of the last component, without its dot.
pub(super) fn extension(text: &str) -> Option<&str> {
    memchr::memchr(b'.', text.as_bytes())?;
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
            "src/a.rs：",
            "**src/a.rs**：",
            "文件：src/a.rs",
            "文件路径：`src/a.rs`",
            "ファイル：src/a.rs",
            "파일: src/a.rs",
            "Datei: src/a.rs",
            "Fichier : `src/a.rs`",
            "Updated file: src/a.rs",
            "**New file:** `src/a.rs`",
            "\u{1f4c4} **src/a.rs**",
            "### \u{2705} `src/a.rs`",
            "**`src/a.rs`** (updated):",
            "**src/a.rs** (fix)",
        ] {
            assert_eq!(alone(line), Some("src/a.rs"), "{line}");
        }
        assert_eq!(alone("`my file.txt`"), Some("my file.txt"));
        assert_eq!(
            alone("`My Notes/file - 2.txt`"),
            Some("My Notes/file - 2.txt")
        );
        for command in [
            "cat src/a.py",
            "bin/tool --help",
            "python3 src/a.py -v",
            "./run a.txt",
        ] {
            assert_eq!(alone(&format!("`{command}`")), None);
        }
        assert_eq!(alone("__init__.py"), Some("__init__.py"));
        assert_eq!(alone("Makefile"), Some("Makefile"));
        assert_eq!(alone(".gitignore"), Some(".gitignore"));
        assert_eq!(alone("app/[id]/page.tsx"), Some("app/[id]/page.tsx"));
        assert_eq!(alone("../x.py"), Some("../x.py"));
        assert_eq!(alone("app/routes/$id.tsx"), Some("app/routes/$id.tsx"));
        assert_eq!(alone("$(pwd)/a.py"), None);
    }

    #[test]
    fn a_line_over_code_that_names_a_file_has_its_signs() {
        assert!(WELL_KNOWN.split(' ').all(may_stand_in));
        assert!(
            ["a.py", "bin/tool", "bin\\tool"]
                .into_iter()
                .all(may_stand_in)
        );
        assert!(!may_stand_in("It counts what is open, see `count`:"));
    }

    #[test]
    fn marks_around_a_path_are_not_of_it() {
        for path in [
            "`a.py`",
            "**a.py**",
            "<a.py>",
            "\u{201c}a.py\u{201d}",
            "a.py",
        ] {
            assert_eq!(without_marks(path), "a.py");
        }
        assert_eq!(without_marks("a`b`.py"), "a`b`.py");
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
            "Error: src/a.rs",
            "Example file: src/a.rs",
            "See the file: src/a.rs",
            "\u{274c} src/a.rs",
            "\u{2514}\u{2500}\u{2500} src/a.rs",
            "**src/a.rs** (excerpt):",
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
        assert_eq!(in_info("python:A greeting:src/new.py"), Some("src/new.py"));
        for language in ["python", "makefile", "Makefile", "Dockerfile", "Justfile"]
            .into_iter()
            .chain(["text/plain", "html/css", r"tool\_code"])
        {
            assert_eq!(in_info(language), None, "{language}");
        }
        assert_eq!(in_info("make Makefile"), Some("Makefile"));
        for name in [
            "x.gemspec",
            "x.podspec",
            "x.slim",
            "x.njk",
            "x.po",
            "x.in",
            "a/x",
        ] {
            assert_eq!(in_info(&format!("ruby {name}")), Some(name), "{name}");
        }
        for info in [
            "python 3.11",
            "js Node.js",
            "java {1,3-4}",
            "text a=b.c",
            "vb.net",
        ] {
            assert_eq!(in_info(info), None, "{info}");
        }
        assert_eq!(in_info(".gitignore"), Some(".gitignore"));
        assert_eq!(in_info("c++ linenos=1.5"), None);
        assert_eq!(in_info("{.python}"), None);
        assert_eq!(in_info("python file=x"), Some("x"));
        assert_eq!(in_info("python title=\"How to use a.py\""), None);
    }
}
