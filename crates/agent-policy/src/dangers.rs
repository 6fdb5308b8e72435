//! Dangerous commands, one predicate for each rule of the table that always refuses.
//!
//! The predicates see one program with its arguments, as `words` guessed them.

use super::reading::Invocation;
use super::strict;
use super::targets::{KnownDirectories, RemovalReach, resolve};

/// Returns true if the script has a control character other than line breaks and tabs.
pub(super) fn has_control_characters(script: &str) -> bool {
    let mut characters = script.chars().peekable();
    while let Some(character) = characters.next() {
        let is_line_end = character == '\r' && characters.peek() == Some(&'\n');
        if character.is_control() && !matches!(character, '\n' | '\t') && !is_line_end {
            return true;
        }
    }
    false
}

/// Returns true if the script has a character that changes the direction of text.
pub(super) fn has_bidirectional_characters(script: &str) -> bool {
    script.contains(|character| {
        matches!(character,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    })
}

/// A function that starts itself twice at once.
pub(super) fn is_fork_bomb(invocation: &Invocation, _: &KnownDirectories) -> bool {
    invocation.name == "&"
}

/// The operands and flags of a command.
struct Operands<'a> {
    flags: Vec<&'a str>,
    targets: Vec<&'a str>,
}

impl<'a> Operands<'a> {
    /// Everything after `--` is an operand; flags may be mixed with operands, as in GNU programs.
    fn of(invocation: &'a Invocation) -> Self {
        let mut operands = Self {
            flags: Vec::new(),
            targets: Vec::new(),
        };
        let mut only_targets = false;
        for word in &invocation.arguments {
            if !only_targets && word == "--" {
                only_targets = true;
            } else if !only_targets && is_flag(invocation, word) {
                operands.flags.push(word);
            } else {
                operands.targets.push(word);
            }
        }
        operands
    }

    /// Returns true if a flag is given, by its letter alone or in a cluster, or by its long name.
    ///
    /// GNU programs accept every prefix of a long name.
    fn has(&self, letters: &str, long: &str) -> bool {
        self.flags.iter().any(|flag| match flag.strip_prefix("--") {
            Some(name) => !name.is_empty() && long.starts_with(name),
            None => flag[1..].contains(|c| letters.contains(c)),
        })
    }
}

/// Windows has flags such as `/s`.
fn is_flag(invocation: &Invocation, word: &str) -> bool {
    let has_slash_flags = matches!(invocation.name.as_str(), "del" | "erase" | "rd" | "rmdir");
    word.len() > 1 && word.starts_with('-')
        || has_slash_flags && word.len() == 2 && word.starts_with('/')
}

/// Returns true if the command removes whole trees.
pub(super) fn is_recursive_removal(invocation: &Invocation) -> bool {
    invocation.name == "rm" && Operands::of(invocation).has("rR", "recursive")
        || strict::is_recursive_removal_on_windows(invocation)
}

fn reaches(
    invocation: &Invocation,
    places: &KnownDirectories,
    is_too_far: impl Fn(RemovalReach) -> bool,
) -> bool {
    Operands::of(invocation)
        .targets
        .iter()
        .any(|target| is_too_far(places.reach(invocation.directory.as_deref(), target)))
}

fn holds_the_workspace(reach: RemovalReach) -> bool {
    matches!(reach, RemovalReach::Workspace | RemovalReach::Everything)
}

/// `rm -r` of the root, a home directory, the workspace or a directory that contains it.
pub(super) fn removes_everything(invocation: &Invocation, places: &KnownDirectories) -> bool {
    invocation.name == "rm"
        && Operands::of(invocation)
            .flags
            .contains(&"--no-preserve-root")
        || is_recursive_removal(invocation) && reaches(invocation, places, holds_the_workspace)
}

/// `rm -r` outside the workspace.
pub(super) fn removes_outside(invocation: &Invocation, places: &KnownDirectories) -> bool {
    is_recursive_removal(invocation)
        && reaches(invocation, places, |reach| reach == RemovalReach::Outside)
}

/// `rm -r` of a path that only the running shell knows.
pub(super) fn removes_unknown(invocation: &Invocation, places: &KnownDirectories) -> bool {
    is_recursive_removal(invocation)
        && reaches(invocation, places, |reach| reach == RemovalReach::Unknown)
}

/// `find` that deletes, starting at such a directory or at the whole workspace.
pub(super) fn finds_and_removes_everything(
    invocation: &Invocation,
    places: &KnownDirectories,
) -> bool {
    if invocation.name != "find" || !invocation.arguments.iter().any(|word| removes_found(word)) {
        return false;
    }
    let directory = invocation.directory.as_deref();
    let mut starts: Vec<&str> = invocation
        .arguments
        .iter()
        .map(String::as_str)
        .skip_while(|word| matches!(*word, "-H" | "-L" | "-P"))
        .take_while(|word| !word.starts_with(['-', '(', '!']))
        .collect();
    if starts.is_empty() {
        starts.push(".");
    }
    let is_filtered = invocation.arguments.iter().any(|word| is_filter(word));
    starts
        .iter()
        .any(|start| match places.reach(directory, start) {
            RemovalReach::Everything => true,
            RemovalReach::Workspace => !is_filtered,
            RemovalReach::Inside | RemovalReach::Outside | RemovalReach::Unknown => false,
        })
}

