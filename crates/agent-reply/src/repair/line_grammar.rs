//! What a line at the margin can be in formats that are read line by line.
//!
//! Where every line must begin in one of a few ways, one that does not is the rest of the line above
//! it. Free text in such a file, as in a here-document or a rule that is defined, ends what is known.

use crate::code_fence::Fence;
use crate::line::has_word;
use crate::trim::trim_end;

/// A format whose lines begin in known ways.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineGrammar {
    /// Keys, items and comments, and nothing else at the margin.
    Yaml,
    /// `key = value`, `[section]` and comments.
    Settings,
    Dockerfile,
    Makefile,
    Shell,
}

impl LineGrammar {
    /// That of a file with this name, or of a code block in this language.
    pub(super) fn of(name: &str) -> Option<Self> {
        let name = name.rsplit('/').next().unwrap_or(name).to_ascii_lowercase();
        let is = |names: &str| {
            let extension = name.rsplit('.').next().unwrap_or(&name);
            has_word(names, extension)
        };
        if is("yaml yml") {
            Some(Self::Yaml)
        } else if is("ini toml properties service socket timer mount desktop editorconfig")
            || name == "setup.cfg"
        {
            Some(Self::Settings)
        } else if is("dockerfile containerfile") || name.starts_with("dockerfile.") {
            Some(Self::Dockerfile)
        } else if is("makefile gnumakefile mk make") {
            Some(Self::Makefile)
        } else if is("sh bash zsh ksh bashrc shell") {
            Some(Self::Shell)
        } else {
            None
        }
    }

    /// Returns true if text of any form begins on a line.
    pub(super) fn ends_with(self, line: &str) -> bool {
        match self {
            Self::Yaml | Self::Settings => line.contains("\"\"\"") || line.contains("'''"),
            Self::Dockerfile | Self::Shell => line.contains("<<"),
            Self::Makefile => line.starts_with("define "),
        }
    }

    /// Returns true if a line at the margin begins something, as far as its form tells.
    pub(super) fn begins(self, line: &str) -> bool {
        match self {
            Self::Yaml => is_key(line),
            Self::Settings => is_assignment(line),
            Self::Shell => line.contains("() {"),
            Self::Dockerfile | Self::Makefile => false,
        }
    }

    /// Returns true if a line at the margin can only be the rest of the one above it.
    pub(super) fn is_rest(self, above: &str, line: &str) -> bool {
        let above = trim_end(above);
        if above.is_empty() || above.ends_with(['\\', '`']) || Fence::read(line).is_some() {
            return false;
        }
        if is_comment(above) && !is_comment(line) && is_sentence(above, line) {
            return true;
        }
        let word = line.split_whitespace().next().unwrap_or_default();
        let is_word = line.starts_with(|c: char| c.is_alphanumeric() || c == '/' || c == '`');
        match self {
            Self::Yaml => (is_word || is_option(word)) && !is_key(line),
            Self::Settings => {
                let is_list = || above.ends_with(['=', '[', '{', ',', '(']);
                let is_quoted = |mark| !above.matches(mark).count().is_multiple_of(2);
                let is_open = || is_list() || is_quoted('"') || is_quoted('\'');
                let is_value = is_comment(above) || (is_assignment(above) && !is_open());
                is_value && is_word && !line.contains(['=', ':'])
            }
            Self::Dockerfile => {
                const INSTRUCTIONS: &str = "add arg cmd copy entrypoint env expose from healthcheck \
                    include label maintainer onbuild run shell stopsignal user volume workdir";
                let is_instruction = || has_word(INSTRUCTIONS, &word.to_ascii_lowercase());
                !is_comment(above) && !line.starts_with(['#', '{', '}', ']']) && !is_instruction()
            }
            Self::Makefile => {
                const DIRECTIVES: &str = "define else endef endif export ifdef ifeq ifndef ifneq \
                    include override private sinclude undefine unexport vpath";
                let is_assigned = || above.contains('=') || above.starts_with('\t');
                let is_rule = || line.contains([':', '=']) || has_word(DIRECTIVES, word);
                let is_option = is_option(word) && word != "-include";
                is_assigned() && (is_option || (is_word && !is_rule()))
            }
            Self::Shell => {
                !above.ends_with(['|', '&'])
                    && (is_option(word) || matches!(word, "|" | "||" | "&&" | ">" | ">>" | "2>"))
            }
        }
    }
}

fn is_comment(line: &str) -> bool {
    line.trim_start().starts_with(['#', ';'])
}

fn is_option(word: &str) -> bool {
    word.starts_with('-') && !matches!(word, "-" | "--" | "---")
}

