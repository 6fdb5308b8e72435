//! From a call to an `Agent`: the base directory, the settings, the trust, the folders.

mod opened;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

pub(super) use self::opened::held_session;
pub use self::opened::{OpenedBase, agent, new_session, session};
use super::{Caller, choices, guard, repository, workspace};
use crate::agent::{Agent, Authorizer, CheckCommand, Manner, Recorder, disarm_left};
use crate::approve::{KnownSessions, Person, Question};
use crate::compose::{Carriage, FileLimit, Limit, TooLong};
use crate::courier::{ClipboardReplyUse, Wishes};
use crate::error::{Error, Result};
use crate::execute::Limits;
use crate::interrupt::Interrupt;
use crate::mailbox::Mailbox;
use crate::platform::programs;
use crate::policy::Approval;
use crate::protocol::{Event, OnFailure, SetupNews, WideExtent, is_no, is_yes};
use crate::secrets::Scanner;
use crate::session::{Choices, Store};
use crate::settings::{
    self, Attach, Base, Chat, FoundBase, KeepsContext, Loaded, Origin, Overrides, Paths, Secrets,
    Settings, Switch, Trust, WhenTooLong,
};
use crate::workspace::Workspace;

/// How to open a directory in which `agent` was never used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FirstRun {
    /// The person decides where to work, and it is set up.
    Decide,
    /// There is nothing to do here yet.
    Refuse,
    /// The defaults are shown; nothing is made.
    Look,
}

/// Tells if the directory is the root of the file system, the person's home, or a parent of it.
pub fn wide_extent(directory: &Path) -> Option<WideExtent> {
    let real = |path: &Path| crate::fs::canonical(path).ok();
    let directory = real(directory)?;
    let home = std::env::home_dir().and_then(|home| real(&home));
    if directory.parent().is_none() {
        Some(WideExtent::Root)
    } else if home.as_ref() == Some(&directory) {
        Some(WideExtent::Home)
    } else if home.is_some_and(|home| home.starts_with(&directory)) {
        Some(WideExtent::AboveHome)
    } else {
        None
    }
}

/// Warns the person of a workspace that is much more than a project.
pub(super) fn warn_of_extent(caller: &Caller, directory: &Path) {
    if let Some(extent) = wide_extent(directory) {
        caller.tell(SetupNews::WideWorkspace {
            directory: directory.display().to_string(),
            extent,
        });
    }
}

/// Sessions and messages, for services that only read.
#[derive(Debug)]
pub struct SessionFiles {
    /// The base directory.
    pub base: Base,
    /// The sessions.
    pub store: Store,
    /// Those of them that are the person's own.
    pub known: KnownSessions,
    /// Messages and replies.
    pub mailbox: Mailbox,
    /// Where the model works.
    pub workspace: PathBuf,
    /// The chat that messages go to.
    pub chat: &'static Chat,
    /// How they get there.
    pub carriage: Carriage,
    /// The check command; empty without one.
    pub check: String,
    /// The API that carries messages, and its model, if one does.
    pub api: Option<String>,
}

/// Opens sessions and messages, and nothing that runs.
pub fn files(caller: &Caller) -> Result<SessionFiles> {
    let (base, loaded) = settings(caller, FirstRun::Refuse)?;
    Ok(SessionFiles {
        base,
        chat: loaded.settings.chat,
        carriage: carriage(&loaded.settings),
        api: api_named(&loaded.settings),
        check: loaded.settings.check_command,
        store: Store::open(loaded.paths.sessions)?,
        known: KnownSessions::kept_in(caller.trust.directory()),
        mailbox: Mailbox::open(loaded.paths.outbox, loaded.paths.inbox)?,
        workspace: loaded.paths.workspace,
    })
}

/// Opens sessions and messages for what changes more than them: what a killed command left in the
/// workspace for git to run is disabled first.
pub fn files_to_change(caller: &Caller) -> Result<SessionFiles> {
    let files = files(caller)?;
    let sessions = files.store.directory();
    let kept = guard::kept_inventory(&caller.trust, sessions);
    disarm_left(kept.as_deref(), sessions, &*caller.person);
    Ok(files)
}