fn removes_found(word: &str) -> bool {
    matches!(word, "-delete") || matches!(word.rsplit('/').next(), Some("rm" | "unlink" | "shred"))
}

fn is_filter(word: &str) -> bool {
    [
        "-name",
        "-iname",
        "-path",
        "-ipath",
        "-wholename",
        "-regex",
        "-iregex",
        "-empty",
        "-size",
        "-mtime",
        "-mmin",
        "-atime",
        "-amin",
        "-ctime",
        "-cmin",
        "-newer",
        "-user",
        "-perm",
        "-lname",
        "-links",
        "-inum",
    ]
    .contains(&word)
}

/// `chmod -R`, `chown -R` and `chgrp -R` of the root, a home directory or a directory that contains
/// the workspace.
pub(super) fn changes_modes_of_everything(
    invocation: &Invocation,
    places: &KnownDirectories,
) -> bool {
    matches!(invocation.name.as_str(), "chmod" | "chown" | "chgrp")
        && Operands::of(invocation).has("R", "recursive")
        && reaches(invocation, places, |reach| {
            reach == RemovalReach::Everything
        })
}

/// Programs that create file systems or wipe disks.
pub(super) fn formats_a_disk(invocation: &Invocation, _: &KnownDirectories) -> bool {
    let name = invocation.name.as_str();
    name.starts_with("mkfs.")
        || matches!(
            name,
            "mkfs"
                | "mke2fs"
                | "mkntfs"
                | "mkdosfs"
                | "mkexfatfs"
                | "mkswap"
                | "pvcreate"
                | "wipefs"
                | "blkdiscard"
                | "format-volume"
                | "clear-disk"
                | "initialize-disk"
        )
        || partitions(invocation)
}

/// Partitioning programs that do more than list partitions.
fn partitions(invocation: &Invocation) -> bool {
    let only_shows = |word: &String| {
        matches!(
            word.as_str(),
            "-l" | "--list"
                | "-p"
                | "--print"
                | "print"
                | "-d"
                | "--dump"
                | "-V"
                | "--version"
                | "--help"
        )
    };
    match invocation.name.as_str() {
        "fdisk" | "sfdisk" | "cfdisk" | "gdisk" | "sgdisk" | "parted" => {
            !invocation.arguments.iter().any(only_shows)
        }
        "cryptsetup" => invocation.arguments.iter().any(|word| word == "luksFormat"),
        _ => false,
    }
}

/// Commands that write to a device.
pub(super) fn writes_to_a_device(invocation: &Invocation, _: &KnownDirectories) -> bool {
    let mut targets: Vec<&str> = invocation.arguments.iter().map(String::as_str).collect();
    match invocation.name.as_str() {
        "dd" => targets.retain_mut(|word| match word.strip_prefix("of=") {
            Some(path) => {
                *word = path;
                true
            }
            None => false,
        }),
        ">" | "tee" | "shred" | "truncate" | "sponge" | "cp" | "mv" | "install" => {}
        _ => return false,
    }
    // Copying from a device only reads it.
    if matches!(invocation.name.as_str(), "cp" | "mv" | "install") {
        targets.drain(..targets.len().saturating_sub(1));
    }
    targets.iter().any(|path| is_device(path))
}

fn is_device(path: &str) -> bool {
    let Some(path) = resolve(None, path) else {
        return false;
    };
    let Some(name) = path.strip_prefix("/dev/") else {
        return false;
    };
    let first = name.split('/').next().unwrap_or(name);
    !matches!(
        first,
        "null"
            | "zero"
            | "full"
            | "random"
            | "urandom"
            | "stdin"
            | "stdout"
            | "stderr"
            | "tty"
            | "fd"
            | "shm"
            | "pts"
            | "ptmx"
            | "tcp"
            | "udp"
    )
}

/// Commands that switch the machine off.
pub(super) fn shuts_down(invocation: &Invocation, _: &KnownDirectories) -> bool {
    let has = |words: &[&str]| {
        invocation
            .arguments
            .iter()
            .any(|word| words.contains(&word.as_str()))
    };
    match invocation.name.as_str() {
        "shutdown" | "reboot" | "halt" | "poweroff" | "telinit" | "stop-computer"
        | "restart-computer" => true,
        "init" => has(&["0", "6"]),
        "systemctl" | "loginctl" => has(&[
            "poweroff",
            "reboot",
            "halt",
            "kexec",
            "suspend",
            "hibernate",
            "rescue",
            "emergency",
        ]),
        _ => false,
    }
}

/// Commands that run as another user.
pub(super) fn becomes_another_user(invocation: &Invocation, _: &KnownDirectories) -> bool {
    matches!(
        invocation.name.as_str(),
        "sudo"
            | "su"
            | "doas"
            | "pkexec"
            | "run0"
            | "runuser"
            | "sudoedit"
            | "runas"
            | "gsudo"
            | "machinectl"
    )
}
