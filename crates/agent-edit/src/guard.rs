//! Keeps a model from dropping code without a word.
//!
//! A chat likes to write "rest of the code unchanged" where code should stand. Written into a file
//! that would delete what it stands for. Words of English tell it, and so does a remark of any
//! language in the place of definitions or of the end of a body.

use std::cell::OnceCell;
use std::collections::HashSet;
use std::ops::Range;

use super::Refusal;
use super::align::{DiffBlock, align};
use super::anchor::{DEFINITIONS, MODIFIERS};
use super::fold::{self, is_among, is_blank};
use super::refuse::shortened;

/// Files up to this many lines may be overwritten by anything.
const SMALL: usize = 40;

/// The first omission placeholder, such as `// ... existing code ...`, that the new text has and
/// the old one does not.
fn omission(old: &str, new: &str) -> Option<String> {
    let is_known = line_lookup(old.lines());
    let mut placeholders = new.lines().filter(|line| is_placeholder(line));
    let omitted = placeholders.find(|line| !is_known(line));
    omitted.map(|line| line.trim().to_owned())
}

/// The first line of a new content for a file that stands for lines which the file has and the
/// content does not: a placeholder, a bare `...`, or a remark such as `// rest of the code`.
///
/// A remark may be one: it counts only where it stands in the place of lines. A bare `...` below a
/// line that opens a block is also Python: it must stand in the place of more lines than are new.
pub fn omission_in_file(old: &str, new: &str) -> Option<String> {
    omission(old, new).or_else(|| {
        let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
        let sign = sign_in_place(&old, &new, |_| true)?;
        Some(sign.trim().to_owned())
    })
}

/// The first new line that stands for the old ones in whose place it is, by each rule if none before it
/// finds one that `is_new`.
fn sign_in_place<'t>(
    old: &[&str],
    new: &[&'t str],
    is_new: impl Fn(&&str) -> bool,
) -> Option<&'t str> {
    let sign = omission_in_place(old, new).filter(&is_new);
    let sign = sign.or_else(|| remark_for_lines(old, new).filter(&is_new));
    sign.or_else(|| remark_on_lost_name(old, new).filter(is_new))
}

/// The first remark of a new text that stands where definitions of the old one were, or several lines
/// at the end of a body, in whatever words or language: `# 其余代码保持不变`.
///
/// It has no line of code directly below it, and the indentation of the outermost definition that is
/// nowhere any more, where nothing new is defined, or that of a body which loses more lines than are
/// new. Or lines below it use a value that only lines in its place assigned. More code must be lost there
/// than is new, and a line that was made a comment is none. Markdown has headings that look like remarks.
fn remark_for_lines<'t>(old: &[&str], new: &[&'t str]) -> Option<&'t str> {
    let is_known = line_lookup(old.iter().copied());
    let is_remark = |line: &str| {
        let is_text = line.contains(char::is_alphanumeric);
        is_text && is_comment_line(line) && !is_known(line)
    };
    let is_markdown = || old.iter().any(|line| line.starts_with("```"));
    if !new.iter().any(|line| is_remark(line)) || is_markdown() {
        return None;
    }
    let old: Vec<&str> = (old.iter().copied())
        .filter(|line| !is_blank(line))
        .collect();
    // Where each line stands shows which remark is attached to the line below it.
    let (places, new): (Vec<usize>, Vec<&str>) = (new.iter().copied().enumerate())
        .filter(|(_, line)| !is_blank(line))
        .unzip();
    let (old_names, new_names) = (defined_names(&old), defined_names(&new));
    let is_attached = attached_to_code(&new, &places);
    let code = |lines: &[&str]| lines.iter().filter(|line| !is_comment_line(line)).count();
    align(&old, &new).into_iter().find_map(|block| {
        let (replaced, written) = (&old[block.old.clone()], &new[block.new.clone()]);
        if code(replaced) <= code(written) {
            return None;
        }
        let lost_names = lost_names(&old, block.old.clone(), &new_names);
        let is_lost = |at: &usize| {
            let name = defined_name(&old, *at);
            name.is_some_and(|name| lost_names.contains(name))
        };
        let lost = block.old.clone().filter(is_lost);
        // `hosts:` opens a setting of YAML, `def save():` is none.
        let is_setting = lost.clone().all(|at| is_key(old[at]));
        let outermost = lost.map(|at| indent(old[at])).min();
        let is_new =
            |at: usize| defined_name(&new, at).is_some_and(|name| !old_names.contains(name));
        let is_whole = block.new.start == 0 && block.new.end == new.len();
        let outermost = outermost.filter(|_| !is_whole && !block.new.clone().any(is_new));
        let ends_body = |at: usize, depth: usize| {
            let of_depth =
                |lines: &[&str]| lines.iter().filter(|line| indent(line) == depth).count();
            depth > 0 && at + 1 == new.len() && of_depth(replaced) > of_depth(written)
        };
        let is_sign = |at: &usize| {
            let depth = indent(new[*at]);
            let is_meant = *at == 0
                || !is_remark(new[*at])
                || (is_setting && is_unset(&new[..block.new.end], *at, &lost_names))
                || tells_of_removal(new[*at])
                || is_commented_out(new[*at], replaced);
            let below = &new[*at + 1..block.new.end];
            let is_below = |line: &&str| !is_comment_line(line) && indent(line) >= depth;
            let is_heading = || below.iter().any(is_below);
            let is_in_place = !is_attached[*at]
                && (outermost == Some(depth) || ends_body(*at, depth))
                && !is_heading();
            let is_in_body = depth > 0 && uses_lost_value(replaced, &new, *at);
            !is_meant && (is_in_place || is_in_body)
        };
        block.new.clone().find(is_sign).map(|at| new[at])
    })
}

/// Tells of each line whether code stands directly below it and the remarks that follow it.
fn attached_to_code(lines: &[&str], places: &[usize]) -> Vec<bool> {
    let mut is_attached = vec![false; lines.len()];
    for at in (0..lines.len().saturating_sub(1)).rev() {
        // ` * text` and ` */` stand one column further to the right than what follows.
        let depth = indent(lines[at]) - usize::from(is_inside_comment(lines[at]));
        let is_next = places[at] + 1 == places[at + 1] && indent(lines[at + 1]) >= depth;
        is_attached[at] = is_next && (!is_comment_line(lines[at + 1]) || is_attached[at + 1]);
    }
    is_attached
}

