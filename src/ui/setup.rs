//! The words for findings about a call: its settings, folders and flags.

use super::{escape_line, escape_text};
use crate::protocol::{SetupNews, WideExtent};

pub(super) fn words(news: &SetupNews) -> String {
    match news {
        SetupNews::WideWorkspace { directory, extent } => format!(
            "Warning: `{}` is {}. The model can read and change everything in it; work in the directory of one project instead.",
            escape_line(directory),
            match extent {
                WideExtent::Root => "the root of the file system",
                WideExtent::Home => "your home directory",
                WideExtent::AboveHome => "a directory that has your home in it",
            }
        ),
        SetupNews::BaseAbove { directory } => format!(
            "Working with the base directory `{}`, above this folder.",
            escape_line(directory)
        ),
        SetupNews::SessionTakenOver { id } => format!(
            "Session {id} was not begun by you in this directory: what was decided in it does not count, and is asked again."
        ),
        SetupNews::ApiNotKnown { id } => format!(
            "Session {id} was carried by an API, and it is not known that you chose it: say `--api` again if you want it."
        ),
        SetupNews::WorkspaceChanged { id, from, to } => format!(
            "Session {id} worked in `{}`; `--workspace` has it work in `{}`.",
            escape_line(from),
            escape_line(to)
        ),
        SetupNews::SessionRebuilt { id, cause } => format!(
            "Session {id} was rebuilt from the journal: {}",
            escape_text(cause)
        ),
        SetupNews::NoLog { file, cause } => format!(
            "No log is written: `{}`: {}",
            escape_line(file),
            escape_text(cause)
        ),
        SetupNews::UntrustedSetting { .. }
        | SetupNews::PersonalSetting { .. }
        | SetupNews::OwnSettingsExposed { .. }
        | SetupNews::SettingsPassedOver { .. } => settings(news),
        SetupNews::TrustExposed {
            directory,
            workspace,
        } => format!(
            "the workspace `{}` holds `{}`, where `agent` remembers which settings you trust; work in a smaller directory",
            escape_line(workspace),
            escape_line(directory)
        ),
        SetupNews::AnswerUnknown { answers } => {
            let last = answers.last().cloned().unwrap_or_default();
            let others = answers[..answers.len().saturating_sub(1)].join(", ");
            format!("Please answer {others} or {last}.")
        }
    }
}

/// Settings that do not count, and why.
fn settings(news: &SetupNews) -> String {
    match news {
        SetupNews::UntrustedSetting {
            setting,
            file,
            is_declined,
        } => format!(
            "`{setting}` in `{}` does not count, because {}",
            escape_line(file),
            if *is_declined {
                "you said no to that file; you are asked again when it changes"
            } else {
                "you have not trusted that file; run `agent` on a terminal to confirm it"
            }
        ),
        SetupNews::PersonalSetting {
            setting,
            file,
            flag,
        } => format!(
            "`{setting}` in `{}` does not count, because no settings file of a project may set it; use `{flag}`, or the variable `Agent__{setting}`",
            escape_line(file)
        ),
        SetupNews::OwnSettingsExposed { file, workspace } => format!(
            "What `{}` permits beyond the defaults does not count here: the workspace `{}` holds that file, so the model may have changed it",
            escape_line(file),
            escape_line(workspace)
        ),
        SetupNews::SettingsPassedOver { file, directory } => format!(
            "`{}` does not count, because `{}` has settings too; delete one of them",
            escape_line(file),
            escape_line(directory)
        ),
        _ => String::new(),
    }
}
