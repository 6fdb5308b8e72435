//! Maps keys to edits, as most line editors do.

use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::line::Move;

/// Something that the person did at the keyboard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum KeyPress {
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
pub(super) fn read(event: Event) -> Option<KeyPress> {
    match event {
        Event::Paste(text) => Some(KeyPress::Paste(text)),
        Event::Resize(..) => Some(KeyPress::Redraw(Screen::Keep)),
        Event::Key(key) if key.kind != KeyEventKind::Release => pressed(key),
        _ => None,
    }
}

fn pressed(key: KeyEvent) -> Option<KeyPress> {
    let has = |modifier| key.modifiers.contains(modifier);
    match key.code {
        KeyCode::Char(letter) if has(KeyModifiers::CONTROL) && !has(KeyModifiers::ALT) => {
            with_control(letter.to_ascii_lowercase())
        }
        KeyCode::Char('b') if has(KeyModifiers::ALT) => Some(KeyPress::Go(Move::WordLeft)),
        KeyCode::Char('f') if has(KeyModifiers::ALT) => Some(KeyPress::Go(Move::WordRight)),
        KeyCode::Char('d') if has(KeyModifiers::ALT) => Some(KeyPress::Delete(Move::WordRight)),
        KeyCode::Char(letter) => Some(KeyPress::Character(letter)),
        KeyCode::Enter => Some(KeyPress::Enter),
        KeyCode::Tab => Some(KeyPress::Complete),
        KeyCode::Esc => Some(KeyPress::Drop),
        KeyCode::Backspace if has(KeyModifiers::ALT) => Some(KeyPress::Delete(Move::WordLeft)),
        KeyCode::Backspace => Some(KeyPress::Delete(Move::Left)),
        KeyCode::Delete => Some(KeyPress::Delete(Move::Right)),
        KeyCode::Left if has(KeyModifiers::CONTROL) => Some(KeyPress::Go(Move::WordLeft)),
        KeyCode::Right if has(KeyModifiers::CONTROL) => Some(KeyPress::Go(Move::WordRight)),
        KeyCode::Left => Some(KeyPress::Go(Move::Left)),
        KeyCode::Right => Some(KeyPress::Go(Move::Right)),
        KeyCode::Home => Some(KeyPress::Go(Move::Start)),
        KeyCode::End => Some(KeyPress::Go(Move::End)),
        KeyCode::Up => Some(KeyPress::Earlier),
        KeyCode::Down => Some(KeyPress::Later),
        _ => None,
    }
}

fn with_control(letter: char) -> Option<KeyPress> {
    Some(match letter {
        'a' => KeyPress::Go(Move::Start),
        'b' => KeyPress::Go(Move::Left),
        'c' => KeyPress::Interrupt,
        'd' => KeyPress::DeleteOrLeave,
        'e' => KeyPress::Go(Move::End),
        'f' => KeyPress::Go(Move::Right),
        'h' => KeyPress::Delete(Move::Left),
        // A line feed: what Enter is to a terminal that turns nothing round, and to a script.
        'j' => KeyPress::Enter,
        'k' => KeyPress::Delete(Move::End),
        'l' => KeyPress::Redraw(Screen::Clear),
        'n' => KeyPress::Later,
        'p' => KeyPress::Earlier,
        'u' => KeyPress::Delete(Move::Start),
        'w' => KeyPress::Delete(Move::WordLeft),
        'z' => KeyPress::Suspend,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn case(code: KeyCode, modifiers: KeyModifiers, expected: Option<&KeyPress>) {
        let event = Event::Key(KeyEvent::new(code, modifiers));
        assert_eq!(read(event).as_ref(), expected);
    }

    #[test]
    fn keys_do_what_they_do_elsewhere() {
        let (none, control) = (KeyModifiers::NONE, KeyModifiers::CONTROL);
        case(KeyCode::Char('ü'), none, Some(&KeyPress::Character('ü')));
        case(
            KeyCode::Char('A'),
            KeyModifiers::SHIFT,
            Some(&KeyPress::Character('A')),
        );
        case(KeyCode::Char('c'), control, Some(&KeyPress::Interrupt));
        case(KeyCode::Char('j'), control, Some(&KeyPress::Enter));
        case(KeyCode::Char('y'), control, None);
        case(KeyCode::Left, control, Some(&KeyPress::Go(Move::WordLeft)));
        case(KeyCode::F(1), none, None);
        assert_eq!(
            read(Event::Paste("a\nb".to_owned())),
            Some(KeyPress::Paste("a\nb".to_owned()))
        );
    }

    #[test]
    fn a_key_that_is_let_go_is_not_pressed_again() {
        let mut key = KeyEvent::new(KeyCode::Char('a'), KeyModifiers::NONE);
        key.kind = KeyEventKind::Release;
        assert_eq!(read(Event::Key(key)), None);
    }
}
