//! The single pass over a text: all keywords at once, and the rules that they lead to.
//!
//! The work is linear in the length of the text, whatever it repeats. A keyword costs at most its
//! rule's reach, and nothing within an earlier match of its rule. Rules with a long reach match
//! runs of letters, digits, `-` and `_`. If one fails in a run, every later start in the run fails
//! for the same reason, so each run is read once.

use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

use regex::bytes::Regex;

use super::boundary::is_within_word;
use super::rules::{Anchor, REACH, RULES, SecretRule, compile};
use super::{SecretFinding, TextSource, keys, lines, pem, place, shifted};

/// The kinds of secrets that have a rule, each once.
pub fn kinds() -> Vec<&'static str> {
    let mut kinds: Vec<&'static str> = RULES.iter().map(|rule| rule.kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    kinds
}

/// The kind of match that a keyword in the text starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lead {
    Rule(usize),
    Name,
    KeyMarker { is_begin: bool },
    Key,
    Manifest,
    EnvFile,
}

/// The keywords in groups, and the patterns, compiled on first use.
///
/// A group has a bit in the masks. Four masks, shifted by one byte each, say which groups may have a
/// keyword at a position. They stay in the fastest cache of the processor; an automaton of all
/// keywords does not, and took nearly twice as long.
struct Keywords {
    /// For each byte, the groups with a keyword that has it as the first, second, third or fourth.
    masks: Box<[[u64; 4]; 256]>,
    groups: Vec<Vec<Keyword>>,
    patterns: Vec<OnceLock<(Regex, Option<Regex>)>>,
}

/// The number of groups: one for each bit of a mask.
const GROUPS: usize = 64;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Keyword {
    word: &'static str,
    lead: Lead,
    /// The first four bytes in lower case, to be compared at once; bytes beyond the word are masked.
    begins: u32,
    mask: u32,
}

impl Keyword {
    fn new(word: &'static str, lead: Lead) -> Self {
        let mut begins = [0; 4];
        let mut mask = [0; 4];
        for (at, byte) in word.bytes().enumerate().take(4) {
            (begins[at], mask[at]) = (byte | 0x20, 0xff);
        }
        Self {
            word,
            lead,
            begins: u32::from_ne_bytes(begins),
            mask: u32::from_ne_bytes(mask),
        }
    }
}

