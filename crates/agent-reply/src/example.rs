//! Commands that the words above them call an example, a mistake, a quotation, an offer or one of
//! several options, those in a comment or a string, and those that words below them take back.
//!
//! Only plain words count, on the line that leads to the command or at the beginning of a sentence
//! below it: most replies introduce what they do, and a reply that is asked for twice is a nuisance.

use std::ops::Range;

use agent_protocol::Step;

use crate::candidate::BlockTrouble;
use crate::code_fence::{self, Fence};
use crate::enclosed::{self, EnclosingText};
use crate::line::{COLONS, begins_with, ends_with_colon, has_word};
use crate::trim::{is_blank, trim};
use crate::{file_name, has_effects, line_index, tags, words_against};

/// Words beside a command that speak against carrying it out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WordsAbove {
    Example,
    Refusal,
    /// A question to the person: `Should I do this?`
    Question,
    /// For later, or on a condition: `If you'd like, I can also run this:`
    Offer,
    /// From elsewhere: `In the previous round I sent:`
    Quotation,
    /// A sentence below it: `I would not do that, though.`
    Rejected,
    /// A sentence that goes on below it: `I considered`, the command, `but rejected it.`
    Sentence,
    /// No words, but a comment, a string or a program around it.
    Enclosed(EnclosingText),
    /// One of several options: `Option A:`.
    OneOption,
}

impl WordsAbove {
    /// Reads a line that leads to a command.
    fn read(line: &str) -> Option<Self> {
        let lower = trim(line).to_lowercase().replace('\u{2019}', "'");
        // `<summary>Example</summary>`; the end of an element leads to nothing.
        let mut outside = lower.split(['<', '>']).step_by(2);
        let text = match lower.strip_prefix('<') {
            Some(element) if element.starts_with('/') => return None,
            Some(element) if element.contains("</") => outside.find(|text| !is_blank(text))?,
            _ => &lower,
        };
        let text = text.trim_matches(['*', '#', '_', '>', ' ']);
        if is_option(text) {
            return Some(Self::OneOption);
        }
        // Only the last sentence leads to the command.
        let (before, sentence) = last_sentence(text);
        let clause = sentence.rfind("; ").map(|at| at + 2);
        let clause = clause.or_else(|| Some(sentence.rfind('\u{ff1b}')? + '\u{ff1b}'.len_utf8()));
        let text = &sentence[clause.filter(|at| *at < sentence.len()).unwrap_or(0)..];
        // `How is it fixed? Like this:`
        let is_answer = before.ends_with(['?', '\u{ff1f}']);
        let label = text.trim_matches(|c: char| !c.is_alphanumeric());
        if is_question(text) && !line.starts_with('#') {
            return Some(Self::Question);
        }
        let is_led = ends_with_colon(text);
        let is_crossed_out = text.starts_with(['\u{274c}', '\u{1f6ab}', '\u{26d4}']);
        phrases::KINDS
            .iter()
            .find(|kind| kind.holds(label, text, is_led))
            .filter(|kind| !(is_answer && kind.words == Self::Example))
            .map(|kind| kind.words)
            .or_else(|| (is_led && is_crossed_out).then_some(Self::Refusal))
            .or_else(|| (is_led && (offers(label) || depends(label))).then_some(Self::Offer))
            .or_else(|| (is_led && calls_example(label)).then_some(Self::Example))
            .or_else(|| label.ends_with(" for example").then_some(Self::Example))
            .or_else(|| words_against::read(sentence))
    }

    /// Reads the sentence that names the file of what it leads to: `Do not change it in a.py:`.
    fn about_file(line: &str, name: &str) -> Option<Self> {
        let said = line.replace(&format!("`{name}`"), "this");
        let mut places = [" in this", " for this", " to this", " of this", " (this)"].iter();
        let place = places.find(|place| said.contains(**place));
        let bare = place.map(|place| said.replacen(place, "", 1));
        let words = Self::read(&said).or_else(|| Self::read(&bare?));
        // `Never use this value in a.py` forbids something else.
        let lower = line.to_lowercase().replace("like this", "");
        let mut others = lower.split(|c: char| !c.is_alphanumeric());
        let has_other = others.any(|word| has_word("this that these those it", word));
        words.filter(|words| *words != Self::Refusal || !has_other)
    }

    fn trouble(self) -> BlockTrouble {
        const WITHOUT_WORDS: &str = "Send it again without them, if it was meant.";
        let (what, hint) = match self {
            Self::Example => ("the words above it call it an example", WITHOUT_WORDS),
            Self::Refusal => ("the words above it say not to do it", WITHOUT_WORDS),
            Self::Rejected => ("the words below it give it up", WITHOUT_WORDS),
            Self::Question => (
                "the words beside it ask if it should be done",
                "Ask with `[ASK_USER]`, or send it again without them.",
            ),
            Self::Offer => (
                "the words above it offer it for later or on a condition",
                "Send it again without them, if it is to be done now, or ask with `[ASK_USER]`.",
            ),
            Self::Quotation => (
                "the words above it quote it or say that it was done before",
                WITHOUT_WORDS,
            ),
            Self::Sentence => (
                "it stands within a sentence about it",
                "Send it again without the sentence, if it was meant.",
            ),
            Self::Enclosed(EnclosingText::Comment) => (
                "it stands in a comment",
                "Send it again outside of the comment, if it was meant.",
            ),
            Self::Enclosed(EnclosingText::String) => (
                "it stands in a string or a here-document",
                "Send it again outside of that, if it was meant.",
            ),
            Self::Enclosed(EnclosingText::Program) => (
                "it stands below other lines of a program",
                "Send it again in a code block of its own, if it was meant.",
            ),
            Self::OneOption => (
                "it is one of several options",
                "Send the one that is meant, or ask with `[ASK_USER]`.",
            ),
        };
        BlockTrouble::new(format!("{what}, so it was not done"), hint)
    }
}

