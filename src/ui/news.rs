//! The words for what happened, where an event is told in a sentence or two.

use std::fmt::Write as _;

use super::palette::{DIM, either};
use super::plain::RenderContext;
use super::{Volume, escape_line, escape_text};
use crate::approve::Question;
use crate::number::count;
use crate::protocol::{
    AcceptedLines, ApiNews, Bounded, Circling, ClipboardNews, DisarmedFile, Event, Housekeeping,
    KeptSecret, OutwardLink, QuestionKind, Recovery, SandboxProperty, UncoveredFile,
};
use crate::sandbox::PropertyName;

/// How many files of a kind are named.
const NAMED: usize = 5;

/// How bright the words of an event are.
enum Tone {
    Plain,
    /// A detail beside what happens.
    Dim,
}

/// The least volume at which an event is told.
pub(super) fn volume(event: &Event) -> Volume {
    emphasis(event).0
}

fn emphasis(event: &Event) -> (Volume, Tone) {
    let volume = match event {
        // Nothing is to be pasted.
        Event::Outbox {
            carried_by: Some(_),
            ..
        } => Volume::Normal,
        Event::Outbox { .. }
        | Event::Question { .. }
        | Event::Approval { .. }
        | Event::Ahead { .. }
        | Event::Rejected { .. }
        | Event::Trouble { .. }
        | Event::Done { .. }
        | Event::RoundLimit { .. }
        | Event::Interrupted { .. } => Volume::Quiet,
        Event::Housekeeping(Housekeeping::JournalCompacted { .. })
        | Event::Api(ApiNews::Sending { .. } | ApiNews::Reasoning { .. }) => {
            return (Volume::Verbose, Tone::Dim);
        }
        Event::Api(ApiNews::Answered(_)) => return (Volume::Normal, Tone::Dim),
        Event::Arriving { .. } | Event::Api(ApiNews::Text { .. }) => Volume::Verbose,
        Event::Session { .. }
        | Event::Confinement { .. }
        | Event::RepositoryHidden { .. }
        | Event::PlanMode
        | Event::ChatMemory { .. }
        | Event::SecretsKept { .. }
        | Event::Clipboard(_)
        | Event::Api(_)
        | Event::Inbox { .. }
        | Event::LeftInInbox { .. }
        | Event::Reply { .. }
        | Event::Repaired { .. }
        | Event::Prose { .. }
        | Event::Issue { .. }
        | Event::Cut { .. }
        | Event::NoCommands
        | Event::Running { .. }
        | Event::Output { .. }
        | Event::Check { .. }
        | Event::Step { .. }
        | Event::Plan { .. }
        | Event::Message { .. }
        | Event::Waiting { .. }
        | Event::Decided { .. }
        | Event::BadDecision { .. }
        | Event::RuleKept { .. }
        | Event::Circles { .. }
        | Event::Note { .. }
        | Event::NoteUnsent { .. }
        | Event::LeftBehind { .. }
        | Event::NotCovered { .. }
        | Event::NoCheckpoint { .. }
        | Event::Reversed { .. }
        | Event::Housekeeping(_)
        | Event::Recovery(_)
        | Event::Unlistable { .. }
        | Event::Setup(_)
        | Event::Committed { .. }
        | Event::NotCommitted { .. }
        | Event::Notice { .. }
        | Event::Ended { .. }
        | Event::Reset
        | Event::Omitted { .. }
        | Event::Unknown => Volume::Normal,
    };
    (volume, Tone::Plain)
}

