//! Splits bash into commands with literal words, with the grammar of tree-sitter.
//!
//! Reading is bounded by counting, not by time: what the parser reads ahead, how many steps it
//! takes, and how deep the tree is. A script that goes beyond, that the grammar does not
//! understand, or that bash would split in another way than the grammar is incomplete.

use std::cell::Cell;
use std::iter::Peekable;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::str::Chars;

use tree_sitter::{Node, ParseOptions, ParseState, Parser, Point, Tree};

use super::Dialect;
use super::command::{is_in, program_name};
use super::reading::{ScriptReader, UNKNOWN, UNKNOWN_WORD, joined_after};

/// The parser gets a text in pieces of this size, so that what it reads ahead can be counted.
const PIECE: usize = 128;

/// The maximum number of pieces that are read. An ordinary script is read about twice; the parser
/// would read some hostile ones from each word to the end.
const MAX_PIECES: usize = 2048;

/// The maximum number of times that the parser reports its progress while it recovers from an error.
const MAX_REPORTS_OF_ERRORS: usize = 2;

/// Tokens for which one step of the parser can take time with the square of their number, and the
/// maximum number of each.
const COSTLY: [&str; 5] = ["|", "${", "$[", ";;", "<<"];
const MAX_COSTLY: usize = 800;

/// The maximum number of brackets that are open, or closed without having been opened, which each
/// pattern of a `case` does. The parser takes long to recover from more.
const MAX_OPEN: isize = 250;

/// The nodes that the shell replaces with text.
const EXPANSIONS: &str = "simple_expansion expansion arithmetic_expansion brace_expression \
    command_substitution process_substitution ERROR";

/// The nodes at whose end the shell is in the directory again in which it was before.
const SCOPES: &str =
    "subshell command_substitution process_substitution pipeline function_definition";

fn is_balanced(text: &str, [opens, closes]: [u8; 2]) -> bool {
    let mut open = 0;
    text.bytes().all(|byte| {
        open += isize::from(byte == opens) - isize::from(byte == closes);
        open.abs() <= MAX_OPEN
    })
}

/// Parses a script. It costs one report, and one more for every 100 steps of the parser.
fn parse(text: &str, reports: &mut usize) -> Option<Tree> {
    let mut parser = Parser::new();
    parser
        .set_language(&tree_sitter_bash::LANGUAGE.into())
        .ok()?;
    let is_costly = |token: &&str| text.matches(*token).nth(MAX_COSTLY).is_some();
    let is_plain = is_balanced(text, *b"()") && is_balanced(text, *b"{}");
    if !is_plain || COSTLY.iter().any(is_costly) {
        return None;
    }
    // The scanner of the grammar looks up characters in a table that has 256 of them and crashes with
    // others. To bash they are letters, so it gets letters, as many as there are bytes.
    let is_plain = |byte: &u8| matches!(byte, b'\t' | b'\n' | b'\r' | b' '..=b'~');
    let letters = |byte| if is_plain(&byte) { byte } else { b'x' };
    let mut bytes: Vec<u8> = text.bytes().map(letters).collect();
    // It has no `<>`, and gets `>>`, which stands in the same places. Words come from the text itself.
    for at in 1..bytes.len() {
        if bytes[at - 1..=at] == *b"<>" {
            bytes[at - 1] = b'>';
        }
    }
    *reports = reports.checked_sub(1)?;
    let (pieces, mut errors) = (Cell::new(0), 0);
    let mut read = |at: usize, _: Point| {
        pieces.set(pieces.get() + 1);
        let piece = at..bytes.len().min(at + PIECE);
        bytes.get(piece).unwrap_or_default()
    };
    let mut is_too_much = |state: &ParseState| {
        errors += usize::from(state.has_error());
        let is_left = *reports > 0 && pieces.get() <= MAX_PIECES && errors <= MAX_REPORTS_OF_ERRORS;
        *reports = reports.saturating_sub(1);
        if is_left {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    };
    let options = ParseOptions::new().progress_callback(&mut is_too_much);
    parser.parse_with_options(&mut read, None, Some(options))
}

/// Reads a script and starts its commands.
pub(super) fn read(text: &str, reader: &mut ScriptReader<'_>) {
    let Some(tree) = parse(text, &mut reader.reports) else {
        reader.require(false);
        return;
    };
    reader.require(!tree.root_node().has_error());
    let mut script = BashScript {
        text,
        reader,
        read_to: 0,
    };
    script.visit(tree.root_node());
}

struct BashScript<'a, 'b, 't> {
    text: &'t str,
    reader: &'a mut ScriptReader<'b>,
    /// The end of the last token.
    read_to: usize,
}