/// Returns true if a line over a code block speaks against carrying out what stands there.
pub(super) fn speaks_against(line: &str) -> bool {
    WordsAbove::read(line).is_some()
}

/// A text up to its last sentence or clause, and that one.
fn last_sentence(text: &str) -> (&str, &str) {
    const ENDS: [&str; 6] = [". ", "? ", "! ", "\u{3002}", "\u{ff1f}", "\u{ff01}"];
    let inner = text.trim_end_matches(['\u{3002}', '\u{ff1f}', '\u{ff01}', '\u{ff1b}']);
    let ends = ENDS
        .iter()
        .filter_map(|end| Some(inner.rfind(end)? + end.len()));
    let (before, last) = text.split_at(ends.max().unwrap_or(0));
    (before.trim_end(), last)
}

/// Returns true if a sentence asks the person, in whatever language: `What is missing?` is a question
/// that the model answers itself.
fn is_question(sentence: &str) -> bool {
    const OWN: &str = "what what's why how where which who when so and was warum wie wo que qué \
        pourquoi comment por cómo";
    let sentence = sentence.trim_start_matches(|c: char| !c.is_alphanumeric());
    let first = sentence.split_whitespace().next().unwrap_or_default();
    sentence.ends_with(['?', '？']) && !has_word(OWN, first) && !ends_in_code(sentence)
}

/// Returns true if the `?` at the end of a sentence in small letters is of code, such as a method or a
/// regex, and no word asks: `change: replace {0,1} by ?`, `I call !include?`.
fn ends_in_code(sentence: &str) -> bool {
    const SIGNS: &str = "!{}[]<>=$@^|\\~+*";
    const QUESTIONS: &str = "question frage pregunta pergunta domanda вопрос";
    const ASKS: &str = "should shall may can could would will do does did want ok okay is are was have \
        has right agree or soll sollen sollte darf dürfen kann können willst wollen möchten möchtest ist \
        sind oder quieres quiere debo puedo deseas es está dois peux puis voulez veux est ou devo posso \
        quer deseja vuoi vuole va";
    const ASKS_UNSPACED: [char; 3] = ['吗', '呢', 'か'];
    let Some(said) = sentence.strip_suffix('?') else {
        return false;
    };
    let last = said.rsplit(char::is_whitespace).next().unwrap_or_default();
    let is_labelled = || {
        let label = said.split_once(COLONS).map_or("", |(label, _)| label);
        !label.is_empty() && !label.contains(' ') && !has_word(QUESTIONS, label)
    };
    let mut words = said.split(|c: char| !c.is_alphanumeric());
    let asks = words.any(|word| has_word(ASKS, word)) || said.contains(ASKS_UNSPACED);
    !asks && (last.contains(|c: char| SIGNS.contains(c)) || is_labelled())
}

/// Returns true if a line is the label of an option: `Option A:`, `Approach 2 (safer)`. `Option A it
/// is` is a decision.
fn is_option(text: &str) -> bool {
    const NOUNS: &str = "option approach alternative variant solution method variante lösung \
        möglichkeit opción alternativa solución opção solução";
    const ORDINALS: &str = "first second third erste zweite première deuxième primera segunda";
    const UNSPACED: [&str; 2] = ["方案", "选项"];
    const NUMBERS: &str = "一二三四五12345abcd";
    const ENDS: [char; 6] = [COLONS[0], COLONS[1], '(', '\u{2014}', '\u{2013}', '-'];
    let rest = match text.split_once(' ') {
        Some((noun, rest)) if has_word(NOUNS, noun) => rest.strip_prefix(char::is_alphanumeric),
        Some((ordinal, rest)) if has_word(ORDINALS, ordinal) => {
            let mut nouns = NOUNS.split_whitespace();
            nouns.find_map(|noun| rest.strip_prefix(noun))
        }
        _ => {
            let rest = UNSPACED.iter().find_map(|noun| text.strip_prefix(noun));
            rest.and_then(|rest| rest.strip_prefix(|c| NUMBERS.contains(c)))
        }
    };
    rest.is_some_and(|rest| {
        let rest = rest.trim_start_matches(['*', ' ']);
        rest.is_empty() || rest.starts_with(ENDS)
    })
}

/// Returns true if a sentence says what somebody would or could do, or what the person may do: `I would
/// normally run`, `afterwards you can run`.
///
/// `I would suggest this` leads to what is done, and so does `I could not find it, so I add` or `so that
/// you can run it, I add`.
fn offers(sentence: &str) -> bool {
    const VERBS: &str = "add apply change create delete do edit execute move remove rename replace \
        run send try use write";
    // `Instead, you could`
    const BARE: [&str; 4] = ["you could", "you can also", "you could also", "you might"];
    if BARE
        .iter()
        .any(|it| sentence == *it || sentence.ends_with(&format!(", {it}")))
    {
        return true;
    }
    let does = |words: &[&str]| {
        let verb = without_adverbs(words).first();
        verb.is_some_and(|verb| has_word(VERBS, verb))
    };
    let words: Vec<&str> = sentence.split_whitespace().collect();
    // `We could use it, but I keep the loop` says what is done, `but it is slower` does not.
    let is_decided = sentence
        .rsplit_once(", but ")
        .is_some_and(|(_, but)| but.contains(',') || !begins_with(but, "it |that |this "));
    let supposes = !is_decided
        && words.iter().enumerate().any(|(at, word)| {
            let is_modal =
                has_word("would could", word) && at > 0 && has_word("i we you one", words[at - 1]);
            (is_modal || has_word("i'd we'd you'd", word)) && does(&words[at + 1..])
        });
    let clause = sentence.rsplit(", ").next().unwrap_or(sentence);
    let clause: Vec<&str> = clause.split_whitespace().collect();
    let permits = matches!(without_adverbs(&clause), ["you", "can" | "may" | "might", rest @ ..] if does(rest));
    supposes || permits
}

