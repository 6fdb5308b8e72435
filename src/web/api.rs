//! The requests of the page: each function calls a service and returns JSON.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};

use super::begin;
use super::desk::{PageDesk, load, session_id};
use super::node::{PageNode, diff};
use super::view;
use crate::agent::undo::{self, Wish, named, obstacle};
use crate::approve::{Pending, Question, Verdict};
use crate::checkpoint::Force;
use crate::courier::Message;
use crate::error::{Error, Result};
use crate::protocol::{Command, Envelope, Event, QuestionKind, SessionId, Step};
use crate::reply;
use crate::services::browse::{self, BrowsedEntry, BrowsedPath};
use crate::services::diff::{ChangeKind, ChangedRound, DiffStat};
use crate::services::notes::WhichNotes;
use crate::services::reply::{BroughtText, RoundNumber};
use crate::services::undo::PlannedReversal;
use crate::services::{self, open, status};
use crate::session::{EventReader, LoopLock, Session, Source, Summary};
use crate::transcript::{self, Transcript};
use crate::ui::question_words;

/// How many finished rounds are sent at a time.
const ROUNDS: u32 = 20;
/// How many files of a kind are named.
const NAMED: usize = 200;

/// The sessions of the base directory, the latest first.
pub(super) fn sessions(desk: &PageDesk) -> Result<Value> {
    let files = desk.files()?;
    let list = services::list::list(&files)?;
    let sessions = list.sessions.iter().map(|listed| {
        let session = &listed.summary;
        json!({
            "id": session.session_id,
            "title": shown_line(session.title()),
            "name": listed.name,
            "task": PageNode::spoken(&start_of(&session.task)),
            "state": session.state().word(),
            "rounds": session.rounds(),
            "changed": session.changed_files.0,
            "updatedAt": session.updated_at,
            "isRunning": listed.is_running,
        })
    });
    let troubles = list.troubles.iter().map(ToString::to_string);
    Ok(json!({
        "base": files.base.directory.display().to_string(),
        "workspace": files.workspace.display().to_string(),
        "sessions": sessions.collect::<Vec<_>>(),
        "troubles": troubles.collect::<Vec<_>>(),
    }))
}

/// A session as the page opens it: where it stands, its latest rounds, what happened in this one.
pub(super) fn open_session(desk: &PageDesk, id: &str) -> Result<Value> {
    let id = session_id(id)?;
    let files = desk.files()?;
    let folder = files.store.folder(&id);
    // A round that ends in between would be told twice: it is looked at again then.
    let mut session = load(&files, &id)?;
    let mut events = EventReader::starting_at(&folder, 1).read();
    for _ in 0..3 {
        let now = load(&files, &id)?;
        if now.sequence_number == session.sequence_number {
            break;
        }
        session = now;
        events = EventReader::starting_at(&folder, 1).read();
    }
    let last = events.last().map_or(0, |envelope| envelope.seq);
    let current = &events[current_round(&events, &session)..];
    let mut value = standing_of(desk, &id)?;
    let before = if session.is_complete {
        u32::MAX
    } else {
        session.sequence_number
    };
    let rounds = rounds_before(&files, &session, before)?;
    value["seq"] = json!(last);
    value["items"] = json!(current.iter().map(view::event).collect::<Vec<_>>());
    value["rounds"] = rounds;
    Ok(value)
}

/// Where the events of the round begin that is under way.
fn current_round(events: &[Envelope], session: &Session) -> usize {
    if session.is_complete {
        return events.len();
    }
    let number = session.sequence_number;
    let begins = |envelope: &Envelope| match &envelope.event {
        Event::Outbox { sequence, .. } | Event::Reply { sequence, .. } => *sequence == number,
        _ => false,
    };
    // A message can be written again; the first of its events that follow each other counts.
    let ends = |envelope: &Envelope| match &envelope.event {
        Event::Outbox { sequence, .. } | Event::Reply { sequence, .. } => *sequence != number,
        _ => false,
    };
    let after = events.iter().rposition(ends).map_or(0, |at| at + 1);
    let found = events[after..].iter().position(begins);
    found.map_or(events.len(), |at| after + at)
}

