//! Applies the table to one step and returns every rule that matches, the strictest first.

use std::fmt::Write as _;
use std::{iter, slice};

use super::CommandConfinement::{Missing, RecordsExposed, Sandboxed};
use super::command::{Invocation, is_in};
use super::reading::{ScriptReader, UNKNOWN};
use super::shell::Opacity;
use super::table::{BUILT_IN, BuiltIn, RuleCheck, StepKind};
use super::targets::is_within;
use super::{
    Decision, Dialect, Grant, PERSON, PersonRules, Policy, Rule, Ruling, checks, rules, shell,
};
use agent_protocol::{Command, RelPath, Selection};

/// The maximum length of a command that is quoted in a ruling, in characters.
const MAX_ABOUT: usize = 200;

/// The maximum number of paths in a script that allow rules examine: each may be a link, which the
/// file system is asked about.
const MAX_PATHS: usize = 1024;

/// A command of a script with the person's rules that allow it.
type Covered<'a> = (Vec<String>, Vec<&'a Rule>);

impl Policy {
    /// The words of the commands in a script, with their quotes removed, as far as they can be read.
    pub fn words_of(&self, script: &str) -> Vec<String> {
        let commands = self.read(script).invocations.into_iter();
        let words = commands.flat_map(|one| iter::once(one.name).chain(one.arguments));
        words.collect()
    }

