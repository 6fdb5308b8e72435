//! The shells that run the scripts of a reply.

crate::words! {
    /// The language of a shell, by the name of its program.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum ShellLanguage {
        /// GNU bash; on Windows that of Git.
        Bash = "bash",
        /// The system's `sh`.
        Sh = "sh",
        /// PowerShell 7.
        Pwsh = "pwsh",
        /// Windows PowerShell 5.1.
        PowerShell = "powershell",
        /// The command prompt of Windows, which runs batch files.
        Cmd = "cmd",
    }
}

impl ShellLanguage {
    /// True for the languages in which `rm -r x && ls` means what it means on Unix.
    pub fn is_posix(self) -> bool {
        matches!(self, Self::Bash | Self::Sh)
    }
}
