//! The styles of all screens, and the signs that a terminal may not have.
//!
//! A terminal may be light or dark, and nobody can ask it which. So words that matter have the
//! terminal's own colour, bold at most, or one of the base colours that read on both. Yellow and white are
//! lost on a light terminal, blue and black on a dark one. Cyan is only for a word or a sign beside what
//! matters, and dim only for what can be passed over.

use std::sync::OnceLock;

use anstyle::{AnsiColor, Style};

pub(super) const BOLD: Style = Style::new().bold();
/// Details that can be passed over.
pub(super) const DIM: Style = Style::new().dimmed();
/// Success, and lines that were added.
pub(super) const GREEN: Style = AnsiColor::Green.on_default();
/// Failure, and lines that were removed.
pub(super) const RED: Style = AnsiColor::Red.on_default();
/// Attention needed, without a failure.
pub(super) const MAGENTA: Style = AnsiColor::Magenta.on_default();
/// A label, or the sign before a line that is typed.
pub(super) const CYAN: Style = AnsiColor::Cyan.on_default();

/// Returns true if the terminal shows more than ASCII, as the locale says.
pub(super) fn has_unicode() -> bool {
    static HAS: OnceLock<bool> = OnceLock::new();
    let named = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    let find = || {
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(named);
        locale.is_some_and(|locale| is_unicode(&locale))
    };
    // Tests say what they expect, wherever they run.
    cfg!(any(windows, test)) || *HAS.get_or_init(find)
}

fn is_unicode(locale: &str) -> bool {
    let locale = locale.to_ascii_lowercase();
    locale.contains("utf-8") || locale.contains("utf8")
}

/// The sign, or what stands for it where the terminal shows only ASCII.
pub(super) fn either(sign: &'static str, ascii: &'static str) -> &'static str {
    if has_unicode() { sign } else { ascii }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    use super::*;

    #[test]
    fn the_codes_of_all_screens_read_on_light_and_dark() {
        let codes = [BOLD, DIM, GREEN, RED, MAGENTA, CYAN].map(|style| style.render().to_string());
        // Bold, dim, green, red, magenta, cyan: no yellow (33), no blue (34), nothing bright (90 to 97).
        let expected = ["1", "2", "32", "31", "35", "36"].map(|code| format!("\u{1b}[{code}m"));
        assert_eq!(codes, expected);
    }

    fn sources(directory: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                sources(&path, found);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                found.push(path);
            }
        }
    }

    #[test]
    fn no_screen_has_a_colour_of_its_own() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let mut found = Vec::new();
        sources(&root, &mut found);
        let has_own = |path: &PathBuf| {
            let text = fs::read_to_string(path).unwrap();
            text.contains("AnsiColor") || text.contains(".dimmed()") || text.contains("Rgb")
        };
        found.retain(has_own);
        assert_eq!(found, [root.join("ui/palette.rs")]);
    }

    #[test]
    fn the_locale_says_which_signs_there_are() {
        for locale in ["C.UTF-8", "de_DE.utf8"] {
            assert!(is_unicode(locale), "{locale}");
        }
        for locale in ["C", "POSIX", "de_DE.ISO-8859-1"] {
            assert!(!is_unicode(locale), "{locale}");
        }
    }
}
