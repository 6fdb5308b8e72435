//! A transcript as Markdown, for a wiki or an issue.

use std::collections::HashMap;
use std::fmt::Write as _;

use jiff::tz::TimeZone;

use super::{Round, Transcript};
use crate::protocol::{Status, StepResult};
use crate::session::title;

/// How many characters of an output are shown.
const MAX_DETAIL: usize = 2_000;

/// Writes the transcript.
pub fn markdown(transcript: &Transcript) -> String {
    let mut text = format!("# {}\n\n", line(title(&transcript.task)));
    let state = if transcript.is_complete {
        "done"
    } else {
        "not finished"
    };
    let _ = writeln!(
        text,
        "Session `{}`, {state}, {} to {}.",
        transcript.id,
        day(transcript.created_at),
        day(transcript.updated_at)
    );
    if let Some(usage) = &transcript.usage {
        let _ = writeln!(text, "By an API: {usage}.");
    }
    if let Some(origin) = &transcript.forked_from {
        let _ = writeln!(
            text,
            "Forked from session `{}` after round {}.",
            origin.session, origin.round
        );
    }
    let _ = writeln!(text, "\n## Task\n\n{}", quote(&transcript.task));
    for round in &transcript.rounds {
        for further in transcript
            .further
            .iter()
            .filter(|one| one.sequence == round.number)
        {
            let _ = writeln!(text, "## The user\n\n{}", quote(&further.text));
        }
        write_round(&mut text, round);
    }
    if let Some(summary) = &transcript.summary {
        let _ = writeln!(text, "## Summary\n\n{}", quote(summary));
    }
    text
}

fn write_round(text: &mut String, round: &Round) {
    let back = if round.is_undone { " (undone)" } else { "" };
    let _ = writeln!(text, "## Round {}{back}\n", round.number);
    if round.reply.is_none() && round.results.is_empty() {
        text.push_str("No reply yet.\n\n");
    }
    if let Some(usage) = &round.usage {
        let _ = writeln!(text, "By an API: {usage}.\n");
    }
    if !round.prose.trim().is_empty() {
        let _ = writeln!(text, "{}", quote(&round.prose));
    }
    for said in round.said_before_end() {
        let _ = writeln!(text, "**{}**\n\n{}", said.heading(), quote(&said.text));
    }
    for result in round.done() {
        write_result(text, result);
    }
    for issue in &round.issues {
        let _ = writeln!(text, "- **not understood** {}", line(&issue.message));
    }
    if !round.results.is_empty() || !round.issues.is_empty() {
        text.push('\n');
    }
    for answer in round.answers() {
        let _ = writeln!(text, "**The user answers**\n\n{}", quote(answer));
    }
    for note in round.own_notes() {
        let _ = writeln!(text, "**The user says**\n\n{}", quote(note));
    }
    if let Some(diff) = &round.diff {
        let _ = writeln!(text, "{}\n", fenced(diff, "diff"));
    }
}

fn write_result(text: &mut String, result: &StepResult) {
    let outcome = &result.outcome;
    let subject = if result.subject.is_empty() {
        String::new()
    } else {
        format!(" {}", code(&result.subject))
    };
    let _ = writeln!(
        text,
        "- **{}** {}{subject}: {}",
        outcome.status.label().to_lowercase(),
        line(result.verb()),
        line(&outcome.line("the user"))
    );
    let is_shown = outcome.status == Status::Failed || result.is_run();
    if is_shown && !outcome.detail.text.trim().is_empty() {
        let detail = super::middle_out(&outcome.detail.text, MAX_DETAIL);
        push_block(text, &detail, "text");
    }
}

