//! The words that the model reads about how to answer.

use std::fmt::Write as _;

use super::{Facts, MessageCarrier, chars};
use crate::protocol::{CommandKind, ShellLanguage, Status, StepResult};
use crate::session::{CheckReport, CheckedWhen, Instructions, Session, title};

/// The full text, compiled in.
const FULL: &str = include_str!("../../crates/agent-protocol/src/instructions.md");

/// The reminder of the instructions in later messages.
const REMINDER: &str = "\
As in the first message: all commands in ONE code block fenced with six backticks, in the chat message itself; each tag alone on its line, attributes as name=\"value\", bodies verbatim; the end mark as the last line of the block. With a body and a closing tag such as [/EDIT_FILE]: CREATE_FILE (path), EDIT_FILE (path; SEARCH/REPLACE blocks, or start_line, end_line and the new lines), INSERT_TEXT (path, line), APPLY_PATCH, RUN_COMMAND, PLAN, MESSAGE, ASK_USER, DONE. Without: READ_FILE (path, start_line, end_line; also a list or a glob), LIST_FILES (path, glob), SEARCH_TEXT (pattern, path, glob, context), OUTLINE (path), DELETE_FILE (path), MOVE_FILE (from, to){git}. Never invent results.{secrets} A SEARCH/REPLACE block:
<<<<<<< SEARCH
lines exactly as they are in the file
=======
new lines
>>>>>>> REPLACE";

/// Further commands where there is a repository.
const GIT: &str = ", GIT_STATUS, GIT_DIFF (optional path)";

/// A sentence for sessions in which a secret was kept from the chat.
const SECRETS: &str = " `[SECRET-n kind]` stands for a secret that you are not shown: keep it as it is when you edit that file; anywhere else it is refused.";

/// How much of the task, and of each further instruction, a follow-up repeats, in characters; of a
/// longer one only its title.
const TASK_REMINDER: usize = 200;

/// How many further instructions a message repeats.
const FURTHER_REMINDERS: usize = 3;

/// How long a check command is that the prompt repeats, in characters.
const SHORT_COMMAND: usize = 60;

/// A sentence for sessions in which the person has switched commands off.
const NO_COMMANDS: &str = "RUN_COMMAND is switched off in this session: work with files only, and tell the user in a MESSAGE what to run.";

/// The cost of a message that a person carries, as the instructions tell it.
const BY_PERSON: &str = "Each message costs the user a copy and a paste";
/// The cost of one that an API carries.
const BY_API: &str = "Each message costs time and tokens";

/// The kind of script that commands run, and the note on it, as the instructions have them.
const BASH_SCRIPT: &str = "a bash script in the workspace";
const BASH_NOTE: &str = "; in a pipeline each part counts";

/// A sentence for plan mode.
const PLAN_MODE: &str = "PLAN MODE is on: only READ_FILE, LIST_FILES, SEARCH_TEXT, OUTLINE{git}, MESSAGE, ASK_USER and PLAN are carried out; what changes files or runs programs is refused. When you have seen enough, send one [PLAN] with the steps of the work in their order, the files they touch and how you will test it. The user approves it or says what to change; only then the work begins.";

/// The full instructions as a first message has them, with an id that is only an example.
pub fn example() -> String {
    filled("ab12cd34", 1, 120, 600)
}

fn filled(id: &str, sequence: u32, timeout_seconds: u64, longest_seconds: u64) -> String {
    FULL.trim()
        .replace("{git}", GIT)
        .replace("{secrets}", SECRETS)
        .replace("{id}", id)
        .replace("{sequence}", &sequence.to_string())
        .replace("{timeout}", &timeout_seconds.to_string())
        .replace("{longest}", &longest_seconds.to_string())
}