/// A question that one line answers, without the ways to answer it; empty for those with a dialog of
/// their own.
pub(super) fn asked(kind: QuestionKind, title: &str, shown: &str, rounds: (u32, u32)) -> String {
    match kind {
        QuestionKind::Step | QuestionKind::Network | QuestionKind::Plan | QuestionKind::Secrets => {
            String::new()
        }
        QuestionKind::Model => "Your answer:".to_owned(),
        QuestionKind::OtherRound => {
            let (says, is) = rounds;
            format!("The reply `{title}` says round {says}, this is round {is}. Use it anyway?")
        }
        QuestionKind::NextPart => format!("Paste it and send it, then press Enter for {title}."),
        QuestionKind::Clipboard => "May `agent` look at the clipboard while it waits, and take a text from it that has the end mark of the round?".to_owned(),
        QuestionKind::ClipboardReply => format!("Use the reply on the clipboard ({title})?"),
        QuestionKind::CutReply => {
            format!("Use the part of the reply that arrived ({title}), as one that was cut off?")
        }
        QuestionKind::AskAgain => format!("Ask {title} again?"),
        QuestionKind::Undo => "Do it?".to_owned(),
        QuestionKind::Remove => format!(
            "{title}\nRemove it, with {shown}? The workspace stays as it is, and what was done in it can no longer be undone."
        ),
        QuestionKind::CheckCannotRun => format!(
            "Your check `{title}` cannot run here ({shown}). Begin without it? [DONE] then counts unchecked."
        ),
        QuestionKind::Trust => format!(
            "{title} sets more than your own settings and the defaults permit:\n{shown}\nDo you trust this file?"
        ),
        QuestionKind::Template => format!(
            "`{title}` came with this project. It says:\n\n{}\n\nUse it as your task?",
            indented(shown)
        ),
        QuestionKind::Place => place(title, shown),
        QuestionKind::Part => format!(
            "`{title}` is in the repository `{shown}`.\nWhere should the model work?\n  1. on what is here, in place\n  2. on the whole repository, in place: `{shown}`\n[1/2] (q stops)"
        ),
        QuestionKind::OtherBase => format!(
            "`{shown}` above this folder is set up for `agent`, and this folder is not.\nWhere should the model work?\n  1. there, in `{shown}`\n  2. here, in `{title}`\n[1/2] (q stops)"
        ),
        QuestionKind::Task => {
            format!("`{title}` stands for what you want. What should the model do?")
        }
        QuestionKind::Commit => {
            "Commit this?\n[y] yes  [n] no  [e] edit the message".to_owned()
        }
        QuestionKind::UseClipboard => {
            "Copy each message, and take the reply when you copy it?".to_owned()
        }
        QuestionKind::MakeWorkspace => {
            format!("`{title}` does not exist. Make it, and work in it?")
        }
        QuestionKind::ClientEntry => {
            format!("This would be written to `{title}`:\n\n{}\n\nWrite it?", indented(shown))
        }
    }
}

/// A question that one line answers, as the prompt puts it.
pub(super) fn inquiry(question: &Question) -> String {
    let rounds = (question.number, question.round);
    let text = asked(question.kind, &question.title, &question.shown, rounds);
    match question.kind.takes() {
        AcceptedLines::YesOrNo => format!("{text}\n[y] yes  [n] no"),
        AcceptedLines::YesUnlessNo => format!("{text} [Y/n]"),
        AcceptedLines::AnyLine | AcceptedLines::Enter => text,
    }
}

/// Where to work: in a directory that is not empty, or in a part of a repository.
fn place(directory: &str, repository: &str) -> String {
    let (is, root, keys) = match repository {
        "" => ("is not empty".to_owned(), String::new(), "[1/2] (q stops)"),
        root => (
            format!("is in the repository `{root}`"),
            format!("\n  3. on the whole repository, in place: `{root}`"),
            "[1/2/3] (q stops)",
        ),
    };
    format!(
        "`{directory}` {is}.\nWhere should the model work?\n  1. on what is here, in place (makes `.agent/`, touches nothing else)\n  2. in a new, empty folder `workspace/`{root}\n{keys}"
    )
}

fn indented(text: &str) -> String {
    let lines = escape_text(text);
    let lines: Vec<String> = lines.lines().map(|line| format!("  | {line}")).collect();
    lines.join("\n")
}

/// The words of an event, with line breaks at their ends; nothing if there is nothing to say.
pub(super) fn words(event: &Event, view: &RenderContext) -> String {
    let text = sentences(event, view);
    if text.is_empty() {
        return text;
    }
    match emphasis(event).1 {
        Tone::Plain => format!("{text}\n"),
        Tone::Dim => format!("{DIM}{text}{DIM:#}\n"),
    }
}