impl<'t> BashScript<'_, '_, 't> {
    fn source(&self, node: Node<'_>) -> &'t str {
        self.between(node.start_byte(), node.end_byte())
    }

    fn between(&self, start: usize, end: usize) -> &'t str {
        self.text.get(start..end).unwrap_or_default()
    }

    /// Starts the commands in a node. What a subshell or a pipe changes ends with it.
    fn visit(&mut self, node: Node<'_>) {
        if !self.reader.descend() {
            return;
        }
        let around = self.reader.context.clone();
        let begins = self.reader.invocations.len();
        let kind = node.kind();
        match kind {
            "redirected_statement" => self.redirected(node),
            "command" | "declaration_command" | "unset_command" => self.command(node),
            "command_substitution" => self.backticks(node),
            // What is written to `>(...)` is unknown.
            "process_substitution" if self.source(node).starts_with('>') => {
                self.reader.context.input = Some(UNKNOWN_WORD.into());
            }
            "file_redirect" => self.file_redirect(node),
            "heredoc_redirect" => self.here_document(node),
            // Its first part is no token.
            "heredoc_body" => self.read_to = node.end_byte(),
            _ if node.child_count() == 0 => self.token(node),
            _ => {}
        }
        let mut previous = None;
        for child in node.children(&mut node.walk()) {
            if kind == "pipeline" && child.is_named() {
                self.reader.context.clone_from(&around);
                if let Some(previous) = previous.replace(child) {
                    self.reader.context.input = Some(self.output(previous));
                }
            }
            self.visit(child);
        }
        match kind {
            // A redirected `cd` still changes the directory.
            "redirected_statement" | "command" | "declaration_command" | "unset_command" => {
                self.reader.context.input = around.input;
            }
            _ if is_in(SCOPES, kind) => {
                self.fork_bomb(node, begins);
                self.reader.context = around;
            }
            _ => {}
        }
        self.reader.ascend();
    }

    /// Checks that bash would read a token as the grammar does, which skips an escaped blank, takes
    /// some substitutions and line breaks for text, as in `${x:-`ls`}`, and finds the end of
    /// `$'...'` in its own way.
    fn token(&mut self, node: Node<'_>) {
        let source = self.source(node);
        let skipped = self.between(self.read_to, node.start_byte());
        self.read_to = self.read_to.max(node.end_byte());
        let is_plain = match node.kind() {
            "raw_string" | "heredoc_content" => true,
            // Its second quote without a backslash is its end.
            "ansi_c_string" => without_escapes(source).split('\'').skip(2).eq([""]),
            "comment" => {
                let before = self.between(0, node.start_byte());
                before.is_empty() || before.ends_with([' ', '\t', '\n', ';', '&', '|', '(', ')'])
            }
            // A blank may be in it, as in `${x:-a b}`.
            "word" => !breaks(source) && !substitutes(source),
            "regex" | "extglob_pattern" => {
                !source.contains(['\n', ';', '&']) && !substitutes(source)
            }
            "``" => false,
            _ => !node.is_named() || !substitutes(source),
        };
        // It drops the word `-` before a here-document, and ends a word at an escaped line break, where
        // bash goes on with it.
        let blanks = skipped.replace("\\\n", "").replace("\\\r\n", "");
        let is_parted = !blanks.is_empty() || skipped.is_empty();
        self.reader
            .require(is_plain && is_parted && matches!(blanks.trim(), "" | "-"));
    }