/// The words below those that tell when or how.
fn without_adverbs<'w, 's>(words: &'w [&'s str]) -> &'w [&'s str] {
    const ADVERBS: &str = "afterwards also alternatively even instead just later normally now \
        probably rather simply then to want";
    let mut rest = words;
    while let [first, below @ ..] = rest
        && has_word(ADVERBS, first)
    {
        rest = below;
    }
    rest
}

/// Returns true if a sentence tells somebody what to do on a condition: `if the tests fail, run`.
///
/// `If the file is missing, the loader fails, so I create it` leads to what is done.
fn depends(sentence: &str) -> bool {
    const FILLERS: &str = "please then just simply you can";
    const ORDERS: &str = "add apply change delete do execute remove replace restore revert run send \
        try undo use";
    const CONDITIONS: &str = "if |in case |should |when you |otherwise, ";
    const SYSTEMS: &str = "on windows|on macos|on linux|on a mac|under windows|under linux|unter windows|\
        unter linux|sous windows|sous linux";
    const OTHERS: &str = "wenn |falls |si |se |если |如果";
    const WISHES: &str = "möchte,willst,wollen,souhaite,voule,veux,quiere,desea,quise,vuoi,vuole,\
        хотите,хочешь,想,希望,需要";
    const OTHER_ORDERS: &str = "kannst |können |führe|starte|lösche|vous |tu |exécut|lancez |supprim|\
        puede|ejecut|elimin|puoi|esegui|pode|можете|можно|выполните|запустите|请|可以|就|则|wäre das|würde|könnte";
    let orders = |clause: &str| {
        let mut words = clause.split_whitespace();
        let verb = words.find(|word| !has_word(FILLERS, word));
        verb.is_some_and(|verb| has_word(ORDERS, verb))
    };
    let starts = |sentence: &str, words| begins_with(sentence.trim_start(), words);
    let (clause, main) = sentence
        .split_once([',', '\u{ff0c}'])
        .unwrap_or((sentence, ""));
    // `If yes`, `In case the above fails`
    let is_case = || starts(sentence, "in case ") && !starts(sentence, "in case of ");
    let is_bare = main.is_empty() && (starts(sentence, "if ") || is_case()) || {
        // In other languages a wish of the person, or what they can do or are to do.
        let wishes = WISHES.split(',').any(|wish| clause.contains(wish));
        starts(sentence, OTHERS) && (main.is_empty() || wishes || starts(main, OTHER_ORDERS))
    };
    // `On Windows, use this instead`
    let is_other_system = || {
        let means = ["this", "the following", "instead"];
        begins_with(sentence, SYSTEMS) && means.iter().any(|end| main.ends_with(end))
    };
    is_bare || orders(main) && (begins_with(sentence, CONDITIONS) || is_other_system())
}

/// Returns true if a sentence calls what follows an example: `here is an example`, `this is only an
/// example command`, `an edit looks like this`.
///
/// `the fixed example` is one that is worked on.
fn calls_example(sentence: &str) -> bool {
    const LEADS: &str = "zum beispiel,par exemple,por ejemplo,por exemplo,per esempio,bijvoorbeeld,\
        na przykład,например,例如,比如,例えば,たとえば,예를 들어";
    const GIVES: &str = "contain contains give gives list lists show shows";
    const STARTS: &str = "here here's this these that below as consider see just only";
    const NOUNS: &str = "command commands edit edits reply answer block blocks call calls diff \
        patch usage request response tool payload output message body";
    // `Zum Beispiel so`, but not `Zum Beispiel war die Summe falsch`.
    let led = LEADS
        .split(',')
        .find_map(|lead| sentence.strip_prefix(lead));
    if let Some(rest) = led {
        return rest.is_empty()
            || begins_with(
                rest,
                " sähe so| wäre das| könnte das| könnte man| würde man",
            )
            || rest.starts_with([',', '\u{ff0c}', '\u{3001}'])
            || rest == " so";
    }
    let words: Vec<&str> = sentence.split_whitespace().collect();
    // `The docs give this example`
    if let [source @ .., "this" | "following", "example"] = &words[..] {
        return source.iter().any(|word| has_word(GIVES, word));
    }
    let begins = |starts: &str| words.first().is_some_and(|first| has_word(starts, first));
    if let [.., article, _, "looks", "like", "this"] = words[..] {
        return begins("a an such") || has_word("a an", article);
    }
    if sentence.starts_with("the syntax ") {
        return sentence.ends_with(" is");
    }
    // `Example usage`, `a sample reply`
    let named = match &words[..] {
        ["a" | "an", rest @ ..] => rest,
        words => words,
    };
    if let ["example" | "sample", nouns @ ..] = named
        && !nouns.is_empty()
    {
        return nouns.iter().all(|word| has_word(NOUNS, word));
    }
    let Some(at) = words.iter().position(|it| has_word("example examples", it)) else {
        return false;
    };
    let is_any = words[..at]
        .iter()
        .any(|it| has_word("a an another one some only just", it));
    let is_end = words[at + 1..]
        .iter()
        .all(|word| NOUNS.split_whitespace().any(|it| it == *word));
    begins(STARTS) && is_any && is_end && at < 7
}