/// The words of an event for a front end that is no terminal; empty if it has a form of its own.
pub fn sentence(event: &Event) -> String {
    sentences(event, &RenderContext::plain())
}

/// A question that yes or no answers, in words; empty for those that show what they are about.
pub fn question_words(question: &Question) -> String {
    let rounds = (question.number, question.round);
    asked(question.kind, &question.title, &question.shown, rounds)
}

#[expect(clippy::too_many_lines, reason = "a table of events and their words")]
fn sentences(event: &Event, view: &RenderContext) -> String {
    match event {
        Event::Confinement {
            commands,
            backend,
            network,
            properties,
            runner,
        } => match (backend, runner) {
            (None, Some(runner)) => format!(
                "Commands run by `{}`, which does not confine them: each one needs your yes. Rules that allow one count only with `--sandbox off`.",
                escape_line(runner)
            ),
            _ => confinement(*commands, backend.as_deref(), *network, properties, view),
        },
        Event::PlanMode => "Plan mode: nothing is changed before you approve a plan.".to_owned(),
        Event::ChatMemory {
            tokens,
            limit,
            chat,
        } => format!(
            "With this message the chat has to remember ~{tokens} tokens, of the ~{limit} that `{}` can. `agent handoff` writes a message with which a new chat can continue.",
            escape_line(chat)
        ),
        Event::RepositoryHidden { repository } => format!(
            "The workspace did not belong to the repository `{}` when this session began, so commands do not see that one. A new session will show it to them.",
            escape_line(repository)
        ),
        Event::SecretsKept { secrets, doubts } => secrets_kept(secrets, *doubts),
        Event::Clipboard(news) => clipboard(news, view),
        Event::Api(news) => super::api::words(news),
        Event::Arriving { name, bytes } => {
            format!("`{}` is arriving: {bytes} bytes so far.", escape_line(name))
        }
        Event::Inbox { message, hint } => escape_text(&format!("{message}: {hint}")),
        Event::LeftInInbox { name, answers } => format!(
            "`{}` answers session {answers}, which is not finished: it stays in the inbox, and `agent resume {answers}` takes it.",
            escape_line(name)
        ),
        Event::NoCommands => {
            "  There is no command in it; the next message asks the model for one.".to_owned()
        }
        Event::Waiting { kind } => {
            let is_plan = *kind == QuestionKind::Plan;
            let what = if is_plan { "The plan" } else { "Something" };
            format!(
                "{what} waits for your decision: `agent approve`, or `agent decline --reason \"...\"`."
            )
        }
        Event::BadDecision { key, .. } => format!(
            "`pending/{key}.decision.json` holds no decision; it could say {{\"decision\": \"yes\"}} or {{\"decision\": \"no\", \"reason\": \"...\"}}."
        ),
        Event::RuleKept { rule, file } => format!(
            "Not asked about here any more: {}. The rule is kept in `{}`.",
            escape_line(rule),
            escape_line(file)
        ),
        Event::Circles { circles } => circling(circles),
        Event::Note { text } => format!("You to the model: {}", escape_text(text)),
        Event::NoteUnsent { text } => format!(
            "The session ended before your note was sent: {}\nContinue with it: agent resume \"...\"",
            escape_text(text)
        ),
        Event::LeftBehind {
            hooks,
            obeyed,
            executables,
            links,
        } => left_behind(hooks, obeyed, executables, links),
        Event::NotCovered { files } => not_covered(files),
        Event::NoCheckpoint { cause } => no_checkpoint(cause.as_deref()),
        Event::Reversed {
            redone,
            rounds,
            restored,
            skipped,
        } => reversed(*redone, rounds, restored, skipped),
        Event::Housekeeping(news) => housekeeping(news),
        Event::Recovery(news) => recovery(news),
        Event::Unlistable { problem } => format!(
            "The workspace could not be listed: {}",
            escape_text(problem)
        ),
        Event::Setup(news) => super::setup::words(news),
        Event::Committed { commit, subject } => format!(
            "Committed {}: {} (no hooks were run)",
            escape_line(commit),
            escape_line(subject)
        ),
        Event::NotCommitted { cause } => format!("Not committed: {}", escape_text(cause)),
        Event::Notice { text } => escape_text(text),
        Event::Ended { id } => format!("\nSession {id} was ended by you."),
        Event::Reset => {
            "Earlier events are not kept any more; `agent show` tells the whole session.".to_owned()
        }
        Event::Omitted { name, bytes } => format!(
            "  (an event `{}` of {bytes} bytes was too long to be kept)",
            escape_line(name)
        ),
        // These have forms of their own, see `plain` and the page's view.
        Event::Session { .. }
        | Event::Outbox { .. }
        | Event::Rejected { .. }
        | Event::Reply { .. }
        | Event::Repaired { .. }
        | Event::Prose { .. }
        | Event::Issue { .. }
        | Event::Cut { .. }
        | Event::Running { .. }
        | Event::Output { .. }
        | Event::Check { .. }
        | Event::Step { .. }
        | Event::Plan { .. }
        | Event::Message { .. }
        | Event::Question { .. }
        | Event::Approval { .. }
        | Event::Ahead { .. }
        | Event::Decided { .. }
        | Event::Trouble { .. }
        | Event::Done { .. }
        | Event::RoundLimit { .. }
        | Event::Interrupted { .. }
        | Event::Unknown => String::new(),
    }
}

