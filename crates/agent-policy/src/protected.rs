//! Paths that steps may not touch, or only after a question.
//!
//! Decided by name, except for the records of other base directories, and including every name under which some file system would find the same
//! entry: other letter case, trailing dots and spaces, short names, streams, invisible characters.
//! Links are left to `workspace`, writing by commands to the sandbox.

use std::borrow::Cow;

use agent_protocol::RelPath;
use agent_protocol::obeyed::{OTHER_CONFIGURATION, OTHER_CONFIGURATION_ENDS};

use super::command::is_in;
use super::shell::is_invisible;

/// The entries of a git directory that the grant `git-write` opens.
const GIT_OPEN: &str =
    "objects refs logs index head packed-refs orig_head fetch_head commit_editmsg";

/// Returns true if the path is a git directory or in one.
pub(super) fn is_in_git(path: &RelPath) -> bool {
    has_any(path, &[".git"])
}

/// Returns true if the path is in a part of a git directory that no grant opens: hooks, config and
/// similar.
pub(super) fn is_in_closed_git(path: &RelPath) -> bool {
    let names = plain_names(path);
    let mut rest = names.iter().skip_while(|name| !is_named(name, ".git"));
    let is_open = rest.nth(1).is_some_and(|entry| is_in(GIT_OPEN, entry));
    is_in_git(path) && (!is_open || rest.any(|name| is_named(name, ".git")))
}

/// Returns true if a path or glob names the records of `agent`.
pub(super) fn names_our_state(text: &str) -> bool {
    let mut parts = text.split(['/', '\\', ',', '{', '}']);
    parts.any(|part| is_named(&plain_name(part), ".agent"))
}

/// Returns true if the path is one of these directories or in one.
pub(super) fn is_in_any(path: &RelPath, directories: &[RelPath]) -> bool {
    let names = plain_names(path);
    let mut directories = directories.iter();
    directories.any(|directory| names.starts_with(&plain_names(directory)))
}

/// Returns true if another tool of the person acts on the file.
pub(super) fn is_other_configuration(path: &RelPath) -> bool {
    let mut ends = OTHER_CONFIGURATION_ENDS.iter();
    let names = plain_names(path);
    has_any(path, &OTHER_CONFIGURATION)
        || ends.any(|end| names.iter().any(|name| name.ends_with(end)))
}

/// Returns true if a file of this name makes its directory look like a git directory.
pub(super) fn heads_a_repository(path: &RelPath) -> bool {
    plain_names(path).last().is_some_and(|name| name == "head") && !is_in_git(path)
}

/// Returns true if one of these names, or parts of a path, is in a path.
pub(super) fn has_any(path: &RelPath, entries: &[&str]) -> bool {
    let names = plain_names(path);
    entries.iter().any(|entry| {
        let count = entry.split('/').count();
        names.windows(count).any(|names| {
            let mut pairs = names.iter().zip(entry.split('/'));
            pairs.all(|(name, part)| is_named(name, part))
        })
    })
}

fn plain_names(path: &RelPath) -> Vec<Cow<'_, str>> {
    path.components().map(plain_name).collect()
}

/// The name under which the most lenient file system would look for a component.
///
/// Windows drops trailing dots and spaces and takes the text after a colon for a stream; macOS
/// ignores letter case and some invisible characters, which git learned the hard way.
fn plain_name(component: &str) -> Cow<'_, str> {
    let is_plain = |byte: u8| {
        byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'_' | b'-' | b'.')
    };
    if component.bytes().all(is_plain) && !component.ends_with('.') {
        return Cow::Borrowed(component);
    }
    let visible = component.chars().filter(|c| !is_invisible(*c));
    let visible: String = visible.flat_map(char::to_lowercase).collect();
    let name = visible.split(':').next().unwrap_or_default();
    Cow::Owned(name.trim_end_matches(['.', ' ']).to_owned())
}

/// Returns true if a plain name is this one, or a short name that Windows may have made for it:
/// `.git` is `GIT~1`, `.mcp.json` is `MCP~1.JSO`, `azure-pipelines.yml` is `AZURE-~1.YML`.
fn is_named(plain: &str, name: &str) -> bool {
    let Some((stem, number)) = plain.split_once('~') else {
        return plain.eq_ignore_ascii_case(name);
    };
    let (number, extension) = number.split_once('.').unwrap_or((number, ""));
    let name = name.to_ascii_lowercase();
    let long = name.trim_start_matches('.');
    let (long, long_extension) = long.rsplit_once('.').unwrap_or((long, ""));
    long.chars().take(6).eq(stem.chars())
        && !number.is_empty()
        && number.chars().all(|digit| digit.is_ascii_digit())
        && long_extension.starts_with(extension)
        && extension.is_empty() == long_extension.is_empty()
}