/// The first line below the last words that take back what stands above them; `blocks` are the lines
/// of commands.
pub(super) fn taken_back_above(lines: &[&str], blocks: &[Range<usize>]) -> Option<usize> {
    let is_taken = code_fence::in_blocks(lines.len(), blocks);
    // A code block in which commands stand is a frame around them, and words in it are words.
    let mut open: Option<Fence<'_>> = None;
    let (mut is_frame, mut is_below, mut last) = (false, false, None);
    let last_command = blocks.iter().map(|block| block.start).max().unwrap_or(0);
    for (at, line) in lines.iter().enumerate() {
        if is_taken[at] {
            (is_frame, is_below) = (true, true);
            continue;
        }
        match (Fence::read(line), open) {
            (Some(fence), Some(around)) if fence.closes(&around) => open = None,
            (Some(fence), None) => (open, is_frame) = (Some(fence), false),
            (None, None) if is_below && regrets(line, at < last_command) => last = Some(at),
            (None, Some(_)) if is_frame && regrets(line, at < last_command) => last = Some(at),
            _ => {}
        }
    }
    last
}

/// The problem of a command that words below it take back.
pub(super) fn taken_back() -> BlockTrouble {
    BlockTrouble::new(
        "words below it take it back, so it was not done",
        "Send one answer with all that is meant.",
    )
}

/// Returns true if a line regrets what stands above it: `Sorry, that is wrong.` An apology alone may be
/// for an earlier reply: only with other commands below it, it is about those above.
fn regrets(line: &str, has_commands_below: bool) -> bool {
    const LONGEST: usize = 400;
    const OPENINGS: &str = "correction:|hmm,|hold on|never mind|oh wait|on second thought|oops|\
        let me redo that|entschuldigung|korrektur:|désolé|lo siento|perdón|desculpe|\
        抱歉|对不起|更正|すみません";
    const WRONG: &str = "wrong incorrect not isn't don't shouldn't ignore disregard undo scratch \
        falsch nicht ignorieren faux pas ignorez mal ignora incorrecto";
    // `Wait for it` is an order, `Wait, no` is none.
    const INTERJECTIONS: [&str; 3] = ["wait", "sorry", "actually"];
    if line.len() > LONGEST || is_blank(line) {
        return false;
    }
    let lower = trim(line).to_lowercase().replace('\u{2019}', "'");
    let text = lower.trim_start_matches(|c: char| !c.is_alphanumeric());
    let is_interjection = |word: &&str| {
        let rest = text.strip_prefix(*word);
        rest.is_some_and(|rest| {
            rest.trim_start()
                .starts_with([',', ':', '!', '\u{2014}', '-'])
        })
    };
    let interjection = INTERJECTIONS.iter().find(|it| is_interjection(it));
    let is_opened =
        begins_with(text, OPENINGS) || interjection.is_some_and(|word| *word != "actually");
    let mut words = text.split(|c: char| !(c.is_alphanumeric() || c == '\''));
    let is_wrong = words.any(|word| has_word(WRONG, word))
        || ["\u{9519}", "\u{5ffd}\u{7565}"]
            .iter()
            .any(|it| text.contains(it));
    is_opened && (has_commands_below || is_wrong)
        || text
            .split(['.', '!', '?', ':', ';', '\u{2013}', '\u{2014}'])
            .any(calls_it_off)
}

/// Returns true if a sentence gives up what stands above it: `please disregard my answer above`,
/// `actually, scratch that`, `the block above is wrong`.
fn calls_it_off(sentence: &str) -> bool {
    const ORDERS: &str = "ignore disregard forget discard scrap scratch";
    const OBJECTS: &str = "above previous earlier first last my answer block blocks call command \
        commands edit edits diff patch reply version message";
    const FILLERS: &str = "it this that the all of everything please one";
    let sentence = sentence.trim();
    if begins_with(sentence, words_against::TAKEN_BACK) {
        return true;
    }
    let (is_turned, sentence) = match sentence.strip_prefix("actually, ") {
        Some(rest) => (true, rest),
        None => (false, sentence),
    };
    let sentence = sentence.strip_prefix("please ").unwrap_or(sentence);
    let is_wrong = ["above is wrong", "above was wrong"]
        .iter()
        .any(|it| sentence.contains(it));
    let is_other = sentence.starts_with("that was the wrong ") || sentence == "never mind";
    let order = sentence.split(',').next().unwrap_or_default();
    let mut words = order.split_whitespace();
    let Some(verb) = words.next().filter(|verb| has_word(ORDERS, verb)) else {
        return is_wrong || is_other;
    };
    // A warning may be ignored too.
    let names_it =
        verb != "ignore" || is_turned || words.clone().any(|word| has_word(OBJECTS, word));
    names_it
        && words.clone().next().is_some()
        && words.all(|word| has_word(OBJECTS, word) || has_word(FILLERS, word))
}