fn no_checkpoint(cause: Option<&str>) -> String {
    match cause {
        None => {
            "No checkpoint could be taken after the round, so undo does not cover it.".to_owned()
        }
        Some(cause) => format!(
            "No checkpoint could be taken, so undo does not cover what happens now: {}",
            escape_text(cause)
        ),
    }
}

fn confinement(
    commands: bool,
    backend: Option<&str>,
    network: bool,
    properties: &[SandboxProperty],
    view: &RenderContext,
) -> String {
    if !commands {
        return "The model runs no commands: `Commands` is `off`.".to_owned();
    }
    let mut text = match backend {
        None if properties.is_empty() => {
            // This machine has no sandbox, or it is switched off: only then rules count.
            "Commands are not confined: each one needs your yes. Rules that allow one count only if `Sandbox` is `off`."
                .to_owned()
        }
        None => "There is no sandbox, so each command needs your yes.".to_owned(),
        Some(backend) => format!(
            "Commands run in a sandbox ({}), {} the network.",
            escape_line(backend),
            if network { "with" } else { "without" }
        ),
    };
    for property in properties {
        let words = match property.name.parse::<PropertyName>() {
            Ok(name) => name.sentence(property.holds).to_owned(),
            // A property of a later version.
            Err(_) => escape_line(&property.name),
        };
        if !property.holds {
            let _ = write!(text, "\n  does not hold: {words}");
        } else if view.is_verbose || backend.is_none() {
            let _ = write!(text, "\n{DIM}  holds: {words}{DIM:#}");
        }
    }
    text
}

fn secrets_kept(secrets: &[KeptSecret], doubts: usize) -> String {
    let list: Vec<String> = secrets
        .iter()
        .map(|secret| {
            let kind = escape_line(&secret.kind);
            let words = match secret.places.as_slice() {
                [] => format!("{kind} in your words"),
                places => format!("{kind} in {}", escape_line(&places.join(", "))),
            };
            match secret.count {
                1 => words,
                count => format!("{count} {} {words}", either("×", "x")),
            }
        })
        .collect();
    let list = list.join("; ");
    let doubtful = match doubts {
        0 => String::new(),
        doubts => format!(
            "\n  {doubts} of them may be samples or no secrets; `--allow-secrets` sends values, patterns or kinds as they are."
        ),
    };
    match secrets.iter().map(|secret| secret.count).sum::<usize>() {
        1 => format!("A secret stays here; the message has a placeholder for it: {list}{doubtful}"),
        count => format!(
            "{count} secrets stay here; the message has placeholders for them: {list}{doubtful}"
        ),
    }
}

