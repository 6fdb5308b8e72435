//! Reads and writes git's configuration files.
//!
//! ```text
//! file    = { space | comment | section | setting }
//! section = "[" name [ space '"' subsection '"' ] "]"        also the old "[name.subsection]"
//! setting = name [ "=" value ] end-of-line                   without "=" it is true
//! value   = { plain | '"' quoted '"' | "\" escape }          ends with the line, or a comment
//! ```
//!
//! Follows git's own parser exactly: a setting that git sees and this parser does not would take
//! effect unnoticed. Input that git rejects is rejected here too.

use std::iter::Peekable;
use std::slice::Iter;

/// A setting in a configuration file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitSetting {
    /// Section name in lower case.
    pub section: String,
    /// Subsection name as written.
    pub subsection: Option<Vec<u8>>,
    /// Setting name in lower case.
    pub name: String,
    /// `None` if only the name is given, which means true.
    pub value: Option<Vec<u8>>,
}

/// Last parts of settings whose values are commands, which git runs in the work tree.
const PROGRAMS: [&str; 29] = [
    "alternaterefscommand",
    "askpass",
    "cccmd",
    "clean",
    "cmd",
    "command",
    "defaultkeycommand",
    "difffilter",
    "driver",
    "editor",
    "external",
    "fsmonitor",
    "gitproxy",
    "headercmd",
    "helper",
    "packobjectshook",
    "pager",
    "process",
    "program",
    "receivepack",
    "recentobjectshook",
    "sendmailcmd",
    "smudge",
    "sshcommand",
    "textconv",
    "tocmd",
    "tool",
    "tunnel",
    "uploadpack",
];

/// Settings of `core` that name neither a program nor a file.
const CORE: [&str; 15] = [
    "repositoryformatversion",
    "filemode",
    "bare",
    "logallrefupdates",
    "ignorecase",
    "precomposeunicode",
    "symlinks",
    "autocrlf",
    "eol",
    "safecrlf",
    "longpaths",
    "sharedrepository",
    "sparsecheckout",
    "sparsecheckoutcone",
    "untrackedcache",
];

/// Extensions that change only how the repository itself is stored.
const EXTENSIONS: [&str; 6] = [
    "compatobjectformat",
    "noop",
    "objectformat",
    "preciousobjects",
    "relativeworktrees",
    "worktreeconfig",
];

/// Values of `extensions.refStorage` that name no other place.
const REF_STORES: [&str; 2] = ["files", "reftable"];

impl GitSetting {
    /// The full name: `core.fsmonitor`, `remote.origin.url`.
    pub fn key(&self) -> String {
        match &self.subsection {
            Some(subsection) => format!(
                "{}.{}.{}",
                self.section,
                String::from_utf8_lossy(subsection),
                self.name
            ),
            None => format!("{}.{}", self.section, self.name),
        }
    }

    /// The value, if it is UTF-8.
    pub fn text(&self) -> Option<&str> {
        std::str::from_utf8(self.value.as_deref()?).ok()
    }

    /// True if the setting is in this section, without a subsection, and has this name.
    pub fn is(&self, section: &str, name: &str) -> bool {
        self.section == section && self.subsection.is_none() && self.name == name
    }

    /// True if the value is a command, or names one.
    pub fn names_program(&self) -> bool {
        let is_shell = || self.text().is_some_and(|text| text.starts_with('!'));
        match (self.section.as_str(), self.name.as_str()) {
            ("alias", _) | ("submodule", "update") => is_shell(),
            ("pager", _) | ("browser" | "difftool" | "lfs" | "man" | "mergetool", "path") => true,
            (_, name) => PROGRAMS.contains(&name),
        }
    }

    /// True if git runs no program, reads no other file and contacts nobody unasked because of this
    /// setting.
    pub fn is_harmless(&self) -> bool {
        let name = self.name.as_str();
        match (self.section.as_str(), &self.subsection) {
            ("core", None) => CORE.contains(&name),
            ("remote", Some(_)) => {
                ["url", "pushurl", "fetch", "push", "tagopt", "mirror"].contains(&name)
            }
            ("extensions", None) => match name {
                "refstorage" => self.text().is_some_and(|text| REF_STORES.contains(&text)),
                _ => EXTENSIONS.contains(&name),
            },
            ("submodule", Some(_)) => ["url", "active"].contains(&name),
            ("init", None) => name.starts_with("default"),
            ("pull", None) => ["rebase", "ff"].contains(&name),
            ("push", None) => ["default", "autosetupremote"].contains(&name),
            ("index", None) => ["version", "sparse"].contains(&name),
            ("gc", None) => name == "auto",
            // Options of a merge can name a strategy, which is a program.
            ("branch", Some(_)) => name != "mergeoptions",
            ("user" | "advice", None) => true,
            _ => false,
        }
    }

    /// True if git fetches missing objects from a remote because of this setting, without being told
    /// to fetch.
    pub fn fetches_unasked(&self) -> bool {
        match (self.section.as_str(), &self.subsection) {
            ("remote", Some(_)) => ["promisor", "partialclonefilter"].contains(&self.name.as_str()),
            ("extensions", None) => self.name == "partialclone",
            _ => false,
        }
    }
}