/// Where a session stands.
pub(super) fn standing(desk: &PageDesk, id: &str) -> Result<Value> {
    standing_of(desk, &session_id(id)?)
}

fn standing_of(desk: &PageDesk, id: &SessionId) -> Result<Value> {
    let (caller, person) = desk.caller();
    let standing = status::status(&caller, Some(id.as_str()))?;
    let session = &standing.session;
    let store = &standing.files.store;
    let summary = Summary::of(session);
    let holder = LoopLock::holder(store.directory());
    let pending = Pending::of(&store.folder(id));
    let history = store.history(id)?;
    let notes = store.notes(id).all();
    let mut own = 0;
    let notes = notes.iter().map(|note| {
        // Only what the person wrote has a number, and can be withdrawn.
        let is_own = note.source == Source::Person;
        own += usize::from(is_own);
        json!({ "text": PageNode::spoken(&note.text), "number": is_own.then_some(own) })
    });
    let notes: Vec<Value> = notes.collect();
    let check = standing.check.as_ref().map(|check| {
        json!({
            "command": shown_line(&check.command),
            "status": check.outcome.as_ref().map(|outcome| outcome.status),
            "isOutdated": check.is_outdated,
        })
    });
    Ok(json!({
        "id": id,
        "title": shown_line(summary.title()),
        "name": store.name(id),
        "task": view::own_words("Task", &session.task),
        "further": session.further.iter().map(|further| json!({
            "round": further.sequence,
            "node": view::own_words("You", &further.text),
        })).collect::<Vec<_>>(),
        "state": summary.state().word(),
        "round": session.sequence_number,
        "isComplete": session.is_complete,
        "summary": session.summary.as_deref().map(|summary| view::speech("Done", summary)),
        "changed": summary.changed_files.0,
        "usage": store.usage(id).map(|usage| format!("By an API: {usage}")),
        "workspace": standing.files.workspace.display().to_string(),
        "chat": standing.files.chat.name,
        "message": message_of(&standing),
        "isTaken": standing.is_taken,
        "replyInInbox": standing.reply_in_inbox,
        "loop": holder.map(|holder| json!({
            "process": holder.process,
            "isHere": holder.process == std::process::id(),
            "session": holder.session,
        })),
        "questions": pending.open_questions().iter().map(question).collect::<Vec<_>>(),
        "modelQuestion": standing.model_question.as_deref().map(|text| view::speech("The model asks", text)),
        "notes": notes,
        "check": check,
        "undoable": history.undoable(0).iter().map(|round| round.round).collect::<Vec<_>>(),
        "canRedo": !history.redoable().is_empty(),
        "words": person.words(),
        "trouble": desk.loops.trouble(id),
    }))
}

/// The message that is to be carried.
fn message_of(standing: &status::SessionStanding) -> Value {
    let posted = standing.posted();
    match posted.filter(|_| !standing.session.is_complete) {
        Some(posted) => json!({
            "round": standing.session.sequence_number,
            "parts": posted.pastes.len(),
            "attachment": posted.attachment.as_ref().map(|path| path.display().to_string()),
            "open": opening(standing),
        }),
        None => Value::Null,
    }
}

/// Where the chat is opened. The address can carry the message only where it begins a chat: later ones
/// belong into the chat that there is.
fn opening(standing: &status::SessionStanding) -> Option<Value> {
    let link = standing.files.chat.open.as_ref()?;
    let posted = standing.posted()?;
    let is_first = standing.session.sequence_number == 1;
    let is_whole = posted.pastes.len() == 1 && posted.attachment.is_none();
    let text = posted.pastes.first().filter(|_| is_first && is_whole);
    let text = text.and_then(|path| std::fs::read_to_string(path).ok());
    Some(json!({
        "title": link.title,
        "page": link.page,
        "withMessage": text.and_then(|text| link.carrying(&text)),
    }))
}

