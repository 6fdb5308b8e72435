//! The shell that runs the scripts of a reply.
//!
//! Bash and `sh` take a script as an argument. PowerShell and `cmd` read it from a file: an argument
//! ends at 32,767 characters on Windows, `cmd` takes only the first line of one, and each of them has
//! quotes of its own.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::path::PathBuf;

use agent_protocol::ShellLanguage;

use crate::platform;

/// A shell of this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandShell {
    /// The language that it understands.
    pub language: ShellLanguage,
    /// The file of the program.
    pub program: PathBuf,
}

impl Default for CommandShell {
    /// The best shell of this machine.
    fn default() -> Self {
        Self::find(None).unwrap_or_else(|| {
            let last = if cfg!(windows) {
                (ShellLanguage::Cmd, r"C:\Windows\System32\cmd.exe")
            } else {
                (ShellLanguage::Sh, "/bin/sh")
            };
            Self::new(last.0, last.1)
        })
    }
}

impl CommandShell {
    pub(crate) fn new(language: ShellLanguage, program: impl Into<PathBuf>) -> Self {
        let program = program.into();
        Self { language, program }
    }

    /// Finds the shell of this language, or the best one if none is named.
    pub fn find(language: Option<ShellLanguage>) -> Option<Self> {
        platform::shells().into_iter().find(|shell| {
            let is_meant = language.is_none_or(|language| shell.language == language);
            is_meant && shell.program.exists()
        })
    }

    /// The words that run a script, and the file that it is in until they are dropped.
    pub fn prepare(&self, script: &str) -> io::Result<PreparedScript> {
        let Some((extension, text)) = file_of(self.language, script) else {
            // `--` ends the options, so that a script may begin with a dash.
            let words = [self.program.as_os_str(), "-c".as_ref(), "--".as_ref()];
            return Ok(words.into_iter().chain([script.as_ref()]).collect());
        };
        let mut file = tempfile::Builder::new()
            .prefix("agent-")
            .suffix(extension)
            .tempfile()?;
        file.write_all(text.as_bytes())?;
        let file = file.into_temp_path();
        let words = if self.language == ShellLanguage::Cmd {
            // `Command` starts batch files with the `cmd.exe` of the system, without commands from the
            // registry, and with the quotes that `cmd` needs if the path has a `&` or a `(` in it.
            vec![file.as_os_str().to_owned()]
        } else {
            let program = self.program.clone().into_os_string();
            let options = POWERSHELL_OPTIONS.iter().map(OsString::from);
            let command = powershell_command(&file.to_string_lossy()).into();
            [program]
                .into_iter()
                .chain(options)
                .chain([command])
                .collect()
        };
        Ok(PreparedScript {
            words,
            _file: Some(file),
        })
    }
}

/// A script that can be started.
#[derive(Debug)]
pub struct PreparedScript {
    /// The program and its arguments.
    pub words: Vec<OsString>,
    _file: Option<tempfile::TempPath>,
}

impl<'a> FromIterator<&'a OsStr> for PreparedScript {
    fn from_iter<T: IntoIterator<Item = &'a OsStr>>(words: T) -> Self {
        Self {
            words: words.into_iter().map(OsStr::to_owned).collect(),
            _file: None,
        }
    }
}

/// The extension and the text of the file that a script is run from, if it is.
fn file_of(language: ShellLanguage, script: &str) -> Option<(&'static str, String)> {
    let lines = script.replace("\r\n", "\n").replace('\n', "\r\n");
    match language {
        ShellLanguage::Bash | ShellLanguage::Sh => None,
        // The code page holds from the next line on, which is read in it. Without its path, a `chcp` of
        // the workspace would be run.
        ShellLanguage::Cmd => Some((
            ".cmd",
            format!("@\"%SystemRoot%\\System32\\chcp.com\" 65001 >nul\r\n@echo off\r\n{lines}\r\n"),
        )),
        // Windows PowerShell 5.1 takes a file without a byte order mark for one in the code page. The
        // last line makes the exit code that of the last statement, as in bash.
        ShellLanguage::Pwsh | ShellLanguage::PowerShell => Some((
            ".ps1",
            format!(
                "\u{feff}{lines}\r\nif ($?) {{ exit 0 }}; if ($LASTEXITCODE) {{ exit $LASTEXITCODE }}; exit 1\r\n"
            ),
        )),
    }
}

