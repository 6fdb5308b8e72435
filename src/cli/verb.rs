//! The verbs of the program, one file each.

use std::process::ExitCode;

use clap::Subcommand;

use super::common::Common;
use super::slash::CommandLine;
use super::{
    add, api, apply, approve, ask, batch, check, commit, completions, config, copy, demo, diff,
    doctor, end, export, fork, handoff, help, init, list, mcp, new, notes, parse, paste, plan,
    policy, prompts, rename, resume, rm, say, serve, show, status, step, undo,
};
use crate::error::Result;
use crate::ui::Ui;

#[derive(Debug, Subcommand)]
pub(super) enum Verb {
    New(new::New),
    Resume(resume::Resume),
    Step(step::StepArgs),
    Apply(apply::Apply),
    Ask(ask::Ask),
    Batch(batch::BatchArgs),
    Parse(parse::Parse),
    Status(status::StatusArgs),
    List(list::List),
    Show(show::Show),
    Plan(plan::Plan),
    Diff(diff::Diff),
    Undo(undo::Undo),
    Redo(undo::Redo),
    Commit(commit::Commit),
    Rename(rename::Rename),
    Copy(copy::Copy),
    Paste(paste::Paste),
    Say(say::Say),
    Add(add::Add),
    Notes(notes::NotesArgs),
    Approve(approve::Approve),
    Decline(approve::Decline),
    Check(check::Check),
    End(end::End),
    Handoff(handoff::Handoff),
    Fork(fork::Fork),
    Export(export::Export),
    Rm(rm::Rm),
    Config(config::Config),
    Api(api::Api),
    Policy(policy::PolicyArgs),
    Prompts(prompts::Prompts),
    Serve(serve::Serve),
    Mcp(mcp::Mcp),
    Init(init::Init),
    Demo(demo::Demo),
    Doctor(doctor::Doctor),
    Completions(completions::Completions),
    Man(completions::Man),
    Help(help::Help),
}

impl Verb {
    pub(super) fn run(self, common: &Common, ui: &Ui, program: CommandLine) -> Result<ExitCode> {
        match self {
            Self::New(verb) => verb.run(common, ui, program),
            Self::Resume(verb) => verb.run(common, ui, program),
            Self::Step(verb) => verb.run(common, ui),
            Self::Apply(verb) => verb.run(common, ui),
            Self::Ask(verb) => verb.run(common, ui),
            Self::Batch(verb) => verb.run(common, ui),
            Self::Parse(verb) => verb.run(ui),
            Self::Status(verb) => verb.run(common, ui),
            Self::List(verb) => verb.run(common, ui),
            Self::Show(verb) => verb.run(common, ui),
            Self::Plan(verb) => verb.run(common, ui),
            Self::Diff(verb) => verb.run(common, ui),
            Self::Undo(verb) => verb.run(common, ui),
            Self::Redo(verb) => verb.run(common, ui),
            Self::Commit(verb) => verb.run(common, ui),
            Self::Rename(verb) => verb.run(common, ui),
            Self::Copy(verb) => verb.run(common, ui),
            Self::Paste(verb) => verb.run(common, ui),
            Self::Say(verb) => verb.run(common, ui),
            Self::Add(verb) => verb.run(common, ui),
            Self::Notes(verb) => verb.run(common, ui),
            Self::Approve(verb) => verb.run(common, ui),
            Self::Decline(verb) => verb.run(common, ui),
            Self::Check(_) => check::Check::run(common, ui),
            Self::End(verb) => verb.run(common, ui),
            Self::Handoff(verb) => verb.run(common, ui),
            Self::Fork(verb) => verb.run(common, ui),
            Self::Export(verb) => verb.run(common, ui),
            Self::Rm(verb) => verb.run(common, ui),
            Self::Config(verb) => verb.run(common, ui),
            Self::Api(verb) => verb.run(common, ui),
            Self::Policy(verb) => verb.run(common, ui),
            Self::Prompts(verb) => verb.run(common, ui),
            Self::Doctor(doctor) => doctor::run(&doctor, common, ui),
            Self::Completions(verb) => Ok(verb.run(ui, program)),
            Self::Man(verb) => verb.run(ui, program),
            Self::Help(verb) => verb.run(ui, program),
            Self::Serve(verb) => verb.run(common, ui),
            Self::Mcp(verb) => verb.run(common, ui),
            Self::Init(verb) => verb.run(common, ui),
            Self::Demo(_) => demo::run(ui),
        }
    }
}