/// The start of a task, for the search.
fn start_of(task: &str) -> String {
    const SEARCHED: usize = 1_000;
    task.chars().take(SEARCHED).collect()
}

/// A question as the page shows it, with the hash that a decision on it must carry.
fn question(question: &Question) -> Value {
    let words = question_words(question);
    let shown = match question.kind {
        QuestionKind::Plan | QuestionKind::Model => view::said(&question.shown),
        QuestionKind::Step if !question.is_about_script() => diff(&question.shown),
        QuestionKind::Step
        | QuestionKind::Network
        | QuestionKind::Secrets
        | QuestionKind::Undo
        | QuestionKind::ClipboardReply => PageNode::block("script", &question.shown),
        _ => PageNode::Text(String::new()),
    };
    let verb = crate::approve::verb(&question.command, &question.shown);
    let verb = verb.map_or_else(String::new, |verb| format!("{verb} "));
    json!({
        "key": question.key(),
        "hash": question.identity(),
        "kind": question.kind,
        "number": question.number,
        "verb": (!question.command.is_empty()).then_some(verb),
        "title": PageNode::sentence(&question.title),
        "words": PageNode::sentence(&words),
        "shown": shown,
        "why": told(&question.why),
        "may": told(&question.may),
        "proposal": question.proposal.as_deref().and_then(told),
        "script": question.is_about_script().then_some(&question.shown),
    })
}

/// A sentence, if it says something.
fn told(text: &str) -> Option<PageNode> {
    (!text.is_empty()).then(|| PageNode::sentence(text))
}

fn shown_line(text: &str) -> PageNode {
    PageNode::spoken(&text.replace(['\n', '\t'], " "))
}

/// Finished rounds before this one, the latest of them, in their order.
pub(super) fn rounds(desk: &PageDesk, id: &str, before: u32) -> Result<Value> {
    let files = desk.files()?;
    let session = load(&files, &session_id(id)?)?;
    rounds_before(&files, &session, before)
}

/// One round that is finished.
pub(super) fn round(desk: &PageDesk, id: &str, number: u32) -> Result<Value> {
    let files = desk.files()?;
    let session = load(&files, &session_id(id)?)?;
    let transcript = Transcript::gather(&session, &files.store, &files.mailbox, Some(number))?;
    let round = transcript.rounds.first();
    let round = round.ok_or_else(|| Error::mendable(format!("there is no round {number}")))?;
    Ok(json!(view::round(round)))
}

fn rounds_before(files: &open::SessionFiles, session: &Session, before: u32) -> Result<Value> {
    let last = before.min(session.sequence_number.saturating_add(1));
    let first = last.saturating_sub(ROUNDS);
    let wanted = |number: u32| (first..last).contains(&number) && number < before;
    let transcript = Transcript::gather_some(session, &files.store, &files.mailbox, wanted)?;
    let mut rounds = transcript.rounds;
    // The one that waits for its reply is told by its events.
    rounds.retain(|round| round.ended_at.is_some() || !round.results.is_empty());
    Ok(json!({
        "rounds": rounds.iter().map(view::round).collect::<Vec<_>>(),
        "hasEarlier": first > 1,
    }))
}

/// The whole text of a message or of a reply.
pub(super) fn letter(desk: &PageDesk, id: &str, what: &str, round: u32) -> Result<Value> {
    let files = desk.files()?;
    let session = load(&files, &session_id(id)?)?;
    let transcript = Transcript::gather(&session, &files.store, &files.mailbox, Some(round))?;
    let round = transcript.rounds.into_iter().next();
    let letter = round.and_then(|round| match what {
        "sent" => round.message,
        _ => round.reply,
    });
    let letter = letter.ok_or_else(|| Error::mendable("this text is not kept any more"))?;
    Ok(json!({
        "file": letter.file,
        "node": PageNode::block("letter", &letter.text),
    }))
}