/// The options of PowerShell before a script.
const POWERSHELL_OPTIONS: [&str; 6] = [
    "-NoLogo",
    "-NoProfile",
    "-NonInteractive",
    "-ExecutionPolicy",
    "Bypass",
    "-Command",
];

/// Runs the file, and exits with its code; 1 if it could not be read at all.
fn powershell_command(file: &str) -> String {
    // PowerShell takes typographic quotes for plain ones; each of them written twice stands for itself.
    let quotes = ['\'', '\u{2018}', '\u{2019}', '\u{201a}', '\u{201b}'];
    let file = quotes.iter().fold(file.to_owned(), |file, quote| {
        file.replace(*quote, &format!("{quote}{quote}"))
    });
    format!(
        "[Console]::OutputEncoding = $OutputEncoding = New-Object Text.UTF8Encoding $false; \
         $global:LASTEXITCODE = 1; & '{file}'; exit $LASTEXITCODE"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(language: ShellLanguage, script: &str) -> (PreparedScript, Vec<String>) {
        let prepared = CommandShell::new(language, "shell")
            .prepare(script)
            .unwrap();
        let words = prepared.words.iter();
        let words = words.map(|word| word.to_string_lossy().into_owned());
        let words = words.collect();
        (prepared, words)
    }

    #[test]
    fn bash_takes_the_script_as_it_is() {
        let (_, words) = words(ShellLanguage::Bash, "-x\n\"y\"");
        assert_eq!(words, ["shell", "-c", "--", "-x\n\"y\""]);
    }

    #[test]
    fn cmd_reads_a_batch_file_in_utf8_that_is_gone_afterwards() {
        let (prepared, words) = words(ShellLanguage::Cmd, "echo \"ä\"\necho 2");
        let [file] = &words[..] else {
            panic!("`Command` quotes the file, and nothing else: {words:?}");
        };
        let extension = std::path::Path::new(file).extension();
        assert_eq!(extension, Some(OsStr::new("cmd")));
        let text = std::fs::read_to_string(file).unwrap();
        assert_eq!(
            text,
            "@\"%SystemRoot%\\System32\\chcp.com\" 65001 >nul\r\n@echo off\r\necho \"ä\"\r\necho 2\r\n"
        );
        drop(prepared);
        assert!(!std::path::Path::new(file).exists());
    }

    #[test]
    fn powershell_reads_a_file_with_a_mark_and_exits_with_its_code() {
        for language in [ShellLanguage::Pwsh, ShellLanguage::PowerShell] {
            let (_prepared, words) = words(language, "ls");
            let command = words.last().unwrap();
            assert!(command.ends_with("; exit $LASTEXITCODE"), "{command}");
            let file = command.split('\'').nth(1).unwrap();
            let text = std::fs::read_to_string(file).unwrap();
            assert!(text.starts_with("\u{feff}ls\r\nif ($?)"), "{text}");
        }
        for (file, quoted) in [
            ("O'Neill.ps1", "'O''Neill.ps1'"),
            ("O\u{2019}Neill.ps1", "'O\u{2019}\u{2019}Neill.ps1'"),
        ] {
            let command = powershell_command(file);
            assert!(command.contains(&format!("& {quoted};")), "{command}");
        }
    }

    #[test]
    fn a_shell_that_is_not_here_is_not_found() {
        let missing = if cfg!(windows) {
            ShellLanguage::Sh
        } else {
            ShellLanguage::Cmd
        };
        assert_eq!(CommandShell::find(Some(missing)), None);
        assert!(CommandShell::find(None).is_some());
        assert_eq!(CommandShell::default(), CommandShell::find(None).unwrap());
    }
}
