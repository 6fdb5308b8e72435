//! Redirections and here-documents.

use super::{Reader, is_code_runner};

/// A here-document whose body is still to come.
pub(super) struct HereDocument {
    delimiter: String,
    is_quoted: bool,
    strips_tabs: bool,
}

impl Reader<'_, '_> {
    /// Reads `<`, `>` and what follows; writing to a file counts as a program named `>`.
    pub(super) fn redirection(&mut self) {
        let opening = self.peek();
        let writes = opening == Some('>');
        let mut arrows = 0;
        while arrows < 3 && self.peek() == opening {
            self.advance();
            arrows += 1;
        }
        if self.peek() == Some('(') {
            self.advance();
            self.substitution();
            return;
        }
        let strips_tabs = !writes && arrows == 2 && self.take_if('-');
        if matches!(self.peek(), Some('&' | '|' | '>')) {
            self.advance();
        }
        while matches!(self.peek(), Some(' ' | '\t')) {
            self.advance();
        }
        let begins = self.at;
        let mut target = Vec::new();
        self.word(&mut target);
        if writes {
            self.state.record(">", &target);
        } else if arrows == 3 {
            self.state.piped = Some(target);
        } else if arrows == 2 && self.arithmetic.is_none() {
            let end = self.at.min(self.text.len());
            self.here_documents.push(HereDocument {
                delimiter: target.concat(),
                is_quoted: self.text[begins..end]
                    .iter()
                    .any(|next| matches!(next, '\'' | '"' | '\\')),
                strips_tabs,
            });
        }
    }

    /// A body is a script if a shell stands on the line; else only its substitutions are run.
    pub(super) fn read_here_documents(&mut self) {
        let is_script = self.state.invocations[self.line_begins..]
            .iter()
            .any(|invocation| is_code_runner(&invocation.name));
        for document in std::mem::take(&mut self.here_documents) {
            let body = self.here_document_body(&document);
            if is_script {
                self.state.script(&body);
            } else if !document.is_quoted && body.contains(['$', '`']) {
                self.state.quoted_text(&body);
            }
        }
        self.line_begins = self.state.invocations.len();
    }

    /// Reads to the line that ends the body; without one, what follows is read as commands.
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
