//! Applies the table to one step and returns every rule that matches, the strictest first.

use std::fmt::Write as _;

use super::programs::Programs;
use super::reading::{Invocation, ScriptReading, UNKNOWN};
use super::shell::Opacity;
use super::table::{BUILT_IN, BuiltIn, RuleCheck};
use super::{
    CommandConfinement, Decision, Grant, PERSON, Policy, Rule, Ruling, Script, checks, propose,
    protected, reading, rules, shell, standing,
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
        let mut findings = self.built_in_findings(script);
        let covering = self.covering(script);
        findings.extend(self.standing_findings(covering.as_ref().err().copied().flatten()));
        if let Ok(covered) = covering {
            findings.retain(|finding| !self.yields(finding, &covered));
            findings.extend(allowing(&covered));
        }
        strictest_first(findings)
    }

    /// Every rule that matches a step that runs nothing, the strictest first; never empty.
    pub(super) fn judge_file_step(&self, command: &Command) -> Vec<Ruling> {
        let mut findings = Vec::new();
        let changed = if command.changes_files() {
            paths(command)
        } else {
            Vec::new()
        };
        let touched = touched(command);
        for row in self.rows_in_force() {
            match row.check {
                RuleCheck::Write(is_protected) => {
                    let protected = changed.iter().filter(|path| is_protected(path));
                    findings.extend(protected.map(|path| built_in(row, path.as_str())));
                }
                RuleCheck::Touch(is_hidden) => {
                    let hidden = touched.iter().filter(|text| is_hidden(text));
                    findings.extend(hidden.map(|text| built_in(row, text)));
                }
                _ => {}
            }
        }
        let is_own = |text: &&String| RelPath::parse(text).is_ok_and(|path| self.is_own(&path));
        let own = touched.iter().filter(is_own);
        findings.extend(own.map(|text| standing_finding(&standing::OWN_PATHS, text)));
        let obeyed = changed.iter().filter(|path| self.is_obeyed_by_git(path));
        findings
            .extend(obeyed.map(|path| standing_finding(&standing::OBEYED_BY_GIT, path.as_str())));
        let standing = if command.changes_files() {
            standing::on_changes(self.approval)
        } else {
            standing::ON_READING
        };
        findings.push(standing_finding(&standing, ""));
        strictest_first(findings)
    }

    /// Returns true if the settings reserve a path for `agent` itself.
    pub(super) fn is_own(&self, path: &RelPath) -> bool {
        (self.own_paths.iter()).any(|own| protected::is_within(path, own))
    }

    /// Returns true if git runs or obeys a file because its configuration names it.
    fn is_obeyed_by_git(&self, path: &RelPath) -> bool {
        (self.obeyed_by_git.iter()).any(|obeyed| protected::is_within(path, obeyed))
    }

    /// Returns true if a step could not change a file without a question.
    pub(super) fn protects(&self, path: &RelPath) -> bool {
        let is_protected = |row: &BuiltIn| matches!(row.check, RuleCheck::Write(is_protected) if is_protected(path));
        self.rows_in_force().any(is_protected) || self.is_obeyed_by_git(path)
    }

    pub(super) fn rows_in_force(&self) -> impl Iterator<Item = &'static BuiltIn> {
        BUILT_IN.iter().filter(|row| row.is_in_force(self))
    }

    fn built_in_findings(&self, script: &str) -> Vec<RuleMatch> {
        let mut findings: Vec<RuleMatch> = self
            .rows_in_force()
            .filter(|row| matches!(row.check, RuleCheck::Text(is_bad) if is_bad(script)))
            .map(|row| built_in(row, ""))
            .collect();
        if script.len() > shell::MAX_BYTES {
            return findings;
        }
        let reading = reading::read(script, &self.places, self.dialect);
        for row in self.rows_in_force() {
            findings.extend(self.built_in_on_reading(row, &reading));
        }
        let is_opaque = matches!(shell::read(script), Script::Opaque(_));
        findings.extend(self.written_findings(&reading, is_opaque));
        findings
    }

    fn built_in_on_reading(
        &self,
        row: &'static BuiltIn,
        reading: &ScriptReading,
    ) -> Option<RuleMatch> {
        let matching = |is_meant: &dyn Fn(&Invocation) -> bool| {
            let mut made = Vec::new();
            let found = reading.invocations.iter().find(|command| {
                // A repository that the script itself creates is not protected while the script
                // runs.
                if row.needs() == Some(Grant::GitWrite) {
                    made.extend(checks::made_repository(command));
                    if checks::works_within(command, &made) {
                        return false;
                    }
                }
                is_meant(command)
            });
            found.map(|command| built_in(row, &in_short(command)))
        };
        match row.check {
            RuleCheck::Unreadable => (!reading.is_complete).then(|| built_in(row, "")),
            RuleCheck::Programs(patterns) => matching(&|command| checks::is_any(patterns, command)),
            RuleCheck::Command(is_meant) => matching(&|command| is_meant(command, &self.places)),
            RuleCheck::Text(_) | RuleCheck::Write(_) | RuleCheck::Touch(_) => None,
        }
    }

    /// Matches the ask and deny rules of the person and the project.
    fn written_findings(&self, reading: &ScriptReading, is_opaque: bool) -> Vec<RuleMatch> {
        let mut findings = Vec::new();
        for (rules, decision, source) in self.written() {
            // Allow rules are left to `covering`.
            if decision == Decision::Allow {
                continue;
            }
            for rule in rules {
                let invocation = reading.invocations.iter().find(|invocation| {
                    rule.matches(invocation)
                        || is_opaque && decision == Decision::Deny && rule.is_mentioned(invocation)
                });
                findings.extend(invocation.map(|invocation| RuleMatch {
                    ruling: Ruling {
                        about: in_short(invocation),
                        ..ruling(
                            decision,
                            rules::in_words(rule, source),
                            standing::why_written(decision),
                        )
                    },
                    yields: Yields::Never,
                }));
            }
        }
        findings
    }

    /// Matches the rules on every command that follow from the mode and the sandbox.
    fn standing_findings(&self, opacity: Option<Opacity>) -> Vec<RuleMatch> {
        standing::on_commands(self.approval, self.confinement)
            .iter()
            .map(|row| {
                let mut finding = standing_finding(row, "");
                let asks_anyway = matches!(
                    self.confinement,
                    CommandConfinement::Missing | CommandConfinement::RecordsExposed
                );
                if row.decision == Decision::Ask && !asks_anyway {
                    finding.yields = Yields::ToAnyRule;
                    if let Some(opacity) = opacity.filter(|_| self.person.has_allowed()) {
                        let why = &mut finding.ruling.why;
                        let _ = write!(why, "; allow rules do not apply: {opacity}");
                    }
                }
                finding
            })
            .collect()
    }

    /// The commands of a script with the allow rules for each, if all of them are covered.
    ///
    /// If not, and if the script is opaque, the error says why.
    fn covering(&self, script: &str) -> Result<Vec<Covered<'_>>, Option<Opacity>> {
        if self.dialect != reading::Dialect::Posix {
            return Err(None);
        }
        let commands = match shell::read(script) {
            Script::Plain(commands) => commands,
            Script::Opaque(opacity) => return Err(Some(opacity)),
        };
        let mut programs = Programs {
            policy: self,
            has_moved: false,
        };
        let mut covered = Vec::new();
        for command in commands {
            let is_held = self.confinement == CommandConfinement::Sandboxed
                || propose::runs_nothing_of_the_project(&command);
            let always = self.person.always.iter().filter(|_| is_held);
            let rules: Vec<&Rule> = (self.person.allow.iter().chain(always))
                .filter(|rule| rule.allows(&command, &programs))
                .collect();
            if rules.is_empty() && !propose::is_neutral(&command) {
                return Err(None);
            }
            programs.has_moved |= changes_directory(&command);
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
            let reading = reading::read_words(words, &self.places);
            self.built_in_on_reading(row, &reading).is_some()
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
    rules
        .into_iter()
        .map(|rule| RuleMatch {
            ruling: ruling(
                Decision::Allow,
                rules::in_words(rule, PERSON),
                standing::why_written(Decision::Allow),
            ),
            yields: Yields::Never,
        })
        .collect()
}

