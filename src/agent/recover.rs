//! Going on where a killed process stopped.
//!
//! No step is executed twice. What the journal knows to be finished is kept. File steps that were
//! under way are settled by the hashes of their files, and brought to their end. A command that was
//! under way is told to the model as interrupted, with what it had printed; what was to come after
//! it is told as skipped, because nobody knows what it would build on. Otherwise the steps that were
//! never begun are executed now, and so is a reply that was claimed and not begun.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use super::check::Checked;
use super::steps::Begun;
use super::{Agent, Conversation, Patience, Taken, file_name, identity};
use crate::error::{Error, Result};
use crate::execute::{self, Execution};
use crate::fs::{Durability, free_name, own_directory, write_atomic};
use crate::mailbox::shortened;
use crate::protocol::{Command, Outcome, RelPath, Seen, StagedFile, StagedStep, Step, StepResult};
use crate::reply::{self, Issue, Reply};
use crate::session::{CheckedWhen, ClaimedReply, Printed, Recovered, RoundLock, Session, Sync};

/// The longest part of a name that is kept, in bytes: a number before and after it must fit.
const MAX_KEPT_NAME: usize = 200;

impl<'a> Conversation<'a> {
    /// Opens a session for work and finishes what was left unfinished.
    pub(super) fn open(agent: &'a Agent, session: Session, patience: Patience) -> Result<Self> {
        let (mut conversation, recovered) = Self::restore(agent, session)?;
        // While a round is under way nothing is saved: the journal would forget that it is.
        if conversation.take_choices() && recovered.claimed.is_none() {
            let _alone = conversation.alone()?;
            conversation.save()?;
        }
        conversation.finish_round(&recovered, patience)?;
        Ok(conversation)
    }

    /// Opens a session as it was last saved, and tells what was under way.
    pub(super) fn restore(agent: &'a Agent, session: Session) -> Result<(Self, Recovered)> {
        let _alone = RoundLock::wait(agent.store.directory())?;
        let (journal, mut recovered) = agent.store.journal(&session.session_id)?;
        if recovered.torn_bytes > 0 {
            agent.ui.say(&format!(
                "The journal of session {} ended in the middle of a line; {} bytes were cut off.",
                session.session_id, recovered.torn_bytes
            ));
        }
        let is_new = recovered.session.is_none();
        if is_new && session.sequence_number > 1 {
            agent.ui.say(&format!(
                "The journal of session {} is missing or empty and begins anew; what its earlier rounds did can neither be shown nor undone.",
                session.session_id
            ));
        }
        let given = session;
        let session = match recovered.session.take() {
            Some(recorded) if is_other_than(&recorded, &given) => {
                agent
                    .ui
                    .say("The session file was not what the journal says; the journal was used.");
                agent.store.save(&recorded)?;
                recorded
            }
            Some(recorded) => recorded,
            None => given.clone(),
        };
        let notes = agent.store.notes(&session.session_id);
        notes.remove_told(&told(&session), session.updated_at);
        let mut conversation = agent.conversation(session, journal);
        conversation.undone(&recovered.undone);
        (conversation.session.history).mark(&recovered.redone, false);
        let confinement = agent.manner.permit.confinement.as_ref();
        let sandbox = confinement.map(|confinement| confinement.backend.name().to_owned());
        let is_other =
            conversation.session.sandbox != sandbox || conversation.allow(given.round_limit);
        conversation.session.sandbox = sandbox;
        conversation.is_under_way = recovered.claimed.is_some();
        let is_other = conversation.begin_planning() || is_other;
        let is_between = recovered.claimed.is_none();
        let when = if conversation.session.sequence_number > 1 {
            CheckedWhen::AfterReversal
        } else {
            CheckedWhen::AtStart
        };
        let is_other =
            (is_between && conversation.take_over_check(&recovered.check, when)) || is_other;
        // While a round is under way nothing is saved: the journal would forget that it is.
        if is_new || (is_other && recovered.claimed.is_none()) {
            conversation.save()?;
        }
        if let Some(claimed) = &recovered.claimed
            && let Some(taken) = conversation.same_reply(claimed)?
        {
            conversation.set_apart(&mut recovered, &taken.reply.steps)?;
        }
        Ok((conversation, recovered))
    }

