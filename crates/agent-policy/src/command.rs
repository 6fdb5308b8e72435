//! The table `programs.txt`, and one command as the table describes it: its options and operands, the
//! command that it starts if it is a wrapper, and the rows that are about it.

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::LazyLock;

use super::reading::UNKNOWN;
use super::targets::resolve;

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

/// Returns true if a rule for `git` without a subcommand covers this one.
pub(super) fn is_covered_by_git(subcommand: &str) -> bool {
    is_a("git-looks git-work git-unnamed", subcommand)
}

/// A program that a script seems to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Invocation {
    /// The last component of the program's path, in lower case; `>` for writing to a file, `<` for
    /// reading one, `|` for a shell with unknown input, `&` for a fork bomb.
    pub name: String,
    /// The words after it.
    pub arguments: Vec<String>,
    /// The directory in which it runs, if known.
    pub directory: Option<Rc<str>>,
    /// True for a wrapper; the words of the command that it starts are left out then.
    pub starts_another: bool,
}

impl Invocation {
    /// The whole command, for a comparison. What follows `--` is for the program that it runs.
    pub(super) fn whole(&self) -> ComparedCommand<'_> {
        let git = Git::of(&self.name, &self.arguments);
        let own = self.arguments.split(|word| word == "--").next();
        let own = own.unwrap_or_default();
        ComparedCommand {
            name: &self.name,
            words: git.as_ref().map_or(own, |git| git.arguments),
            git,
        }
    }
}

/// The last component of a program's path, in lower case, without `.exe`.
///
/// An unknown directory is all that may be unknown before it, as in `$venv/bin/python`.
pub(super) fn program_name(word: &str) -> String {
    let rest = word.strip_prefix(UNKNOWN);
    let known = rest.filter(|rest| rest.starts_with('/'));
    if known.unwrap_or(word).contains(UNKNOWN) {
        return UNKNOWN.to_string();
    }
    let name = word.rsplit(['/', '\\']).next().unwrap_or(word);
    let mut name = name.to_lowercase();
    name.truncate(name.strip_suffix(".exe").map_or(name.len(), str::len));
    name
}

/// The name of the program at the start of these words.
pub(super) fn name_of(words: &[String]) -> &str {
    let program = words.first().map_or("", String::as_str);
    program.rsplit('/').next().unwrap_or(program)
}

/// The long options of a program whose value is the next word, and the letters of the short ones.
fn valued(name: &str) -> (Vec<&'static str>, String) {
    let options = facts("values", name).flat_map(|options| options.split(' '));
    let (long, short): (Vec<&str>, Vec<&str>) = options.partition(|one| one.starts_with("--"));
    (long, short.concat().replace('-', ""))
}

/// The options in a word such as `-xvf`. What follows one with a value is the value: `-XPOST` is
/// `-X POST`.
fn option_letters<'w>(name: &str, word: &'w str) -> &'w str {
    let letters = word.strip_prefix('-').unwrap_or_default();
    if letters.starts_with('-') {
        return "";
    }
    let (_, valued) = valued(name);
    let mut options = letters.split_inclusive(|letter| valued.contains(letter));
    options.next().unwrap_or_default()
}

/// An option with its value; of a cluster, the last one.
#[derive(Debug)]
pub(super) struct OptionValue<'a> {
    pub option: String,
    pub value: &'a str,
    /// The words after it.
    pub behind: &'a [String],
}

/// Splits the options at the beginning from the words after them.
pub(super) fn split_options<'a>(
    name: &str,
    words: &'a [String],
) -> (Vec<OptionValue<'a>>, &'a [String]) {
    let (long, short) = valued(name);
    let (mut options, mut rest) = (Vec::new(), words);
    let is_option = |word: &str| match word {
        "-" => name == "env",
        "--" => name == "git",
        _ => word.starts_with('-'),
    };
    while let Some((word, behind)) = rest.split_first().filter(|(word, _)| is_option(word)) {
        rest = behind;
        let letters = option_letters(name, word);
        let (option, mut value) = if let Some(last) = letters.chars().next_back() {
            (format!("-{last}"), &word[letters.len() + 1..])
        } else {
            let (option, value) = word.split_once('=').unwrap_or((word, ""));
            (option.to_owned(), value)
        };
        let is_valued = letters.ends_with(|letter| short.contains(letter));
        if value.is_empty() && is_valued || long.contains(&word.as_str()) {
            value = rest.first().map_or("", String::as_str);
            rest = rest.get(1..).unwrap_or_default();
        }
        options.push(OptionValue {
            option,
            value,
            behind: rest,
        });
    }
    (options, rest)
}

