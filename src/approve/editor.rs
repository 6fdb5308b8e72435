//! Lets the person change a script in their own editor.

use std::ffi::OsString;
use std::fs;
use std::process::Command;

use crate::error::{Error, Result};
use crate::policy::{Script, read_script};

/// The largest script that is taken back, in bytes.
const MAX_SCRIPT: u64 = 256 * 1024;

/// The editor of this person: `$VISUAL`, else `$EDITOR`.
pub(super) fn of_this_person(variable: impl Fn(&str) -> Option<OsString>) -> Option<String> {
    let named = |name| variable(name)?.into_string().ok();
    let is_named = |editor: &String| !editor.trim().is_empty();
    named("VISUAL")
        .filter(is_named)
        .or_else(|| named("EDITOR").filter(is_named))
}

/// Opens the script in the editor and gives what it was saved as.
pub(super) fn edit(editor: &str, script: &str) -> Result<String> {
    let failed = || Error::mendable(format!("could not edit the script with `{editor}`"));
    let words = match read_script(editor) {
        Script::Plain(mut commands) if commands.len() == 1 => commands.remove(0),
        _ => return Err(failed().hint("set `VISUAL` to a program and its options")),
    };
    let (program, arguments) = words.split_first().ok_or_else(failed)?;
    // A directory of its own, so that what the editor leaves beside the file goes with it.
    let directory = tempfile::tempdir().map_err(|cause| failed().because(cause))?;
    let path = directory.path().join("script.sh");
    crate::fs::write_atomic(&path, script.as_bytes(), crate::fs::Durability::Atomic)?;
    let status = Command::new(program)
        .args(arguments)
        .arg(&path)
        .status()
        .map_err(|cause| failed().because(cause))?;
    if !status.success() {
        return Err(failed().because(format!("it ended with {status}")));
    }
    let size = fs::metadata(&path).map_err(|cause| failed().because(cause))?;
    if size.len() > MAX_SCRIPT {
        return Err(failed().because("the script became larger than 256 KiB"));
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
        assert_eq!(of_this_person(|_| Some(OsString::new())), None);
    }

    #[cfg(unix)]
    #[test]
    fn gives_what_the_editor_saved() {
        assert_eq!(
            edit("sed -i s/test/check/", "cargo test\n").unwrap(),
            "cargo check\n"
        );
    }

    #[test]
    fn an_editor_that_fails_is_named() {
        let error = edit("no-such-editor --wait", "ls").unwrap_err();
        assert!(
            error.to_string().contains("`no-such-editor --wait`"),
            "{error}"
        );
        let error = edit("vi; rm x", "ls").unwrap_err();
        assert!(error.hints()[0].contains("VISUAL"));
    }
}
