//! Runs a short script on the other side and takes its answer, which is bytes.
//!
//! ```text
//! output = noise LF mark LF answer LF mark SPACE code LF noise
//! ```
//!
//! The mark is random, so whatever a login prints before or after the answer is no part of it. An
//! answer without its end was cut. The call is over with the end mark, even if another process still
//! holds a pipe of the client open.

use std::io::{Read, Write as _};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

/// How long to look again after the person's Ctrl-C.
const TICK: Duration = Duration::from_millis(50);

/// How long a client may take to end after its answer, and to say why it failed.
const LINGER: Duration = Duration::from_millis(300);

/// The most bytes that a login may print before the answer.
const MAX_NOISE: usize = 1 << 20;

/// A script with marks around its output.
#[derive(Debug)]
pub(super) struct FramedScript {
    /// The script for a POSIX shell.
    pub(super) text: String,
    begin: Vec<u8>,
    end: Vec<u8>,
}

/// The bounds of a call.
#[derive(Debug, Clone, Copy)]
pub(super) struct CallLimits<'a> {
    /// The largest answer, in bytes.
    pub(super) bytes: usize,
    /// How long the other side may be silent.
    pub(super) silence: Duration,
    /// Ends the call when it becomes true.
    pub(super) stop: &'a AtomicBool,
}

impl FramedScript {
    /// Puts marks around a script.
    pub(super) fn new(script: &str) -> Self {
        let mark = uuid::Uuid::new_v4().simple();
        Self {
            text: format!(
                "printf '\\n{mark}\\n'; (\n{script}\n); r=$?; printf '\\n{mark} %s\\n' \"$r\"; exit \"$r\""
            ),
            begin: format!("\n{mark}\n").into_bytes(),
            end: format!("\n{mark} ").into_bytes(),
        }
    }

    /// The answer and its exit code, if its end is there.
    fn answer<'o>(&self, output: &'o [u8]) -> Option<(&'o [u8], i32)> {
        // The end is searched from the back: there is hardly anything behind it.
        let tail = output.len().saturating_sub(MAX_NOISE);
        let find =
            |part: &[u8], wanted: &[u8]| part.windows(wanted.len()).rposition(|w| w == wanted);
        let end = tail + find(&output[tail..], &self.end)?;
        let code = output[end + self.end.len()..].split(|byte| *byte == b'\n');
        let mut code = code.into_iter();
        let (code, _complete) = (code.next()?, code.next()?);
        let code = std::str::from_utf8(code).ok()?.trim().parse().ok()?;
        let mut windows = output[..end.min(MAX_NOISE)].windows(self.begin.len());
        let begin = windows.position(|window| window == self.begin)? + self.begin.len();
        Some((output.get(begin..end).unwrap_or_default(), code))
    }

    /// Runs the client, which runs the script with this input; tells the answer, or the client's words
    /// if it fails.
    pub(super) fn run(
        &self,
        mut client: Command,
        input: Vec<u8>,
        limits: CallLimits<'_>,
    ) -> Result<Vec<u8>, String> {
        client
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut client, 0);
        let mut client = client.spawn().map_err(|error| error.to_string())?;
        let (Some(mut to), Some(from), Some(errors)) = (
            client.stdin.take(),
            client.stdout.take(),
            client.stderr.take(),
        ) else {
            return Err("the client has no pipes".to_owned());
        };
        // None of these threads is joined: another process may hold a pipe open for long.
        thread::spawn(move || {
            // One that ended has said why.
            let _ = to.write_all(&input);
        });
        let words = Words::of(errors);
        let heard = pieces(from);
        let mut output = Vec::new();
        let mut last = Instant::now();
        let mut is_closed = false;
        let trouble = loop {
            match heard.recv_timeout(TICK) {
                Ok(Some(bytes)) => {
                    output.extend(bytes);
                    last = Instant::now();
                    let tail = &output[output.len().saturating_sub(4096)..];
                    let is_near = tail
                        .windows(self.end.len())
                        .any(|window| window == self.end);
                    if is_near && self.answer(&output).is_some() {
                        break None;
                    }
                }
                Ok(None) => {
                    is_closed = true;
                    break None;
                }
                Err(_) => {}
            }
            if limits.stop.load(Ordering::Relaxed) {
                break Some("the user interrupted");
            }
            if last.elapsed() > limits.silence {
                break Some("the other side does not answer");
            }
            if output.len() > limits.bytes {
                break Some("the other side sends too much");
            }
        };
        while trouble.is_none() && !is_closed {
            match heard.recv_timeout(LINGER) {
                Ok(Some(_)) => {}
                Ok(None) => is_closed = true,
                Err(_) => break,
            }
        }
        // One that has closed its output is about to end.
        if !is_closed {
            let _ = client.kill();
        }
        let status = client.wait().map(|status| format!(" ({status})"));
        match (trouble, self.answer(&output)) {
            (Some(trouble), _) => Err(trouble.to_owned()),
            (None, Some((answer, 0))) => Ok(answer.to_vec()),
            (None, answered) => Err(match words.said() {
                words if !words.trim().is_empty() => words,
                _ => match answered {
                    Some((_, code)) => format!("the other side ended with {code}"),
                    None => format!(
                        "the answer of the other side is incomplete{}",
                        status.unwrap_or_default()
                    ),
                },
            }),
        }
    }
}

