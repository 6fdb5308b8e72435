//! `APPLY_PATCH`: all of it or nothing.
//!
//! Every new content is worked out first, over a picture of the files in which the changes before
//! it have happened already. Only if all of them work out are the contents put beside the files, and
//! only if all of these are there do they get their names.

mod operation;
mod patched;
mod plan;
mod stated;
mod worked_out;

use super::replace::{note, tally};
use super::{Execution, capped, count};
use crate::protocol::{Excerpt, FileChange, Level, Outcome, with_hint};
use operation::stage_all;
use plan::{PatchPlan, PatchTrouble};

impl Execution<'_> {
    /// Changes any number of files, all of them or none.
    pub(super) fn apply_patch(&mut self, changes: &[FileChange]) -> Outcome {
        if changes.is_empty() {
            return Outcome::failed("the patch names no files");
        }
        let mut plan = PatchPlan::new(&mut self.ledger, changes);
        for change in changes {
            plan.work_out(change);
        }
        if !plan.troubles.is_empty() {
            let troubles = std::mem::take(&mut plan.troubles);
            return self.refuse_patch(&troubles);
        }
        let worked_out = plan.finish();
        tracing::debug!(levels = %tally(worked_out.levels.iter()), "patch matched");
        if let Err(problem) = stage_all(&worked_out.operations, &mut self.ledger.staging) {
            self.ledger.staging.drop_step();
            return Outcome::failed(format!("nothing was changed: {problem}"));
        }
        let paths = worked_out.changed();
        let (level, report) = (worked_out.level(), worked_out.report.join("\n"));
        worked_out.enter_into(&mut self.ledger);
        if paths.is_empty() {
            return Outcome::ok("already applied, nothing changed")
                .with_level(Level::AlreadyApplied)
                .with_detail(report);
        }
        let note = note(level)
            .map(|note| format!(", {note}"))
            .unwrap_or_default();
        let files = count(named_files(changes), "file");
        Outcome::ok(format!("patched {files}{note}"))
            .with_level(level)
            .with_detail(capped(&report, self.limits.max_output))
            .with_changed(paths)
    }

    fn refuse_patch(&self, troubles: &[PatchTrouble]) -> Outcome {
        let [first, rest @ ..] = troubles else {
            return Outcome::failed("nothing was changed");
        };
        let suggestion = match &first.missing {
            Some(path) => self.walks.suggestion(path),
            None => String::new(),
        };
        let more = match rest.len() {
            0 => String::new(),
            more => format!(" (and {} below)", count(more, "more problem")),
        };
        let (mut details, mut excerpts) = (Vec::new(), Vec::new());
        for (position, trouble) in troubles.iter().enumerate() {
            let mut detail = trouble.detail.clone();
            if position > 0 {
                let line = with_hint(trouble.message.clone(), &trouble.hint);
                detail = format!("{line}\n{detail}");
            }
            let detail = detail.trim_end();
            if !detail.is_empty() {
                let path = trouble.path.clone();
                excerpts.extend(path.map(|path| Excerpt::of_lines(path, detail.lines().count())));
                details.push(detail.to_owned());
            }
        }
        Outcome::failed(format!(
            "nothing was changed: {}{suggestion}{more}",
            first.message
        ))
        .with_hint(&first.hint)
        .with_detail(capped(&details.join("\n"), self.limits.max_output))
        .with_excerpts(excerpts)
    }
}

/// How many files the patch speaks of.
fn named_files(changes: &[FileChange]) -> usize {
    let mut paths: Vec<_> = changes.iter().map(FileChange::path).collect();
    paths.sort_unstable();
    paths.dedup();
    paths.len()
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