/// The first remark that says of a definition that it stays, in the place of that definition: `# save
/// is not changed`, and of several in a docstring: `Methods unchanged.`
///
/// It has no other words than those of such a remark, the names that are lost and, outside of English,
/// those around its sign; and no new code stands directly below it, which it would be about.
fn remark_on_lost_name<'t>(old: &[&str], new: &[&'t str]) -> Option<&'t str> {
    const STAYS: &str = "as before,as in the original,as now,as they are,as is,as it was,as it is,\
        no change,not changed,omitted,same as,the same,unchanged,unmodified,untouched";
    const OTHER_STAYS: &str = "inchangé,sin cambios,unverändert,不变";
    const FILLERS: &str = "in nothing original removed they untouched";
    const ALL: &str = "body class classes code everything functions imports methods others rest";
    let is_known = line_lookup(old.iter().copied());
    let has = |text: &str, phrases: &str| phrases.split(',').any(|phrase| text.contains(phrase));
    let says_so = |line: &str| {
        let line = line.trim();
        let is_docstring = line.starts_with("\"\"\"") || line.starts_with("'''");
        let lower = line.to_lowercase();
        (is_docstring || is_comment_line(line))
            && !is_known(line)
            && (has(&lower, STAYS) || has(&lower, OTHER_STAYS))
    };
    if !new.iter().any(|line| says_so(line)) {
        return None;
    }
    let defined = defined_names(new);
    align(old, new).into_iter().find_map(|block| {
        let lost = lost_names(old, block.old, &defined);
        let is_about = |sentence: &str| {
            let is_all = |word: &str| is_among(ALL, &word.to_lowercase());
            let is_filler = |word: &str| {
                let word = word.to_lowercase();
                is_among(WORDS, &word) || is_among(FILLERS, &word)
            };
            let is_foreign = || has(&sentence.to_lowercase(), OTHER_STAYS);
            fold::words(sentence).any(|word| lost.contains(word) || is_all(word))
                && (is_foreign()
                    || fold::words(sentence).all(|word| lost.contains(word) || is_filler(word)))
        };
        let is_sign = |at: &usize| {
            let line = new[*at];
            let is_heading = is_comment_line(line) && is_above_code(&new[*at..block.new.end]);
            says_so(line) && !is_heading && line.split(". ").any(is_about)
        };
        let mut written = block.new.clone();
        let sign = written.find(|at| !lost.is_empty() && is_sign(at));
        sign.map(|at| new[at])
    })
}

/// The names that some of the old lines define and no new one does.
fn lost_names<'t>(
    old: &[&'t str],
    lines: Range<usize>,
    defined: &HashSet<&str>,
) -> HashSet<&'t str> {
    let names = lines.filter_map(|at| defined_name(old, at));
    names.filter(|name| !defined.contains(name)).collect()
}

fn defined_names<'t>(lines: &[&'t str]) -> HashSet<&'t str> {
    let names = (0..lines.len()).filter_map(|at| defined_name(lines, at));
    names.collect()
}

/// Returns true if the comment `at` is, or stands below, a setting that is not set: `# hosts:`. One that
/// is lost may only have been left out, unless what stands below it is a setting too.
fn is_unset(lines: &[&str], at: usize, lost: &HashSet<&str>) -> bool {
    let is_value = |line: &&str| {
        let (core, _) = uncommented(line);
        let is_pair = || (core.split_once(": ")).is_some_and(|(key, _)| !key.contains(' '));
        is_comment_line(line) && (core.starts_with("- ") || is_pair())
    };
    let comments = lines[..=at].iter().enumerate().rev();
    let mut comments = comments.take_while(|(_, line)| is_comment_line(line));
    comments.any(|(at, comment)| {
        let (key, _) = uncommented(comment);
        let has_value = || lines.get(at + 1).is_some_and(is_value);
        is_key(key) && (has_value() || !fold::words(key).any(|word| lost.contains(word)))
    })
}

/// Returns true if a line is a word and a colon.
fn is_key(line: &str) -> bool {
    let key = line.trim().strip_suffix(':');
    key.is_some_and(|key| fold::words(key).count() == 1 && !key.contains(char::is_whitespace))
}

/// Returns true if a comment is one of these lines that was made a comment.
fn is_commented_out(comment: &str, lines: &[&str]) -> bool {
    /// A shorter line may begin a sentence.
    const LEAST: usize = 8;
    let (core, _) = uncommented(comment);
    let mut lines = lines.iter().map(|line| line.trim());
    lines.any(|line| core == line || line.len() >= LEAST && core.starts_with(line))
}

/// Returns true if a line is one of a block comment, or its end: ` * text`.
fn is_inside_comment(line: &str) -> bool {
    line.starts_with(char::is_whitespace) && line.trim_start().starts_with('*')
}

/// Characters that turn a following `=` into another operator.
const OPERATORS: [char; 12] = ['!', '<', '>', '+', '-', '*', '/', '%', '|', '&', '^', '='];

/// Returns true if lines below the remark at `at`, in its block, use a value that lost lines assigned
/// and no new one does.
fn uses_lost_value(lost: &[&str], new: &[&str], at: usize) -> bool {
    let has = |line: &str, name: &str| fold::words(line).any(|word| word == name);
    let (above, below) = new.split_at(at + 1);
    let is_inside = |line: &&&str| indent(line) >= indent(new[at]);
    let below = below.iter().take_while(is_inside);
    lost.iter()
        .filter_map(|line| assigned_name(line))
        .any(|name| {
            let mut uses = below.clone().filter(|line| has(line, name));
            // The first line with it may assign it: `name = 1`, `for name in`, `as name`, `&name`.
            let binds = |line: &str| {
                let assignment = line
                    .split_once('=')
                    .filter(|(_, right)| !right.starts_with('='));
                let left = assignment.map_or("", |(left, _)| left);
                let is_assigned = has(left, name) && !left.ends_with(OPERATORS);
                let mut words = fold::words(line);
                words.any(|word| is_among("for as in lambda with match catch case", word))
                    || is_assigned
                    || line.contains(['|', '&'])
            };
            !above.iter().any(|line| has(line, name))
                && uses.next().is_some_and(|line| !binds(line))
        })
}

