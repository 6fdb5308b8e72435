//! Programs by name: how they treat their arguments and their input.

/// Returns true if a program runs bash code from its arguments or its input.
pub(super) fn is_shell(name: &str) -> bool {
    [
        "sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "fish", "source", ".",
    ]
    .contains(&name)
}

/// Returns true if a program runs code from its arguments or its input, in any shell language.
pub(super) fn is_code_runner(name: &str) -> bool {
    is_shell(name) || ["cmd", "powershell", "pwsh"].contains(&name)
}

/// Returns true if a program runs code in a language of its own.
pub(super) fn is_interpreter(name: &str) -> bool {
    let name = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let names = [
        "python",
        "pypy",
        "node",
        "deno",
        "perl",
        "ruby",
        "php",
        "lua",
        "tclsh",
        "osascript",
    ];
    names.contains(&name)
}

/// Programs that take scripts as arguments.
#[rustfmt::skip]
pub(super) const RUN_STRINGS: &[&str] = &[
    "script", "tmux", "screen", "xterm", "hyperfine", "concurrently", "nodemon", "entr",
    "nix-shell", "nix",
];

/// Programs whose name among the arguments of an unknown program means that it starts them.
pub(super) fn is_telling(name: &str) -> bool {
    name.starts_with("mkfs.") || TELLING.contains(&name)
}

#[rustfmt::skip]
const TELLING: &[&str] = &[
    "rm", "sudo", "doas", "pkexec", "run0", "runuser", "sudoedit", "gsudo", "mkfs", "mke2fs",
    "wipefs", "blkdiscard",
];

/// Everyday programs that start none of their arguments, or only talk about programs.
#[rustfmt::skip]
pub(super) const START_NO_ARGUMENT: &[&str] = &[
    "ls", "cat", "head", "tail", "less", "more", "cp", "mv", "ln", "mkdir", "rmdir", "touch", "wc",
    "sort", "uniq", "cut", "tr", "paste", "join", "tee", "diff", "cmp", "comm", "file", "stat",
    "du", "df", "tree", "basename", "dirname", "realpath", "readlink", "chmod", "chown", "chgrp",
    "install", "jq", "yq", "cargo", "rustc", "rustup", "npm", "pnpm", "yarn", "bun", "pip", "pip3",
    "pytest", "make", "cmake", "ninja", "go", "gcc", "g++", "cc", "clang", "mvn", "gradle",
    "gradlew", "gh", "curl", "wget", "tar", "zip", "unzip", "gzip", "kill", "ps", "export", "read",
    "local", "declare", "unset", "set", "cd", "kubectl", "helm", "yum", "pacman", "ansible",
    "expr", "let", "echo", "printf", "grep", "egrep", "fgrep", "rg", "ag", "git", "man", "which",
    "type", "whereis", "hash", "command", "sed", "awk", "gawk", "mawk", "nawk", "test", "docker",
    "podman", "apt", "apt-get", "brew", "apk", "dnf", "rm", "pkill", "killall", "pgrep", "apropos",
    "whatis", "tldr",
];
