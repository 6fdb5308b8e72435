use std::fs;
use std::process::Command;

use crate::place::{Place, program};

/// Clears the screen, sets the title, writes the clipboard, hides, overwrites, turns round.
const NASTY: &str = "\u{1b}[2J\u{1b}]0;t\u{7}\u{1b}]52;c;eA==\u{7}\u{9b}8m\u{8}\u{202e}\u{2066}\u{200b}\u{feff}\u{ad}\u{e0041}";

/// Returns true if a text can do nothing on a terminal but be read; its own line ends are allowed.
fn is_harmless(text: &str) -> bool {
    let text = text.replace("\r\n", "\n");
    !text.chars().any(|character| {
        (character.is_control() && !matches!(character, '\n' | '\t'))
            || matches!(character, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
                | '\u{2066}'..='\u{2069}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
    })
}

/// The screen of a person at a terminal who applies a reply.
fn seen(place: &Place, reply: &str) -> String {
    let file = place.root().join("reply.txt");
    fs::write(&file, reply).unwrap();
    let script =
        "import os, pty, sys\nsys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))";
    let workspace = place.workspace();
    let hermetic = place.agent(&[]);
    let output = Command::new("/usr/bin/python3")
        .args(["-c", script])
        .arg(program())
        .args(["apply", "--workspace", workspace.to_str().unwrap()])
        .arg(&file)
        .env_clear()
        .envs(
            hermetic
                .get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        )
        .env("NO_COLOR", "1")
        .env("TERM", "xterm")
        .stdin(std::process::Stdio::null())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        !text.is_empty(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    // On a slow machine a line of progress is drawn and erased; its words stay and are looked at.
    let progress = regex::Regex::new("\r\u{1b}\\[[0-9]+C\r\u{1b}\\[J").unwrap();
    progress.replace_all(&text, "\n").into_owned()
}

#[track_caller]
fn case(reply: &str, expected: &str) {
    let place = Place::new().file("own", "own\n");
    let reply = reply.replace("NASTY", NASTY);
    let text = seen(&place, &reply);
    assert!(is_harmless(&text), "{reply:?} gave {text:?}");
    assert!(text.contains(expected), "{text}");
    // The same into a pipe, which may be a pager.
    let output = place.start(&[], &reply).wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(is_harmless(&text), "{reply:?} gave {text:?}");
}

#[test]
fn the_attack_is_one() {
    assert!(!is_harmless(NASTY));
    assert!(!is_harmless("bad\rgood"));
    let raw = Command::new("printf").arg("a\\033[2Jb").output().unwrap();
    assert!(!is_harmless(&String::from_utf8_lossy(&raw.stdout)));
}

#[test]
fn messages_are_only_text() {
    case("[MESSAGE]\nhello NASTY\n[/MESSAGE]\n[LIST_FILES]\n", "own");
    case("[PLAN]\n1. NASTY\n[/PLAN]\n[LIST_FILES]\n", "own");
    case(
        "[ASK_USER]\nreally NASTY?\n[/ASK_USER]\n[LIST_FILES]\n",
        "own",
    );
    case("[LIST_FILES]\n[DONE]\nNASTY\n[/DONE]\n", "own");
    case("Some prose NASTY\n[LIST_FILES]\n", "own");
}

#[test]
fn names_are_only_text() {
    for form in [
        "[READ_FILE path=\"aNASTYb\"]\n[LIST_FILES]\n",
        "[CREATE_FILE path=\"a\u{202e}txt.exe\"]\nx\n[/CREATE_FILE]\n[LIST_FILES]\n",
        "[DELETE_FILE path=\"a\u{200b}b\"]\n[LIST_FILES]\n",
        "[MOVE_FILE from=\"own\" to=\"own\u{202e}\u{2066}\"]\n[LIST_FILES]\n",
        "[NASTY path=\"x\"]\n[LIST_FILES]\n",
        "[UNKNOWN_NASTY]\n[LIST_FILES]\n",
        "[APPLY_PATCH]\n*** Begin Patch\n*** Update File: NASTY\n@@\n-a\n+b\n*** End Patch\n[/APPLY_PATCH]\n[LIST_FILES]\n",
    ] {
        case(form, "own");
    }
}

#[test]
fn output_is_only_text() {
    for script in [
        "printf 'out\\033[2J\\033]0;title\\007\\033]52;c;eA==\\007\\n'",
        "printf 'out bad\\rgood\\n'",
        // Also in the line of progress.
        "printf 'out\\033[2J bad\\rgood\\n'; sleep 1.5",
        "printf 'out \\342\\200\\256 \\342\\200\\213 \\302\\233 8m\\n'",
        "printf 'out\\033[2J\\b\\b\\n'; exit 3",
        "printf 'out\\n' >&2; printf '\\033c' >&2; exit 1",
        "printf 'out\\n'; touch \"$(printf 'x\\033[2Jy')\"; ls nothing\"$(printf '\\033[31m')\"",
    ] {
        case(&format!("[RUN_COMMAND]\n{script}\n[/RUN_COMMAND]\n"), "out");
    }
}

#[test]
fn files_are_only_text() {
    let place = Place::new().file("nasty", &format!("text {NASTY}\rover\n"));
    fs::write(place.workspace().join("a\u{1b}[2Jb\u{202e}"), "text").unwrap();
    for reply in [
        "[READ_FILE path=\"nasty\"]\n",
        "[SEARCH_TEXT pattern=\"text\"]\n",
        "[LIST_FILES]\n",
        "[EDIT_FILE path=\"nasty\"]\n<<<<<<< SEARCH\nno such text\n=======\nx\n>>>>>>> REPLACE\n[/EDIT_FILE]\n",
    ] {
        let text = seen(&place, reply);
        assert!(is_harmless(&text), "{reply:?} gave {text:?}");
    }
    let raw = fs::read_to_string(place.workspace().join("nasty")).unwrap();
    assert!(!is_harmless(&raw));
}

#[test]
fn json_is_only_text_on_a_terminal_and_says_the_same() {
    let place = Place::new().file("own", "own\n");
    let reply = format!(
        "[MESSAGE]\nhello {NASTY}\u{7f}\n[/MESSAGE]\n[READ_FILE path=\"a{NASTY}b\"]\n[RUN_COMMAND]\nprintf 'out \\302\\233 8m \\342\\200\\256\\177\\n'\n[/RUN_COMMAND]\n"
    );
    let output = place.start(&["--json"], &reply).wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(is_harmless(&text), "{text:?}");
    let rows: Vec<serde_json::Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let has = |wanted: &str| rows.iter().any(|row| row.to_string().contains(wanted));
    // The escape sequence before it is removed from the output.
    assert!(has("\u{202e}\u{7f}"), "{text}");
    // As it would be without the escapes.
    assert!(rows.iter().any(|row| !is_harmless(&row.to_string())));
}