/// The commands that are not meant to be done, by their place among the steps.
pub(super) fn find(
    lines: &[&str],
    steps: &[Step],
    blocks: &[Range<usize>],
) -> Vec<(usize, BlockTrouble)> {
    if !steps.iter().any(|step| has_effects(&step.command)) {
        return Vec::new();
    }
    let mut ends: Vec<Range<usize>> = blocks.to_vec();
    ends.sort_unstable_by_key(|block| block.start);
    let is_taken = code_fence::in_blocks(lines.len(), blocks);
    let closing = closing_fences(lines, &is_taken);
    let mut enclosed = enclosed::find(lines, &is_taken).into_iter().peekable();
    let mut found = Vec::new();
    let mut same: Option<(usize, WordsAbove)> = None;
    // Where the blocks end that were looked below, and the words there.
    let mut below = (0, None);
    for (index, step) in steps.iter().enumerate() {
        let line = line_index(step.line);
        let last = ends.partition_point(|block| block.start < line);
        let free_from = ends[..last].last().map_or(0, |block| block.end);
        // The lines of a code block above are no words that lead to the command.
        let closed = closing.partition_point(|fence| *fence < line);
        let words_from = closing[..closed]
            .last()
            .map_or(free_from, |fence| free_from.max(fence + 1));
        // What follows with nothing between is under the same words.
        let between = lines.get(free_from..line).unwrap_or_default();
        let is_next = index > 0 && between.iter().all(|line| is_blank(line));
        // A block of another dialect may begin with a sentence of its own.
        let has_sentence = || file_name::in_sentence(lines[line]).is_some();
        same = same.filter(|(end, _)| line < *end || (is_next && !has_sentence()));
        if same.is_none() {
            let block = ends.get(last).filter(|block| block.contains(&line));
            same = led_by(lines, line, words_from)
                .or_else(|| set_into_sentence(lines, block?.clone(), words_from))
                .or_else(|| {
                    if below.0 <= line {
                        below = given_up_below(lines, &ends[last..], free_from);
                    }
                    Some((below.0, below.1?))
                });
        }
        while enclosed.next_if(|(lines, _)| lines.end <= line).is_some() {}
        // Other dialects have looked at the program around them.
        let counts = |text: &EnclosingText| {
            *text != EnclosingText::Program || tags::read(line, lines[line]).is_some()
        };
        let around = enclosed
            .peek()
            .filter(|(lines, text)| lines.contains(&line) && counts(text));
        let around = around.map(|(_, text)| WordsAbove::Enclosed(*text).trouble());
        let words = around.or_else(|| same.as_ref().map(|(_, words)| words.trouble()));
        let words = words.filter(|_| has_effects(&step.command));
        found.extend(words.map(|trouble| (index, trouble)));
    }
    found
}

/// The lines with the end of a code block that no command is part of.
fn closing_fences(lines: &[&str], is_taken: &[bool]) -> Vec<usize> {
    let mut open: Option<Fence<'_>> = None;
    let mut found = Vec::new();
    for at in (0..lines.len()).filter(|at| !is_taken[*at]) {
        let Some(fence) = Fence::read(lines[at]) else {
            continue;
        };
        let was_open = open.is_some();
        open = fence.follow(open);
        found.extend((was_open && open.is_none()).then_some(at));
    }
    found
}

/// The words above the command on a line, and the first line below what they lead to; `free_from` is
/// the line below the command or the code block before it.
fn led_by(lines: &[&str], line: usize, free_from: usize) -> Option<(usize, WordsAbove)> {
    const MOST_LINES: usize = 8;
    const MOST_BELOW: usize = 2_000;
    let mut fence: Option<Fence<'_>> = None;
    // The block of another dialect begins with the sentence that names its file.
    let is_sentence = file_name::in_sentence(lines[line]).is_some();
    let end = line + usize::from(is_sentence);
    let above = (free_from.min(line)..end).rev().take(MOST_LINES);
    for text in above.map(|at| lines[at]) {
        if is_quoted_fence(text) {
            continue;
        }
        if let Some(opened) = Fence::read(text) {
            fence = Some(opened);
        } else if !is_blank(text) && file_name::alone(text).is_none() {
            let words = match file_name::in_sentence(text) {
                Some(name) => WordsAbove::about_file(text, name),
                None => WordsAbove::read(text),
            };
            let Some(fence) = fence else {
                return words.map(|words| (line + 1, words));
            };
            let mut below = lines.iter().skip(line).take(MOST_BELOW);
            let length = below.position(|text| fence.is_closed_by(text));
            let close = length.map_or(lines.len(), |length| line + length);
            let embedded = || {
                is_within_sentence(text, lines.get(close + 1..)?).then_some(WordsAbove::Sentence)
            };
            let words = words.or_else(embedded)?;
            // With the end mark in it, the block is the answer.
            let end = close.min(line + MOST_BELOW);
            let mut inside = lines[line..end].iter();
            let is_end = |text: &&str| {
                let kind = tags::read(0, text).map(|tag| tag.kind);
                matches!(kind, Some(tags::Kind::End(_)))
            };
            return (!inside.any(is_end)).then_some((end.max(line + 1), words));
        }
    }
    None
}

/// Returns true if a line is a fence behind the mark of a quotation.
fn is_quoted_fence(line: &str) -> bool {
    let inner = line.trim_start_matches(['>', ' ']);
    inner.len() < line.len() && line.contains('>') && Fence::read(inner).is_some()
}

/// The words of the first sentence below a block, and those that follow it with nothing between, that give
/// it up or ask if it is to be done; with the end of these blocks. An end mark among them says that it is
/// the answer.
fn given_up_below(
    lines: &[&str],
    blocks: &[Range<usize>],
    free_from: usize,
) -> (usize, Option<WordsAbove>) {
    const MOST_BLOCKS: usize = 100;
    let Some(block) = blocks.first() else {
        return (0, None);
    };
    let above = lines.get(free_from..=block.start).unwrap_or_default();
    let is_code = above.iter().any(|line| Fence::read(line).is_some());
    let mut end = block.end;
    for next in blocks.iter().take(MOST_BLOCKS).skip(1) {
        let between = lines.get(end..next.start).unwrap_or_default();
        if !between.iter().all(|line| is_blank(line)) {
            break;
        }
        let tag = lines.get(next.start).and_then(|line| tags::read(0, line));
        if tag.is_some_and(|tag| matches!(tag.kind, tags::Kind::End(_))) {
            return (next.end, None);
        }
        end = end.max(next.end);
    }
    (end, words_below(lines, end, is_code))
}

