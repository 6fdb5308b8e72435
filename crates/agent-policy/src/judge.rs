//! Applies the table to one step and returns every rule that matches, the strictest first.

use std::fmt::Write as _;

use super::reading::{Invocation, ScriptReader, ScriptReading, UNKNOWN};
use super::shell::Opacity;
use super::table::{BUILT_IN, BuiltIn, RuleCheck, StepKind};
use super::{
    CommandConfinement, Decision, Dialect, Grant, PERSON, Policy, Rule, Ruling, Script, checks,
    propose, protected, shell,
};
use agent_protocol::{Command, FileChange, RelPath, Selection};

/// The maximum length of a command that is quoted in a ruling, in characters.
const MAX_ABOUT: usize = 200;

/// A rule that matched, and the allow rules that override it.
struct RuleMatch {
    ruling: Ruling,
    yields: Yields,
}

/// The person's allow rules that override a question.
#[derive(Clone, Copy)]
enum Yields {
    Never,
    /// Any rule that covers the script.
    ToAnyRule,
    /// Only a rule that names the command in question: `git` does not allow `git push`.
    ToRuleThatNamesIt(&'static BuiltIn),
}

impl Policy {
    /// Every rule that matches a script, the strictest first; never empty.
    pub(super) fn judge_script(&self, script: &str) -> Vec<Ruling> {
        let mut findings = self.findings_on_text(script);
        let covering = self.covering(script);
        let opacity = covering.as_ref().err().copied().flatten();
        let every = self
            .rows_in_force()
            .filter(|row| row.is_on_every(StepKind::Command));
        findings.extend(every.map(|row| self.finding_on_every(row, opacity)));
        if let Ok(covered) = covering {
            findings.retain(|finding| !self.yields(finding, &covered));
            findings.extend(allowing(&covered));
        }
        strictest_first(findings)
    }

    /// Every rule that matches a step that runs nothing, the strictest first; never empty.
    pub(super) fn judge_file_step(&self, command: &Command) -> Vec<Ruling> {
        let (kind, changed) = if command.changes_files() {
            (StepKind::Change, paths(command))
        } else {
            (StepKind::Reading, Vec::new())
        };
        let touched = touched(command);
        let mut findings = Vec::new();
        for row in self.rows_in_force() {
            if row.is_on_every(kind) {
                findings.push(built_in(row, ""));
            }
            let written = changed
                .iter()
                .filter(|path| self.is_protected_by(row, path));
            findings.extend(written.map(|path| built_in(row, path.as_str())));
            let is_hidden = |text: &&String| match row.check {
                RuleCheck::Touch(is_hidden) => is_hidden(text),
                RuleCheck::TouchOwn => RelPath::parse(text).is_ok_and(|path| self.is_own(&path)),
                _ => false,
            };
            findings.extend(
                touched
                    .iter()
                    .filter(is_hidden)
                    .map(|text| built_in(row, text)),
            );
        }
        strictest_first(findings)
    }

    /// Returns true if the settings reserve a path for `agent` itself.
    pub(super) fn is_own(&self, path: &RelPath) -> bool {
        self.own_paths
            .iter()
            .any(|own| protected::is_within(path, own))
    }

    /// Returns true if a step could not change a file without a question.
    pub(super) fn protects(&self, path: &RelPath) -> bool {
        self.rows_in_force()
            .any(|row| self.is_protected_by(row, path))
    }

    fn is_protected_by(&self, row: &BuiltIn, path: &RelPath) -> bool {
        match row.check {
            RuleCheck::Write(is_protected) => is_protected(path),
            RuleCheck::WriteObeyed => self
                .obeyed_by_git
                .iter()
                .any(|obeyed| protected::is_within(path, obeyed)),
            _ => false,
        }
    }

    pub(super) fn rows_in_force(&self) -> impl Iterator<Item = &'static BuiltIn> {
        BUILT_IN.iter().filter(|row| row.is_in_force(self))
    }