    /// Reads a script, unless it is too long.
    fn read(&self, script: &str) -> ScriptReader<'_> {
        let mut reader = ScriptReader::new(&self.places);
        if script.len() <= shell::MAX_BYTES {
            reader.script(script, self.dialect);
        }
        reader
    }

    /// The rules that match a script, the strictest first: the first one decides. Never empty.
    pub fn explain(&self, script: &str) -> Vec<Ruling> {
        let covering = self.covering(script);
        let opacity = covering.as_ref().err().copied().flatten();
        let covered = covering.unwrap_or_default();
        let mut rulings = self.rulings_on_script(script, &covered);
        let PersonRules { allow, always, .. } = &self.person;
        let has_allowed = !allow.is_empty() || !always.is_empty();
        let asks_one_by_one = matches!(self.confinement, Missing | RecordsExposed);
        for row in self.rows_in_force() {
            let RuleCheck::Every(kinds) = row.check else {
                continue;
            };
            let yields = row.decision == Decision::Ask && !asks_one_by_one;
            if !kinds.contains(&StepKind::Command) || yields && !covered.is_empty() {
                continue;
            }
            let mut ruling = row.ruling("");
            if let Some(opacity) = opacity.filter(|_| yields && has_allowed) {
                let _ = write!(ruling.why, "; allow rules do not apply: {opacity}");
            }
            rulings.push(ruling);
        }
        for rule in covered.iter().flat_map(|(_, rules)| rules) {
            let ruling = rule.row(Decision::Allow, PERSON);
            if !rulings.contains(&ruling) {
                rulings.push(ruling);
            }
        }
        strictest_first(rulings)
    }

    /// Every rule that matches a step that runs nothing, the strictest first; never empty.
    pub(super) fn judge_file_step(&self, command: &Command) -> Vec<Ruling> {
        let kind = if command.changes_files() {
            StepKind::Change
        } else {
            StepKind::Reading
        };
        let changed = command.changed_paths();
        let touched = touched(command);
        let mut rulings = Vec::new();
        for row in self.rows_in_force() {
            match row.check {
                RuleCheck::Every(kinds) if kinds.contains(&kind) => rulings.push(row.ruling("")),
                RuleCheck::Write(is_protected) => {
                    let written = changed.iter().filter(|path| is_protected(path, self));
                    rulings.extend(written.map(|path| row.ruling(path.as_str())));
                }
                RuleCheck::Touch(is_hidden) => {
                    let hidden = touched.iter().filter(|text| is_hidden(text, self));
                    rulings.extend(hidden.map(|text| row.ruling(text)));
                }
                _ => {}
            }
        }
        strictest_first(rulings)
    }

    /// Returns true if a step could not change a file without a question.
    pub(super) fn protects(&self, path: &RelPath) -> bool {
        self.rows_in_force().any(
            |row| matches!(row.check, RuleCheck::Write(is_protected) if is_protected(path, self)),
        )
    }

    pub(super) fn rows_in_force(&self) -> impl Iterator<Item = &'static BuiltIn> {
        BUILT_IN.iter().filter(|row| row.is_in_force(self))
    }

    /// Matches the built-in rules, and the ask and deny rules of the person and the project.
    fn rulings_on_script(&self, script: &str, covered: &[Covered<'_>]) -> Vec<Ruling> {
        let reader = self.read(script);
        let mut rulings = Vec::new();
        for row in self.rows_in_force() {
            let about = match row.check {
                RuleCheck::Text(is_bad) => is_bad(script).then(String::new),
                _ if self.is_lifted(row, covered) => None,
                _ => self.matched(row, &reader),
            };
            rulings.extend(about.map(|about| row.ruling(&about)));
        }
        let is_opaque = shell::read(script).is_err();
        for (rules, decision, source) in self.written() {
            let is_loose = is_opaque && decision == Decision::Deny;
            // Allow rules are left to `covering`.
            for rule in rules.iter().filter(|_| decision != Decision::Allow) {
                let invocation = reader.invocations.iter().find(|invocation| {
                    rule.matches(invocation) || is_loose && rule.is_mentioned(invocation)
                });
                rulings.extend(invocation.map(|command| Ruling {
                    about: in_short(command),
                    ..rule.row(decision, source)
                }));
            }
        }
        rulings
    }

    /// The first command of a script that a rule is about, as it is quoted.
    fn matched(&self, row: &BuiltIn, script: &ScriptReader<'_>) -> Option<String> {
        if let RuleCheck::Unreadable = row.check {
            return (!script.is_complete).then(String::new);
        }
        let mut made = Vec::new();
        let found = script.invocations.iter().find(|command| {
            // A repository that the script itself creates is not protected while the script runs.
            if row.lifted_by == Some(Grant::GitWrite)
                && let Some(git) = command.whole().git
            {
                made.extend(git.made(command.directory.as_deref()));
                let directory = git.directory(command.directory.as_deref());
                let is_made = |directory: String| made.iter().any(|one| is_within(&directory, one));
                if directory.is_some_and(is_made) {
                    return false;
                }
            }
            match row.check {
                RuleCheck::Programs(section) => command.whole().is_any(section),
                RuleCheck::Command(is_meant) => is_meant(command),
                RuleCheck::Reach(reach) => checks::reach(command, &self.places) == reach,
                _ => false,
            }
        });
        found.map(in_short)
    }

    /// Returns true if the person's rules name each command of the script that a question is about:
    /// `git` does not allow `git push`.
    fn is_lifted(&self, row: &BuiltIn, covered: &[Covered<'_>]) -> bool {
        let is_about = |words: &[String]| {
            let mut reader = ScriptReader::new(&self.places);
            reader.start(words.to_vec());
            self.matched(row, &reader).is_some()
        };
        let asked = covered.iter().filter(|(command, _)| is_about(command));
        let mut asked = asked.peekable();
        row.decision == Decision::Ask
            && row.lifted_by.is_none()
            && asked.peek().is_some()
            && asked.all(|(_, rules)| rules.iter().any(|rule| is_about(&rule.words)))
    }

    /// The directories to which a plain `cd` may lead; `None` if it may lead out of the workspace.
    fn entered(&self, command: &[String], directories: &[String]) -> Option<Vec<String>> {
        let word = command.get(1).filter(|_| rules::is_neutral(command))?;
        let enter = |directory: &String| {
            let paths = (self.places).paths_of(directory, word, self.has_sandbox());
            paths.map(|_| format!("{directory}/{word}"))
        };
        directories.iter().map(enter).collect()
    }

    /// The commands of a script with the allow rules for each, if all of them are covered.
    ///
    /// If not, and if the script is opaque, the error says why.
    fn covering(&self, script: &str) -> Result<Vec<Covered<'_>>, Option<Opacity>> {
        if self.dialect != Dialect::Posix {
            return Err(None);
        }
        let commands = shell::read(script).map_err(Some)?;
        // Wherever the script may be by now: `cd` can fail.
        let mut directories = vec![self.places.workspace.clone()];
        let (mut covered, mut paths) = (Vec::new(), 0);
        for command in commands {
            paths += command.len() * directories.len();
            if paths > MAX_PATHS {
                return Err(None);
            }
            let is_held =
                self.confinement == Sandboxed || rules::runs_nothing_of_the_project(&command);
            let always = self.person.always.iter().filter(|_| is_held);
            let all = self.person.allow.iter().chain(always);
            let allowing: Vec<&Rule> = all
                .filter(|rule| rule.allows(&command, self, &directories))
                .collect();
            if allowing.is_empty() && !rules::is_neutral(&command) {
                return Err(None);
            }
            if is_in("cd pushd popd", &command[0]) {
                let entered = self.entered(&command, &directories);
                directories.extend(entered.ok_or(None)?);
            }
            if !allowing.is_empty() {
                covered.push((command, allowing));
            }
        }
        Some(covered).filter(|all| !all.is_empty()).ok_or(None)
    }
}

fn strictest_first(mut rulings: Vec<Ruling>) -> Vec<Ruling> {
    rulings.sort_by_key(|ruling| std::cmp::Reverse(ruling.decision));
    rulings
}

/// Every path or glob that a step names; a list counts as a whole and in parts.
fn touched(command: &Command) -> Vec<String> {
    let paths = command.changed_paths().into_iter().chain(command.path());
    let mut touched: Vec<String> = paths.map(ToString::to_string).collect();
    let readings = command.selection().map(Selection::readings);
    touched.extend(readings.into_iter().flatten().map(String::from));
    if let Command::ListFiles {
        glob: Some(glob), ..
    }
    | Command::SearchText {
        glob: Some(glob), ..
    } = command
    {
        touched.extend(glob.split(',').map(|part| part.trim().to_owned()));
        touched.push(glob.clone());
    }
    touched
}

/// A command as it is quoted in a ruling.
fn in_short(invocation: &Invocation) -> String {
    let words = [slice::from_ref(&invocation.name), &invocation.arguments].concat();
    let words = words.join(" ").replace(UNKNOWN, "…");
    match words.char_indices().nth(MAX_ABOUT) {
        Some((end, _)) => format!("{} ...", &words[..end]),
        None => words,
    }
}