    /// Reads the script in backticks again without its escapes: backticks in it are escaped, and
    /// the grammar takes them for text.
    fn backticks(&mut self, node: Node<'_>) {
        let script = self.source(node);
        if script.starts_with('`') && script.contains("\\`") {
            let script = self.between(node.start_byte() + 1, node.end_byte() - 1);
            let script = script.replace("\\\\", "\\").replace("\\`", "`");
            self.reader
                .script(&script.replace("\\$", "$"), Dialect::Posix);
        }
    }

    /// A function that starts itself twice at once is recorded as a program named `&`.
    fn fork_bomb(&mut self, node: Node<'_>, begins: usize) {
        let Some(name) = node.child_by_field_name("name") else {
            return;
        };
        let called = program_name(self.source(name));
        let calls = self.reader.invocations[begins..].iter();
        let is_repeated = calls.filter(|call| call.name == called).nth(1).is_some();
        if is_repeated && self.source(node).contains(['|', '&']) {
            self.reader.record("&", &[called]);
        }
    }

    /// Sets the input of a statement. A here-document and the words behind a redirection belong to
    /// the last command before them, although the grammar says of all of it.
    fn redirected(&mut self, node: Node<'_>) {
        let (mut late_words, mut has_document) = (Vec::new(), false);
        for redirect in node.children_by_field_name("redirect", &mut node.walk()) {
            self.take_input(redirect);
            let mut cursor = redirect.walk();
            let arguments = redirect.children_by_field_name("argument", &mut cursor);
            late_words.extend(arguments.map(|word| self.word(word)));
            let files = redirect.children_by_field_name("destination", &mut cursor);
            late_words.extend(files.skip(1).map(|word| self.word(word)));
            has_document |= redirect.kind() == "heredoc_redirect";
        }
        let mut last = node.child_by_field_name("body");
        let is_compound = last.is_some_and(|body| body.kind() != "command");
        if late_words.is_empty() && !(has_document && is_compound) {
            return;
        }
        while let Some(inner) = last.filter(|last| last.kind() != "command") {
            last = inner.named_children(&mut inner.walk()).last();
        }
        let around = self.reader.context.clone();
        let mut words = last.map_or_else(Vec::new, |command| self.words(command));
        words.extend(late_words);
        self.reader.start(words);
        self.reader.context = around;
    }

    /// Sets the input if a node gives it to the command before it.
    fn take_input(&mut self, node: Node<'_>) {
        let input = match node.kind() {
            "heredoc_redirect" => {
                let body = child(node, "heredoc_body");
                Some(body.map_or("".into(), |body| self.text(body, Quoting::Document).into()))
            }
            "herestring_redirect" => {
                let last = node.named_children(&mut node.walk()).last();
                last.map(|word| self.word(word).into())
            }
            _ => {
                let file = node.child_by_field_name("destination").unwrap_or(node);
                let is_output = self.source(file).starts_with("<(");
                is_output.then(|| self.output(file))
            }
        };
        self.reader.context.input = input.or(self.reader.context.input.take());
    }

    /// Writing to a file counts as a program named `>`, reading one as `<`.
    fn file_redirect(&mut self, node: Node<'_>) {
        if let Some(target) = node.child_by_field_name("destination") {
            let sign = self.between(node.start_byte(), target.start_byte());
            let name = if sign.contains('>') { ">" } else { "<" };
            let word = self.word(target);
            self.reader.record(name, &[word]);
        }
    }

    fn command(&mut self, node: Node<'_>) {
        let mut read_to = node.start_byte();
        for argument in node.children(&mut node.walk()) {
            // Bash would end the command there.
            let skipped = self.between(read_to, argument.start_byte());
            self.reader.require(!breaks(skipped));
            read_to = argument.end_byte();
            self.take_input(argument);
        }
        let words = self.words(node);
        self.reader.start(words);
    }

