//! Recognises scripts that it understands completely, and calls all others opaque.
//!
//! ```text
//! script    = { newline } [ command { separator command } ] [ ";" ] { newline }
//! separator = "&&" { newline } | "||" { newline } | "|" { newline } | ";" | newline
//! command   = word { blank word }
//! word      = ( bare | "'" text "'" | '"' text without $ ` \ '"' ) +
//! ```
//!
//! Plain scripts are split exactly as `sh` and `bash` split them. Everything that a shell expands,
//! redirects, repeats or runs in the background makes a script opaque, and so does every character
//! whose meaning depends on the shell or the locale, because allow rules match only plain scripts.
//! This is no security boundary; the kernel is. `grammar` reads what an opaque script does.

use std::iter::Peekable;
use std::str::Chars;

use super::command::is_in;
use agent_protocol::unseen::is_unseen;

/// The maximum length of a script that is examined, in bytes.
pub const MAX_BYTES: usize = 32 * 1024;

/// The first thing in a script that makes it opaque, in words that follow "it" or a sentence.
pub type Opacity = &'static str;

const CHARACTER: Opacity = "it has an invisible character, or an unusual one outside quotes";
const SUBSTITUTION: Opacity = "it has a substitution (`$` or a backtick)";
const ESCAPE: Opacity = "it has a backslash";
const SYNTAX: Opacity = "a command is missing beside `&&`, `||`, `;` or `|`";

/// Words that a shell does not take for programs.
///
/// `time`, `coproc`, `select` and `function` are keywords of bash only; here they always are.
pub(super) const KEYWORDS: &str =
    "! if then elif else fi for while until do done case esac time coproc select function";

/// Returns true if a character is invisible, changes the direction of text or controls a terminal.
pub(super) fn is_invisible(character: char) -> bool {
    character.is_control() && !matches!(character, '\n' | '\t') || is_unseen(character)
}

/// The simple commands of a script that is understood completely, each with its words after quote
/// removal.
pub fn read(script: &str) -> Result<Vec<Vec<String>>, Opacity> {
    if script.len() > MAX_BYTES {
        return Err("it is longer than 32 KiB");
    }
    let mut rest = script.chars().peekable();
    let mut commands = Vec::new();
    let mut words = Vec::new();
    // True if `&&`, `||` or `|` is still without its right side.
    let mut expects_command = false;
    while let Some(&next) = rest.peek() {
        match next {
            ' ' | '\t' => drop(rest.next()),
            '#' => while rest.next_if(|&next| next != '\n').is_some() {},
            '\n' | ';' | '&' | '|' => {
                rest.next();
                let connects = matches!(next, '&' | '|');
                let is_doubled = connects && rest.next_if_eq(&next).is_some();
                if next == '&' && !is_doubled || connects && rest.peek() == Some(&'&') {
                    return Err("it runs something in the background");
                }
                if !words.is_empty() {
                    commands.push(std::mem::take(&mut words));
                } else if next != '\n' {
                    return Err(SYNTAX);
                }
                expects_command |= connects;
            }
            _ => {
                words.push(word(&mut rest, words.is_empty())?);
                expects_command = false;
            }
        }
    }
    commands.extend(Some(words).filter(|words| !words.is_empty()));
    (!expects_command).then_some(commands).ok_or(SYNTAX)
}

fn word(rest: &mut Peekable<Chars<'_>>, is_first: bool) -> Result<String, Opacity> {
    let (mut word, mut quote, mut is_quoted) = (String::new(), None, false);
    let ends = |next: &char| matches!(next, ' ' | '\t' | '\n' | ';' | '&' | '|');
    while let Some(next) = rest.next_if(|next| quote.is_some() || !ends(next)) {
        match (quote, next) {
            (Some(open), _) if open == next => quote = None,
            (Some('"'), '$' | '`') => return Err(SUBSTITUTION),
            (Some('"'), '\\') => return Err(ESCAPE),
            (Some(_), _) if is_invisible(next) => return Err(CHARACTER),
            (Some(_), _) => word.push(next),
            (None, '\'' | '"') => (quote, is_quoted) = (Some(next), true),
            (None, '~') if word.is_empty() || word.ends_with(['=', ':']) => {
                return Err("it has a `~` for a home directory");
            }
            (None, _) => word.push(bare(next)?),
        }
    }
    match quote {
        Some(_) => Err("a quote is not closed"),
        None if is_first && word.contains('=') => Err("it sets a variable"),
        None if is_first && !is_quoted && is_in(KEYWORDS, &word) => Err("it has control flow"),
        None => Ok(word),
    }
}

