//! Commands that only the strict policy refuses, one predicate for each rule of the table.

use super::reading::{Invocation, UNKNOWN};
use super::targets::{KnownDirectories, resolve};

fn has_word(invocation: &Invocation, words: &[&str]) -> bool {
    invocation
        .arguments
        .iter()
        .any(|argument| words.contains(&argument.to_ascii_lowercase().as_str()))
}

fn has_letter(invocation: &Invocation, letters: &str) -> bool {
    invocation.arguments.iter().any(|word| {
        word.starts_with('-') && !word.starts_with("--") && word.contains(|c| letters.contains(c))
    })
}

fn has_long(invocation: &Invocation, long: &str) -> bool {
    invocation
        .arguments
        .iter()
        .any(|word| word.len() > 2 && word.starts_with("--") && long.starts_with(word.as_str()))
}

/// Every `rm -rf`.
pub(super) fn removes_by_force(invocation: &Invocation, _: &KnownDirectories) -> bool {
    invocation.name == "rm"
        && (has_letter(invocation, "rR") || has_long(invocation, "--recursive"))
        && (has_letter(invocation, "f") || has_long(invocation, "--force"))
}

/// The recursive deletions of Windows.
pub(super) fn removes_trees_on_windows(invocation: &Invocation, _: &KnownDirectories) -> bool {
    is_recursive_removal_on_windows(invocation)
}

/// Returns true for `del`, `rd` or `Remove-Item` with the switch for whole trees.
pub(super) fn is_recursive_removal_on_windows(invocation: &Invocation) -> bool {
    match invocation.name.as_str() {
        "del" | "erase" | "rd" | "rmdir" | "ri" | "remove-item" | "rm" => {
            has_word(invocation, &["/s"])
                || invocation.arguments.iter().any(|word| {
                    // PowerShell accepts every unambiguous prefix of a parameter.
                    let word = word.to_ascii_lowercase();
                    word.len() >= 4 && word.starts_with("-r") && "-recurse".starts_with(&word)
                        || word == "-r" && invocation.name != "rm"
                })
        }
        _ => false,
    }
}

/// `format` and `diskpart`.
pub(super) fn formats_on_windows(invocation: &Invocation, _: &KnownDirectories) -> bool {
    matches!(
        invocation.name.as_str(),
        "format" | "format.com" | "diskpart"
    )
}

/// Programs that download.
pub(super) fn fetches(invocation: &Invocation, _: &KnownDirectories) -> bool {
    matches!(
        invocation.name.as_str(),
        "curl"
            | "wget"
            | "wget2"
            | "aria2c"
            | "axel"
            | "xh"
            | "http"
            | "https"
            | "lynx"
            | "w3m"
            | "lwp-request"
            | "lwp-download"
            | "ftp"
            | "lftp"
            | "invoke-webrequest"
            | "iwr"
            | "invoke-restmethod"
            | "irm"
            | "start-bitstransfer"
    )
}

/// Commands that read the environment.
pub(super) fn reads_the_environment(invocation: &Invocation, _: &KnownDirectories) -> bool {
    let names_it = invocation.arguments.iter().any(|word| {
        let lower = word.trim_start_matches(UNKNOWN).to_ascii_lowercase();
        lower.starts_with("env:")
            || lower.starts_with("$env:")
            || is_environment_file(invocation.directory.as_deref(), word)
    });
    let only_options = invocation
        .arguments
        .iter()
        .all(|word| word.starts_with('-'));
    names_it
        || match invocation.name.as_str() {
            "printenv" => true,
            "env" => !invocation.starts_another,
            "set" => invocation.arguments.is_empty(),
            "export" | "declare" | "typeset" | "readonly" => {
                only_options && (invocation.arguments.is_empty() || has_letter(invocation, "px"))
            }
            "compgen" => has_letter(invocation, "ev"),
            // Without a dash, `e` shows the environment.
            "ps" => invocation
                .arguments
                .first()
                .is_some_and(|word| !word.starts_with('-') && word.contains('e')),
            name => name.contains("$env:"),
        }
}

/// `/proc/self/environ` and similar, also as a glob or relative to its directory.
fn is_environment_file(directory: Option<&str>, word: &str) -> bool {
    let Some(path) = resolve(directory, word) else {
        return false;
    };
    let Some((_, last)) = path.rsplit_once('/').filter(|_| path.starts_with("/proc/")) else {
        return false;
    };
    let literal = last.split(['*', '?', '[']).next().unwrap_or(last);
    last == "environ" || literal.len() < last.len() && "environ".starts_with(literal)
}

/// Commands for user administration.
pub(super) fn administers_users(invocation: &Invocation, _: &KnownDirectories) -> bool {
    match invocation.name.as_str() {
        "useradd"
        | "usermod"
        | "userdel"
        | "adduser"
        | "deluser"
        | "addgroup"
        | "delgroup"
        | "groupadd"
        | "groupmod"
        | "groupdel"
        | "passwd"
        | "chpasswd"
        | "gpasswd"
        | "chsh"
        | "chage"
        | "visudo"
        | "vipw"
        | "newusers"
        | "sysadminctl"
        | "dscl"
        | "new-localuser"
        | "set-localuser"
        | "remove-localuser"
        | "add-localgroupmember" => true,
        "net" | "net1" => has_word(invocation, &["user", "localgroup", "accounts"]),
        _ => false,
    }
}