    fn words(&self, node: Node<'_>) -> Vec<String> {
        let mut cursor = node.walk();
        let children = node.children(&mut cursor);
        let is_word = |child: &Node<'_>| match child.kind() {
            "variable_assignment" => node.kind() != "command",
            "subshell" | "comment" => false,
            kind => !kind.ends_with("_redirect"),
        };
        let words = children.filter(is_word).map(|child| self.word(child));
        words.collect()
    }

    fn word(&self, node: Node<'_>) -> String {
        self.text(node, Quoting::Bare)
    }

    /// A text with its quotes removed, `UNKNOWN` for what only the running shell knows.
    fn text(&self, node: Node<'_>, quoting: Quoting) -> String {
        let (mut text, mut at) = (String::new(), node.start_byte());
        let mut expansions = Vec::new();
        find_expansions(node, &mut expansions);
        for expansion in expansions {
            text.push_str(self.between(at, expansion.start_byte()));
            text.push_str(self.expanded(expansion));
            at = expansion.end_byte();
        }
        text.push_str(self.between(at, node.end_byte()));
        // The home of this person, or of somebody else.
        match text.strip_prefix('~').filter(|_| quoting == Quoting::Bare) {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => {
                text.replace_range(..1, &self.reader.places.home);
            }
            Some(_) => text.insert(0, '/'),
            None => {}
        }
        unquoted(&text, quoting)
    }

    fn expanded(&self, node: Node<'_>) -> &str {
        let name = self
            .source(node)
            .trim_start_matches(['$', '{', '(', '`', ' ']);
        let name = name.trim_end_matches(['}', ')', '`', ' ']);
        let directory = self.reader.context.directory.as_deref();
        match (node.kind(), name.split(":?").next().unwrap_or(name)) {
            ("process_substitution", _) => "/dev/fd/63",
            ("command_substitution", "pwd") | (_, "PWD") => directory.unwrap_or(UNKNOWN_WORD),
            (_, "HOME") => &self.reader.places.home,
            // `$env:PATH` of PowerShell; the rules look for it.
            (_, "env" | "Env" | "ENV") => "\u{10fffd}$env",
            _ => UNKNOWN_WORD,
        }
    }

    /// The output of a statement: literal text that `echo` prints, or `UNKNOWN`.
    fn output(&self, mut node: Node<'_>) -> Rc<str> {
        while node.kind() != "command" {
            let only = node
                .named_child(0)
                .filter(|_| node.named_child_count() == 1);
            match node.child_by_field_name("body").or(only) {
                Some(inner) => node = inner,
                None => return UNKNOWN_WORD.into(),
            }
        }
        let words = self.words(node);
        let printed = joined_after(&words, |word| is_in("echo -n -e -E", word));
        // Some shells interpret escapes.
        let is_literal = !printed.contains([UNKNOWN, '\\']) && words[0] == "echo";
        Rc::from(if is_literal { &printed } else { UNKNOWN_WORD })
    }

    /// Checks that bash ends a here-document where the grammar does, and reads substitutions in
    /// backticks, which the grammar takes for text.
    fn here_document(&mut self, node: Node<'_>) {
        let part = |kind| child(node, kind).unwrap_or(node);
        let (body, end) = (part("heredoc_body"), part("heredoc_end").start_byte());
        let start = self.source(part("heredoc_start"));
        let delimiter = start.trim_matches(['\'', '"', '\\']);
        let is_plain = |c: char| c.is_alphanumeric() || "_-.$:+@%,!".contains(c);
        let forms = ["D", "'D'", "\"D\"", "\\D"].map(|form| form.replace('D', delimiter));
        let is_marked = forms.iter().any(|form| form == start) && delimiter.chars().all(is_plain);
        let is_indented = self.source(node).contains("<<-");
        let is_end = |line: &str| {
            let line = line.trim_end_matches('\r');
            line.trim_start_matches(|c| is_indented && c == '\t') == delimiter
        };
        let lines = self.between(body.start_byte(), end);
        let last = self.between(0, end).rfind('\n').map_or(0, |at| at + 1);
        let last = self.between(last, self.text.len()).lines().next();
        let is_ended = last.is_some_and(is_end) && !lines.lines().any(is_end);
        self.reader.require(is_marked && is_ended);
        if start == delimiter {
            // Bash joins lines that end with a backslash before it looks for the end.
            let joined = lines.replace("\\\n", "");
            let ends_here = !lines.ends_with("\\\n") && !joined.lines().any(is_end);
            let scripts = without_escapes(lines);
            for script in scripts.split('`').skip(1).step_by(2) {
                self.reader.script(script, Dialect::Posix);
            }
            let is_read = body.child_count() > 0 || !scripts.contains("$(");
            self.reader.require(ends_here && is_read);
        }
    }
}

