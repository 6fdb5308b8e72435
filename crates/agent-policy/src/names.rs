//! Facts about programs, from the table `programs.txt`: how they treat their arguments, their input
//! and the project.

use std::collections::HashMap;
use std::sync::LazyLock;

/// The table, each row on one line. Git may have written it with the line ends of Windows.
static TABLE: LazyLock<String> = LazyLock::new(|| {
    let table = include_str!("programs.txt").replace('\r', "");
    table.replace("\n    ", " ")
});

type FactsByName = HashMap<&'static str, Vec<&'static str>>;

static SECTIONS: LazyLock<HashMap<&'static str, FactsByName>> = LazyLock::new(|| {
    let (mut sections, mut title) = (HashMap::<_, FactsByName>::new(), "");
    let is_row = |line: &&str| !line.is_empty() && !line.starts_with('#');
    for row in TABLE.lines().filter(is_row) {
        if let Some(next) = row.strip_prefix('[') {
            title = next.trim_end_matches(']');
            continue;
        }
        let section = sections.entry(title).or_default();
        let (names, fact) = row.split_once(": ").unwrap_or((row, ""));
        for name in names.split(' ') {
            section.entry(name).or_default().push(fact);
            if let Some(family) = name.strip_suffix('*') {
                section.entry(family).or_default().push(fact);
            }
        }
    }
    sections
});

/// The facts about a program in a section of the table; `python*` is also `python3.14`.
pub(super) fn facts(section: &str, name: &str) -> impl Iterator<Item = &'static str> + use<> {
    let section = SECTIONS.get(section);
    debug_assert!(section.is_some(), "there is no such section");
    let known = |name: &str| section.and_then(|section| section.get(name));
    let version = name.trim_start_matches(|c: char| c.is_ascii_alphabetic());
    let family = &name[..name.len() - version.len()];
    let has_version = version.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    let family = has_version.then(|| known(&format!("{family}*"))).flatten();
    known(name).into_iter().chain(family).flatten().copied()
}

/// All facts in a section of the table.
pub(super) fn rows(section: &str) -> impl Iterator<Item = &'static str> + use<> {
    let section = SECTIONS.get(section).into_iter();
    section.flat_map(HashMap::values).flatten().copied()
}

/// Returns true if a program is in one of these sections of the table, with blanks between.
pub(super) fn is_a(sections: &str, name: &str) -> bool {
    let mut sections = sections.split(' ');
    sections.any(|section| facts(section, name).next().is_some())
}

/// Returns true if a list of words with blanks between has this one.
pub(super) fn is_in(list: &str, word: &str) -> bool {
    let mut words = list.as_bytes().split(|byte| *byte == b' ');
    words.any(|one| one == word.as_bytes())
}

/// Returns true if a program runs code from its arguments or its input, in any language.
pub(super) fn runs_code(name: &str) -> bool {
    is_a("shells windows-shells interpreters", name)
}

/// Returns true if a program starts none of its arguments.
pub(super) fn starts_no_argument(name: &str) -> bool {
    // `fd -x rm`
    is_a("looks self-contained start-no-argument", name) && !name.starts_with("fd")
}

/// Returns true if a rule for `git` without a subcommand covers this one.
pub(super) fn is_covered_by_git(subcommand: &str) -> bool {
    is_a("git-looks git-work git-unnamed", subcommand)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_of_the_table_is_understood() {
        for pattern in rows("risky-text").chain(rows("harmless-code")) {
            assert!(regex::Regex::new(pattern).is_ok(), "{pattern}");
        }
        assert!(rows("wrapper-words").all(|number| number.parse::<usize>().is_ok()));
        assert!(is_a("interpreters", "python3.14") && is_a("interpreters", "python"));
        assert!(!is_a("interpreters", "node-gyp") && is_a("telling", "mkfs.ext4"));
    }
}