/// The API that these settings name, and its model, for people.
pub(super) fn api_named(settings: &Settings) -> Option<String> {
    let provider = settings.api.0?;
    Some(
        format!("{} {}", provider.name, settings.model)
            .trim_end()
            .to_owned(),
    )
}

/// The workspace and the bounds that hold in it.
#[derive(Debug)]
pub struct BoundedWorkspace {
    /// The base directory, for which the person's rules hold.
    pub base: PathBuf,
    /// The files.
    pub workspace: Workspace,
    /// How much a step may do.
    pub limits: Limits,
    /// Decides what a step may do.
    pub authorizer: Authorizer,
    /// The fate of the commands of a reply after one of its changes failed.
    pub on_failure: OnFailure,
}

/// Opens only the workspace, for what keeps no state: where `agent` was never used, that is
/// the current directory.
pub fn place(caller: &Caller, testing: guard::Testing) -> Result<BoundedWorkspace> {
    let (base, loaded) = settings(caller, FirstRun::Look)?;
    let is_set = loaded
        .origins
        .get("WorkspaceDir")
        .is_some_and(|origin| *origin != Origin::Default);
    let in_place = base.settings_file.is_none() && !is_set;
    let base = base.directory;
    let directory = if in_place {
        base.clone()
    } else {
        loaded.paths.workspace.clone()
    };
    let workspace = Workspace::open(&directory)?.leaving_out(guard::own_paths(&loaded, &directory));
    let authorizer = guard::authorizer(&loaded, workspace.path(), &caller.trust, testing)?;
    let kept = authorizer.kept_inventory.as_deref();
    disarm_left(kept, &loaded.paths.sessions, &*caller.person);
    Ok(BoundedWorkspace {
        base,
        workspace,
        limits: limits(&loaded.settings),
        authorizer,
        on_failure: loaded.settings.on_failure,
    })
}

/// Makes the folders and joins the parts.
pub fn assemble(
    base: PathBuf,
    loaded: &Loaded,
    trust: &Trust,
    person: Arc<dyn Person>,
    interrupt: Interrupt,
) -> Result<Agent> {
    let (paths, settings) = (&loaded.paths, &loaded.settings);
    if !paths.workspace.exists() {
        crate::fs::create_directory(&paths.workspace)?;
    }
    let workspace = Workspace::open(&paths.workspace)?;
    let own_paths = guard::own_paths(loaded, workspace.path());
    let workspace = workspace.leaving_out(own_paths);
    keep_private(&base, paths);
    let agent = Agent {
        mailbox: Mailbox::open(paths.outbox.clone(), paths.inbox.clone())?,
        store: Store::open(paths.sessions.clone())?,
        limits: limits(settings),
        covered: guard::covered(loaded, workspace.path()),
        manner: Manner {
            authorizer: guard::authorizer(
                loaded,
                workspace.path(),
                trust,
                guard::Testing::Remembered,
            )?,
            secrets: secrets(settings),
            check: check(settings),
            choices: Choices::default(),
            permissions: choices::permissions(loaded),
            on_failure: settings.on_failure,
            chat: settings.chat,
            keeps_context: keeps_context(settings),
            carriage: carriage(settings),
            carried_by: None,
            max_rounds: settings.max_rounds,
        },
        workspace,
        base,
        person: Arc::new(Recorder::new(person)),
        interrupt,
    };
    let kept = agent.manner.authorizer.kept_inventory.as_deref();
    disarm_left(kept, agent.store.directory(), &*agent.person);
    Ok(agent)
}

/// Closes our folders to others, where they were made by an older version or came with a project.
fn keep_private(base: &Path, paths: &Paths) {
    for directory in paths.directories() {
        if directory.starts_with(base) {
            // One that is missing is made private; one that belongs to another cannot be changed.
            let _ = crate::platform::make_private(directory);
        }
    }
}