static KEYWORDS: LazyLock<Keywords> = LazyLock::new(|| {
    let mut words: Vec<(&'static str, Lead)> = Vec::new();
    for (index, rule) in RULES.iter().enumerate() {
        let lead = match rule.anchor {
            Anchor::Name => Lead::Name,
            _ => Lead::Rule(index),
        };
        words.extend(rule.keywords.iter().map(|word| (*word, lead)));
    }
    words.extend([
        ("-----begin ", Lead::KeyMarker { is_begin: true }),
        ("-----end ", Lead::KeyMarker { is_begin: false }),
        (keys::ENCODED, Lead::Key),
        (keys::PUTTY, Lead::Key),
        (".env", Lead::EnvFile),
    ]);
    words.extend(keys::BARE.map(|word| (word, Lead::Key)));
    words.extend(lines::MANIFESTS.map(|word| (word, Lead::Manifest)));
    let mut keywords = Keywords {
        masks: Box::new([[0; 4]; 256]),
        groups: vec![Vec::new(); GROUPS],
        patterns: RULES.iter().map(|_| OnceLock::new()).collect(),
    };
    // Words that begin alike share a group, and so do short ones, which tell less.
    let order = |word: &'static str| (word.len().min(4), word);
    let mut sorted: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
    sorted.sort_by_key(|word| order(word));
    sorted.dedup();
    for (word, lead) in words {
        let rank = sorted.partition_point(|other| order(other) < order(word));
        let group = rank * GROUPS / sorted.len();
        for (byte, masks) in (0..=255).zip(keywords.masks.iter_mut()) {
            for (place, mask) in masks.iter_mut().enumerate() {
                let own = word.as_bytes().get(place);
                let may_be = own.is_none_or(|own| own.eq_ignore_ascii_case(&byte));
                *mask |= u64::from(may_be) << group;
            }
        }
        // Several rules have the same keyword for names; one hit examines all of them.
        let keyword = Keyword::new(word, lead);
        if !keywords.groups[group].contains(&keyword) {
            keywords.groups[group].push(keyword);
        }
    }
    keywords
});

/// Finds the secrets that the keywords of a text lead to.
pub(super) fn scan(text: &str, source: TextSource<'_>) -> Vec<SecretFinding> {
    let keywords = &*KEYWORDS;
    let mut hits = Hits {
        text,
        source,
        found: Vec::new(),
        assigned: Vec::new(),
        marks: Vec::new(),
        done: vec![0; RULES.len()],
        done_keys: 0,
        done_manifest: 0,
        mentions_env_file: false,
    };
    // The groups that may have a keyword of which one, two and three bytes were seen.
    let (mut one, mut two, mut three) = (0, 0, 0);
    for (at, byte) in text.bytes().enumerate() {
        let [first, second, third, fourth] = keywords.masks[usize::from(byte)];
        let groups = three & fourth;
        (one, two, three) = (first, one & second, two & third);
        if groups != 0 {
            hits.follow_all(keywords, groups, at - 3);
        }
    }
    hits.found.extend(pem::scan(text, &hits.marks));
    // A known form says more than the name of a variable.
    hits.found.append(&mut hits.assigned);
    let lines = lines::scan(text, source, hits.mentions_env_file);
    hits.found.extend(lines);
    if let Some(path) = source.path() {
        keywords.file(path, text, &mut hits.found);
    }
    hits.found
}

/// The findings that the keywords of a text have led to so far.
struct Hits<'a> {
    text: &'a str,
    source: TextSource<'a>,
    found: Vec<SecretFinding>,
    assigned: Vec<SecretFinding>,
    marks: Vec<pem::KeyMarker>,
    /// For each rule the end of its last match: matches of one rule do not overlap.
    done: Vec<usize>,
    done_keys: usize,
    done_manifest: usize,
    mentions_env_file: bool,
}

impl Hits<'_> {
    /// Examines the keywords of these groups that begin at this position.
    #[inline(never)] // The loop over the text is faster without it.
    fn follow_all(&mut self, keywords: &Keywords, mut groups: u64, start: usize) {
        let bytes = self.text.as_bytes();
        let Some(four) = bytes[start..].first_chunk() else {
            return;
        };
        let four = u32::from_ne_bytes(*four) | 0x2020_2020;
        while groups != 0 {
            for keyword in &keywords.groups[groups.trailing_zeros() as usize] {
                if four & keyword.mask != keyword.begins {
                    continue;
                }
                let range = start..start + keyword.word.len();
                let there = bytes.get(range.clone());
                if there.is_some_and(|there| there.eq_ignore_ascii_case(keyword.word.as_bytes())) {
                    self.follow(keywords, keyword.lead, range);
                }
            }
            groups &= groups - 1;
        }
    }

    /// Examines a keyword at this position.
    fn follow(&mut self, keywords: &Keywords, lead: Lead, word: Range<usize>) {
        let text = self.text;
        match lead {
            Lead::Rule(index) if word.start < self.done[index] => {}
            Lead::Rule(index) => {
                self.done[index] = keywords.token(index, text, word.start, &mut self.found);
            }
            Lead::Name => {
                self.assigned
                    .extend(place::at(text, word.clone(), self.source));
                self.assigned
                    .extend(lines::printed(text, word, self.source));
            }
            Lead::KeyMarker { is_begin } => self.marks.push(pem::KeyMarker {
                start: word.start,
                is_begin,
            }),
            Lead::Key if word.start < self.done_keys => {}
            Lead::Key => {
                let finding = keys::at(text, word);
                self.done_keys = finding.as_ref().map_or(0, SecretFinding::end);
                self.found.extend(finding);
            }
            Lead::Manifest if word.start < self.done_manifest => {}
            Lead::Manifest => self.done_manifest = lines::manifest(text, word, &mut self.found),
            Lead::EnvFile => self.mentions_env_file = true,
        }
    }
}