/// A part of the message, exactly as it is to be pasted.
pub(super) fn message(desk: &PageDesk, id: &str, part: usize) -> Result<Value> {
    let id = session_id(id)?;
    let files = desk.files()?;
    let message = Message::latest(&files.mailbox, &id)
        .ok_or_else(|| Error::mendable("there is no message of this session yet"))?;
    Ok(json!({
        "text": message.paste(part)?,
        "round": message.mark.sequence,
        "part": part,
        "parts": message.parts(),
    }))
}

/// The changes of a round; of the whole session for round 0.
pub(super) fn difference(desk: &PageDesk, id: &str, round: u32) -> Result<Value> {
    let id = session_id(id)?;
    let (caller, _) = desk.caller();
    let mut changed = match round {
        0 => services::diff::changed_session(&caller, id.as_str())?,
        round => services::diff::changed_round(&caller, Some(id.as_str()), Some(round))?,
    };
    let shown_paths = changed.shown_paths();
    let is_left_out = |path: &Path| (shown_paths.as_ref()).is_some_and(|shown| !shown.has(path));
    let text = changed.text_without(is_left_out)?;
    let shown = changed.files_without(is_left_out)?;
    let count = changed.files()?.len();
    let parts = by_file(&text);
    let files = parts.iter().take(NAMED).enumerate().map(|(at, part)| {
        let stat = shown.get(at);
        json!({
            "path": stat.map(|stat| PageNode::code(&stat.change.path.to_string_lossy())),
            "added": stat.and_then(|stat| Some(stat.lines?.added)),
            "removed": stat.and_then(|stat| Some(stat.lines?.removed)),
            "node": diff(part),
        })
    });
    Ok(json!({
        "round": changed.round,
        "isUndone": changed.is_undone,
        "count": count,
        "files": files.collect::<Vec<_>>(),
        "leftOut": count.saturating_sub(shown.len().min(NAMED)),
    }))
}

/// A unified diff, cut where a file begins. Lines of a file begin with a sign, so none of them is
/// taken for the beginning of another.
fn by_file(text: &str) -> Vec<&str> {
    let mut starts: Vec<usize> = (text.match_indices("diff --git "))
        .map(|(at, _)| at)
        .filter(|at| *at == 0 || text.as_bytes()[at - 1] == b'\n')
        .collect();
    starts.push(text.len());
    starts
        .windows(2)
        .map(|pair| &text[pair[0]..pair[1]])
        .collect()
}

/// A path of the workspace that the page looks at.
#[derive(Debug, Deserialize)]
pub(super) struct PagePath {
    path: String,
}

/// A file or a folder of the workspace, with what the session changed there.
pub(super) fn files(desk: &PageDesk, id: &str, wanted: &PagePath) -> Result<Value> {
    let id = session_id(id)?;
    let (caller, _) = desk.caller();
    let workspace = status::status(&caller, Some(id.as_str()))?.files.workspace;
    let own = browse::own_folders(&caller, &workspace)?;
    let mut changed = services::diff::changed_session(&caller, id.as_str()).ok();
    let stat = changed.as_mut().map(ChangedRound::files).transpose()?;
    let stat = stat.unwrap_or_default();
    let path = wanted.path.as_str();
    Ok(match browse::browse(&workspace, &own, path)? {
        BrowsedPath::Folder { entries, left_out } => json!({
            "entries": entries.iter().map(|entry| folder_entry(entry, path, &stat)).collect::<Vec<_>>(),
            "gone": gone_from(path, &stat),
            "leftOut": left_out,
        }),
        BrowsedPath::Text(text) => {
            let difference =
                changed.map(|mut changed| changed.text_without(|one| one != Path::new(path)));
            let difference = difference.transpose()?.unwrap_or_default();
            json!({
                "lines": text_lines(&text, &difference),
                "difference": (!difference.is_empty()).then(|| diff(&difference)),
            })
        }
        BrowsedPath::Unshown(why) => json!({ "unshown": why }),
    })
}

