//! From which tags on only whole commands stand, up to the end mark.
//!
//! There a command whose closing tag is missing can be told from a body about this protocol, which
//! would go on as text.

use super::super::{Kind, TagLine};
use crate::line::is_blank_or_fence;
use crate::work;

/// The opening tags below which only whole commands stand.
pub(super) struct CleanTags {
    /// Of each tag: the first such tag, itself included; the number of tags where there is none.
    next: Vec<usize>,
}

impl CleanTags {
    /// Looks at all tags of a text, from the last to the first.
    pub(super) fn of(list: &[TagLine<'_>], lines: &[&str]) -> Self {
        let mut is_clean = vec![false; list.len()];
        let mut next = vec![list.len(); list.len()];
        let mut below = list.len();
        for at in (0..list.len()).rev() {
            is_clean[at] = match &list[at].kind {
                Kind::End(_) => at + 1 == list.len() && ends_text(lines, &list[at]),
                Kind::Open { .. } => after_whole(list, at).is_some_and(|next| {
                    let from = list[next - 1].line + 1;
                    is_clean.get(next) == Some(&true) && all_blank(&lines[from..list[next].line])
                }),
                _ => false,
            };
            // An end mark alone is no command to go on with.
            if is_clean[at] && matches!(list[at].kind, Kind::Open { .. }) {
                below = at;
            }
            next[at] = below;
        }
        Self { next }
    }

    /// The places in the list of such tags, from this place on.
    pub(super) fn from(&self, at: usize) -> impl Iterator<Item = usize> {
        let known = |at: usize| self.next.get(at).copied();
        let first = known(at).filter(|at| *at < self.next.len());
        std::iter::successors(first, move |at| {
            work::count(1);
            known(at + 1).filter(|at| *at < self.next.len())
        })
    }
}

/// The place in the list after the command that begins at `at`, if that is whole.
fn after_whole(list: &[TagLine<'_>], at: usize) -> Option<usize> {
    let Kind::Open { name, inline, .. } = &list[at].kind else {
        return None;
    };
    let next = at + 1;
    let closes = list
        .get(next)
        .is_some_and(|tag| matches!(&tag.kind, Kind::Close { name: other, .. } if other == name));
    match (inline, closes) {
        (None, true) => Some(next + 1),
        (Some(_), _) => Some(next),
        (None, false) => (!name.needs_body()).then_some(next),
    }
}

/// Returns true if this is an end mark with nothing below it.
pub(super) fn ends_text(lines: &[&str], tag: &TagLine<'_>) -> bool {
    matches!(tag.kind, Kind::End(_)) && all_blank(&lines[tag.line + 1..])
}

/// Returns true if only blank lines and fences stand here.
pub(super) fn all_blank(lines: &[&str]) -> bool {
    let mut passed = lines.iter().inspect(|_| work::count(1));
    passed.all(|line| is_blank_or_fence(line))
}
