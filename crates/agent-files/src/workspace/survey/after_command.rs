//! The survey for the snapshot after a round, made in the look that the sandbox takes after a command.
//!
//! That look lists every directory anyway. The survey notes names and metadata; the snapshot reads what
//! changed when it is taken. If anything happens in between, the survey is forgotten, and the snapshot
//! walks the workspace itself.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use super::kept::{KeptDirectory, KeptSurvey};
use super::{Survey, SurveyScope, SurveyedDirectory, Workspace, lock};
use crate::workspace::joint_walk::DirectorySearch;

/// For so long a snapshot can be made from it.
const FRESH: Duration = Duration::from_secs(10);

/// How the last snapshot of everything surveyed the workspace, and the survey after a command.
#[derive(Default)]
pub(in crate::workspace) struct SurveyMemory {
    scope: Option<Arc<SurveyScope>>,
    kept: Option<(Instant, KeptSurvey)>,
}

impl fmt::Debug for SurveyMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut memory = f.debug_struct("SurveyMemory");
        memory.field("scope", &self.scope).finish_non_exhaustive()
    }
}

/// A survey that is made together with other searches.
pub struct CommandSurvey<'a> {
    began: SystemTime,
    survey: Survey<'a, KeptDirectory, fn(SurveyedDirectory<'_>) -> KeptDirectory>,
}

impl CommandSurvey<'_> {
    /// The search of this survey.
    pub fn search(&self) -> &dyn DirectorySearch {
        &self.survey
    }

    /// Keeps the survey for the next snapshot, once all directories were searched.
    pub fn keep(self) {
        let (workspace, scope) = (self.survey.workspace, Arc::clone(&self.survey.scope));
        let survey = KeptSurvey {
            scope,
            began: self.began,
            directories: self.survey.finish(),
        };
        lock(&workspace.survey).kept = Some((Instant::now(), survey));
    }
}

impl Workspace {
    /// Remembers what a snapshot of everything surveys, for the one that follows the next command. An
    /// earlier survey is of no use any more.
    pub(crate) fn remember_scope(&self, scope: &Arc<SurveyScope>) {
        *lock(&self.survey) = SurveyMemory {
            scope: Some(Arc::clone(scope)),
            kept: None,
        };
    }

    /// The scope as it was remembered, if it is the same: surveys of one scope share what they see.
    pub(super) fn shared_scope(&self, scope: &SurveyScope) -> Arc<SurveyScope> {
        let remembered = lock(&self.survey).scope.clone();
        let same = remembered.filter(|remembered| **remembered == *scope);
        same.unwrap_or_else(|| Arc::new(scope.clone()))
    }

    /// Begins a survey as the last snapshot of everything made it; `None` if there was no such
    /// snapshot.
    pub fn survey_after_command(&self) -> Option<CommandSurvey<'_>> {
        let scope = lock(&self.survey).scope.clone()?;
        Some(CommandSurvey {
            began: SystemTime::now(),
            survey: Survey::new(self, scope, KeptDirectory::of),
        })
    }

    /// Forgets the survey after a command: files are about to change.
    pub fn forget_survey(&self) {
        lock(&self.survey).kept = None;
    }

    /// The survey after the last command, once, if it has just been made in this way.
    pub(crate) fn take_survey(&self, scope: &SurveyScope) -> Option<KeptSurvey> {
        let (at, survey) = lock(&self.survey).kept.take()?;
        (at.elapsed() < FRESH && *survey.scope == *scope).then_some(survey)
    }
}