/// A text of others as a quotation: its headings are not ours, nothing in it is HTML, nothing is
/// fetched from elsewhere, and links lead to web pages only.
///
/// Renderers disagree on where code begins and ends, and an escape inside of code is shown as it is.
/// So blocks of code are written anew between fences that nothing in them can close and that stand at
/// the beginning of a line, where every renderer knows them; code in a line becomes an element of our
/// own, and all else is written with entities: unlike a backslash, which another one takes back, an
/// entity is never markup.
fn quote(text: &str) -> String {
    let text = visible(text.trim());
    let mut quoted = String::new();
    let mut rows = text.lines();
    while let Some(row) = rows.next() {
        match CodeBlock::opened_by(row) {
            Some(fence) => {
                let code: Vec<&str> = rows
                    .by_ref()
                    .take_while(|row| !fence.is_closed_by(row))
                    .collect();
                push_block(&mut quoted, &code.join("\n"), fence.language);
            }
            None => push_quoted(&mut quoted, &prose(row)),
        }
    }
    quoted
}

fn push_quoted(quoted: &mut String, row: &str) {
    let space = if row.is_empty() { "" } else { " " };
    let _ = writeln!(quoted, ">{space}{row}");
}

/// Ends a quotation or a list with a block of code.
fn push_block(text: &mut String, code: &str, language: &str) {
    if !text.is_empty() && !text.ends_with("\n\n") {
        text.push('\n');
    }
    let _ = writeln!(text, "{}\n", fenced(code, language));
}

/// The opening of a code block.
struct CodeBlock<'a> {
    mark: char,
    length: usize,
    language: &'a str,
}

impl<'a> CodeBlock<'a> {
    fn opened_by(row: &'a str) -> Option<Self> {
        let row = row.trim();
        let mark = row
            .chars()
            .next()
            .filter(|first| matches!(first, '`' | '~'))?;
        let rest = row.trim_start_matches(mark);
        let length = row.len() - rest.len();
        // Backticks behind it make it code in a line.
        if length < 3 || rest.contains('`') {
            return None;
        }
        let language = rest.split_whitespace().next().unwrap_or_default();
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '+' | '#' | '.');
        Some(Self {
            mark,
            length,
            language: if language.chars().all(is_plain) {
                language
            } else {
                ""
            },
        })
    }

    fn is_closed_by(&self, row: &str) -> bool {
        let row = row.trim();
        row.len() >= self.length && row.chars().all(|c| c == self.mark)
    }
}

/// A row outside of blocks of code, in which emphasis, lists and links to web pages stay.
fn prose(row: &str) -> String {
    let mut written = String::with_capacity(row.len());
    let closers = last_runs(row);
    let mut rest = row;
    while let Some(next) = rest.chars().next() {
        if let Some((code, after)) = code_at_start(rest, row.len() - rest.len(), &closers) {
            written.push_str(&code);
            rest = after;
            continue;
        }
        // A run of backticks that nothing closes is none of the shorter ones.
        let (taken, after) = rest.split_at(run_at_start(rest).max(next.len_utf8()));
        rest = after;
        match next {
            '<' => written.push_str("&lt;"),
            '&' => written.push_str("&amp;"),
            '!' if rest.starts_with('[') => written.push_str("&#33;"),
            ']' if rest.starts_with(':') => written.push_str("&#93;"),
            ']' if rest.starts_with('(') && !leads_to_a_web_page(&rest[1..]) => {
                written.push_str("&#93;");
            }
            _ => written.push_str(taken),
        }
    }
    written
}

/// How many backticks a text begins with.
fn run_at_start(text: &str) -> usize {
    text.len() - text.trim_start_matches('`').len()
}

/// Where the last run of backticks of each length begins, so that none is looked for in vain: a row
/// can be as long as a reply.
fn last_runs(row: &str) -> HashMap<usize, usize> {
    let mut runs = HashMap::new();
    let mut at = 0;
    while let Some(found) = row[at..].find('`') {
        at += found;
        let length = run_at_start(&row[at..]);
        runs.insert(length, at);
        at += length;
    }
    runs
}

