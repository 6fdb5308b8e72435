//! Damage that a chat page or a copy did to a text, proved by the text that it replaces.
//!
//! A model that sends a whole file, or a range of lines, again has most of its lines from the file.
//! Where lines of the new text are lines of the old one but for something that pages and copies do
//! to every line, the whole new text is repaired. A difference without such a proof is only told,
//! and so is one that is all there is: then it is what was asked for.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;

use super::Refusal;
use super::align::{DiffBlock, kept};
use super::fold::{self, Shift, is_blank};
use super::lost_indentation::lost_indentation;
use super::unwrap;

/// How many lines must show a damage to blank lines or indentation.
const ENOUGH: usize = 3;

/// Something that pages and copies do to a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CopyDamage {
    /// `<`, `>`, `&` and quotes became entities.
    Entities,
    /// Quotes, dashes and spaces became typographic ones.
    Typography,
    /// Unusual spaces, such as those that do not break, became plain ones.
    PlainSpaces,
    /// Tabs at the beginning of lines became blanks or the other way round, or each lost a blank.
    Shifted,
    /// Lines were broken at a column.
    Wrapped,
    /// No line is indented any more, or by one blank at most.
    Indentation,
    /// There is a blank line below every line.
    DoubledLines,
    /// There are two blank lines for each one.
    DoubledBlanks,
    /// There are backslashes before characters that Markdown knows.
    Escapes,
    /// There are no blank lines any more.
    BlankLines,
    /// Something that differs stands before the lines, such as a number.
    LineMarks,
    /// The signs that Markdown reads are gone: `__name__` became `name`.
    Markup,
    /// Text that looks like an HTML tag is gone: `Vec<String>` became `Vec`.
    Elements,
}

impl fmt::Display for CopyDamage {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Entities => "entities such as `&lt;`",
            Self::Typography => "curly quotes, long dashes or unusual spaces",
            Self::PlainSpaces => "plain spaces in the place of others",
            Self::Shifted => "another kind of indentation",
            Self::Wrapped => "lines that were wrapped",
            Self::Indentation => "no indentation",
            Self::DoubledLines => "a blank line below every line",
            Self::DoubledBlanks => "twice as many blank lines",
            Self::Escapes => "backslashes before Markdown characters",
            Self::BlankLines => "no blank lines",
            Self::LineMarks => "a mark before every line",
            Self::Markup => "no `#`, `*` or `__` where a page that renders Markdown removes them",
            Self::Elements => "no `<...>` where a page that reads HTML removes it",
        })
    }
}

/// A new text, as it should be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestoredCopy<'t> {
    /// With the repairs.
    pub text: Cow<'t, str>,
    /// The damage that was repaired.
    pub repaired: Vec<CopyDamage>,
    /// Signs of damage that the old text did not have and does not prove.
    pub doubted: Vec<CopyDamage>,
}

impl RestoredCopy<'_> {
    /// Refuses a text that lost its indentation or was wrapped, where nobody can undo that.
    pub fn refuse_unrepairable(&self) -> Result<(), Refusal> {
        if self.doubted.contains(&CopyDamage::Indentation) {
            return Err(Refusal::new("the new text lost its indentation on a page")
                .with_hint("send it again inside of a code block, or as SEARCH/REPLACE"));
        }
        if self.doubted.contains(&CopyDamage::Wrapped) {
            return Err(Refusal::new(
                "the new text was wrapped at a column; copy the reply with the chat's own copy button",
            ));
        }
        Ok(())
    }

    /// Says what was repaired and what is in doubt; nothing if there is neither.
    pub fn remark(&self) -> Option<String> {
        let listed = |damage: &[CopyDamage]| {
            let damage: Vec<String> = damage.iter().map(CopyDamage::to_string).collect();
            (!damage.is_empty()).then(|| damage.join(", "))
        };
        let repaired = (listed(&self.repaired))
            .map(|damage| format!("repaired what copying did to it: {damage}"));
        let doubted = listed(&self.doubted).map(|damage| format!("unlike before it has {damage}"));
        let remarks: Vec<String> = repaired.into_iter().chain(doubted).collect();
        (!remarks.is_empty()).then(|| remarks.join("; "))
    }
}

/// Repairs a new text that takes the place of `old`, a file or a part of it, or nothing where it is
/// inserted.
pub fn restore_copy<'t>(file: &str, old: &str, new: &'t str) -> RestoredCopy<'t> {
    let mut restored = RestoredCopy {
        text: Cow::Borrowed(new),
        repaired: Vec::new(),
        doubted: Vec::new(),
    };
    let ways: [(CopyDamage, DamageFinder); 13] = [
        (CopyDamage::Wrapped, wrapped),
        (CopyDamage::Entities, entities),
        (CopyDamage::Escapes, escapes),
        (CopyDamage::Typography, typography),
        (CopyDamage::PlainSpaces, plain_spaces),
        (CopyDamage::DoubledLines, doubled_lines),
        (CopyDamage::DoubledBlanks, doubled_blanks),
        (CopyDamage::BlankLines, blank_lines),
        (CopyDamage::Shifted, shifted),
        (CopyDamage::Indentation, indentation),
        (CopyDamage::LineMarks, line_marks),
        (CopyDamage::Markup, markup),
        (CopyDamage::Elements, elements),
    ];
    let mut ways = ways.iter();
    while old != new && !ways.as_slice().is_empty() {
        let compared = Compared::new(file, old, &restored.text);
        let repaired = ways.find_map(|(damage, find)| match find(&compared) {
            DamageFinding::Nothing => None,
            DamageFinding::Repaired(text) if text.trim_end() != old.trim_end() => {
                Some((*damage, text))
            }
            DamageFinding::Repaired(_) | DamageFinding::Doubted => {
                restored.doubted.push(*damage);
                None
            }
        });
        if let Some((damage, mut text)) = repaired {
            if !new.ends_with('\n') {
                text.pop();
            }
            restored.text = Cow::Owned(text);
            restored.repaired.push(damage);
        }
    }
    restored
}

