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
    /// What was seen last, so that it is not judged again.
    last: Option<blake3::Hash>,
}

/// What tells of changes.
#[derive(Debug)]
enum Display {
    #[cfg(all(unix, not(target_os = "macos")))]
    X11(Box<x11::Selection>),
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

    /// The text on the clipboard, if it is another one than at the last look.
    pub(super) fn look(&mut self, clipboard: &Clipboard) -> Option<String> {
        if !self.display.has_news() || self.display.is_concealed() {
            return None;
        }
        let text = clipboard.take().ok().flatten()?;
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
        let selection = here.has_x11.then(x11::Selection::watch).flatten();
        selection.map_or(Self::Unknown, |selection| Self::X11(Box::new(selection)))
    }

    #[cfg(not(all(unix, not(target_os = "macos"))))]
    fn of(_: &Surroundings) -> Self {
        Self::Unknown
    }

    fn has_news(&mut self) -> bool {
        match self {
            #[cfg(all(unix, not(target_os = "macos")))]
            Self::X11(selection) => selection.has_changed(),
            _ => true,
        }
    }

    fn is_concealed(&mut self) -> bool {
        match self {
            #[cfg(all(unix, not(target_os = "macos")))]
            Self::X11(selection) => selection.offers(CONCEALED),
            #[cfg(all(unix, not(target_os = "macos")))]
            Self::Wayland => {
                wayland_types().is_some_and(|types| types.iter().any(|name| name == CONCEALED))
            }
            Self::Unknown => false,
        }
    }
}

/// What the clipboard of Wayland offers; nothing if this desktop does not let us ask.
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

    /// How long an owner may take to say what it offers.
    const PATIENCE: Duration = Duration::from_secs(1);
    /// How many kinds of text are looked at, in units of four bytes.
    const MOST_TYPES: u32 = 1_024;

    #[derive(Debug)]
    pub(super) struct Selection {
        connection: RustConnection,
        window: Window,
        clipboard: Atom,
        targets: Atom,
        has_changed: bool,
    }

    impl Selection {
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
                has_changed: true,
            })
        }

        /// Whether something was copied since this was last asked; the first time it is so.
        pub(super) fn has_changed(&mut self) -> bool {
            while let Ok(Some(event)) = self.connection.poll_for_event() {
                self.note(&event);
            }
            std::mem::take(&mut self.has_changed)
        }

        fn note(&mut self, event: &Event) {
            self.has_changed |= matches!(event, Event::XfixesSelectionNotify(_));
        }

        /// Whether the owner offers this kind; an owner that does not answer offers nothing.
        pub(super) fn offers(&mut self, name: &str) -> bool {
            self.try_offers(name).unwrap_or(false)
        }

        fn try_offers(&mut self, name: &str) -> Result<bool, Box<dyn Error>> {
            let wanted = self.connection.intern_atom(false, name.as_bytes())?;
            let wanted = wanted.reply()?.atom;
            self.connection.convert_selection(
                self.window,
                self.clipboard,
                self.targets,
                self.targets,
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
                        return Ok(false);
                    }
                    let types = self.connection.get_property(
                        true,
                        self.window,
                        self.targets,
                        AtomEnum::ANY,
                        0,
                        MOST_TYPES,
                    )?;
                    let types = types.reply()?;
                    return Ok(types
                        .value32()
                        .is_some_and(|mut all| all.any(|t| t == wanted)));
                }
            }
            Ok(false)
        }
    }
}
