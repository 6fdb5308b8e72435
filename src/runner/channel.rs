//! Runs a command through a program that passes it on: `docker exec`, `ssh`, `kubectl exec`, or one
//! of the person's own.
//!
//! The one thing that such a program must do is to read a POSIX shell script from its standard input
//! and to run it where the workspace is. Our script holds the command and everything around it:
//!
//! ```text
//! input  = script, then nothing, until we close it: the lifeline
//! output = what the command prints, between two escape sequences: `agent-began`, `agent-ended CODE`
//! ```
//!
//! Killing a client leaves the command running on the other side, so we do not. The script watches
//! its standard input: when that ends, because we closed it, were killed or lost the connection, it
//! kills the command and all that it started. It does so too when the time of the command is over,
//! which needs no connection. Output without `agent-ended` means that the other side was lost.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use super::attend::{Attended, Supervisor};
use super::output::{Output, Reports};
use super::{Job, Program, Ran, RunEnd, pipeline};
use crate::platform::{ChildSession, ChildTree};
use crate::protocol::ShellLanguage;

/// The text of the escape sequence that says that the command is about to begin.
pub(super) const BEGAN: &str = "agent-began";

/// The text of the escape sequence that tells the exit code begins with this.
pub(super) const ENDED: &str = "agent-ended ";

/// How much longer than its time a command may run if nobody is there to end it.
const OVERTIME: Duration = Duration::from_secs(10);

/// The processes that belong to a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Belongings {
    /// All of the person's processes there, except for the keeper of the container, which is another
    /// user's.
    Container,
    /// Those in its control group, where we may make one; and those that inherited a variable from the
    /// command, wherever they went, with their process groups. Where the system does not show variables,
    /// its own process group.
    Marked,
}

/// A command on the other side: how it is reached and what it finds there.
#[derive(Debug)]
pub(super) struct Errand<'a> {
    /// Runs the script that it reads from its standard input.
    pub(super) client: Command,
    /// The directory there, as a word of the shell.
    pub(super) directory: &'a str,
    /// Variables that are set there.
    pub(super) environment: &'a [(String, String)],
    /// The processes to end with it.
    pub(super) belongings: Belongings,
}

/// Writes a script to a client and keeps its standard input open until it is dropped.
#[derive(Debug)]
pub(super) struct Lifeline {
    /// Ends the thread that holds the pipe when it is dropped.
    _held: mpsc::Sender<()>,
}

impl Lifeline {
    /// Starts a client that reads this script.
    pub(super) fn start(client: Command, script: String) -> Result<(ChildTree, Self), String> {
        let name = client.get_program().to_string_lossy().into_owned();
        let (reader, mut writer) = std::io::pipe().map_err(|error| error.to_string())?;
        let tree = ChildTree::start(client, Stdio::from(reader), ChildSession::MadeBefore)
            .map_err(|error| format!("could not start `{name}`: {error}"))?;
        let (held, over) = mpsc::channel::<()>();
        // A client that does not read must not keep us from ending it.
        let keep_open = move || {
            if writer.write_all(script.as_bytes()).is_ok() {
                let _ = over.recv();
            }
        };
        thread::Builder::new()
            .name("lifeline".to_owned())
            .spawn(keep_open)
            .map_err(|error| error.to_string())?;
        Ok((tree, Self { _held: held }))
    }
}

/// Runs a job on the other side.
#[expect(clippy::needless_pass_by_value, reason = "a job is run once")]
pub(super) fn run(errand: Errand<'_>, job: Job<'_>) -> Ran {
    let began = Instant::now();
    let mut output = Output::of_commands(job.max_output);
    output.withhold(job.withheld);
    let script = match job.program {
        Program::Shell(script) => script,
        Program::Exec(_) => return Ran::not_started("only scripts are run elsewhere"),
    };
    let script = whole_script(&errand, script, job.timeout);
    let (tree, lifeline) = match Lifeline::start(errand.client, script) {
        Ok(started) => started,
        Err(reason) => return Ran::not_started(reason),
    };
    let attended = Attended {
        tree,
        supervisor: Supervisor::Lifeline(Some(lifeline)),
        output: &mut output,
        on_output: job.on_output,
        buffer: vec![0; 64 * 1024],
    };
    let end = attended.attend(began.checked_add(job.timeout), job.cancelled);
    let (output, reports) = output.finish();
    let is_stopped = matches!(end, RunEnd::TimedOut | RunEnd::Interrupted);
    let is_lost = reports.began && reports.ended.is_none() && !is_stopped;
    Ran {
        end: end_of(end, &reports, &output.text),
        output,
        took: began.elapsed(),
        pipeline: reports
            .pipeline
            .map(|report| pipeline::parse(&report))
            .unwrap_or_default(),
        set_aside: Vec::new(),
        is_lost,
        note: None,
    }
}

