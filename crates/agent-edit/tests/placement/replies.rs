//! Whole replies in every form of edit, as they are and damaged in 55 ways: read, then carried out.
//!
//! The text that comes out is known. What differs from it in more than space, kinds of quotes and the
//! like, and neither the reader nor the edit said a word about, is wrong in silence.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use agent_edit::{
    drops_most, is_excerpt, omission_in_file, patch, replace, replace_lines, restore_copy,
};
use agent_protocol::{Command, ContentSource, Edit, FileChange, Level, RelPath};
use agent_reply::parse;

use crate::damage::{DAMAGES, essence};
use crate::known::{
    KnownEdit, Random, Spacing, Tally, applied, cases, joined, known_edits, seed, texts,
};

const PATH: &str = "src/some_part.rs";

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum ReplyForm {
    TaggedBlocks,
    Blocks,
    DiffRightNumbers,
    DiffWrongNumbers,
    DiffNoNumbers,
    BeginPatch,
    LineRange,
    WholeFile,
    FileUnderPath,
}

const FORMS: [ReplyForm; 9] = [
    ReplyForm::TaggedBlocks,
    ReplyForm::Blocks,
    ReplyForm::DiffRightNumbers,
    ReplyForm::DiffWrongNumbers,
    ReplyForm::DiffNoNumbers,
    ReplyForm::BeginPatch,
    ReplyForm::LineRange,
    ReplyForm::WholeFile,
    ReplyForm::FileUnderPath,
];

/// A file, changes of it, and the text that they make of it.
struct KnownReply<'t> {
    lines: Vec<&'t str>,
    edits: Vec<KnownEdit>,
    expected: String,
}

impl<'t> KnownReply<'t> {
    fn new(text: &'t str, form: ReplyForm, random: &mut Random) -> Option<Self> {
        let lines: Vec<&str> = text.lines().collect();
        let spacing = match random.below(3) {
            0 => Spacing::Apart,
            _ => Spacing::Overlapping,
        };
        let mut edits = known_edits(&lines, spacing, random);
        if form == ReplyForm::LineRange {
            edits.retain(|edit| !edit.old.is_empty());
            edits.truncate(1);
        }
        let expected = applied(&lines, edits.iter());
        (!edits.is_empty()).then_some(Self {
            lines,
            edits,
            expected,
        })
    }

    /// The reply of a model that makes these changes; nothing if its numbers would lead elsewhere.
    fn written(&self, form: ReplyForm, random: &mut Random) -> Option<String> {
        Some(match form {
            ReplyForm::TaggedBlocks => {
                let blocks: String = self.edits.iter().map(|edit| self.block(edit)).collect();
                framed(&format!(
                    "[EDIT_FILE path=\"{PATH}\"]\n{blocks}[/EDIT_FILE]\n"
                ))
            }
            ReplyForm::Blocks => {
                let fenced = |edit| format!("{PATH}\n```rust\n{}```\n\n", self.block(edit));
                let blocks: String = self.edits.iter().map(fenced).collect();
                format!("I change it:\n\n{blocks}")
            }
            ReplyForm::DiffRightNumbers
            | ReplyForm::DiffWrongNumbers
            | ReplyForm::DiffNoNumbers => {
                let mut hunks = String::new();
                let mut moved = 0;
                for edit in &self.edits {
                    hunks += &self.header(edit, form, moved, random)?;
                    hunks += &self.hunk(edit);
                    moved += signed(edit.new.len()) - signed(edit.old.len());
                }
                format!("The change:\n\n```diff\n--- a/{PATH}\n+++ b/{PATH}\n{hunks}```\n")
            }
            ReplyForm::BeginPatch => {
                let hunks = self
                    .edits
                    .iter()
                    .map(|edit| format!("@@\n{}", self.hunk(edit)));
                let hunks: String = hunks.collect();
                format!("*** Begin Patch\n*** Update File: {PATH}\n{hunks}*** End Patch\n")
            }
            ReplyForm::LineRange => {
                let edit = &self.edits[0];
                framed(&format!(
                    "[EDIT_FILE path=\"{PATH}\" start_line=\"{}\" end_line=\"{}\"]\n{}[/EDIT_FILE]\n",
                    edit.old.start + 1,
                    edit.old.end,
                    joined(&edit.new)
                ))
            }
            ReplyForm::WholeFile => framed(&format!(
                "[CREATE_FILE path=\"{PATH}\"]\n{}[/CREATE_FILE]\n",
                self.expected
            )),
            ReplyForm::FileUnderPath => {
                format!(
                    "The whole file:\n\n`{PATH}`:\n```rust\n{}```\n",
                    self.expected
                )
            }
        })
    }