/// The command that a wrapper starts; `None` if there is no wrapper or it has no command.
pub(super) fn inner_command(words: &[String]) -> Option<&[String]> {
    let (first, mut rest) = words.split_first()?;
    let name = program_name(first);
    let fact = |section| facts(section, &name).next();
    fact("wrappers")?;
    let mut positional = fact("wrapper-words").map_or(0, |number| number.parse().unwrap_or(0));
    let mut subcommands = fact("wrapper-subcommands");
    loop {
        let (options, behind) = split_options(&name, rest);
        // `command -v rm` only prints where it is.
        if name == "command" && options.iter().any(|one| is_in("-v -V", &one.option)) {
            return None;
        }
        let (word, after) = behind.split_first()?;
        rest = behind;
        if word == "--" {
            rest = after.get(positional..)?;
            break;
        } else if let Some(subcommands) = subcommands.take() {
            // One letter, as in `npm x`, may be the value of an option before it.
            let is_doubtful = word.len() == 1 && !options.is_empty();
            if is_doubtful || !is_in(subcommands, word) {
                return None;
            }
        } else if positional > 0 {
            positional -= 1;
        } else if name != "env" || !word.contains('=') {
            break;
        }
        rest = after;
    }
    // `coproc x { ls; }`
    let brace = rest.iter().take(2).position(|word| word == "{");
    let inner = &rest[brace.map_or(0, |brace| brace + 1)..];
    Some(inner).filter(|inner| subcommands.is_none() && !inner.is_empty())
}

/// Returns true if a program runs the command in its arguments, whatever they are.
pub(super) fn is_wrapper(name: &str) -> bool {
    is_a("wrappers", name) && !is_a("wrapper-subcommands", name)
}

/// A command, the command that it starts if it is a wrapper, and so on.
pub(super) fn commands_within(command: &[String]) -> impl Iterator<Item = &[String]> {
    std::iter::successors(Some(command), |words| inner_command(words))
}

/// The part of a command that begins with the program that does the work.
pub(super) fn without_wrappers(command: &[String]) -> &[String] {
    commands_within(command).last().unwrap_or(command)
}

/// The words after `git`, split.
#[derive(Debug)]
pub(super) struct Git<'a> {
    /// The options before the subcommand and their values.
    options: Vec<OptionValue<'a>>,
    pub subcommand: &'a str,
    /// The words after the subcommand.
    pub arguments: &'a [String],
}

impl<'a> Git<'a> {
    /// Splits the words after a program; `None` if it is not git or there is no subcommand.
    pub(super) fn of(name: &str, words: &'a [String]) -> Option<Self> {
        let (options, rest) = split_options("git", words);
        let (subcommand, arguments) = rest.split_first().filter(|_| name == "git")?;
        Some(Self {
            options,
            subcommand,
            arguments,
        })
    }

