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
/// ```
///
/// `w`, `W` and the flag `w` write files, `r` and `R` read any, `e` and the flag `e` run programs;
/// `a`, `i` and `c` take text to the end of the line. A mark between brackets ends the expression for
/// GNU and not for others, so it is none of these.
static SED: LazyLock<Regex> = LazyLock::new(|| {
    let regex = |mark: char| {
        let escape = r"\\[^\n]";
        let class = format!(r"\[[:.=][^\[\]\n{mark}]*\]");
        let inner = format!(r"(?:{escape}|{class}|[^\[\]\\\n{mark}])");
        let first = format!(r"(?:{escape}|{class}|[^\[\]\\\n{mark}^])");
        let brackets = format!(r"\[(?:\^(?:\]|{inner})|\]|{first}){inner}*\]");
        format!(r"(?:{escape}|{brackets}|[^\[\\\n{mark}])*")
    };
    let substitutions = "/|,#:@%!".chars().map(|mark| {
        format!(
            r"\x{:02x}{}\x{0:02x}(?:\\[^\n]|[^\\\n{mark}])*\x{0:02x}",
            u32::from(mark),
            regex(mark)
        )
    });
    let substitutions: Vec<String> = substitutions.collect();
    let substitution = format!("s(?:{})[gpiImM0-9]*", substitutions.join("|"));
    let address = format!(r"(?:[0-9]+|\$|/{}/I?)", regex('/'));
    let does = format!(r"(?:[pPdDnNgGhHxl=]|q[0-9]*|{substitution}) *(?:[;\n}}]|\z)");
    let command = format!(r"(?:{address} *(?:, *{address} *)?)?(?:! *)?(?:\{{|{does})");
    compile(&format!(r"\A(?:[ \t\n;}}]*{command})*[ \t\n;}}]*\z"))
});

fn compile(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the patterns are sound; a test uses each")
}

/// The code of a command that starts one of these programs.
pub(super) struct CodeReading {
    /// The indices of the words that are code.
    pub code: Vec<usize>,
    /// Options that change files, take code from one, or are unknown.
    others: Vec<usize>,
    only_prints: fn(&str) -> bool,
}

impl CodeReading {
    /// Splits a command; `None` if its program takes no code.
    pub(super) fn of(name: &str, command: &[String]) -> Option<Self> {
        let flags = facts("code", name).next()?;
        let (mut code, mut others, mut operand) = (Vec::new(), Vec::new(), None);
        let mut at = 1;
        while let Some(word) = command.get(at) {
            let letters = option_letters(name, word);
            let is_flag = |letter: char| flags.contains(letter);
            if word == "-" || !word.starts_with('-') {
                operand.get_or_insert(at);
            } else if takes_next_word(name, word) && letters.chars().all(is_flag) {
                at += 1;
                let is_code = letters.ends_with('e') && at < command.len();
                code.extend(is_code.then_some(at));
            } else if word != "--"
                && (letters.is_empty() || letters.ends_with('e') || !letters.chars().all(is_flag))
            {
                others.push(at);
            }
            at += 1;
        }
        if code.is_empty() {
            code.extend(operand);
        }
        Some(Self {
            code,
            others,
            only_prints: if name.ends_with("sed") {
                |code| SED.is_match(code)
            } else {
                |code| !AWK_DOES_MORE.is_match(code)
            },
        })
    }

    /// Returns true if the words after the first `named` ones do more than print.
    pub(super) fn does_more(&self, command: &[String], named: usize) -> bool {
        let does_more = |at: &usize| *at >= named && !(self.only_prints)(&command[*at]);
        self.others.iter().any(|at| *at >= named) || self.code.iter().any(does_more)
    }
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
            "s/[]^]/x/",
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
        ] {
            assert!(!SED.is_match(script), "{script}");
        }
    }
}