    fn passage(&self, range: Range<usize>) -> String {
        (self.lines[range].iter())
            .flat_map(|line| [line, "\n"])
            .collect()
    }

    fn block(&self, edit: &KnownEdit) -> String {
        let (above, below) = edit.context();
        format!(
            "<<<<<<< SEARCH\n{}=======\n{}{}{}>>>>>>> REPLACE\n",
            self.passage(edit.quoted.clone()),
            self.passage(above),
            joined(&edit.new),
            self.passage(below)
        )
    }

    fn hunk(&self, edit: &KnownEdit) -> String {
        let (above, below) = edit.context();
        let marked = |mark: &str, text: &str| -> String {
            text.lines().flat_map(|line| [mark, line, "\n"]).collect()
        };
        [
            marked(" ", &self.passage(above)),
            marked("-", &self.passage(edit.old.clone())),
            marked("+", &joined(&edit.new)),
            marked(" ", &self.passage(below)),
        ]
        .concat()
    }

    fn header(
        &self,
        edit: &KnownEdit,
        form: ReplyForm,
        moved: isize,
        random: &mut Random,
    ) -> Option<String> {
        let old = edit.quoted.len();
        let new = old - edit.old.len() + edit.new.len();
        let start = match form {
            ReplyForm::DiffNoNumbers => return Some("@@ @@\n".to_owned()),
            ReplyForm::DiffWrongNumbers => {
                let start = (edit.quoted.start + random.below(30)).saturating_sub(14);
                let there = self.lines.get(start..).unwrap_or_default();
                let quoted = &self.lines[edit.quoted.clone()];
                if start != edit.quoted.start && there.starts_with(quoted) {
                    return None;
                }
                start
            }
            _ => edit.quoted.start,
        };
        let new_start = (signed(start) + moved).max(0);
        Some(format!(
            "@@ -{},{old} +{},{new} @@\n",
            start + 1,
            new_start + 1
        ))
    }
}

fn signed(count: usize) -> isize {
    isize::try_from(count).unwrap_or(isize::MAX)
}

fn framed(commands: &str) -> String {
    format!("I change it.\n\n``````\n{commands}[END 1a2b3c4d#2]\n``````\n")
}

/// The outcome of a reply.
#[derive(Debug)]
enum ReplyFate {
    Refused,
    /// The text that came out, and whether anything was said about it.
    Written {
        text: String,
        is_told: bool,
    },
    /// Something else was done than to edit this file.
    Strayed,
}

fn carry_out(text: &str, reply: &str) -> ReplyFate {
    let read = parse(reply);
    let mut is_told = !read.issues.is_empty() || read.cut.is_some();
    let mut text = text.to_owned();
    let path = RelPath::parse(PATH).expect("it is relative");
    let mut is_refused = read.steps.is_empty();
    for step in read.steps {
        let is_here = step.command.path() == Some(&path);
        let done = match &step.command {
            Command::CreateFile {
                content, source, ..
            } if is_here => overwritten(&text, content, *source),
            Command::EditFile { edit, .. } if is_here => edited(&text, edit),
            Command::ApplyPatch { changes } => match &changes[..] {
                [
                    FileChange::Update {
                        path: to, hunks, ..
                    },
                ] if *to == path => {
                    let edited = patch(&text, hunks).ok();
                    edited.map(|edited| (edited.text, is_worth_a_word(edited.level)))
                }
                _ => None,
            },
            // A file that does not exist cannot be edited.
            Command::EditFile { .. } => None,
            _ => return ReplyFate::Strayed,
        };
        match done {
            Some((new, told)) => {
                text = new;
                is_told |= told;
            }
            None => is_refused = true,
        }
    }
    if is_refused {
        return ReplyFate::Refused;
    }
    ReplyFate::Written { text, is_told }
}

