//! New sessions, and sessions that go on.

use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};

use super::desk::{PageDesk, session_id};
use super::node::PageNode;
use super::settings;
use crate::error::{Error, Result};
use crate::protocol::{Event, SetupNews};
use crate::services::run::{self, ContextRequest};
use crate::services::{self, GivenFlags, open, prompts};
use crate::session::LoopLock;
use crate::settings::{Base, Chat, FoundBase, Key, Loaded, Shape};
use crate::ui::sentence;

/// The choices for a new session.
pub(super) fn offer(desk: &PageDesk) -> Result<Value> {
    let (caller, _) = desk.caller();
    let found = Base::find(&caller.here, caller.base.as_deref(), &caller.trust)?;
    if let FoundBase::Undecided(directory) = &found {
        return Ok(json!({
            "needsPlace": true,
            "directory": directory.display().to_string(),
            "warning": open::wide_extent(directory).map(|extent| {
                sentence(&Event::Setup(SetupNews::WideWorkspace {
                    directory: directory.display().to_string(),
                    extent,
                }))
            }),
        }));
    }
    let (_, loaded) = services::settings::settings(&caller)?;
    // A template of the project that nobody has seen is shown in the terminal first.
    let templates = prompts::list(&caller)?.prompts;
    let templates = templates.iter().filter(|(_, is_trusted)| *is_trusted);
    let templates = templates.map(|(prompt, _)| {
        json!({
            "name": prompt.name,
            "description": prompt.description,
            "text": PageNode::block("script", &prompt.text),
        })
    });
    Ok(json!({
        "needsPlace": false,
        "workspace": loaded.paths.workspace.display().to_string(),
        "templates": templates.collect::<Vec<_>>(),
        "chat": loaded.settings.chat.name,
        "chats": Chat::all().iter().map(|chat| &chat.name).collect::<Vec<_>>(),
        "approval": loaded.settings.approval.word(),
        "approvals": stricter_approvals(&loaded)?,
        "check": loaded.settings.check_command,
    }))
}

/// The modes of approval that permit no more than the one that is set.
fn stricter_approvals(loaded: &Loaded) -> Result<Vec<&'static str>> {
    let key = key("Approval")?;
    let Shape::Choice(words) = &key.shape else {
        return Ok(Vec::new());
    };
    let set = loaded.settings.approval.word();
    let is_stricter = |word: &&&str| **word != set && settings::is_as_strict(key, word, set);
    Ok(words.iter().filter(is_stricter).copied().collect())
}

fn key(name: &str) -> Result<&'static Key> {
    Key::named(name).ok_or_else(|| Error::usage(format!("there is no setting `{name}`")))
}

/// Where the model works from now on.
#[derive(Debug, Deserialize)]
#[serde(tag = "place", rename_all = "camelCase")]
pub(super) enum PagePlace {
    /// On what is there.
    Project,
    /// In a new folder.
    Folder,
}

/// Sets the directory up that the page was started in.
pub(super) fn place(desk: &PageDesk, place: &PagePlace) -> Result<Value> {
    let (caller, person) = desk.caller();
    let found = Base::find(&caller.here, caller.base.as_deref(), &caller.trust)?;
    let (FoundBase::Undecided(directory) | FoundBase::EmptyDirectory(directory)) = found else {
        return Err(Error::mendable("there is a base directory already"));
    };
    match place {
        PagePlace::Project => {
            services::init::init(&caller, Path::new("."))?;
        }
        PagePlace::Folder => {
            Base::create(&directory)?;
        }
    }
    Ok(json!({ "words": person.words() }))
}

/// A session to begin.
#[derive(Debug, Deserialize)]
pub(super) struct PageTask {
    task: String,
    #[serde(default)]
    chat: String,
    #[serde(default)]
    approval: String,
    #[serde(default)]
    check: String,
    /// Files that the first message shows.
    #[serde(default)]
    add: Vec<String>,
}

/// Begins a session and carries it on here.
pub(super) fn begin(desk: &Arc<PageDesk>, wanted: PageTask) -> Result<Value> {
    let (caller, _) = desk.caller();
    let flags = flags_of(desk, &wanted)?;
    let task = prompts::task(&caller, &wanted.task)?;
    let context = ContextRequest {
        paths: wanted.add,
        changed_since: None,
    };
    let open = move |caller: &services::Caller| run::begin(caller, &task, &context).map(Some);
    let started = desk.loops.start(desk, flags, open)?;
    Ok(json!({ "id": started.session, "words": shown(&started.words) }))
}

/// The flags of the server with what was chosen for this session. Nothing that permits more is chosen
/// on the page.
fn flags_of(desk: &PageDesk, wanted: &PageTask) -> Result<GivenFlags> {
    let mut flags = desk.flags.clone();
    if !wanted.approval.is_empty() {
        let (_, loaded) = services::settings::settings(&desk.caller().0)?;
        if !stricter_approvals(&loaded)?.contains(&wanted.approval.as_str()) {
            let mode = &wanted.approval;
            return Err(
                Error::usage("the page can only make approval stricter").hint(format!(
                    "in a terminal: agent new --approval {mode} \"...\""
                )),
            );
        }
    }
    let chosen = [
        ("Chat", &wanted.chat),
        ("Approval", &wanted.approval),
        ("CheckCommand", &wanted.check),
    ];
    for (name, value) in chosen {
        if !value.is_empty() {
            flags.given.push((key(name)?.flag, value.clone()));
        }
    }
    Ok(flags)
}

/// An instruction to go on with, if there is one.
#[derive(Debug, Deserialize)]
pub(super) struct PageInstruction {
    instruction: Option<String>,
}

/// Carries a session on here.
pub(super) fn resume(desk: &Arc<PageDesk>, id: &str, wanted: PageInstruction) -> Result<Value> {
    let id = session_id(id)?;
    let name = id.as_str().to_owned();
    let flags = desk.flags.clone();
    let started = desk.loops.start(desk, flags, move |caller| {
        let Some(instruction) = wanted.instruction else {
            return run::resume(caller, Some(&name)).map(Some);
        };
        run::ensure_instruction(&instruction)?;
        let held = run::reopen(caller, Some(&name))?;
        held.instruct(caller, &instruction, &ContextRequest::default())
    })?;
    Ok(json!({ "words": shown(&started.words) }))
}

fn shown(words: &[String]) -> Vec<PageNode> {
    words.iter().map(|text| PageNode::spoken(text)).collect()
}

/// Carries a session on here unless somebody carries on one already.
pub(super) fn ensure_running(desk: &Arc<PageDesk>, id: &str) -> Result<()> {
    let files = desk.files()?;
    if LoopLock::holder(files.store.directory()).is_none() {
        resume(desk, id, PageInstruction { instruction: None })?;
    }
    Ok(())
}

/// Stops the loop that this server runs.
pub(super) fn stop(desk: &PageDesk, id: &str) -> Result<Value> {
    if desk.loops.stop(&session_id(id)?) {
        Ok(json!({}))
    } else {
        Err(Error::mendable("this session does not run here")
            .hint("a loop in a terminal is stopped there, with Ctrl-C"))
    }
}

/// Ends a session for good; a loop of this server stops first.
pub(super) fn end(desk: &PageDesk, id: &str) -> Result<Value> {
    let id = session_id(id)?;
    if desk.loops.stop(&id) {
        desk.loops.end();
    }
    let (caller, _) = desk.caller();
    run::end(&caller, Some(id.as_str()))?;
    Ok(json!({}))
}