    /// The values of an option before the subcommand.
    pub(super) fn values(&self, option: &str) -> impl Iterator<Item = &'a str> {
        let meant = self.options.iter().filter(move |one| one.option == option);
        meant.map(|one| one.value)
    }

    /// The directory that the command works in, if it is started in this one.
    pub(super) fn directory(&self, started_in: Option<&str>) -> Option<String> {
        let start = started_in.map(str::to_owned);
        let enter = |directory: Option<String>, word| resolve(directory.as_deref(), word);
        self.values("-C").fold(start, enter)
    }

    /// The arguments that are not options.
    fn operands(&self) -> impl Iterator<Item = &'a str> {
        let mut rest = self.arguments;
        std::iter::from_fn(move || {
            let (_, behind) = split_options("git-clone", rest);
            let (operand, behind) = behind.split_first()?;
            rest = behind;
            Some(operand.as_str())
        })
        .filter(|operand| !operand.starts_with('-'))
    }

    /// The directory of the repository that the command creates, if it creates one.
    pub(super) fn made(&self, started_in: Option<&str>) -> Option<String> {
        let mut operands = self.operands();
        let name = match self.subcommand {
            "init" => operands.next().unwrap_or("."),
            "clone" => {
                let address = operands.next()?.trim_end_matches('/');
                let last = address.rsplit(['/', ':']).next()?;
                operands.next().unwrap_or(last.trim_end_matches(".git"))
            }
            _ => return None,
        };
        resolve(self.directory(started_in).as_deref(), name)
    }
}

/// The part of a command that rows of the table are compared with.
#[derive(Debug)]
pub(super) struct ComparedCommand<'a> {
    pub name: &'a str,
    pub git: Option<Git<'a>>,
    /// The words that count, without those that an allow rule names.
    pub words: &'a [String],
}

impl<'a> ComparedCommand<'a> {
    /// Compares the words of a command after the first `named` ones, which a rule names.
    pub(super) fn added(command: &'a [String], named: usize) -> Self {
        let (name, arguments) = (name_of(command), &command[1..]);
        let git = Git::of(name, arguments);
        let own = git.as_ref().map_or(arguments, |git| git.arguments);
        let named_of_own = (named + own.len()).saturating_sub(command.len());
        let words = &own[named_of_own.min(own.len())..];
        Self { name, git, words }
    }

    /// Returns true if these sections of the table have a row about the command.
    pub(super) fn is_any(&self, sections: &str) -> bool {
        let rows = |section| facts(section, self.name);
        let mut rows = sections.split(' ').flat_map(rows);
        rows.any(|row| self.matches(row))
    }

    fn matches(&self, row: &str) -> bool {
        let operands = |count| {
            let git = self.git.as_ref();
            git.is_some_and(|git| git.operands().nth(count - 1).is_some())
        };
        let mut words = row.split_terminator(' ').enumerate();
        words.all(|(at, word)| match (word, &self.git) {
            ("+" | "++", _) => operands(word.len()),
            ("*", _) => true,
            (_, Some(git)) if at == 0 => word.split('|').any(|one| one == git.subcommand),
            _ => match word.strip_prefix('!') {
                Some(excluded) => !self.has(excluded),
                None => self.has(word),
            },
        })
    }

    /// Returns true if one of these words of a row is among the words.
    pub(super) fn has(&self, row: &str) -> bool {
        let mut words = self.words.iter();
        words.any(|word| row.split('|').any(|one| self.is_word(one, word)))
    }

    fn is_word(&self, row: &str, word: &str) -> bool {
        // The options before a subcommand of git are none of its own.
        let own = if self.name == "git" { "" } else { self.name };
        // PowerShell has `-Verb:RunAs`.
        let (option, value) = word.split_once(['=', ':']).unwrap_or((word, ""));
        match (row.as_bytes(), row.split_once('*')) {
            // Programs accept every prefix of a long name that is not ambiguous.
            ([b'-', b'-', ..], _) => option.len() > 2 && row.starts_with(option),
            // So does PowerShell.
            ([b'-', ..], Some((least, rest))) => {
                let option = option.to_ascii_lowercase();
                let more = option.strip_prefix(least);
                more.is_some_and(|more| rest.starts_with(more))
            }
            ([b'-', ..], None) => option_letters(own, word).contains(&row[1..]),
            // `cmd`, which takes `/s/q` too.
            ([b'/', ..], _) => {
                let mut flags = word.split('/').skip(1);
                word.starts_with('/') && flags.any(|flag| flag.eq_ignore_ascii_case(&row[1..]))
            }
            _ => row.eq_ignore_ascii_case(word) || row.eq_ignore_ascii_case(value),
        }
    }
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