fn clipboard(news: &ClipboardNews, view: &RenderContext) -> String {
    let paste = if view.has_prompt {
        "`/paste`"
    } else {
        "`agent paste`"
    };
    match news {
        ClipboardNews::Copied { message, how } => {
            format!(
                "{} is {}.",
                capital(&escape_line(message)),
                escape_line(how)
            )
        }
        ClipboardNews::NotCopied { message, why } => format!(
            "{} is not on the clipboard: {}.",
            capital(&escape_line(message)),
            escape_text(why)
        ),
        ClipboardNews::NextPart { message, part } => {
            format!(
                "`agent copy --part {part}` copies {}.",
                escape_line(message)
            )
        }
        ClipboardNews::Unwatched { remembered_in } => {
            let again = remembered_in.as_ref().map_or_else(String::new, |file| {
                format!(" Remove `{}` to be asked again.", escape_line(file))
            });
            format!("The clipboard is not looked at; {paste} takes a reply from it.{again}")
        }
        ClipboardNews::HasReply => format!("The clipboard has the reply: {paste} takes it."),
        ClipboardNews::HasUnmarked => format!(
            "The copied text has commands, but not the end mark of this round. If the reply is complete, {paste} takes it; if not, let the chat finish and copy it again."
        ),
        ClipboardNews::HasPage => format!(
            "The copied text has our message in it, not only the reply. Copy the reply alone, with the chat's copy button; {paste} takes it as it is."
        ),
        ClipboardNews::HasOtherRound { answered, waiting } => format!(
            "The copied reply answers round {answered}, and this is round {waiting}. Copy the latest reply, or take this one with {paste}."
        ),
        ClipboardNews::Taken {
            characters,
            lines,
            mark,
        } => format!(
            "Taken from the clipboard: {}, {}, with `{}`.",
            count(*characters, "character"),
            count(*lines, "line"),
            escape_line(mark)
        ),
        ClipboardNews::TypedCounted => {
            "What you typed counted as Enter; `agent say` tells something to the model.".to_owned()
        }
    }
}

/// A sentence begins with a capital letter; the names of messages do not.
pub(super) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

fn circling(circles: &[Circling]) -> String {
    let told: Vec<String> = circles
        .iter()
        .map(|circle| match circle {
            Circling::StepFails {
                command,
                subject,
                times,
            } => format!("{command} `{subject}` has failed {times} times in the same way"),
            Circling::StepRefused {
                command,
                subject,
                times,
            } => format!(
                "{command} `{subject}` has been refused {times} times, and it keeps sending it"
            ),
            Circling::Misspelt {
                command,
                message,
                times,
            } => format!("it wrote {command} wrongly {times} times in the same way ({message})"),
            Circling::CheckFails { command, times } => format!(
                "the check `{command}` has failed {times} times in a row with the same output"
            ),
            Circling::FileReturns { path } => {
                format!("it writes `{path}` back and forth between the same versions")
            }
        })
        .collect();
    escape_text(&format!(
        "The model goes in circles: {}. It is told so; `agent say \"...\"` tells it what you know.",
        told.join("; ")
    ))
}

fn left_behind(
    hooks: &Bounded<String>,
    obeyed: &Bounded<String>,
    executables: &Bounded<String>,
    links: &Bounded<OutwardLink>,
) -> String {
    let quoted = |path: &String| format!("`{}`", escape_line(path));
    let link = |link: &OutwardLink| {
        format!(
            "`{}` (to `{}`)",
            escape_line(&link.path),
            escape_line(&link.target)
        )
    };
    let kinds = [
        ("Git or a hook manager would run", named(hooks, quoted)),
        (
            "Editors, shells, other tools or build services would obey",
            named(obeyed, quoted),
        ),
        ("New executables:", named(executables, quoted)),
        ("Links that lead out of the workspace:", named(links, link)),
    ];
    let kinds = kinds.iter().filter(|(_, names)| !names.is_empty());
    let told: Vec<String> = kinds
        .map(|(what, names)| format!("{what} {names}"))
        .collect();
    told.join("\n")
}