/// Returns true if the result says that an edit may not be as it was meant.
fn is_worth_a_word(level: Level) -> bool {
    level == Level::UnevenIndentation || level >= Level::Nearest
}

fn edited(text: &str, edit: &Edit) -> Option<(String, bool)> {
    match edit {
        Edit::Replace { edits } => {
            let replaced = replace(text, edits);
            let is_told = replaced
                .levels
                .iter()
                .flatten()
                .any(|it| is_worth_a_word(*it));
            (replaced.refusals.is_empty()).then_some((replaced.edited.text, is_told))
        }
        Edit::Lines {
            start_line,
            end_line,
            text: new,
        } => {
            let line = |line: u32| usize::try_from(line).unwrap_or(usize::MAX);
            let old: String = (text.split_inclusive('\n'))
                .skip(line(start_line.saturating_sub(1)))
                .take(line((end_line + 1).saturating_sub(*start_line)))
                .collect();
            let new = restore_copy(text, &old, new);
            new.refuse_unrepairable().ok()?;
            let edited = replace_lines(text, *start_line, *end_line, &new.text).ok()?;
            Some((edited.text, !new.doubted.is_empty()))
        }
    }
}

fn overwritten(old: &str, new: &str, source: ContentSource) -> Option<(String, bool)> {
    let is_part = source == ContentSource::CodeBlock && is_excerpt(old, new);
    if is_part || omission_in_file(old, new).is_some() || drops_most(old, new) {
        return None;
    }
    let new = restore_copy(old, old, new);
    new.refuse_unrepairable().ok()?;
    Some((new.text.into_owned(), !new.doubted.is_empty()))
}

#[derive(Default)]
struct FateTally {
    fates: Tally,
    /// Right but for space, kinds of quotes and the like: told, and not told.
    near: [usize; 2],
}

impl fmt::Display for FateTally {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [told, untold] = self.near;
        write!(out, "{}; {told:3} and {untold:3} near", self.fates)
    }
}

impl FateTally {
    fn count(&mut self, fate: &ReplyFate, expected: &str) -> bool {
        match fate {
            ReplyFate::Refused => self.fates.refused += 1,
            ReplyFate::Written { text, .. } if text == expected => self.fates.right += 1,
            ReplyFate::Written { text, is_told } if essence(text) == essence(expected) => {
                self.near[usize::from(!is_told)] += 1;
                return !is_told && std::env::var_os("PLACEMENT_NEAR").is_some();
            }
            ReplyFate::Written { is_told: true, .. } => self.fates.told += 1,
            ReplyFate::Written { .. } | ReplyFate::Strayed => {
                self.fates.wrong += 1;
                return true;
            }
        }
        false
    }

    fn total(&self) -> usize {
        let fates = &self.fates;
        let near: usize = self.near.iter().sum();
        fates.right + fates.refused + fates.told + fates.wrong + near
    }

    fn add(&mut self, other: &Self) {
        self.fates.right += other.fates.right;
        self.fates.refused += other.fates.refused;
        self.fates.told += other.fates.told;
        self.fates.wrong += other.fates.wrong;
        for (near, other) in self.near.iter_mut().zip(other.near) {
            *near += other;
        }
    }
}