#[cfg(test)]
mod tests {
    use agent_protocol::obeyed::{TOOL_CONFIGURATION, WORKFLOWS};

    use super::*;

    #[track_caller]
    fn path(text: &str) -> RelPath {
        RelPath::parse(text).unwrap()
    }

    #[test]
    fn a_git_directory_is_known_under_all_its_names() {
        for text in [
            ".git",
            ".git/config",
            ".GIT/config",
            ".Git/hooks/pre-commit",
            "sub/.git/config",
            ".git./config",
            ".git /config",
            ".git . ./x",
            "GIT~1/config",
            "git~2/hooks/x",
            ".git::$INDEX_ALLOCATION/config",
            ".git:stream",
            ".g\u{200c}it/config",
            "a/b/c/.gIt",
        ] {
            assert!(is_in_git(&path(text)), "{text}");
        }
        for text in [
            ".gitignore",
            ".github/x",
            "git/config",
            "x.git/y",
            ".gitmodules",
            "git~x",
            "a~1",
        ] {
            assert!(!is_in_git(&path(text)), "{text}");
        }
    }

    #[test]
    fn the_grant_opens_only_what_a_commit_needs() {
        for text in [
            ".git/objects/ab/cd",
            ".git/refs/heads/main",
            ".git/index",
            ".git/HEAD",
            ".git/logs/HEAD",
        ] {
            assert!(!is_in_closed_git(&path(text)), "{text}");
        }
        for text in [
            ".git",
            ".git/hooks/pre-commit",
            ".git/config",
            ".git/CONFIG",
            ".git/config.worktree",
            ".git/info/attributes",
            ".git/modules/x/hooks/y",
            ".git/worktrees/x/config",
            ".git/objects/.git/hooks/x",
            ".git/hooks./x",
        ] {
            assert!(is_in_closed_git(&path(text)), "{text}");
        }
        assert!(!is_in_closed_git(&path("src/config")));
    }

    #[test]
    fn our_state_is_hidden_by_name() {
        for text in [
            ".agent",
            ".agent/sessions/x.json",
            "sub/.Agent/x",
            ".agent./x",
            "AGENT~1/x",
        ] {
            assert!(names_our_state(text), "{text}");
        }
        for text in ["agent/x", ".agents/x", "src/agent.rs", ".agent-notes"] {
            assert!(!names_our_state(text), "{text}");
        }
        assert!(names_our_state(".agent/**"));
        assert!(names_our_state("{.agent,src}/*"));
        assert!(!names_our_state("src/**/*.rs"));
    }

    #[test]
    fn files_that_others_act_on_are_known() {
        for text in [
            ".vscode/tasks.json",
            ".VSCODE/x",
            ".idea/x.xml",
            ".envrc",
            "sub/.envrc",
            ".mcp.json",
            "MCP~1.JSO",
            "VSCODE~1/tasks.json",
        ] {
            assert!(has_any(&path(text), &TOOL_CONFIGURATION), "{text}");
        }
        for text in [
            ".github/workflows/ci.yml",
            ".GitHub/Workflows/x.yml",
            ".gitlab-ci.yml",
            ".circleci/config.yml",
            "Jenkinsfile",
            ".github/actions/x/action.yml",
            "azure-pipelines.yml",
            "GITHUB~1/workflows/x",
        ] {
            assert!(has_any(&path(text), &WORKFLOWS), "{text}");
        }
        for text in [
            ".claude/settings.json",
            "sub/.Cursor/mcp.json",
            ".devcontainer/devcontainer.json",
            "x.code-workspace",
            "sub/X.Code-Workspace",
            ".gitmodules",
            ".pre-commit-config.yaml",
            ".zshenv",
            ".nvim.lua",
        ] {
            assert!(is_other_configuration(&path(text)), "{text}");
        }
        for text in [
            ".github/ISSUE_TEMPLATE.md",
            "workflows/x.yml",
            ".env",
            "src/vscode.ts",
            "mcp.json",
        ] {
            assert!(!has_any(&path(text), &TOOL_CONFIGURATION), "{text}");
            assert!(!is_other_configuration(&path(text)), "{text}");
            assert!(!has_any(&path(text), &WORKFLOWS), "{text}");
        }
    }
}