/// The first few of a list in one line, and how many more there are.
fn named<T>(list: &Bounded<T>, name: impl Fn(&T) -> String) -> String {
    let names: Vec<String> = list.first.iter().take(NAMED).map(name).collect();
    let more = list.more + list.first.len() - names.len();
    let mut text = names.join(", ");
    if more > 0 {
        let _ = write!(text, " and {more} more");
    }
    text
}

fn not_covered(files: &Bounded<UncoveredFile>) -> String {
    let mut text = "Undo does not cover these:".to_owned();
    for file in files.first.iter().take(NAMED) {
        let path = escape_line(&file.path);
        let _ = write!(text, "\n  `{path}` {}", escape_line(&file.reason));
    }
    text + &more_lines(files)
}

fn more_lines<T>(list: &Bounded<T>) -> String {
    match list.more + list.first.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!("\n  and {more} more"),
    }
}

fn reversed(
    redone: bool,
    rounds: &[u32],
    restored: &Bounded<String>,
    skipped: &Bounded<String>,
) -> String {
    let verb = if redone { "Redid" } else { "Undid" };
    let quoted = |path: &String| format!("`{}`", escape_line(path));
    let numbers: Vec<String> = rounds.iter().map(ToString::to_string).collect();
    let s = if rounds.len() == 1 { "" } else { "s" };
    let mut text = format!("{verb} round{s} {}.", numbers.join(", "));
    if !restored.is_empty() {
        let _ = write!(text, " Restored: {}.", named(restored, quoted));
    }
    if !skipped.is_empty() {
        let _ = write!(text, " Left as they are: {}.", named(skipped, quoted));
    }
    text
}

fn housekeeping(news: &Housekeeping) -> String {
    match news {
        Housekeeping::JournalCompacted { bytes } => {
            format!("  the journal was compacted by {bytes} bytes")
        }
        Housekeeping::EarlierDefault {
            setting,
            value,
            default,
            file,
        } => format!(
            "`{setting}` is {value} in `{}`, as earlier versions wrote it there. The default is {default} now: remove that line to use it.",
            escape_line(file)
        ),
        Housekeeping::JournalNotCompacted { cause } => {
            format!("The journal could not be compacted: {}", escape_text(cause))
        }
        Housekeeping::CheckpointsNotTidied { cause } => format!(
            "Old checkpoints could not be tidied away: {}",
            escape_text(cause)
        ),
        Housekeeping::RoundsGivenUp {
            rounds,
            limit_megabytes,
        } => format!(
            "The checkpoints took more than {limit_megabytes} MB (`MaxUndoMegabytes`). Those of the oldest {} were removed, and these cannot be undone any more.",
            count(*rounds, "round")
        ),
        Housekeeping::OverLimit {
            megabytes,
            limit_megabytes,
        } => format!(
            "The checkpoints take {megabytes} MB, more than the {limit_megabytes} MB of `MaxUndoMegabytes`: what is under way needs them."
        ),
        Housekeeping::RemovedFilesGivenUp {
            undos,
            limit_megabytes,
        } => format!(
            "What undo had removed took more than {limit_megabytes} MB (`MaxUndoMegabytes`): what was kept of the oldest {} is gone.",
            count(*undos, "undo")
        ),
    }
}