/// The name to which a line assigns a value that does not depend on what it was before.
fn assigned_name(line: &str) -> Option<&str> {
    let (left, right) = line.split_once('=')?;
    let is_assignment = !right.starts_with(['=', '>', '~'])
        && !left.ends_with(OPERATORS)
        && !left.contains(['.', '(', '[', '"', '\'']);
    // `let count: u8`, `int count`, `count :`
    let left = left.split(':').next().unwrap_or(left);
    let name = fold::words(left).next_back()?;
    let is_new = !fold::words(right).any(|word| word == name);
    (is_assignment && is_new && !is_comment_line(line)).then_some(name)
}

/// Words that open a body and define nothing.
const CONTROL: &str = "if else elif for foreach while do loop match switch case when default try catch \
    except finally with return yield await throw raise unless until begin then end";

/// The name of what a line defines, if lines below are its body: `Store` of `class Store(Base):`.
/// Conditions and loops define nothing.
fn defined_name<'l>(lines: &[&'l str], at: usize) -> Option<&'l str> {
    const OTHERS: &str = "record object proc defp defmodule macro protocol extension let var local \
        data partial readonly";
    let line = lines[at];
    let below = lines[at + 1..].iter().take(2);
    let mut below = below.skip_while(|line| line.trim() == "{");
    let has_body = below.next().is_some_and(|next| indent(next) > indent(line));
    if !has_body
        || is_comment_line(line)
        || line.trim_start().starts_with(['-', '*', '+', '}', ')'])
    {
        return None;
    }
    let first = fold::words(line).next();
    if first.is_none_or(|first| is_among(CONTROL, first)) {
        return None;
    }
    let called = line
        .split_once('(')
        .and_then(|(head, _)| fold::words(head).next_back());
    let known = [MODIFIERS, DEFINITIONS, OTHERS];
    let is_name = |word: &&str| !known.iter().any(|words| is_among(words, word));
    called.or_else(|| fold::words(line).find(is_name))
}

/// How deep a line is indented.
fn indent(line: &str) -> usize {
    fold::indentation(line).len()
}

/// Returns true if a line is nothing but a comment. `#include` and `--flag` are none.
pub(super) fn is_comment_line(line: &str) -> bool {
    let line = line.trim();
    let (core, is_comment) = uncommented(line);
    let is_apart = || {
        let rest = line.trim_start_matches(['#', '-', ';', '%']);
        !line.starts_with("##") && rest.starts_with(|c: char| c == ' ' || !c.is_ascii())
    };
    is_comment && !core.is_empty() && (!line.starts_with(['#', '-', ';', '%']) || is_apart())
}

/// Returns true if a remark says that something is gone on purpose: `# moved to store.py`.
fn tells_of_removal(line: &str) -> bool {
    const WORDS: &str = "deleted dropped extracted migrated moved removed renamed replaced";
    parts(&line.to_lowercase()).any(|word| is_among(WORDS, word))
}

/// The first line of a new text that stands for lines of the old one which are not in it.
fn omission_in_place<'t>(old: &[&str], new: &[&'t str]) -> Option<&'t str> {
    if !(new.iter()).any(|line| stands_for_lines(line) || may_stand_for_lines(line)) {
        return None;
    }
    let filled = |lines: &[&str]| lines.iter().filter(|line| !is_blank(line)).count();
    let defined = defined_names(new);
    align(old, new).into_iter().find_map(|block| {
        let (lost, written) = (
            filled(&old[block.old.clone()]),
            filled(&new[block.new.clone()]),
        );
        let lost_names = lost_names(old, block.old.clone(), &defined);
        let end = block.new.end;
        let is_sign = |at: &usize| {
            let least = written + usize::from(is_body(new, *at));
            !(lost_names.is_empty() && is_heading(&new[*at..end]))
                && ((stands_for_lines(new[*at]) && lost >= least)
                    || (may_stand_for_lines(new[*at]) && lost > written))
        };
        block.new.into_iter().find(is_sign).map(|sign| new[sign])
    })
}

/// Returns true if the first of these new lines is the heading of the next: `# The rest`.
fn is_heading(lines: &[&str]) -> bool {
    let words = uncommented(lines[0]).0.to_lowercase();
    matches!(words.as_str(), "the rest" | "everything else" | "others") && is_above_code(lines)
}

/// Returns true if the first of these lines stands directly above code.
fn is_above_code(lines: &[&str]) -> bool {
    let [line, below, ..] = lines else {
        return false;
    };
    indent(below) == indent(line)
        && below.contains(char::is_alphanumeric)
        && !is_comment_line(below)
}

/// Refuses an edit whose new lines have one that stands for others.
pub(super) fn refuse_omission(
    old: &[&str],
    new: &[&str],
    is_known: impl Fn(&str) -> bool,
) -> Result<(), Refusal> {
    let Some(placeholder) = omission_in_edit(old, new, is_known) else {
        return Ok(());
    };
    Err(Refusal::new(format!(
        "the new text has the placeholder `{}` instead of the code",
        shortened(placeholder, 80)
    ))
    .with_hint("write all lines out, or word it differently if it is a remark of its own"))
}

/// The first line of the new lines of an edit that stands for others: as in a file, or a bare `...`
/// that is no body of Python and no prompt of its shell. A line that `is_known` has is meant.
fn omission_in_edit<'t>(
    old: &[&str],
    new: &[&'t str],
    is_known: impl Fn(&str) -> bool,
) -> Option<&'t str> {
    let is_quoted = line_lookup(old.iter().copied());
    let is_new = |sign: &&str| !is_quoted(sign) && !is_known(sign);
    let is_bare = |at: usize| is_ellipsis(new[at]) && !is_body(new, at);
    let dots = (0..new.len()).filter(|at| is_placeholder(new[*at]) || is_bare(*at));
    let dots = dots.map(|at| new[at]).find(is_new);
    let sign = dots.or_else(|| sign_in_place(old, new, is_new));
    sign.map(str::trim)
}

/// A test whether a line is one of these, space at its ends aside.
pub(super) fn line_lookup<'t>(
    lines: impl Iterator<Item = &'t str> + Clone,
) -> impl Fn(&str) -> bool {
    let known: OnceCell<HashSet<&str>> = OnceCell::new();
    move |line: &str| {
        let known = known.get_or_init(|| lines.clone().map(str::trim).collect());
        known.contains(line.trim())
    }
}