impl Keywords {
    fn pattern(&self, index: usize) -> &(Regex, Option<Regex>) {
        self.patterns[index].get_or_init(|| {
            let rule = &RULES[index];
            let is_anchored = rule.before == 0 && !matches!(rule.anchor, Anchor::File(_));
            let anchor = if is_anchored { r"\A" } else { "" };
            let pattern = format!("(?-u){anchor}(?:{})", rule.pattern);
            (compile_bytes(&pattern), rule.each.map(compile_bytes))
        })
    }

    /// Adds the secrets at this keyword; returns the position before which there is no other of the
    /// rule.
    fn token(
        &self,
        index: usize,
        text: &str,
        word: usize,
        found: &mut Vec<SecretFinding>,
    ) -> usize {
        let rule = &RULES[index];
        let bytes = text.as_bytes();
        let start = word.saturating_sub(rule.before);
        let is_token = rule.anchor == Anchor::Word && bytes[word].is_ascii_alphanumeric();
        // A pattern that begins with a letter wants that letter; a quick check.
        let first = rule.pattern.as_bytes()[0];
        let is_other = first.is_ascii_alphanumeric() && first != bytes[word];
        if is_token && rule.before == 0 && (is_other || is_within_word(bytes, word)) {
            return word;
        }
        let window = &bytes[start..(word + rule.reach).min(bytes.len())];
        let (pattern, each) = self.pattern(index);
        // Most keywords are no secrets, and groups are costly.
        let window_of_secret = Some(window).filter(|window| pattern.is_match(window));
        let captures = window_of_secret.and_then(|window| pattern.captures(window));
        let part = captures.and_then(|captures| {
            let group = captures.iter().skip(1).flatten().next();
            group.or_else(|| captures.get(0))
        });
        let Some(part) = part else {
            return if rule.reach > REACH {
                word + run_length(&window[word - start..])
            } else {
                word
            };
        };
        let range = shifted(part.range(), start);
        let end = range.end.max(word);
        let is_cut = bytes.get(range.end).is_some_and(u8::is_ascii_alphanumeric)
            && bytes[range.end - 1].is_ascii_alphanumeric();
        let is_within = is_token && rule.before > 0 && is_within_word(bytes, range.start);
        if is_cut || is_within {
            return end;
        }
        match each {
            Some(each) => {
                let parts = each.captures_iter(&bytes[range.clone()]);
                let parts = parts.filter_map(|captures| captures.get(1));
                let parts = parts.map(|part| shifted(part.range(), range.start));
                found.extend(parts.filter_map(|part| finding(rule, text, part)));
            }
            None => found.extend(finding(rule, text, range)),
        }
        end
    }

    /// Adds the secrets of a file that is there to keep them.
    fn file(&self, path: &str, text: &str, found: &mut Vec<SecretFinding>) {
        static NAMES: LazyLock<Vec<(usize, regex::Regex)>> = LazyLock::new(|| {
            let files = RULES.iter().enumerate();
            let files = files.filter_map(|(index, rule)| match rule.anchor {
                Anchor::File(name) => Some((index, compile(name))),
                _ => None,
            });
            files.collect()
        });
        let name = path.rsplit(['/', '\\']).next().unwrap_or_default();
        for (index, _) in NAMES.iter().filter(|(_, names)| names.is_match(name)) {
            let matches = self.pattern(*index).0.captures_iter(text.as_bytes());
            let parts = matches.filter_map(|captures| captures.get(1));
            found.extend(parts.filter_map(|part| finding(&RULES[*index], text, part.range())));
        }
    }
}

