//! Where the block ends that a line opens.
//!
//! By indentation, as in all languages that people indent. Lines at the margin that are a part of
//! the block nevertheless are known by how they begin.

use super::super::document::{Document, LineNumber};
use super::super::fold;
use super::BlockReach;

/// First words of lines that go on with what the lines above began.
const GOING_ON: [&str; 15] = [
    "where", "else", "elif", "elsif", "elseif", "except", "finally", "catch", "rescue", "ensure",
    "then", "do", "begin", "case", "default",
];

/// Words that begin a definition, after any of the words before it.
const DEFINITIONS: [&str; 16] = [
    "def",
    "class",
    "fn",
    "func",
    "fun",
    "function",
    "impl",
    "struct",
    "enum",
    "trait",
    "mod",
    "module",
    "interface",
    "namespace",
    "sub",
    "type",
];

/// Words that may stand before it.
const MODIFIERS: [&str; 20] = [
    "pub",
    "crate",
    "super",
    "async",
    "export",
    "default",
    "static",
    "public",
    "private",
    "protected",
    "internal",
    "abstract",
    "final",
    "sealed",
    "override",
    "virtual",
    "inline",
    "unsafe",
    "extern",
    "const",
];

/// The line after the block that a line opens.
pub(super) fn end(document: &Document<'_>, opening: LineNumber, reach: BlockReach) -> LineNumber {
    let first = document.text(opening);
    let depth = fold::indentation(first).len();
    let first = first.trim();
    let by_definition = reach == BlockReach::Wide && is_definition(first);
    (opening + 1..=document.len())
        .find(|&id| {
            let line = document.text(id);
            let body = line.trim_start();
            let is_outside = !body.is_empty() && line.len() - body.len() <= depth;
            is_outside
                && if by_definition {
                    is_definition(body)
                } else {
                    !goes_on(first, body.trim_end())
                }
        })
        .unwrap_or(document.len() + 1)
}

/// Tells whether a line that is indented no deeper than the first one of a block is a part of it still:
/// a bracket, a directive of the preprocessor, a label or the next branch.
fn goes_on(first: &str, line: &str) -> bool {
    if line.starts_with(['}', ')', ']', '{']) {
        return true;
    }
    if line.starts_with('#') {
        return !first.starts_with('#');
    }
    let word = first_word(line);
    if word.is_empty() || word == first_word(first) {
        return false;
    }
    // In languages where a colon opens a block, a word with one is a block of its own.
    let is_label = !first.ends_with(':') && line.strip_prefix(word) == Some(":");
    is_label || GOING_ON.contains(&word)
}

fn is_definition(line: &str) -> bool {
    let mut words = (line.split(|c: char| !is_of_word(c))).filter(|word| !word.is_empty());
    let starts_with_word = line.starts_with(is_of_word);
    let word = words.find(|word| !MODIFIERS.contains(word));
    starts_with_word && word.is_some_and(|word| DEFINITIONS.contains(&word))
}

fn first_word(line: &str) -> &str {
    let end = line.find(|c: char| !is_of_word(c));
    &line[..end.unwrap_or(line.len())]
}

fn is_of_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn case(text: &str, block: LineNumber, wide: LineNumber) {
        let document = Document::new(text);
        let ends = [BlockReach::Block, BlockReach::Wide].map(|reach| end(&document, 1, reach));
        assert_eq!(ends, [block, wide]);
    }

    #[test]
    fn a_block_goes_on_at_the_margin() {
        case(
            "fn f<T>(t: T)\nwhere\n    T: X,\n{\n    go();\n}\n\nfn g() {\n",
            8,
            8,
        );
        case(
            "int f()\n{\n#ifdef X\n  a();\n#endif\nout:\n  b();\n}\nint g()\n",
            9,
            9,
        );
        case("if x:\n    a()\nelse:\n    b()\nc()\n", 5, 5);
        case("try {\n  a()\n}\ncatch (e) {\n  b()\n}\nc()\n", 7, 7);
        case(
            "def f():\n    s = '''\nText\n'''\n    b()\n\ndef g():\n",
            3,
            7,
        );
        case("class A:\n    x = 1\nLIMIT = 2\n", 3, 4);
    }

    #[test]
    fn what_is_like_its_first_line_ends_a_block() {
        case("case 1:\n  a()\ncase 2:\n", 3, 3);
        case("jobs:\n  a: 1\nsteps:\n", 3, 3);
        case("# One\n  text\n# Two\n", 3, 3);
        case(
            "pub(crate) fn f() {\n    a();\n}\npub async fn g() {\n",
            4,
            4,
        );
        case("default:\n  a()\nclassy = 1\n", 3, 3);
    }
}