fn child<'n>(node: Node<'n>, kind: &str) -> Option<Node<'n>> {
    node.children(&mut node.walk())
        .find(|child| child.kind() == kind)
}

/// Lists what the shell expands in a word.
fn find_expansions<'n>(node: Node<'n>, found: &mut Vec<Node<'n>>) {
    if is_in(EXPANSIONS, node.kind()) {
        return found.push(node);
    }
    for child in node.children(&mut node.walk()) {
        find_expansions(child, found);
    }
}

/// A text without backslashes and the characters behind them.
fn without_escapes(text: &str) -> String {
    let mut is_escaped = false;
    let is_plain = |c: &char| {
        let was_escaped = is_escaped;
        is_escaped = *c == '\\' && !was_escaped;
        !was_escaped && !is_escaped
    };
    text.chars().filter(is_plain).collect()
}

/// Returns true if a text has a line break that is not escaped.
fn breaks(text: &str) -> bool {
    text.contains('\n') && without_escapes(text).contains('\n')
}

/// Returns true if a text has a substitution that is not escaped.
fn substitutes(text: &str) -> bool {
    let substitutes = |text: &str| text.contains('`') || text.contains("$(");
    substitutes(text) && substitutes(&without_escapes(text))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Quoting {
    Bare,
    Single,
    Double,
    /// `$'...'`
    Escapes,
    /// A here-document.
    Document,
}

/// Removes quotes as bash does.
fn unquoted(source: &str, mut quoting: Quoting) -> String {
    use Quoting::{Bare, Document, Double, Escapes, Single};
    let (mut text, mut has_brace) = (String::new(), false);
    let mut rest = source.chars().peekable();
    while let Some(next) = rest.next() {
        match (quoting, next) {
            (Bare, '$') if rest.next_if_eq(&'\'').is_some() => quoting = Escapes,
            (Bare, '$') if rest.peek() == Some(&'"') => {}
            (Bare, '\'') => quoting = Single,
            (Bare, '"') => quoting = Double,
            (Single | Escapes, '\'') | (Double, '"') => quoting = Bare,
            (Escapes, '\\') => text.push(escaped(&mut rest)),
            (Bare | Double | Document, '\\') => {
                let is_escaped = |c: &char| quoting == Bare || "\"\\$`\n".contains(*c);
                let literal = rest.next_if(is_escaped).unwrap_or(next);
                text.extend(Some(literal).filter(|literal| *literal != '\n'));
            }
            _ => {
                has_brace |= quoting == Bare && next == '{';
                text.push(next);
            }
        }
    }
    // Braces without a list or a range mean themselves, as in `HEAD@{1}`.
    if has_brace && (text.contains(',') || text.contains("..")) {
        return UNKNOWN_WORD.to_owned();
    }
    text
}

/// The character that an escape in `$'...'` means: by its number, or the one behind the backslash.
fn escaped(rest: &mut Peekable<Chars<'_>>) -> char {
    let (radix, longest) = match rest.peek() {
        Some('x') => (16, 2),
        Some('u') => (16, 4),
        Some('U') => (16, 8),
        Some('0'..='7') => (8, 3),
        _ => {
            return match rest.next() {
                Some('n') => '\n',
                Some('r' | 't') => ' ',
                other => other.unwrap_or(UNKNOWN),
            };
        }
    };
    rest.next_if(|_| radix == 16);
    let digits = std::iter::from_fn(|| rest.next_if(|next| next.is_digit(radix)));
    let digits = digits
        .take(longest)
        .filter_map(|digit| digit.to_digit(radix));
    let number = digits.fold(0, |number, digit| number * radix + digit);
    let character = char::from_u32(number);
    character.filter(|c| !c.is_control()).unwrap_or(UNKNOWN)
}
