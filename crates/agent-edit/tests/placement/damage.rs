//! The damage that chat pages, copying and models do to a reply, as functions of its text.

/// A name and the damage itself.
pub(crate) type TextDamage = (&'static str, fn(&str) -> String);

pub(crate) const DAMAGES: [TextDamage; 55] = [
    ("CRLF", |text| text.replace('\n', "\r\n")),
    ("lone CR", |text| text.replace('\n', "\r")),
    ("CRLF doubled", |text| text.replace('\n', "\r\r\n")),
    ("every line doubled", |text| text.replace('\n', "\n\n")),
    ("blank lines lost", |text| {
        lines(text, |line| !line.trim().is_empty(), str::to_owned)
    }),
    ("blank lines doubled", |text| text.replace("\n\n", "\n\n\n")),
    ("final newline lost", |text| text.trim_end().to_owned()),
    ("trailing space", |text| {
        each(text, |line| format!("{line} "))
    }),
    ("trailing tab", |text| {
        each(text, |line| format!("{line}\t"))
    }),
    ("trailing space lost", |text| {
        each(text, |line| line.trim_end().to_owned())
    }),
    ("no-break spaces", |text| text.replace(' ', "\u{a0}")),
    ("no-break indentation", |text| {
        each(text, |line| {
            indented(line, |blank| blank.replace(' ', "\u{a0}"))
        })
    }),
    ("every other space no-break", |text| {
        text.replace("  ", "\u{a0} ")
    }),
    ("figure spaces", |text| {
        text.replace("  ", "\u{2007}\u{2007}")
    }),
    ("wide spaces", |text| {
        text.replace("    ", "\u{3000}\u{3000}")
    }),
    ("zero width at line ends", |text| {
        text.replace('\n', "\u{200b}\n")
    }),
    ("zero width at line starts", |text| {
        each(text, |line| format!("\u{200b}{line}"))
    }),
    ("zero width in words", |text| text.replace('_', "_\u{200b}")),
    ("byte order mark", |text| format!("\u{feff}{text}")),
    ("word joiners", |text| text.replace("--", "-\u{2060}-")),
    ("tabs to 4 blanks", |text| text.replace('\t', "    ")),
    ("tabs to 8 blanks", |text| text.replace('\t', "        ")),
    ("4 blanks to a tab", |text| text.replace("    ", "\t")),
    ("4 blanks to 2", |text| {
        each(text, |line| {
            indented(line, |blank| blank.replace("    ", "  "))
        })
    }),
    ("indentation lost", |text| {
        each(text, |line| line.trim_start().to_owned())
    }),
    ("white space collapsed", |text| {
        each(text, |line| {
            line.split_whitespace().collect::<Vec<_>>().join(" ")
        })
    }),
    ("indented by 4", |text| {
        each(text, |line| format!("    {line}"))
    }),
    ("indented by a tab", |text| {
        each(text, |line| format!("\t{line}"))
    }),
    ("in a list item", |text| {
        let indented = each(text, |line| format!("  {line}"));
        format!("- {}", indented.trim_start())
    }),
    ("quoted", |text| each(text, |line| format!("> {line}"))),
    ("quoted without a space", |text| {
        each(text, |line| format!(">{line}"))
    }),
    ("quoted twice", |text| {
        each(text, |line| format!("> > {line}"))
    }),
    ("curly double quotes", |text| text.replace('"', "\u{201d}")),
    ("curly single quotes", |text| text.replace('\'', "\u{2019}")),
    ("curly pairs", curly_pairs),
    ("long dashes", |text| text.replace("--", "\u{2014}")),
    ("ellipses", |text| text.replace("...", "\u{2026}")),
    ("entities", |text| {
        entities(text).replace('"', "&quot;").replace('\'', "&#39;")
    }),
    ("entities of angles", entities),
    ("entities of spaces", |text| {
        text.replace("  ", "&nbsp;&nbsp;")
    }),
    ("backslashes", |text| {
        let escaped = text.replace('_', "\\_").replace('*', "\\*");
        escaped.replace('[', "\\[").replace(']', "\\]")
    }),
    ("in a longer fence", |text| {
        format!("Here:\n\n``````\n{text}``````\n")
    }),
    ("in tildes", |text| format!("~~~~~~\n{text}~~~~~~\n")),
    ("fences lost", |text| {
        lines(text, |line| !line.starts_with("```"), str::to_owned)
    }),
    ("copy button", |text| {
        text.replace("\n```diff", "\ndiff\nCopy code\n```diff")
            .replace("\n```rust", "\nrust\nCopy code\n```rust")
    }),
    ("numbered", |text| {
        numbered(text, |number| format!("{number}: "))
    }),
    ("numbered with a bar", |text| {
        numbered(text, |number| format!("{number:>4} | "))
    }),
    ("thinking before it", |text| {
        format!("<think>\nI could write [DONE] here.\n</think>\n\n{text}")
    }),
    ("wrapped at 72", |text| each(text, |line| wrapped(line, 72))),
    ("wrapped at 80", |text| each(text, |line| wrapped(line, 80))),
    ("broken at 80", |text| each(text, |line| broken(line, 80))),
    ("one blank at line starts lost", |text| {
        each(text, |line| {
            line.strip_prefix(' ').unwrap_or(line).to_owned()
        })
    }),
    ("indentation to one blank", |text| {
        each(text, |line| {
            indented(line, |blank| " ".repeat(blank.len().min(1)))
        })
    }),
    ("cut", |text| {
        let mut end = text.len() * 9 / 10;
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text[..end].to_owned()
    }),
    ("pasted twice", |text| format!("{text}\n{text}")),
];

fn lines(text: &str, keep: fn(&str) -> bool, write: impl Fn(&str) -> String) -> String {
    let kept = text.lines().filter(|line| keep(line));
    kept.map(|line| write(line) + "\n").collect()
}

fn each(text: &str, write: impl Fn(&str) -> String) -> String {
    lines(text, |_| true, write)
}

fn indented(line: &str, blanks: fn(&str) -> String) -> String {
    let body = line.trim_start();
    blanks(&line[..line.len() - body.len()]) + body
}

fn numbered(text: &str, number: fn(usize) -> String) -> String {
    let lines = (1..).zip(text.lines());
    lines.map(|(at, line)| number(at) + line + "\n").collect()
}

fn curly_pairs(text: &str) -> String {
    let mut is_open = false;
    let curl = |character: char| match character {
        '"' => {
            is_open = !is_open;
            if is_open { '\u{201c}' } else { '\u{201d}' }
        }
        '\'' => '\u{2019}',
        other => other,
    };
    text.chars().map(curl).collect()
}

fn entities(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

/// Breaks a line at the last space before a column, as terminals and editors do.
fn wrapped(line: &str, width: usize) -> String {
    let mut rest = line;
    let mut broken = String::new();
    while rest.chars().count() > width {
        let limit = rest
            .char_indices()
            .nth(width)
            .map_or(rest.len(), |(at, _)| at);
        let Some(space) = rest[..limit]
            .rfind(' ')
            .filter(|at| !rest[..*at].trim().is_empty())
        else {
            break;
        };
        broken.push_str(&rest[..space]);
        broken.push('\n');
        rest = &rest[space + 1..];
    }
    broken + rest
}

/// Breaks a line at a column, wherever that is.
fn broken(line: &str, width: usize) -> String {
    let characters: Vec<char> = line.chars().collect();
    let parts: Vec<String> = characters.chunks(width).map(String::from_iter).collect();
    parts.join("\n")
}

/// The text without what damage may leave in new lines: space and blank lines, kinds of quotes and
/// dashes, entities, backslashes, invisible characters.
pub(crate) fn essence(text: &str) -> String {
    let mut plain = text.to_owned();
    for (damaged, whole) in [
        ("\u{201c}", "\""),
        ("\u{201d}", "\""),
        ("\u{2019}", "'"),
        ("\u{2014}", "--"),
        ("\u{2026}", "..."),
        ("&nbsp;", " "),
        ("&quot;", "\""),
        ("&#39;", "'"),
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&amp;", "&"),
        ("\\", ""),
        ("\u{200b}", ""),
        ("\u{2060}", ""),
        ("\u{feff}", ""),
    ] {
        plain = plain.replace(damaged, whole);
    }
    let lines = plain
        .lines()
        .map(|line| line.split_whitespace().collect::<String>());
    let filled: Vec<String> = lines.filter(|line| !line.is_empty()).collect();
    filled.join("\n")
}
