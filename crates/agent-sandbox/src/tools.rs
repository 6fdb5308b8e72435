//! Finds the parts of the home and other directories that commands need for their programs.
//!
//! The home is hidden, except for installed programs: the directories of `PATH`, the programs that
//! links in them lead to, and the directories where well-known tools keep toolchains and downloaded
//! packages. Credentials are never among them, under whatever name.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::Confinement;
use super::changeable::Changeable;

/// Visible read-only below the home, if they exist.
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

/// Visible read-only if they contain no secret.
const CONFIGURATION: &[&str] = &[".cargo/config.toml", ".cargo/config"];

/// Never visible, and hidden inside visible directories.
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

/// Directories that every command has for itself.
const PRIVATE: [&str; 5] = ["/tmp", "/run", "/dev", "/proc", "/var/tmp"];

/// Directories of processes and devices, in which no program is installed.
const OF_PROCESSES: [&str; 4] = ["/run", "/dev", "/proc", "/sys"];

/// Limit on the entries of a `PATH` directory to check for links.
const MAX_ENTRIES: usize = 2000;

/// The paths that decide what is shown, beside the directories of programs.
pub(super) fn decisive(confinement: &Confinement) -> impl Iterator<Item = PathBuf> {
    let below_home = INSTALLED.iter().chain(CONFIGURATION).chain(CREDENTIALS);
    let below_home = below_home.map(|path| confinement.home.join(path));
    below_home.chain(confinement.programs.iter().cloned())
}

/// The paths to show read-only, each at its own path. `system` is already visible.
pub(super) fn shown(confinement: &Confinement, system: &[PathBuf]) -> Vec<PathBuf> {
    let home = &confinement.home;
    let bounds = Bounds::of(confinement, system);
    let mut shown: Vec<PathBuf> = INSTALLED.iter().map(|path| home.join(path)).collect();
    shown.extend(confinement.programs.iter().cloned());
    shown.extend(
        CONFIGURATION
            .iter()
            .map(|path| home.join(path))
            .filter(|path| holds_no_secret(path)),
    );
    shown.retain(|path| path.exists() && bounds.may_show(path));
    let linked: Vec<PathBuf> = confinement
        .programs
        .iter()
        .filter(|directory| shown.contains(directory))
        .flat_map(|directory| bounds.targets_of_links(directory))
        .filter(|target| !shown.iter().any(|shown| target.starts_with(shown)))
        .filter_map(|target| bounds.around(&target))
        .collect();
    shown.extend(linked);
    shown.sort();
    // A path below another needs no mount of its own.
    shown.dedup_by(|later, earlier| later.starts_with(earlier));
    shown
}

/// The paths that must not be shown, under their names and their real paths.
struct Bounds<'a> {
    system: &'a [PathBuf],
    workspace: &'a Path,
    home: &'a Path,
    real_home: PathBuf,
    /// A directory that contains one of these must not be shown.
    whole: Vec<PathBuf>,
    secrets: Vec<PathBuf>,
    changeable: Changeable,
}

impl<'a> Bounds<'a> {
    fn of(confinement: &'a Confinement, system: &'a [PathBuf]) -> Self {
        let (home, workspace) = (confinement.home.as_path(), confinement.workspace.as_path());
        let real_home = real(home);
        let secrets = CREDENTIALS.iter().map(|secret| home.join(secret));
        Self {
            system,
            workspace,
            whole: [home, workspace]
                .into_iter()
                .chain(PRIVATE.map(Path::new))
                .flat_map(|path| [path.to_owned(), real(path)])
                .collect(),
            secrets: secrets
                .flat_map(|secret| [real(&secret), secret])
                .chain(CREDENTIALS.iter().map(|secret| real_home.join(secret)))
                .collect(),
            home,
            real_home,
            changeable: Changeable::of(confinement),
        }
    }

