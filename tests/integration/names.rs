//! Type names are unique in the whole project, so that a search for a name finds one thing.
//!
//! Reads the sources of `src` and `crates`. Tests may name their types as they like.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::direction::{sources, without_tests};

/// The one name that every crate may use: it is read with the name of the crate.
const SHARED: &str = "Error";

#[test]
fn type_names_are_unique() {
    let types = types_in(Path::new(env!("CARGO_MANIFEST_DIR")));
    assert!(types.len() > 500, "only {} types were found", types.len());
    let duplicates = duplicates(&types);
    assert!(duplicates.is_empty(), "{}", duplicates.join("\n"));
}

#[test]
fn a_second_type_of_a_name_is_found() {
    let mut types = BTreeMap::from([("A".to_owned(), vec!["a.rs:1".to_owned()])]);
    assert!(duplicates(&types).is_empty());
    types.get_mut("A").unwrap().push("b.rs:2".to_owned());
    assert!(duplicates(&types)[0].ends_with("a.rs:1, b.rs:2"));
}

#[test]
fn finds_definitions_and_nothing_else() {
    let source = "pub(super) struct A<'a> {\n    /// struct B\n    type C = u8;\n    pub struct D;\n}\n\
                  type E = u8;\nenum F {}\nimpl Trait for G {}\npub trait H {}\nlet structure = 1;\n";
    let names: Vec<String> = definitions(source).map(|(name, _)| name).collect();
    assert_eq!(names, ["A", "D", "E", "F", "H"]);
}

/// A sentence for each name that several types have.
fn duplicates(types: &BTreeMap<String, Vec<String>>) -> Vec<String> {
    let shared =
        (types.iter()).filter(|(name, places)| places.len() > 1 && name.as_str() != SHARED);
    let told = shared.map(|(name, places)| {
        let places = places.join(", ");
        format!("`{name}` is the name of several types, rename one: {places}")
    });
    told.collect()
}

/// The places, as `path:line`, where each type is defined, tests aside.
fn types_in(root: &Path) -> BTreeMap<String, Vec<String>> {
    let mut files = Vec::new();
    sources(&root.join("src"), &mut files);
    for package in fs::read_dir(root.join("crates")).unwrap() {
        sources(&package.unwrap().path().join("src"), &mut files);
    }
    files.sort();
    let sources: Vec<(PathBuf, String)> = files
        .into_iter()
        .map(|file| {
            let source = fs::read_to_string(&file).unwrap();
            (file.strip_prefix(root).unwrap().to_owned(), source)
        })
        .collect();
    let test_modules: BTreeSet<PathBuf> = (sources.iter())
        .flat_map(|(file, source)| test_modules_of(file, source))
        .collect();
    let mut types: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (file, source) in &sources {
        let module = file.with_extension("");
        let is_test = |module: &Path| module.ends_with("tests") || test_modules.contains(module);
        if module.ancestors().any(is_test) {
            continue;
        }
        for (name, definition) in definitions(&without_tests(source)) {
            let above = source.lines().take_while(|line| *line != definition);
            let place = format!("{}:{}", file.display(), above.count() + 1);
            types.entry(name).or_default().push(place);
        }
    }
    types
}

/// The modules in files of their own that a file declares for tests only, as paths without `.rs`.
fn test_modules_of(file: &Path, source: &str) -> Vec<PathBuf> {
    let directory = if file.ends_with("lib.rs") || file.ends_with("main.rs") {
        file.parent().unwrap().to_owned()
    } else {
        file.with_extension("")
    };
    let lines: Vec<&str> = source.lines().map(str::trim).collect();
    lines
        .windows(2)
        .filter(|pair| pair[0] == "#[cfg(test)]")
        .filter_map(|pair| {
            let (_, declared) = pair[1].rsplit_once("mod ")?;
            Some(directory.join(declared.strip_suffix(';')?))
        })
        .collect()
}

/// The types that a source defines, each with its line. Associated types are none of them.
fn definitions(source: &str) -> impl Iterator<Item = (String, &str)> {
    source.lines().filter_map(|line| {
        let item = line.trim_start();
        let item = match item.strip_prefix("pub") {
            Some(rest) if rest.starts_with('(') => rest.split_once(") ")?.1,
            Some(rest) => rest.trim_start(),
            None => item,
        };
        let (keyword, rest) = item.split_once(' ')?;
        let is_type = match keyword {
            "struct" | "enum" | "trait" | "union" => true,
            "type" => !line.starts_with(' '),
            _ => false,
        };
        let is_word = |character: char| character.is_alphanumeric() || character == '_';
        let name = rest.split(|character| !is_word(character)).next()?;
        (is_type && !name.is_empty()).then(|| (name.to_owned(), line))
    })
}
