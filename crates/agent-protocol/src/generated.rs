//! The list of generated files: names that tools write and people do not.
//!
//! Decided by name alone. Listings count and mark these files, and commands that look at many files
//! skip them. A caller that names such a file gets it: that decision is left to the callers.

use std::collections::BTreeSet;

use super::{Listed, RelPath, by_directory};

/// Directories that tools fill. Names that people also use for their own, such as `build` or
/// `target`, are not in this list.
const DIRECTORIES: &[&str] = &[
    ".dart_tool",
    ".eggs",
    ".gradle",
    ".hypothesis",
    ".ipynb_checkpoints",
    ".mypy_cache",
    ".next",
    ".nox",
    ".nuxt",
    ".parcel-cache",
    ".pytest_cache",
    ".ruff_cache",
    ".svelte-kit",
    ".terraform",
    ".tox",
    ".turbo",
    ".venv",
    "CMakeFiles",
    "__pycache__",
    "bower_components",
    "node_modules",
];

/// Names of output directories. They count only if the directory is ignored, because people use
/// these names for their own directories too.
const OUTPUT: &[&str] = &[
    "Debug",
    "Release",
    "bin",
    "build",
    "cache",
    "coverage",
    "deps",
    "dist",
    "env",
    "log",
    "logs",
    "obj",
    "out",
    "output",
    "target",
    "temp",
    "third_party",
    "tmp",
    "vendor",
    "venv",
    "virtualenv",
];

/// Lock files of package managers.
const LOCKS: &[&str] = &[
    "Cargo.lock",
    "Gemfile.lock",
    "Pipfile.lock",
    "bun.lock",
    "bun.lockb",
    "composer.lock",
    "flake.lock",
    "go.sum",
    "npm-shrinkwrap.json",
    "package-lock.json",
    "pnpm-lock.yaml",
    "poetry.lock",
    "uv.lock",
    "yarn.lock",
];

/// Extensions of binary files.
const BINARY: &[&str] = &[
    "7z", "a", "avi", "bin", "bmp", "bz2", "class", "dll", "doc", "docx", "dylib", "eot", "exe",
    "gif", "gz", "ico", "jar", "jpeg", "jpg", "lib", "mov", "mp3", "mp4", "o", "obj", "odt", "ogg",
    "otf", "pdf", "png", "ppt", "pptx", "pyc", "rar", "rlib", "so", "sqlite", "tar", "tgz", "tif",
    "tiff", "ttf", "wasm", "wav", "webm", "webp", "woff", "woff2", "xls", "xlsx", "xz", "zip",
    "zst",
];

/// Returns true if tools fill a directory of this name.
pub fn is_generated_directory(name: &str) -> bool {
    DIRECTORIES.contains(&name)
}

/// Returns true if an ignored directory of this name is filled by tools. The name matters because
/// people also ignore directories of their own.
pub fn is_ignored_output(name: &str) -> bool {
    is_generated_directory(name) || OUTPUT.contains(&name) || name.ends_with("cache")
}

/// The outermost generated directory that is the path or contains it.
pub fn generated_directory(path: &RelPath) -> Option<&str> {
    let mut end = 0;
    for name in path.components() {
        end += name.len();
        if is_generated_directory(name) {
            return path.as_str().get(..end);
        }
        end += 1;
    }
    None
}

/// Directories of a workspace that tools fill: by their names, by marks that lie in them
/// (`CACHEDIR.TAG`), or by a build file beside them (`target/` beside `Cargo.toml`).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GeneratedDirectories {
    marked: BTreeSet<String>,
}

impl GeneratedDirectories {
    /// Finds the marked ones among the files of a workspace.
    pub fn among(files: &[Listed]) -> Self {
        let mut generated = Self::default();
        for (directory, files) in by_directory(files) {
            for file in files {
                generated.note(directory, file.path.file_name());
            }
        }
        generated
    }

    /// True if no file told about any.
    pub fn is_empty(&self) -> bool {
        self.marked.is_empty()
    }

    /// Adds those that other files told about.
    pub fn add(&mut self, other: &Self) {
        self.marked.extend(other.marked.iter().cloned());
    }

    /// Notes the directories that a file of this name tells about.
    pub fn note(&mut self, directory: &str, name: &str) {
        if matches!(name, "CACHEDIR.TAG" | "CMakeCache.txt" | "pyvenv.cfg") {
            // A build at the top of the workspace does not make all of it generated.
            if !directory.is_empty() {
                self.marked.insert(directory.to_owned());
            }
            return;
        }
        let beside: &[&str] = match name {
            "Cargo.toml" | "pom.xml" | "build.sbt" => &["target"],
            "build.gradle" | "build.gradle.kts" | "CMakeLists.txt" | "meson.build" | "setup.py" => {
                &["build"]
            }
            _ if name.ends_with(".csproj") || name.ends_with(".fsproj") => &["bin", "obj"],
            _ => return,
        };
        let slash = if directory.is_empty() { "" } else { "/" };
        let paths = beside
            .iter()
            .map(|name| format!("{directory}{slash}{name}"));
        self.marked.extend(paths);
    }

    /// The outermost generated directory that contains the path, for what a person reviews. Marks
    /// count only in directories with names of output: a model could put one beside the sources.
    pub fn containing_output<'p>(&self, path: &'p str) -> Option<&'p str> {
        let directory = self.containing(path)?;
        let name = directory.rsplit('/').next().unwrap_or(directory);
        (is_ignored_output(name) || name.ends_with(".egg-info")).then_some(directory)
    }

    /// The outermost generated directory that contains the path.
    pub fn containing<'p>(&self, path: &'p str) -> Option<&'p str> {
        let slashes = path.match_indices('/').map(|(at, _)| at);
        slashes.map(|at| &path[..at]).find(|directory| {
            let name = directory.rsplit('/').next().unwrap_or(directory);
            is_generated_directory(name)
                || name.ends_with(".egg-info")
                || self.marked.contains(*directory)
        })
    }
}

