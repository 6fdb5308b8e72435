//! The kind of a file, as its name tells. It decides what may be taken off its lines.

/// Kinds of files by what their lines look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileContent {
    /// Code: no line of it begins with a fence or, a whole file through, with a number.
    Code,
    /// Words, or data that words are kept in: its lines may look like anything.
    Prose,
    /// Nobody knows what: fences do not belong to it, but numbers may.
    Data,
}

impl FileContent {
    /// The kind of a file with this name.
    pub(crate) fn of(name: &str) -> Self {
        const PROSE: &[&str] = &[
            "md", "markdown", "mdx", "mdc", "mkd", "qmd", "rmd", "txt", "text", "rst", "adoc",
            "org", "csv", "tsv", "yaml", "yml", "log", "prompt",
        ];
        const CODE: &[&str] = &[
            "astro", "bash", "c", "cc", "cjs", "clj", "cmake", "cpp", "cs", "css", "cxx", "dart",
            "erl", "ex", "exs", "fish", "fs", "go", "gradle", "graphql", "groovy", "h", "hcl",
            "hh", "hpp", "hs", "htm", "html", "ini", "java", "jl", "js", "json", "jsonc", "jsx",
            "kt", "kts", "less", "lua", "m", "mjs", "ml", "mm", "mts", "nim", "php", "pl", "pm",
            "proto", "ps1", "py", "pyi", "r", "rb", "rs", "sass", "scala", "scss", "sh", "sql",
            "svelte", "swift", "tf", "toml", "ts", "tsx", "vue", "xml", "zig", "zsh",
        ];
        let Some((_, extension)) = name.rsplit_once('.').filter(|(stem, _)| !stem.is_empty())
        else {
            return Self::Prose;
        };
        let is_in = |known: &[&str]| {
            known
                .iter()
                .any(|known| known.eq_ignore_ascii_case(extension))
        };
        if is_in(PROSE) {
            Self::Prose
        } else if is_in(CODE) {
            Self::Code
        } else {
            Self::Data
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_by_the_extension() {
        for (name, content) in [
            ("main.rs", FileContent::Code),
            ("A.PY", FileContent::Code),
            ("README.md", FileContent::Prose),
            ("Makefile", FileContent::Prose),
            (".gitignore", FileContent::Prose),
            ("users.dat", FileContent::Data),
            ("case1.expected", FileContent::Data),
        ] {
            assert_eq!(FileContent::of(name), content, "{name}");
        }
    }
}