/// Says so if an edit brought curly quotes, long dashes or unusual spaces into a text that had none
/// of that kind. A new file, with nothing before it, has them only if all its quotes are curly.
pub fn typography_remark(before: &str, after: &str) -> Option<String> {
    if after.is_ascii() {
        return None;
    }
    if before.is_empty() {
        return has_only_curly_quotes(after).then(|| "all its quotes are curly".to_owned());
    }
    let is_foreign = !fold::fancy(after.lines(), std::iter::once(before)).is_empty();
    is_foreign.then(|| format!("unlike before it has {}", CopyDamage::Typography))
}

/// Says so if an edit brought entities into a program that had none, and new lines have none of the
/// characters that these stand for: a page escapes every one, and who writes HTML in a string does not.
/// A new file has nothing before it.
pub fn entities_remark(before: &str, after: &str) -> Option<String> {
    let has_entity = |line: &str| ENTITIES.iter().any(|(entity, _)| line.contains(entity));
    if !has_entity(after) || has_entity(before) {
        return None;
    }
    let known: HashSet<&str> = before.lines().collect();
    let new: Vec<&str> = (after.lines())
        .filter(|line| !known.contains(line))
        .collect();
    let is_raw = |character: &str| {
        let without = |line: &str| {
            ENTITIES.iter().fold(line.to_owned(), |line, (entity, _)| {
                line.replace(entity, "")
            })
        };
        new.iter().any(|line| without(line).contains(character))
    };
    let mut found =
        (ENTITIES.iter()).filter(|(entity, _)| new.iter().any(|line| line.contains(entity)));
    if found.any(|(_, character)| is_raw(character)) {
        return None;
    }
    let since = if before.is_empty() {
        "it has"
    } else {
        "unlike before it has"
    };
    Some(format!("{since} {}", CopyDamage::Entities))
}

/// Returns true if a text has curly quotes where a language wants straight ones, and no straight
/// quote at all. An apostrophe within a word shows nothing.
fn has_only_curly_quotes(text: &str) -> bool {
    let is_letter = |neighbour: Option<char>| neighbour.is_some_and(char::is_alphanumeric);
    let is_apostrophe = |at: usize, quote: &str| {
        let (before, after) = fold::around(text, &(at..at + quote.len()));
        is_letter(before) && is_letter(after)
    };
    let mut curly = text.match_indices(|c| matches!(c, '\u{2018}'..='\u{201f}'));
    !text.contains(['"', '\'']) && curly.any(|(at, quote)| !is_apostrophe(at, quote))
}

/// Returns true if all quotes of new lines are curly although the quoted ones have straight ones.
pub(super) fn has_turned_quotes(quoted: &[&str], new: &[&str]) -> bool {
    quoted.iter().any(|line| line.contains(['"', '\''])) && has_only_curly_quotes(&new.join("\n"))
}

/// Looks for one kind of damage.
type DamageFinder = fn(&Compared<'_>) -> DamageFinding;

enum DamageFinding {
    Nothing,
    /// The old text does not have it.
    Doubted,
    /// The old text proves it; the new text without it.
    Repaired(String),
}

impl DamageFinding {
    fn doubted_if(is_doubted: bool) -> Self {
        if is_doubted {
            Self::Doubted
        } else {
            Self::Nothing
        }
    }

    /// The new text with these lines.
    fn repaired<L: AsRef<str>>(lines: impl IntoIterator<Item = L>) -> Self {
        let mut text = String::new();
        for line in lines {
            text.push_str(line.as_ref());
            text.push('\n');
        }
        Self::Repaired(text)
    }
}

/// A new text beside the old one.
struct Compared<'t> {
    file: &'t str,
    old: Vec<&'t str>,
    new: Vec<&'t str>,
    /// The lines, from 0, that are filled and say the same in both, in ascending order.
    same: Vec<(usize, usize)>,
}

impl<'t> Compared<'t> {
    fn new(file: &'t str, old: &'t str, new: &'t str) -> Self {
        let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
        let filled = |lines: &[&str]| -> (Vec<usize>, Vec<String>) {
            let filled = lines.iter().enumerate().filter(|(_, line)| !is_blank(line));
            let plain = filled.map(|(at, line)| {
                let line = without_entities(line);
                let line = without_escapes(&line, &ESCAPED);
                (at, fold::loose(&line).into_owned())
            });
            plain.unzip()
        };
        let ((old_at, old_filled), (new_at, new_filled)) = (filled(&old), filled(&new));
        let same = (kept(&fold::strs(&old_filled), &fold::strs(&new_filled)).into_iter())
            .map(|(old, new)| (old_at[old], new_at[new]))
            .collect();
        Self {
            file,
            old,
            new,
            same,
        }
    }

    fn pairs(&self) -> impl Iterator<Item = (&'t str, &'t str)> {
        self.same
            .iter()
            .map(|&(old, new)| (self.old[old], self.new[new]))
    }

    /// The lines between one that both texts have and the next such line.
    fn between(&self) -> impl Iterator<Item = DiffBlock> {
        (self.same.windows(2)).map(|pair| DiffBlock {
            old: pair[0].0 + 1..pair[1].0,
            new: pair[0].1 + 1..pair[1].1,
        })
    }

    /// The new text with each line repaired.
    fn repaired<L: AsRef<str>>(&self, repair: impl Fn(&'t str) -> L) -> DamageFinding {
        DamageFinding::repaired(self.new.iter().map(|line| repair(line)))
    }
}

const ENTITIES: [(&str, &str); 6] = [
    ("&lt;", "<"),
    ("&gt;", ">"),
    ("&quot;", "\""),
    ("&#34;", "\""),
    ("&#39;", "'"),
    ("&amp;", "&"),
];

fn without_entities(line: &str) -> Cow<'_, str> {
    let mut plain = Cow::Borrowed(line);
    for (entity, character) in ENTITIES {
        if plain.contains(entity) {
            plain = Cow::Owned(plain.replace(entity, character));
        }
    }
    plain
}

