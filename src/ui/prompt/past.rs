//! The lines that were entered before, to be had again with the arrow keys.

/// How many lines are remembered.
pub(super) const MAX_HISTORY: usize = 1_000;

/// The lines of before, the oldest first, and which of them is shown.
#[derive(Debug, Default)]
pub(super) struct PastLines {
    lines: Vec<String>,
    /// The line that is shown, with the one that was being typed when the person went back.
    at: Option<(usize, String)>,
}

impl PastLines {
    pub(super) fn of(lines: Vec<String>) -> Self {
        Self { lines, at: None }
    }

    /// Remembers a line, unless it is the last one again.
    pub(super) fn remember(&mut self, line: &str) {
        self.at = None;
        if line.trim().is_empty() || self.lines.last().is_some_and(|last| last == line) {
            return;
        }
        if self.lines.len() >= MAX_HISTORY {
            self.lines.remove(0);
        }
        self.lines.push(line.to_owned());
    }

    /// The line before the one that is shown; `now` is what stands there.
    pub(super) fn earlier(&mut self, now: &str) -> Option<String> {
        let (at, typed) = match self.at.take() {
            Some((at, typed)) => (at, typed),
            None => (self.lines.len(), now.to_owned()),
        };
        let before = at.saturating_sub(1);
        let line = self.lines.get(before).filter(|_| at > 0).cloned();
        let shown = if line.is_some() { before } else { at };
        if shown < self.lines.len() {
            self.at = Some((shown, typed));
        }
        line
    }

    /// The line after the one that is shown; after the last comes what was being typed.
    pub(super) fn later(&mut self) -> Option<String> {
        let (at, typed) = self.at.take()?;
        match self.lines.get(at + 1).cloned() {
            Some(line) => {
                self.at = Some((at + 1, typed));
                Some(line)
            }
            None => Some(typed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arrows_go_back_and_forth_and_lose_nothing() {
        let mut past = PastLines::default();
        for line in ["one", "two", "two", " "] {
            past.remember(line);
        }
        assert_eq!(past.later(), None);
        assert_eq!(past.earlier("half").as_deref(), Some("two"));
        assert_eq!(past.earlier("two").as_deref(), Some("one"));
        assert_eq!(past.earlier("one"), None);
        assert_eq!(past.later().as_deref(), Some("two"));
        assert_eq!(past.later().as_deref(), Some("half"));
        assert_eq!(past.later(), None);
        assert_eq!(PastLines::default().earlier("x"), None);
    }

    #[test]
    fn the_past_is_bounded() {
        let mut past = PastLines::default();
        for number in 0..MAX_HISTORY + 5 {
            past.remember(&number.to_string());
        }
        assert_eq!(past.lines.len(), MAX_HISTORY);
        assert_eq!(past.lines[0], "5");
    }
}