fn finding(rule: &SecretRule, text: &str, range: Range<usize>) -> Option<SecretFinding> {
    let value = text.get(range.clone())?;
    rule.check.accepts(value).then(|| SecretFinding {
        is_doubtful: rule.is_doubtful,
        ..SecretFinding::new(rule.kind, vec![range])
    })
}

/// The number of letters, digits, `-` and `_` at the start.
fn run_length(bytes: &[u8]) -> usize {
    let is_run = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    bytes.iter().take_while(is_run).count()
}

fn compile_bytes(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the patterns of the table are sound; a test compiles each")
}

#[cfg(test)]
mod tests {
    use super::super::tests::forms::{Sample, samples};
    use super::*;

    #[test]
    fn every_row_of_the_table_is_understood() {
        let known = "check=token check=digit check=password check=chosen check=odd check=random \
            check=issued check=login doubtful";
        let rows = include_str!("rules.txt").lines();
        let rows = rows.filter(|row| !row.is_empty() && !row.starts_with([' ', '#']));
        for row in rows.clone() {
            let mut words = row.split(" `").next().unwrap().split(' ');
            let about = words.next().unwrap();
            assert!(["token", "place", "name", "file"].contains(&about), "{row}");
            for word in words.skip(1) {
                let is_number = word.starts_with("around=") || word.starts_with("entropy=");
                assert!(
                    is_number || known.split(' ').any(|one| one == word),
                    "{row}"
                );
            }
        }
        assert_eq!(rows.count(), RULES.len());
    }

    #[test]
    fn every_pattern_compiles_and_its_keywords_are_in_lower_case() {
        for (index, rule) in RULES.iter().enumerate() {
            assert!(!rule.pattern.is_empty(), "{rule:?}");
            KEYWORDS.pattern(index);
            for word in &rule.keywords {
                assert_eq!(*word, word.to_ascii_lowercase());
            }
        }
    }

    /// Returns true if the rule by itself finds the secret of a sample.
    fn finds(index: usize, sample: &Sample) -> bool {
        let (rule, text) = (&RULES[index], sample.text.as_str());
        let mut found = Vec::new();
        if let Anchor::File(_) = rule.anchor {
            KEYWORDS.file(sample.path, text, &mut found);
        }
        let lower = text.to_ascii_lowercase();
        for word in &rule.keywords {
            for (at, _) in lower.match_indices(word) {
                if rule.anchor == Anchor::Name {
                    let source = TextSource::File(sample.path);
                    let finding = place::at(text, at..at + word.len(), source);
                    found.extend(finding.filter(|finding| finding.kind == rule.kind));
                } else {
                    KEYWORDS.token(index, text, at, &mut found);
                }
            }
        }
        let is_secret = |finding: &SecretFinding| {
            let value = &text[finding.parts[0].clone()];
            sample
                .secret
                .iter()
                .any(|secret| secret.contains(value) || value.contains(secret))
        };
        found.iter().any(is_secret)
    }

    #[test]
    fn every_rule_has_a_sample() {
        let samples: Vec<Sample> = (1..=4).flat_map(samples).collect();
        let missing = RULES.iter().enumerate().filter(|(index, rule)| {
            // Names without keywords count in `.env` files only, which have a test of their own.
            let is_led = !rule.keywords.is_empty() || matches!(rule.anchor, Anchor::File(_));
            is_led && !samples.iter().any(|sample| finds(*index, sample))
        });
        let missing: Vec<String> = missing
            .map(|(_, rule)| format!("{} {:?} {}", rule.kind, rule.keywords, rule.pattern))
            .collect();
        assert!(missing.is_empty(), "{}", missing.join("\n"));
    }

    #[test]
    fn many_forms_are_known() {
        assert!(kinds().len() >= 120, "{}", kinds().len());
    }
}
