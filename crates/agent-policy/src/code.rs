//! Programs whose argument is code in a language of their own, and code that only prints.

use std::sync::LazyLock;

use regex::Regex;

use super::names::facts;
use super::wrappers::{option_letters, takes_next_word};

/// Words of awk that run, read or write something else.
static AWK_DOES_MORE: LazyLock<Regex> =
    LazyLock::new(|| compile(r"system|getline|ENVIRON|ARG|PROCINFO|[|>@\\]"));

/// Scripts of sed that only print.
///
/// ```text
/// script  = command { ( ";" | newline ) command }
/// command = [ address [ "," address ] ] [ "!" ] ( letter | "q" [ number ] | substitution | "{" | "}" )
/// address = number | "$" | "/" regex "/" [ "I" ]
/// letter  = one of  p P d D n N g G h H x l =
/// substitution = "s" mark regex mark replacement mark { "g" | "p" | "i" | "I" | "m" | "M" | digit }
/// mark    = "/" | "|"
/// ```
///
/// `w`, `W` and the flag `w` write files, `r` and `R` read any, `e` and the flag `e` run programs;
/// `a`, `i` and `c` take text to the end of the line. Brackets in a regex have no mark and no other
/// brackets in them, except for a class: GNU ends an expression at such a mark and others do not.
static SED: LazyLock<Regex> = LazyLock::new(|| {
    let regex =
        |mark| format!(r"(?:\\[^\n]|\[\^?[^]\[\\\n^{mark}]+\]|\[\[:[a-z]+:\]\]|[^\[\\\n{mark}])*");
    let substitution = |mark| {
        let replacement = format!(r"(?:\\[^\n]|[^\\\n{mark}])*");
        format!(
            "s[{mark}]{}[{mark}]{replacement}[{mark}][gpiImM0-9]*",
            regex(mark)
        )
    };
    let address = format!(r"(?:[0-9]+|\$|/{}/I?)", regex('/'));
    let does = [
        "[pPdDnNgGhHxl=]|q[0-9]*",
        &substitution('/'),
        &substitution('|'),
    ]
    .join("|");
    let command =
        format!(r"(?:{address} *(?:, *{address} *)?)?(?:! *)?(?:\{{|(?:{does}) *(?:[;\n}}]|\z))");
    compile(&format!(r"\A(?:[ \t\n;}}]*{command})*[ \t\n;}}]*\z"))
});

fn compile(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the patterns are sound; a test uses each")
}

fn only_prints(name: &str, code: &str) -> bool {
    if name.ends_with("sed") {
        SED.is_match(code)
    } else {
        !AWK_DOES_MORE.is_match(code)
    }
}

/// The indices of the words of a command that are code for one of these programs; none if the program
/// takes no code.
pub(super) fn code_in(name: &str, command: &[String]) -> Vec<usize> {
    words_of_code(name, command).map_or_else(Vec::new, |(code, _)| code)
}

/// Returns true if the words after the first `named` ones are code that does more than print, or
/// options that change files, take code from one, or are unknown.
pub(super) fn does_more(name: &str, command: &[String], named: usize) -> bool {
    words_of_code(name, command).is_some_and(|(code, others)| {
        let is_more = |at: &usize| *at >= named && !only_prints(name, &command[*at]);
        others.iter().any(|at| *at >= named) || code.iter().any(is_more)
    })
}

/// The words that are code and the options that are not known to be harmless.
fn words_of_code(name: &str, command: &[String]) -> Option<(Vec<usize>, Vec<usize>)> {
    let flags = facts("code", name).next()?;
    let (mut code, mut others, mut operand) = (Vec::new(), Vec::new(), None);
    let mut words = command.iter().enumerate().skip(1);
    while let Some((at, word)) = words.next() {
        let letters = option_letters(name, word);
        let is_known = letters.chars().all(|letter| flags.contains(letter));
        if word == "-" || !word.starts_with('-') {
            operand.get_or_insert(at);
        } else if is_known && takes_next_word(name, word) {
            let value = words.next().filter(|_| letters.ends_with('e'));
            code.extend(value.map(|(at, _)| at));
        } else if word != "--" && (letters.is_empty() || letters.ends_with('e') || !is_known) {
            others.push(at);
        }
    }
    if code.is_empty() {
        code.extend(operand);
    }
    Some((code, others))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_prints_is_known() {
        for script in [
            "p",
            "1,5p",
            "$d",
            "/a\\/b/Ip",
            "1!d",
            "s/a/b/",
            "s/a/b/gp",
            "s|/usr|x|2;p",
            "/x/{p;d}",
            "10q",
            "$=",
            "1 , 3 p",
            "",
            "y\n".trim_start_matches('y'),
            "n;d",
            "s/a\\/w x/b/",
            "s/[[:space:]]*$//",
        ] {
            assert!(SED.is_match(script), "{script}");
        }
    }

    #[test]
    fn what_reads_writes_or_runs_is_more() {
        for script in [
            "w /tmp/x",
            "1w x",
            "1e id",
            "e",
            "r /etc/passwd",
            "R x",
            "W x",
            "s/a/b/w x",
            "s/a/b/e",
            "s/a/id/ge",
            "s/a/b/;e",
            "p;e id",
            "p\ne id",
            "/x/{e id\n}",
            "1,5{p;w x\n}",
            "a text",
            "i\\\ntext",
            "c x",
            "s/a/b\n/e",
            "s/a",
            "sxaxbxe",
            "s/a\\/b/e",
            "y/a/b/",
            "b x",
            ": x",
            "#n\ne",
            "\\,x,e",
            "F",
            "v",
            "z",
            "p e",
            "1~2e",
            "+3e",
            "s/[/]/x/e",
            "Q",
            "L",
            "s/[/]/p;s/w x/w y/",
            "s/[[:x:]/]/p;s/w x/w y/",
            "s[a]b[e[",
            "s/[^]/]/;s/w x/w y/",
            "s/[a^/]/p;s/w x/w y/",
        ] {
            assert!(!SED.is_match(script), "{script}");
        }
    }
}