/// A text that was only wrapped is one that was to be wrapped.
fn wrapped(compared: &Compared<'_>) -> DamageFinding {
    match unwrap::unwrapped_copy(&compared.old, &compared.new) {
        Some(Ok(lines)) if lines != compared.old => DamageFinding::repaired(lines),
        Some(Err(())) => DamageFinding::Doubted,
        _ => DamageFinding::Nothing,
    }
}

fn entities(compared: &Compared<'_>) -> DamageFinding {
    let has = |line: &str| ENTITIES.iter().any(|(entity, _)| line.contains(entity));
    if !compared.new.iter().any(|line| has(line)) {
        return DamageFinding::Nothing;
    }
    let is_in = |lines: &[&str], text: &str| lines.iter().any(|line| line.contains(text));
    let brackets = || ENTITIES[..2].iter().copied();
    // A page escapes every one; who escapes a text within HTML leaves its tags as they are.
    let is_mixed = |(entity, bracket): (&str, &str)| {
        is_in(&compared.new, entity) && is_in(&compared.new, bracket)
    };
    let is_lost = |(entity, bracket): (&str, &str)| {
        is_in(&compared.old, bracket) && is_in(&compared.new, entity)
    };
    let is_kept = compared.same.len() * 2 >= compared.new.len();
    let is_same_place = is_kept || compared.old.len() == compared.new.len();
    let is_proved = (compared.pairs()).any(|(old, new)| has(new) && !has(old))
        || (is_same_place && !has(compared.file) && brackets().any(is_lost));
    if is_proved && !brackets().any(is_mixed) {
        compared.repaired(without_entities)
    } else {
        DamageFinding::doubted_if(!has(compared.file))
    }
}

/// Pages make every space a plain one, and so does the reader of a reply.
fn plain_spaces(compared: &Compared<'_>) -> DamageFinding {
    if compared.file.is_ascii() {
        return DamageFinding::Nothing;
    }
    let is_unusual = |character: char| character.is_whitespace() && !character.is_ascii();
    let is_lost = |old: &str, new: &str| old != new && old.replace(is_unusual, " ") == new;
    let mut lines = compared.new.clone();
    for &(old, new) in &compared.same {
        if is_lost(compared.old[old], lines[new]) {
            lines[new] = compared.old[old];
        }
    }
    if lines == compared.new {
        DamageFinding::Nothing
    } else {
        DamageFinding::repaired(lines)
    }
}

/// Characters that a page escapes in Markdown and code does not.
const ESCAPED: [char; 5] = ['_', '*', '#', '[', ']'];

fn without_escapes<'l>(line: &'l str, escaped: &[char]) -> Cow<'l, str> {
    let mut plain = Cow::Borrowed(line);
    for character in escaped.iter().filter(|_| line.contains('\\')) {
        let escape = format!("\\{character}");
        if plain.contains(&escape) {
            plain = Cow::Owned(plain.replace(&escape, &character.to_string()));
        }
    }
    plain
}

/// A line without the backslashes that a page puts before Markdown characters.
pub(super) fn without_page_escapes(line: &str) -> Cow<'_, str> {
    without_escapes(line, &ESCAPED)
}

/// A page escapes every such character; who writes a regular expression escapes some.
fn escapes(compared: &Compared<'_>) -> DamageFinding {
    let has = |line: &str, character: char| line.contains(&format!("\\{character}"));
    let is_new = |character: &char| {
        !has(compared.file, *character)
            && (compared.pairs()).any(|(old, new)| has(new, *character) && old.contains(*character))
    };
    let found: Vec<char> = ESCAPED.into_iter().filter(is_new).collect();
    let is_everywhere = |character: &char| {
        let escape = format!("\\{character}");
        let escaped: usize = (compared.new.iter())
            .map(|line| line.matches(&escape).count())
            .sum();
        let all: usize = (compared.new.iter())
            .map(|line| line.matches(*character).count())
            .sum();
        escaped > 1 && escaped == all
    };
    let proved: Vec<char> = found.iter().copied().filter(is_everywhere).collect();
    if proved.is_empty() {
        DamageFinding::doubted_if(found.contains(&'_'))
    } else {
        compared.repaired(|line| without_escapes(line, &proved))
    }
}

fn typography(compared: &Compared<'_>) -> DamageFinding {
    let file = || std::iter::once(compared.file);
    let foreign = fold::fancy(compared.new.iter().copied(), file());
    if foreign.is_empty() {
        return DamageFinding::Nothing;
    }
    let mut proved = fold::fancy(compared.pairs().map(|(_, new)| new), file());
    // New lines write quotes as those that they replace do; an insertion as the file does.
    let file_lines = [compared.file];
    let replaced = match &compared.old[..] {
        [] => &file_lines,
        old => old,
    };
    if has_turned_quotes(replaced, &compared.new) {
        proved = foreign;
    }
    if proved.is_empty() {
        return DamageFinding::Doubted;
    }
    compared.repaired(|line| fold::without(line, &proved))
}

/// Says so if there is a blank line below every line of a new file.
pub fn doubled_lines_remark(text: &str) -> Option<String> {
    let lines: Vec<&str> = text.lines().collect();
    has_doubled_lines(&lines).then(|| format!("it has {}", CopyDamage::DoubledLines))
}

fn has_doubled_lines(lines: &[&str]) -> bool {
    let below = || lines.iter().skip(1).step_by(2);
    below().count() >= ENOUGH
        && below().all(|line| is_blank(line))
        && !lines.iter().step_by(2).all(|line| is_blank(line))
}