    fn finish_round(&mut self, recovered: &Recovered, patience: Patience) -> Result<()> {
        let (id, sequence) = (&self.session.session_id, self.session.sequence_number);
        let Some(claimed) = &recovered.claimed else {
            let Some(file) = self.agent.mailbox.claimed(id, sequence) else {
                return Ok(());
            };
            self.agent
                .ui
                .say("A reply had been taken when `agent` stopped; it is executed now.");
            return self.step(reread(file)?, patience);
        };
        self.agent.ui.say(
            "A reply was being executed when `agent` stopped. What is done stays, what was under way is settled, and nothing is run twice.",
        );
        let Some(taken) = self.same_reply(claimed)? else {
            let _alone = self.alone()?;
            return self.conclude_without_reply(claimed, recovered);
        };
        let steps = &taken.reply.steps;
        let begun = {
            let _alone = self.alone()?;
            let mut begun = self.settle_steps(steps, recovered)?;
            let input = self.input(patience);
            self.settle_offer(steps, recovered, &mut begun.results, input)?;
            begun
        };
        let Some(consent) = self.consult(steps, begun.results.len(), patience)? else {
            return Ok(());
        };
        let _alone = self.alone()?;
        let results = self.execute(&taken, &consent, begun)?;
        // The round ends now, so that it can be undone like any other.
        let checked = self.check_round(recovered.before, steps, &results, &recovered.check)?;
        self.checkpoint_after(recovered.before, steps, &results)?;
        self.conclude(taken, results, checked)
    }
}