/// Makes a base directory for a fork, with the settings of this one but for its folders, and opens
/// it.
///
/// Of the flags only the check and the chat are passed on: others name folders of this one.
pub(super) fn another(caller: &Caller, directory: &Path, agent: &Agent) -> Result<Agent> {
    let is_free = std::fs::read_dir(directory).map_or(true, |mut entries| entries.next().is_none());
    if !is_free {
        return Err(
            Error::mendable(format!("`{}` is not empty", directory.display()))
                .hint("`--into DIR` names a new directory"),
        );
    }
    crate::fs::create_directory(directory)?;
    settings::copy(&agent.base, directory)?;
    let base = Base::create(directory)?;
    let (trust, choices) = (&caller.trust, &agent.manner.choices);
    let flags = choices::flags_with(choices, Overrides::given_in(base.directory.clone()));
    let layers = settings::read(&base, settings::process_environment(), &flags)?
        .over(&caller.own_settings)?;
    let loaded = layers.settle(trust)?;
    if !loaded.paths.workspace.starts_with(&base.directory) {
        return Err(Error::mendable(format!(
            "the workspace of the fork would be `{}`, which is not its own",
            loaded.paths.workspace.display()
        ))
        .hint("unset `Agent__WorkspaceDir`, or fork with `--in-place`"));
    }
    for notice in &loaded.notices {
        caller.tell(notice.clone());
    }
    let interrupt = agent.interrupt.clone();
    let mut fork = assemble(
        base.directory,
        &loaded,
        trust,
        caller.person.clone(),
        interrupt,
    )?;
    fork.manner.choices.clone_from(choices);
    choices::remember_check(trust, fork.store.directory(), choices);
    choices::remember_runner(trust, fork.store.directory(), choices);
    Ok(fork)
}

/// The person's wishes for the couriers, from the settings.
pub fn wishes(settings: &Settings, trust: &Trust) -> Wishes {
    Wishes {
        clipboard: settings.clipboard,
        notify: settings.notify,
        found: if settings.approval == Approval::Ask {
            ClipboardReplyUse::Asked
        } else {
            ClipboardReplyUse::Used
        },
        memory: memory(trust.directory()),
    }
}

/// Where is kept whether we may look at the clipboard.
fn memory(state: Option<&Path>) -> Option<std::path::PathBuf> {
    Some(state?.join("clipboard"))
}

/// Remembers that this person lets us look at the clipboard.
pub(super) fn remember_look(caller: &Caller) -> Result<()> {
    let Some(file) = memory(caller.trust.directory()) else {
        return Ok(());
    };
    if let Some(directory) = file.parent() {
        crate::fs::create_directory(directory)?;
    }
    crate::fs::write_atomic(&file, b"yes\n", crate::fs::Durability::Synced)
}

/// Returns true if the chat remembers earlier messages.
fn keeps_context(settings: &Settings) -> bool {
    match settings.keeps_context {
        // The whole conversation is sent again with each message.
        KeepsContext::Auto if settings.api.0.is_some() => true,
        KeepsContext::Auto => settings.chat.keeps_context,
        KeepsContext::On => true,
        KeepsContext::Off => false,
    }
}

/// How messages are carried to that chat; own numbers count more than what is known of it.
pub fn carriage(settings: &Settings) -> Carriage {
    /// Above how many characters a file is easier than a paste, where the chat has no opinion.
    const LONG_PASTE: usize = 5000;
    if settings.api.0.is_some() {
        return api_carriage(settings);
    }
    let chat = settings.chat;
    let or = |own: usize, known: usize| if own > 0 { own } else { known };
    let known_tokens = match settings.max_outbox_chars {
        0 => chat.max_tokens.unwrap_or(usize::MAX),
        _ => usize::MAX,
    };
    // Own numbers hold for files too.
    let is_known = settings.max_outbox_chars == 0 && settings.max_outbox_tokens == 0;
    let file = (chat.max_attachment.filter(|_| is_known)).map(|file| FileLimit {
        bytes: file.bytes,
        tokens: file.tokens,
    });
    let never = usize::MAX;
    let too_long = match (settings.attach, chat.when_too_long) {
        (Attach::Always, _) => TooLong::Attachment {
            above: chat.attaches_above.unwrap_or(LONG_PASTE),
            file,
        },
        (Attach::Auto, WhenTooLong::Attachment) => TooLong::Attachment { above: never, file },
        (Attach::Auto | Attach::Never, _) => TooLong::Parts,
    };
    let limit = Limit {
        characters: or(settings.max_outbox_chars, chat.max_characters),
        tokens: or(settings.max_outbox_tokens, known_tokens),
    };
    Carriage {
        limit,
        max_parts: settings.max_parts,
        too_long,
        left_tokens: chat.memory(limit.tokens).left(0),
    }
}