fn doubled_lines(compared: &Compared<'_>) -> DamageFinding {
    // The line end of the tag or the fence above was doubled as well.
    let new = match compared.new.split_first() {
        Some((first, rest)) if is_blank(first) => rest,
        _ => &compared.new,
    };
    if !has_doubled_lines(new) || has_doubled_lines(&compared.old) {
        return DamageFinding::Nothing;
    }
    // The distance of all lines doubled, also of those with blank lines between them.
    let is_apart = |block: DiffBlock| block.new.len() + 1 == 2 * (block.old.len() + 1);
    let neighbours =
        || (compared.between()).filter(|block| are_blank(&compared.old[block.old.clone()]));
    if neighbours().count() < ENOUGH || !neighbours().all(is_apart) {
        return DamageFinding::Doubted;
    }
    DamageFinding::repaired(new.iter().step_by(2))
}

/// The blank lines, or none, between two lines that follow one another in both texts but for these.
fn gaps(compared: &Compared<'_>) -> impl Iterator<Item = DiffBlock> {
    let is_gap = |block: &DiffBlock| {
        are_blank(&compared.old[block.old.clone()]) && are_blank(&compared.new[block.new.clone()])
    };
    compared.between().filter(is_gap)
}

fn are_blank(lines: &[&str]) -> bool {
    lines.iter().all(|line| is_blank(line))
}

/// Four blank lines in the place of two prove it; two in the place of one may be meant.
fn doubled_blanks(compared: &Compared<'_>) -> DamageFinding {
    let is_doubled = gaps(compared).all(|gap| gap.new.len() == 2 * gap.old.len());
    let doubled = gaps(compared).filter(|gap| !gap.old.is_empty()).count();
    if !is_doubled || doubled < ENOUGH {
        return DamageFinding::Nothing;
    }
    if !gaps(compared).any(|gap| gap.old.len() > 1) {
        return DamageFinding::Doubted;
    }
    let mut lines: Vec<&str> = Vec::new();
    for run in (compared.new).chunk_by(|a, b| is_blank(a) == is_blank(b)) {
        let halves = if is_blank(run[0]) { 2 } else { 1 };
        let kept = run.len().div_ceil(halves);
        lines.extend(&run[..kept]);
    }
    DamageFinding::repaired(lines)
}

fn blank_lines(compared: &Compared<'_>) -> DamageFinding {
    let inner = |lines: &[&str]| {
        let lines = lines.iter().rev().skip_while(|line| is_blank(line));
        lines.filter(|line| is_blank(line)).count()
    };
    if inner(&compared.old) < ENOUGH || inner(&compared.new) > 0 {
        return DamageFinding::Nothing;
    }
    let mut lines: Vec<&str> = Vec::new();
    let (mut at, mut lost) = (0, 0);
    for gap in gaps(compared).filter(|gap| !gap.old.is_empty() && gap.new.is_empty()) {
        lines.extend(&compared.new[at..gap.new.end]);
        lines.extend(std::iter::repeat_n("", gap.old.len()));
        at = gap.new.end;
        lost += 1;
    }
    if lost < ENOUGH {
        return DamageFinding::Doubted;
    }
    lines.extend(&compared.new[at..]);
    DamageFinding::repaired(lines)
}

/// Another kind of indentation, which all lines that the old text has show in the same way.
fn shifted(compared: &Compared<'_>) -> DamageFinding {
    let mut indentations: Vec<_> = (compared.pairs())
        .map(|(old, new)| (fold::indentation(new), fold::indentation(old)))
        .collect();
    if indentations.iter().any(|(_, old)| old.contains('\t')) {
        // A ` *` continues a comment in files with tabs too.
        indentations.retain(|(_, old)| old.chars().all(|blank| blank == '\t'));
    }
    let moved = |(new, old): &&(&str, &str)| new != old && !new.is_empty();
    let moved = indentations.iter().filter(moved).count();
    let shift = Shift::between(&indentations).filter(|_| moved > 0);
    let is_damage = match &shift {
        Some(Shift::ToTabs { .. } | Shift::ToSpaces { .. }) => true,
        Some(Shift::LostBlank) => moved >= ENOUGH,
        Some(Shift::Deeper(more)) => more == " " && moved >= ENOUGH,
        Some(Shift::Scaled(_)) if moved >= ENOUGH => return DamageFinding::Doubted,
        _ => false,
    };
    if let Some(shift) = shift.filter(|_| is_damage) {
        return compared.repaired(|line| shift.apply(line));
    }
    let begins =
        |lines: &[&str], blank| lines.iter().filter(|line| line.starts_with(blank)).count();
    let file: Vec<&str> = compared.file.lines().collect();
    let is_only = |lines: &[&str], one, other| {
        begins(lines, one) > 0 && begins(lines, other) * 10 < begins(lines, one)
    };
    let is_turned = |one, other| is_only(&file, one, other) && begins(&compared.new, one) == 0;
    let has = |blank| begins(&compared.new, blank) > 0;
    DamageFinding::doubted_if(
        (is_turned('\t', ' ') && has(' ')) || (is_turned(' ', '\t') && has('\t')),
    )
}

