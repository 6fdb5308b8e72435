//! The single pass over a text: one automaton of all keywords, and the rules that its hits lead to.
//!
//! The work is linear in the length of the text, whatever it repeats. A keyword costs at most its
//! rule's reach, and nothing within an earlier match of its rule. Rules with a long reach match
//! runs of letters, digits, `-` and `_`. If one fails in a run, every later start in the run fails
//! for the same reason, so each run is read once.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use regex::bytes::Regex;

use super::boundary::is_within_word;
use super::rules::table::RULES;
use super::rules::{Anchor, SecretRule, compile};
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

/// The automaton of the beginnings of all keywords, the keywords with each beginning, and the
/// patterns, compiled on first use.
///
/// A small automaton stays in the cache of the processor; what follows a beginning is compared.
struct Keywords {
    automaton: AhoCorasick,
    leads: Vec<Vec<(&'static str, Lead)>>,
    patterns: Vec<OnceLock<(Regex, Option<Regex>)>>,
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
        ("-----begin ", Lead::KeyBegins),
        ("-----end ", Lead::KeyEnds),
        (keys::ENCODED, Lead::EncodedKey),
        (keys::PUTTY, Lead::PuttyKey),
        (".env", Lead::EnvFile),
    ]);
    words.extend(keys::BARE.map(|word| (word, Lead::BareKey)));
    words.extend(lines::MANIFESTS.map(|word| (word, Lead::Manifest)));
    let mut leads: BTreeMap<String, Vec<(&'static str, Lead)>> = BTreeMap::new();
    for (word, lead) in words {
        let leads = leads.entry(beginning(word)).or_default();
        // Several rules have the same keyword for names; one hit examines all of them.
        if !leads.contains(&(word, lead)) {
            leads.push((word, lead));
        }
    }
    Keywords {
        automaton: AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .match_kind(MatchKind::Standard)
            .kind(Some(AhoCorasickKind::DFA))
            .build(leads.keys())
            .expect("the keywords are few and short"),
        leads: leads.into_values().collect(),
        patterns: RULES.iter().map(|_| OnceLock::new()).collect(),
    }
});

/// The part of a keyword that is in the automaton. A run of one character is no beginning.
fn beginning(word: &str) -> String {
    const LENGTH: usize = 5;
    let first = word.chars().next();
    let run = word.chars().take_while(|c| Some(*c) == first).count();
    let length = LENGTH.max(run + 1);
    word.chars()
        .take(length)
        .collect::<String>()
        .to_ascii_lowercase()
}

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
    for hit in keywords.automaton.find_overlapping_iter(text) {
        for (word, lead) in &keywords.leads[hit.pattern().as_usize()] {
            let range = hit.start()..hit.start() + word.len();
            let there = text.as_bytes().get(range.clone());
            if there.is_some_and(|there| there.eq_ignore_ascii_case(word.as_bytes())) {
                hits.follow(keywords, *lead, range);
            }
        }
    }
    hits.found.extend(pem::scan(text, &hits.marks));
    // A known form says more than the name of a variable.
    hits.found.append(&mut hits.assigned);
    let lines = lines::scan(text, source, hits.mentions_env_file);
    hits.found.extend(lines);
    if let TextSource::File(path) = source {
        keywords.file(path, text, &mut hits.found);
    }
    hits.found
}

/// What the keywords of a text have led to so far.
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
            Lead::KeyBegins => self.marks.push(pem::KeyMarker::Begin(word.start)),
            Lead::KeyEnds => self.marks.push(pem::KeyMarker::End(word.start)),
            Lead::EncodedKey | Lead::BareKey | Lead::PuttyKey if word.start < self.done_keys => {}
            Lead::EncodedKey | Lead::BareKey => {
                let (finding, end) = match lead {
                    Lead::EncodedKey => keys::encoded_at(text, word.start),
                    _ => keys::bare_at(text, word.start),
                };
                self.done_keys = end;
                self.found.extend(finding);
            }
            Lead::PuttyKey => self.found.extend(keys::putty_at(text, word.end)),
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
        let captures = pattern.is_match(window).then(|| pattern.captures(window));
        let captures = captures.flatten();
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
                    finding(
                        rule,
                        text,
                        range.start + part.start()..range.start + part.end(),
                    )
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
    fn every_pattern_compiles_and_its_keywords_are_in_lower_case() {
        for (index, rule) in RULES.iter().enumerate() {
            KEYWORDS.pattern(index);
            for word in rule.keywords {
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
        for word in rule.keywords {
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