/// How messages are carried by an API: in one piece, whatever the chat, and a part of the model's
/// window each.
fn api_carriage(settings: &Settings) -> Carriage {
    /// The share of the window that one message may take.
    const SHARE: u64 = 3;
    let known = settings.api.0.and_then(|api| {
        let model = match settings.model.as_str() {
            "" => api.default_model(),
            name => api.model(name),
        };
        model.map(|model| model.window)
    });
    let window = match settings.api_window {
        0 => known.unwrap_or(u64::MAX),
        own => own,
    };
    let or = |own: usize, known: usize| if own > 0 { own } else { known };
    let share = usize::try_from(window / SHARE).unwrap_or(usize::MAX);
    Carriage {
        limit: Limit {
            characters: or(settings.max_outbox_chars, API_CHARACTERS),
            tokens: or(settings.max_outbox_tokens, share),
        },
        max_parts: 1,
        too_long: TooLong::Parts,
        left_tokens: usize::MAX,
    }
}

/// The most characters of a message to an API: more context makes answers slower and dearer.
const API_CHARACTERS: usize = 200_000;

/// The check command, if one is set.
fn check(settings: &Settings) -> Option<CheckCommand> {
    let is_set = !settings.check_command.is_empty();
    is_set.then(|| CheckCommand {
        command: settings.check_command.clone(),
        timeout: Duration::from_secs(settings.check_timeout_seconds.into()),
        ends_session: settings.stop_when_check_passes == Switch::On,
    })
}

/// The scanner for secrets, unless the person switched it off.
fn secrets(settings: &Settings) -> Option<Scanner> {
    let is_on = settings.secrets == Secrets::On;
    is_on.then(|| Scanner::new(settings.allow_secrets.clone()))
}

fn limits(settings: &Settings) -> Limits {
    Limits {
        max_read_lines: settings.max_read_lines,
        max_list_items: settings.max_list_items,
        max_search_results: settings.max_search_results,
        max_output: settings.max_output_length,
        command_timeout: Duration::from_secs(settings.command_timeout_seconds.into()),
        max_command_timeout: Duration::from_secs(settings.max_command_timeout_seconds.into()),
        max_file_bytes: settings.max_file_bytes,
    }
}

/// Refuses a named base directory that is a project which nobody has set up: nobody is asked here
/// where to work, and the files of the project would not be seen.
pub fn ensure_set_up(caller: &Caller) -> Result<()> {
    let found = Base::find(&caller.here, caller.base.as_deref(), &caller.trust)?;
    let FoundBase::Base(base) = found else {
        return Ok(());
    };
    let directory = &base.directory;
    if base.settings_file.is_some()
        || settings::is_empty(directory)?
        || directory.join("sessions").exists()
    {
        return Ok(());
    }
    let shown = directory.display();
    Err(Error::mendable(format!(
        "`agent` is not set up in `{shown}`, which is not empty"
    ))
    .hint(format!(
        "the user runs `agent init` there, and names `{shown}/.agent` in place of it after `--base`"
    )))
}

/// The base directory, or this directory as it would be one; nothing is made.
pub(super) fn nearest_base(caller: &Caller) -> Result<Base> {
    let found = Base::find(&caller.here, caller.base.as_deref(), &caller.trust)?;
    Ok(shown_base(found))
}