fn recovery(news: &Recovery) -> String {
    match news {
        Recovery::ReplyUnderWay => "A reply was being executed when `agent` stopped. What is done stays, what was under way is settled, and nothing is run twice.".to_owned(),
        Recovery::ReplyTaken => {
            "A reply had been taken when `agent` stopped; it is executed now.".to_owned()
        }
        Recovery::RoundFinished => {
            "A round that had been interrupted is finished now; no other reply was taken.".to_owned()
        }
        Recovery::ReplyGone { file } => format!(
            "That reply, `{}` in `inbox/processed`, is gone or was changed. What the journal knows of it is told to the model; nothing more of it is carried out.",
            escape_line(file)
        ),
        Recovery::SessionReplaced => {
            "The session file was not what the journal says; the journal was used.".to_owned()
        }
        Recovery::JournalTorn { bytes } => format!(
            "The journal of the session ended in the middle of a line; {bytes} bytes were cut off."
        ),
        Recovery::JournalMissing => "The journal of the session is missing or empty and begins anew; what its earlier rounds did can neither be shown nor undone.".to_owned(),
        Recovery::JournalBehind => "The journal of the session has lost its latest rounds; the session file was used, and what these rounds did can neither be shown nor undone.".to_owned(),
        Recovery::JournalShort { bytes } => format!(
            "The journal of the session is shorter than it was: {bytes} bytes are missing at its end."
        ),
        Recovery::LaterReplies { files } => format!(
            "Nothing tells any more of rounds that came after this one. Their replies may have been carried out and are not taken again; they are in `inbox/rejected`: {}.",
            named(files, |file: &String| format!("`{}`", escape_line(file)))
        ),
        Recovery::FileChanged {
            path,
            kept,
            problem,
        } => file_changed(path, kept.as_deref(), problem.as_deref()),
        Recovery::Disarmed {
            disabled,
            suffix,
            opened,
            closed,
            is_cut,
            is_unknown,
            in_cache,
        } => {
            let told = [
                disarmed(disabled, suffix),
                directories("it had closed", opened, "opened, to look for repositories"),
                directories("nobody can look into", closed, "or knows what git would run there"),
                is_cut.then(|| "the workspace is too large to be looked through for repositories, so nobody knows what git would run in all of them".to_owned()),
                is_unknown.then(|| "nobody knows what it made git run: look at new repositories before you use git in them".to_owned()),
            ];
            let told: Vec<String> = told.into_iter().flatten().collect();
            let place = if *in_cache {
                " in the cache of commands, to which a link leads,"
            } else {
                ""
            };
            format!("What a command left behind{place} was looked through: {}.", told.join("; "))
        }
        Recovery::Unclear { files } => unclear(files),
    }
}

/// Names the settings and files that git would have run or obeyed, and that are disabled now.
fn disarmed(disabled: &Bounded<DisarmedFile>, suffix: &str) -> Option<String> {
    let file = |file: &DisarmedFile| {
        let settings = named(&file.settings, |setting| {
            format!("`{}`", escape_line(setting))
        });
        let settings = match settings.as_str() {
            "" => String::new(),
            settings => format!("{settings} in "),
        };
        let failure = file.failure.as_deref().map_or_else(String::new, |failure| {
            format!(" (still in force: {})", escape_line(failure))
        });
        format!("{settings}`{}`{failure}", escape_line(&file.path))
    };
    (!disabled.is_empty()).then(|| {
        format!(
            "git would have run or obeyed this, so it was disabled (the originals are beside it as `*{}`): {}",
            escape_line(suffix),
            named(disabled, file)
        )
    })
}

fn directories(before: &str, paths: &Bounded<String>, after: &str) -> Option<String> {
    let quoted = |path: &String| format!("`{}`", escape_line(path));
    (!paths.is_empty()).then(|| format!("{before} {}, {after}", named(paths, quoted)))
}

fn file_changed(path: &str, kept: Option<&str>, problem: Option<&str>) -> String {
    let path = escape_line(path);
    let start = format!(
        "`{path}` was changed while `agent` was stopped in the middle of changing it. It stays as it is; what the model meant"
    );
    match (kept, problem) {
        (Some(kept), _) => format!("{start} is kept in `{}`.", escape_line(kept)),
        (None, problem) => format!(
            "{start} could not be kept elsewhere and stays beside it, under a name that begins with `.agent-`: {}",
            escape_text(problem.unwrap_or_default())
        ),
    }
}