/// Returns a character that means itself outside of quotes, in every shell and every locale.
fn bare(character: char) -> Result<char, Opacity> {
    match character {
        'a'..='z' | 'A'..='Z' | '0'..='9' => Ok(character),
        _ if "_-./,:+@%=^#!~".contains(character) => Ok(character),
        '$' | '`' => Err(SUBSTITUTION),
        '\\' => Err(ESCAPE),
        '<' | '>' => Err("it has a redirection"),
        '*' | '?' | '[' | ']' => Err("it has a glob"),
        '{' | '}' => Err("it has braces"),
        '(' | ')' => Err("it has parentheses"),
        _ => Err(CHARACTER),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn plain(script: &str, expected: &[&[&str]]) {
        let expected = expected
            .iter()
            .map(|words| words.iter().map(ToString::to_string).collect())
            .collect();
        assert_eq!(read(script), Ok(expected), "{script:?}");
    }

    #[track_caller]
    fn opaque(script: &str, expected: Opacity) {
        assert_eq!(read(script), Err(expected), "{script:?}");
    }

    #[test]
    fn plain_scripts_are_split_into_commands_and_words() {
        plain("", &[]);
        plain("\n\n", &[]);
        plain("ls", &[&["ls"]]);
        plain(" ls\t-la  x ", &[&["ls", "-la", "x"]]);
        plain(
            "a && b || c; d | e\nf",
            &[&["a"], &["b"], &["c"], &["d"], &["e"], &["f"]],
        );
        plain("a &&\n\n b", &[&["a"], &["b"]]);
        plain("a;", &[&["a"]]);
        plain("a 'b c' \"d e\"'f'g", &[&["a", "b c", "d efg"]]);
        plain("a '' \"\"", &[&["a", "", ""]]);
        plain("a '$x' '`' '\\' '*'", &[&["a", "$x", "`", "\\", "*"]]);
        plain("a # b && c\nd", &[&["a"], &["d"]]);
        plain("a b#c HEAD~1 x=y", &[&["a", "b#c", "HEAD~1", "x=y"]]);
        plain("echo if then", &[&["echo", "if", "then"]]);
        plain("'if' x", &[&["if", "x"]]);
        plain("a 'grüße\nzwei'", &[&["a", "grüße\nzwei"]]);
    }

    #[test]
    fn what_a_shell_would_work_out_is_opaque() {
        opaque("a $x", SUBSTITUTION);
        opaque("a \"$x\"", SUBSTITUTION);
        opaque("a `b`", SUBSTITUTION);
        opaque("a \\b", ESCAPE);
        opaque("a \"\\b\"", ESCAPE);
        opaque("a > b", "it has a redirection");
        opaque("a <<b", "it has a redirection");
        opaque("a &", "it runs something in the background");
        opaque("a |& b", "it runs something in the background");
        opaque("a &&& b", "it runs something in the background");
        opaque("a *", "it has a glob");
        opaque("[ a ]", "it has a glob");
        opaque("a {b,c}", "it has braces");
        opaque("(a)", "it has parentheses");
        opaque("a()", "it has parentheses");
        opaque("a ~/b", "it has a `~` for a home directory");
        opaque("a x=~", "it has a `~` for a home directory");
        opaque("x=1", "it sets a variable");
        opaque("x=1 a", "it sets a variable");
        opaque("if a", "it has control flow");
        opaque("a; while b", "it has control flow");
        opaque("! a", "it has control flow");
        opaque("a 'b", "a quote is not closed");
        opaque("a \"b", "a quote is not closed");
        opaque("a &&", SYNTAX);
        opaque("a && && b", SYNTAX);
        opaque("; a", SYNTAX);
        opaque("a ;; b", SYNTAX);
        opaque("a\n| b", SYNTAX);
        opaque("a\u{a0}b", CHARACTER);
        opaque("a ü", CHARACTER);
        opaque("a\r", CHARACTER);
        opaque("a '\u{200b}'", CHARACTER);
        opaque("a '\u{3164}'", CHARACTER);
        opaque(&"a".repeat(MAX_BYTES + 1), "it is longer than 32 KiB");
    }

    #[cfg(unix)]
    mod against_shells {
        use std::process::{Command, Stdio};

        use proptest::strategy::{Strategy, ValueTree};
        use proptest::test_runner::TestRunner;

        use super::super::*;

        /// Runs scripts in one bash with a handler that prints the words of each command.
        ///
        /// `PATH` is empty, so that no program is ever started. The commands of a pipe print in any
        /// order, so the commands of a script are sorted.
        fn split_by_bash(scripts: &[String]) -> Option<Vec<Vec<Vec<String>>>> {
            const PRELUDE: &str = "exec 3>&1 >/dev/null 2>&1; PATH=/nowhere
                command_not_found_handle() { printf '%s\\0' \"$@\" $'\\1' >&3; }";
            let mut all = PRELUDE.to_owned();
            for script in scripts {
                all.extend(["\n", script, "\nprintf '\\2' >&3"]);
            }
            #[expect(
                clippy::disallowed_methods,
                reason = "a test asks the shell of the system"
            )]
            let output = Command::new("bash")
                .args(["--norc", "-c"])
                .arg(all)
                .stdin(Stdio::null())
                .output()
                .ok()?;
            let text = String::from_utf8(output.stdout).ok()?;
            Some(text.split_terminator('\u{2}').map(commands_in).collect())
        }

        fn commands_in(printed: &str) -> Vec<Vec<String>> {
            let mut commands: Vec<Vec<String>> = printed
                .split_terminator("\u{1}\0")
                .map(|words| words.split_terminator('\0').map(str::to_owned).collect())
                .collect();
            commands.sort();
            commands
        }

        fn samples(pattern: &'static str, count: usize) -> Vec<String> {
            let mut runner = TestRunner::deterministic();
            let strategy = proptest::string::string_regex(pattern).unwrap();
            (0..count)
                .map(|_| strategy.new_tree(&mut runner).unwrap().current())
                .collect()
        }

        /// `||` is left out because its right side does not run, and `|` because both sides print
        /// at the same time.
        #[test]
        fn bash_splits_plain_scripts_the_same_way() {
            let pattern = "([x-z][a-z.,:+@%=^#!~*$`{}\\\\-]{0,3}|'[^'\0]{0,5}'|\"[a $`#*~\n']{0,5}\"|[ \n\t#]| && |;|[~=#!]){1,12}";
            let mut scripts = Vec::new();
            let mut expected = Vec::new();
            for script in samples(pattern, 2000) {
                let Ok(mut commands) = read(&script) else {
                    continue;
                };
                // Only names that are not paths, jobs or builtins of bash reach the handler.
                let reach_it = commands.iter().all(|words| {
                    !words[0].contains('/')
                        && !words[0].starts_with('%')
                        && !matches!(words[0].as_str(), "" | "." | ":" | "[")
                });
                if reach_it && scripts.len() < 150 {
                    commands.sort();
                    scripts.push(script);
                    expected.push(commands);
                }
            }
            assert!(
                scripts.len() > 50,
                "only {} samples were plain",
                scripts.len()
            );
            let Some(split) = split_by_bash(&scripts) else {
                return;
            };
            for ((script, expected), split) in scripts.iter().zip(&expected).zip(&split) {
                assert_eq!(split, expected, "{script:?}");
            }
            assert_eq!(split.len(), expected.len());
        }

        #[test]
        fn sh_splits_plain_words_the_same_way() {
            let pattern =
                "([a-z.,:+@%=^#!~/\\-]{1,3}|'[^'\0]{0,5}'|\"[a #*~\n'!]{0,5}\"|[ \t#]){1,12}";
            let plain: Vec<(String, Vec<String>)> = samples(pattern, 600)
                .into_iter()
                .filter_map(|script| match read(&format!("x {script}")) {
                    Ok(commands) if commands.len() == 1 => {
                        let words = commands[0][1..].to_vec();
                        Some((script, words))
                    }
                    _ => None,
                })
                .take(200)
                .collect();
            assert!(plain.len() > 100, "only {} samples were plain", plain.len());
            // One shell for all: each script becomes the arguments of one `printf`.
            let all: Vec<String> = plain
                .iter()
                .map(|(script, _)| format!("printf '%s\\0' x {script}\nprintf '\\001\\000'"))
                .collect();
            #[expect(
                clippy::disallowed_methods,
                reason = "a test asks the shell of the system"
            )]
            let output = Command::new("sh")
                .arg("-c")
                .arg(all.join("\n"))
                .output()
                .unwrap();
            let text = String::from_utf8(output.stdout).unwrap();
            for ((script, words), printed) in plain.iter().zip(text.split_terminator("\u{1}\0")) {
                let printed: Vec<&str> = printed.split_terminator('\0').skip(1).collect();
                assert_eq!(&printed, words, "{script:?}");
            }
            assert_eq!(text.split_terminator("\u{1}\0").count(), plain.len());
        }
    }
}
