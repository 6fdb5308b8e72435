//! A message from which a chat that knows nothing can go on, for a new chat or another vendor's.
//!
//! It takes the place of the current round's message, so that the reply to it is accepted as usual,
//! also by a loop that waits in another terminal.

use super::Agent;
use super::engine::Engine;
use super::kept_listing::ListingRecord;
use super::project::Project;
use super::publish::Requested;
use super::redact::MessageTexts;
use crate::checkpoint::{CheckpointStore, DiffLimits, Snapshot};
use crate::compose::{self, Handover};
use crate::error::{Error, Result};
use crate::mailbox::Posted;
use crate::protocol::generated::is_generated;
use crate::protocol::{RelPath, SessionId};
use crate::session::{
    Checkpoint, Instructions, Journal, LoopLock, Past, Record, RoundLock, Session, Source, Sync,
};

/// A message that was written for another chat.
#[derive(Debug)]
pub struct HandedOver {
    /// Where it lies.
    pub posted: Posted,
    /// Which round it is of.
    pub sequence: u32,
    /// All of it.
    pub text: String,
    /// Descriptions of the parts that were left out, for lack of room.
    pub cuts: Vec<String>,
}

impl Agent {
    /// Writes the message of the current round anew, for a chat that knows nothing.
    pub fn hand_over(&self, id: &SessionId) -> Result<HandedOver> {
        let _alone = RoundLock::take(self.store.directory())?;
        let (mut session, journal) = self.at_rest(id)?;
        if session.is_complete {
            return Err(Error::mendable(format!("session {id} has ended")).hint(format!(
                "`agent resume {id} --no-wait \"<what to do next>\"` opens it again; then hand it over"
            )));
        }
        let is_running = LoopLock::is_at_work_on(self.store.directory(), id);
        if let (true, Some(question)) = (is_running, session.open_question()) {
            return Err(Error::mendable(format!(
                "the model waits for an answer: {}",
                question.question.trim()
            ))
            .hint("`agent say \"...\"` answers it; then hand the session over"));
        }
        let past = self.store.past(id)?;
        let starts = beginning(&past, &session);
        let mut engine = Engine::new(self, session, journal);
        let diff = changes_since(&mut engine, &starts)?;
        self.take_choices(&mut engine.session);
        let handed = write_handover(&mut engine, past, &diff)?;
        let sequence = handed.sequence;
        let record = Record::HandedOver { sequence };
        engine.journal.append(&[record], Sync::Later)?;
        // A loop that waits has the session in its memory, and saves it itself.
        if !is_running {
            engine.save()?;
        }
        Ok(handed)
    }

    /// A session of which nothing is under way, and its journal; the caller holds the round lock.
    pub(super) fn at_rest(&self, id: &SessionId) -> Result<(Session, Journal)> {
        let (session, _) = self.store.load_or_rebuild(id)?;
        let (journal, recovered) = self.store.journal(id)?;
        let claimed = self.mailbox.claimed(id, session.sequence_number);
        if recovered.claimed.is_some() || claimed.is_some() {
            return Err(Error::mendable(format!(
                "a reply of session {id} has been taken and not been carried out yet"
            ))
            .hint(format!(
                "wait for it, or decide what is asked; if no loop runs, `agent resume {id}` settles it"
            )));
        }
        // A journal that has lost rounds is behind the session file.
        let is_latest = |recorded: &Session| recorded.sequence_number >= session.sequence_number;
        let mut session = recovered.session.filter(is_latest).unwrap_or(session);
        session.history.mark(&recovered.undone, true);
        session.history.mark(&recovered.redone, false);
        Ok((session, journal))
    }
}

/// Where the changes of a session begin: before its first round, or the first that is known.
pub(super) fn beginning(past: &Past, session: &Session) -> Vec<Snapshot> {
    let first = past.history.first().map(|round| round.before);
    let kept = session
        .checkpoints
        .front()
        .map(|round: &Checkpoint| round.before);
    first.into_iter().chain(kept).collect()
}