/// How a run ended, by what the other side reported.
fn end_of(end: RunEnd, reports: &Reports, printed: &str) -> RunEnd {
    match (end, &reports.ended) {
        (stopped @ (RunEnd::TimedOut | RunEnd::Interrupted), _) => stopped,
        (_, Some(code)) => RunEnd::Exited(code.trim().parse().unwrap_or(-1)),
        (_, None) if reports.began => RunEnd::Signalled(9),
        (_, None) => {
            // The client's own words are all that was printed.
            let words: Vec<&str> = printed.split_whitespace().collect();
            RunEnd::NotStarted(if words.is_empty() {
                "the other side did not answer".to_owned()
            } else {
                words.join(" ")
            })
        }
    }
}

/// Begins a command with a mark that its descendants inherit; the number of its process group is a part
/// of it. If the system lets us, it is in a control group of its own too, which no process can leave. Empty
/// groups of commands whose script was killed are removed by the next one.
const START_MARKED: &str = r#"s=; if command -v setsid >/dev/null 2>&1; then s=setsid; fi
g=; if [ -e /sys/fs/cgroup/cgroup.procs ]; then g=/sys/fs/cgroup$(sed -n 's/^0:://p' /proc/self/cgroup)
elif [ -d /sys/fs/cgroup/freezer ]; then g=/sys/fs/cgroup/freezer$(sed -n 's/^[0-9]*:freezer://p' /proc/self/cgroup); fi
if [ -n "$g" ]; then find "$g" -maxdepth 1 -name 'agent-*' -mmin +1 -exec rmdir {} + 2>/dev/null; g=$g/agent-$m; { mkdir "$g" && [ -w "$g/cgroup.procs" ]; } 2>/dev/null || g=; fi
start() { AGENT_RUN=$m $s sh -c 'AGENT_RUN=$AGENT_RUN-$$; export AGENT_RUN
if [ -n "$0" ]; then echo $$ >"$0/cgroup.procs"; fi 2>/dev/null; exec "$@"' "$g" "$@"; }
"#;

/// Kills everything that a marked command started: its control group, its process group, and processes
/// with the mark. The groups are killed at once: a process that forks all the time is gone before it
/// can be killed by its number.
///
/// The name of a file under `/proc` holds the process that has the mark. That others vanish meanwhile is
/// an error for `grep`, so its exit code tells nothing.
const REAP_MARKED: &str = r#"if [ -n "$g" ]; then for i in 1 2 3; do echo 1 >"$g/cgroup.kill" || {
echo FROZEN >"$g/freezer.state"; echo 1 >"$g/cgroup.freeze"
while read -r p; do kill -9 "$p"; done <"$g/cgroup.procs"
echo THAWED >"$g/freezer.state"; echo 0 >"$g/cgroup.freeze"; }; done; fi
if [ -r /proc/self/environ ]; then for i in 1 2 3 4 5 6 7 8; do
l=$(grep -l "AGENT_RUN=$m" /proc/[0-9]*/environ); [ -n "$l" ] || break
for p in $(cat /proc/[0-9]*/environ | tr '\0' '\n' | sed -n "s/^AGENT_RUN=$m-//p" | sort -u); do kill -9 "-$p"; done
for f in $l; do f=${f#/proc/}; kill -9 "${f%/environ}"; done; done
else kill -9 0; fi
if [ -n "$g" ]; then for i in 1 2 3 4 5 6 7 8 9 10; do rmdir "$g" && break; [ -d "$g" ] || break; sleep 0.05; done; fi
"#;

/// The script that runs a command on the other side and ends it with its lifeline.
fn whole_script(errand: &Errand<'_>, script: &str, timeout: Duration) -> String {
    let mark = uuid::Uuid::new_v4().simple().to_string();
    let observed = pipeline::observed(ShellLanguage::Bash, script);
    let bash = quoted(observed.as_deref().unwrap_or(script));
    let plain = quoted(script);
    let (begin, kill, last, start) = match errand.belongings {
        Belongings::Container => ("", "kill -9 -1\n", "kill -9 -1", ""),
        Belongings::Marked => (
            START_MARKED,
            REAP_MARKED,
            "kill -9 $w $t; trap '' TERM; if [ -r /proc/self/environ ]; then reap; else kill -TERM 0; fi",
            "start ",
        ),
    };
    let mut text = String::from("{ exec 3<&0 </dev/null 2>&1\n");
    for (name, value) in errand.environment {
        let _ = writeln!(text, "export {name}={}", quoted(value));
    }
    let _ = write!(
        text,
        "m={mark}\n{begin}reap() {{ {kill}}} 2>/dev/null\n\
         cd {directory} || exit 126\n\
         printf '\\033_{BEGAN}\\a'\n\
         ( AGENT_RUN=$m cat <&3; reap ) >/dev/null 2>&1 & w=$!\n\
         ( exec 3<&-; AGENT_RUN=$m sleep {seconds}; reap ) >/dev/null 2>&1 & t=$!\n\
         if command -v bash >/dev/null 2>&1; then {start}bash -c -- {bash} 3<&-; \
         else {start}sh -c {plain} 3<&-; fi\n\
         r=$?\n\
         {{ {last}; }} 2>/dev/null\n\
         printf '\\033_{ENDED}%s\\a' \"$r\"\n\
         exit \"$r\"; }}\n",
        directory = errand.directory,
        seconds = (timeout + OVERTIME).as_secs(),
    );
    text
}

/// A text as one word of the shell.
pub(super) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}
