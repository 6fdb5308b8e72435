//! The environment of a command: what is on a list, and nothing else.
//!
//! A person's environment is full of keys and tokens, under names that nobody can foresee; so
//! names are allowed, not forbidden. The list holds where programs are, which language they
//! speak, and where tools keep what they installed.

use std::ffi::{OsStr, OsString};
use std::path::Path;

/// Passed on as they are.
const PASSED: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "LC_ADDRESS",
    "LC_ALL",
    "LC_COLLATE",
    "LC_CTYPE",
    "LC_IDENTIFICATION",
    "LC_MEASUREMENT",
    "LC_MESSAGES",
    "LC_MONETARY",
    "LC_NAME",
    "LC_NUMERIC",
    "LC_PAPER",
    "LC_TELEPHONE",
    "LC_TIME",
    "TZ",
    "TMPDIR",
    // What tools look at before they colour something: tests see what they see in the person's shell.
    "TERM",
    "COLORTERM",
    "NO_COLOR",
    "FORCE_COLOR",
    "CLICOLOR",
    "CLICOLOR_FORCE",
    // How things are built and where libraries are found.
    "CC",
    "CXX",
    "CFLAGS",
    "CXXFLAGS",
    "CPPFLAGS",
    "LDFLAGS",
    "MAKEFLAGS",
    "RUSTFLAGS",
    "RUST_BACKTRACE",
    "CGO_ENABLED",
    "GOFLAGS",
    "NODE_ENV",
    "NODE_PATH",
    "PYTHONPATH",
    "PYTHONHASHSEED",
    "CMAKE_PREFIX_PATH",
    "CI",
    // Where tools and what they installed are found.
    "CARGO_HOME",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "GOPATH",
    "GOROOT",
    "JAVA_HOME",
    "M2_HOME",
    "MAVEN_HOME",
    "GRADLE_HOME",
    "NVM_DIR",
    "NVM_BIN",
    "VOLTA_HOME",
    "PYENV_ROOT",
    "PYENV_VERSION",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "RBENV_ROOT",
    "GEM_HOME",
    "SDKMAN_DIR",
    "DOTNET_ROOT",
    "PKG_CONFIG_PATH",
    "LD_LIBRARY_PATH",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NIX_SSL_CERT_FILE",
    "NIX_PATH",
    "NIX_PROFILES",
    "LOCALE_ARCHIVE",
    "SDKROOT",
    "DEVELOPER_DIR",
    // Windows does not start programs without these.
    "SYSTEMROOT",
    "SYSTEMDRIVE",
    "WINDIR",
    "COMSPEC",
    "PATHEXT",
    "TEMP",
    "TMP",
    "USERPROFILE",
    "USERNAME",
    "HOMEDRIVE",
    "HOMEPATH",
    "APPDATA",
    "LOCALAPPDATA",
    "PROGRAMDATA",
    "PROGRAMFILES",
    "PROGRAMFILES(X86)",
    "PROGRAMW6432",
    "COMMONPROGRAMFILES",
    "COMMONPROGRAMFILES(X86)",
    "COMMONPROGRAMW6432",
    "ALLUSERSPROFILE",
    "PUBLIC",
    // Makefiles ask for it.
    "OS",
    "PROCESSOR_ARCHITECTURE",
    "PROCESSOR_ARCHITEW6432",
    "NUMBER_OF_PROCESSORS",
    "PSMODULEPATH",
];

/// Set for every command: nobody is there to type a password. Nothing else is set here, because a
/// test that passes for the person must pass for the model. Pagers need a terminal, and colours are
/// removed from what is captured.
const FIXED: &[(&str, &str)] = &[("GIT_TERMINAL_PROMPT", "0")];

/// Chooses from the inherited environment what a command may see.
pub(super) fn allowed(
    inherited: impl IntoIterator<Item = (OsString, OsString)>,
) -> Vec<(OsString, OsString)> {
    let mut environment: Vec<(OsString, OsString)> = inherited
        .into_iter()
        .filter(|(name, _)| is_passed(name))
        .map(|(name, value)| {
            let value = if is_named(&name, "PATH") {
                absolute_only(&value)
            } else {
                value
            };
            (name, value)
        })
        .collect();
    environment.extend(
        FIXED
            .iter()
            .map(|(name, value)| (OsString::from(name), OsString::from(value))),
    );
    environment
}

fn is_passed(name: &OsStr) -> bool {
    PASSED.iter().any(|passed| is_named(name, passed))
}

fn is_named(name: &OsStr, expected: &str) -> bool {
    if cfg!(windows) {
        name.eq_ignore_ascii_case(expected)
    } else {
        name == expected
    }
}

/// Drops what is empty or relative: it would find programs in the workspace.
fn absolute_only(path: &OsStr) -> OsString {
    let kept = std::env::split_paths(path).filter(|entry| Path::is_absolute(entry));
    std::env::join_paths(kept).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look_up(inherited: &[(&str, &str)], name: &str) -> Option<String> {
        let inherited = inherited
            .iter()
            .map(|(name, value)| (name.into(), value.into()));
        allowed(inherited)
            .into_iter()
            .rfind(|(allowed, _)| allowed == name)
            .map(|(_, value)| value.into_string().unwrap())
    }

    #[test]
    fn keeps_secrets_out() {
        for name in [
            "AWS_SECRET_ACCESS_KEY",
            "OPENAI_API_KEY",
            "GITHUB_TOKEN",
            "SSH_AUTH_SOCK",
            "HTTPS_PROXY",
            "DATABASE_URL",
            "LD_PRELOAD",
            "BASH_ENV",
            "PATH_TO_KEY",
            "LC_API_TOKEN",
        ] {
            assert_eq!(look_up(&[(name, "x")], name), None, "{name}");
        }
    }

    #[test]
    fn passes_on_places_and_language() {
        for name in ["HOME", "LANG", "LC_ALL", "LC_TIME", "TZ", "CARGO_HOME"] {
            assert_eq!(
                look_up(&[(name, "x")], name).as_deref(),
                Some("x"),
                "{name}"
            );
        }
    }

    #[test]
    fn colours_and_pagers_are_those_of_the_person() {
        for name in ["TERM", "NO_COLOR", "FORCE_COLOR", "CLICOLOR"] {
            assert_eq!(look_up(&[], name), None, "{name}");
            let own = look_up(&[(name, "own")], name);
            assert_eq!(own.as_deref(), Some("own"), "{name}");
        }
        assert_eq!(look_up(&[("PAGER", "less")], "PAGER"), None);
    }

    #[test]
    fn the_docs_name_what_differs_from_the_persons_shell() {
        let docs = include_str!("../../docs/security.md");
        let (_, section) = docs.split_once("## What differs from your shell").unwrap();
        let (section, _) = section.split_once("\n## ").unwrap();
        let ours = PASSED.iter().chain(FIXED.iter().map(|(name, _)| name));
        let is_for_windows = |name: &&str| {
            PASSED
                .iter()
                .skip_while(|it| **it != "SYSTEMROOT")
                .any(|it| it == name)
        };
        for name in ours.filter(|name| !name.starts_with("LC_") && !is_for_windows(name)) {
            assert!(section.contains(&format!("`{name}`")), "{name}");
        }
        let confinement = crate::sandbox::Confinement::of_workspace("/w");
        for (name, _) in confinement.environment() {
            assert!(section.contains(&format!("`{name}`")), "{name}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn no_program_is_found_through_a_relative_path() {
        let path = look_up(&[("PATH", ".:/usr/bin::bin:/bin")], "PATH");
        assert_eq!(path.as_deref(), Some("/usr/bin:/bin"));
    }
}