fn folder_entry(entry: &BrowsedEntry, folder: &str, stat: &[DiffStat]) -> Value {
    let path = Path::new(folder).join(&entry.name);
    let (mut added, mut removed, mut changes) = (0, 0, 0_usize);
    let is_inside = |one: &&DiffStat| {
        one.change.path == path || (entry.is_folder && one.change.path.starts_with(&path))
    };
    let inside = stat.iter().filter(is_inside);
    let mut is_new = false;
    for one in inside {
        changes += 1;
        added += one.lines.map_or(0, |lines| lines.added);
        removed += one.lines.map_or(0, |lines| lines.removed);
        is_new = !entry.is_folder && one.change.kind == ChangeKind::Created;
    }
    json!({
        "name": entry.name,
        "shown": PageNode::code(&entry.name),
        "isFolder": entry.is_folder,
        "isSpecial": entry.is_special,
        "size": entry.size,
        "changes": changes,
        "added": added,
        "removed": removed,
        "isNew": is_new,
    })
}

/// The files of a folder that the session deleted.
fn gone_from(folder: &str, stat: &[DiffStat]) -> Vec<PageNode> {
    let folder = Path::new(folder);
    let gone = stat
        .iter()
        .filter(|one| one.change.kind == ChangeKind::Deleted);
    let gone = gone.filter(|one| one.change.path.parent() == Some(folder));
    let names = gone.filter_map(|one| one.change.path.file_name());
    let names = names.map(|name| PageNode::code(&name.to_string_lossy()));
    names.take(NAMED).collect()
}

/// The lines of a file, those with `added` that the session wrote, if they are still there as it wrote
/// them.
fn text_lines(text: &str, difference: &str) -> PageNode {
    const MAX_LINES: usize = 5_000;
    let written = written_lines(difference);
    let mut lines = text.lines().enumerate();
    let mut shown: Vec<PageNode> = (lines.by_ref().take(MAX_LINES))
        .map(|(at, line)| {
            let is_written = written.get(&(at + 1)).is_some_and(|known| *known == line);
            let class = if is_written { "added" } else { "same" };
            PageNode::element("span", class, [PageNode::exact(line)])
        })
        .collect();
    let left_out = lines.count();
    if left_out > 0 {
        shown.push(PageNode::labelled(
            "span",
            "head",
            format!("{left_out} more lines"),
        ));
    }
    PageNode::element("pre", "file", shown)
}

/// The lines that a diff adds, by their number in the new file.
fn written_lines(difference: &str) -> HashMap<usize, &str> {
    let mut written = HashMap::new();
    let mut number = None;
    for line in difference.lines() {
        if let Some(place) = line.strip_prefix("@@ ") {
            let start = place.split('+').nth(1).unwrap_or_default();
            let start = start.split([',', ' ']).next().unwrap_or_default();
            number = start.parse::<usize>().ok();
            continue;
        }
        let Some(at) = number.as_mut() else {
            continue;
        };
        if let Some(added) = line.strip_prefix('+') {
            written.insert(*at, added);
        }
        if line.starts_with(['+', ' ']) {
            *at += 1;
        }
    }
    written
}

/// Files that would go with the first message, and the chat that it would go to.
#[derive(Debug, Deserialize)]
pub(super) struct PageAdded {
    paths: Vec<String>,
    #[serde(default)]
    chat: String,
}

/// Estimates what files would take of the first message.
pub(super) fn added_cost(desk: &PageDesk, wanted: &PageAdded) -> Result<Value> {
    let (caller, _) = desk.caller();
    let chat = Some(wanted.chat.as_str()).filter(|chat| !chat.is_empty());
    let cost = browse::added_cost(&caller, &wanted.paths, chat)?;
    let files =
        cost.files.iter().take(NAMED).map(
            |(path, tokens)| json!({ "path": PageNode::code(path.as_str()), "tokens": tokens }),
        );
    Ok(json!({
        "files": files.collect::<Vec<_>>(),
        "tokens": cost.tokens,
        "percent": cost.percent,
    }))
}

