//! Finds and starts the programs that `agent` itself runs outside the sandbox.
//!
//! A command can plant a program in every directory that it can write to, and an activated `.venv`
//! or `node_modules/.bin` puts such a directory into `PATH`. So names are looked up in absolute
//! directories only, and the resolved file must be outside everything that commands can change. The
//! child gets a `PATH` of the same trusted directories, and no variable that would make it load code
//! from anywhere else (`LD_LIBRARY_PATH`, `PYTHONPATH`). Everywhere else
//! `std::process::Command::new` is a disallowed method.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{PoisonError, RwLock};

/// Directories that commands can write to. The list only grows: a distrusted directory stays so for
/// the life of the process.
static WRITABLE: RwLock<Vec<PathBuf>> = RwLock::new(Vec::new());

/// Variables with directories from which a program loads code, besides the loader's own.
const CODE_PATHS: [&str; 17] = [
    "CLASSPATH",
    "GCONV_PATH",
    "GEM_HOME",
    "GEM_PATH",
    "GIO_EXTRA_MODULES",
    "GTK_MODULES",
    "GTK_PATH",
    "JAVA_HOME",
    "LOCPATH",
    "LUA_CPATH",
    "LUA_PATH",
    "NODE_PATH",
    "PERL5LIB",
    "PERLLIB",
    "PYTHONHOME",
    "PYTHONPATH",
    "RUBYLIB",
];

/// Variables with options that can make a program load code.
const CODE_OPTIONS: [&str; 13] = [
    "BASH_ENV",
    "ENV",
    "GLIBC_TUNABLES",
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "NODE_OPTIONS",
    "PERL5DB",
    "PERL5OPT",
    "PYTHONBREAKPOINT",
    "PYTHONSTARTUP",
    "PYTHONWARNINGS",
    "RUBYOPT",
    "_JAVA_OPTIONS",
];

/// Never starts a program in or below this directory from now on.
pub fn distrust(directory: &Path) {
    let real = crate::fs::canonical(directory).ok();
    let mut writable = WRITABLE.write().unwrap_or_else(PoisonError::into_inner);
    for directory in [Some(directory.to_owned()), real].into_iter().flatten() {
        // Distrusting `/` would leave no program at all.
        if directory.parent().is_some() && !writable.contains(&directory) {
            writable.push(directory);
        }
    }
}

/// Resolves a program name or an absolute path to the file that would be started, following links.
pub fn find(name: &str) -> Option<PathBuf> {
    find_in(&std::env::var_os("PATH").unwrap_or_default(), name)
}

/// Like [`find`], with another value for `PATH`.
pub fn find_in(search: &OsStr, name: &str) -> Option<PathBuf> {
    found_in(search, name).map(|found| found.file)
}

/// A command for the program of this name, with a `PATH` of trusted directories only.
pub fn command(name: &str) -> io::Result<Command> {
    let search = std::env::var_os("PATH").unwrap_or_default();
    let TrustedProgram { file, called } = found_in(&search, name).ok_or_else(|| {
        let what = format!("`{name}` is not installed where commands cannot change it");
        io::Error::new(io::ErrorKind::NotFound, what)
    })?;
    let mut command = exactly(&file);
    // Multi-call binaries such as BusyBox look at the name they were called by.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::arg0(&mut command, called);
    #[cfg(not(unix))]
    drop(called);
    command.env("PATH", trusted_directories(&search));
    Ok(command)
}

/// A command for exactly this file: a fixed system path, or a result of [`find`].
pub fn exactly(file: &Path) -> Command {
    let mut command = with_whole_environment(file);
    let untrusted = std::env::vars_os().filter(|(name, value)| leads_to_code(name, value));
    for (name, _) in untrusted {
        command.env_remove(name);
    }
    command
}

/// A command for exactly this file, for callers that choose the environment themselves.
///
/// A relative path would be looked up in `PATH`, so it starts nothing.
#[expect(
    clippy::disallowed_methods,
    reason = "the one place where a program is named"
)]
pub fn with_whole_environment(file: &Path) -> Command {
    if file.is_absolute() {
        Command::new(file)
    } else {
        Command::new(Path::new("/dev/null/not-an-absolute-path").join(file))
    }
}

/// True if the variable can make a program load code that commands can change.
fn leads_to_code(name: &OsStr, value: &OsStr) -> bool {
    // Names have no letter case on Windows, where `PATH` is usually `Path`.
    let name = if cfg!(windows) {
        &*name.to_ascii_uppercase()
    } else {
        name
    };
    let is_in = |names: &[&str]| names.iter().any(|one| name == *one);
    let is_trusted = |path: &Path| {
        let real = crate::fs::canonical(path);
        !is_changeable(path) && real.map_or(true, |real| !is_changeable(&real))
    };
    let bytes = name.as_encoded_bytes();
    if is_in(&CODE_OPTIONS) {
        true
    } else if bytes.starts_with(b"LD_") || bytes.starts_with(b"DYLD_") || is_in(&CODE_PATHS) {
        // An empty or relative part means the directory in which the program is started.
        !std::env::split_paths(value).all(|path| path.is_absolute() && is_trusted(&path))
    } else if is_in(&["HOME", "PATH"]) {
        false
    } else {
        std::env::split_paths(value).any(|path| path.is_absolute() && !is_trusted(&path))
    }
}

/// The resolved file of a program, and the path under which it was found.
struct TrustedProgram {
    file: PathBuf,
    called: PathBuf,
}