/// The words of the sentence that begins on the first line from `end` on that is no end of a block.
fn words_below(lines: &[&str], end: usize, is_code: bool) -> Option<WordsAbove> {
    const MOST_LINES: usize = 10;
    let is_end = |line: &&str| is_blank(line) || (is_code && code_fence::is_bare(line));
    let mut below = lines.get(end..)?.iter().take(MOST_LINES);
    let below = below.find(|line| !is_end(line))?;
    let lower = trim(below).to_lowercase().replace('\u{2019}', "'");
    let ends = [". ", "! ", "? "].iter().filter_map(|end| lower.find(end));
    let sentence = &lower[..ends.min().map_or(lower.len(), |end| end + 1)];
    let asks = || sentence.ends_with(['?', '\u{ff1f}']) && words_against::asks_below(sentence);
    if asks() || words_against::waits_below(sentence) {
        Some(WordsAbove::Question)
    } else {
        words_against::rejected_below(sentence).then_some(WordsAbove::Rejected)
    }
}

/// The words around a command without a code block that a sentence goes on below: `I considered`, the
/// command, `but rejected it.`
fn set_into_sentence(
    lines: &[&str],
    block: Range<usize>,
    free_from: usize,
) -> Option<(usize, WordsAbove)> {
    const NEXT: &str = "but is was were would";
    let mut above = lines.get(free_from..block.start)?.iter().rev();
    let above = above.find(|line| !is_blank(line))?;
    let below = lines.get(block.end..)?;
    let mut filled = below.iter().filter(|line| !is_blank(line));
    let first = filled.next()?.split_whitespace().next()?;
    let is_within = has_word(NEXT, first) && is_within_sentence(above, below);
    is_within.then_some((block.end, WordsAbove::Sentence))
}

/// The words by which each kind is known.
mod phrases {
    use super::WordsAbove;

    /// Words of one kind; bars divide the phrases.
    pub(super) struct WordsKind {
        pub(super) words: WordsAbove,
        /// The whole of the line.
        labels: &'static str,
        /// How a line with a colon begins, or a part of it behind a comma.
        beginnings: &'static str,
        /// Words anywhere in a line with a colon.
        parts: &'static str,
        /// How a line with a colon ends.
        ends: &'static str,
    }

    impl WordsKind {
        /// Returns true if a line in small letters is of this kind; `label` is the line without the
        /// signs around it.
        pub(super) fn holds(&self, label: &str, text: &str, is_led: bool) -> bool {
            // `..., for example an empty list` tells what was wrong.
            let is_inner = |it: &str| text.contains(&format!(", {it}"));
            let begins = |it: &str| {
                label.starts_with(it) || (self.words != WordsAbove::Example && is_inner(it))
            };
            self.labels.split('|').any(|it| it == label)
                || (is_led
                    && (self.beginnings.split_terminator('|').any(begins)
                        || self.parts.split('|').any(|it| text.contains(it))
                        || self.ends.split('|').any(|it| label.ends_with(it))))
        }
    }