    fn findings_on_text(&self, script: &str) -> Vec<RuleMatch> {
        let is_bad =
            |row: &&BuiltIn| matches!(row.check, RuleCheck::Text(is_bad) if is_bad(script));
        let bad = self.rows_in_force().filter(is_bad);
        let mut findings: Vec<RuleMatch> = bad.map(|row| built_in(row, "")).collect();
        if script.len() > shell::MAX_BYTES {
            return findings;
        }
        let mut reader = ScriptReader::new(&self.places);
        reader.script(script, self.dialect);
        let reading = reader.reading;
        findings.extend(
            self.rows_in_force()
                .filter_map(|row| self.finding_on(row, &reading)),
        );
        let is_opaque = matches!(shell::read(script), Script::Opaque(_));
        findings.extend(self.written_findings(&reading, is_opaque));
        findings
    }

    fn finding_on(&self, row: &'static BuiltIn, reading: &ScriptReading) -> Option<RuleMatch> {
        if let RuleCheck::Unreadable = row.check {
            return (!reading.is_complete).then(|| built_in(row, ""));
        }
        let mut made = Vec::new();
        let found = reading.invocations.iter().find(|command| {
            // A repository that the script itself creates is not protected while the script runs.
            if row.needs() == Some(Grant::GitWrite) {
                made.extend(checks::made_repository(command));
                if checks::works_within(command, &made) {
                    return false;
                }
            }
            match row.check {
                RuleCheck::Programs(patterns) => checks::is_any(patterns, command),
                RuleCheck::Command(is_meant) => is_meant(command, &self.places),
                _ => false,
            }
        });
        found.map(|command| built_in(row, &in_short(command)))
    }

    /// Matches the ask and deny rules of the person and the project; allow rules are left to
    /// `covering`.
    fn written_findings(&self, reading: &ScriptReading, is_opaque: bool) -> Vec<RuleMatch> {
        let written = self
            .written()
            .into_iter()
            .filter(|(_, decision, _)| *decision != Decision::Allow);
        let mut findings = Vec::new();
        for (rules, decision, source) in written {
            let is_loose = is_opaque && decision == Decision::Deny;
            for rule in rules {
                let invocation = reading.invocations.iter().find(|invocation| {
                    rule.matches(invocation) || is_loose && rule.is_mentioned(invocation)
                });
                findings.extend(invocation.map(|invocation| RuleMatch {
                    ruling: rule.ruling(decision, source, in_short(invocation)),
                    yields: Yields::Never,
                }));
            }
        }
        findings
    }

    /// A rule on every command. It yields to the person's rules, unless each command is asked about
    /// one by one.
    fn finding_on_every(&self, row: &'static BuiltIn, opacity: Option<Opacity>) -> RuleMatch {
        let mut finding = RuleMatch {
            yields: Yields::Never,
            ..built_in(row, "")
        };
        let asks_anyway = matches!(
            self.confinement,
            CommandConfinement::Missing | CommandConfinement::RecordsExposed
        );
        if row.decision == Decision::Ask && !asks_anyway {
            finding.yields = Yields::ToAnyRule;
            if let Some(opacity) = opacity.filter(|_| self.person.has_allowed()) {
                let _ = write!(finding.ruling.why, "; allow rules do not apply: {opacity}");
            }
        }
        finding
    }

