//! Events of a step while it runs: its start and its output.

use std::time::{Duration, Instant};

use crate::protocol::{Command, Event, EventSink, Step};

/// The longest text of one event, in bytes; of more only the latest is told.
const MAX_CHUNK: usize = 4_000;
/// How soon after an event the next one may come.
const INTERVAL: Duration = Duration::from_millis(200);

/// Tells of a step that is about to be carried out, where that is more than its result.
pub fn announce(events: &dyn EventSink, step: &Step) {
    match &step.command {
        Command::RunCommand { script, .. } => events.emit(Event::Running {
            number: step.number,
            script: script.clone(),
        }),
        Command::Plan { text } => events.emit(Event::Plan { text: text.clone() }),
        Command::Message { text } => events.emit(Event::Message { text: text.clone() }),
        _ => {}
    }
}

/// The output of a command as it comes, in bounded chunks: however much a command prints, its
/// events have no more than 20 KB a second.
#[derive(Debug)]
pub(super) struct LiveOutput {
    number: u32,
    waiting: String,
    omitted: usize,
    told_at: Option<Instant>,
}

impl LiveOutput {
    /// The output of the step of this number.
    pub(super) fn of_step(number: u32) -> Self {
        Self {
            number,
            waiting: String::new(),
            omitted: 0,
            told_at: None,
        }
    }

    /// Takes in what was printed, and gives the event that is due; an empty text says that the
    /// command still runs.
    pub(super) fn printed(&mut self, text: &str) -> Option<Event> {
        self.waiting.push_str(text);
        let surplus = self.waiting.len().saturating_sub(MAX_CHUNK);
        if surplus > 0 {
            let cut = self.waiting.ceil_char_boundary(surplus);
            self.waiting.drain(..cut);
            self.omitted += cut;
        }
        let is_due = self.told_at.is_none_or(|at| at.elapsed() >= INTERVAL);
        is_due.then(|| self.event()).flatten()
    }

    /// Gives the end of the output, when the command has ended.
    pub(super) fn finish(mut self) -> Option<Event> {
        self.event()
    }

    fn event(&mut self) -> Option<Event> {
        if self.waiting.is_empty() {
            return None;
        }
        self.told_at = Some(Instant::now());
        Some(Event::Output {
            number: self.number,
            text: std::mem::take(&mut self.waiting),
            omitted: std::mem::take(&mut self.omitted),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn much_output_is_few_events_and_the_latest_of_it_is_told() {
        let mut live = LiveOutput::of_step(3);
        let lines: Vec<String> = (0..100_000).map(|n| format!("line {n} é\n")).collect();
        let mut events: Vec<Event> = lines.iter().filter_map(|line| live.printed(line)).collect();
        events.extend(live.finish());
        assert!(events.len() < 100, "{} events", events.len());
        let mut told = 0;
        for event in &events {
            let Event::Output {
                number: 3,
                text,
                omitted,
            } = event
            else {
                panic!("{event:?}");
            };
            assert!(text.len() <= MAX_CHUNK);
            told += text.len() + omitted;
        }
        assert_eq!(told, lines.iter().map(String::len).sum::<usize>());
        let Some(Event::Output { text, .. }) = events.last() else {
            panic!("nothing was told");
        };
        assert!(text.ends_with("line 99999 é\n"));
    }
}
