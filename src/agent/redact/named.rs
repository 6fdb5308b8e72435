//! The files that a script or an output names, if they are of a kind that holds settings or
//! secrets.
//!
//! Output that comes from a file does not say which one, so the file is read first, as if the model
//! had asked for it.

use std::collections::BTreeSet;

use crate::protocol::RelPath;
use crate::protocol::generated::has_credentials;
use crate::secrets::keeps_settings;

/// How many files are taken from a text.
const MAX_FILES: usize = 50;

/// The files that a text names, if there are such; whether they are there is not known.
pub(super) fn named(text: &str) -> BTreeSet<RelPath> {
    let mut found = BTreeSet::new();
    let words = text.split(|c: char| c.is_whitespace() || "\"'`=:,;()<>|&".contains(c));
    for word in words.filter(|word| is_name(word)) {
        // A diff puts `a/` and `b/` before the names.
        let within = word.strip_prefix("a/").or_else(|| word.strip_prefix("b/"));
        let paths = [Some(word), within].into_iter().flatten();
        found.extend(paths.filter_map(|path| RelPath::parse(path).ok()));
        if found.len() >= MAX_FILES {
            break;
        }
    }
    found
}

fn is_name(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or_default();
    has_credentials(name) || keeps_settings(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_settings_are_taken_from_scripts_hits_and_differences() {
        let text = "cd x && head -3 ./config/database.yml | cat\n+++ b/app/prod.env\nconf/my.ini:12: a=b\nsrc/main.rs:3: x\n/etc/x.yml ../y.yml\n";
        let found = named(text);
        let paths: Vec<&str> = found.iter().map(RelPath::as_str).collect();
        assert!(paths.contains(&"config/database.yml"), "{paths:?}");
        assert!(paths.contains(&"app/prod.env"), "{paths:?}");
        assert!(paths.contains(&"conf/my.ini"), "{paths:?}");
        assert!(
            !paths.iter().any(|path| path.contains("main.rs")),
            "{paths:?}"
        );
        assert!(
            !paths
                .iter()
                .any(|path| path.contains("y.yml") && path.contains(".."))
        );
    }
}
