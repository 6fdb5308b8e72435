//! Attacks on the person's machine, by a hostile reply to the real program.
//!
//! Every attack is made twice: against `agent`, where it must fail, and without the control, where
//! it must succeed, or it would prove nothing. A script is an attack if it exits with 0 once it
//! has reached what it wanted. Started by root, the whole suite is run again by a user without
//! any power, and a sample of it with every backend by root, by that user and by root on overlayfs;
//! with `AGENT_ATTACKS=all` that is no sample. What cannot be tried is said in a line that begins
//! with `skipped:`.

#![cfg(target_os = "linux")]
#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    unreachable_pub,
    reason = "a test that cannot go on panics, and an attacker writes files as they like"
)]

mod place;

/// The core of it for each backend that the machine has.
mod backends;
/// Paths that lead out of the workspace, and files that are none.
mod files;
/// Repositories that a command makes, changes or forges.
mod git;
/// Things that are used up, left behind or lie beside what is needed.
mod hoards;
/// Attacks on the kernel.
mod kernel;
/// Gaps that Landlock alone leaves open.
mod landlock;
/// Symbolic and hard links.
mod links;
/// Ways out to other machines and other programs.
mod network;
/// Files that `agent` itself keeps and obeys.
mod own;
/// Programs that a command plants where `PATH` leads to them.
mod planted;
/// Scripts that want to be taken for harmless ones.
mod policy;
/// Survivors, spies and hogs.
mod processes;
/// Files that the person's own tools would obey.
mod protected;
/// Directories that become links while they are used.
mod races;
/// Repositories further down or outside, and workspaces too large to be looked through.
mod repositories;
mod shipped;
/// Text that wants to be more than text.
mod terminal;
/// Programs and settings of a workspace that want to be taken for the person's.
mod tools;
/// The suite again: by other users and with other backends.
mod user;
