//! Programs by name: how they treat their arguments.

/// Returns true if a program runs shell code from its arguments or its input.
pub(crate) fn is_code_runner(name: &str) -> bool {
    matches!(
        name,
        "sh" | "bash"
            | "dash"
            | "zsh"
            | "ksh"
            | "mksh"
            | "ash"
            | "fish"
            | "cmd"
            | "powershell"
            | "pwsh"
            | "source"
            | "."
    )
}

/// Returns true if the value of a git setting is a program.
pub(super) fn names_a_program(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    let last = key.rsplit('.').next().unwrap_or(&key);
    key.starts_with("alias.")
        || matches!(
            last,
            "pager"
                | "editor"
                | "sshcommand"
                | "fsmonitor"
                | "askpass"
                | "external"
                | "textconv"
                | "command"
                | "cmd"
                | "helper"
                | "program"
                | "driver"
                | "clean"
                | "smudge"
                | "process"
        )
}

/// Programs that are always refused and whose names mean nothing else.
pub(super) fn is_refused(name: &str) -> bool {
    name.starts_with("mkfs.")
        || matches!(
            name,
            "sudo"
                | "doas"
                | "pkexec"
                | "run0"
                | "runuser"
                | "sudoedit"
                | "gsudo"
                | "mkfs"
                | "mke2fs"
                | "wipefs"
                | "blkdiscard"
        )
}

/// Programs that take scripts as arguments.
pub(super) fn runs_strings(name: &str) -> bool {
    matches!(
        name,
        "script"
            | "tmux"
            | "screen"
            | "xterm"
            | "hyperfine"
            | "concurrently"
            | "nodemon"
            | "entr"
            | "nix-shell"
            | "nix"
    )
}

/// Everyday programs that start none of their arguments.
#[rustfmt::skip]
pub(super) fn is_ordinary(name: &str) -> bool {
    matches!(
        name,
        "ls" | "cat" | "head" | "tail" | "less" | "more" | "cp" | "mv" | "ln" | "mkdir" | "rmdir"
            | "touch" | "wc" | "sort" | "uniq" | "cut" | "tr" | "paste" | "join" | "tee" | "diff"
            | "cmp" | "comm" | "file" | "stat" | "du" | "df" | "tree" | "basename" | "dirname"
            | "realpath" | "readlink" | "chmod" | "chown" | "chgrp" | "install" | "jq" | "yq"
            | "cargo" | "rustc" | "rustup" | "npm" | "pnpm" | "yarn" | "bun" | "pip" | "pip3"
            | "pytest" | "make" | "cmake" | "ninja" | "go" | "gcc" | "g++" | "cc" | "clang" | "mvn"
            | "gradle" | "gradlew" | "gh" | "curl" | "wget" | "tar" | "zip" | "unzip" | "gzip"
            | "kill" | "ps" | "export" | "read" | "local" | "declare" | "unset" | "set" | "cd"
            | ">" | "<" | "|" | "kubectl" | "helm" | "yum" | "pacman" | "ansible" | "expr" | "let"
    )
}

/// Returns true if a program names others without starting them.
pub(super) fn talks_about_programs(name: &str) -> bool {
    matches!(
        name,
        "echo"
            | "printf"
            | "grep"
            | "egrep"
            | "fgrep"
            | "rg"
            | "ag"
            | "git"
            | "man"
            | "which"
            | "type"
            | "whereis"
            | "hash"
            | "command"
            | "sed"
            | "awk"
            | "test"
            | "["
            | "[["
            | "docker"
            | "podman"
            | "apt"
            | "apt-get"
            | "brew"
            | "apk"
            | "dnf"
            | "npm"
            | "rm"
            | "pkill"
            | "killall"
            | "pgrep"
            | "apropos"
            | "whatis"
            | "tldr"
    )
}
