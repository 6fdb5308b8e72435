//! Looks at the clipboard while a round waits, as seldom and as little as possible.
//!
//! Where the display counts changes, an unchanged clipboard is not read. What a password manager
//! marks as concealed is not read either, where the display tells: on X11 and Wayland.

use super::{Clipboard, Surroundings};

/// The name under which a password manager says that a text is not for everybody.
#[cfg(all(unix, not(target_os = "macos")))]
const CONCEALED: &str = "x-kde-passwordManagerHint";

/// Somebody who looks now and then.
#[derive(Debug)]
pub(super) struct Observer {
    display: Display,
    /// The last text seen, so that it is not judged again.
    last: Option<blake3::Hash>,
}

/// The source of change notifications.
#[derive(Debug)]
enum Display {
    /// Nothing while it cannot be asked: then it is not read either.
    #[cfg(all(unix, not(target_os = "macos")))]
    X11(Option<Box<x11::X11Selection>>),
    #[cfg(all(unix, not(target_os = "macos")))]
    Wayland,
    /// Nothing: every look is a reading.
    Unknown,
}

impl Observer {
    pub(super) fn new(here: &Surroundings) -> Self {
        Self {
            display: Display::of(here),
            last: None,
        }
    }

    /// The text on the clipboard, if it is another one than at the last look. It is judged before and
    /// after the reading, because it may change meanwhile.
    pub(super) fn look(&mut self, clipboard: &Clipboard) -> Option<String> {
        if !self.display.has_news() || self.display.conceals() {
            return None;
        }
        let text = clipboard.take().ok().flatten()?;
        // What was copied meanwhile may be concealed: then this is not what was judged.
        if self.display.is_newer() {
            return None;
        }
        let hash = blake3::hash(text.as_bytes());
        (self.last.replace(hash) != Some(hash)).then_some(text)
    }
}

impl Display {
    #[cfg(all(unix, not(target_os = "macos")))]
    fn of(here: &Surroundings) -> Self {
        if here.has_wayland && wayland_types().is_some() {
            return Self::Wayland;
        }
        if here.has_x11 {
            Self::X11(x11::X11Selection::watch().map(Box::new))
        } else {
            Self::Unknown
        }
    }

    #[cfg(not(all(unix, not(target_os = "macos"))))]
    fn of(_: &Surroundings) -> Self {
        Self::Unknown
    }

    fn has_news(&mut self) -> bool {
        match self {
            #[cfg(all(unix, not(target_os = "macos")))]
            Self::X11(selection) => {
                // Also when the connection was lost since.
                if selection.as_mut().is_none_or(|one| !one.is_connected()) {
                    *selection = x11::X11Selection::watch().map(Box::new);
                }
                selection
                    .as_mut()
                    .is_some_and(|selection| selection.has_changed())
            }
            _ => true,
        }
    }

    /// True if something was copied after the last `has_news`, which will report it again.
    fn is_newer(&mut self) -> bool {
        match self {
            #[cfg(all(unix, not(target_os = "macos")))]
            Self::X11(selection) => selection
                .as_mut()
                .is_none_or(|selection| !selection.is_connected() || selection.is_newer()),
            // It counts nothing, but what conceals itself now may have been there already.
            #[cfg(all(unix, not(target_os = "macos")))]
            Self::Wayland => self.conceals(),
            Self::Unknown => false,
        }
    }

    /// True if the content is marked as private, or its owner does not answer.
    fn conceals(&mut self) -> bool {
        match self {
            #[cfg(all(unix, not(target_os = "macos")))]
            Self::X11(selection) => selection
                .as_mut()
                .is_none_or(|selection| selection.offers(CONCEALED) != Offer::Others),
            #[cfg(all(unix, not(target_os = "macos")))]
            Self::Wayland => is_concealed(wayland_types().as_deref()),
            Self::Unknown => false,
        }
    }
}

/// The offered formats, as far as they are known.
#[cfg(all(unix, not(target_os = "macos")))]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Offer {
    /// The one that was asked for is among them.
    This,
    /// There are others only.
    Others,
    /// Nobody says.
    Unknown,
}

/// True if text in these formats is private; false if the formats are unknown.
#[cfg(all(unix, not(target_os = "macos")))]
fn is_concealed(types: Option<&[String]>) -> bool {
    types.is_none_or(|types| types.iter().any(|name| name == CONCEALED))
}

/// The formats on the Wayland clipboard; `None` if the desktop does not let us ask.
#[cfg(all(unix, not(target_os = "macos")))]
fn wayland_types() -> Option<Vec<String>> {
    use wl_clipboard_rs::paste::{ClipboardType, Error, Seat, get_mime_types_ordered};

    match get_mime_types_ordered(ClipboardType::Regular, Seat::Unspecified) {
        Ok(types) => Some(types),
        Err(Error::ClipboardEmpty | Error::NoSeats) => Some(Vec::new()),
        Err(_) => None,
    }
}

#[cfg(all(unix, not(target_os = "macos")))]
mod x11 {
    //! The clipboard of X11 as an observer sees it: whether its owner changed, and what it offers.

    use std::error::Error;
    use std::time::{Duration, Instant};

    use x11rb::connection::Connection;
    use x11rb::protocol::Event;
    use x11rb::protocol::xfixes::{ConnectionExt as _, SelectionEventMask};
    use x11rb::protocol::xproto::{
        Atom, AtomEnum, ConnectionExt as _, CreateWindowAux, Window, WindowClass,
    };
    use x11rb::rust_connection::RustConnection;

