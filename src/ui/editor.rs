//! Lets the person change a text in their own editor.

use std::ffi::OsString;
use std::fs;
use std::io::IsTerminal as _;
use std::path::Path;

use super::terminal::Terminal;
use crate::error::{Error, Result};
use crate::platform::programs;
use crate::policy::read_script;

/// A text to be edited.
#[derive(Debug, Clone, Copy)]
pub struct Draft<'a> {
    /// Its name in messages.
    pub what: &'a str,
    /// The name of the file that the editor sees.
    pub file_name: &'a str,
    /// The text to begin with.
    pub text: &'a str,
    /// The largest text that is undone, in bytes.
    pub max_bytes: u64,
}

/// Editors that are there without being named, in the order of preference.
const USUAL: &[&str] = if cfg!(windows) {
    &["notepad"]
} else {
    &["editor", "nano", "vi"]
};

/// The editor of this person: `$VISUAL`, else `$EDITOR`, else one that the system has, which needs a
/// terminal.
pub fn of_this_person(variable: impl Fn(&str) -> Option<OsString>) -> Option<String> {
    let named = |name| variable(name)?.into_string().ok();
    let is_named = |editor: &String| !editor.trim().is_empty();
    let usual = || {
        let has_terminal = cfg!(windows) || std::io::stdin().is_terminal();
        let mut usual = USUAL.iter().filter(|_| has_terminal);
        let found = usual.find(|name| programs::command(name).is_ok());
        found.map(|name| (*name).to_owned())
    };
    named("VISUAL")
        .filter(is_named)
        .or_else(|| named("EDITOR").filter(is_named))
        .or_else(usual)
}

/// Opens a file in the editor and waits for its end.
pub fn open_file(terminal: &Terminal, editor: &str, path: &Path) -> Result<()> {
    let what = path.display().to_string();
    run(terminal, editor, &what, path)
}

/// Starts the editor with a file.
fn run(terminal: &Terminal, editor: &str, what: &str, path: &Path) -> Result<()> {
    let failed = || Error::mendable(format!("could not edit {what} with `{editor}`"));
    // The reader takes a backslash for an escape, and programs of Windows take either slash.
    let line = if cfg!(windows) {
        editor.replace('\\', "/")
    } else {
        editor.to_owned()
    };
    let words = match read_script(&line) {
        Ok(mut commands) if commands.len() == 1 => commands.remove(0),
        _ => return Err(failed().hint("set `VISUAL` to a program and its options")),
    };
    let (program, arguments) = words.split_first().ok_or_else(failed)?;
    let mut command = programs::command(program).map_err(|cause| failed().because(cause))?;
    let _lent = terminal.lend();
    let status = command
        .args(arguments)
        .arg(path)
        .status()
        .map_err(|cause| failed().because(cause))?;
    if status.success() {
        Ok(())
    } else {
        Err(failed().because(format!("it ended with {status}")))
    }
}

/// Opens a script in the editor and gives what it was saved as.
pub(super) fn edit(terminal: &Terminal, editor: &str, script: &str) -> Result<String> {
    let draft = Draft {
        what: "script",
        file_name: "script.sh",
        text: script,
        max_bytes: 256 * 1024,
    };
    edit_draft(terminal, editor, draft)
}

/// Opens a text in the editor and gives what it was saved as.
pub fn edit_draft(terminal: &Terminal, editor: &str, draft: Draft<'_>) -> Result<String> {
    let what = draft.what;
    let failed = || Error::mendable(format!("could not edit the {what} with `{editor}`"));
    // A directory of its own, so that what the editor leaves beside the file goes with it.
    let directory = crate::fs::temporary_directory("agent-edit-")?;
    let path = directory.path().join(draft.file_name);
    crate::fs::write_atomic(&path, draft.text.as_bytes(), crate::fs::Durability::Atomic)?;
    run(terminal, editor, &format!("the {what}"), &path)?;
    let size = fs::metadata(&path).map_err(|cause| failed().because(cause))?;
    if size.len() > draft.max_bytes {
        let kib = draft.max_bytes / 1024;
        return Err(failed().because(format!("the {what} became larger than {kib} KiB")));
    }
    fs::read_to_string(&path).map_err(|cause| failed().because(cause))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn visual_comes_before_editor() {
        let both = |name: &str| Some(OsString::from(name.to_lowercase()));
        assert_eq!(of_this_person(both).as_deref(), Some("visual"));
        let one = |name: &str| (name == "EDITOR").then(|| OsString::from("vi -e"));
        assert_eq!(of_this_person(one).as_deref(), Some("vi -e"));
        // Else one that the system has, if it has one.
        let usual = of_this_person(|_| Some(OsString::new()));
        assert!(usual.is_none_or(|editor| USUAL.contains(&editor.as_str())));
    }

    #[cfg(unix)]
    #[test]
    fn gives_what_the_editor_saved() {
        assert_eq!(
            edit(&Terminal::default(), "sed -i s/test/check/", "cargo test\n").unwrap(),
            "cargo check\n"
        );
    }

    #[test]
    fn an_editor_that_fails_is_named() {
        let error = edit(&Terminal::default(), "no-such-editor --wait", "ls").unwrap_err();
        assert!(
            error.to_string().contains("`no-such-editor --wait`"),
            "{error}"
        );
        let error = edit(&Terminal::default(), "vi; rm x", "ls").unwrap_err();
        assert!(error.hints()[0].contains("VISUAL"));
    }
}