    fn may_show(&self, path: &Path) -> bool {
        let is_shown = self.system.iter().any(|shown| path.starts_with(shown))
            || path.starts_with(self.workspace);
        let real = real(path);
        let is_open = |path: &Path| {
            let is_too_much = self.whole.iter().any(|whole| whole.starts_with(path));
            let is_secret = self.secrets.iter().any(|secret| path.starts_with(secret));
            !is_too_much && !is_secret
        };
        // Secrets in it are hidden by name, and behind a link they have other names.
        let shows_secrets = !self.is_plain(path, &real)
            && self.secrets.iter().any(|secret| secret.starts_with(&real));
        let is_private = OF_PROCESSES.iter().any(|place| real.starts_with(place));
        !is_shown
            && is_open(path)
            && is_open(&real)
            && !shows_secrets
            && !is_private
            && !self.changeable.decides_target_of(path)
    }

    /// True if no link is on the way to the path, except for the home itself.
    fn is_plain(&self, path: &Path, real: &Path) -> bool {
        match path.strip_prefix(self.home) {
            Ok(rest) => self.real_home.join(rest) == real,
            Err(_) => path == real,
        }
    }

    /// The programs outside a directory that links in it lead to.
    fn targets_of_links(&self, directory: &Path) -> Vec<PathBuf> {
        let Ok(entries) = fs::read_dir(directory) else {
            return Vec::new();
        };
        entries
            .take(MAX_ENTRIES)
            .flatten()
            .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_symlink()))
            .map(|entry| entry.path())
            // A link to a sibling leads nowhere else, and resolving links is not free.
            .filter(|link| fs::read_link(link).is_ok_and(|to| to.components().count() > 1))
            .filter(|link| !self.changeable.decides_target_of(link))
            .filter_map(|link| fs::canonicalize(link).ok())
            .filter(|target| is_program(target))
            // The plan of a command is text.
            .filter(|target| target.to_str().is_some())
            .collect()
    }

    /// The directory that a program needs: inside a tool directory, all of that; elsewhere in the
    /// home, nothing, because its siblings may be anything.
    fn around(&self, program: &Path) -> Option<PathBuf> {
        if program.starts_with(&self.real_home) {
            let mut installed = INSTALLED.iter().map(|path| self.real_home.join(path));
            let tool = installed.find(|directory| program.starts_with(directory));
            let shown = tool.unwrap_or_else(|| program.to_owned());
            return self.may_show(&shown).then_some(shown);
        }
        installation_of(program, |path| self.may_show(path))
    }
}

