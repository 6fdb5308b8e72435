//! Absolute paths that lie in the workspace.
//!
//! A model that saw the path of the workspace in the output of a command names files by it. Such a
//! path is the one below the workspace. The root is kept for the thread while a reply is read: as a
//! parameter it would go through every function of every recogniser, for a case that is rare.

#![cfg_attr(
    windows,
    allow(
        clippy::missing_const_for_thread_local,
        reason = "it is const; the lint does not see it for this target"
    )
)]

use std::borrow::Cow;
use std::cell::RefCell;
use std::path::Path;

use agent_protocol::{PathProblem, RelPath};

thread_local! {
    static ROOT: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Reads with a root, and forgets it afterwards.
pub(super) fn with_root<T>(root: &Path, read: impl FnOnce() -> T) -> T {
    struct Forget;
    impl Drop for Forget {
        fn drop(&mut self) {
            ROOT.set(None);
        }
    }
    let root = root.to_str().map(|root| separated(root).into_owned());
    let is_root = |root: &String| root.len() > 1 && root.trim_end_matches('/').contains('/');
    ROOT.set(root.filter(is_root));
    let _forget = Forget;
    read()
}

/// The path in the workspace that a text names.
pub(super) fn path(text: &str) -> Result<RelPath, PathProblem> {
    RelPath::parse(&relative(text))
}

/// The paths, one on each line, with those that lie in the workspace relative to it.
pub(super) fn relative(paths: &str) -> Cow<'_, str> {
    let is_absolute = |path: &str| path.starts_with('/') || path.as_bytes().get(1) == Some(&b':');
    if !paths.lines().any(|path| is_absolute(path.trim_start())) {
        return Cow::Borrowed(paths);
    }
    ROOT.with_borrow(|root| match root {
        None => Cow::Borrowed(paths),
        Some(root) => {
            let lines = paths
                .lines()
                .map(|path| below(root, path).unwrap_or(path.into()));
            Cow::Owned(lines.collect::<Vec<_>>().join("\n"))
        }
    })
}

fn below<'p>(root: &str, path: &'p str) -> Option<Cow<'p, str>> {
    let path = separated(path.trim());
    let rest = path.strip_prefix(root.trim_end_matches('/'))?;
    match rest.trim_start_matches('/') {
        "" => Some(Cow::Borrowed(".")),
        inside if rest.starts_with('/') => Some(Cow::Owned(inside.to_owned())),
        _ => None,
    }
}

fn separated(path: &str) -> Cow<'_, str> {
    // Backslashes separate only where the path is one of Windows.
    if path.as_bytes().get(1) == Some(&b':') {
        Cow::Owned(path.replace('\\', "/"))
    } else {
        Cow::Borrowed(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_lies_in_the_workspace_becomes_relative() {
        with_root(Path::new("/home/u/proj"), || {
            assert_eq!(relative("/home/u/proj/src/a.py"), "src/a.py");
            assert_eq!(relative("/home/u/proj"), ".");
            assert_eq!(relative("/home/u/proj/a\n/home/u/proj/b"), "a\nb");
            for path in ["/home/u/project/a", "/home/u/a", "/etc/passwd", "a.py", "/"] {
                assert_eq!(relative(path), path);
            }
        });
        assert_eq!(relative("/home/u/proj/a"), "/home/u/proj/a");
        with_root(Path::new("/"), || {
            assert_eq!(relative("/etc/passwd"), "/etc/passwd");
        });
        with_root(Path::new("C:\\proj"), || {
            assert_eq!(relative("C:\\proj\\src\\a.py"), "src/a.py");
        });
    }
}