fn found_in(search: &OsStr, name: &str) -> Option<TrustedProgram> {
    let path = Path::new(name);
    if path.components().count() > 1 || path.is_absolute() {
        return path.is_absolute().then(|| trusted(path)).flatten();
    }
    std::env::split_paths(search)
        .filter(|directory| directory.is_absolute())
        .find_map(|directory| {
            // On Windows `npx` is a script for other shells, beside `npx.cmd`.
            let suffix = std::env::consts::EXE_SUFFIX;
            let program = trusted(&directory.join(format!("{name}{suffix}")));
            program.or_else(|| trusted(&directory.join(name)))
        })
}

fn trusted(called: &Path) -> Option<TrustedProgram> {
    let file = crate::fs::canonical(called).ok()?;
    let is_trusted = is_program(&file) && !is_changeable(&file);
    is_trusted.then(|| TrustedProgram {
        file,
        called: called.to_owned(),
    })
}

/// The trusted directories of a `PATH`.
fn trusted_directories(search: &OsStr) -> OsString {
    let directories = std::env::split_paths(search).filter(|directory| {
        let real = crate::fs::canonical(directory);
        directory.is_absolute() && real.is_ok_and(|real| !is_changeable(&real))
    });
    std::env::join_paths(directories).unwrap_or_default()
}

/// True if a command or another user of the machine can change this file.
fn is_changeable(real: &Path) -> bool {
    let writable = WRITABLE.read().unwrap_or_else(PoisonError::into_inner);
    writable.iter().any(|place| real.starts_with(place)) || is_others(real)
}

/// True if the path goes through a world-writable directory and an entry there that belongs to
/// another user.
#[cfg(unix)]
fn is_others(real: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    const FOR_EVERYBODY: u32 = 0o1002;
    let own = rustix::process::geteuid().as_raw();
    let pairs = real.ancestors().zip(real.ancestors().skip(1));
    let mut pairs = pairs.filter_map(|(path, directory)| {
        let directory = directory.metadata().ok()?;
        (directory.mode() & FOR_EVERYBODY == FOR_EVERYBODY).then(|| path.metadata().ok())?
    });
    pairs.any(|found| found.uid() != own && found.uid() != 0)
}

#[cfg(not(unix))]
fn is_others(_real: &Path) -> bool {
    false
}

#[cfg(unix)]
fn is_program(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    let found = file.metadata();
    found.is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(file: &Path) -> bool {
    file.is_file()
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn plant(directory: &Path, name: &str, mode: u32) -> PathBuf {
        fs::create_dir_all(directory).unwrap();
        let path = directory.join(name);
        crate::fs::write_atomic(&path, b"#!/bin/sh\n", crate::fs::Durability::Atomic).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path
    }

    #[test]
    fn what_commands_can_write_is_passed_by() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        let (inside, outside) = (root.join("work/.venv/bin"), root.join("bin"));
        let planted = plant(&inside, "tool", 0o755);
        let own = plant(&outside, "tool", 0o755);
        symlink(&planted, outside.join("linked")).unwrap();
        symlink(&inside, root.join("alias")).unwrap();
        let search = std::env::join_paths([&inside, &root.join("alias"), &outside]).unwrap();
        assert_eq!(find_in(&search, "tool"), Some(planted.clone()));
        distrust(&root.join("work"));
        assert_eq!(find_in(&search, "tool"), Some(own));
        assert_eq!(find_in(&search, "linked"), None);
        assert_eq!(find_in(&search, planted.to_str().unwrap()), None);
        assert_eq!(trusted_directories(&search), outside.as_os_str());
    }

    #[test]
    fn variables_that_lead_to_code_of_commands_are_not_passed_on() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        let (inside, outside) = (root.join("here"), root.join("there"));
        fs::create_dir(&inside).unwrap();
        fs::create_dir(&outside).unwrap();
        symlink(&inside, outside.join("link")).unwrap();
        distrust(&inside);
        let leads = |name: &str, value: &str| {
            let value = value.replace('@', root.to_str().unwrap());
            leads_to_code(OsStr::new(name), OsStr::new(&value))
        };
        for value in ["@/there:", ":", "", "lib", "@/here/lib", "@/there/link"] {
            assert!(leads("LD_LIBRARY_PATH", value), "{value}");
            assert!(leads("PYTHONPATH", value), "{value}");
        }
        assert!(!leads("LD_LIBRARY_PATH", "@/there") && !leads("PYTHONPATH", "@/there"));
        assert!(leads("NODE_OPTIONS", "--require x") && leads("LD_PRELOAD", "x.so"));
        assert!(leads("GIT_DIR", "@/here/.git") && !leads("GIT_DIR", "@/there/.git"));
        assert!(!leads("LANG", "en_US.UTF-8") && !leads("HOME", "@/here"));
    }

    #[test]
    fn only_absolute_directories_count() {
        let search = OsStr::new(".::bin:src");
        assert_eq!(find_in(search, "sh"), None);
        for name in ["./sh", "bin/sh", "../bin/sh", "", "."] {
            assert_eq!(find_in(OsStr::new("/bin:/usr/bin"), name), None, "{name}");
        }
        assert!(find_in(OsStr::new("/bin:/usr/bin"), "sh").is_some());
        assert!(exactly(Path::new("sh")).spawn().is_err());
    }

    #[test]
    fn what_cannot_be_executed_is_no_program() {
        let place = tempfile::tempdir().unwrap();
        plant(place.path(), "tool", 0o644);
        assert_eq!(find_in(place.path().as_os_str(), "tool"), None);
    }

    #[test]
    fn a_program_starts_under_the_name_that_it_was_called_by() {
        let place = tempfile::tempdir().unwrap();
        symlink("/bin/sh", place.path().join("called")).unwrap();
        let called = place.path().join("called");
        let mut command = command(called.to_str().unwrap()).unwrap();
        let output = command.args(["-c", "echo $0"]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert_eq!(said.trim(), called.to_str().unwrap());
    }
}