fn shown_base(found: FoundBase) -> Base {
    match found {
        FoundBase::Base(base) => base,
        FoundBase::EmptyDirectory(directory) | FoundBase::Undecided(directory) => Base {
            directory,
            settings_file: None,
        },
    }
}

/// Finds the base directory and reads the settings, asking the person what only they can decide.
pub fn settings(caller: &Caller, first_run: FirstRun) -> Result<(Base, Loaded)> {
    let trust = &caller.trust;
    let flags = caller.flags.overrides(&caller.here);
    let found = Base::find(&caller.here, caller.base.as_deref(), trust)?;
    let base = match first_run {
        FirstRun::Decide => decided_base(caller, found, &flags)?,
        FirstRun::Look => shown_base(found),
        FirstRun::Refuse => match found {
            FoundBase::Base(base) => base,
            FoundBase::EmptyDirectory(directory) | FoundBase::Undecided(directory) => {
                return Err(Error::mendable(format!(
                    "there is no session in `{}` yet",
                    directory.display()
                ))
                .hint("`agent new \"<task>\"` starts a session, `agent init` only prepares for one")
                .hint("`--base DIR` names another base directory"));
            }
        },
    };
    let layers = settings::read(&base, settings::process_environment(), &flags)?
        .over(&caller.own_settings)?;
    let untrusted = layers.untrusted(trust);
    if !untrusted.is_empty() && caller.person.is_interactive() && !layers.is_declined(trust) {
        let items: Vec<String> = untrusted.iter().map(|item| format!("  {item}")).collect();
        let question = Question::about_trust(&untrusted[0].file, &items.join("\n"));
        let answer = caller.ask(&question)?.unwrap_or_default();
        if is_yes(&answer) {
            layers.confirm(trust)?;
        } else if is_no(&answer) {
            // Where it cannot be remembered, the question comes again.
            let _ = layers.decline(trust);
        }
    }
    if first_run != FirstRun::Look
        && let Some(news) = layers.tell_pinned_default(trust)
    {
        caller.person.emit(Event::Housekeeping(news));
    }
    let loaded = layers.settle(trust)?;
    guard::distrust_programs(&loaded, &loaded.paths.workspace);
    if base.settings_file.is_none() {
        // `agent apply` works here in place.
        programs::distrust(&base.directory);
    }
    Ok((base, loaded))
}

/// Returns true if there is a base directory with a session.
pub fn has_sessions(caller: &Caller) -> Result<bool> {
    if !has_base(caller)? {
        return Ok(false);
    }
    let (_, loaded) = settings(caller, FirstRun::Look)?;
    let entries = std::fs::read_dir(&loaded.paths.sessions)
        .into_iter()
        .flatten();
    let is_session = |path: PathBuf| path.extension().is_some_and(|ending| ending == "json");
    Ok(entries.flatten().any(|entry| is_session(entry.path())))
}

/// Returns true if there is a base directory already.
pub(super) fn has_base(caller: &Caller) -> Result<bool> {
    let found = Base::find(&caller.here, caller.base.as_deref(), &caller.trust)?;
    Ok(matches!(found, FoundBase::Base(_)))
}

/// The settings of a new session where there is no base directory yet, so that they can be checked
/// before one is made; nothing where there is one.
pub(super) fn unmade(caller: &Caller) -> Result<Option<Settings>> {
    let found = Base::find(&caller.here, caller.base.as_deref(), &caller.trust)?;
    if is_made(&found) {
        return Ok(None);
    }
    let flags = caller.flags.overrides(&caller.here);
    let layers = unmade_layers(caller, &flags)?;
    Ok(Some(layers.settle(&caller.trust)?.settings))
}

/// The settings of a call, whatever base directory is near; refuses options that cannot hold.
pub(super) fn sound_settings(caller: &Caller) -> Result<Settings> {
    let layers = unmade_layers(caller, &caller.flags.overrides(&caller.here))?;
    layers.ensure_sound()?;
    Ok(layers.settle(&caller.trust)?.settings)
}

fn is_made(found: &FoundBase) -> bool {
    matches!(found, FoundBase::Base(base) if base.settings_file.is_some())
}