/// Returns true if a bare `...` is the body of a block or a prompt of Python.
fn is_body(lines: &[&str], at: usize) -> bool {
    let above = lines[..at].iter().rfind(|line| !is_blank(line));
    let above = above.map_or("", |line| line.trim());
    let is_prompt = above.starts_with(">>>") || above.starts_with("...");
    lines[at].trim() == "..." && (above.ends_with([':', '"']) || is_prompt)
}

/// True if a line may stand for lines that somebody did not want to write.
fn stands_for_lines(line: &str) -> bool {
    const SIGNS: &str = "everything etc omitted truncated elided existing same rest remaining \
        remainder previous snip snipped unchanged";
    let line = line.trim();
    if is_elision(line.trim_matches(['[', ']', '(', ')', '{', '}', '<', '>'])) {
        return true;
    }
    // `pass  # unchanged`
    if let Some((_, remark)) = line.split_once(' ').filter(|(word, _)| *word == "pass") {
        return stands_for_lines(remark);
    }
    let (core, is_comment) = uncommented(line);
    let is_cut = || {
        let cut = core.trim_matches(['-', '=', ' ']);
        cut.len() < core.len() && matches!(cut, "8<" | ">8" | "\u{2702}")
    };
    if is_comment && is_ellipsis(core) || is_cut() {
        return true;
    }
    let is_framed =
        line.starts_with(['(', '[', '<', '-', '.', '\u{2026}', '*', '=']) || line.starts_with("{{");
    let words = core.to_lowercase();
    ((is_comment || is_framed) && is_remark(&words, SIGNS))
        // `# alpha and beta unchanged`
        || (is_comment && words.ends_with(" unchanged"))
}

/// Returns true if a line may stand for omitted ones. Many comments begin with `# Other`, and one with
/// `# ...` may go on from the line above, so it counts only where more lines are lost than written.
fn may_stand_for_lines(line: &str) -> bool {
    let (core, is_comment) = uncommented(line);
    let has_dots = || is_dots_at(core, core.trim_start_matches(DOTS));
    is_comment && (has_dots() || is_remark(&core.to_lowercase(), "keep other others"))
        || is_empty_body(line)
        // `# def save(path): ...`
        || (is_comment && core.ends_with("): ..."))
}

/// True if a line opens a body, or has an empty one, and a remark behind it stands for lines: `def
/// save(path):  # unchanged`.
fn is_empty_body(line: &str) -> bool {
    const ENDS: [&str; 6] = [":", "{", "...", "pass", "do", "then"];
    let marks = [" #", " //", " /*", " --"].iter();
    let mut remarks = marks.filter_map(|mark| Some(line.split_at(line.rfind(mark)?)));
    let first = fold::words(line).next().unwrap_or_default();
    let is_control = is_among(CONTROL, first);
    !is_control
        && remarks.any(|(code, remark)| {
            let code = code.trim();
            // `void f() { /* unchanged */ }`
            let remark = remark.trim().trim_end_matches('}');
            ENDS.iter().any(|end| code.ends_with(end)) && stands_for_lines(remark)
        })
}

/// True if words have one of these signs and otherwise only words of a placeholder.
fn is_remark(words: &str, signs: &str) -> bool {
    let mut each = parts(words);
    let has_phrase = ["no changes", "as above", "as before", "as is", "as it was"]
        .iter()
        .any(|phrase| words.contains(phrase));
    (has_phrase || each.clone().any(|word| is_among(signs, word)))
        && each.all(|word| {
            // `# 40 lines omitted`
            let is_number = word.bytes().all(|byte| byte.is_ascii_digit());
            is_number || is_among(signs, word) || is_among(WORDS, word)
        })
}

/// True if overwriting a file of over 40 lines leaves fewer than half as many.
///
/// Blank lines do not count. A rewrite of about the same size is no drop, whatever it changes.
pub fn drops_most(old: &str, new: &str) -> bool {
    let filled = |text: &str| text.lines().filter(|line| !is_blank(line)).count();
    old.lines().nth(SMALL).is_some() && filled(new) * 2 < filled(old)
}

/// Words that follow or precede the dots of a placeholder.
const OMITTED: &str = "existing,rest of,the rest,remaining,remainder,unchanged,as before,\
    previous code,other ,your code,omitted,no changes,stays the same,remains the same,\
    unmodified,same as";

/// How a placeholder without dots begins, and a word that it then has.
const BEGINNINGS: &str = "rest of,the rest,remaining ,remainder of,existing ,other ,all other,\
    same as before";
const ENDINGS: &str = "unchanged,the same,as before, here,omitted,as is,not changed,unmodified,\
    goes here";

/// Words with which a placeholder without dots ends, if it has words of its own before that.
const LAST_WORDS: [&str; 2] = ["unchanged", "goes here"];

/// The words of one that has none of its own. A comment about anything in particular has others.
const WORDS: &str = "the rest of this that your our all other others existing remaining remainder \
    previous original code file files function functions method methods class classes \
    module implementation logic body content contents imports tests fields lines stays \
    stay remains remain is are was it same as before above here goes unchanged \
    unmodified omitted for brevity not changed in and components handlers helpers props \
    properties routes options settings variables constants types definitions declarations \
    styles rules cases parameters arguments attributes columns entries keep keeps kept jsx html \
    css markup hooks state states providers middleware endpoints queries exports includes etc \
    no changes below from on further more everything else todo";

/// The characters of an ellipsis.
const DOTS: [char; 2] = ['.', '\u{2026}'];

/// True if a line stands for lines that somebody did not want to write.
///
/// A bare `...` is not one: it is Python.
pub(super) fn is_placeholder(line: &str) -> bool {
    const LONGEST: usize = 120;
    let line = line.trim();
    if line.len() > LONGEST || line.len() < 4 {
        return false;
    }
    let (core, is_comment) = uncommented(line);
    let core =
        core.trim_matches(|character: char| "[](){}<>".contains(character) || character == ' ');
    let begins = is_dots_at(core, core.trim_start_matches(DOTS));
    let ends = is_dots_at(core, core.trim_end_matches(DOTS));
    if !is_comment && (!begins || is_spread(core)) {
        return false;
    }
    let words = core.trim_matches([DOTS[0], DOTS[1], ' ']).to_lowercase();
    if words.is_empty() {
        return is_comment && begins;
    }
    let is_omitted = OMITTED.split(',').any(|phrase| words.contains(phrase));
    if begins {
        return is_omitted || (is_comment && ends);
    }
    if ends {
        // Many a remark about something that goes on ends so.
        return is_omitted && is_about_nothing(&words);
    }
    BEGINNINGS
        .split(',')
        .any(|beginning| words.starts_with(beginning))
        && ENDINGS.split(',').any(|ending| words.contains(ending))
        && is_about_nothing(&words)
}