/// The protocol section.
pub(super) fn text(session: &Session, facts: Facts) -> String {
    let text = match session.instructions {
        Instructions::Full => FULL.trim(),
        Instructions::Reminder => REMINDER,
    };
    let mut lines = vec![text];
    if session.planning.is_open() {
        lines.push(PLAN_MODE);
    } else if !facts.runs_commands {
        lines.push(NO_COMMANDS);
    }
    if session.instructions == Instructions::Full && !session.environment.is_empty() {
        lines.push(&session.environment);
    }
    let cost = match facts.carrier {
        MessageCarrier::Person => BY_PERSON,
        MessageCarrier::Api => BY_API,
    };
    let (script, note) = script_for(facts.shell);
    let only_if = |is_so: bool, text: &'static str| if is_so { text } else { "" };
    lines
        .join("\n")
        .replace("{git}", only_if(facts.has_repository, GIT))
        .replace("{secrets}", only_if(facts.conceals_secrets, SECRETS))
        .replace(BY_PERSON, cost)
        .replace(BASH_SCRIPT, script)
        .replace(BASH_NOTE, note)
        .replace("{id}", session.session_id.as_str())
        .replace("{sequence}", &session.sequence_number.to_string())
        .replace("{timeout}", &facts.command_timeout.as_secs().to_string())
        .replace(
            "{longest}",
            &facts.max_command_timeout.as_secs().to_string(),
        )
}

/// The kind of script that this shell runs, and what to know about it.
fn script_for(shell: ShellLanguage) -> (&'static str, &'static str) {
    match shell {
        ShellLanguage::Bash => (BASH_SCRIPT, BASH_NOTE),
        ShellLanguage::Sh => ("a script for `sh` in the workspace", ""),
        ShellLanguage::Pwsh => (
            "a PowerShell 7 script in the workspace, on Windows",
            "; not bash",
        ),
        ShellLanguage::PowerShell => (
            "a Windows PowerShell 5.1 script in the workspace",
            "; not bash: there is no `&&`, `||` or `? :`",
        ),
        ShellLanguage::Cmd => (
            "a batch script for `cmd.exe` in the workspace, on Windows",
            "; neither bash nor PowerShell; loop variables are written `%%f`",
        ),
    }
}

/// The task, and what the person wanted besides in earlier rounds.
pub(super) fn tasks(session: &Session) -> String {
    let is_known = session.sequence_number > 1 && session.instructions == Instructions::Reminder;
    let mut text = if is_known {
        beginning(&session.task, "the whole task is in the first message")
    } else {
        session.task.trim().to_owned()
    };
    let mut earlier: Vec<_> = session
        .further
        .iter()
        .filter(|further| further.sequence < session.sequence_number)
        .collect();
    if is_known {
        earlier.drain(..earlier.len().saturating_sub(FURTHER_REMINDERS));
    }
    for further in earlier {
        let number = further.sequence;
        let said = if is_known {
            beginning(&further.text, &format!("the whole is in message {number}"))
        } else {
            further.text.trim().to_owned()
        };
        let _ = write!(text, "\nThe user added in message {number}: {said}");
    }
    text
}

fn beginning(text: &str, where_it_is: &str) -> String {
    let text = text.trim();
    if chars(text) <= TASK_REMINDER {
        return text.to_owned();
    }
    let start: String = title(text).chars().take(TASK_REMINDER).collect();
    format!("{start} ... ({where_it_is})")
}

/// The person's further instructions that begin with this message.
pub(super) fn further(session: &Session) -> String {
    let new = session
        .further
        .iter()
        .filter(|further| further.sequence == session.sequence_number);
    new.fold(String::new(), |mut text, further| {
        let _ = write!(
            text,
            "THE USER ASKS FOR MORE, beyond the task in the header:\n{}\n\n",
            further.text.trim()
        );
        text
    })
}

/// The prompt: what to do now, and the end mark.
pub(super) fn prompt(session: &Session) -> String {
    let mut prompt = further(session);
    let now = if session.planning.is_open() && session.last_cut.is_none() {
        "Plan the task in the header: look at what you need, then send the [PLAN]. Nothing is changed before the user approves it.".to_owned()
    } else if session.sequence_number == 1 {
        let refuses = if session.check.is_some() {
            "; a failing check only refuses it"
        } else {
            ""
        };
        format!(
            "Do the task in the header. Look at what you need first, or begin with the work where it is clear. If your reply completes the task, end it with [DONE]{refuses}."
        )
    } else {
        next(session)
    };
    prompt.push_str(&now);
    prompt.push_str(&failing_check(session));
    prompt.push_str("\nThe last line of your code block is:\n");
    prompt.push_str(&session.end_mark().to_string());
    prompt.push('\n');
    prompt
}