/// Returns true if the file is in a generated directory.
pub fn is_generated(path: &RelPath) -> bool {
    generated_directory(path).is_some()
}

/// Returns true if a package manager writes a file of this name.
pub fn is_lock_file(name: &str) -> bool {
    LOCKS.contains(&name)
}

/// Describes a file that nobody reads, such as a lock file. Such files are listed but not offered.
pub fn unread(path: &RelPath) -> Option<&'static str> {
    let name = path.file_name();
    if is_lock_file(name) {
        return Some("lock file");
    }
    if has_credentials(name) {
        return Some("credentials");
    }
    let (stem, extension) = name.rsplit_once('.')?;
    let extension = extension.to_ascii_lowercase();
    if BINARY.contains(&extension.as_str()) {
        return Some("binary");
    }
    let is_minified = stem.rsplit('.').next() == Some("min") || extension == "map";
    is_minified.then_some("generated")
}

/// Returns true if a file of this name usually holds secrets and is not an example file.
///
/// Called for every name of a directory walk, so most names are dismissed by their extension.
pub fn has_credentials(name: &str) -> bool {
    const NAMES: [&str; 19] = [
        ".netrc",
        "_netrc",
        ".authinfo",
        ".pgpass",
        "pgpass.conf",
        ".npmrc",
        ".pypirc",
        ".htpasswd",
        ".my.cnf",
        ".git-credentials",
        ".vault-token",
        ".vault_pass",
        "credentials",
        "shadow",
        "id_rsa",
        "id_dsa",
        "id_ecdsa",
        "id_ed25519",
        "kubeconfig",
    ];
    const EXAMPLES: [&str; 5] = ["example", "sample", "template", "dist", "schema"];
    let is_example = || EXAMPLES.iter().any(|word| name.contains(word));
    let extension = name.rsplit_once('.').map(|(_, extension)| extension);
    match extension {
        Some("pem" | "key" | "ppk" | "p12" | "pfx") => true,
        Some("env") => !is_example(),
        _ => NAMES.contains(&name) || (name.starts_with(".env.") && !is_example()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn generated_among(paths: &[&str]) -> GeneratedDirectories {
        let file = |path: &&str| Listed::of_size(RelPath::parse(path).unwrap(), 0);
        let files: Vec<Listed> = paths.iter().map(file).collect();
        GeneratedDirectories::among(&files)
    }

    #[test]
    fn a_path_lies_in_the_outermost_directory_that_tools_fill() {
        let case = |path: &str, expected: Option<&str>| {
            let path = RelPath::parse(path).unwrap();
            assert_eq!(generated_directory(&path), expected, "{path}");
        };
        case("src/main.rs", None);
        case("node_modules", Some("node_modules"));
        case(
            "web/node_modules/a/node_modules/b.js",
            Some("web/node_modules"),
        );
        case("my_node_modules/a.js", None);
    }

    #[test]
    fn build_output_is_known_by_its_marks_and_by_what_lies_beside_it() {
        let paths = [
            "Cargo.toml",
            "build/CMakeCache.txt",
            "env/pyvenv.cfg",
            "lib/pom.xml",
            "app/build.gradle.kts",
            "cpp/CMakeLists.txt",
            "out/CACHEDIR.TAG",
            "net/x.csproj",
        ];
        let found = generated_among(&paths);
        let case = |path: &str, expected: Option<&str>| {
            assert_eq!(found.containing(path), expected, "{path}");
        };
        case("target/debug/x", Some("target"));
        case("build/x", Some("build"));
        case("env/lib/y.py", Some("env"));
        case("lib/target/classes/A.class", Some("lib/target"));
        case("app/build/libs/a.jar", Some("app/build"));
        case("cpp/build/tests", Some("cpp/build"));
        case("out/a/b", Some("out"));
        case("net/obj/a", Some("net/obj"));
        case("x/node_modules/y", Some("x/node_modules"));
        case("x.egg-info/PKG-INFO", Some("x.egg-info"));
        case("src/target/x.rs", None);
        case("lib/build/x", None);
        case("target", None);
        let planted = generated_among(&["src/CACHEDIR.TAG"]);
        assert_eq!(planted.containing("src/a.rs"), Some("src"));
        assert_eq!(planted.containing_output("src/a.rs"), None);
        assert_eq!(found.containing_output("build/x"), Some("build"));
        let at_the_top = generated_among(&["CMakeCache.txt"]);
        assert_eq!(at_the_top.containing("src/a.c"), None);
        assert_eq!(at_the_top.containing("CMakeFiles/x"), Some("CMakeFiles"));
    }

    #[test]
    fn what_nobody_reads_is_known_by_its_name() {
        let case = |path: &str, expected: Option<&str>| {
            let path = RelPath::parse(path).unwrap();
            assert_eq!(unread(&path), expected, "{path}");
        };
        case("config/.env.local", Some("credentials"));
        case("deploy/prod.env", Some("credentials"));
        case("deploy/sample.env", None);
        case("tls/server.key", Some("credentials"));
        case(".npmrc", Some("credentials"));
        case(".env.example", None);
        case("src/key.rs", None);
        case("a/Cargo.lock", Some("lock file"));
        case("logo.PNG", Some("binary"));
        case("app.min.js", Some("generated"));
        case("app.js", None);
        case("Makefile", None);
    }
}