fn indentation(compared: &Compared<'_>) -> DamageFinding {
    let Compared {
        file,
        old,
        new,
        same,
    } = compared;
    if let Some(lost) = lost_indentation(file, old, new, same) {
        let shift = Shift::Deeper(lost.to_owned());
        return compared.repaired(|line| shift.apply(line));
    }
    if compared.new.iter().any(|line| !fold::is_collapsed(line)) {
        return DamageFinding::Nothing;
    }
    // A line below one that opens a block was deeper, or the old text is a part of a block.
    let is_opened = |pair: &[(usize, usize)]| {
        let (above, line) = (compared.old[pair[0].0], compared.old[pair[1].0]);
        pair[0].1 + 1 == pair[1].1
            && above.trim_end().ends_with([':', '{', '(', '['])
            && fold::indentation(line).len() > fold::indentation(above).len()
            && !fold::is_collapsed(line)
    };
    let is_indented = |line: &&str| is_blank(line) || line.starts_with([' ', '\t']);
    let is_part = compared.old.iter().all(is_indented)
        && !compared.old.iter().all(|line| fold::is_collapsed(line));
    let is_known_part = is_part && !compared.same.is_empty();
    if !is_known_part && !compared.same.windows(2).any(is_opened) {
        return DamageFinding::Nothing;
    }
    // How deep a line belongs that the old text does not have is not known.
    let filled = compared.new.iter().filter(|line| !is_blank(line)).count();
    if filled > compared.same.len() {
        return DamageFinding::Doubted;
    }
    let mut lines: Vec<Cow<'_, str>> = (compared.new.iter().copied().map(Cow::Borrowed)).collect();
    for &(old, new) in &compared.same {
        let deep = fold::indentation(compared.old[old]);
        lines[new] = Cow::Owned(format!("{deep}{}", compared.new[new].trim_start()));
    }
    DamageFinding::repaired(lines)
}

/// Line numbers in a form that nobody removed: most lines end with a line of the old text. What is
/// the same before every line may be a comment.
fn line_marks(compared: &Compared<'_>) -> DamageFinding {
    const LONGEST: usize = 12;
    const LEAST: usize = 4;
    let long = |line: &&str| line.len() >= LEAST;
    let old: HashSet<&str> = (compared.old.iter().map(|line| line.trim()))
        .filter(long)
        .collect();
    let new: Vec<&str> = (compared.new.iter().map(|line| line.trim()))
        .filter(long)
        .collect();
    let mark = |line: &&'_ str| {
        let mut places = line.char_indices().map(|(at, _)| at).take(LONGEST).skip(1);
        places.find(|at| old.contains(line[*at..].trim_start()))
    };
    let unknown = new.iter().filter(|line| !old.contains(*line));
    let marks: Vec<&str> = unknown
        .filter_map(|line| Some(&line[..mark(line)?]))
        .collect();
    let kinds: HashSet<&str> = marks.iter().copied().collect();
    DamageFinding::doubted_if(
        marks.len() >= ENOUGH && marks.len() * 2 > old.len() && kinds.len() * 2 > marks.len(),
    )
}

/// The signs of Markdown are gone from lines of the old text.
fn markup(compared: &Compared<'_>) -> DamageFinding {
    rendered(compared, without_markup)
}

/// Text that looks like HTML tags is gone from lines of the old text.
fn elements(compared: &Compared<'_>) -> DamageFinding {
    rendered(compared, without_elements)
}

/// A page removed signs from lines of the old text, and no line that has some is left: a page renders
/// all or none.
fn rendered(compared: &Compared<'_>, bare: fn(&str) -> String) -> DamageFinding {
    const CERTAIN: usize = 3;
    let has_signs = |line: &str| bare(line) != line.trim();
    let new = compared.new.iter().map(|line| line.trim());
    let is_all = compared.old.iter().map(|line| bare(line)).eq(new.clone());
    if is_all
        || !compared.old.iter().any(|line| has_signs(line))
        || compared.pairs().any(|(old, _)| has_signs(old))
    {
        return DamageFinding::Nothing;
    }
    let known: HashSet<&str> = compared.old.iter().map(|line| line.trim()).collect();
    let new: HashSet<&str> = new
        .filter(|line| !line.is_empty() && !known.contains(line))
        .collect();
    let lost = |line: &&str| {
        let bare = bare(line);
        let is_lost = new.contains(&*bare);
        is_lost.then(|| line.trim().len() - bare.len())
    };
    let lost: Vec<usize> = compared.old.iter().filter_map(lost).collect();
    // One sign may have been removed on purpose, as before a line that was a comment.
    DamageFinding::doubted_if(lost.len() >= ENOUGH || lost.iter().any(|count| *count >= CERTAIN))
}

/// A line as a page shows it that renders Markdown. A `*` between blanks is a product.
fn without_markup(line: &str) -> String {
    let line = line.trim();
    let name = line.trim_start_matches('#');
    let line = if name.starts_with(' ') { name } else { line };
    let line = line.trim_start().replace("__", "");
    let is_blank = |c: Option<char>| c.is_none_or(char::is_whitespace);
    let is_product = |at: usize| {
        let (before, after) = fold::around(&line, &(at..at + 1));
        is_blank(before) && is_blank(after)
    };
    let kept = (line.char_indices()).filter(|(at, character)| *character != '*' || is_product(*at));
    kept.map(|(_, character)| character).collect()
}

/// A line as a page shows it that takes `<String>` for an element.
fn without_elements(line: &str) -> String {
    let line = line.trim();
    let (mut shown, mut rest) = (String::new(), line);
    while let Some((before, element)) = rest.split_once('<') {
        let is_begun = element.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/');
        let end = element.find(['<', '>']).filter(|_| is_begun);
        let end = end.filter(|end| element.as_bytes()[*end] == b'>');
        shown.push_str(before);
        if end.is_none() {
            shown.push('<');
        }
        rest = &element[end.map_or(0, |end| end + 1)..];
    }
    shown + rest
}

