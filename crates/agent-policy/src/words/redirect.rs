//! Redirections and here-documents.

use super::output::Piped;
use super::{ScriptReader, is_before_a_command, is_code_runner, is_program_text};

/// A here-document whose body is still to come.
pub(super) struct HereDocument {
    delimiter: String,
    is_quoted: bool,
    strips_tabs: bool,
}

impl ScriptReader<'_, '_> {
    /// Reads `<`, `>` and their target; writing to a file counts as a program named `>`, reading
    /// one as `<`.
    pub(super) fn redirection(&mut self, words: &mut Vec<String>) {
        let opening = self.peek();
        let mut writes = opening == Some('>');
        let mut arrows = 0;
        while arrows < 3 && self.peek() == opening {
            self.advance();
            arrows += 1;
        }
        if self.peek() == Some('(') {
            self.advance();
            let printed = self.substitution();
            if !writes {
                self.state.piped = Piped::of(printed);
                if !words.iter().all(|word| is_before_a_command(word)) {
                    words.push("/dev/fd/63".to_owned());
                }
            }
            return;
        }
        let is_here_document = !writes && arrows == 2 && self.arithmetic.is_none();
        let strips_tabs = is_here_document && self.take_if('-');
        if let Some(next @ ('&' | '|' | '>')) = self.peek() {
            writes |= next == '>';
            self.advance();
        }
        while matches!(self.peek(), Some(' ' | '\t')) {
            self.advance();
        }
        if is_here_document {
            self.begin_here_document(strips_tabs);
            return;
        }
        let mut target = Vec::new();
        self.word(&mut target);
        if arrows == 3 && !writes {
            self.state.piped = Piped::of(target.join(" "));
        } else {
            self.state.record(if writes { ">" } else { "<" }, &target);
        }
    }

    /// The delimiter is taken literally: nothing in it is expanded, quotes are removed.
    fn begin_here_document(&mut self, strips_tabs: bool) {
        let mut delimiter = String::new();
        let mut is_quoted = false;
        let mut quote = None;
        while let Some(next) = self.peek() {
            match (quote, next) {
                (None, ' ' | '\t' | '\r' | '\n' | ';' | '&' | '|' | '<' | '>' | '(' | ')') => break,
                (None, '\'' | '"') => {
                    quote = Some(next);
                    is_quoted = true;
                }
                (Some(open), _) if open == next => quote = None,
                (None, '\\') => {
                    is_quoted = true;
                    self.advance();
                    delimiter.extend(self.peek());
                }
                _ => delimiter.push(next),
            }
            self.advance();
        }
        self.here_documents.push(HereDocument {
            delimiter,
            is_quoted,
            strips_tabs,
        });
    }

    /// A body is a script if there is a shell on the line, and code if there is an interpreter;
    /// otherwise only its substitutions are run.
    pub(super) fn read_here_documents(&mut self) {
        let readers: Vec<String> = if self.here_documents.is_empty() {
            Vec::new()
        } else {
            let on_the_line = &self.state.invocations[self.line_begins..];
            let names = on_the_line.iter().map(|invocation| invocation.name.clone());
            names.collect()
        };
        let runs_it = |name: &String| is_code_runner(name) || matches!(name.as_str(), "ssh" | "at");
        let is_script = readers.iter().any(runs_it);
        let interpreter = readers.iter().find(|name| is_program_text(name));
        for document in std::mem::take(&mut self.here_documents) {
            let body = self.here_document_body(&document);
            if is_script {
                self.state.script(&body);
            } else if !document.is_quoted && body.contains(['$', '`']) {
                self.state.quoted_text(&body);
            }
            if let Some(name) = interpreter {
                let code = [body];
                self.state.record(name, &code);
                self.state.follow_interpreter(name, &code);
            }
        }
        self.line_begins = self.state.invocations.len();
    }

    /// Reads to the line that ends the body; without one, the text is read as commands.
    fn here_document_body(&mut self, document: &HereDocument) -> String {
        let first_line = self.at;
        let mut body = String::new();
        while self.peek().is_some() {
            let begins = self.at;
            self.skip_line();
            let line: String = self.text[begins..self.at.min(self.text.len())]
                .iter()
                .collect();
            self.advance();
            let line = if document.strips_tabs {
                line.trim_start_matches('\t')
            } else {
                &line
            };
            if line == document.delimiter {
                return body;
            }
            body.push_str(line);
            body.push('\n');
        }
        self.at = first_line;
        String::new()
    }
}