/// True if a line that begins with dots is code: `...name` spreads a value in JavaScript and PHP.
///
/// Words in a row are no expression, and nothing is spread with dots behind it.
fn is_spread(line: &str) -> bool {
    const SIGNS: [char; 19] = [
        ',', ':', ';', '(', ')', '[', ']', '{', '}', '=', '<', '>', '$', '"', '`', '|', '&', '?',
        '!',
    ];
    let code = line.split("//").next().unwrap_or(line).trim_end();
    let value = code.trim_start_matches(DOTS);
    if value.ends_with(DOTS) {
        return false;
    }
    let is_attached = !value.starts_with(' ');
    let value = value.trim_start();
    if !value.contains(' ') {
        return is_attached || value.ends_with(',');
    }
    is_attached && (value.contains(SIGNS) || !is_about_nothing(&value.to_lowercase()))
}

/// True if a comment that sounds like a placeholder says nothing else.
fn is_about_nothing(words: &str) -> bool {
    LAST_WORDS.iter().any(|last| words.ends_with(last))
        || parts(words).all(|word| is_among(WORDS, word))
}

/// The words and numbers of a remark, of which a `_` is no part.
fn parts(text: &str) -> impl Iterator<Item = &str> + Clone {
    let parts = text.split(|character: char| !character.is_alphanumeric());
    parts.filter(|part| !part.is_empty())
}

/// True if what was trimmed off is an ellipsis.
fn is_dots_at(core: &str, trimmed: &str) -> bool {
    core.len() - trimmed.len() >= 3
}

/// A line without its comment marks, and whether it had any.
fn uncommented(line: &str) -> (&str, bool) {
    const MARKS: [(&str, &str); 9] = [
        ("{/*", "*/}"),
        ("/*", "*/"),
        ("<!--", "-->"),
        ("(*", "*)"),
        ("//", ""),
        ("#", ""),
        ("--", ""),
        (";", ""),
        ("%", ""),
    ];
    let line = line.trim();
    for (open, close) in MARKS {
        if let Some(rest) = line.strip_prefix(open) {
            let rest = rest.trim_start_matches(['/', '#', '-', ';', '*', '%']);
            return (rest.strip_suffix(close).unwrap_or(rest).trim(), true);
        }
    }
    (line, false)
}

/// True if a line of a SEARCH text may stand for lines that are left out of it.
pub(super) fn is_elision(line: &str) -> bool {
    is_ellipsis(line) || is_placeholder(line)
}

/// True if a line is nothing but three dots, however they are written.
fn is_ellipsis(line: &str) -> bool {
    let dots = line.trim().trim_end_matches(',');
    matches!(dots, "..." | ". . ." | "\u{2026}" | "\u{22ee}" | "\u{22ef}")
}

/// Returns true if a code block under the path of a file may show only a part of it: its lines are
/// a passage of the file, most lines of the file are not in it, an end of the file is missing, or it is
/// a script and they are none.
///
/// A file of a line or two is soon rewritten as a whole, and one of a few lines by a text that has
/// no word of it.
pub fn is_excerpt(old: &str, new: &str) -> bool {
    const TINY: usize = 4;
    const FEW: usize = 8;
    fn filled(text: &str) -> Vec<&str> {
        let lines = text.lines().map(str::trim);
        lines.filter(|line| !line.is_empty()).collect()
    }
    let (old, new) = (filled(old), filled(new));
    if new.is_empty() || old == new {
        return false;
    }
    // What a script prints stands under its path too.
    let is_output = old.first().is_some_and(|line| line.starts_with("#!"))
        && !new.iter().any(|line| line.starts_with("#!"));
    let is_passage = old.len() > 2 && old.windows(new.len()).any(|passage| passage == new);
    let known: HashSet<&str> = new.iter().copied().collect();
    let kept = old.iter().filter(|line| known.contains(*line)).count();
    let is_replaced = match old.len() {
        0..TINY => new.len() >= old.len(),
        TINY..FEW => words(&old).is_disjoint(&words(&new)),
        _ => false,
    };
    let is_other = kept * 2 < old.len() && !is_replaced;
    is_output || is_passage || is_other || lacks_end(old, new)
}

fn words<'t>(lines: &[&'t str]) -> HashSet<&'t str> {
    let words = lines.iter().flat_map(|line| parts(line));
    words.filter(|word| word.len() > 2).collect()
}