/// A name for a session.
#[derive(Debug, Deserialize)]
pub(super) struct PageName {
    name: String,
}

/// Gives a session a name, by which commands know it too; an empty one takes its name away.
pub(super) fn rename(desk: &PageDesk, id: &str, wanted: &PageName) -> Result<Value> {
    let name = Some(wanted.name.trim()).filter(|name| !name.is_empty());
    services::list::rename(&desk.files()?, &session_id(id)?, name)?;
    Ok(json!({}))
}

/// A reply that was pasted.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PastedReply {
    text: String,
    /// True if the person saw what was understood and wants it used.
    #[serde(default)]
    is_sure: bool,
}

/// Reads a reply, and puts it into the inbox if it carries the end mark of this round or the person
/// is sure.
pub(super) fn put_reply(desk: &Arc<PageDesk>, id: &str, pasted: &PastedReply) -> Result<Value> {
    let id = session_id(id)?;
    let files = desk.files()?;
    let session = load(&files, &id)?;
    if pasted.text.trim().is_empty() {
        return Err(Error::usage("the reply is empty")
            .hint("copy the chat's reply with its copy button, and try again"));
    }
    if session.is_complete {
        return Err(Error::mendable(format!("session {id} has ended"))
            .hint("give it a further instruction first"));
    }
    let bytes = pasted.text.as_bytes();
    let (text, read) = reply::read(bytes);
    let expected = session.end_mark();
    let brought = services::reply::weigh(&text, &expected);
    let doubt = match &brought {
        BroughtText::OwnMessage => {
            return Err(Error::mendable("this is our own message, not the reply")
                .hint("send it to the chat, and copy what the chat answers"));
        }
        BroughtText::Reply => String::new(),
        BroughtText::OtherReply(end) if end.session != expected.session => {
            format!("This reply answers another session, {}.", end.session)
        }
        BroughtText::OtherReply(end) => format!(
            "This reply answers round {}, and this is round {}.",
            end.sequence, expected.sequence
        ),
        BroughtText::Unmarked | BroughtText::Other => {
            "This text does not have the end mark of the round. Is it the whole reply?".to_owned()
        }
    };
    let is_taken = brought == BroughtText::Reply || pasted.is_sure;
    if is_taken {
        let number = match &brought {
            BroughtText::OtherReply(_) => RoundNumber::Anyway,
            _ => RoundNumber::MustMatch,
        };
        services::reply::deliver(&desk.caller().0, bytes, number)?;
        begin::ensure_running(desk, id.as_str())?;
    }
    let steps = read.steps.iter().take(NAMED).map(understood_step);
    Ok(json!({
        "isTaken": is_taken,
        "doubt": doubt,
        "commands": read.steps.len(),
        "issues": read.issues.len(),
        "steps": steps.collect::<Vec<_>>(),
        "problems": read.issues.iter().take(NAMED).map(view::issue).collect::<Vec<_>>(),
        "cut": read.cut.as_ref().map(|cut| PageNode::spoken(&cut.what)),
    }))
}

/// A step of a reply that was not carried out yet.
fn understood_step(step: &Step) -> PageNode {
    let subject = match &step.command {
        Command::RunCommand { script, .. } => script.trim().lines().next().map(str::to_owned),
        other => other.path().map(ToString::to_string),
    };
    let (_, verb) = step.command.kind().verbs();
    let mut children = vec![PageNode::Text(format!("{verb} "))];
    children.extend(subject.map(|subject| PageNode::code(&subject)));
    PageNode::element("li", "", children)
}

/// A decision, with the question that it is about.
#[derive(Debug, Deserialize)]
pub(super) struct ShownDecision {
    key: String,
    hash: String,
    #[serde(flatten)]
    verdict: Verdict,
}

/// Decides the question that was shown.
pub(super) fn decide(desk: &PageDesk, id: &str, decision: &ShownDecision) -> Result<Value> {
    let id = session_id(id)?;
    let files = desk.files()?;
    let shown = (decision.key.as_str(), decision.hash.as_str());
    services::decide::decide_shown(&files, &id, shown, &decision.verdict)?;
    Ok(json!({}))
}

