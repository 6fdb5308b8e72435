//! Which lines have which words.

use super::document::{Document, LineId};

const BUCKETS: usize = 1 << 14;

/// The lines in which each word stands; words that share a bucket are taken for one.
#[derive(Debug, Default)]
pub(super) struct Words {
    lines: usize,
    buckets: Vec<Bucket>,
    entries: Vec<Entry>,
}

/// What is known about a word.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Bucket {
    /// In how many lines it stands, or stood.
    pub(super) count: usize,
    /// The newest entry, counted from 1.
    latest: usize,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    line: LineId,
    earlier: usize,
}

impl Words {
    /// Takes in the lines that it does not know yet.
    pub(super) fn learn<'t>(&mut self, lines: impl Iterator<Item = &'t str>) {
        self.buckets.resize(BUCKETS, Bucket::default());
        for (id, line) in lines.enumerate().skip(self.lines) {
            for word in words(line) {
                let bucket = &mut self.buckets[word];
                let is_known = (bucket.latest.checked_sub(1))
                    .is_some_and(|latest| self.entries[latest].line == id);
                if !is_known {
                    self.entries.push(Entry {
                        line: id,
                        earlier: bucket.latest,
                    });
                    bucket.latest = self.entries.len();
                    bucket.count += 1;
                }
            }
            self.lines = id + 1;
        }
    }

    pub(super) fn bucket(&self, word: usize) -> Bucket {
        self.buckets[word]
    }

    /// The lines in which a word stands, or stood, the newest first.
    pub(super) fn places(&self, bucket: Bucket) -> impl Iterator<Item = LineId> {
        let entry = |at: usize| at.checked_sub(1).map(|at| self.entries[at]);
        std::iter::successors(entry(bucket.latest), move |last| entry(last.earlier))
            .map(|entry| entry.line)
    }
}

/// The words of a line, each as the number of its bucket.
pub(super) fn words(line: &str) -> impl Iterator<Item = usize> {
    line.split(|character: char| !character.is_alphanumeric() && character != '_')
        .filter(|word| !word.is_empty())
        .map(|word| {
            let hash = word.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
            });
            usize::try_from((hash >> 20) & (BUCKETS as u64 - 1)).unwrap_or_default()
        })
}

/// Whether the lines may stand somewhere as a text that is made of whole words.
///
/// A cheap way to say no: the lines that have the rarest word are looked at, if they are few.
pub(super) fn may_stand(document: &mut Document<'_>, lines: &[&str]) -> bool {
    const FEW: usize = 64;
    document.learn_words();
    let document = &*document;
    let Some(index) = document.words() else {
        return true;
    };
    let rarest = (lines.iter().enumerate())
        .flat_map(|(at, line)| words(line).map(move |word| (index.bucket(word), at)))
        .min_by_key(|(bucket, _)| bucket.count);
    let Some((bucket, at)) = rarest.filter(|(bucket, _)| bucket.count <= FEW) else {
        return true;
    };
    let quote = lines[at];
    let (is_first, is_last) = (at == 0, at + 1 == lines.len());
    (index.places(bucket))
        .filter(|&id| document.is_live(id))
        .map(|id| document.text(id))
        .any(|line| match (is_first, is_last) {
            (true, true) => line.contains(quote),
            (true, false) => line.ends_with(quote),
            (false, true) => line.starts_with(quote),
            (false, false) => line == quote,
        })
}