/// Code in a line, if the text begins with it, and what follows it; the text begins at this place of
/// its row.
///
/// Where nothing in it could be taken for HTML or a link it stays as it is.
fn code_at_start<'a>(
    text: &'a str,
    place: usize,
    closers: &HashMap<usize, usize>,
) -> Option<(String, &'a str)> {
    let length = run_at_start(text);
    if length == 0 || *closers.get(&length)? <= place {
        return None;
    }
    let (marks, inner) = text.split_at(length);
    let mut from = 0;
    let end = loop {
        let at = from + inner[from..].find(marks)?;
        let run = run_at_start(&inner[at..]);
        if run == length {
            break at;
        }
        from = at + run;
    };
    let (code, after) = (&inner[..end], &inner[end + length..]);
    if !code.contains(['<', '&', '[', ']']) {
        return Some((format!("{marks}{code}{marks}"), after));
    }
    let mut element = "<code>".to_owned();
    for character in code.trim_matches(' ').chars() {
        if character.is_ascii_punctuation() {
            let _ = write!(element, "&#{};", u32::from(character));
        } else {
            element.push(character);
        }
    }
    element.push_str("</code>");
    Some((element, after))
}

/// True if the text after `](` is the plain address of a web page and nothing else.
fn leads_to_a_web_page(behind: &str) -> bool {
    let Some((address, _)) = behind.split_once(')') else {
        return false;
    };
    let host = (address.strip_prefix("https://")).or_else(|| address.strip_prefix("http://"));
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._~:/?#@!$+,;=%".contains(c);
    host.is_some_and(|host| !host.is_empty() && host.chars().all(is_plain))
}

/// A text without what a terminal would obey and nobody would see.
fn visible(text: &str) -> String {
    let mut visible = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' | '\t' => visible.push(character),
            '\r' => {}
            hidden if super::is_hidden(hidden) => visible.extend(hidden.escape_unicode()),
            other => visible.push(other),
        }
    }
    visible
}

/// A text on one line in which nothing is markup.
fn line(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '#' | '|' => {
                plain.push('\\');
                plain.push(character);
            }
            '\n' | '\r' => plain.push(' '),
            '&' => plain.push_str("&amp;"),
            hidden if super::is_hidden(hidden) => plain.extend(hidden.escape_unicode()),
            other => plain.push(other),
        }
    }
    plain
}

fn code(text: &str) -> String {
    let fence = "`".repeat(longest_run(text) + 1);
    let text = visible(&text.replace(['\n', '\r'], " "));
    if fence.len() > 1 {
        format!("{fence} {text} {fence}")
    } else {
        format!("{fence}{text}{fence}")
    }
}

fn fenced(text: &str, language: &str) -> String {
    let fence = "`".repeat((longest_run(text) + 1).max(3));
    format!("{fence}{language}\n{}\n{fence}", visible(text.trim_end()))
}

fn longest_run(text: &str) -> usize {
    let (mut longest, mut current) = (0, 0);
    for byte in text.bytes() {
        current = if byte == b'`' { current + 1 } else { 0 };
        longest = longest.max(current);
    }
    longest
}

