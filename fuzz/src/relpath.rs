//! Whatever a path looks like, what is accepted stays beneath the root.

use std::path::{Component, Path};

use agent_protocol::RelPath;

/// Any text as a path.
pub fn check(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let directory = RelPath::parse_directory(&text);
    let Ok(path) = RelPath::parse(&text) else {
        return;
    };
    let tidy = path.as_str();
    assert!(!tidy.is_empty() && tidy.len() <= text.len());
    assert!(!tidy.chars().any(char::is_control) && !tidy.contains('\\'));
    assert!(
        Path::new(tidy)
            .components()
            .all(|part| matches!(part, Component::Normal(_)))
    );
    assert!(
        path.components()
            .all(|part| !part.is_empty() && part != "." && part != "..")
    );
    assert_eq!(path.components().next_back(), Some(path.file_name()));
    assert_eq!(
        RelPath::parse(tidy).as_ref(),
        Ok(&path),
        "tidying once is enough"
    );
    assert_eq!(
        directory,
        Ok(Some(path.clone())),
        "as a directory it is the same"
    );
    if let Some(parent) = path.parent() {
        assert_eq!(format!("{parent}/{}", path.file_name()), tidy);
    }
}