fn is_assignment(line: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || "_-.\" ".contains(c);
    let (key, _) = line.split_once('=').unwrap_or_default();
    !key.is_empty() && key.chars().all(is_part)
}

/// Returns true if a line begins with a key of a few words.
fn is_key(line: &str) -> bool {
    let is_ended = |end: &usize| line[end + 1..].is_empty() || line[end + 1..].starts_with(' ');
    let mut ends = line.match_indices(':').map(|(end, _)| end);
    ends.find(is_ended)
        .is_some_and(|end| line[..end].split(' ').count() <= 2)
}

/// Returns true if a line goes on with the sentence of a comment: it is made of words, and some of
/// them are of no command.
fn is_sentence(above: &str, line: &str) -> bool {
    const OF_SENTENCES: &str = "an and are be by can has is it its not of or that the them they this to \
        was we which will with you your";
    let is_part = |c: char| c.is_alphanumeric() || " ,.:()`'\u{2019}-".contains(c);
    let mut words = line.split([' ', ',', '.']);
    above.ends_with(|c: char| c.is_alphanumeric() || c == ',')
        && line.starts_with(|c: char| c.is_lowercase())
        && line.chars().all(is_part)
        && words.any(|word| has_word(OF_SENTENCES, word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_rest(name: &str, above: &str, line: &str) -> bool {
        LineGrammar::of(name).unwrap().is_rest(above, line)
    }

    #[test]
    fn what_no_line_begins_with_is_the_rest_of_the_one_above() {
        for (name, above, line) in [
            (
                "a.yml",
                "      spec: !REF",
                "google.lib.network.resources:location",
            ),
            (
                "a.yml",
                "      run: curl -sSf https://a.org |",
                "--profile minimal",
            ),
            (
                ".github/b.yaml",
                "    help: To describe the project",
                "`us-central1` within it, run:",
            ),
            (
                "a.service",
                "After=a.service b.target c.target",
                "systemd-networkd.service d.service",
            ),
            ("a.ini", "; how many bytes, by default about 64", "MiB"),
            ("p.toml", "rust-version = 1 # as the others say it", "too"),
            (
                "Dockerfile",
                "RUN apt-get install -y curl",
                "ca-certificates",
            ),
            ("Makefile", "CFLAGS += -g -DUNIX_SOCKETS -Wall", "-Wextra"),
            ("a.mk", "SRCS = a.c b.c", "c.c"),
            ("run.sh", "docker run --rm", "-v /a:/b image"),
            ("bash", "cat a", "| sort"),
            (
                "run.sh",
                "# This is done before the others, so",
                "that they find it there",
            ),
        ] {
            assert!(is_rest(name, above, line), "{name}: {line}");
        }
    }

    #[test]
    fn what_a_line_can_begin_with_is_no_rest() {
        for (name, above, line) in [
            ("a.yml", "  run: cargo test", "jobs:"),
            ("a.yml", "  run: cargo test", "- next"),
            ("a.yml", "  - one", "---"),
            ("a.yml", "  - `code`", "text"),
            ("a.yml", "  run: cargo test", "```"),
            ("p.toml", "keywords = [", "\"a\""),
            ("p.toml", "key = \"two", "lines"),
            ("a.ini", "a = 1", "b = 2"),
            ("a.ini", "a = 1", "[section]"),
            ("Dockerfile", "RUN a && \\", "b"),
            ("Dockerfile", "RUN a", "COPY . ."),
            ("Dockerfile", "# an image for", "from scratch"),
            ("Makefile", "A = b", "all: b"),
            ("Makefile", "A = b", "include c.mk"),
            ("Makefile", "A = b", "-include c.mk"),
            ("run.sh", "cat a |", "sort"),
            (
                "run.sh",
                "# Installs what is needed here",
                "apt-get install -y git",
            ),
            ("run.sh", "a", "b"),
            ("run.sh", "", "-b"),
        ] {
            assert!(!is_rest(name, above, line), "{name}: {line}");
        }
        assert_eq!(LineGrammar::of("a.rs"), None);
    }

    #[test]
    fn text_of_any_form_ends_what_is_known() {
        for (name, line) in [
            ("p.toml", "text = \"\"\""),
            ("Dockerfile", "RUN <<EOF"),
            ("run.sh", "cat > a <<'EOF'"),
            ("Makefile", "define RULE"),
        ] {
            let grammar = LineGrammar::of(name).unwrap();
            assert!(grammar.ends_with(line) && !grammar.ends_with("a = b"));
        }
    }
}
