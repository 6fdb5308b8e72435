//! From a source text to its symbols.
//!
//! The tree is walked without recursion, and only into what can hold symbols: a function's inside is
//! never looked at, so that the walk is short however long the text.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::ControlFlow;
use std::time::Instant;

use tree_sitter::{Node, ParseOptions, Parser, Tree};

use super::language::{Language, Role};

/// The most characters of a signature that are shown.
const MAX_SIGNATURE: usize = 120;
/// Deeper members are not looked for.
const MAX_DEPTH: usize = 8;

/// A function, a type, or whatever has a name in a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Symbol {
    /// How many symbols it lies in.
    pub(super) depth: usize,
    first_line: usize,
    last_line: usize,
    /// Where its signature begins, perhaps below an attribute.
    signature_line: usize,
    signature: String,
}

impl Symbol {
    /// True if one of these lines is in it.
    pub(super) fn is_around_any_of(&self, lines: &BTreeSet<usize>) -> bool {
        let own = self.first_line..=self.last_line;
        lines.range(own).next().is_some()
    }

    /// True if its signature begins at one of these lines.
    pub(super) fn begins_at_any_of(&self, lines: &BTreeSet<usize>) -> bool {
        lines.contains(&self.signature_line)
    }

    /// Its first and its last line.
    pub(super) fn lines(&self) -> (usize, usize) {
        (self.first_line, self.last_line)
    }
}

impl fmt::Display for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let indent = "  ".repeat(self.depth);
        let Self {
            first_line,
            last_line,
            signature,
            ..
        } = self;
        if first_line == last_line {
            write!(f, "{indent}{first_line}: {signature}")
        } else {
            write!(f, "{indent}{first_line}-{last_line}: {signature}")
        }
    }
}

/// The symbols of a text, in its order.
#[derive(Debug)]
pub(super) struct FoundSymbols {
    pub(super) symbols: Vec<Symbol>,
    pub(super) has_errors: bool,
}

/// Why a text has no outline.
#[derive(Debug)]
pub(in crate::execute) enum OutlineTrouble {
    TooSlow,
    NoParser,
}

/// Finds the symbols of a text, if it can be parsed before `end`.
pub(super) fn symbols(
    language: &Language,
    text: &str,
    end: Instant,
) -> Result<FoundSymbols, OutlineTrouble> {
    let tree = parse(language, text, end)?;
    let mut symbols = Vec::new();
    let mut cursor = tree.walk();
    let mut depth = 0;
    // For each level of the tree that was gone into, whether it made members of what it holds.
    let mut open: Vec<bool> = Vec::new();
    loop {
        let node = cursor.node();
        let role = language.role(node.kind());
        if matches!(role, Role::Symbol | Role::Parent) {
            symbols.extend(symbol(node, text, depth));
        }
        let is_entered = match role {
            Role::Parent => depth < MAX_DEPTH,
            Role::Holder => true,
            Role::Symbol | Role::Nothing => false,
        };
        if is_entered && cursor.goto_first_child() {
            open.push(role == Role::Parent);
            depth += usize::from(role == Role::Parent);
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                let has_errors = tree.root_node().has_error();
                return Ok(FoundSymbols {
                    symbols,
                    has_errors,
                });
            }
            depth -= usize::from(open.pop() == Some(true));
        }
    }
}

