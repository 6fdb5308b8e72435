//! Which parts of a home and of other places a command needs to find its programs.
//!
//! The home is hidden; what is installed in it is not: the directories of `PATH`, what links in
//! them lead to, and the places where well-known tools keep toolchains and downloaded packages.
//! Credentials are never among them.

use std::fs;
use std::path::{Path, PathBuf};

use super::Confinement;

/// Seen read-only beneath the home, where they exist.
const INSTALLED: &[&str] = &[
    ".asdf",
    ".bun/bin",
    ".bun/install",
    ".cabal/bin",
    ".cargo/bin",
    ".cargo/env",
    ".cargo/git",
    ".cargo/registry",
    ".deno/bin",
    ".dotnet",
    ".elan",
    ".fnm",
    ".gem",
    ".ghcup",
    ".jdks",
    ".jenv",
    ".juliaup",
    ".local/bin",
    ".local/lib",
    ".local/pipx",
    ".local/share/fnm",
    ".local/share/mise",
    ".local/share/pipx",
    ".local/share/pnpm",
    ".local/share/uv",
    ".m2/repository",
    ".m2/wrapper",
    ".nix-profile",
    ".nuget/packages",
    ".nvm",
    ".opam",
    ".pyenv",
    ".rbenv",
    ".rustup",
    ".rvm",
    ".sdkman",
    ".volta",
    "go/bin",
    "go/pkg",
    "miniconda3",
    "anaconda3",
    "miniforge3",
];

/// Seen read-only if no secret stands in them.
const CONFIGURATION: &[&str] = &[".cargo/config.toml", ".cargo/config"];

/// Never seen, and hidden where they lie in what is seen.
pub(super) const CREDENTIALS: &[&str] = &[
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".config/gcloud",
    ".config/gh",
    ".config/op",
    ".kube",
    ".docker",
    ".netrc",
    ".npmrc",
    ".pypirc",
    ".pgpass",
    ".git-credentials",
    ".config/git/credentials",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".m2/settings.xml",
    ".gradle/gradle.properties",
    ".nuget/NuGet",
    ".gem/credentials",
    ".local/share/keyrings",
    ".password-store",
    ".mozilla",
    ".config/google-chrome",
    ".config/chromium",
    ".thunderbird",
    ".bash_history",
    ".zsh_history",
    ".claude",
    ".codex",
    ".gemini",
];

/// How many entries of a directory of `PATH` are looked at for links.
const MAX_ENTRIES: usize = 2000;

/// What is shown read-only, each at its own path. `system` is what is shown already.
pub(super) fn shown(confinement: &Confinement, system: &[PathBuf]) -> Vec<PathBuf> {
    let home = &confinement.home;
    let may_show = |path: &Path| {
        let is_too_much = home.starts_with(path) || confinement.workspace.starts_with(path);
        let is_shown = system.iter().any(|shown| path.starts_with(shown))
            || path.starts_with(&confinement.workspace);
        let is_secret = CREDENTIALS
            .iter()
            .any(|secret| path.starts_with(home.join(secret)));
        !is_too_much && !is_shown && !is_secret
    };
    let mut shown: Vec<PathBuf> = INSTALLED.iter().map(|path| home.join(path)).collect();
    shown.extend(confinement.programs.iter().cloned());
    shown.extend(
        CONFIGURATION
            .iter()
            .map(|path| home.join(path))
            .filter(|path| holds_no_secret(path)),
    );
    shown.retain(|path| path.exists() && may_show(path));
    let linked: Vec<PathBuf> = confinement
        .programs
        .iter()
        .filter(|directory| shown.contains(directory))
        .flat_map(|directory| targets_of_links(directory))
        .filter(|target| !shown.iter().any(|shown| target.starts_with(shown)))
        .filter_map(|target| installation_of(&target, may_show))
        .collect();
    shown.extend(linked);
    shown.sort();
    // What lies beneath another needs no mount of its own.
    shown.dedup_by(|later, earlier| later.starts_with(earlier));
    shown
}

fn holds_no_secret(path: &Path) -> bool {
    fs::read_to_string(path).is_ok_and(|text| {
        let text = text.to_ascii_lowercase();
        !["token", "password", "secret", "://"]
            .iter()
            .any(|word| text.contains(word) && (*word != "://" || text.contains('@')))
    })
}