impl Conversation<'_> {
    /// Lets the session have so many rounds, if it may not already; tells whether that is new.
    fn allow(&mut self, rounds: u32) -> bool {
        let is_more = rounds > self.session.round_limit;
        self.session.round_limit = self.session.round_limit.max(rounds);
        is_more
    }

    /// Concludes a round that was under way, without beginning anything more of it.
    pub(super) fn break_off(&mut self, recovered: &Recovered) -> Result<()> {
        let Some(claimed) = &recovered.claimed else {
            return Ok(());
        };
        let Some(taken) = self.same_reply(claimed)? else {
            return self.conclude_without_reply(claimed, recovered);
        };
        let steps = &taken.reply.steps;
        let mut results = self.settle_steps(steps, recovered)?.results;
        for step in &steps[results.len()..] {
            let outcome = Outcome::skipped("the user ended the session before this");
            results.push(StepResult::new(step, outcome, Duration::ZERO));
        }
        self.checkpoint_after(recovered.before, steps, &results)?;
        self.conclude(taken, results, Checked::GoesOn)
    }

    /// The reply that was being carried out, if it still is what it was.
    fn same_reply(&self, claimed: &ClaimedReply) -> Result<Option<Taken>> {
        let file = self.agent.mailbox.processed().join(&claimed.file);
        if !file.exists() {
            return Ok(None);
        }
        let taken = reread(file)?;
        Ok(Some(taken).filter(|taken| taken.identity == claimed.identity))
    }

    /// Concludes a round whose reply is gone: what the journal knows is told, and what it does not.
    fn conclude_without_reply(
        &mut self,
        claimed: &ClaimedReply,
        recovered: &Recovered,
    ) -> Result<()> {
        let ClaimedReply { file, identity } = claimed;
        self.agent.ui.say(&format!(
            "That reply, `{file}` in `inbox/processed`, is gone or was changed. What the journal knows of it is told to the model; nothing more of it is carried out."
        ));
        let (mut results, _) = self.settle_files(recovered);
        let settled: Vec<u32> = results.iter().map(|result| result.number).collect();
        let finished = recovered.finished.iter();
        results.extend(
            finished
                .filter(|one| !settled.contains(&one.number))
                .cloned(),
        );
        results.sort_by_key(|result| result.number);
        let is_known = |number: &u32| results.iter().any(|result| result.number == *number);
        let unknown: Vec<String> = recovered
            .started
            .iter()
            .filter(|number| !is_known(number))
            .map(u32::to_string)
            .collect();
        let mut message = "your last reply was lost while it was being carried out; what is known of it is below, and what is not below was not done".to_owned();
        if !unknown.is_empty() {
            message.push_str(
                ", but for these commands, which were under way and may or may not have happened: ",
            );
            message.push_str(&unknown.join(", "));
        }
        let issue = Issue {
            line: 1,
            number: None,
            command: None,
            message,
            hint: "look at the files before you send the rest again".to_owned(),
        };
        let taken = Taken {
            name: file.clone(),
            reply: Reply {
                issues: vec![issue],
                ..Reply::default()
            },
            identity: identity.clone(),
            file: self.agent.mailbox.processed().join(file),
        };
        self.conclude(taken, results, Checked::GoesOn)
    }

    /// What became of the steps of a round that was stopped: of those that were begun, or of all if
    /// nothing can be built on them.
    ///
    /// What neither changes files nor runs programs is done now: doing it again harms nobody.
    fn settle_steps(&mut self, steps: &[Step], recovered: &Recovered) -> Result<Begun> {
        let (agent, sequence) = (self.agent, self.session.sequence_number);
        let folder = agent.store.folder(&self.session.session_id);
        let (settled, files) = self.settle_files(recovered);
        let known = recovered.finished.iter().chain(&settled);
        let known: BTreeMap<u32, &StepResult> = known.map(|known| (known.number, known)).collect();
        let is_finished = |number: u32| (recovered.finished.iter()).any(|one| one.number == number);
        let mut seen = Seen::default();
        let hider = self.concealed.hider(agent.manner.secrets.as_ref());
        let mut execution = Execution::begin(&agent.workspace, &agent.limits, &mut seen, steps)
            .hiding(hider.as_deref());
        let (mut results, mut is_stopped) = (Vec::new(), false);
        for step in steps {
            let is_begun = recovered.started.contains(&step.number);
            let result = if let Some(known) = known.get(&step.number) {
                (*known).clone()
            } else if is_harmless(&step.command) && (is_begun || is_stopped) {
                StepResult::new(step, execution.step(step), Duration::ZERO)
            } else if is_begun {
                is_stopped = true;
                interrupted(step, Printed::left(&folder, sequence, step.number))
            } else if is_stopped {
                let outcome = Outcome::skipped(
                    "`agent` was stopped before this; send it again if it is still wanted",
                );
                StepResult::new(step, outcome, Duration::ZERO)
            } else {
                break;
            };
            results.push(result);
        }
        let new = results.iter().filter(|result| !is_finished(result.number));
        let new: Vec<StepResult> = new.cloned().collect();
        self.journal
            .append(&self.finished_records(&new), Sync::Later)?;
        for result in &new {
            Printed::forget(&folder, sequence, result.number);
        }
        Ok(Begun {
            records: Vec::new(),
            results,
            files,
        })
    }

    /// Brings the file steps to their end that were under way, and tells what is known of the files
    /// of all steps.
    fn settle_files(&mut self, recovered: &Recovered) -> (Vec<StepResult>, Vec<StagedFile>) {
        let is_finished = |step: &StagedStep| {
            let number = step.result.number;
            (recovered.finished.iter()).any(|finished| finished.number == number)
        };
        let (mut results, mut files) = (Vec::new(), Vec::new());
        for batch in &recovered.batches {
            if batch.steps.iter().all(is_finished) {
                files.extend(batch.files.iter().cloned());
                self.note_written(&with_results(&batch.steps, &recovered.finished));
                continue;
            }
            self.has_unsynced_files = true;
            let settled = execute::settle(&self.agent.workspace, batch, &mut |path, content| {
                self.keep(path, content).map_err(|error| {
                    self.agent.ui.say(&format!(
                        "`{path}` was changed while `agent` was stopped in the middle of changing it. It stays as it is; what the model meant could not be kept elsewhere and stays beside it, under a name that begins with `.agent-`: {error}"
                    ));
                    error.to_string()
                })
            });
            self.note_written(&with_results(&batch.steps, &settled.results));
            results.extend(settled.results);
            files.extend(settled.files);
        }
        (results, files)
    }

    /// Keeps what was meant for a file that somebody else changed, and tells where.
    fn keep(&self, path: &RelPath, content: &[u8]) -> Result<String> {
        let folder = self.agent.store.folder(&self.session.session_id);
        let kept = folder.join("kept");
        own_directory(&kept)?;
        let sequence = self.session.sequence_number;
        let name = shortened(path.file_name(), MAX_KEPT_NAME);
        let place = free_name(&kept, &format!("{sequence:04}-{name}"));
        write_atomic(&place, content, Durability::Durable)?;
        let shown = place.strip_prefix(&self.agent.base).unwrap_or(&place);
        let shown = shown.display().to_string();
        self.agent.ui.say(&format!(
            "`{path}` was changed while `agent` was stopped in the middle of changing it. It stays as it is; what the model meant is kept in `{shown}`."
        ));
        Ok(shown)
    }
}