/// A word to the model.
#[derive(Debug, Deserialize)]
pub(super) struct PageNote {
    text: String,
}

/// The longest note, in characters.
const MAX_NOTE: usize = 20_000;

/// Tells the model something with the next message.
pub(super) fn say(desk: &PageDesk, id: &str, note: &PageNote) -> Result<Value> {
    let id = session_id(id)?;
    let text = note.text.trim();
    if text.is_empty() || text.chars().count() > MAX_NOTE {
        return Err(Error::usage(format!(
            "a note has 1 to {MAX_NOTE} characters"
        )));
    }
    let files = desk.files()?;
    let mut session = load(&files, &id)?;
    if session.is_complete {
        return Err(Error::mendable(format!("session {id} has ended"))
            .hint("a further instruction continues it"));
    }
    let outcome = services::say::say(&files, &mut session, text)?;
    let is_answer = matches!(outcome, services::say::SaidOutcome::Answer { .. });
    Ok(json!({ "isAnswer": is_answer }))
}

/// A note that was not told yet, by its number and its text.
#[derive(Debug, Deserialize)]
pub(super) struct WithdrawnNote {
    number: usize,
    text: String,
}

/// Withdraws a note before the model gets it, if it is still the one that was shown.
pub(super) fn withdraw(desk: &PageDesk, id: &str, note: &WithdrawnNote) -> Result<Value> {
    let id = session_id(id)?;
    let files = desk.files()?;
    let waiting = services::notes::waiting(&files, &id);
    let shown = note.number.checked_sub(1).and_then(|at| waiting.get(at));
    if shown.map(|text| PageNode::spoken(text)) != Some(PageNode::Text(note.text.clone())) {
        return Err(Error::mendable("this note does not wait any more")
            .hint("the page shows those that do"));
    }
    services::notes::withdraw(&files, &id, WhichNotes::Number(note.number))?;
    Ok(json!({}))
}

/// Words to look for.
#[derive(Debug, Deserialize)]
pub(super) struct SearchedWords {
    words: String,
}

/// The sessions that have these words in their task, their replies or the names of their files.
pub(super) fn search(desk: &PageDesk, wanted: &SearchedWords) -> Result<Value> {
    let found = services::list::search(&desk.files()?, wanted.words.trim())?;
    let ids = found.sessions.iter().map(|one| &one.summary.session_id);
    Ok(json!({ "ids": ids.collect::<Vec<_>>() }))
}

/// An undo or a redo; with the hash of what was shown it is carried out.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PageReversal {
    #[serde(default)]
    is_redo: bool,
    /// Undoes all rounds after this one; the latest one if it is missing.
    to: Option<u32>,
    hash: Option<String>,
}

/// Shows what an undo would change, or carries out what was shown.
pub(super) fn reverse(desk: &PageDesk, id: &str, wanted: &PageReversal) -> Result<Value> {
    let id = session_id(id)?;
    let (caller, _) = desk.caller();
    let wish = match (wanted.is_redo, wanted.to) {
        (true, _) => Wish::Redo,
        (false, None) => Wish::UndoLatest,
        (false, Some(round)) => Wish::UndoTo(round),
    };
    let planned = services::undo::plan(&caller, Some(id.as_str()), wish)?;
    let (preview, hash) = preview(&planned, if wanted.is_redo { "Redo" } else { "Undo" });
    let Some(shown) = &wanted.hash else {
        return Ok(preview);
    };
    if *shown != hash {
        return Err(changed_meanwhile());
    }
    let restored = planned.carry_out(Force::Skip)?;
    undo::ensure_restored(&restored)?;
    Ok(json!({ "restored": restored.done.len(), "skipped": restored.skipped.len() }))
}

