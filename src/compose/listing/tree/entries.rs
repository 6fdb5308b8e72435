//! The entries of a directory: files, directories, and runs of either whose names differ only by
//! numbers.

use super::super::runs::{RUN, is_alike};
use super::{Directory, Folding, Tree, TreeRow};

impl Tree<'_> {
    /// Lists the entries of a directory, at most so many.
    pub(super) fn entries(
        &self,
        directory: Directory,
        most: usize,
        folding: Folding,
    ) -> Vec<TreeRow> {
        let mut entries = Vec::new();
        let mut at = directory.from;
        while at < directory.to && entries.len() < most {
            let entry = self.entry(directory, at);
            if let TreeRow::Directory(_) = entry
                && folding == Folding::All
                && let Some(run) = self.run_of_directories(directory, at)
            {
                at = run.to();
                entries.push(run);
                continue;
            }
            let end = match entry {
                TreeRow::File(_) if !self.is_named(directory) => self.run_end(directory, at),
                _ => entry.to(),
            };
            if end - at >= RUN && matches!(entry, TreeRow::File(_)) {
                entries.push(TreeRow::Run(at, end));
            } else {
                let single = (at + 1..end).map(TreeRow::File);
                let single = single.filter(|_| matches!(entry, TreeRow::File(_)));
                entries.push(entry);
                let room = most - entries.len();
                entries.extend(single.take(room));
            }
            at = end;
        }
        entries
    }

    /// Behind the last of the files from this one on whose names differ only by numbers, and of
    /// which none matters.
    fn run_end(&self, directory: Directory, first: usize) -> usize {
        let name = |at: usize| &self.files[at].path.as_str()[directory.start..];
        let next_pinned = self.pinned.range(first..directory.to).next();
        let most = next_pinned.map_or(directory.to, |(at, _)| *at);
        let is_more = |at: &usize| is_alike(name(first), name(*at));
        let more = (first + 1..most).take_while(is_more).count();
        first + 1 + more
    }

    /// The directories from this place on whose names differ only by numbers and of which none
    /// matters, if they are many.
    fn run_of_directories(&self, directory: Directory, first: usize) -> Option<TreeRow> {
        if self.is_named(directory) {
            return None;
        }
        let next_pinned = self.pinned.range(first..directory.to).next();
        let next_named = self.named.range((first, 0)..(directory.to, 0)).next();
        let most = next_pinned.map_or(directory.to, |(at, _)| *at);
        let most = next_named.map_or(most, |(from, _)| most.min(*from));
        let name = |at: usize| {
            let path = &self.files[at].path.as_str();
            let slash = path[directory.start..].find('/')?;
            Some(&path[directory.start..directory.start + slash])
        };
        let (mut to, mut count) = (first, 0);
        while to < most
            && name(to).is_some_and(|next| name(first).is_some_and(|one| is_alike(one, next)))
        {
            let begins = directory.start + name(to)?.len() + 1;
            let end = self.end_of(to, directory.to, begins);
            if end > most {
                break;
            }
            (to, count) = (end, count + 1);
        }
        (count >= RUN).then_some(TreeRow::Directories {
            from: first,
            to,
            count,
        })
    }

    /// Behind the last file from this one on whose path begins with as many of its bytes; it is
    /// near, so that the search begins there.
    fn end_of(&self, from: usize, to: usize, length: usize) -> usize {
        let begins = &self.files[from].path.as_str()[..length];
        let is_in = |at: usize| self.files[at].path.as_str().starts_with(begins);
        let mut step = 1;
        while from + step < to && is_in(from + step) {
            step *= 2;
        }
        let (low, high) = (from + step / 2, (from + step).min(to));
        let files = &self.files[low..high];
        low + files.partition_point(|file| file.path.as_str().starts_with(begins))
    }

    /// The file at this place, or the directory in this one that holds it.
    pub(super) fn entry(&self, directory: Directory, at: usize) -> TreeRow {
        let path = self.files[at].path.as_str();
        let Some(slash) = path[directory.start..].find('/') else {
            return TreeRow::File(at);
        };
        let mut start = directory.start + slash + 1;
        let within = &self.files[directory.from..directory.to];
        let begins = &path[..start];
        let from = within.partition_point(|file| file.path.as_str() < begins);
        let from = from.min(at - directory.from);
        let rest = &within[from..];
        let count = rest.partition_point(|file| file.path.as_str().starts_with(begins));
        if from + count <= at - directory.from {
            return TreeRow::File(at);
        }
        // A directory that holds only another is told with it: `src/main/java/`.
        let (first, last) = (rest[0].path.as_str(), rest[count - 1].path.as_str());
        while let Some(slash) = first[start..].find('/') {
            let longer = start + slash + 1;
            if last.get(..longer) != Some(&first[..longer]) {
                break;
            }
            start = longer;
        }
        TreeRow::Directory(Directory {
            from: directory.from + from,
            to: directory.from + from + count,
            start,
            depth: directory.depth + 1,
        })
    }
}
