//! The single pass over a text: one automaton of all keywords, and the rules that its hits lead to.
//!
//! The work is linear in the length of the text, whatever it repeats. A keyword costs at most its
//! rule's reach, and nothing within an earlier match of its rule. Rules with a long reach match
//! runs of letters, digits, `-` and `_`. If one fails in a run, every later start in the run fails
//! for the same reason, so each run is read once.

use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use regex::bytes::Regex;

use super::boundary::is_within_word;
use super::rules::table::RULES;
use super::rules::{Anchor, Rule, compile};
use super::{SecretFinding, TextSource, keys, lines, pem, place};

/// The kinds of secrets that have a rule, each once.
pub fn kinds() -> Vec<&'static str> {
    let mut kinds: Vec<&'static str> = RULES.iter().map(|rule| rule.kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    kinds
}

/// What a keyword in the text leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lead {
    Rule(usize),
    Name,
    KeyBegins,
    KeyEnds,
    EncodedKey,
    BareKey,
    PuttyKey,
    Manifest,
    EnvFile,
}

/// The automaton of all keywords, the lead of each, and the patterns, compiled on first use.
struct Keywords {
    automaton: AhoCorasick,
    leads: Vec<Lead>,
    patterns: Vec<OnceLock<(Regex, Option<Regex>)>>,
}

static KEYWORDS: LazyLock<Keywords> = LazyLock::new(|| {
    let mut words: Vec<(&str, Lead)> = Vec::new();
    for (index, rule) in RULES.iter().enumerate() {
        let lead = match rule.anchor {
            Anchor::Name => Lead::Name,
            _ => Lead::Rule(index),
        };
        words.extend(rule.keywords.iter().map(|word| (*word, lead)));
    }
    words.extend([
        ("-----begin ", Lead::KeyBegins),
        ("-----end ", Lead::KeyEnds),
        (keys::ENCODED, Lead::EncodedKey),
        (keys::PUTTY, Lead::PuttyKey),
        (".env", Lead::EnvFile),
    ]);
    words.extend(keys::BARE.map(|word| (word, Lead::BareKey)));
    words.extend(lines::MANIFESTS.map(|word| (word, Lead::Manifest)));
    // Several rules have the same name keywords; one hit examines all of them.
    words.sort_by_key(|(word, lead)| (*lead == Lead::Name).then_some(*word));
    words.dedup_by(|one, other| one.1 == Lead::Name && one == other);
    Keywords {
        automaton: AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .match_kind(MatchKind::Standard)
            .kind(Some(AhoCorasickKind::DFA))
            .build(words.iter().map(|(word, _)| word))
            .expect("the keywords are few and short"),
        leads: words.into_iter().map(|(_, lead)| lead).collect(),
        patterns: RULES.iter().map(|_| OnceLock::new()).collect(),
    }
});

/// Finds the secrets that the keywords of a text lead to.
pub(super) fn scan(text: &str, source: TextSource<'_>) -> Vec<SecretFinding> {
    let keywords = &*KEYWORDS;
    let (mut found, mut assigned, mut marks) = (Vec::new(), Vec::new(), Vec::new());
    // Matches of one rule can overlap; no match starts before the end of the last one.
    let mut done = vec![0; RULES.len()];
    let (mut done_keys, mut done_manifest) = (0, 0);
    let mut mentions_env_file = false;
    for word in keywords.automaton.find_overlapping_iter(text) {
        match keywords.leads[word.pattern().as_usize()] {
            Lead::Rule(index) if word.start() < done[index] => {}
            Lead::Rule(index) => done[index] = keywords.token(index, text, word.start(), &mut found),
            Lead::Name => {
                assigned.extend(place::at(text, word.range(), source));
                assigned.extend(lines::printed(text, word.range(), source));
            }
            Lead::KeyBegins => marks.push(pem::KeyMarker::Begin(word.start())),
            Lead::KeyEnds => marks.push(pem::KeyMarker::End(word.start())),
            Lead::EncodedKey | Lead::BareKey | Lead::PuttyKey if word.start() < done_keys => {}
            Lead::EncodedKey => {
                let (finding, end) = keys::encoded_at(text, word.start());
                done_keys = end;
                found.extend(finding);
            }
            Lead::BareKey => {
                let (finding, end) = keys::bare_at(text, word.start());
                done_keys = end;
                found.extend(finding);
            }
            Lead::PuttyKey => found.extend(keys::putty_at(text, word.end())),
            Lead::Manifest if word.start() < done_manifest => {}
            Lead::Manifest => done_manifest = lines::manifest(text, word.range(), &mut found),
            Lead::EnvFile => mentions_env_file = true,
        }
    }
    found.extend(pem::scan(text, &marks));
    // A known form says more than the name of a variable.
    found.extend(assigned);
    found.extend(lines::scan(text, source, mentions_env_file));
    if let TextSource::File(path) = source {
        keywords.file(path, text, &mut found);
    }
    found
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
        if is_token && rule.before == 0 && is_within_word(bytes, word) {
            return word;
        }
        let window = &bytes[start..(word + rule.reach).min(bytes.len())];
        let (pattern, each) = self.pattern(index);
        let captures = pattern.captures(window);
        let part = captures.and_then(|captures| captures.get(1).or_else(|| captures.get(0)));
        let Some(part) = part else {
            return if rule.is_long() {
                word + run_length(&window[word - start..])
            } else {
                word
            };
        };
        let range = start + part.start()..start + part.end();
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
                found.extend(parts.filter_map(|part| {
                    finding(rule, text, range.start + part.start()..range.start + part.end())
                }));
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

fn finding(rule: &Rule, text: &str, range: Range<usize>) -> Option<SecretFinding> {
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
    use super::*;

    #[test]
    fn every_pattern_compiles_and_its_keywords_are_in_lower_case() {
        for (index, rule) in RULES.iter().enumerate() {
            KEYWORDS.pattern(index);
            for word in rule.keywords {
                assert_eq!(*word, word.to_ascii_lowercase());
            }
        }
    }

    #[test]
    fn many_forms_are_known() {
        assert!(kinds().len() >= 120, "{}", kinds().len());
    }
}
