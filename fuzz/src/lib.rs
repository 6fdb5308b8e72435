//! The checks of the fuzz targets, as plain functions from bytes, so that a regression can be run by
//! an ordinary test as well: `cargo test` in this directory goes through `regressions/`.

pub mod api;
pub mod dialects;
pub mod git_config;
pub mod mcp;
pub mod parse;
pub mod patch;
pub mod policy;
pub mod redact;
pub mod relpath;
pub mod replace;
pub mod text;
mod unchanged;
mod words;

/// A target: takes any bytes, panics if something does not hold.
pub type Target = fn(&[u8]);

/// All targets by their names.
pub const TARGETS: &[(&str, Target)] = &[
    ("parse", parse::check),
    ("dialects", dialects::check),
    ("replace", replace::check),
    ("patch", patch::check),
    ("relpath", relpath::check),
    ("policy", policy::check),
    ("redact", redact::check),
    ("text", text::check),
    ("git_config", git_config::check),
    ("api", api::check),
    ("mcp", mcp::check),
];

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    /// An input lies in `regressions/<target>/`.
    #[test]
    fn what_once_failed_holds_now() {
        for (name, check) in super::TARGETS {
            let directory = Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("regressions")
                .join(name);
            for entry in fs::read_dir(directory).into_iter().flatten() {
                let path = entry.unwrap().path();
                println!("{}", path.display());
                check(&fs::read(path).unwrap());
            }
        }
    }
}