    use super::Offer;

    /// How long an owner may take to say what it offers.
    const PATIENCE: Duration = Duration::from_secs(1);
    /// How many places answers are put in.
    const PLACES: u32 = 16;
    /// How often an owner is asked that does not answer.
    const MOST_QUESTIONS: u32 = 5;
    /// How many kinds of text are looked at, in units of four bytes.
    const MOST_TYPES: u32 = 1_024;

    #[derive(Debug)]
    pub(super) struct X11Selection {
        connection: RustConnection,
        window: Window,
        clipboard: Atom,
        targets: Atom,
        /// Where answers are put, in turns: a late answer is not taken for that of another owner.
        places: Vec<Atom>,
        asked: usize,
        has_changed: bool,
        /// How often in a row the owner did not say what it offers.
        unanswered: u32,
    }

    impl X11Selection {
        pub(super) fn watch() -> Option<Self> {
            Self::try_watch().ok()
        }

        fn try_watch() -> Result<Self, Box<dyn Error>> {
            let (connection, screen) = x11rb::connect(None)?;
            let root = connection.setup().roots[screen].root;
            let window = connection.generate_id()?;
            connection.create_window(
                0,
                window,
                root,
                0,
                0,
                1,
                1,
                0,
                WindowClass::INPUT_ONLY,
                0,
                &CreateWindowAux::new(),
            )?;
            let clipboard = connection.intern_atom(false, b"CLIPBOARD")?.reply()?.atom;
            let targets = connection.intern_atom(false, b"TARGETS")?.reply()?.atom;
            let mut places = Vec::new();
            for number in 0..PLACES {
                let name = format!("AGENT_TARGETS_{number}");
                let atom = connection.intern_atom(false, name.as_bytes())?;
                places.push(atom.reply()?.atom);
            }
            // The extension answers only after it was asked which version it is.
            connection.xfixes_query_version(5, 0)?.reply()?;
            let changes = SelectionEventMask::SET_SELECTION_OWNER;
            connection.xfixes_select_selection_input(window, clipboard, changes)?;
            connection.flush()?;
            Ok(Self {
                connection,
                window,
                clipboard,
                targets,
                places,
                asked: 0,
                has_changed: true,
                unanswered: 0,
            })
        }

        /// True if something was copied since the last call, and on the first call.
        pub(super) fn has_changed(&mut self) -> bool {
            self.is_newer();
            std::mem::take(&mut self.has_changed)
        }

        /// True if the display still answers. All earlier events have arrived by then.
        pub(super) fn is_connected(&self) -> bool {
            let asked = self.connection.get_input_focus();
            asked.is_ok_and(|answer| answer.reply().is_ok())
        }

        /// True if `has_changed` would return true.
        pub(super) fn is_newer(&mut self) -> bool {
            while let Ok(Some(event)) = self.connection.poll_for_event() {
                self.note(&event);
            }
            self.has_changed
        }

        fn note(&mut self, event: &Event) {
            self.has_changed |= matches!(event, Event::XfixesSelectionNotify(_));
        }

        /// Asks if the owner offers this format. One that does not answer is asked again at the next
        /// look, a few times.
        pub(super) fn offers(&mut self, name: &str) -> Offer {
            let offer = self.try_offers(name).unwrap_or(Offer::Unknown);
            if offer == Offer::Unknown && self.unanswered < MOST_QUESTIONS {
                self.unanswered += 1;
                self.has_changed = true;
            } else {
                self.unanswered = 0;
            }
            offer
        }

        fn try_offers(&mut self, name: &str) -> Result<Offer, Box<dyn Error>> {
            let wanted = self.connection.intern_atom(false, name.as_bytes())?;
            let wanted = wanted.reply()?.atom;
            self.asked += 1;
            let place = self.places[self.asked % self.places.len()];
            self.connection.convert_selection(
                self.window,
                self.clipboard,
                self.targets,
                place,
                x11rb::CURRENT_TIME,
            )?;
            self.connection.flush()?;
            let deadline = Instant::now() + PATIENCE;
            while Instant::now() < deadline {
                let Some(event) = self.connection.poll_for_event()? else {
                    std::thread::sleep(Duration::from_millis(2));
                    continue;
                };
                self.note(&event);
                if let Event::SelectionNotify(answer) = event {
                    if answer.property == x11rb::NONE {
                        return Ok(Offer::Unknown);
                    }
                    if answer.property != place {
                        continue;
                    }
                    let types = self.connection.get_property(
                        true,
                        self.window,
                        place,
                        AtomEnum::ANY,
                        0,
                        MOST_TYPES,
                    )?;
                    let types = types.reply()?;
                    let types: Option<Vec<Atom>> = types.value32().map(Iterator::collect);
                    return Ok(match types {
                        Some(types) if types.contains(&wanted) => Offer::This,
                        Some(types) if !types.is_empty() => Offer::Others,
                        _ => Offer::Unknown,
                    });
                }
            }
            Ok(Offer::Unknown)
        }
    }
}

#[cfg(all(test, unix, not(target_os = "macos")))]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_vouches_for_is_concealed() {
        let types = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert!(is_concealed(None));
        assert!(is_concealed(Some(&types(&["text/plain", CONCEALED]))));
        assert!(!is_concealed(Some(&types(&["text/plain"]))));
        assert!(!is_concealed(Some(&[])));
    }
}
