//! Maps keys to edits, as most line editors do.

use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::line::Move;

/// Something that the person did at the keyboard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Key {
    /// A character was typed.
    Character(char),
    /// A text was pasted, and the terminal said so.
    Paste(String),
    /// Lines that came faster than anybody types: a paste, or a piece of one, without the marks.
    Burst(String),
    Go(Move),
    Delete(Move),
    /// The line before this one in the history, or the one after it.
    Earlier,
    Later,
    Complete,
    Enter,
    /// Drops what was pasted, else what was typed.
    Drop,
    /// Ctrl-D: deletes to the right; on an empty line it leaves.
    DeleteOrLeave,
    Interrupt,
    Suspend,
    /// Draws all anew: the terminal has another size, or its screen is to be cleared.
    Redraw(Screen),
}

/// The screen, when the prompt is drawn again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Screen {
    Keep,
    Clear,
}

/// Reads an event of the terminal; nothing if it means nothing here.
pub(super) fn read(event: Event) -> Option<Key> {
    match event {
        Event::Paste(text) => Some(Key::Paste(text)),
        Event::Resize(..) => Some(Key::Redraw(Screen::Keep)),
        Event::Key(key) if key.kind != KeyEventKind::Release => pressed(key),
        _ => None,
    }
}

fn pressed(key: KeyEvent) -> Option<Key> {
    let has = |modifier| key.modifiers.contains(modifier);
    match key.code {
        KeyCode::Char(letter) if has(KeyModifiers::CONTROL) && !has(KeyModifiers::ALT) => {
            with_control(letter.to_ascii_lowercase())
        }
        KeyCode::Char('b') if has(KeyModifiers::ALT) => Some(Key::Go(Move::WordLeft)),
        KeyCode::Char('f') if has(KeyModifiers::ALT) => Some(Key::Go(Move::WordRight)),
        KeyCode::Char('d') if has(KeyModifiers::ALT) => Some(Key::Delete(Move::WordRight)),
        KeyCode::Char(letter) => Some(Key::Character(letter)),
        KeyCode::Enter => Some(Key::Enter),
        KeyCode::Tab => Some(Key::Complete),
        KeyCode::Esc => Some(Key::Drop),
        KeyCode::Backspace if has(KeyModifiers::ALT) => Some(Key::Delete(Move::WordLeft)),
        KeyCode::Backspace => Some(Key::Delete(Move::Left)),
        KeyCode::Delete => Some(Key::Delete(Move::Right)),
        KeyCode::Left if has(KeyModifiers::CONTROL) => Some(Key::Go(Move::WordLeft)),
        KeyCode::Right if has(KeyModifiers::CONTROL) => Some(Key::Go(Move::WordRight)),
        KeyCode::Left => Some(Key::Go(Move::Left)),
        KeyCode::Right => Some(Key::Go(Move::Right)),
        KeyCode::Home => Some(Key::Go(Move::Start)),
        KeyCode::End => Some(Key::Go(Move::End)),
        KeyCode::Up => Some(Key::Earlier),
        KeyCode::Down => Some(Key::Later),
        _ => None,
    }
}

fn with_control(letter: char) -> Option<Key> {
    Some(match letter {
        'a' => Key::Go(Move::Start),
        'b' => Key::Go(Move::Left),
        'c' => Key::Interrupt,
        'd' => Key::DeleteOrLeave,
        'e' => Key::Go(Move::End),
        'f' => Key::Go(Move::Right),
        'h' => Key::Delete(Move::Left),
        // A line feed: what Enter is to a terminal that turns nothing round, and to a script.
        'j' => Key::Enter,
        'k' => Key::Delete(Move::End),
        'l' => Key::Redraw(Screen::Clear),
        'n' => Key::Later,
        'p' => Key::Earlier,
        'u' => Key::Delete(Move::Start),
        'w' => Key::Delete(Move::WordLeft),
        'z' => Key::Suspend,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn case(code: KeyCode, modifiers: KeyModifiers, expected: Option<&Key>) {
        let event = Event::Key(KeyEvent::new(code, modifiers));
        assert_eq!(read(event).as_ref(), expected);
    }

    #[test]
    fn keys_do_what_they_do_elsewhere() {
        let (none, control) = (KeyModifiers::NONE, KeyModifiers::CONTROL);
        case(KeyCode::Char('ü'), none, Some(&Key::Character('ü')));
        case(
            KeyCode::Char('A'),
            KeyModifiers::SHIFT,
            Some(&Key::Character('A')),
        );
        case(KeyCode::Char('c'), control, Some(&Key::Interrupt));
        case(KeyCode::Char('j'), control, Some(&Key::Enter));
        case(KeyCode::Char('y'), control, None);
        case(KeyCode::Left, control, Some(&Key::Go(Move::WordLeft)));
        case(KeyCode::F(1), none, None);
        assert_eq!(
            read(Event::Paste("a\nb".to_owned())),
            Some(Key::Paste("a\nb".to_owned()))
        );
    }

    #[test]
    fn a_key_that_is_let_go_is_not_pressed_again() {
        let mut key = KeyEvent::new(KeyCode::Char('a'), KeyModifiers::NONE);
        key.kind = KeyEventKind::Release;
        assert_eq!(read(Event::Key(key)), None);
    }
}
