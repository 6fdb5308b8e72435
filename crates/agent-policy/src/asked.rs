//! Commands that the person is asked about, one predicate for each rule of the table: commands that
//! send something to others, and commands that cannot be undone.

use super::dangers;
use super::git::Git;
use super::reading::{Invocation, UNKNOWN};
use super::targets::{KnownDirectories, is_within};

fn git(invocation: &Invocation) -> Option<Git<'_>> {
    (invocation.name == "git")
        .then(|| Git::of(&invocation.arguments))
        .flatten()
}

/// A program whose name only the running shell knows.
pub(super) fn is_unknown_program(invocation: &Invocation, _: &KnownDirectories) -> bool {
    invocation.name.contains([UNKNOWN, '*', '?', '{'])
}

/// A shell or an interpreter that runs what another program prints.
pub(super) fn runs_unknown_input(invocation: &Invocation, _: &KnownDirectories) -> bool {
    invocation.name == "|"
}

/// A git command that does not come with git, or that is given another meaning.
pub(super) fn is_unknown_to_git(invocation: &Invocation, _: &KnownDirectories) -> bool {
    git(invocation).is_some_and(|git| !git.is_known() || git.sets_an_alias())
}

/// `git push`.
pub(super) fn pushes(invocation: &Invocation, _: &KnownDirectories) -> bool {
    git(invocation).is_some_and(|git| match git.subcommand {
        "push" | "send-pack" | "send-email" => true,
        "subtree" | "lfs" => git.has(&["push"]),
        _ => false,
    })
}

/// Git commands that discard work, and the removal of `.git` itself.
pub(super) fn discards_work(invocation: &Invocation, _: &KnownDirectories) -> bool {
    if dangers::is_recursive_removal(invocation) {
        return invocation
            .arguments
            .iter()
            .any(|word| word.split('/').any(|part| part == ".git"));
    }
    let Some(git) = git(invocation) else {
        return false;
    };
    match git.subcommand {
        "clean" => git.has_flag("f", "--force"),
        "reset" => git.has_flag("", "--hard"),
        "checkout" | "switch" => {
            git.has_flag("f", "--force") || git.has_flag("", "--discard-changes") || git.has(&["."])
        }
        "restore" => git.has(&[".", ":/"]),
        "branch" => git.has_flag("D", "--delete"),
        "stash" => matches!(git.first(), "drop" | "clear"),
        "reflog" => matches!(git.first(), "expire" | "delete"),
        "worktree" => git.first() == "remove" && git.has_flag("f", "--force"),
        "filter-branch" | "filter-repo" => true,
        _ => false,
    }
}

/// Git commands that write to `.git`.
pub(super) fn writes_to_git(invocation: &Invocation, _: &KnownDirectories) -> bool {
    let Some(git) = git(invocation) else {
        return false;
    };
    let has_operand = || git.operands().next().is_some();
    match git.subcommand {
        "add" | "commit" | "merge" | "rebase" | "cherry-pick" | "revert" | "am" | "reset"
        | "rm" | "mv" | "checkout" | "switch" | "restore" | "pull" | "fetch" | "update-ref"
        | "update-index" | "gc" | "repack" | "prune" | "pack-refs" | "commit-tree"
        | "write-tree" | "read-tree" | "fast-import" | "filter-branch" | "replace"
        | "maintenance" => true,
        "stash" => !matches!(git.first(), "list" | "show"),
        "tag" => {
            (has_operand() || git.has_flag("d", "--delete"))
                && !git.has_flag("lnv", "--list")
                && !git.has(&[
                    "--contains",
                    "--points-at",
                    "--merged",
                    "--no-merged",
                    "--verify",
                ])
        }
        "branch" => {
            git.has_flag("dDmMcCuf", "--delete")
                || git.has(&[
                    "--move",
                    "--copy",
                    "--unset-upstream",
                    "--set-upstream-to",
                    "--force",
                ])
                || has_operand()
                    && !git.has_flag("lrav", "--list")
                    && !git.has(&[
                        "--contains",
                        "--merged",
                        "--no-merged",
                        "--points-at",
                        "--sort",
                        "--format",
                    ])
        }
        // `config` and `remote` change the configuration, which no grant opens.
        "notes" | "worktree" => has_operand() && !matches!(git.first(), "list" | "show"),
        "reflog" => matches!(git.first(), "expire" | "delete"),
        "submodule" => matches!(git.first(), "add" | "init" | "update" | "deinit" | "sync"),
        "bisect" => !matches!(git.first(), "log" | "view" | "visualize" | "help"),
        "symbolic-ref" => git.operands().count() > 1,
        _ => false,
    }
}

/// Programs, each with the subcommands that publish something.
static PUBLISHING: &[(&str, &[&str])] = &[
    ("cargo", &["publish", "yank", "owner"]),
    ("npm", &["publish", "unpublish", "deprecate"]),
    ("pnpm", &["publish", "unpublish"]),
    ("yarn", &["publish"]),
    ("bun", &["publish"]),
    ("twine", &["upload"]),
    ("poetry", &["publish"]),
    ("uv", &["publish"]),
    ("hatch", &["publish"]),
    ("flit", &["publish"]),
    ("pdm", &["publish"]),
    ("gem", &["push", "yank"]),
    ("mvn", &["deploy", "deploy:deploy", "release:perform"]),
    ("gradle", &["publish", "uploadArchives"]),
    ("gradlew", &["publish", "uploadArchives"]),
    ("docker", &["push"]),
    ("podman", &["push"]),
    ("helm", &["push"]),
    ("nuget", &["push"]),
    ("dotnet", &["push"]),
    (
        "gh",
        &[
            "create", "merge", "delete", "edit", "close", "comment", "upload", "review", "fork",
            "sync",
        ],
    ),
    ("vsce", &["publish"]),
    ("jsr", &["publish"]),
    ("deno", &["publish"]),
];

/// Commands that publish packages, images or releases.
pub(super) fn publishes(invocation: &Invocation, _: &KnownDirectories) -> bool {
    // `python -m twine upload` starts `twine`.
    let module = match invocation.arguments.iter().position(|word| word == "-m") {
        Some(at) if invocation.name.starts_with("python") => invocation.arguments.get(at + 1),
        _ => None,
    };
    let name = module.unwrap_or(&invocation.name);
    let words = PUBLISHING.iter().find(|(program, _)| program == name);
    words.is_some_and(|(_, words)| {
        // Words after `--` are for the program that is run.
        invocation
            .arguments
            .iter()
            .take_while(|argument| *argument != "--")
            .any(|argument| words.contains(&argument.as_str()))
    })
}

/// The directory of the repository that a command creates; its `.git` is not protected yet.
pub(super) fn made_repository(invocation: &Invocation) -> Option<String> {
    git(invocation)?.made(invocation.directory.as_deref())
}

/// Returns true if a git command works in one of these directories.
pub(super) fn works_within(invocation: &Invocation, directories: &[String]) -> bool {
    let directory = git(invocation).and_then(|git| git.directory(invocation.directory.as_deref()));
    directory.is_some_and(|directory| {
        let is_around = |made: &String| is_within(&directory, made);
        directories.iter().any(is_around)
    })
}