/// Returns true if a fifth of a text or more is missing at its ends. Brackets alone prove no end.
fn lacks_end<'t>(mut old: Vec<&'t str>, mut new: Vec<&'t str>) -> bool {
    for lines in [&mut old, &mut new] {
        lines.retain(|line| line.contains(char::is_alphanumeric));
    }
    let blocks = align(&old, &new);
    let is_end = |block: &&DiffBlock| block.old.start == 0 || block.old.end == old.len();
    let missing = |block: &DiffBlock| block.old.len().saturating_sub(block.new.len());
    let missing: usize = blocks.iter().filter(is_end).map(missing).sum();
    missing > 1 && missing * 5 >= old.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_seen_in_all_languages() {
        for line in [
            "// ...",
            "    # ...",
            "// ... existing code ...",
            "# ... rest of the code unchanged ...",
            "# rest of the code unchanged",
            "/* ... */",
            "<!-- ... existing markup ... -->",
            "{/* ... other components ... */}",
            "-- ... remaining columns",
            "... existing code ...",
            "[... rest of the file ...]",
            "// \u{2026} existing code \u{2026}",
            "// The rest remains the same",
            "// existing code here",
            "/// ... same as before",
            "// remaining methods unchanged",
            "# other tests for the parser remain unchanged",
            "// Rest of your implementation goes here",
            "# the rest of the file is omitted for brevity.",
            "...existing code...",
            "...rest of the code",
            "{...other tests}",
            "...remaining imports and helpers...",
            "// rest of the code...",
            "// other handlers...",
            "# the existing functions remain unchanged...",
            "# ...existing code",
        ] {
            assert!(is_placeholder(line), "{line}");
        }
    }

    #[test]
    fn ordinary_lines_are_not_placeholders() {
        for line in [
            "...",
            "    ...",
            "def f(): ...",
            "f(...args)",
            "...rest",
            "// and so on...",
            "// waits for the rest of the reply",
            "# existing users keep their password",
            "let x = [1, 2, ...other];",
            "// ---",
            "loading...",
            "",
            "* other notes, see here",
            "# Existing users start here",
            "# remaining budget is computed here",
            "// Other threads wait here until x is set.",
            "// The rest is omitted by the parser",
            "# Other",
            "  ...existingUser,",
            "  ...remaining,",
            "... existing,",
            "{...existing}",
            "[...existing, ...other, rest]",
            "...(existing ?? {}),",
            "...existing, other,",
            "...this.other.existing,",
            "...other: Rest",
            "...$existing,",
            "...defaults, // as the existing ones...",
            "(...remaining) => remaining",
            "# Load the existing config...",
            "# Processing other files...",
            "// Waiting for the remaining workers...",
        ] {
            assert!(!is_placeholder(line), "{line}");
        }
    }

    #[test]
    fn a_placeholder_that_was_there_may_stay() {
        assert_eq!(omission("a\n  // ...\n", "b\n// ...\n"), None);
        assert_eq!(omission("a\n", "b\n  // ...\n").as_deref(), Some("// ..."));
    }

    #[test]
    fn what_stands_for_lines_is_seen_where_lines_are_lost() {
        let old = "import os\nimport sys\n\ndef f():\n    a()\n    b()\n\ndef g():\n    c()\n";
        for sign in [
            "...",
            "    ...",
            "\u{2026}",
            "(rest of methods ...)",
            "# existing imports",
            "// rest of the code",
            "--- snip ---",
            "[...]",
            "# remaining functions",
            "<rest of the file>",
            ". . .",
            "\u{22ee}",
            "# \u{22ee}",
            "# (code omitted for brevity)",
            "# [truncated]",
            "# No changes below",
            "# keep everything else",
            "# as above",
            "# ---- 8< ----",
            "--- >8 ---",
            "    pass  # unchanged",
            "# 40 lines omitted",
            "# other methods",
            "# your other imports",
            "// ... keep",
            "{{ rest }}",
        ] {
            let new = format!("import os\n{sign}\ndef g():\n    d()\n");
            assert_eq!(omission_in_file(old, &new).as_deref(), Some(sign.trim()));
        }
        for new in [
            "import os\n# the rest of the imports is sorted by isort\ndef g():\n    d()\n",
            "import os\nimport sys\n\ndef f():\n    a()\n    b()\n\ndef h():\n    ...\n\ndef g():\n    c()\n",
            "import os\n\ndef g():\n    c()\n",
            "# Other\nimport sys\n\ndef f():\n    a()\n    b()\n\ndef g():\n    c()\n",
            "import os\nimport sys\n\ndef f():\n    a()\n{ rest }\n\ndef g():\n    c()\n",
            "import os\n\ndef g():\n    pass  # nothing to do on other systems\n",
            "import os\nimport sys\n\ndef f():\n    a()\n    b()\n\ndef g():\n    ...\n",
        ] {
            assert_eq!(omission_in_file(old, new), None, "{new}");
        }
    }

    #[test]
    fn a_remark_where_definitions_vanish_is_an_omission_in_any_language() {
        let python = "import os\n\n\ndef load(path):\n    return open(path)\n\n\ndef report(all):\n    return all\n\n\nclass Store:\n    def open(self):\n        return self\n\n\ndef main():\n    return 0\n\n\nmain()\n";
        let (head, rest) = python.split_once("def report").unwrap();
        let head = head.replace("open(path)", "open(path).read()");
        let main = &rest[rest.find("def main").unwrap()..];
        for sign in [
            "# ... (unver\u{e4}ndert)",
            "# unver\u{e4}ndert",
            "# le reste du code reste inchang\u{e9}",
            "# \u{5176}\u{4f59}\u{4ee3}\u{7801}\u{4fdd}\u{6301}\u{4e0d}\u{53d8}",
            "# \u{5909}\u{66f4}\u{306a}\u{3057}",
            "#\u{7701}\u{7565}",
            "# Store class (unchanged)",
            "# report() and Store as before",
            "# not shown",
            "# leave as is",
            "# continue with existing code",
        ] {
            let new = format!("{head}{sign}\n\n\n{main}");
            assert_eq!(omission_in_file(python, &new).as_deref(), Some(sign));
            let new = format!("{head}{sign}\n");
            assert_eq!(omission_in_file(python, &new).as_deref(), Some(sign));
        }
        let yaml = "server:\n  port: 1\nlogging:\n  level: info\n";
        let new = "server:\n  port: 2\n# der Rest bleibt\n";
        assert!(omission_in_file(yaml, new).is_some());
        let js =
            "class A {\n  open() {\n    return 1;\n  }\n\n  close() {\n    return 2;\n  }\n}\n";
        let new = "class A {\n  open() {\n    return 3;\n  }\n\n  // wie gehabt\n}\n";
        assert_eq!(omission_in_file(js, new).as_deref(), Some("// wie gehabt"));
        for new in [
            format!("{head}{main}"),
            format!("{head}# Starts everything.\n{main}"),
            format!("{head}# Starts everything.\n# Twice.\n{main}"),
            format!("{head}# report was moved to report.py.\n\n\n{main}"),
            format!("{head}# Helpers\n\n\ndef summary(all):\n    return all\n\n\n{main}"),
            format!("{head}    # closed by the caller\n\n\n{main}"),
            "# A flat script.\n\nimport os\n\nprint(os.name)\n".to_owned(),
            "# Copyright\n\nprint(1)\n".to_owned(),
            python.replace("import os\n", "import os\n\n# Everything about reports.\n"),
        ] {
            assert_eq!(omission_in_file(python, &new), None, "{new}");
        }
        let total = "def total(self):\n    result = 0\n    for a in self.items:\n        result += a\n    return result\n";
        for sign in [
            "# same loop as before",
            "# wie bisher",
            "# \u{5faa}\u{73af}\u{4e0d}\u{53d8}",
            "# TODO: keep loop",
        ] {
            let new = format!("def total(self):\n    {sign}\n    return result * 2\n");
            assert_eq!(omission_in_file(total, &new).as_deref(), Some(sign));
        }
        for new in [
            "def total(self):\n    # Sums up.\n    return sum(self.items)\n",
            "def total(self):\n    # Sums up.\n    result = sum(self.items)\n    return result\n",
            "def total(self, result):\n    # It is known.\n    return result\n",
            "def total(self):\n    # Sums up.\n    for result in self.sums:\n        return result\n",
            "def total(self):\n    # Sums up.\n    return 0\n\ndef f(result):\n    return result\n",
        ] {
            assert_eq!(omission_in_file(total, new), None, "{new}");
        }
        let body = "def f():\n    a()\n    b()\n    c()\n    return 1\n";
        let new = "def f():\n    # ... (unver\u{e4}ndert)\n    return 2\n";
        assert!(omission_in_file(body, new).is_some());
        let c = "#include <a.h>\n\nint f() {\n  return 1;\n}\n\nint g() {\n  return 2;\n}\n";
        let new = "#include <a.h>\n\n#include <b.h>\n\nint g() {\n  return 2;\n}\n";
        assert_eq!(omission_in_file(c, new), None);
        let readme = "# Demo\n\n```py\ndef f():\n    pass\n```\n\nMore.\n";
        assert_eq!(
            omission_in_file(readme, "# Demo\n\n# Usage\n\nMore.\n"),
            None
        );
    }

    #[test]
    fn a_key_or_a_heading_in_the_place_of_a_definition_is_an_omission() {
        let old = "def load(path):\n    return 1\n\n\ndef save(path, data):\n    check(path)\n    write(path)\n\n\nclass Store:\n    def two(self):\n        return 2\n\n    def three(self):\n        return 3\n";
        let load = "def load(path):\n    return 1\n";
        let save = "def save(path, data):\n    check(path)\n    write(path)\n";
        let store = "class Store:\n    def two(self):\n        return 2\n\n    def three(self):\n        return 3\n";
        for new in [
            format!("{load}\n\n# save:\n\n\n{store}"),
            format!("{load}\n\n# save:\n# stays where it is in your file\n\n\n{store}"),
            format!("{load}\n\n# Everything else\nif __name__ == '__main__':\n    load('x')\n"),
            format!(
                "{load}\n\n{save}\n\nclass Store:\n    # two:\n    # three:\n    # both stay\n"
            ),
            format!("{load}\n\n# def save(path, data): ...\n\n\n{store}"),
            format!("{load}\n\n\"\"\"save as in the original\"\"\"\n\n\n{store}"),
            format!(
                "{load}\n\n{save}\n\nclass Store:\n    \"\"\"A store. Methods unchanged.\"\"\"\n"
            ),
        ] {
            assert!(omission_in_file(old, &new).is_some(), "{new}");
        }
        let moved = format!(
            "{load}\n\n# save moved to io.py; its behaviour is the same as before\n{store}"
        );
        assert_eq!(omission_in_file(old, &moved), None);
        let old = "def f(a, b):\n    if a == b:\n        log(a)\n        return 0\n    return 1\n";
        let new = "def f(a, b):\n    if a == b:  # unchanged\n        return 0\n    return 1\n";
        assert_eq!(omission_in_file(old, new), None);
    }

    #[test]
    fn a_heading_of_new_lines_and_a_setting_that_is_not_set_are_no_omissions() {
        let old = "sub decode {\n    my $self = shift;\n    # Nothing\n    warn 1;\n    warn 2;\n    warn 3;\n    return;\n}\n";
        let new =
            "sub decode {\n    my $self = shift;\n    # The rest\n    return substr $str, 1;\n}\n";
        assert_eq!(omission_in_file(old, new), None);
        let cut = "sub decode {\n    my $self = shift;\n    # The rest\n}\n";
        assert!(omission_in_file(old, cut).is_some());
        let old = "ingress:\n  enabled: true\n  hosts:\n    - a.example\n  tls:\n    - b.example\n";
        let new = "ingress:\n  enabled: true\n  # hosts:\n  #   - c.example\n";
        assert_eq!(omission_in_file(old, new), None);
    }

    #[test]
    fn a_remark_that_a_lost_definition_stays_is_an_omission_wherever_it_stands() {
        let load = "def load(path):\n    return open(path).read()\n";
        let save =
            "def save(path, data):\n    check(path)\n    write(path, data)\n    return True\n";
        let store = "class Store:\n    def get(self):\n        return 1\n";
        let old = format!("{load}\n\n{save}\n\n{store}");
        for remark in [
            "# save as is\n",
            "# save unchanged\n",
            "# save is not changed, nothing removed\n",
            "# the code of save (not changed)\n",
            "# save(): wie bisher, unverändert\n",
            "def save(path, data):  # unchanged\n",
            "def save(path, data): ...  # unchanged\n",
            "def save(path, data):\n    pass  # as before\n",
            "def save(path, data):\n    ...  # body unchanged\n",
        ] {
            for gap in ["", "\n\n"] {
                let new = format!("{load}\n\n{remark}{gap}{store}");
                assert!(omission_in_file(&old, &new).is_some(), "{new}");
            }
            let (old, new): (Vec<&str>, Vec<&str>) =
                (save.lines().collect(), remark.lines().collect());
            assert!(
                omission_in_edit(&old, &new, |_| false).is_some(),
                "{remark}"
            );
        }
        let first = format!("# imports and load as is\n\n{store}");
        assert!(omission_in_file(&old, &first).is_some());
        let docstring = "class Store:\n    \"\"\"A store. Methods unchanged.\"\"\"\n";
        assert!(omission_in_file(store, docstring).is_some());
        for new in [
            format!("{load}\n\n# writing was moved to the caller, as before\n\n\n{store}"),
            format!("{load}\n\n# save is unchanged, and stands below\n{store}\n\n{save}"),
            format!(
                "{load}\n\n{save}\n\nclass Store:  # the interface is unchanged\n    def get(self):\n        return 1\n"
            ),
        ] {
            assert_eq!(omission_in_file(&old, &new), None, "{new}");
        }
    }

    #[test]
    fn a_remark_that_explains_is_no_omission() {
        let old = "#include <a.h>\n\nint next(void) {\n  int b;\n  b = NEXT;\n  if (b == EOF)\n    return -1;\n  skip();\n  return b;\n}\n\nint main(void) {\n  run();\n  return next();\n}\n";
        let with = |from: &str, to: &str| {
            let new = old.replacen(from, to, 1);
            assert_ne!(new, old);
            new
        };
        for new in [
            with(
                "int next(void) {\n  int b;\n  b = NEXT;\n  if (b == EOF)\n    return -1;\n  skip();\n  return b;\n}\n\nint main",
                "/* ------------------------- */\n\n/*\n * Starts everything.\n */\nint main",
            ),
            with(
                "int next(void) {\n  int b;\n  b = NEXT;\n  if (b == EOF)\n    return -1;\n  skip();\n  return b;\n}\n",
                "// Reading\n\nextern int next(void);\n",
            ),
        ] {
            assert_eq!(omission_in_file(old, &new), None, "{new}");
        }
        let cut = with(
            "int next(void) {\n  int b;\n  b = NEXT;\n  if (b == EOF)\n    return -1;\n  skip();\n  return b;\n}\n",
            "// next() reads as it did\n",
        );
        assert!(omission_in_file(old, &cut).is_some());
        let python = "def a():\n    return 1\n\n\ndef b():\n    return 2\n";
        let new = "def a():\n    return 1\n\n\n# def b():\n#     return 2\n";
        assert_eq!(omission_in_file(python, new), None);
        let old = [
            "  skip();",
            "  b = NEXT;",
            "  if (b == EOF)",
            "    return -1;",
        ];
        let new = [
            old[0],
            "  /* Reads one. */",
            "  if ((b = NEXT) == EOF)",
            old[3],
        ];
        assert_eq!(omission_in_edit(&old, &new, |_| false), None);
        let new = [old[0], "  /* as it was */", old[2], old[3]];
        assert!(omission_in_edit(&old, &new, |_| false).is_some());
    }

    #[test]
    fn dots_outside_of_a_block_stand_for_any_line() {
        let old = "{\n  \"port\": 3000,\n  \"debug\": false\n}\n";
        for dots in ["...", "...,", "\u{2026}"] {
            let new = format!("{{\n  \"debug\": true,\n  {dots}\n}}\n");
            assert_eq!(omission_in_file(old, &new).as_deref(), Some(dots));
        }
        let stub = "def f():\n    pass\n";
        assert_eq!(omission_in_file(stub, "def f():\n    ...\n"), None);
        assert_eq!(omission_in_file("a: 1\n", "a: 1\n...\n"), None);
    }

    #[test]
    fn an_excerpt_is_no_file() {
        assert!(is_excerpt(
            "#!/bin/sh\nset -e\nrun x\n",
            "hello\nworld\nx\n"
        ));
        assert!(!is_excerpt(
            "#!/bin/sh\nset -e\nrun x\n",
            "#!/usr/bin/python3\nimport os\nmain()\n"
        ));
        let readme = "# Demo\n\nA small demo.\n\n## Usage\n\nRun `a`.\n\n## Licence\n\nMIT\n";
        let go = "package main\n\nimport \"fmt\"\n\nfunc main() {\n\tfor i := 0; i < 3; i++ {\n\t\tfmt.Println(i)\n\t}\n}\n";
        let rust = "fn a() -> u8 {\n    1\n}\n\nfn b() -> u8 {\n    2\n}\n";
        let json = "{\n  \"port\": 3000,\n  \"debug\": false\n}\n";
        let lines = |range: std::ops::RangeInclusive<u8>| {
            let all: Vec<String> = range.map(|line| format!("line {line}\n")).collect();
            all.concat()
        };
        let numbered = lines(1..=35);
        let first = lines(1..=18);
        let last = lines(11..=35);
        for (old, part) in [
            (readme, "## Usage\n\nRun `b`.\n"),
            (
                go,
                "func main() {\n\tfor i := 0; i < 5; i++ {\n\t\tfmt.Println(i)\n\t}\n}\n",
            ),
            (rust, "fn b() -> u8 {\n    3\n}\n"),
            (rust, "fn c() -> u8 {\n    3\n}\n"),
            (json, "\"debug\": true\n"),
            (json, "\"port\": 3000,\n\"debug\": true\n"),
            (&numbered, &first.replace("line 4\n", "fourth\n")),
            (&numbered, &last.replace("line 14\n", "fourteenth\n")),
        ] {
            assert!(is_excerpt(old, part), "{part}");
        }
        for (old, whole) in [
            (readme, readme.replace("`a`", "`b`")),
            (
                go,
                go.replace("i < 3", "i < 5")
                    .replace("import \"fmt\"\n\n", ""),
            ),
            (rust, rust.replace("fn a", "pub fn a")),
            (json, json.replace("false", "true")),
            (
                json,
                "{\n  \"port\": 1,\n  \"debug\": true,\n  \"host\": 2\n}\n".to_owned(),
            ),
            (
                &numbered,
                numbered
                    .replace("line 1\nline 2\n", "")
                    .replace("line 9", "ninth"),
            ),
            ("old\n", "new\n".to_owned()),
            ("Some text:\n```\nQuote!\n```\n", "Updated\n".to_owned()),
        ] {
            assert!(!is_excerpt(old, &whole), "{whole}");
        }
    }

    #[test]
    fn a_long_file_is_not_cut_to_a_stub() {
        let long = "line\n".repeat(41);
        assert!(drops_most(&long, &"line\n".repeat(20)));
        assert!(!drops_most(&long, &"other\n".repeat(21)));
        assert!(!drops_most(&"line\n".repeat(40), ""));
    }

    #[test]
    fn remarks_in_the_place_of_lines_are_omissions() {
        let old = "import os\nimport sys\nimport json\n\ndef f():\n    return 1\n";
        for sign in [
            "// existing imports",
            "# existing imports",
            "# (existing imports)",
            "/* existing imports */",
            "# Existing imports here",
            "# keep existing imports",
            "# existing imports and helpers",
            "# your existing imports",
            "# previous imports",
            "# imports stay the same",
            "# same imports as before",
            "# imports unchanged",
            "# os, sys and json unchanged",
            "{/* existing JSX */}",
            "-- existing columns",
            "<!-- existing content -->",
            "# --- existing imports ---",
        ] {
            let new = format!("{sign}\n\ndef f():\n    return 2\n");
            assert!(omission_in_file(old, &new).is_some(), "{sign}");
        }
        for remark in [
            "# existing users keep their tokens",
            "# imports are sorted",
            "# the rest of the day",
        ] {
            let new = format!("{remark}\n\ndef f():\n    return 2\n");
            assert_eq!(omission_in_file(old, &new), None, "{remark}");
        }
    }
}