/// The real path, as far as it exists.
fn real(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

fn holds_no_secret(path: &Path) -> bool {
    fs::read_to_string(path).is_ok_and(|text| {
        let text = text.to_ascii_lowercase();
        !["token", "password", "secret", "://"]
            .iter()
            .any(|word| text.contains(word) && (*word != "://" || text.contains('@')))
    })
}

/// True for a file that can be executed.
fn is_program(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

/// The part of an installation outside the home that a program needs: the parent of its `bin`, or
/// the program alone. The directory of another may contain anything.
fn installation_of(program: &Path, may_show: impl Fn(&Path) -> bool) -> Option<PathBuf> {
    let bin = program.parent().filter(|parent| parent.ends_with("bin"));
    let whole = bin.and_then(Path::parent).filter(|whole| !is_home(whole));
    [whole, bin, Some(program)]
        .into_iter()
        .flatten()
        .find(|path| may_show(path))
        .map(Path::to_path_buf)
}

/// True if a directory looks like somebody's home.
fn is_home(directory: &Path) -> bool {
    let start_files = [".bashrc", ".profile", ".bash_profile", ".zshrc", ".zshenv"];
    let mut telling = CREDENTIALS.iter().copied().chain(start_files);
    telling.any(|name| directory.join(name).symlink_metadata().is_ok())
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
            fs::File::create(&path).unwrap();
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
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
        home.shows(&["apps/x/bin/x", "apps/y/y", "bin", "z"]);
    }

    #[test]
    fn a_link_that_a_command_can_lead_elsewhere_shows_nothing() {
        let mut home = home_with(&["bin/a", "private/diary", "work/run", "tools/x"]);
        let at = |path: &str| home.confinement.home.join(path);
        symlink(at("work/run"), at("bin/run")).unwrap();
        symlink(at("work/tools"), at(".nvm")).unwrap();
        home.confinement.programs = vec![at("bin")];
        home.shows(&["bin"]);
        // What a command makes of it.
        fs::remove_file(at("work/run")).unwrap();
        symlink(at("private/diary"), at("work/run")).unwrap();
        symlink(at("private"), at("work/tools")).unwrap();
        home.shows(&["bin"]);
    }

    #[test]
    fn a_link_to_no_program_shows_nothing() {
        let mut home = home_with(&["bin/a", "private/diary"]);
        let at = |path: &str| home.confinement.home.join(path);
        let diary = at("private/diary");
        fs::set_permissions(&diary, fs::Permissions::from_mode(0o600)).unwrap();
        for (name, target) in [
            ("diary", diary),
            ("all", at("private")),
            ("p", "/proc".into()),
        ] {
            symlink(target, at("bin").join(name)).unwrap();
        }
        home.confinement.programs = vec![at("bin")];
        home.shows(&["bin"]);
    }

    #[test]
    fn the_directory_around_a_program_elsewhere_is_not_somebodys_home() {
        let home = home_with(&["a/x", "b/bin/x", "c/bin/x", "c/.ssh/config"]);
        let at = |path: &str| home.confinement.home.join(path);
        for (program, expected) in [("a/x", "a/x"), ("b/bin/x", "b"), ("c/bin/x", "c/bin")] {
            let shown = installation_of(&at(program), |_| true);
            assert_eq!(shown, Some(at(expected)), "{program}");
        }
    }

    #[test]
    fn a_home_that_is_a_link_is_hidden_all_the_same() {
        let mut home = home_with(&[
            ".local/bin/a",
            ".rustup/toolchains/z",
            "bin/x",
            "x/bin/y",
            ".ssh/id",
        ]);
        let real = fs::canonicalize(&home.confinement.home).unwrap();
        let named = home.directory.path().join("named");
        symlink(&real, &named).unwrap();
        for target in ["bin/x", "x/bin/y", ".ssh/id", ".rustup/toolchains/z"] {
            let name = Path::new(target).file_name().unwrap();
            symlink(named.join(target), real.join(".local/bin").join(name)).unwrap();
        }
        home.confinement.home = named.clone();
        home.confinement.programs = vec![named.join(".local/bin")];
        let at = |path: &str| real.join(path);
        let shown = shown(&home.confinement, &[]);
        let expected = [
            named.join(".local/bin"),
            named.join(".rustup"),
            at(".rustup"),
            at("bin/x"),
            at("x/bin/y"),
        ];
        assert!(
            expected.iter().all(|path| shown.contains(path)) && shown.len() == expected.len(),
            "{shown:?}"
        );
    }

    #[test]
    fn a_tool_directory_that_is_a_link_shows_no_credentials() {
        let home = home_with(&[".local/share/keyrings/x", ".aws/x", ".cargo/bin/x"]);
        let at = |path: &str| home.confinement.home.join(path);
        symlink(at(".local"), at(".asdf")).unwrap();
        symlink(at(".aws"), at(".volta")).unwrap();
        symlink(at(""), at(".nvm")).unwrap();
        home.shows(&[".cargo/bin"]);
    }

    #[test]
    fn configuration_with_a_secret_is_not_shown() {
        let home = home_with(&[".cargo/config.toml"]);
        home.shows(&[".cargo/config.toml"]);
        let path = home.confinement.home.join(".cargo/config.toml");
        for secret in ["token = \"x\"", "url = \"https://me:pw@host/\""] {
            agent_files::fs::write_atomic(
                &path,
                secret.as_bytes(),
                agent_files::fs::Durability::Atomic,
            )
            .unwrap();
            home.shows(&[]);
        }
    }
}