/// Describes what an undo or redo would change, as the page shows it, with the hash that confirms
/// it.
fn preview(planned: &PlannedReversal, verb: &str) -> (Value, String) {
    let lines = reversal_lines(planned);
    let hash = blake3::hash(lines.join("\n").as_bytes());
    let hash = hash.to_hex().to_string();
    let nodes = lines
        .iter()
        .map(|line| PageNode::element("li", "", [PageNode::exact(line)]));
    let preview = json!({
        "title": format!("{verb} {}", named(&planned.reversal.rounds)),
        "hash": hash,
        "isVain": planned.is_vain(Force::Skip),
        "lines": nodes.collect::<Vec<_>>(),
    });
    (preview, hash)
}

fn changed_meanwhile() -> Error {
    Error::mendable("this would change something else by now")
        .hint("nothing was done; look at it again")
}

/// Lists what an undo or redo would change, one line per file.
fn reversal_lines(planned: &PlannedReversal) -> Vec<String> {
    let plan = &planned.reversal.plan;
    let steps = undo::files(&plan.steps).into_iter().map(|step| {
        let verb = match (&step.now, &step.then) {
            (_, None) => "delete",
            (None, Some(_)) => "create",
            (Some(_), Some(_)) => "change",
        };
        format!("{verb} {}", step.path.display())
    });
    let conflicts = plan.conflicts.iter().map(|conflict| {
        format!(
            "leave {}: it {}",
            conflict.path.display(),
            obstacle(conflict)
        )
    });
    let mut lines: Vec<String> = steps.chain(conflicts).collect();
    lines.insert(0, format!("rounds: {}", named(&planned.reversal.rounds)));
    let stay = &planned.reversal.uncovered;
    if !stay.is_empty() {
        lines.push(format!(
            "what {} changed stays: no checkpoint could be taken",
            named(stay)
        ));
    }
    lines
}

/// Rewrites the message for a new chat.
pub(super) fn hand_over(desk: &PageDesk, id: &str) -> Result<Value> {
    let id = session_id(id)?;
    let (caller, person) = desk.caller();
    services::handoff::hand_over(&caller, Some(id.as_str()))?;
    Ok(json!({ "words": person.words() }))
}

/// A round to fork from; with the hash of what was shown, later rounds are undone first.
#[derive(Debug, Deserialize)]
pub(super) struct PageFork {
    round: Option<u32>,
    hash: Option<String>,
}

/// Makes a session that goes on from a round of this one, on the same files. If later rounds changed
/// files, what undoing them would change is shown first.
pub(super) fn fork(desk: &PageDesk, id: &str, wanted: &PageFork) -> Result<Value> {
    let id = session_id(id)?;
    let (caller, _) = desk.caller();
    let planned = services::fork::plan(&caller, id.as_str(), wanted.round)?;
    let mut shown = None;
    let agree = |reversal: &PlannedReversal| {
        let (preview, hash) = preview(reversal, "Fork, and undo");
        match &wanted.hash {
            Some(agreed) if *agreed != hash => Err(changed_meanwhile()),
            Some(_) => Ok(true),
            None => {
                shown = Some(preview);
                Ok(false)
            }
        }
    };
    let forked = planned.in_place(None, agree, |_, _| ())?;
    Ok(match forked {
        Some(forked) => json!({ "id": forked.id }),
        None => shown.unwrap_or_default(),
    })
}

/// A transcript as a page to keep.
pub(super) fn export(desk: &PageDesk, id: &str) -> Result<Value> {
    let files = desk.files()?;
    let session = load(&files, &session_id(id)?)?;
    let transcript = services::export::transcript(&files, &session)?;
    Ok(json!({
        "name": format!("agent-{}.html", session.session_id),
        "text": transcript::html(&transcript),
    }))
}

/// Removes a session with its messages; the workspace stays.
pub(super) fn remove(desk: &PageDesk, id: &str) -> Result<Value> {
    let id = session_id(id)?;
    let files = desk.files()?;
    let removed = services::remove::remove(&desk.caller().0, &files, &id)?;
    Ok(json!({ "messages": removed.messages, "replies": removed.replies }))
}