fn day(at: jiff::Timestamp) -> String {
    let at = at.to_zoned(TimeZone::system());
    at.strftime("%Y-%m-%d %H:%M").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_wrote_is_no_markup_of_ours() {
        assert_eq!(line("a*b*\n# c"), "a\\*b\\* \\# c");
        assert_eq!(line("&lt;b> \u{1b}c"), "&amp;lt;b\\> \\u{1b}c");
        assert_eq!(quote("# Heading\n\n- x"), "> # Heading\n>\n> - x\n");
        assert_eq!(fenced("a\u{1b}[2Jb", "text"), "```text\na\\u{1b}[2Jb\n```");
        assert_eq!(code("a`b\u{9b}"), "`` a`b\\u{9b} ``");
        assert_eq!(fenced("```\nx", "text"), "````text\n```\nx\n````");
        assert_eq!(
            quote("a\u{202e}\u{200b}\u{e0041}b ❤\u{fe0f} 👩\u{200d}🔬"),
            "> a\\u{202e}\\u{200b}\\u{e0041}b ❤\u{fe0f} 👩\u{200d}🔬\n"
        );
    }

    #[track_caller]
    fn row(written: &str, expected: &str) {
        assert_eq!(quote(written), format!("> {expected}\n"), "{written}");
    }

    #[test]
    fn no_html_of_the_model_is_alive() {
        row("a <img src=x onerror=y>", "a &lt;img src=x onerror=y>");
        // A backslash in front must not take the escape back.
        row("\\<script>", "\\&lt;script>");
        row("\\\\<script>", "\\\\&lt;script>");
        row("&lt;b>", "&amp;lt;b>");
        // Code that one renderer sees and another does not.
        row("a ` b <b> ``", "a ` b &lt;b> ``");
        row("\\`<b>\\`", "\\<code>&#60;b&#62;&#92;</code>");
        row("`Vec<u8>` and `x`", "<code>Vec&#60;u8&#62;</code> and `x`");
        row("``a ` <b>`` c", "<code>a &#96; &#60;b&#62;</code> c");
    }

    #[test]
    fn links_lead_to_web_pages_and_images_are_not_fetched() {
        row("[a](https://x.org/y?z=1)", "[a](https://x.org/y?z=1)");
        row("![a](https://x.org/y)", "&#33;[a](https://x.org/y)");
        for address in [
            "javascript:alert(1)",
            "JavaScript:alert(1)",
            "java&#115;cript:alert(1)",
            " javascript:alert(1)",
            "<javascript:alert(1)>",
            "data:text/html,x",
            "https://x\" onclick=\"y",
            "vbscript:x",
            "file:///etc/passwd",
        ] {
            let quoted = quote(&format!("[a]({address})"));
            assert!(quoted.starts_with("> [a&#93;("), "{quoted}");
        }
        row("[a]: javascript:x", "[a&#93;: javascript:x");
        row("- [ ] a[0] b", "- [ ] a[0] b");
    }

    #[test]
    fn blocks_of_code_stay_and_close_where_we_say() {
        assert_eq!(
            quote("a\n  ```html\n<b>\n````\n<i>"),
            "> a\n\n```html\n<b>\n```\n\n> &lt;i>\n"
        );
        // What is never closed is closed by us, with a fence that nothing in it can be.
        assert_eq!(quote("~~~ x<y\n```\n<b>"), "````\n```\n<b>\n````\n\n");
        assert_eq!(quote("``` `<b>"), "> ``` `&lt;b>\n");
    }

    /// The parts that a renderer would interpret: HTML, images, and links that lead to no web page.
    fn alive(text: &str) -> Vec<String> {
        use pulldown_cmark::{Event, Options, Parser, Tag};
        let leads_elsewhere = |to: &str| !(to.starts_with("https://") || to.starts_with("http://"));
        let mut alive = Vec::new();
        for event in Parser::new_ext(text, Options::all()) {
            match event {
                Event::Html(html) | Event::InlineHtml(html)
                    if !matches!(&*html, "<code>" | "</code>") =>
                {
                    alive.push(html.into_string());
                }
                Event::Start(Tag::Image { dest_url, .. }) => alive.push(dest_url.into_string()),
                Event::Start(Tag::Link { dest_url, .. }) if leads_elsewhere(&dest_url) => {
                    alive.push(dest_url.into_string());
                }
                _ => {}
            }
        }
        alive
    }

    #[test]
    fn the_attack_works_without_the_escapes() {
        for text in [
            "<b>",
            "![a](https://x)",
            "[a](javascript:x)",
            "[a]\n\n[a]: javascript:x",
        ] {
            assert!(!alive(text).is_empty(), "{text}");
        }
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(2_000))]
        #[test]
        fn nothing_of_the_model_is_alive_for_a_renderer(
            text in r"(<script>|<b x=y>|<!--|-->|<\?|&lt;|\\|`{1,4}|~~~|[!\[\]()<>:&]|\[a\](\(|: )(javascript:x|https://x|data:x)\)?|\]\(|[ ab>-]|    |\n|\n\n|\n> |\n- |\n1\. |\|){1,25}"
        ) {
            let found = alive(&format!("{}\n- x: {} {}\n", quote(&text), line(&text), code(&text)));
            proptest::prop_assert!(found.is_empty(), "{:?} in\n{}", found, quote(&text));
        }
    }
}