fn unclear(files: &Bounded<String>) -> String {
    let mut text = "These files changed around the time `agent` was killed; it is unclear who changed them. `agent undo` will leave them as they are:".to_owned();
    for path in files.first.iter().take(NAMED) {
        let _ = write!(text, "\n  `{}`", escape_line(path));
    }
    text + &more_lines(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(event: &Event) -> String {
        let view = RenderContext {
            is_interactive: false,
            has_prompt: false,
            ..RenderContext::plain()
        };
        anstream::adapter::strip_str(&words(event, &view)).to_string()
    }

    #[test]
    fn many_files_are_counted() {
        let none = || Bounded::new(0, Vec::<String>::new());
        let event = Event::LeftBehind {
            hooks: none(),
            obeyed: none(),
            executables: Bounded::new(7, (0..9).map(|number| format!("x{number}"))),
            links: Bounded::new(0, Vec::new()),
        };
        assert_eq!(
            told(&event),
            "New executables: `x0`, `x1`, `x2`, `x3`, `x4` and 4 more\n"
        );
    }

    #[test]
    fn names_of_files_cannot_forge_our_lines() {
        let files = Bounded::new(9, ["a\n  1. ok CREATE_FILE\u{1b}[2J".to_owned()]);
        let text = told(&Event::Recovery(Recovery::Unclear { files }));
        assert_eq!(text.lines().count(), 2, "{text}");
        assert!(!text.contains('\u{1b}'), "{text:?}");
    }

    #[test]
    fn what_was_disabled_is_told_with_its_settings() {
        let file = DisarmedFile {
            path: "a/.git/config".to_owned(),
            settings: Bounded::new(9, ["core.fsmonitor".to_owned(), "x\u{1b}[2J\ny".to_owned()]),
            failure: Some("no room".to_owned()),
        };
        let text = told(&Event::Recovery(Recovery::Disarmed {
            disabled: Bounded::new(9, [file]),
            suffix: ".disabled".to_owned(),
            opened: Bounded::default(),
            closed: Bounded::new(9, ["b".to_owned()]),
            is_cut: false,
            is_unknown: false,
            in_cache: true,
        }));
        assert!(text.contains("in the cache of commands"), "{text}");
        assert!(text.contains("`core.fsmonitor`, `x"), "{text}");
        assert!(
            text.contains(" in `a/.git/config` (still in force: no room)"),
            "{text}"
        );
        assert!(text.contains("nobody can look into `b`"), "{text}");
        assert!(
            !text.contains('\u{1b}') && text.lines().count() == 1,
            "{text:?}"
        );
    }

    #[test]
    fn properties_of_the_sandbox_are_told_in_words_of_the_front_end() {
        let property = |name: &str, holds| SandboxProperty {
            name: name.to_owned(),
            holds,
        };
        let text = told(&Event::Confinement {
            commands: true,
            backend: Some("x".to_owned()),
            network: false,
            properties: vec![
                property("network", false),
                property("later", false),
                property("home", true),
            ],
            runner: None,
        });
        assert_eq!(
            text,
            "Commands run in a sandbox (x), without the network.\n  does not hold: commands can use the network\n  does not hold: later\n"
        );
    }

    #[test]
    fn without_a_sandbox_the_person_hears_what_holds_all_the_same() {
        let without = |properties| {
            told(&Event::Confinement {
                commands: true,
                backend: None,
                network: false,
                properties,
                runner: None,
            })
        };
        let property = |name: &str, holds| SandboxProperty {
            name: name.to_owned(),
            holds,
        };
        assert_eq!(
            without(vec![property("files", true), property("network", false)]),
            "There is no sandbox, so each command needs your yes.\n  holds: files outside of the workspace cannot be changed\n  does not hold: commands can use the network\n"
        );
        assert_eq!(
            without(Vec::new()),
            "Commands are not confined: each one needs your yes. Rules that allow one count only if `Sandbox` is `off`.\n"
        );
    }

    #[test]
    fn secrets_are_counted_by_kind_and_place() {
        let secret = |places: &[&str], count| KeptSecret {
            kind: "token".to_owned(),
            places: places.iter().map(|place| (*place).to_owned()).collect(),
            count,
        };
        let secrets = vec![secret(&[".env", "a"], 2), secret(&[], 1)];
        assert_eq!(
            told(&Event::SecretsKept { secrets, doubts: 1 }),
            "3 secrets stay here; the message has placeholders for them: 2 × token in .env, a; token in your words\n  1 of them may be samples or no secrets; `--allow-secrets` sends values, patterns or kinds as they are.\n"
        );
    }
}