fn unmade_layers(caller: &Caller, flags: &Overrides) -> Result<settings::Layers> {
    let nowhere = Base {
        directory: caller.here.clone(),
        settings_file: None,
    };
    settings::read(&nowhere, settings::process_environment(), flags)?.over(&caller.own_settings)
}

/// The base directory for a new session; made, if there is none, after every option was found sound.
fn decided_base(caller: &Caller, found: FoundBase, flags: &Overrides) -> Result<Base> {
    let trust = &caller.trust;
    if !is_made(&found) {
        unmade_layers(caller, flags)?.ensure_sound()?;
    }
    let named = workspace::named(caller);
    if let Some(directory) = &named {
        workspace::ensure_there(directory, caller)?;
    }
    let directory = match found {
        // Without a settings file the next run would not find it again.
        FoundBase::Base(Base {
            directory,
            settings_file: None,
        }) => return create_base(&directory),
        FoundBase::Base(base) if caller.base.is_some() => return Ok(base),
        FoundBase::Base(base) => return base_from_below(caller, base, named.as_deref()),
        FoundBase::EmptyDirectory(directory) if repository::root_of(&directory).is_none() => {
            return Base::create(&directory);
        }
        FoundBase::EmptyDirectory(directory) | FoundBase::Undecided(directory) => directory,
    };
    match &named {
        Some(named) => workspace::base(&directory, named, trust),
        None => decide(caller, &directory, repository::root_of(&directory)),
    }
}

/// Names a base directory above the current one, and asks about it where it is hardly meant: from an
/// empty folder, or from another project.
fn base_from_below(caller: &Caller, base: Base, named: Option<&Path>) -> Result<Base> {
    let here = settings::resolved(&caller.here);
    let workspace = base.workspace();
    if here == base.project() || here == workspace {
        return Ok(base);
    }
    let is_within = here.starts_with(&workspace);
    // Who works on a whole repository means it from every folder of it, from an empty one too.
    let root = repository::root_of(&here).filter(|root| is_within && *root == workspace);
    let is_other = root.is_none() && (settings::is_empty(&here)? || is_project(&here, is_within));
    if is_other {
        let question = Question::about_other_base(&here, base.project());
        return match choice(caller, &question, &["1", "2"])? {
            Some("1") => Ok(base),
            Some(_) => {
                // What is set up already is not offered a second time.
                let root = repository::root_of(&here).filter(|root| root != base.project());
                let own = match named {
                    Some(named) => workspace::base(&here, named, &caller.trust)?,
                    None if settings::is_empty(&here)? && root.is_none() => create_base(&here)?,
                    None => decide(caller, &here, root)?,
                };
                // It may lie in the workspace of the other one: the person has made it, no model.
                if let Some(file) = &own.settings_file {
                    caller.trust.add(file)?;
                }
                Ok(own)
            }
            None => Err(Error::mendable(format!(
                "`{}` above this folder is set up for `agent`, and this folder is {}: please choose where to work",
                base.project().display(),
                if settings::is_empty(&here)? { "empty" } else { "another project" }
            ))
            .hint(format!("`--base {}` works there", base.directory.display()))
            .hint("`--base .` works here, in a new folder `workspace/`")),
        };
    }
    tell_base_above(caller, &base);
    Ok(base)
}

/// Names the base directory if it is above the current one.
pub fn name_base_above(caller: &Caller) {
    let found = Base::find(&caller.here, caller.base.as_deref(), &caller.trust);
    if let (None, Ok(FoundBase::Base(base))) = (&caller.base, found) {
        tell_base_above(caller, &base);
    }
}

fn tell_base_above(caller: &Caller, base: &Base) {
    let here = settings::resolved(&caller.here);
    if here != base.project() && !here.starts_with(base.workspace()) {
        caller.tell(SetupNews::BaseAbove {
            directory: base.directory.display().to_string(),
        });
    }
}

