//! Opens the page in the person's browser.
//!
//! The link has a code in it that opens the page, and the arguments of a program can be read by every
//! user of the machine. So the browser is given a private file that leads to the link.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::error::Result;
use crate::fs::{Durability, create_directory, write_atomic};
use crate::platform::programs;

/// A browser that was asked to open the page; the file that leads there goes when this is dropped.
#[derive(Debug)]
pub struct OpenedBrowser {
    file: PathBuf,
}

impl OpenedBrowser {
    /// Opens a link by way of a file in the person's own directory; nothing where no program is known
    /// that opens files.
    pub(super) fn open(link: &str, directory: &Path) -> Result<Option<Self>> {
        let Ok(mut command) = opener() else {
            return Ok(None);
        };
        create_directory(directory)?;
        let file = directory.join(format!("page-{}.html", std::process::id()));
        let html = format!(
            "<!doctype html>\n<meta charset=\"utf-8\">\n<meta name=\"referrer\" content=\"no-referrer\">\n<meta http-equiv=\"refresh\" content=\"0;url={link}\">\n<title>agent</title>\n<a href=\"{link}\">Open the page</a>\n"
        );
        write_atomic(&file, html.as_bytes(), Durability::Atomic)?;
        let opened = Self { file };
        let started = command
            .arg(&opened.file)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        // It may become the browser itself; nobody waits for it here. The printed link does as well.
        if let Ok(mut child) = started {
            std::thread::spawn(move || child.wait());
        }
        Ok(Some(opened))
    }
}

impl Drop for OpenedBrowser {
    fn drop(&mut self) {
        // What is left over holds a code of a server that is gone.
        let _ = crate::fs::remove(&self.file);
    }
}

/// The program that opens a file as a double click would.
fn opener() -> std::io::Result<Command> {
    if cfg!(target_os = "macos") {
        programs::command("open")
    } else if cfg!(windows) {
        programs::command("explorer")
    } else {
        programs::command("xdg-open")
    }
}