/// Whether the session file is not what the journal says.
///
/// The file is written after the journal, so it is never ahead of it. How many rounds there may be
/// is for the person to say.
fn is_other_than(recorded: &Session, given: &Session) -> bool {
    let mut recorded = recorded.clone();
    recorded.round_limit = given.round_limit;
    recorded != *given
}

/// What the notes said that the session has: a process that was killed may have left them.
fn told(session: &Session) -> Vec<String> {
    let answers = session
        .questions
        .iter()
        .filter_map(|asked| asked.answer.as_ref());
    session.notes.iter().chain(answers).cloned().collect()
}

/// The steps with what became of them, as far as that is known.
fn with_results(steps: &[StagedStep], results: &[StepResult]) -> Vec<StagedStep> {
    let find = |number: u32| results.iter().find(|result| result.number == number);
    let known = steps.iter().filter_map(|step| {
        let result = find(step.result.number)?.clone();
        let changes = step.changes.clone();
        Some(StagedStep { result, changes })
    });
    known.collect()
}

/// What is told of a step that was under way when the program was stopped.
fn interrupted(step: &Step, printed: Option<String>) -> StepResult {
    let mut message = "interrupted: `agent` was stopped while this was under way, so it may or may not have happened; look before you repeat it".to_owned();
    let printed = printed.filter(|printed| !printed.is_empty());
    if printed.is_some() {
        message.push_str("; what it had printed is below");
    }
    let outcome = Outcome::failed(message).with_detail(printed.unwrap_or_default());
    StepResult::new(step, outcome, Duration::ZERO)
}

/// Whether a step can be done twice.
fn is_harmless(command: &Command) -> bool {
    !command.changes_files() && !matches!(command, Command::RunCommand { .. })
}

fn reread(file: PathBuf) -> Result<Taken> {
    let bytes = fs::read(&file).map_err(|cause| Error::file("read", &file, cause))?;
    let (text, reply) = reply::read(&bytes);
    Ok(Taken {
        name: file_name(&file),
        reply,
        identity: identity(&text),
        file,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::Question;
    use crate::session::tests::session;

    #[test]
    fn an_answer_that_the_session_has_was_told() {
        let mut session = session("ab12cd34");
        let asked = |answer: Option<&str>| Question {
            question: "tabs?".to_owned(),
            answer: answer.map(str::to_owned),
        };
        session.notes = vec!["a note".to_owned()];
        session.questions = vec![asked(Some("tabs")), asked(None)];
        assert_eq!(told(&session), ["a note", "tabs"]);
    }

    #[test]
    fn the_journal_is_right_whatever_the_clock_says() {
        let recorded = session("ab12cd34");
        let mut given = recorded.clone();
        given.round_limit += 5;
        assert!(!is_other_than(&recorded, &given));
        given.updated_at += Duration::from_mins(1);
        assert!(is_other_than(&recorded, &given));
    }
}
