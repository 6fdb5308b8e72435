//! The person's changes since the last message, as a diff: as many whole files as fit, and the
//! names of the others.

use super::budget::{Claim, Rank};
use super::content::fenced;
use super::cuts::Cuts;
use super::{Section, chars};

const HEADING: &str = "\n## Changed by the User, Not by You\n";

/// The most characters of the diff: the files themselves can be read.
const MOST: usize = 2_500;

/// How long the names of the files may be together whose changes are not shown, in characters.
const NAMES: usize = 400;

/// The room for the words around the names.
const AROUND_NAMES: usize = 120;

/// The section about files that the person changed. It is worth its room: a model that does not know
/// of these changes undoes them.
pub(super) struct Changed<'a> {
    whole: &'a str,
    /// The changes, one text for each file.
    files: Vec<&'a str>,
    /// Notes of the diff itself about what it left out.
    left_out: Vec<&'a str>,
}

/// A diff in the form that git gives, which may end with words about what it lacks.
pub(super) fn section(diff: &str) -> Changed<'_> {
    let (mut files, mut left_out) = (Vec::new(), Vec::new());
    let (mut start, mut at) = (0, 0);
    for line in diff.split_inclusive('\n') {
        // No line of a diff begins so but one of ours.
        let is_word = line.starts_with("[TRUNCATED: ");
        if is_word || line.starts_with("diff --git ") {
            files.push(&diff[start..at]);
            start = at;
        }
        at += line.len();
        if is_word {
            left_out.push(line);
            start = at;
        }
    }
    files.push(&diff[start..]);
    files.retain(|file| !file.is_empty());
    Changed {
        whole: diff,
        files,
        left_out,
    }
}

impl Changed<'_> {
    /// The section in so much room, and whether all of it is there; empty where there is no room
    /// for a word.
    fn within(&self, room: usize) -> (String, bool) {
        let whole = format!("{HEADING}{}\n", fenced(self.whole));
        if chars(&whole) <= room {
            return (whole, true);
        }
        let frame = chars(&whole) - chars(self.whole);
        let words: usize = self.left_out.iter().map(|word| chars(word)).sum();
        let mut left = room.saturating_sub(frame + words + NAMES + AROUND_NAMES);
        let (mut shown, mut names) = (String::new(), Vec::new());
        for file in &self.files {
            match left.checked_sub(chars(file)) {
                Some(rest) => {
                    shown.push_str(file);
                    left = rest;
                }
                None => names.push(name(file)),
            }
        }
        shown.extend(self.left_out.iter().copied());
        shown.push_str(&not_shown(&names));
        let mut text = format!("{HEADING}{}\n", fenced(&shown));
        if chars(&text) > room {
            text.clear();
        }
        (text, false)
    }
}

/// The file that a part of a diff is about.
fn name(file: &str) -> &str {
    let first = file.lines().next().unwrap_or_default();
    first.rsplit(" b/").next().unwrap_or_default()
}

fn not_shown(names: &[&str]) -> String {
    let mut used = 0;
    let is_short = |name: &&&str| {
        used += chars(name) + 2;
        used <= NAMES
    };
    let told: Vec<&str> = names.iter().take_while(is_short).copied().collect();
    let more = match (names.len() - told.len(), told.len()) {
        (0, _) => String::new(),
        (more, 0) => format!("{more} files"),
        (more, _) => format!(" and {more} more"),
    };
    format!(
        "[TRUNCATED: what was changed in these is not shown, READ_FILE shows them as they are: {}{more}]\n",
        told.join(", ")
    )
}

impl Section for Changed<'_> {
    fn claims(&self) -> Vec<Claim> {
        if self.whole.is_empty() {
            return Vec::new();
        }
        let (need, _) = self.within(MOST);
        let need = chars(&need);
        let words: usize = self.left_out.iter().map(|word| chars(word)).sum();
        let frame = chars(HEADING) + chars(&fenced(self.whole)) + 1 - chars(self.whole);
        vec![Claim {
            rank: Rank::Success,
            need,
            least: need.min(frame + words + NAMES + AROUND_NAMES),
        }]
    }

    fn fit(&self, rooms: &[usize], cuts: &mut Cuts) -> String {
        let Some(room) = rooms.first() else {
            return String::new();
        };
        let (text, is_whole) = self.within((*room).min(MOST));
        if !is_whole {
            cuts.push("some of what you changed".to_owned());
        }
        cuts.tells_changes = !text.is_empty();
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, lines: usize) -> String {
        let line = format!("+{}\n", "x".repeat(19));
        format!("diff --git a/{name} b/{name}\n{}", line.repeat(lines))
    }

    fn fit(diff: &str, room: usize) -> (String, Cuts) {
        let mut cuts = Cuts::default();
        let text = section(diff).fit(&[room], &mut cuts);
        assert!(chars(&text) <= room, "{text}");
        (text, cuts)
    }

    #[test]
    fn a_short_one_is_shown_as_it_is() {
        let diff = file("a", 3);
        let (text, cuts) = fit(&diff, 10_000);
        assert_eq!(text, format!("{HEADING}```\n{diff}```\n"));
        assert!(cuts.words.is_empty() && cuts.tells_changes);
        assert!(section("").claims().is_empty());
    }

    #[test]
    fn of_a_long_one_whole_files_are_shown_and_the_others_named() {
        let sizes = [10, 200, 10, 10].into_iter().cycle().take(30);
        let files = sizes
            .enumerate()
            .map(|(number, lines)| file(&format!("f{number}.py"), lines));
        let diff = files.collect::<Vec<_>>().concat() + "[TRUNCATED: 7 more changes]\n";
        let (text, cuts) = fit(&diff, 10_000);
        assert!(chars(&text) <= MOST, "{}", chars(&text));
        let shown: Vec<usize> = (0..30)
            .filter(|number| text.contains(&format!("b/f{number}.py\n")))
            .collect();
        assert!(shown.starts_with(&[0, 2, 3, 4, 6]), "{shown:?}");
        for number in (0..30).filter(|number| !shown.contains(number)) {
            let name = format!("f{number}.py");
            assert!(text.contains(&name), "{name}: {text}");
        }
        assert!(
            text.contains("[TRUNCATED: 7 more changes]\n[TRUNCATED: what was"),
            "{text}"
        );
        assert_eq!(cuts.words, ["some of what you changed"]);
    }

    #[test]
    fn very_many_are_counted_and_where_nothing_fits_it_says_that_nothing_is_told() {
        let files = (0..300).map(|number| file(&format!("directory/file{number}.py"), 200));
        let diff = files.collect::<Vec<_>>().concat();
        let (text, cuts) = fit(&diff, 10_000);
        assert!(
            text.contains("file0.py, ") && text.contains(" more]\n"),
            "{text}"
        );
        assert!(cuts.tells_changes);
        let least = section(&diff).claims()[0].least;
        assert!(fit(&diff, least).1.tells_changes);
        let (text, cuts) = fit(&diff, 100);
        assert!(text.is_empty() && !cuts.tells_changes && !cuts.words.is_empty());
    }
}