/// Composes the message and writes it in place of the one that is there.
pub(super) fn write_handover(
    engine: &mut Engine<'_>,
    mut past: Past,
    diff: &str,
) -> Result<HandedOver> {
    let agent = engine.agent;
    let (id, sequence) = (
        engine.session.session_id.clone(),
        engine.session.sequence_number,
    );
    // The new chat has seen nothing of what was told before.
    engine.session.instructions = Instructions::Full;
    let listing = engine.publisher().listing();
    let Requested { mut contents, seen } = engine.publisher().read_again();
    let named_files = compose::named(&engine.session, &listing);
    let mut project = Project::read(
        agent,
        &engine.session,
        &listing,
        &named_files,
        &mut engine.redactor,
    );
    // What was undone is in the history, and the changes are those of now.
    let mut notes: Vec<String> = (agent.store.notes(&id).all().into_iter())
        .filter(|note| note.source == Source::Person)
        .map(|note| note.text)
        .collect();
    let mut diff = diff.to_owned();
    let mut session = engine.session.clone();
    let mut told = MessageTexts {
        session: &mut session,
        contents: vec![&mut contents, &mut project.contents],
        past: &mut past.rounds,
        texts: notes.iter_mut().chain([&mut diff]).collect(),
    };
    engine.redactor.redact(&mut told);
    engine.redactor.settle_doubts(&mut told)?;
    let material = Handover {
        session: &session,
        past: &past,
        diff: &diff,
        notes: &notes,
        listing: &listing,
        named_files: &named_files,
        contents: &contents,
        project: &project.contents,
        facts: engine.publisher().facts(),
        max_list_items: agent.limits.max_list_items as usize,
        carriage: agent.manner.carriage,
    };
    let outbox = engine
        .redactor
        .compose(|veil| compose::hand_over(&material, veil));
    engine.session.seen = engine.publisher().seen_in(&outbox, seen);
    engine.redactor.keep()?;
    agent.mailbox.withdraw(&id, sequence)?;
    let posted = agent.post(&id, sequence, &outbox)?;
    project.keep(&agent.store, &id, &outbox.project);
    ListingRecord::keep(&agent.store, (&id, sequence), &listing, None)?;
    engine.redactor.tell();
    // A new chat has nothing to remember yet.
    engine.session.chat_tokens = 0;
    // The message lists the unanswered questions; the new chat asks again if they matter.
    (engine.session.questions).retain(|question| question.answer.is_some());
    Ok(HandedOver {
        posted,
        sequence,
        text: outbox.text,
        cuts: outbox.cuts,
    })
}

/// Returns the changes since the first of these snapshots that still exists, as a diff.
fn changes_since(engine: &mut Engine<'_>, starts: &[Snapshot]) -> Result<String> {
    if starts.is_empty() {
        return Ok(String::new());
    }
    let Some(now) = engine.baseline.checkpoint() else {
        return Ok(String::new());
    };
    let mut store = CheckpointStore::open(&engine.agent.store.objects())?;
    Ok(engine.agent.difference(&mut store, starts, &now))
}

impl Agent {
    /// Returns the diff from the first of these snapshots that still exists to a later one, without
    /// generated files.
    pub(super) fn difference(
        &self,
        store: &mut CheckpointStore,
        starts: &[Snapshot],
        end: &Snapshot,
    ) -> String {
        let limits = DiffLimits {
            // More than fits is cut again, to what fits.
            max_bytes: self.manner.carriage.limit.characters.saturating_mul(4),
            ..DiffLimits::default()
        };
        let mut known = starts.iter();
        let diff = known.find_map(|start| store.diff(start, end, &limits).ok());
        without_generated(&diff.unwrap_or_default())
    }
}

/// A diff without the files that tools make by themselves.
fn without_generated(diff: &str) -> String {
    let mut kept = String::with_capacity(diff.len());
    let mut is_kept = true;
    for line in diff.split_inclusive('\n') {
        if let Some(names) = line.strip_prefix("diff --git ") {
            let name = names.rsplit(" b/").next().unwrap_or_default();
            is_kept = !RelPath::parse(name.trim_end()).is_ok_and(|path| is_generated(&path));
        }
        if is_kept {
            kept.push_str(line);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_tools_make_by_themselves_is_no_change_to_hand_over() {
        let kept = "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x\n+y\n";
        let made = "diff --git a/b/__pycache__/a.pyc b/b/__pycache__/a.pyc\nBinary files differ\n";
        let diff = format!("{made}{kept}{made}");
        assert_eq!(without_generated(&diff), kept);
    }
}