    pub(super) const KINDS: [WordsKind; 4] = [
        WordsKind {
            words: WordsAbove::Refusal,
            labels: "\
                don't|do not|wrong|bad|incorrect|instead of|statt|anstatt|au lieu de|en lugar de|\
                en vez de|falsch|错误|not|anti-pattern|bad solution|a bad solution|commented out|\
                draft|wrong fix|incorrect version|what i rejected|no change needed|\
                falsches beispiel|schlechtes beispiel|negativbeispiel|mauvais exemple|à éviter|\
                mal ejemplo|cattivo esempio|mau exemplo|плохой пример|错误示例|错误写法|错误做法|错误的写法|错误的做法|反例|\
                悪い例|間違った例|ダメな例|だめな例|잘못된 예",
            beginnings: "",
            parts: "\
                (do not |(don't |nicht ausführen|mach das nicht|ne faites pas|n'exécutez pas|\
                no ejecutes|no hagas|não execute|не запускай|不要运行|不要执行|请勿|実行しないで|not recommend |\
                would be dangerous|bad idea would be|decided against|not included",
            ends: "\
                not to do|not like this|have not done it|haven't done it|not going to send|\
                skip this|skip this command",
        },
        WordsKind {
            words: WordsAbove::Example,
            labels: "\
                example|examples|an example|as an example|sample|for example|for instance|e.g|\
                usage example|the following is an example|expected output|observation|usage|log|\
                input|test data|fixture|syntax|documentation|request body|such as|something like|\
                like this|illustration|preview|dry run|dry-run|sample edit|an example edit|a sketch|sketch|hypothetical|\
                hypothetically|pseudo-code|pseudocode|format|template|reminder of the format|\
                beispiel|zum beispiel|par exemple|exemple|por ejemplo|ejemplo|por exemplo|exemplo|\
                per esempio|esempio|bijvoorbeeld|voorbeeld|na przykład|przykład|например|пример|\
                例如|比如|示例|例|例えば|예|예시|예를 들어",
            beginnings: "\
                for example|for instance|e.g.|hypothetically|for reference|for illustration|\
                imagine |suppose |to illustrate",
            parts: "\
                is an example of |how a command |would be something like|it would look like this|\
                looks something like",
            ends: "\
                would look like this|format looks like|format looks like this|\
                response looks like this|answers like this|responds like this|commands like this|\
                looks as follows|a body like|would write|could send|the format is|\
                the format would be|the command would be|syntax is",
        },
        WordsKind {
            words: WordsAbove::Offer,
            labels: "\
                either|you can either|or|oder|ou bien|o bien|或者|rollback plan|not now|not yet|\
                as an option|a possible change|nice to have|up to you|maybe|alternative|\
                rollback|fallback|otherwise|to revert|to undo|to roll back|future work|follow-up work|\
                one option is|one option|an option is|one possibility is|another possibility is|\
                falls gewünscht|bei bedarf|ansonsten|andernfalls|sinon|au besoin|optionnel|facultatif|\
                opcional|de lo contrario|si no|opzionale|facoltativo|altrimenti|caso contrário|\
                необязательно|по желанию|при необходимости|иначе|可选|否则|任意|オプション|もし必要なら|\
                必要なら|必要であれば|必要に応じて|선택 사항",
            beginnings: "\
                optional|alternatively|another option|feel free to |in a future |manual step|\
                on your machine|alternativ |alternativement|alternativamente|wenn du möchtest|\
                wenn du willst|wenn sie möchten|si vous voulez|si vous préférez|si tu veux|\
                si quieres|si lo prefieres|se quiser|ou bien|如果你|如果您|或者|if you want|if you'd like|\
                if you like|if you prefer|if you agree|if you approve|if you confirm|\
                if you would like|if that's ok|once you |after your |after you approve|\
                after you confirm|only if |only run |only do |only use |later|next round|\
                in the next round|to undo,|to undo this|to undo it|to roll back,|to revert,|\
                to revert this|to revert it|pending your |pending approval|waiting for your |awaiting your |\
                let me know if i should|let me know if you want|let me know if you'd like|\
                let me know whether|tell me if i should|not needed, but|not necessary, but|\
                not required, but",
            parts: "\
                once you approve|can also |not done yet|possible follow-up|plan b|(not now)|(not yet)|\
                (later)",
            ends: " later| yourself",
        },
        WordsKind {
            words: WordsAbove::Quotation,
            labels: "\
                before|old version|you said|you wrote|you sent|you showed me this|vorher|avant|\
                antes|prima|было|до|修改前|更改前|変更前|修正前|변경 전",
            beginnings: "\
                quoting |reviewing |earlier i |earlier, i |from the protocol|\
                from the documentation|already done|i already applied this|i already changed this|\
                i have already changed this|i've already changed this|\
                i have already made this change|i've already made this change|\
                this was already applied|the earlier edit|already executed|already applied|\
                already sent",
            parts: "was introduced by",
            // None with a blank before it begins a line here: that blank would be lost.
            ends: "\
                last reply was|previous reply was| says| say| shows| show this| contains| contained|\
                in the last round|in the previous round| i sent| i see| was refused| answered|\
                i already did|i did last time| change was| approach was| version was| commit did",
        },
    ];
}