/// Git would reject the file, or it contains a NUL byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unreadable;

/// Parses a whole file.
pub fn parse(text: &[u8]) -> Result<Vec<GitSetting>, Unreadable> {
    if text.contains(&0) {
        return Err(Unreadable);
    }
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let mut reader = GitConfigReader {
        bytes: text.iter().peekable(),
        section: None,
    };
    reader.settings()
}

/// Renders settings as a configuration file.
pub fn render(settings: &[GitSetting]) -> Vec<u8> {
    let mut text = Vec::new();
    let mut current = None;
    for setting in settings {
        let section = (&setting.section, &setting.subsection);
        if current != Some(section) {
            current = Some(section);
            text.extend(format!("[{}", setting.section).bytes());
            if let Some(subsection) = &setting.subsection {
                text.extend(b" \"");
                // In a subsection any byte can be escaped with a backslash, and there are no other
                // escapes.
                for byte in subsection {
                    if matches!(byte, b'"' | b'\\') {
                        text.push(b'\\');
                    }
                    text.push(*byte);
                }
                text.push(b'"');
            }
            text.extend(b"]\n");
        }
        text.extend(format!("\t{}", setting.name).bytes());
        if let Some(value) = &setting.value {
            text.extend(b" = \"");
            text.extend(escaped(value));
            text.push(b'"');
        }
        text.push(b'\n');
    }
    text
}

fn escaped(text: &[u8]) -> Vec<u8> {
    let mut escaped = Vec::with_capacity(text.len());
    for byte in text {
        match byte {
            b'"' | b'\\' => escaped.extend([b'\\', *byte]),
            b'\n' => escaped.extend(b"\\n"),
            8 => escaped.extend(b"\\b"),
            other => escaped.push(*other),
        }
    }
    escaped
}

struct GitConfigReader<'a> {
    bytes: Peekable<Iter<'a, u8>>,
    section: Option<(String, Option<Vec<u8>>)>,
}

impl GitConfigReader<'_> {
    /// The next byte; the end of the file counts as the end of a line.
    fn next(&mut self) -> u8 {
        match self.bytes.next() {
            Some(b'\r') if self.bytes.peek() == Some(&&b'\n') => {
                self.bytes.next();
                b'\n'
            }
            Some(byte) => *byte,
            None => b'\n',
        }
    }

    fn settings(&mut self) -> Result<Vec<GitSetting>, Unreadable> {
        let mut settings = Vec::new();
        while self.bytes.peek().is_some() {
            match self.next() {
                b'#' | b';' => while self.next() != b'\n' {},
                b'[' => self.section = Some(self.section()?),
                byte if is_space(byte) => {}
                byte if byte.is_ascii_alphabetic() => settings.push(self.setting(byte)?),
                _ => return Err(Unreadable),
            }
        }
        Ok(settings)
    }

    fn section(&mut self) -> Result<(String, Option<Vec<u8>>), Unreadable> {
        let mut name = String::new();
        loop {
            match self.next() {
                b']' => return Ok(old_style(name)),
                byte if is_key(byte) || byte == b'.' => {
                    name.push(char::from(byte.to_ascii_lowercase()));
                }
                byte if is_space(byte) && byte != b'\n' => return self.subsection(name),
                _ => return Err(Unreadable),
            }
        }
    }

    fn subsection(&mut self, name: String) -> Result<(String, Option<Vec<u8>>), Unreadable> {
        loop {
            match self.next() {
                b'"' => break,
                byte if is_space(byte) && byte != b'\n' => {}
                _ => return Err(Unreadable),
            }
        }
        let mut subsection = Vec::new();
        loop {
            match self.next() {
                b'\n' => return Err(Unreadable),
                b'"' => break,
                b'\\' => match self.next() {
                    b'\n' => return Err(Unreadable),
                    byte => subsection.push(byte),
                },
                byte => subsection.push(byte),
            }
        }
        match self.next() {
            b']' => Ok((name, Some(subsection))),
            _ => Err(Unreadable),
        }
    }

    fn setting(&mut self, first: u8) -> Result<GitSetting, Unreadable> {
        let (section, subsection) = self.section.clone().ok_or(Unreadable)?;
        let mut name = String::from(char::from(first.to_ascii_lowercase()));
        let mut byte = self.next();
        while is_key(byte) {
            name.push(char::from(byte.to_ascii_lowercase()));
            byte = self.next();
        }
        while matches!(byte, b' ' | b'\t') {
            byte = self.next();
        }
        let value = match byte {
            b'\n' => None,
            b'=' => Some(self.value()?),
            _ => return Err(Unreadable),
        };
        Ok(GitSetting {
            section,
            subsection,
            name,
            value,
        })
    }

    fn value(&mut self) -> Result<Vec<u8>, Unreadable> {
        let mut value = Vec::new();
        let mut end = 0;
        let (mut is_quoted, mut is_comment) = (false, false);
        loop {
            match self.next() {
                b'\n' if is_quoted => return Err(Unreadable),
                b'\n' => {
                    value.truncate(end);
                    return Ok(value);
                }
                _ if is_comment => {}
                byte if is_space(byte) && !is_quoted => {
                    if !value.is_empty() {
                        value.push(byte);
                    }
                }
                b'#' | b';' if !is_quoted => is_comment = true,
                b'"' => {
                    is_quoted = !is_quoted;
                    end = value.len();
                }
                b'\\' => {
                    match self.next() {
                        // Git keeps the blanks before it.
                        b'\n' => {}
                        b't' => value.push(b'\t'),
                        b'b' => value.push(8),
                        b'n' => value.push(b'\n'),
                        byte @ (b'\\' | b'"') => value.push(byte),
                        _ => return Err(Unreadable),
                    }
                    end = value.len();
                }
                byte => {
                    value.push(byte);
                    end = value.len();
                }
            }
        }
    }
}