    /// The commands of a script with the allow rules for each, if all of them are covered.
    ///
    /// If not, and if the script is opaque, the error says why.
    fn covering(&self, script: &str) -> Result<Vec<Covered<'_>>, Option<Opacity>> {
        if self.dialect != Dialect::Posix {
            return Err(None);
        }
        let commands = match shell::read(script) {
            Script::Plain(commands) => commands,
            Script::Opaque(opacity) => return Err(Some(opacity)),
        };
        let mut has_moved = false;
        let mut covered = Vec::new();
        for command in commands {
            let is_held = self.confinement == CommandConfinement::Sandboxed
                || propose::runs_nothing_of_the_project(&command);
            let always = self.person.always.iter().filter(|_| is_held);
            let rules = self.person.allow.iter().chain(always);
            let rules: Vec<&Rule> = rules
                .filter(|rule| rule.allows(&command, self, has_moved))
                .collect();
            if rules.is_empty() && !propose::is_neutral(&command) {
                return Err(None);
            }
            has_moved |= matches!(command[0].as_str(), "cd" | "pushd" | "popd");
            if !rules.is_empty() {
                covered.push(Covered { command, rules });
            }
        }
        if covered.is_empty() {
            Err(None)
        } else {
            Ok(covered)
        }
    }

    fn yields(&self, finding: &RuleMatch, covered: &[Covered<'_>]) -> bool {
        let row = match finding.yields {
            Yields::Never => return false,
            Yields::ToAnyRule => return true,
            Yields::ToRuleThatNamesIt(row) => row,
        };
        let is_about = |words: &[String]| {
            let mut reader = ScriptReader::new(&self.places);
            reader.start(words.to_vec());
            self.finding_on(row, &reader.reading).is_some()
        };
        let mut asked = covered
            .iter()
            .filter(|covered| is_about(&covered.command))
            .peekable();
        asked.peek().is_some()
            && asked.all(|covered| covered.rules.iter().any(|rule| is_about(rule.words())))
    }
}

/// A command of a script with the allow rules that match it.
struct Covered<'a> {
    command: Vec<String>,
    rules: Vec<&'a Rule>,
}

/// One match for each rule that allows a part of the script.
fn allowing(covered: &[Covered<'_>]) -> Vec<RuleMatch> {
    let mut rules: Vec<&Rule> = Vec::new();
    for rule in covered.iter().flat_map(|covered| &covered.rules) {
        if !rules.contains(rule) {
            rules.push(rule);
        }
    }
    let ruling = |rule: &Rule| rule.ruling(Decision::Allow, PERSON, String::new());
    let rulings = rules.into_iter().map(ruling);
    rulings
        .map(|ruling| RuleMatch {
            ruling,
            yields: Yields::Never,
        })
        .collect()
}

fn built_in(row: &'static BuiltIn, about: &str) -> RuleMatch {
    let yields = if row.decision == Decision::Ask && row.needs().is_none() {
        Yields::ToRuleThatNamesIt(row)
    } else {
        Yields::Never
    };
    RuleMatch {
        ruling: Ruling {
            decision: row.decision,
            rule: row.rule.to_owned(),
            why: row.why.to_owned(),
            about: about.to_owned(),
            needs: row.needs(),
        },
        yields,
    }
}

fn strictest_first(findings: Vec<RuleMatch>) -> Vec<Ruling> {
    let mut rulings: Vec<Ruling> = findings.into_iter().map(|finding| finding.ruling).collect();
    rulings.sort_by_key(|ruling| std::cmp::Reverse(ruling.decision));
    rulings
}

/// Every path that a step changes, before and after.
fn paths(command: &Command) -> Vec<&RelPath> {
    match command {
        Command::MoveFile { from, to } => vec![from, to],
        Command::ApplyPatch { changes } => changes.iter().flat_map(paths_of_change).collect(),
        other => other.path().into_iter().collect(),
    }
}

fn paths_of_change(change: &FileChange) -> Vec<&RelPath> {
    match change {
        FileChange::Update {
            path,
            move_to: Some(to),
            ..
        } => vec![path, to],
        other => vec![other.path()],
    }
}

/// Every path or glob that a step names; a list counts as a whole and in parts.
fn touched(command: &Command) -> Vec<String> {
    let mut touched: Vec<String> = paths(command).iter().map(ToString::to_string).collect();
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
    let mut short = String::new();
    for word in std::iter::once(&invocation.name).chain(&invocation.arguments) {
        let known = word.chars().map(|c| if c == UNKNOWN { '…' } else { c });
        short.extend(std::iter::once(' ').chain(known).take(MAX_ABOUT));
        if short.chars().count() > MAX_ABOUT {
            let short: String = short.chars().skip(1).take(MAX_ABOUT).collect();
            return short + " ...";
        }
    }
    short.split_off(1)
}