/// What the links of a directory lead to.
fn targets_of_links(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(directory) else {
        return Vec::new();
    };
    entries
        .take(MAX_ENTRIES)
        .flatten()
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_symlink()))
        // A link to a neighbour leads nowhere else, and resolving it is not free.
        .filter(|entry| fs::read_link(entry.path()).is_ok_and(|to| to.components().count() > 1))
        .filter_map(|entry| fs::canonicalize(entry.path()).ok())
        // The plan of a command is text.
        .filter(|target| target.to_str().is_some())
        .collect()
}

/// The directory that a program needs around it: that above its `bin`, or its own.
fn installation_of(program: &Path, may_show: impl Fn(&Path) -> bool) -> Option<PathBuf> {
    let directory = program.parent()?;
    let above = directory
        .parent()
        .filter(|_| directory.ends_with("bin"))
        .unwrap_or(directory);
    [above, directory, program]
        .into_iter()
        .find(|path| may_show(path))
        .map(Path::to_path_buf)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    struct Home {
        directory: tempfile::TempDir,
        confinement: Confinement,
    }

    fn home_with(files: &[&str]) -> Home {
        let directory = tempfile::tempdir().unwrap();
        let home = directory.path().join("home");
        for file in files {
            let path = home.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::File::create(path).unwrap();
        }
        let mut confinement = Confinement::of_workspace(home.join("work"));
        confinement.home = home;
        confinement.programs = Vec::new();
        Home {
            directory,
            confinement,
        }
    }

    impl Home {
        #[track_caller]
        fn shows(&self, expected: &[&str]) {
            let shown: Vec<_> = shown(&self.confinement, &[PathBuf::from("/usr")])
                .into_iter()
                .map(|path| {
                    path.strip_prefix(&self.confinement.home)
                        .unwrap()
                        .to_owned()
                })
                .collect();
            assert_eq!(
                shown,
                expected.iter().map(PathBuf::from).collect::<Vec<_>>()
            );
        }
    }

    #[test]
    fn tools_are_shown_and_credentials_are_not() {
        home_with(&[
            ".cargo/bin/cargo",
            ".cargo/registry/x",
            ".cargo/credentials.toml",
            ".ssh/id",
            ".m2/settings.xml",
            "letter",
        ])
        .shows(&[".cargo/bin", ".cargo/registry"]);
    }

    #[test]
    fn a_path_that_is_too_much_or_secret_is_not_shown() {
        let mut home = home_with(&[".ssh/bin/x", "work/bin/x", "tools/x"]);
        let at = |path: &str| home.confinement.home.join(path);
        let programs = vec![
            at(""),
            at(".ssh/bin"),
            at("work/bin"),
            at("tools"),
            home.directory.path().to_owned(),
            PathBuf::from("/usr/bin"),
            at("missing"),
        ];
        home.confinement.programs = programs;
        home.shows(&["tools"]);
    }

    #[test]
    fn a_link_shows_what_it_leads_to() {
        let mut home = home_with(&["bin/a", "apps/x/bin/x", "apps/y/y", ".ssh/z", "z"]);
        let at = |path: &str| home.confinement.home.join(path);
        for program in ["apps/x/bin/x", "apps/y/y", ".ssh/z", "z"] {
            let name = Path::new(program).file_name().unwrap();
            symlink(at(program), at("bin").join(name)).unwrap_or_else(|_| {
                symlink(at(program), at("bin/other")).unwrap();
            });
        }
        home.confinement.programs = vec![at("bin")];
        home.shows(&["apps/x", "apps/y", "bin", "z"]);
    }

    #[test]
    fn configuration_with_a_secret_is_not_shown() {
        let home = home_with(&[".cargo/config.toml"]);
        home.shows(&[".cargo/config.toml"]);
        let path = home.confinement.home.join(".cargo/config.toml");
        for secret in ["token = \"x\"", "url = \"https://me:pw@host/\""] {
            crate::fs::write_atomic(&path, secret.as_bytes(), crate::fs::Durability::Atomic)
                .unwrap();
            home.shows(&[]);
        }
    }
}