/// Parses a text, if that is done before `end`.
pub(in crate::execute) fn parse(
    language: &Language,
    text: &str,
    end: Instant,
) -> Result<Tree, OutlineTrouble> {
    let mut parser = Parser::new();
    parser
        .set_language(&language.grammar())
        .map_err(|_| OutlineTrouble::NoParser)?;
    let mut is_late = |_: &tree_sitter::ParseState| {
        if Instant::now() > end {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    let options = ParseOptions::new().progress_callback(&mut is_late);
    let bytes = text.as_bytes();
    let mut read = |at: usize, _| bytes.get(at..).unwrap_or_default();
    parser
        .parse_with_options(&mut read, None, Some(options))
        .ok_or(OutlineTrouble::TooSlow)
}

/// A node as a symbol; nothing if it is one of those that only look like it.
fn symbol(node: Node<'_>, text: &str, depth: usize) -> Option<Symbol> {
    let end = match node.kind() {
        // A variable is worth a line if it is a function or can be imported.
        "lexical_declaration" | "variable_declaration" => end_of_variable(node)?,
        "declaration" if !declares_function(node) => return None,
        // Without a body it only names a type that stands elsewhere.
        "struct_specifier" | "union_specifier" | "enum_specifier" => {
            node.child_by_field_name("body")?.start_byte()
        }
        _ => end_of_signature(node),
    };
    let start = start_of_signature(node);
    let signature = one_line(text.get(start..end.max(start))?);
    // At the end of a file the node may reach to the line after its last one.
    let last = node.end_position();
    let last_line = if last.column == 0 {
        last.row
    } else {
        last.row + 1
    };
    let first_line = node.start_position().row + 1;
    let before = text.get(node.start_byte()..start).unwrap_or_default();
    let signature_line = first_line + before.matches('\n').count();
    (!signature.is_empty()).then_some(Symbol {
        depth,
        first_line,
        signature_line,
        last_line: last_line.max(first_line),
        signature,
    })
}

/// Behind annotations, which may fill lines of their own; with the word `export`.
fn start_of_signature(node: Node<'_>) -> usize {
    let parent = node.parent();
    if let Some(export) = parent.filter(|parent| parent.kind() == "export_statement") {
        let mut cursor = export.walk();
        let mut words = export.children(&mut cursor);
        let word = words.find(|child| child.kind() == "export");
        return word.map_or(node.start_byte(), |word| word.start_byte());
    }
    let modifiers = node.child(0).filter(|first| first.kind() == "modifiers");
    let Some(modifiers) = modifiers else {
        return node.start_byte();
    };
    let mut cursor = modifiers.walk();
    let mut words = modifiers
        .children(&mut cursor)
        .filter(|child| !child.kind().ends_with("annotation"));
    words
        .next()
        .map_or(modifiers.end_byte(), |word| word.start_byte())
}

/// Before the body or the value.
fn end_of_signature(node: Node<'_>) -> usize {
    let fields = ["body", "value"];
    let inside = fields
        .iter()
        .find_map(|field| node.child_by_field_name(field));
    if let Some(inside) = inside {
        return inside.start_byte();
    }
    node.end_byte()
}

/// The end of what is shown of a variable, if anything is.
fn end_of_variable(node: Node<'_>) -> Option<usize> {
    let is_exported = node
        .parent()
        .is_some_and(|parent| parent.kind() == "export_statement");
    let is_inside = node
        .parent()
        .is_some_and(|parent| parent.kind() == "statement_block");
    let declarator = node.named_child(0)?;
    let value = declarator.child_by_field_name("value");
    let function = value.filter(|value| {
        matches!(
            value.kind(),
            "arrow_function" | "function_expression" | "generator_function" | "class"
        )
    });
    match (function, value) {
        (Some(function), _) => Some(end_of_signature(function)),
        (None, Some(value)) if is_exported && !is_inside => Some(value.start_byte()),
        _ => None,
    }
}

/// Returns true if a declaration in C declares a function, or a pointer to one.
fn declares_function(node: Node<'_>) -> bool {
    const MAX_LAYERS: usize = 8;
    let mut declarator = node.child_by_field_name("declarator");
    for _ in 0..MAX_LAYERS {
        match declarator {
            Some(inner) if inner.kind() == "function_declarator" => return true,
            Some(inner) => declarator = inner.child_by_field_name("declarator"),
            None => return false,
        }
    }
    false
}

/// A signature on one line, without what opens its body.
fn one_line(text: &str) -> String {
    let mut line = String::new();
    let mut length = 0;
    for word in text.split_whitespace() {
        length += word.chars().count() + usize::from(!line.is_empty());
        if length > MAX_SIGNATURE {
            let room = MAX_SIGNATURE.saturating_sub(line.chars().count() + 1);
            if line.is_empty() {
                line.extend(word.chars().take(room));
            }
            line.push_str(" ...");
            return line;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    let end = line
        .trim_end_matches(['{', ':', ';', '=', ' '])
        .trim_end_matches("=>")
        .trim_end()
        .len();
    line.truncate(end);
    line
}