/// The deprecated form `[branch.main]`.
fn old_style(name: String) -> (String, Option<Vec<u8>>) {
    match name.split_once('.') {
        Some((section, subsection)) => (section.to_owned(), Some(subsection.into())),
        None => (name, None),
    }
}

fn is_key(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-'
}

/// True for what C's `isspace` accepts, except the vertical whitespace that git does not.
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn case(text: &str, expected: &[(&str, Option<&str>)]) {
        let settings = parse(text.as_bytes()).unwrap();
        let settings: Vec<_> = settings
            .iter()
            .map(|setting| (setting.key(), setting.text().map(str::to_owned)))
            .collect();
        let expected: Vec<_> = expected
            .iter()
            .map(|(key, value)| ((*key).to_owned(), value.map(str::to_owned)))
            .collect();
        assert_eq!(settings, expected, "{text}");
    }

    #[test]
    fn reads_what_git_reads() {
        case(
            "[core]\n\tbare = false\n[Core] FsMonitor = ./evil\n",
            &[
                ("core.bare", Some("false")),
                ("core.fsmonitor", Some("./evil")),
            ],
        );
        case(
            "[a \"B c\\\"d\"]x\n y = \"1 ; 2\" 3 # no\n",
            &[("a.B c\"d.x", None), ("a.B c\"d.y", Some("1 ; 2 3"))],
        );
        case("[a]b=c\\\n d\\n\\t\n", &[("a.b", Some("c d\n\t"))]);
        case("[a.B]\r\n c = d  \r\n", &[("a.b.c", Some("d"))]);
        case("[a]b=\" \"", &[("a.b", Some(" "))]);
        case(
            "[a]b=c \\\n\nd= e \\\n \n",
            &[("a.b", Some("c ")), ("a.d", Some("e "))],
        );
        case("; nothing\n#\n", &[]);
    }

    #[test]
    fn what_git_refuses_is_refused() {
        for text in [
            "x = 1",
            "[a",
            "[a]\n1",
            "[a]b c",
            "[a \"b]",
            "[a]b=\"c",
            "[a]b=\\x",
            "[a]b=\0",
            "]",
            "[a \"b\" ]",
        ] {
            assert_eq!(parse(text.as_bytes()), Err(Unreadable), "{text}");
        }
    }

    #[test]
    fn only_what_names_no_program_and_no_file_is_harmless() {
        let is_harmless = |text: &str| {
            let settings = parse(text.as_bytes()).unwrap();
            settings.iter().all(GitSetting::is_harmless)
        };
        for text in [
            "[core]bare=true",
            "[remote \"o\"]url=x\nfetch=y",
            "[branch \"m\"]remote=o\nmerge=m",
            "[user]name=x",
            "[extensions]worktreeConfig=true",
            "[submodule \"x\"]active=true",
        ] {
            assert!(is_harmless(text), "{text}");
        }
        for text in [
            "[core]fsmonitor=x",
            "[core]hooksPath=x",
            "[core]sshCommand=x",
            "[core]worktree=/",
            "[core \"x\"]bare=true",
            "[include]path=x",
            "[includeIf \"gitdir:/\"]path=x",
            "[remote \"o\"]vcs=x",
            "[remote \"o\"]uploadpack=x",
            "[submodule \"x\"]update=!x",
            "[init]templateDir=x",
            "[filter \"x\"]clean=x",
            "[alias]x=!y",
            "[pull]twohead=x",
            "[extensions]partialClone=o",
            "[extensions]refStorage=files:///elsewhere",
            "[remote \"o\"]promisor=true",
            "[remote \"o\"]partialclonefilter=blob:none",
        ] {
            assert!(!is_harmless(text), "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(
            subsection in proptest::option::of("[^\0\n]{0,9}"),
            value in proptest::option::of("[^\0\r]{0,12}"),
        ) {
            let setting = GitSetting {
                section: "a".to_owned(),
                subsection: subsection.map(String::into_bytes),
                name: "b-1".to_owned(),
                value: value.map(String::into_bytes),
            };
            let text = render(std::slice::from_ref(&setting));
            prop_assert_eq!(parse(&text), Ok(vec![setting]));
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            if let Ok(settings) = parse(&bytes) {
                let text = render(&settings);
                prop_assert_eq!(parse(&text), Ok(settings));
            }
        }
    }
}