fn changes_directory(command: &[String]) -> bool {
    matches!(
        command.first().map(String::as_str),
        Some("cd" | "pushd" | "popd")
    )
}

fn built_in(row: &'static BuiltIn, about: &str) -> RuleMatch {
    let yields = if row.decision == Decision::Ask && row.needs().is_none() {
        Yields::ToRuleThatNamesIt(row)
    } else {
        Yields::Never
    };
    RuleMatch {
        ruling: Ruling {
            about: about.to_owned(),
            needs: row.needs(),
            ..ruling(row.decision, row.rule.to_owned(), row.why)
        },
        yields,
    }
}

fn standing_finding(row: &standing::StandingRule, about: &str) -> RuleMatch {
    RuleMatch {
        ruling: Ruling {
            about: about.to_owned(),
            ..ruling(row.decision, row.rule.to_owned(), row.why)
        },
        yields: Yields::Never,
    }
}

fn ruling(decision: Decision, rule: String, why: &str) -> Ruling {
    Ruling {
        decision,
        rule,
        why: why.to_owned(),
        about: String::new(),
        needs: None,
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
    let mut touched: Vec<String> = paths(command)
        .into_iter()
        .map(ToString::to_string)
        .collect();
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
    let words = std::iter::once(&invocation.name).chain(&invocation.arguments);
    for (number, word) in words.enumerate() {
        if number > 0 {
            short.push(' ');
        }
        short.extend(
            word.chars()
                .map(|c| if c == UNKNOWN { '…' } else { c })
                .take(MAX_ABOUT),
        );
        if short.chars().count() > MAX_ABOUT {
            short = short.chars().take(MAX_ABOUT).collect();
            short.push_str(" ...");
            break;
        }
    }
    short
}