/// Says so if the recipes of a new Makefile are indented with blanks, where `make` wants tabs.
pub fn lost_tabs_remark(name: &str, text: &str) -> Option<String> {
    let is_makefile = matches!(name, "Makefile" | "makefile" | "GNUmakefile")
        || name.rsplit_once('.').is_some_and(|(_, it)| it == "mk");
    if !is_makefile || text.lines().any(|line| line.starts_with('\t')) {
        return None;
    }
    let is_rule = |line: &str| {
        let target = line.split_once(':');
        !line.starts_with([' ', '#'])
            && target.is_some_and(|(target, rest)| {
                !target.contains('=') && !rest.starts_with(['=', ':']) && !rest.contains('=')
            })
            && !line.ends_with('\\')
    };
    let lines: Vec<&str> = text.lines().collect();
    let is_recipe =
        |pair: &[&str]| is_rule(pair[0]) && pair[1].starts_with(' ') && !is_blank(pair[1]);
    let is_told = lines.windows(2).any(is_recipe) && !text.contains(".RECIPEPREFIX");
    is_told.then(|| "its recipes are indented with blanks, and `make` wants tabs".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_that_markdown_reads_are_missed() {
        let old = "# The settings\nX = 1\nif __name__ == \"__main__\":\n    f(*a, **b)\n";
        let eaten = "The settings\nX = 2\nif name == \"main\":\n    f(a, b)\n";
        case(old, eaten, eaten, &[], &[CopyDamage::Markup]);
        for new in [
            "X = 2\nif True:\n    f()\n",
            "The settings\nX = 1\nif __name__ == \"__main__\":\n    f(a, b)\n",
        ] {
            case(old, new, new, &[], &[]);
        }
        let commented = "a = 1\n# b = 2\n";
        let new = "a = 3\nb = 2\n";
        case(commented, new, new, &[], &[]);
    }

    #[test]
    fn unusual_spaces_of_the_file_stay() {
        let old = "# T\n\n## A\u{a0}B\n\nx y\n10\u{202f}%\n";
        let plain = "# T\n\n## A B\n\nx z\n10 %\nA B\n";
        let whole = "# T\n\n## A\u{a0}B\n\nx z\n10\u{202f}%\nA B\n";
        case(old, plain, whole, &[CopyDamage::PlainSpaces], &[]);
        case(old, whole, whole, &[], &[]);
        let meant = old.replace(['\u{a0}', '\u{202f}'], " ");
        case(old, &meant, &meant, &[], &[CopyDamage::PlainSpaces]);
    }

    #[test]
    fn a_makefile_without_tabs_is_told() {
        let is_told = |name, text| lost_tabs_remark(name, text).is_some();
        assert!(is_told("Makefile", "CC = gcc\nall: a.c\n    $(CC) a.c\n"));
        assert!(is_told("rules.mk", "all:\n  cc a.c\n"));
        assert!(!is_told("Makefile", "all: a.c\n\tcc a.c\n"));
        assert!(!is_told("Makefile", "A := b\\\n  c\nall: \\\n  b c\n"));
        assert!(!is_told("a.py", "if x:\n    y\n"));
    }

    #[test]
    fn new_typography_is_noticed() {
        let is_told = |before, after| typography_remark(before, after).is_some();
        assert!(is_told("x = 'a'\n", "x = \u{2018}a\u{2019}\n"));
        assert!(!is_told("\u{2018}a\u{2019}\n", "\u{2018}b\u{2019}\n"));
        assert!(!is_told("x = 'a'\n", "x = '\u{e9}'\n"));
        assert!(is_told("", "x = \u{2018}a\u{2019}\n"));
        assert!(!is_told("", "x = 'a' + \u{2018}a\u{2019}\n"));
        assert!(!is_told("", "It\u{2019}s \u{2014} new\n"));
    }

    #[test]
    fn entities_in_new_code_are_noticed() {
        let is_told = |before: &str, after: &str| entities_remark(before, after).is_some();
        let class = "class A {\n    bool c = a < b && d;\n    int b;\n}\n";
        let edited = |new: &str| class.replace("int b;", new);
        assert!(is_told(
            class,
            &edited("List&lt;int&gt; b = new List&lt;int&gt;();")
        ));
        assert!(is_told(class, &edited("bool b = c &amp;&amp; d;")));
        assert!(is_told(class, &edited("string b = &quot;c&quot;;")));
        assert!(is_told("", "x = a &amp;&amp; b\n"));
        // HTML within a program, a file that has entities, and none at all.
        assert!(!is_told(class, &edited("string b = \"<p>1 &lt; 2</p>\";")));
        assert!(!is_told(
            class,
            &edited("string b = c.Replace(\"&\", \"&amp;\");")
        ));
        assert!(!is_told("a = '&gt;'\n", "a = '&gt;'\nb = '&lt;'\n"));
        assert!(!is_told("a = '&gt;'\n", "a = '&gt;'\nb = 1\n"));
        assert!(!is_told(class, &edited("int c = a & b;")));
    }

    #[test]
    fn an_insertion_has_the_quotes_of_the_file() {
        let file = "x = 'a'\n";
        let inserted = restore_copy(file, "", "y = \u{2018}b\u{2019}\n");
        assert_eq!(inserted.text, "y = 'b'\n");
        assert_eq!(inserted.repaired, [CopyDamage::Typography]);
        for sent in [
            "y = 'It\u{2019}s'\n",
            "// It\u{2019}s\n",
            "y = 1 \u{2014} 2\n",
        ] {
            let kept = restore_copy(file, "", sent);
            assert_eq!(kept.text, sent);
            assert_eq!(kept.doubted, [CopyDamage::Typography]);
        }
        let without = restore_copy("x\n", "", "y = \u{2018}b\u{2019}\n");
        assert_eq!(without.doubted, [CopyDamage::Typography]);
    }

    #[test]
    fn entities_are_undone_in_a_file_that_has_some_of_its_own() {
        let old = "a < b\nc(\"&lt;\")\nd\n";
        let sent = "a &lt; b\nc(\"&amp;lt;\")\ne\n";
        case(
            old,
            sent,
            "a < b\nc(\"&lt;\")\ne\n",
            &[CopyDamage::Entities],
            &[],
        );
        let changed = "a < b\nc(\"&lt;\")\nf(\"&gt;\")\n";
        case(old, changed, changed, &[], &[]);
    }

    const PYTHON: &str = "import os\n\n\ndef first(a):\n    if a < 1:\n        return \"x\"\n\n    return 'y'\n\n\ndef second(b):\n    return b\n";

    #[track_caller]
    fn case(old: &str, new: &str, expected: &str, repaired: &[CopyDamage], doubted: &[CopyDamage]) {
        let restored = restore_copy(old, old, new);
        assert_eq!(restored.text, expected);
        assert_eq!(
            (&*restored.repaired, &*restored.doubted),
            (repaired, doubted)
        );
    }

    #[test]
    fn characters_are_restored_where_a_line_of_the_old_text_proves_it() {
        let changed = PYTHON.replace("return b", "return b < \"2\"");
        let escaped = changed.replace('<', "&lt;").replace('"', "&quot;");
        case(PYTHON, &escaped, &changed, &[CopyDamage::Entities], &[]);
        // The only line with a bracket is the one that was changed, and an arrow was left as it is.
        let loop_of = |end: u8| format!("for i := 0; i < {end}; i++ {{\n\tf(i, \"->\")\n}}\n");
        let escaped = loop_of(5).replace('<', "&lt;");
        case(
            &loop_of(3),
            &escaped,
            &loop_of(5),
            &[CopyDamage::Entities],
            &[],
        );
        let other = "# Notes\n\nWrite &lt; for the sign.\n\nMore words.\n";
        case(&loop_of(3), other, other, &[], &[CopyDamage::Entities]);
        let curly = changed
            .replace("\"x\"", "\u{201c}x\u{201d}")
            .replace("\"2\"", "\u{201c}2\u{201d}");
        case(PYTHON, &curly, &changed, &[CopyDamage::Typography], &[]);
        let added = format!("{PYTHON}    # \u{201c}quoted\u{201d} &amp; more\n");
        let doubted = [CopyDamage::Entities, CopyDamage::Typography];
        case(PYTHON, &added, &added, &[], &doubted);
        let html = "<p>a < b</p>\n<p>c</p>\n<p>d</p>\n";
        let fixed = "<p>a &lt; b</p>\n<p>c</p>\n<p>e</p>\n";
        case(html, fixed, fixed, &[], &[CopyDamage::Entities]);
        case(
            &added,
            &format!("{added}# &lt;\u{201c}\n"),
            &format!("{added}# &lt;\u{201c}\n"),
            &[],
            &[],
        );
    }

    #[test]
    fn blank_lines_are_restored() {
        let changed = PYTHON.replace("return b", "return b + 1");
        let doubled = changed.replace('\n', "\n\n");
        case(PYTHON, &doubled, &changed, &[CopyDamage::DoubledLines], &[]);
        let below_tag = format!("\n{doubled}");
        case(
            PYTHON,
            &below_tag,
            &changed,
            &[CopyDamage::DoubledLines],
            &[],
        );
        let list = "one\n\ntwo\n\n- a\n- b\n- c\n";
        let loose = "one\n\ntwo\n\n- a\n\n- b\n\n- d\n";
        case(list, loose, loose, &[], &[CopyDamage::DoubledLines]);
        let dense = changed.replace("\n\n\n", "\n").replace("\n\n", "\n");
        let old = "a = 1\n\nb = 2\n\nc = 3\n\nd = 4\ne = 5\n";
        let changed = old.replace("e = 5", "e = 6");
        let few = changed.replace("\n\n", "\n");
        case(old, &few, &changed, &[CopyDamage::BlankLines], &[]);
        assert_eq!(
            restore_copy(PYTHON, PYTHON, &dense).repaired,
            [CopyDamage::BlankLines]
        );
    }

    #[test]
    fn indentation_is_restored() {
        let go = "func f() {\n\tif a {\n\t\tb()\n\t}\n\tc()\n}\n";
        let changed = go.replace("c()", "d()");
        case(
            go,
            &changed.replace('\t', "    "),
            &changed,
            &[CopyDamage::Shifted],
            &[],
        );
        let flush = |text: &str| text.replace("    ", "");
        let shorter = PYTHON.replace("import os\n", "");
        case(
            PYTHON,
            &flush(&shorter),
            &shorter,
            &[CopyDamage::Indentation],
            &[],
        );
        let changed = flush(&PYTHON.replace("return b", "return b + 1"));
        case(PYTHON, &changed, &changed, &[], &[CopyDamage::Indentation]);
        let lost = |old: &str, new: &str| restore_copy(old, old, new).refuse_unrepairable();
        assert!(lost(PYTHON, &changed).is_err());
        assert!(lost("    a = 0\n    for b in c:\n", "a = 1\nfor b in c:\n").is_err());
        assert!(lost("f() {\n  a();\n}\ng();\n", "f() {\na();\n}\nh();\n").is_err());
        // A block that was taken off, and a list that was made flat.
        assert!(lost("if x:\n    a\n    b\n", "a\nc\n").is_ok());
        assert!(lost("- a\n  - b\n  - c\n", "- a\n- b\n- d\n").is_ok());
    }

    #[test]
    fn a_blank_that_every_line_lost_is_restored() {
        let changed = PYTHON.replace("return b", "return b + 1");
        let lost = changed.replace("\n ", "\n");
        case(PYTHON, &lost, &changed, &[CopyDamage::Shifted], &[]);
        let part = "    for a in b:\n        if a:\n            continue\n        c += a\n";
        let changed = part.replace("continue", "break");
        let lost = changed.replace("\n ", "\n").replacen(' ', "", 1);
        case(part, &lost, &changed, &[CopyDamage::Shifted], &[]);
        // Another depth, and a line that did not move.
        let other = PYTHON.replace("    ", "  ");
        case(PYTHON, &other, &other, &[], &[CopyDamage::Shifted]);
        let one = PYTHON.replace("    return b", "   return b");
        case(PYTHON, &one, &one, &[], &[]);
    }

    #[test]
    fn lines_that_were_wrapped_are_put_together_or_refused() {
        let old =
            "a = 1\nprint(\"some words that are long enough to reach the edge of it\", a)\nb = 2\n";
        let changed = old.replace("b = 2", "b = 3");
        let wrapped = changed.replace("edge of", "edge\nof");
        case(old, &wrapped, &changed, &[CopyDamage::Wrapped], &[]);
        let other = old.replace(", a)", ", b)").replace("edge of", "edge\nof");
        let restored = restore_copy(old, old, &other);
        assert!(restored.refuse_unrepairable().is_err());
        // What was to be wrapped.
        let only = old.replace("edge of", "edge\nof");
        case(old, &only, &only, &[], &[]);
    }

    #[test]
    fn indentation_that_was_collapsed_to_one_blank_is_restored() {
        let flat = |text: &str| text.replace("        ", " ").replace("    ", " ");
        let shorter = PYTHON.replace("import os\n", "");
        let expected = [CopyDamage::Indentation];
        case(PYTHON, &flat(&shorter), &shorter, &expected, &[]);
        let changed = flat(&PYTHON.replace("return b", "return b + 1"));
        let restored = restore_copy(PYTHON, PYTHON, &changed);
        assert!(restored.refuse_unrepairable().is_err());
    }

    #[test]
    fn marks_before_the_lines_are_told() {
        let changed = PYTHON.replace("return b", "return b + 1");
        let numbered = (1..).zip(changed.lines());
        let marked = numbered.map(|(at, line)| format!("Line {at}: {line}\n"));
        let marked = marked.collect::<Vec<_>>().concat();
        let comments = changed.replace('\n', "\n# ");
        let is_told = |new: &str| {
            let restored = restore_copy(PYTHON, PYTHON, new);
            assert_eq!(restored.text, new);
            restored.doubted.contains(&CopyDamage::LineMarks)
        };
        assert!(is_told(&marked));
        assert!(!is_told(&comments) && !is_told(&changed));
    }

    #[test]
    fn blank_lines_are_doubled_by_a_page() {
        let changed = PYTHON.replace("return b", "return b + 1");
        let doubled = changed
            .replace("\n\n\n", "\n\n\n\n\n")
            .replace("\"x\"\n\n", "\"x\"\n\n\n");
        case(
            PYTHON,
            &doubled,
            &changed,
            &[CopyDamage::DoubledBlanks],
            &[],
        );
        let old = "a\n\nb\n\nc\n\nd\n\ne\n";
        let new = old.replace("\n\n", "\n\n\n").replace('e', "f");
        case(old, &new, &new, &[], &[CopyDamage::DoubledBlanks]);
    }

    #[test]
    fn escapes_of_a_page_are_undone() {
        let old = "def __init__(self):\n    self.a_b = 1 * 2\n    c = 3\n";
        let changed = old.replace("c = 3", "c_d = 3");
        let escaped = changed.replace('_', "\\_");
        case(old, &escaped, &changed, &[CopyDamage::Escapes], &[]);
        // Who corrects a regular expression escapes one of them.
        let old = "a = re.compile('x*y*')\nb = 2 * 3\n";
        let new = "a = re.compile('x\\*y*')\nb = 4 * 3\n";
        case(old, new, new, &[], &[]);
        let tex = "some_name $x_1$\nb\n";
        let new = "some\\_name $x_1$\nc\n";
        case(tex, new, new, &[], &[CopyDamage::Escapes]);
    }

    #[test]
    fn a_product_does_not_hide_that_a_page_removed_underscores() {
        let old = "class A:\n    def __init__(self):\n        self.a = 2 * 3\n\nif __name__ == \"__main__\":\n    A()\n";
        let new = old.replace("__", "").replace("2 * 3", "3 * 3");
        case(old, &new, &new, &[], &[CopyDamage::Markup]);
        let kept = new.replace("3 * 3", "2 * 3") + "B()\n";
        case(old, &kept, &kept, &[], &[CopyDamage::Markup]);
    }

    #[test]
    fn types_that_a_page_took_for_elements_are_missed() {
        let old = "use a::B;\n\nstruct C {\n    d: HashMap<String, usize>,\n    e: u8,\n}\n";
        let new = old.replace("<String, usize>", "").replace("u8", "u16");
        case(old, &new, &new, &[], &[CopyDamage::Elements]);
        let kept = old.replace("u8", "u16");
        case(old, &kept, &kept, &[], &[]);
        let other = old.replace("<String, usize>", "<String, u8>");
        case(old, &other, &other, &[], &[]);
    }

    #[test]
    fn lines_that_are_replaced_prove_straight_quotes() {
        let restored = restore_copy(
            "a(\"pen\")\nb\n",
            "a(\"pen\")\n",
            "a(\u{201c}pencil\u{201d})\n",
        );
        assert_eq!(restored.text, "a(\"pencil\")\n");
        assert_eq!(restored.repaired, [CopyDamage::Typography]);
    }

    #[test]
    fn what_is_all_that_changes_is_meant() {
        let go = "func f() {\n\tif a {\n\t\tb()\n\t}\n}\n";
        let spaced = go.replace('\t', "    ");
        case(go, &spaced, &spaced, &[], &[CopyDamage::Shifted]);
        let curly = PYTHON.replace("\"x\"", "\u{201c}x\u{201d}");
        case(PYTHON, &curly, &curly, &[], &[CopyDamage::Typography]);
        case(PYTHON, PYTHON, PYTHON, &[], &[]);
        case("", "&lt;\n", "&lt;\n", &[], &[CopyDamage::Entities]);
    }
}