/// Returns true if a directory is a project of its own; a package within a larger project is none.
fn is_project(directory: &Path, is_within: bool) -> bool {
    const MANIFESTS: [&str; 6] = [
        "Cargo.toml",
        "package.json",
        "pyproject.toml",
        "go.mod",
        "pom.xml",
        "CMakeLists.txt",
    ];
    let has = |name: &&str| directory.join(name).exists();
    has(&".git") || (!is_within && MANIFESTS.iter().any(has))
}

/// Asks whether to work on the project in place or in a folder of its own, or on the whole repository.
fn decide(caller: &Caller, directory: &Path, root: Option<PathBuf>) -> Result<Base> {
    warn_of_extent(caller, directory);
    let root = root.filter(|root| root != directory);
    let question = Question::about_place(directory, root.as_deref());
    let choices: &[&str] = match &root {
        Some(_) => &["1", "2", "3"],
        None => &["1", "2"],
    };
    match (choice(caller, &question, choices)?, root) {
        (Some("3"), Some(root)) => settings::init(&root, &caller.trust),
        (Some("1"), _) => settings::init(directory, &caller.trust),
        (Some(_), _) => create_base(directory),
        (None, _) => Err(Error::mendable(format!(
            "please choose where to work in `{}`, {}",
            directory.display(),
            choices.join(" or ")
        ))
        .hint("`agent init` works on this project in place")
        .hint("`--base .` works in a new folder `workspace/` beneath it")),
    }
}

/// Asks whether a project is the whole repository, or only this part of it.
pub(super) fn takes_whole(caller: &Caller, part: &Path, root: &Path) -> Result<bool> {
    let question = Question::about_part(part, root);
    Ok(choice(caller, &question, &["1", "2"])? == Some("2"))
}

/// Removes a base directory that was not there before and in which no session could begin: its settings
/// file, and its folders as far as they hold no file of anybody's. Whatever cannot be removed stays.
pub(super) fn discard_new(caller: &Caller, before: &Base) {
    const OURS: [&str; 2] = ["loop.lock", "loop.json"];
    let is_new = nearest_base(caller)
        .is_ok_and(|now| now.settings_file.is_some() && now.settings_file != before.settings_file);
    if !is_new {
        return;
    }
    // Nobody is asked about the file: what is new sets nothing that needs trust.
    let Ok((base, loaded)) = settings(caller, FirstRun::Look) else {
        return;
    };
    let (base, paths) = (&*base.directory, &loaded.paths);
    for name in OURS {
        let _ = std::fs::remove_file(paths.sessions.join(name));
    }
    for directory in paths.directories().into_iter().chain([&*paths.workspace]) {
        if directory != base && directory.starts_with(base) {
            remove_empty(directory);
        }
    }
    let _ = std::fs::remove_file(base.join(settings::FILE_NAME));
    if base.file_name() == Some(settings::DIRECTORY_NAME.as_ref()) {
        let _ = std::fs::remove_file(base.join(".gitignore"));
        let _ = std::fs::remove_dir(base);
    }
}

/// Removes a directory that holds nothing but directories.
fn remove_empty(directory: &Path) {
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove_empty(&entry.path());
        }
    }
    let _ = std::fs::remove_dir(directory);
}

/// Makes a directory a base directory; in a repository git ignores what it keeps there.
pub(super) fn create_base(directory: &Path) -> Result<Base> {
    const OURS: [&str; 4] = [settings::FILE_NAME, "inbox/", "outbox/", "sessions/"];
    let base = Base::create(directory)?;
    if let Some(root) = repository::root_of(&base.directory) {
        repository::exclude(&root, &base.directory, &OURS)?;
    }
    Ok(base)
}

/// The answer to a question with a few answers, which is put until it is one of them; nothing where
/// nobody answers.
fn choice<'a>(
    caller: &Caller,
    question: &Question,
    choices: &[&'a str],
) -> Result<Option<&'a str>> {
    let chosen = |line: &str| (choices.iter().copied()).find(|choice| *choice == line.trim());
    let answer = caller.ask_for(question, choices, |line| chosen(line).is_some())?;
    Ok(answer.and_then(|line| chosen(&line)))
}
