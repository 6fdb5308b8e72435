//! The real program, driven as a person drives it: through files, pipes and signals.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    unreachable_pub,
    reason = "a test that cannot go on panics, and saves files as people's tools do"
)]

mod harness;

/// The structure of the sources.
mod direction;
/// Type names, each used once.
mod names;

/// Sessions that a model's API carries.
mod api;
/// `agent apply`: one reply, no session.
mod apply;
/// Decisions of the person, from another terminal or as files.
mod approvals;
/// Replies that are no replies, or in no good form.
mod bad_input;
/// Full disks, lost directories, other clocks and other users.
#[cfg(target_os = "linux")]
mod bad_situations;
/// Many tasks at once, over an API.
#[cfg(target_os = "linux")]
mod batch;
/// The person's check, and a model that goes in circles.
mod check;
/// Messages and replies by the clipboard, the bell, and what is printed instead.
#[cfg(target_os = "linux")]
mod clipboard;
/// Commits of what a session changed.
#[cfg(unix)]
mod commit;
/// Messages on the terminal: how loud, in which form, and what is kept private.
mod console;
/// Replies and patches collected from other programs, where they are at hand.
mod corpus;
/// The events of a session: their page, their file, and who watches.
mod events;
/// Questions and keys of a first hour that went another way than the person meant.
#[cfg(target_os = "linux")]
mod first_answers;
/// The first message, and what the person adds to it.
#[cfg(unix)]
mod first_hour;
/// Lists that agree, choices that a session keeps, slips that decide nothing.
#[cfg(target_os = "linux")]
mod first_lists;
mod first_message;
/// Names of changed files: ignored ones, and those that are hard to write.
#[cfg(target_os = "linux")]
mod first_names;
mod first_slips;
/// Bases that earlier versions left.
#[cfg(unix)]
mod fixtures;
/// Ctrl-Z, the background, and the shell that has the terminal meanwhile.
#[cfg(target_os = "linux")]
mod job_control;
/// Choices that a session keeps from its start: its workspace, and what it must not do.
#[cfg(unix)]
mod kept;
/// Calls of chats that can use tools.
#[cfg(unix)]
mod mcp;
/// Commands that miss the network, and the person who gives it.
#[cfg(target_os = "linux")]
mod network;
/// Pastes at questions outside of a loop.
#[cfg(target_os = "linux")]
mod pasted_answers;
/// Messages to paste: no longer than the chat accepts, and without secrets.
mod pastes;
/// Text that looks like a secret and must stay readable, without leaking one.
mod plain;
/// Sessions that plan before they work.
mod planning;
/// The prompt line of a loop, in a pseudo-terminal.
#[cfg(target_os = "linux")]
mod prompt_line;
/// Templates for tasks, of the person and of the project.
mod prompts;
/// README and docs, held to the program.
mod readme;
/// Sessions against a real model server.
mod real_model;
/// Replies that chats really send, and how each is understood.
mod replies;
/// Going on after any interruption.
mod resume;
/// Rules that people write, give and take back, and what they learn after a round.
mod rules;
/// Commands that run elsewhere, and results that do not come back at once.
#[cfg(target_os = "linux")]
mod runners;
/// Commands that run too long, print too much, or leave something behind.
mod running;
/// Secrets in the workspace, and what the chat sees of them.
mod secrets;
mod serve;
/// Sessions from the task to `[DONE]`, every command used.
mod session;
/// Sessions as things: listed, shown, named, gone on with, removed.
mod sessions;
/// The shell that runs commands.
#[cfg(target_os = "linux")]
mod shell;
/// Files in messages, which say how much of each they show.
mod shown;
/// Messages that are too long: parts, attachments, the meter.
mod size;
/// Mistakes of a person at the terminal.
#[cfg(target_os = "linux")]
mod slips;
/// Small things of the first hour, and the screens at several widths.
#[cfg(target_os = "linux")]
mod small;
/// One reply at a time, for scripts and editors.
mod step;
/// Sessions on a real terminal: questions, decisions, Ctrl-C, colour.
#[cfg(target_os = "linux")]
mod terminal;
/// Taking rounds back, and putting them again.
#[cfg(unix)]
mod undo;
/// Undo and redo along random walks, held against a model.
#[cfg(target_os = "linux")]
mod undo_walk;
/// Rounds that a kill left unfinished.
#[cfg(unix)]
mod unfinished;
/// The verbs around a session, their output and their exit codes.
mod verbs;
