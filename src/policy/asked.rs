//! What a person wants to be asked about, one predicate for each rule of the table: what goes out
//! to others, and what does not come back.

use super::dangers;
use super::targets::Places;
use super::words::Invocation;

/// The subcommand of git and what follows, options before it left out.
fn git(invocation: &Invocation) -> Option<(&str, &[String])> {
    if invocation.name != "git" {
        return None;
    }
    let words = &invocation.arguments;
    let mut at = 0;
    while let Some(word) = words.get(at).filter(|word| word.starts_with('-')) {
        at += match word.as_str() {
            "-C" | "-c" | "--git-dir" | "--work-tree" | "--namespace" | "--exec-path"
            | "--config-env" => 2,
            _ => 1,
        };
    }
    let subcommand = words.get(at)?;
    Some((subcommand, &words[at + 1..]))
}

/// `git push`.
pub(super) fn pushes(invocation: &Invocation, _: &Places) -> bool {
    matches!(
        git(invocation),
        Some(("push" | "send-pack" | "send-email", _))
    )
}

/// Git commands that throw work away, and removing `.git` itself.
pub(super) fn discards_work(invocation: &Invocation, _: &Places) -> bool {
    if dangers::is_recursive_removal(invocation) {
        return invocation
            .arguments
            .iter()
            .any(|word| word.split('/').any(|part| part == ".git"));
    }
    let Some((subcommand, arguments)) = git(invocation) else {
        return false;
    };
    let flag = |letters: &str, long: &str| {
        arguments.iter().any(|word| {
            word == long
                || word.starts_with('-')
                    && !word.starts_with("--")
                    && word.contains(|c| letters.contains(c))
        })
    };
    match subcommand {
        "clean" => flag("f", "--force"),
        "reset" => arguments.iter().any(|word| word == "--hard"),
        "checkout" | "switch" => flag("f", "--force") || arguments.iter().any(|word| word == "."),
        "restore" => arguments.iter().any(|word| word == "." || word == ":/"),
        "branch" => flag("D", "--delete"),
        "stash" => matches!(
            arguments.first().map(String::as_str),
            Some("drop" | "clear")
        ),
        "filter-branch" | "filter-repo" => true,
        _ => false,
    }
}

/// Git commands that write to `.git`.
pub(super) fn writes_to_git(invocation: &Invocation, _: &Places) -> bool {
    let Some((subcommand, arguments)) = git(invocation) else {
        return false;
    };
    match subcommand {
        "add" | "commit" | "merge" | "rebase" | "cherry-pick" | "revert" | "am" | "reset"
        | "rm" | "mv" | "checkout" | "switch" | "restore" | "pull" | "fetch" | "update-ref"
        | "update-index" | "gc" | "repack" | "prune" => true,
        "stash" => !matches!(arguments.first().map(String::as_str), Some("list" | "show")),
        _ => false,
    }
}

/// Programs with the words after them that publish something.
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
pub(super) fn publishes(invocation: &Invocation, _: &Places) -> bool {
    // `python -m twine upload` starts `twine`.
    let module = match invocation.arguments.iter().position(|word| word == "-m") {
        Some(at) if invocation.name.starts_with("python") => invocation.arguments.get(at + 1),
        _ => None,
    };
    let name = module.unwrap_or(&invocation.name);
    let words = PUBLISHING.iter().find(|(program, _)| program == name);
    words.is_some_and(|(_, words)| {
        // What stands behind `--` is for a program that is run.
        invocation
            .arguments
            .iter()
            .take_while(|argument| *argument != "--")
            .any(|argument| words.contains(&argument.as_str()))
    })
}

/// Whether the command makes a repository, whose `.git` nothing protects yet.
pub(super) fn makes_a_repository(invocation: &Invocation) -> bool {
    matches!(git(invocation), Some(("init" | "clone", _)))
}