/// Returns true if a sentence that ends on no line above goes on below: `You asked whether`, a code
/// block, `is allowed.`
fn is_within_sentence(above: &str, below: &[&str]) -> bool {
    const NEXT: &str = "and then after followed to so which where with";
    let first = below
        .iter()
        .map(|line| trim(line))
        .find(|line| !line.is_empty());
    let first = first
        .and_then(|line| line.split_whitespace().next())
        .unwrap_or_default();
    let goes_on = first.starts_with(char::is_lowercase) && first.chars().all(char::is_alphabetic);
    let is_open = trim(above).ends_with(char::is_alphabetic) && trim(above).contains(' ');
    is_open && goes_on && !has_word(NEXT, first) && !trim(above).starts_with('#')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_forbid_or_call_an_example_are_told_from_others() {
        for (line, expected) in [
            ("Do not run this:", Some(WordsAbove::Refusal)),
            (
                "**Please do not run this command:**",
                Some(WordsAbove::Refusal),
            ),
            ("I will not run this command:", Some(WordsAbove::Refusal)),
            ("Whatever you do, never do this:", Some(WordsAbove::Refusal)),
            (
                "Never run this without a backup:",
                Some(WordsAbove::Refusal),
            ),
            (
                "You should not use the following:",
                Some(WordsAbove::Refusal),
            ),
            ("Don\u{2019}t do it like this:", Some(WordsAbove::Refusal)),
            ("Avoid this:", Some(WordsAbove::Refusal)),
            ("Avoid running this command:", Some(WordsAbove::Refusal)),
            (
                "I will not do this, because it is dangerous:",
                Some(WordsAbove::Refusal),
            ),
            ("Statt", Some(WordsAbove::Refusal)),
            ("Bitte nicht ausführen:", Some(WordsAbove::Refusal)),
            ("Draft (do not execute):", Some(WordsAbove::Refusal)),
            ("Afterwards you can run:", Some(WordsAbove::Offer)),
            ("You might later want to run:", Some(WordsAbove::Offer)),
            ("When you are happy with it, run:", Some(WordsAbove::Offer)),
            ("Please run this yourself:", Some(WordsAbove::Offer)),
            ("(Optional) Clean up:", Some(WordsAbove::Offer)),
            ("You can see the change here:", None),
            ("So that you can run it, I add a script:", None),
            (
                "If the tests above fail, revert with:",
                Some(WordsAbove::Offer),
            ),
            (
                "If that does not work, you can try:",
                Some(WordsAbove::Offer),
            ),
            ("**Option 1** \u{2013} simple:", Some(WordsAbove::OneOption)),
            ("Variante B:", Some(WordsAbove::OneOption)),
            ("Première solution :", Some(WordsAbove::OneOption)),
            ("方案一：", Some(WordsAbove::OneOption)),
            ("Second approach:", Some(WordsAbove::OneOption)),
            ("The API answers like this:", Some(WordsAbove::Example)),
            ("方案如下：", None),
            ("Second, the solution of the bug:", None),
            (
                "If the file is missing, the loader fails, so I create it:",
                None,
            ),
            ("If I read it right, this is the fix:", None),
            ("I do not use this any more, so I remove it:", None),
            ("Here is an example:", Some(WordsAbove::Example)),
            ("Here's a simple example:", Some(WordsAbove::Example)),
            ("This is only an example:", Some(WordsAbove::Example)),
            ("Here is an example command:", Some(WordsAbove::Example)),
            ("An edit looks like this:", Some(WordsAbove::Example)),
            ("The corrected version looks like this:", None),
            (
                "This makes sure that two workers never run the migration twice:",
                None,
            ),
            ("The tests don't do network access any more:", None),
            ("The tests don't do this any more:", None),
            ("Do not worry, this fixes it:", None),
            ("Don't forget to run this:", None),
            ("I avoid the second call:", None),
            ("Here is the fixed example:", None),
            ("I add an example to the README:", None),
            ("Here is an example configuration for the tests:", None),
            ("Here is the change:", None),
        ] {
            assert_eq!(WordsAbove::read(line), expected, "{line}");
        }
    }

    #[test]
    fn labels_for_another_time_and_conditions_are_known() {
        for line in [
            "To revert, apply this:",
            "Rollback:",
            "**Fallback:**",
            "Otherwise:",
            "In case the above fails:",
            "Next step (not now):",
            "Pending your approval:",
            "Let me know if I should apply this:",
            "Future work:",
            "Not needed, but nice:",
            "On Windows, use this instead:",
            "One option is:",
            "Instead, you could:",
            "You could also do this, but it is slower:",
            "Opcional:",
            "もし必要なら：",
        ] {
            assert_eq!(WordsAbove::read(line), Some(WordsAbove::Offer), "{line}");
        }
        for line in [
            "The docs give this example:",
            "To illustrate the format:",
            "Preview:",
            "Dry run:",
        ] {
            assert_eq!(WordsAbove::read(line), Some(WordsAbove::Example), "{line}");
        }
        for line in ["错误示例：", "悪い例："] {
            assert_eq!(WordsAbove::read(line), Some(WordsAbove::Refusal), "{line}");
        }
        assert_eq!(WordsAbove::read("Vorher:"), Some(WordsAbove::Quotation));
        for line in [
            "Instead of the loop, use this:",
            "Otherwise nothing changes. Here is the edit:",
            "If the tests fail, I will look again. The edit:",
            "In case of an empty list it fails:",
            "On Windows, the separator differs, so I use this instead:",
            "To revert the loop to its old speed, I sort once:",
            "One option is missing in the parser:",
            "I keep it as small as I could:",
            "We could use a lock, but the loop stays:",
            "I fixed this example:",
            "The preview is drawn again:",
            "Previously the value was lost:",
        ] {
            assert_eq!(WordsAbove::read(line), None, "{line}");
        }
    }

    #[test]
    fn words_about_earlier_commands_and_in_elements_are_known() {
        for (line, expected) in [
            ("I skip this command:", Some(WordsAbove::Refusal)),
            (
                "This is how a command is written:",
                Some(WordsAbove::Example),
            ),
            ("This was refused:", Some(WordsAbove::Quotation)),
            (
                "This failed in the last round:",
                Some(WordsAbove::Quotation),
            ),
            ("<summary>For example</summary>", Some(WordsAbove::Example)),
            ("</example>", None),
            ("\u{bf}Quieres que lo haga?", Some(WordsAbove::Question)),
            ("実行してもよろしいですか？", Some(WordsAbove::Question)),
            ("Summary: Convert !~ call into !include?", None),
            ("**Change:** Replace {0,1} by ?", None),
            ("I call !include?", None),
            ("Summary: should I convert it?", Some(WordsAbove::Question)),
            (
                "Question: convert it into include?",
                Some(WordsAbove::Question),
            ),
            ("Convert it into include?", Some(WordsAbove::Question)),
            ("Ready? I change it like this:", None),
            ("What is missing?", None),
            ("- Which functions are there?", None),
            ("If yes:", Some(WordsAbove::Offer)),
            ("如果测试失败，请运行：", Some(WordsAbove::Offer)),
            ("Par exemple, pour supprimer :", Some(WordsAbove::Example)),
            ("\u{274c} So nicht:", Some(WordsAbove::Refusal)),
            ("If it is missing, the test fails, so I add it:", None),
            ("## Is it done?", None),
            ("Splitting avoids this, for example `f(1)` is `a`:", None),
            (
                "Si le panier est vide, la division échoue ; j'ajoute donc une garde :",
                None,
            ),
            ("Wenn ich den Test richtig lese, fehlt nur die Menge:", None),
            (
                "Si vous le souhaitez, vous pouvez supprimer le fichier :",
                Some(WordsAbove::Offer),
            ),
            ("How can this be fixed? Like this:", None),
            ("We could use `sum()` here, but I keep the loop:", None),
            ("Later we will round it; for now, this is enough:", None),
            (
                "\u{4f8b}\u{5982}\u{4e09}\u{652f}\u{7b14}\u{ff0c}\u{73b0}\u{5728}\u{4fee}\u{6b63}\u{ff1a}",
                None,
            ),
            ("I think that the fix looks like this:", None),
            (
                "The protocol says that a command looks like this:",
                Some(WordsAbove::Example),
            ),
        ] {
            assert_eq!(WordsAbove::read(line), expected, "{line}");
        }
    }
}
