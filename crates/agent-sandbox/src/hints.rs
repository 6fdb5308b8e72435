//! Guesses why a command failed, from its exit status and output.
//!
//! The kernel tells the command, not us, that a limit was reached or that there is no network; the
//! usual tools report it in known words. A hint is a guess for display: nothing is decided by it.

use std::path::PathBuf;

use super::Confinement;

/// A limit that a command reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SandboxLimit {
    /// Processes and threads.
    Processes,
    /// Memory.
    Memory,
    /// The size of a file.
    FileSize,
    /// Open files.
    OpenFiles,
    /// CPU time.
    Cpu,
    /// Space in `/tmp`, `/dev/shm` and the home.
    Scratch,
}

impl SandboxLimit {
    /// The name for a sentence like ``the limit of `memory` was met``.
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

/// Bytes to look at, from the end of the output.
const LOOKED_AT: usize = 16 * 1024;

/// The limit that a failed command probably reached. `signal` is the signal that ended it, or the
/// one that its exit code reports for a part of it (128 plus the signal number).
pub fn limit_met(signal: Option<i32>, output: &str) -> Option<SandboxLimit> {
    const SIGKILL: i32 = 9;
    const SIGXCPU: i32 = 24;
    const SIGXFSZ: i32 = 25;
    const WORDS: [(&str, SandboxLimit); 13] = [
        ("fork: retry: Resource temporarily", SandboxLimit::Processes),
        ("Cannot fork", SandboxLimit::Processes),
        ("can't start new thread", SandboxLimit::Processes),
        ("Resource temporarily unavailable", SandboxLimit::Processes),
        ("pthread_create failed", SandboxLimit::Processes),
        ("Cannot allocate memory", SandboxLimit::Memory),
        ("MemoryError", SandboxLimit::Memory),
        ("memory allocation of ", SandboxLimit::Memory),
        ("heap out of memory", SandboxLimit::Memory),
        ("OutOfMemoryError", SandboxLimit::Memory),
        ("File too large", SandboxLimit::FileSize),
        ("Too many open files", SandboxLimit::OpenFiles),
        ("No space left on device", SandboxLimit::Scratch),
    ];
    match signal {
        Some(SIGXCPU) => return Some(SandboxLimit::Cpu),
        Some(SIGXFSZ) => return Some(SandboxLimit::FileSize),
        _ => {}
    }
    let end = end_of(output);
    let said = WORDS.iter().find(|(words, _)| end.contains(words));
    match said {
        Some((_, limit)) => Some(*limit),
        // We and the kernel both kill a process this way for using too much memory.
        None if signal == Some(SIGKILL) => Some(SandboxLimit::Memory),
        None => None,
    }
}

/// True if a failed command seems to have needed the network.
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

/// True if git says that a failure has nothing to do with the network.
pub fn fails_before_network(output: &str) -> bool {
    const WORDS: [&str; 5] = [
        "error: src refspec ",
        "does not appear to be a git repository",
        "fatal: not a git repository",
        "fatal: No configured push destination",
        "has no upstream branch",
    ];
    let end = end_of(output);
    WORDS.iter().any(|words| end.contains(words))
}

/// True if a script fetches something, by the words of its commands. A build is not counted: it
/// fails for other reasons far more often.
pub fn fetches(script: &str) -> bool {
    const ALWAYS: [&str; 8] = [
        "curl", "wget", "npx", "apt", "apt-get", "apk", "dnf", "ping",
    ];
    const WITH: [(&str, &[&str]); 17] = [
        (
            "npm",
            &[
                "install", "i", "ci", "add", "update", "exec", "create", "init",
            ],
        ),
        ("pnpm", &["install", "i", "add", "update", "dlx", "create"]),
        ("yarn", &["install", "add", "up", "dlx", "create"]),
        ("bun", &["install", "i", "add", "create"]),
        ("pip", &["install", "download"]),
        ("pip3", &["install", "download"]),
        ("uv", &["pip", "add", "sync", "tool"]),
        ("poetry", &["install", "add", "update", "lock"]),
        ("conda", &["install", "create", "update"]),
        ("cargo", &["add", "install", "fetch", "update", "search"]),
        ("go", &["get", "install", "mod"]),
        (
            "mvn",
            &["install", "dependency:resolve", "dependency:go-offline"],
        ),
        ("bundle", &["install", "update", "add"]),
        ("gem", &["install", "update"]),
        ("composer", &["install", "require", "update"]),
        ("dotnet", &["restore", "add"]),
        ("git", &["clone", "fetch", "pull", "push", "ls-remote"]),
    ];
    let is_separator = |character| matches!(character, ';' | '&' | '|' | '\n' | '(' | ')');
    script.split(is_separator).any(|command| {
        let mut words = command.split_whitespace().skip_while(|word| {
            word.contains('=') || matches!(*word, "sudo" | "time" | "env" | "then" | "do" | "!")
        });
        let name = words.next().unwrap_or_default();
        let name = name.rsplit('/').next().unwrap_or(name);
        let mut rest = words.filter(|word| !word.starts_with('-'));
        if name.starts_with("python") {
            return rest.next() == Some("pip")
                && matches!(rest.next(), Some("install" | "download"));
        }
        let first = rest.next().unwrap_or_default();
        let takes = |(program, verbs): &(&str, &[&str])| *program == name && verbs.contains(&first);
        // `yarn` alone installs.
        ALWAYS.contains(&name) || WITH.iter().any(takes) || (name == "yarn" && first.is_empty())
    })
}

/// The program that was not found inside, and where the person has it.
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

/// A message about directories that are read-only because they were too large to search.
pub fn closed_for_size(confinement: &Confinement) -> Option<String> {
    const NAMED: usize = 3;
    let unseen = &confinement.unseen;
    // Otherwise no command runs at all, and the error says why.
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
        assert_eq!(
            limit_met(Some(25), "MemoryError"),
            Some(SandboxLimit::FileSize)
        );
        assert_eq!(limit_met(Some(24), ""), Some(SandboxLimit::Cpu));
        assert_eq!(
            limit_met(None, "x\nMemoryError\n"),
            Some(SandboxLimit::Memory)
        );
        assert_eq!(limit_met(Some(11), "all is well"), None);
        assert_eq!(
            limit_met(Some(9), "all is well"),
            Some(SandboxLimit::Memory)
        );
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
    fn knows_what_git_refuses_before_it_asks_the_network() {
        for words in [
            "error: src refspec nowhere does not match any\nerror: failed to push some refs to 'x'",
            "fatal: 'x' does not appear to be a git repository\nfatal: Could not read from remote repository.",
        ] {
            assert!(fails_before_network(words), "{words}");
        }
        assert!(!fails_before_network(
            "fatal: unable to access 'https://x/'"
        ));
    }

    #[test]
    fn a_script_that_fetches_is_told_from_one_that_builds() {
        for script in [
            "npm install",
            "cd x && npm ci --silent 2>&1 | tail -3",
            "python3 -m pip install -r requirements.txt",
            "A=1 pip install x",
            "cargo add serde",
            "go get ./... || true",
            "yarn",
            "git clone https://example.org/x",
            "curl -s https://example.org | sh",
        ] {
            assert!(fetches(script), "{script}");
        }
        for script in [
            "npm test",
            "cargo build",
            "go test ./...",
            "echo npm install",
            "git status",
            "yarn test",
        ] {
            assert!(!fetches(script), "{script}");
        }
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
