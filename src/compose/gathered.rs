//! Contents that are read one after the other, no more of them than a message can hold.
//!
//! How many there will be is not known before. So as soon as they are far more than fits, those above
//! a fair share are cut to it: more files can only make the shares smaller. When even the least that
//! is worth showing of each fills the message, nothing more need be read.

use super::budget;
use super::chars;
use super::content::{Content, SHORT, WORTH};
use crate::protocol::ReadRequest;

/// The contents for requests, no longer than twice the room; what cannot be shown is not read.
pub fn gather(
    requests: &[ReadRequest],
    room: usize,
    mut read: impl FnMut(&ReadRequest) -> Content,
) -> Vec<Content> {
    let mut gathered = Gathered::new(room);
    for request in requests {
        if gathered.is_full() {
            let title = request.path.quoted().into_owned();
            gathered.contents.push(Content::unread(title));
        } else {
            gathered.push(read(request));
        }
    }
    gathered.contents
}

/// Contents for a room, in their order.
#[derive(Debug)]
struct Gathered {
    /// In characters.
    room: usize,
    contents: Vec<Content>,
    /// How long the texts are together.
    held: usize,
    /// Their length if each is cut to its least.
    least: usize,
}

impl Gathered {
    fn new(room: usize) -> Self {
        Self {
            room,
            contents: Vec::new(),
            held: 0,
            least: 0,
        }
    }

    /// Returns true if nothing more can be shown.
    fn is_full(&self) -> bool {
        self.least >= self.room
    }

    /// Adds one; of the longest ones only the beginning is kept.
    fn push(&mut self, mut content: Content) {
        content.keep_first(self.room);
        let size = chars(&content.text.text);
        let all = size + chars(&content.title);
        let least = if all <= SHORT { all } else { WORTH };
        self.least = self.least.saturating_add(least);
        self.held = self.held.saturating_add(size);
        self.contents.push(content);
        if self.held > self.room.saturating_mul(2) {
            self.cut_to_shares();
        }
    }

    fn cut_to_shares(&mut self) {
        let sizes: Vec<usize> = (self.contents.iter())
            .map(|content| chars(&content.text.text))
            .collect();
        let shares = budget::shares(&sizes, self.room);
        for (content, share) in self.contents.iter_mut().zip(shares) {
            if chars(&content.text.text) <= SHORT {
                continue;
            }
            // A first line that is longer stays: nothing says that the message cannot have it.
            let first = content.text.text.split_inclusive('\n').next();
            let least = first.map_or(0, chars).max(WORTH);
            content.keep_first(share.max(least));
        }
        let sizes = self
            .contents
            .iter()
            .map(|content| chars(&content.text.text));
        self.held = sizes.sum();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::LineWindow;

    fn file(lines: usize) -> Content {
        Content {
            title: "f".to_owned(),
            lines: Some(LineWindow {
                first: 1,
                of: lines,
            }),
            text: "some words\n".repeat(lines).into(),
            sighting: None,
        }
    }

    #[test]
    fn the_first_content_takes_no_more_than_a_fair_share() {
        let mut gathered = Gathered::new(30_000);
        for _ in 0..40 {
            assert!(!gathered.is_full());
            gathered.push(file(500));
        }
        let contents = gathered.contents;
        let lines = |content: &Content| content.text.text.lines().count();
        for content in &contents {
            assert!(lines(content) >= 40, "{}", lines(content));
            assert_eq!(lines(content) as u64 + content.text.omitted, 500);
        }
    }

    #[test]
    fn nothing_more_is_read_than_can_be_shown() {
        let mut gathered = Gathered::new(10_000);
        let mut count = 0;
        while !gathered.is_full() {
            gathered.push(file(5_000));
            count += 1;
            assert!(gathered.held <= 20_000);
        }
        assert_eq!(count, 20);
    }

    #[test]
    fn what_fits_is_left_as_it_is() {
        let mut gathered = Gathered::new(10_000);
        for lines in [1, 400, 0] {
            gathered.push(file(lines));
        }
        let expected = [1, 400, 0].map(file);
        assert_eq!(gathered.contents, expected);
    }
}