/// The pieces of an output as they come; nothing at its end.
fn pieces(mut from: impl Read + Send + 'static) -> mpsc::Receiver<Option<Vec<u8>>> {
    let (news, heard) = mpsc::channel();
    thread::spawn(move || {
        let mut buffer = vec![0; 256 * 1024];
        while let Ok(length @ 1..) = from.read(&mut buffer) {
            if news.send(Some(buffer[..length].to_vec())).is_err() {
                return;
            }
        }
        let _ = news.send(None);
    });
    heard
}

/// Collects the standard error of a client.
struct Words {
    said: Arc<Mutex<Vec<u8>>>,
    over: mpsc::Receiver<()>,
}

impl Words {
    const MAX: usize = 64 * 1024;

    fn of(mut errors: impl Read + Send + 'static) -> Self {
        let said = Arc::new(Mutex::new(Vec::new()));
        let (end, over) = mpsc::channel();
        let kept = Arc::clone(&said);
        thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(length @ 1..) = errors.read(&mut buffer) {
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                let room = Self::MAX.saturating_sub(kept.len());
                kept.extend_from_slice(&buffer[..length.min(room)]);
            }
            drop(end);
        });
        Self { said, over }
    }

    fn said(&self) -> String {
        let _ = self.over.recv_timeout(LINGER);
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&said).into_owned()
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use crate::platform::programs;

    fn answered(script: &str, around: &str) -> Result<String, String> {
        let framed = FramedScript::new(script);
        let mut client = programs::command("sh").unwrap();
        client.args(["-c", around, "sh", &framed.text]);
        let limits = CallLimits {
            bytes: 1000,
            silence: Duration::from_secs(5),
            stop: &AtomicBool::new(false),
        };
        let answer = framed.run(client, b"input".to_vec(), limits)?;
        Ok(String::from_utf8(answer).unwrap())
    }

    #[test]
    fn noise_around_the_answer_is_no_part_of_it() {
        let noisy = "echo welcome; sh -c \"$1\"; echo bye";
        assert_eq!(answered("cat; printf x", noisy).unwrap(), "inputx");
        assert_eq!(answered("true", noisy).unwrap(), "");
        assert_eq!(
            answered("echo why >&2; exit 3", noisy),
            Err("why\n".to_owned())
        );
    }

    #[test]
    fn a_cut_answer_is_none() {
        let cut = answered("printf 123456789", "sh -c \"$1\" | head -c 40");
        assert!(cut.unwrap_err().contains("incomplete"));
    }

    #[test]
    fn a_process_that_holds_the_pipes_delays_nothing() {
        let began = Instant::now();
        let held = answered("printf x", "sleep 30 & sh -c \"$1\"");
        assert_eq!(held.unwrap(), "x");
        assert!(began.elapsed() < Duration::from_secs(10));
    }
}
