//! The words that chat pages show over a code block, and that copying takes along.

/// Whether a line is only the name of a button.
pub(in crate::reply) fn is_button(line: &str) -> bool {
    matches!(line, "Copy code" | "Copy Code" | "Copy" | "Edit")
}

/// Whether a line is only the name of a language.
pub(in crate::reply) fn is_language(line: &str) -> bool {
    const LANGUAGES: &[&str] = &[
        "bash",
        "c",
        "c#",
        "c++",
        "console",
        "cpp",
        "csharp",
        "css",
        "diff",
        "dockerfile",
        "go",
        "haskell",
        "html",
        "java",
        "javascript",
        "js",
        "json",
        "jsx",
        "kotlin",
        "lua",
        "makefile",
        "markdown",
        "md",
        "perl",
        "php",
        "plaintext",
        "powershell",
        "py",
        "python",
        "r",
        "ruby",
        "rust",
        "scala",
        "scss",
        "sh",
        "shell",
        "sql",
        "swift",
        "text",
        "toml",
        "ts",
        "tsx",
        "txt",
        "typescript",
        "xml",
        "yaml",
        "yml",
        "zsh",
    ];
    let longest = 10;
    line.len() <= longest
        && LANGUAGES
            .iter()
            .any(|known| known.eq_ignore_ascii_case(line))
}
