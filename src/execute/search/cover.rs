//! Keeps a search from showing parts of what must not be shown: half a token at the edge of a long
//! line, or one line of a private key, which does not tell by itself what it is.
//!
//! A secret that is alone and whole in a line that is shown whole is left to the caller that shows it.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use grep_matcher::Matcher;
use grep_regex::RegexMatcher;

use super::{Hit, MAX_LINE_CHARS, Position, around};
use crate::protocol::RelPath;

/// A part of a text that must not be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hidden {
    /// Where it stands.
    pub range: Range<usize>,
    /// The text that is shown in its place.
    pub cover: String,
    /// True if it can be recognised by itself, without the rest of the text.
    pub is_alone: bool,
}

/// Tells what must not be shown of the text of a file, in its order.
pub type Hide<'a> = dyn Fn(&RelPath, &str) -> Vec<Hidden> + 'a;

/// Covers in the lines of hits what must not be shown.
pub(super) fn cover(
    hits: &mut BTreeMap<Position, Hit>,
    matcher: &RegexMatcher,
    hide: &Hide<'_>,
    text_of: &dyn Fn(&RelPath) -> Option<String>,
) {
    let paths: BTreeSet<RelPath> = hits.keys().map(|(path, _)| path.clone()).collect();
    for path in paths {
        let Some(text) = text_of(&path) else {
            continue;
        };
        let hidden = hide(&path, &text);
        if hidden.is_empty() {
            continue;
        }
        let file = File::new(&text, &hidden);
        for ((_, number), hit) in hits.range_mut((path.clone(), 0)..=(path, u64::MAX)) {
            file.cover(*number, &mut hit.text, matcher);
            for (number, line) in hit.before.iter_mut().chain(&mut hit.after) {
                file.cover(*number, line, matcher);
            }
        }
    }
}

/// Combines the secrets of a file by its real name with those by the name that is shown, in their
/// order. The caller that shows the file knows only the second name, so the first cannot be left to it.
pub(super) fn both(real: Vec<Hidden>, by_name: Vec<Hidden>) -> Vec<Hidden> {
    let real: Vec<Hidden> = (real.into_iter())
        .map(|hidden| Hidden {
            is_alone: false,
            ..hidden
        })
        .collect();
    let is_apart = |other: &Hidden| {
        let after = real.partition_point(|hidden| hidden.range.end <= other.range.start);
        (real.get(after)).is_none_or(|hidden| other.range.end <= hidden.range.start)
    };
    let more: Vec<Hidden> = by_name.into_iter().filter(is_apart).collect();
    let mut all: Vec<Hidden> = real.into_iter().chain(more).collect();
    all.sort_by_key(|hidden| hidden.range.start);
    all
}

/// A file that has something to hide.
struct File<'a> {
    text: &'a str,
    lines: Vec<Range<usize>>,
    hidden: &'a [Hidden],
}

impl<'a> File<'a> {
    fn new(text: &'a str, hidden: &'a [Hidden]) -> Self {
        let mut start = 0;
        let lines = text.split_inclusive('\n').map(|line| {
            let begin = start;
            start += line.len();
            begin..begin + line.trim_end_matches(['\n', '\r']).len()
        });
        Self {
            text,
            lines: lines.collect(),
            hidden,
        }
    }

    /// Covers what must not be shown in the line of this number, if something must not.
    fn cover(&self, number: u64, shown: &mut String, matcher: &RegexMatcher) {
        let index = usize::try_from(number).ok().and_then(|n| n.checked_sub(1));
        let Some(line) = index.and_then(|index| self.lines.get(index)) else {
            return;
        };
        let first = (self.hidden).partition_point(|hidden| hidden.range.end <= line.start);
        let hidden = self.hidden[first..].iter();
        let hidden = hidden.take_while(|hidden| hidden.range.start < line.end);
        let is_told = |hidden: &Hidden| {
            hidden.is_alone && line.start <= hidden.range.start && hidden.range.end <= line.end
        };
        let is_short = self.text[line.clone()]
            .chars()
            .nth(MAX_LINE_CHARS)
            .is_none();
        if hidden.clone().all(is_told) && is_short {
            return;
        }
        let mut covered = String::new();
        let mut written = line.start;
        for hidden in hidden {
            let (start, end) = (
                hidden.range.start.max(written),
                hidden.range.end.min(line.end),
            );
            if start < end {
                covered.push_str(&self.text[written..start]);
                covered.push_str(&hidden.cover);
                written = end;
            }
        }
        if written > line.start {
            covered.push_str(&self.text[written..line.end]);
            let at = matcher.find(covered.as_bytes()).ok().flatten();
            *shown = around(covered.as_bytes(), at.map_or(0, |place| place.start()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::stage::stage;
    use super::super::super::{Execution, Limits};
    use super::*;
    use crate::protocol::{Command, SeenFiles, Step};

    fn hidden(range: Range<usize>, is_alone: bool) -> Hidden {
        Hidden {
            range,
            cover: "[hidden]".to_owned(),
            is_alone,
        }
    }

    fn found(text: &str, pattern: &str, hide: &Hide<'_>) -> String {
        let stage = stage(&[("a.txt", text)]);
        let (limits, mut seen) = (Limits::default(), SeenFiles::default());
        let step = Step {
            command: Command::SearchText {
                pattern: pattern.to_owned(),
                path: None,
                glob: None,
                regex: false,
                case_sensitive: true,
                context: 1,
            },
            number: 1,
            line: 1,
        };
        let execution = Execution::begin(&stage.workspace, &limits, &mut seen, &[]);
        execution.hiding(Some(hide)).step(&step).detail.text
    }

    #[test]
    fn nothing_hidden_is_shown_in_part() {
        let line = format!(
            "{} token-{} here {}",
            "x".repeat(60),
            "y".repeat(300),
            "z".repeat(300)
        );
        let start = line.find("token").unwrap();
        let hide = move |_: &RelPath, _: &str| vec![hidden(start..start + 306, true)];
        for pattern in ["xx", "token", "yyy", "here"] {
            let shown = found(&line, pattern, &hide);
            assert!(!shown.contains("token") && !shown.contains("yy"), "{shown}");
        }
        assert!(found(&line, "here", &hide).contains("[hidden] here zz"));
    }

    #[test]
    fn what_the_real_name_tells_is_covered_too() {
        let mut alone = vec![hidden(2..5, true), hidden(20..25, true)];
        let all = both(
            alone.clone(),
            vec![hidden(4..8, true), hidden(10..12, true)],
        );
        alone[0].is_alone = false;
        alone[1].is_alone = false;
        assert_eq!(
            all,
            [alone[0].clone(), hidden(10..12, true), alone[1].clone()]
        );
        assert_eq!(both(Vec::new(), vec![hidden(1..2, true)]).len(), 1);
    }

    #[test]
    fn what_tells_by_itself_is_left_in_a_short_line_and_the_line_of_a_key_is_not() {
        let text = "one\nkey=12345\nlast\n";
        let hide = |is_alone| move |_: &RelPath, _: &str| vec![hidden(8..13, is_alone)];
        assert!(found(text, "one", &hide(true)).contains("\n  2- key=12345"));
        assert!(found(text, "one", &hide(false)).contains("\n  2- key=[hidden]"));
        assert!(found(text, "12", &hide(false)).contains("2: key=[hidden]"));
    }
}