/// Shows a reply that was wrong in silence.
fn show(name: &str, form: ReplyForm, reply: &str, expected: &str, fate: &ReplyFate) -> String {
    let outcome = match fate {
        ReplyFate::Written { text, .. } => {
            let diff = similar::TextDiff::from_lines(expected, text);
            diff.unified_diff().context_radius(2).to_string()
        }
        other => format!("{other:?}"),
    };
    let reply: String = reply.chars().take(4000).collect();
    format!("{name}, {form:?}\n{reply}\n-- expected and got --\n{outcome}")
}

/// Tries so many replies of a form with one damage.
fn try_replies(
    (name, damage): (&str, fn(&str) -> String),
    form: ReplyForm,
    texts: &[String],
    many: usize,
    random: &mut Random,
) -> (FateTally, Vec<String>) {
    let (mut tally, mut wrong) = (FateTally::default(), Vec::new());
    for _ in 0..many {
        let text = &texts[random.below(texts.len())];
        let Some(known) = KnownReply::new(text, form, random) else {
            continue;
        };
        let Some(reply) = known.written(form, random) else {
            continue;
        };
        let reply = damage(&reply);
        let fate = carry_out(text, &reply);
        if tally.count(&fate, &known.expected) {
            wrong.push(show(name, form, &reply, &known.expected, &fate));
        }
    }
    (tally, wrong)
}

/// Texts that a reply can hold in any form: they end with a newline, and have no line of their own
/// that ends a body or a block.
fn plain_texts() -> Vec<String> {
    const MARKS: [&str; 7] = ["```", "[/", "<<<<", ">>>>", "====", "*** ", "[END "];
    let is_mark = |line: &str| MARKS.iter().any(|mark| line.trim_start().starts_with(mark));
    let texts = texts().into_iter();
    texts
        .filter(|text| text.lines().count() < 600 && !text.lines().any(is_mark))
        .map(|text| format!("{}\n", text.trim_end_matches('\n')))
        .collect()
}

#[test]
fn no_whole_reply_is_carried_out_wrongly() {
    let texts = plain_texts();
    let mut random = Random(seed());
    let as_sent: (&str, fn(&str) -> String) = ("as sent", str::to_owned);
    let mut wrong = Vec::new();
    for form in FORMS {
        let (tally, found) = try_replies(as_sent, form, &texts, cases(40), &mut random);
        println!("{:28} {tally}", format!("{form:?}"));
        wrong.extend(found);
    }
    assert!(
        wrong.is_empty(),
        "{} wrong, the first: {}",
        wrong.len(),
        wrong[0]
    );
}

#[test]
fn hardly_any_damaged_reply_is_carried_out_wrongly() {
    let texts = plain_texts();
    let mut random = Random(seed());
    let mut all = FateTally::default();
    let mut by_form: BTreeMap<ReplyForm, FateTally> = BTreeMap::new();
    let mut wrong = Vec::new();
    let only = std::env::var("PLACEMENT_DAMAGE").ok();
    let is_tried = |name: &str| only.as_ref().is_none_or(|only| only == name);
    for damage in DAMAGES.into_iter().filter(|(name, _)| is_tried(name)) {
        let mut of_damage = FateTally::default();
        for form in FORMS {
            let many = cases(6);
            let (tally, found) = try_replies(damage, form, &texts, many, &mut random);
            of_damage.add(&tally);
            by_form.entry(form).or_default().add(&tally);
            wrong.extend(found);
        }
        println!("{:28} {of_damage}", damage.0);
        all.add(&of_damage);
    }
    for (form, tally) in &by_form {
        println!("{:28} {tally}", format!("{form:?}"));
    }
    println!("{:28} {all}", "all");
    if std::env::var_os("PLACEMENT_SHOW").is_some() {
        for shown in &wrong {
            println!("==== {shown}");
        }
    }
    let total = all.total();
    assert!(
        all.fates.wrong * 200 < total,
        "{} of {total} wrong, the first: {}",
        wrong.len(),
        wrong[0]
    );
}