/// Says that the person's check fails, if it does; empty while only a plan is made.
pub(super) fn failing_check(session: &Session) -> String {
    let failing = session.check.as_ref().filter(|check| check.failed());
    match failing.filter(|_| !session.planning.is_open()) {
        Some(check) => {
            let how = match check.when {
                CheckedWhen::Outdated => "failed when it last ran",
                _ => "fails",
            };
            let name = if chars(&check.command) <= SHORT_COMMAND {
                format!(" `{}`", check.command)
            } else {
                String::new()
            };
            format!(
                " The user's check{name} {how}, see Check above: make it pass, [DONE] counts only then."
            )
        }
        None => String::new(),
    }
}

/// The short message beside an attached file.
pub(super) fn beside_attachment(session: &Session) -> String {
    format!(
        "{}=== PROMPT ===\nThe message itself is in the attached file. Read all of it; then do what PROMPT at its end says, in the form that its PROTOCOL describes, and answer here in the chat.\nThe last line of your code block is:\n{}\n",
        super::header(
            session,
            &beginning(&session.task, "the whole task is in the attached file")
        ),
        session.end_mark()
    )
}

fn next(session: &Session) -> String {
    let is_reopened = session.summary.is_some()
        && (session.further.back()).is_some_and(|last| last.sequence == session.sequence_number);
    if is_reopened {
        let is_there = if session.history.rounds.iter().any(|round| round.is_undone) {
            "the user undid some of it, see the history and the notes"
        } else {
            "what you did is there"
        };
        return format!(
            "You had ended the task; {is_there}. Do what the user asks for now. When it is finished and tested, send [DONE] with a short summary."
        );
    }
    if let Some(cut) = &session.last_cut
        && !cut.cut.is_in_command()
    {
        return format!(
            "Your last reply broke off on its way, in line {} of it. The commands that came are done, see the results. Send what was to come after them; nothing that is done already. If that was all and the task is finished, send [DONE].",
            cut.cut.line
        );
    }
    if let Some(cut) = &session.last_cut {
        // A bare diff does not show where it ends: asked for once more it would come the same again.
        let closed = if cut.cut.what.starts_with("APPLY_PATCH") {
            " If it was whole, its end could not be seen: send it between [APPLY_PATCH] and [/APPLY_PATCH]."
        } else {
            ""
        };
        return format!(
            "Your last reply was cut off in {} (line {} of it). What came before it is done, see the results. Send that command again, whole, and what was to come after it; nothing that is done already.{closed} If it is long, split it over several replies.",
            cut.cut.what, cut.cut.line
        );
    }
    if session.plan_word().is_some() {
        return "The plan is approved: carry it out step by step, and test it. What was refused before may be sent now.".to_owned();
    }
    if session.last_results.is_empty() && session.last_issues.is_empty() {
        return "Your last reply contained no command, so nothing was done. Write the commands for the next step in one code block as described above; if the work is finished, send [DONE].".to_owned();
    }
    let failed = |result: &&StepResult| result.outcome.status != Status::Ok;
    let is_run = |result: &StepResult| result.is_run() && result.outcome.status == Status::Failed;
    let only_runs = session.last_results.iter().filter(failed).all(is_run);
    let failed = session.last_results.iter().any(|result| failed(&result));
    if failed && only_runs && session.last_issues.is_empty() {
        return "A command that you ran did not end well: see its output, and go on with the task."
            .to_owned();
    }
    let only_done = (session
        .last_results
        .iter()
        .filter(|result| result.outcome.status != Status::Ok))
    .all(|result| result.is(CommandKind::Done));
    if failed && only_done && session.last_issues.is_empty() {
        return "[DONE] was refused, see why in the results. Everything else is done and stays: go on with what is missing.".to_owned();
    }
    if failed || !session.last_issues.is_empty() {
        return "Not everything worked. What is marked [OK] is done and stays: send only what failed again, corrected, and go on with the task.".to_owned();
    }
    if session.lacks_end {
        return "Your last reply came without its end mark, so the end of it may be missing. What is marked [OK] is done and stays: send what was to come after it, or, if it was whole, go on with the task. When it is finished and tested, send [DONE] with a short summary.".to_owned();
    }
    if session.check.as_ref().is_some_and(CheckReport::failed) {
        return "Go on with the task. If your reply completes it, end it with [DONE]; a failing check only refuses it.".to_owned();
    }
    if session.check.as_ref().is_some_and(CheckReport::passed) {
        return "The user's check passes. If the task is finished, [DONE] alone ends it; otherwise go on.".to_owned();
    }
    "Go on with the task. When it is finished and tested, send [DONE] with a short summary."
        .to_owned()
}
