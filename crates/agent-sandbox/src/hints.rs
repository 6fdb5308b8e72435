//! What a failed command ran into, read from its end and its words.
//!
//! The kernel tells a command, not us, that a limit was met or that there is no network; what the
//! command then says is known from the usual tools. A hint is a guess, and only ever words: nothing
//! is decided by it.

use std::path::PathBuf;

use super::Confinement;

/// A limit that a command met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// Processes and threads.
    Processes,
    /// Memory.
    Memory,
    /// The size of a file.
    FileSize,
    /// Open files.
    OpenFiles,
    /// Time of computing.
    Cpu,
    /// Room in `/tmp`, `/dev/shm` and the home.
    Scratch,
}

impl Limit {
    /// What it is called, for a sentence like ``the limit of `memory` was met``.
    pub fn name(self) -> &'static str {
        match self {
            Self::Processes => "processes",
            Self::Memory => "memory",
            Self::FileSize => "file size",
            Self::OpenFiles => "open files",
            Self::Cpu => "CPU time",
            Self::Scratch => "temporary space",
        }
    }
}

/// How much of an output is looked at, from its end.
const LOOKED_AT: usize = 16 * 1024;

/// Which limit a failed command probably met; `signal` is that by which it ended, or by which its
/// code says that a part of it did (128 and the signal's number).
pub fn limit_met(signal: Option<i32>, output: &str) -> Option<Limit> {
    const SIGKILL: i32 = 9;
    const SIGXCPU: i32 = 24;
    const SIGXFSZ: i32 = 25;
    const WORDS: [(&str, Limit); 13] = [
        ("fork: retry: Resource temporarily", Limit::Processes),
        ("Cannot fork", Limit::Processes),
        ("can't start new thread", Limit::Processes),
        ("Resource temporarily unavailable", Limit::Processes),
        ("pthread_create failed", Limit::Processes),
        ("Cannot allocate memory", Limit::Memory),
        ("MemoryError", Limit::Memory),
        ("memory allocation of ", Limit::Memory),
        ("heap out of memory", Limit::Memory),
        ("OutOfMemoryError", Limit::Memory),
        ("File too large", Limit::FileSize),
        ("Too many open files", Limit::OpenFiles),
        ("No space left on device", Limit::Scratch),
    ];
    match signal {
        Some(SIGXCPU) => return Some(Limit::Cpu),
        Some(SIGXFSZ) => return Some(Limit::FileSize),
        _ => {}
    }
    let end = end_of(output);
    let said = WORDS.iter().find(|(words, _)| end.contains(words));
    match said {
        Some((_, limit)) => Some(*limit),
        // The way in which whoever has too much memory is ended, by us and by the kernel.
        None if signal == Some(SIGKILL) => Some(Limit::Memory),
        None => None,
    }
}

/// Whether a failed command looks as if it had missed the network.
pub fn misses_network(output: &str) -> bool {
    const WORDS: [&str; 22] = [
        "Could not resolve host",
        "Temporary failure in name resolution",
        "Temporary failure resolving",
        "Name or service not known",
        "nodename nor servname provided",
        "no such host",
        "Network is unreachable",
        "network is unreachable",
        "unable to resolve host address",
        "Couldn't resolve host",
        "wget: bad address",
        "server misbehaving",
        "trouble with your network connection",
        "getaddrinfo EAI_AGAIN",
        "getaddrinfo ENOTFOUND",
        "ENETUNREACH",
        "EAI_AGAIN",
        "failed to lookup address information",
        "Failed to establish a new connection",
        "UnknownHostException",
        "dns error",
        "you may want to retry with `--offline`",
    ];
    let end = end_of(output);
    WORDS.iter().any(|words| end.contains(words))
}

/// The program that was not found although the person has it, and where they have it.
pub fn found_outside(output: &str, confinement: &Confinement) -> Option<(String, PathBuf)> {
    end_of(output).lines().rev().find_map(|line| {
        let line = line
            .strip_suffix(": command not found")
            .or_else(|| line.strip_suffix(": not found"))
            .or_else(|| line.strip_suffix(": No such file or directory"))?;
        let name = line.rsplit(": ").next()?.rsplit('/').next()?.trim();
        let directory = confinement
            .programs
            .iter()
            .find(|directory| !name.is_empty() && directory.join(name).is_file())?;
        Some((name.to_owned(), directory.join(name)))
    })
}

fn end_of(output: &str) -> &str {
    let mut start = output.len().saturating_sub(LOOKED_AT);
    while !output.is_char_boundary(start) {
        start += 1;
    }
    &output[start..]
}

/// What is said where directories are read-only because there was too much to look through.
pub fn closed_for_size(confinement: &Confinement) -> Option<String> {
    const NAMED: usize = 3;
    let unseen = &confinement.unseen;
    // Else nothing is run at all, which says why.
    if unseen.is_empty() || unseen.contains(&confinement.workspace) {
        return None;
    }
    let name = |path: &PathBuf| {
        let path = path.strip_prefix(&confinement.workspace).unwrap_or(path);
        format!("`{}`", path.to_string_lossy().escape_debug())
    };
    let mut names = unseen
        .iter()
        .take(NAMED)
        .map(name)
        .collect::<Vec<_>>()
        .join(", ");
    if unseen.len() > NAMED {
        names = format!("{names} and {} more", unseen.len() - NAMED);
    }
    Some(format!(
        "read-only for commands, because the workspace is too large to look for links out of it there: {names}; fewer files, or a workspace further down, open them"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_tells_more_than_words() {
        assert_eq!(limit_met(Some(25), "MemoryError"), Some(Limit::FileSize));
        assert_eq!(limit_met(Some(24), ""), Some(Limit::Cpu));
        assert_eq!(limit_met(None, "x\nMemoryError\n"), Some(Limit::Memory));
        assert_eq!(limit_met(Some(11), "all is well"), None);
        assert_eq!(limit_met(Some(9), "all is well"), Some(Limit::Memory));
    }

    #[test]
    fn knows_what_tools_say_without_a_network() {
        for words in [
            "npm error request to https://x failed, reason: getaddrinfo EAI_AGAIN x",
            "curl: (6) Could not resolve host: example.org",
            "fatal: unable to access 'https://x/': Could not resolve host: x",
            "dial tcp: lookup proxy.golang.org: no such host",
        ] {
            assert!(misses_network(words), "{words}");
        }
        assert!(!misses_network("test failed: assertion"));
    }

    #[test]
    fn a_program_of_the_person_is_named_with_its_place() {
        let directory = tempfile::tempdir().unwrap();
        let tool = directory.path().join("tool");
        std::fs::File::create(&tool).unwrap();
        let mut confinement = Confinement::of_workspace("/w");
        confinement.programs = vec![directory.path().to_owned()];
        let found = Some(("tool".to_owned(), tool));
        for words in [
            "bash: line 1: tool: command not found\n",
            "sh: 1: tool: not found",
            "could not start `x`\n/a/b/tool: No such file or directory\nmake: *** [all] Error 127\n",
        ] {
            assert_eq!(found_outside(words, &confinement), found, "{words}");
        }
        assert_eq!(
            found_outside("bash: other: command not found", &confinement),
            None
        );
        assert_eq!(
            found_outside("bash: : command not found", &confinement),
            None
        );
    }

    #[test]
    fn only_the_end_of_a_long_output_is_looked_at() {
        let long = format!("MemoryError{}", "ä".repeat(LOOKED_AT));
        assert_eq!(limit_met(None, &long), None);
    }
}
