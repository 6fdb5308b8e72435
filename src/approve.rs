//! The person decides what the policy ruled `Ask`.
//!
//! All questions of a round are put at once, before its first step is carried out: as files, and
//! the first answer wins, at the terminal or elsewhere. A question shows what it is about whole,
//! not escaped. What is decided lies on the disk, so a loop that was killed asks nothing twice. This
//! stage carries out nothing, judges nothing by itself and knows no terminal: the front end is a
//! [`Person`]. Every other question to the person is a [`Question`] too, and goes the same way as long
//! as there is a session to keep it with.

mod decisions;
mod earlier;
mod kept;
mod pending;
mod person;
mod question;
mod rules;
mod verdict;
mod words;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

pub use self::decisions::{Decisions, PersonDecision};
pub use self::earlier::EarlierChanges;
pub use self::kept::{KeptAnswers, KnownSessions};
pub use self::pending::{Pending, Posed};
pub use self::person::{Answer, Answers, Attending, Input, Person};
pub use self::question::{ChangeAhead, Question, QuestionOrigin};
pub use self::rules::KeptRules;
pub use self::verdict::Verdict;
pub use self::words::{difference, script_title, verb};
use crate::error::Result;
use crate::interrupt::Interrupt;
use crate::policy::{Policy, Rule, Ruling};
use crate::protocol::{Command, Event, OnFailure, Outcome, QuestionKind, Step};
use crate::watch::Doorbell;

/// A step that needs the person's decision.
#[derive(Debug)]
pub struct Asked<'a> {
    step: &'a Step,
    shown: String,
    why: String,
    /// The refusal, if nobody can decide.
    undecided: Outcome,
    may: String,
    proposal: Vec<Rule>,
    context: String,
    needs_changes: bool,
    ahead: Vec<ChangeAhead>,
}

impl<'a> Asked<'a> {
    /// A step that was ruled `Ask`; `difference` is what it would do to files, if that is known,
    /// `earlier` what the reply changes before it.
    pub fn new(
        policy: &Policy,
        step: &'a Step,
        ruling: &Ruling,
        difference: Option<String>,
        earlier: &EarlierChanges,
    ) -> Self {
        let (shown, proposal) = match &step.command {
            Command::RunCommand { script, .. } => (script.clone(), policy.propose(script)),
            other => {
                let whole = || crate::json::to_lines(other).unwrap_or_default();
                (difference.unwrap_or_else(whole), Vec::new())
            }
        };
        let mut why = words::why(ruling);
        let mut context = String::new();
        // What a file step does is shown as the difference that it makes after those before it.
        if matches!(step.command, Command::RunCommand { .. }) {
            context = earlier.digest();
            if let Some(changes) = earlier.words() {
                why = format!("{why}; {changes}");
            }
        }
        Self {
            step,
            shown,
            why,
            undecided: words::undecided(ruling),
            may: words::may(policy, ruling, &step.command),
            proposal,
            context,
            needs_changes: false,
            ahead: Vec::new(),
        }
    }

    /// Adds the changes before the step that nobody is asked about, and says if a command runs after a
    /// change that is not made.
    #[must_use]
    pub fn after(mut self, ahead: Vec<ChangeAhead>, on_failure: OnFailure) -> Self {
        let is_command = matches!(self.step.command, Command::RunCommand { .. });
        self.needs_changes = is_command && on_failure == OnFailure::SkipCommands;
        self.ahead = ahead;
        self
    }

    /// The events that tell of the changes before the step.
    pub fn changes_ahead(&self) -> impl Iterator<Item = Event> {
        let ahead = self.ahead.iter();
        ahead.map(|change| change.event(self.step.number))
    }

    /// The event that tells what earlier rounds made of a file: one that step `before` names, or, with 0,
    /// one that no step names.
    pub fn unseen(path: &str, difference: String, before: u32) -> Event {
        Event::Ahead {
            number: 0,
            command: String::new(),
            title: path.to_owned(),
            shown: difference,
            before,
        }
    }

    fn question(&self, round: u32) -> Question {
        let rules: Vec<String> = self.proposal.iter().map(ToString::to_string).collect();
        let title = words::title(&self.step.command);
        Question {
            number: self.step.number,
            command: self.step.command.name().to_owned(),
            why: self.why.clone(),
            may: self.may.clone(),
            proposal: (!rules.is_empty()).then(|| rules.join(" and ")),
            context: self.context.clone(),
            needs_changes: self.needs_changes,
            ahead: self.ahead.clone(),
            ..Question::new(QuestionKind::Step, round, title, self.shown.clone())
        }
    }
}

/// Where questions are put and decisions come in.
#[derive(Debug)]
pub struct Desk<'a> {
    /// Who is asked.
    pub person: &'a dyn Person,
    /// Raised if the person wants to stop.
    pub interrupt: &'a Interrupt,
    /// The questions as files.
    pub pending: &'a Pending,
    /// Where the answer "always" is kept, and for which base directory.
    pub rules: (&'a KeptRules, &'a Path),
    /// True if the person is waited for.
    pub input: Input,
    /// Where the steps came from.
    pub origin: QuestionOrigin,
}

impl Desk<'_> {
    /// The question about a step. One about a call that waited before is that very question, with what
    /// was decided about it.
    fn question(&self, round: u32, asked: &Asked<'_>) -> Question {
        let question = asked.question(round);
        match self.origin {
            QuestionOrigin::Reply => question,
            QuestionOrigin::Call => self.pending.of_call(question),
        }
    }

    /// Takes back the questions of calls: what was decided about one is for one call.
    fn conclude(&self, questions: &[Question]) -> Result<()> {
        match self.origin {
            QuestionOrigin::Reply => Ok(()),
            QuestionOrigin::Call => {
                let mut questions = questions.iter();
                questions.try_for_each(|question| self.pending.take_back(question))
            }
        }
    }
}

/// Gets a decision about each of the steps of a round; nothing if the person interrupts.
///
/// Questions stay as files until [`Pending::clear`], so that they survive whatever happens before
/// the round is on the disk.
pub fn ask(desk: &Desk<'_>, round: u32, asked: &[Asked<'_>]) -> Result<Option<Decisions>> {
    if desk.input == Input::Refuse {
        return decided_before(desk, round, asked).map(Some);
    }
    let questions: Vec<Question> = (asked.iter())
        .map(|asked| desk.question(round, asked))
        .collect();
    let numbers: Vec<u32> = asked.iter().map(|asked| asked.step.number).collect();
    desk.pending.keep(desk.person, &numbers);
    for question in &questions {
        desk.pending.put(question)?;
    }
    let Some(verdicts) = decide(desk.person, desk.interrupt, desk.pending, &questions)? else {
        return Ok(None);
    };
    desk.conclude(&questions)?;
    let always = asked.iter().zip(&verdicts);
    let rules: Vec<Rule> = always
        .filter(|(_, verdict)| **verdict == Verdict::Always)
        .flat_map(|(asked, _)| asked.proposal.clone())
        .collect();
    keep(desk, &rules);
    Ok(Some(Decisions::by_person(
        numbers.into_iter().zip(verdicts),
        rules,
    )))
}

/// Collects decisions that were made before about these very steps, with `agent approve` or on a
/// terminal that is gone. Nobody can be asked about the rest.
fn decided_before(desk: &Desk<'_>, round: u32, asked: &[Asked<'_>]) -> Result<Decisions> {
    let (mut verdicts, mut open, mut rules) = (Vec::new(), Vec::new(), Vec::new());
    for asked in asked {
        let question = desk.question(round, asked);
        match desk.pending.decision_on(&question) {
            Some(verdict) => {
                desk.conclude(std::slice::from_ref(&question))?;
                if verdict == Verdict::Always {
                    rules.extend(asked.proposal.clone());
                }
                verdicts.push((asked.step.number, verdict));
            }
            None => open.push((asked.step.number, asked.undecided.clone())),
        }
    }
    keep(desk, &rules);
    Ok(Decisions::by_person(verdicts, rules).and_by_nobody(open))
}

/// Waits for a decision about each question, from wherever it comes; nothing if the person
/// interrupts.
///
/// The questions must have been put.
pub fn decide(
    person: &dyn Person,
    interrupt: &Interrupt,
    pending: &Pending,
    questions: &[Question],
) -> Result<Option<Vec<Verdict>>> {
    if questions.is_empty() {
        return Ok(Some(Vec::new()));
    }
    let bell = Doorbell::on(pending.directory()?);
    let waker = bell.waker();
    interrupt.on_raise(move || waker.wake());
    let mut told = ToldDecisions::default();
    let mut verdicts = decided(pending, questions)?;
    told.tell(person, pending, questions, &verdicts);
    restore(pending, questions, &verdicts)?;
    let mut attending = None;
    if !is_over(&verdicts) {
        for (question, _) in open(questions, &verdicts) {
            person.emit(question.event());
        }
        attending = person.attend(pending, questions, interrupt);
    }
    while !is_over(&verdicts) {
        if interrupt.is_raised() {
            return Ok(None);
        }
        bell.wait();
        verdicts = decided(pending, questions)?;
        told.tell(person, pending, questions, &verdicts);
        restore(pending, questions, &verdicts)?;
    }
    drop(attending);
    let verdicts = verdicts.into_iter();
    Ok(Some(
        verdicts
            .map(|verdict| verdict.unwrap_or(Verdict::Skip))
            .collect(),
    ))
}

/// Puts what is still asked anew where another question lies in its place: nobody must decide about
/// what they were not shown.
fn restore(pending: &Pending, questions: &[Question], verdicts: &[Option<Verdict>]) -> Result<()> {
    open(questions, verdicts).try_for_each(|(question, _)| pending.put(question))
}

/// Puts questions of a session that go with this process.
#[derive(Debug, Clone)]
pub struct Asker {
    /// Who is asked.
    pub person: Arc<dyn Person>,
    /// The questions as files.
    pub pending: Pending,
}

impl Asker {
    /// Puts a question and waits for the decision, from wherever it comes; nothing if the person
    /// interrupts.
    ///
    /// Where nobody sits at the front end nobody is waited for: the answer is the one that refuses.
    pub fn pose(&self, question: Question, interrupt: &Interrupt) -> Result<Option<Verdict>> {
        if !self.person.is_interactive() {
            return Ok(Some(Verdict::Skip));
        }
        let posed = self.pending.pose(question)?;
        let questions = std::slice::from_ref(&posed.question);
        let verdicts = decide(&*self.person, interrupt, &self.pending, questions)?;
        Ok(verdicts.and_then(|verdicts| verdicts.into_iter().next()))
    }
}

/// Reads what is decided about each question; an answer that covers others decides these too.
pub fn decided(pending: &Pending, questions: &[Question]) -> Result<Vec<Option<Verdict>>> {
    let decisions = questions.iter();
    let mut verdicts: Vec<Option<Verdict>> = decisions
        .map(|question| pending.decision_on(question))
        .collect();
    loop {
        let covered: Vec<(usize, Verdict)> = open(questions, &verdicts)
            .filter_map(|(one, at)| Some((at, covering(one, questions, &verdicts)?)))
            .collect();
        let mut is_new = false;
        for (at, verdict) in covered {
            pending.decide(&questions[at], &verdict)?;
            // Another thread may have been first.
            verdicts[at] = pending.decision_on(&questions[at]);
            is_new |= verdicts[at].is_some();
        }
        if !is_new {
            return Ok(verdicts);
        }
    }
}

/// Returns true if nothing more is waited for.
pub fn is_over(verdicts: &[Option<Verdict>]) -> bool {
    verdicts.iter().all(Option::is_some) || verdicts.contains(&Some(Verdict::Stop))
}

/// The questions that nobody has decided, with their places.
fn open<'q>(
    questions: &'q [Question],
    verdicts: &'q [Option<Verdict>],
) -> impl Iterator<Item = (&'q Question, usize)> {
    let all = questions.iter().zip(0..);
    all.filter(|(_, at)| verdicts[*at].is_none())
}

/// The decision on this question that follows from the answer to another one.
fn covering(
    one: &Question,
    questions: &[Question],
    verdicts: &[Option<Verdict>],
) -> Option<Verdict> {
    let mut others = questions.iter().zip(verdicts);
    others.find_map(|(other, verdict)| match verdict.as_ref()? {
        Verdict::AllOfThisRound => Some(Verdict::Yes),
        // What its like runs may have changed since: that is asked about by itself.
        Verdict::Always => {
            let is_alike = other.proposal.is_some()
                && one.proposal == other.proposal
                && one.context == other.context;
            is_alike.then_some(Verdict::Yes)
        }
        // It would not run, whatever the answer.
        Verdict::No { .. } | Verdict::Skip => one.depends_on(other).then_some(Verdict::Skip),
        _ => None,
    })
}

/// The questions whose decisions were told, good ones and bad ones.
#[derive(Debug, Default)]
struct ToldDecisions {
    decided: BTreeSet<String>,
    unreadable: BTreeSet<String>,
}

impl ToldDecisions {
    /// Tells what is new.
    fn tell(
        &mut self,
        person: &dyn Person,
        pending: &Pending,
        questions: &[Question],
        verdicts: &[Option<Verdict>],
    ) {
        for (question, verdict) in questions.iter().zip(verdicts) {
            let key = question.key();
            match verdict {
                Some(verdict) => {
                    if self.decided.insert(key) {
                        person.emit(question.decided(verdict));
                    }
                }
                None => {
                    if pending.is_unfit(question) && self.unreadable.insert(key.clone()) {
                        let number = question.number;
                        person.emit(Event::BadDecision { key, number });
                    }
                }
            }
        }
    }
}

/// Keeps what was answered with "always"; that it cannot be kept is no reason to lose the answer.
fn keep(desk: &Desk<'_>, rules: &[Rule]) {
    let (kept, base) = desk.rules;
    if rules.is_empty() {
        return;
    }
    match kept.add(base, rules) {
        Ok(()) => {
            let file = kept.file().unwrap_or_default().display().to_string();
            for rule in rules {
                desk.person.emit(Event::RuleKept {
                    rule: rule.to_string(),
                    file: file.clone(),
                });
            }
        }
        Err(error) => desk.person.emit(Event::from(&error)),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::policy::{Approval, CommandConfinement, Decision, FoundProgram, ProgramLookup};
    use crate::protocol::{EventSink, PersonAct, Status};

    pub(crate) fn question(number: u32, script: &str) -> Question {
        let shown = script.to_owned();
        Question {
            number,
            command: "RUN_COMMAND".to_owned(),
            why: "it is asked about".to_owned(),
            ..Question::new(QuestionKind::Step, 1, script.to_owned(), shown)
        }
    }

    /// Nobody: hears events and answers nothing.
    #[derive(Debug)]
    pub(crate) struct Absent {
        pub(crate) heard: std::sync::Mutex<Vec<Event>>,
        input: Input,
    }

    impl Absent {
        /// Nobody, who is waited for or not.
        pub(crate) fn with(input: Input) -> Self {
            Self {
                heard: std::sync::Mutex::default(),
                input,
            }
        }
    }

    impl EventSink for Absent {
        fn emit(&self, event: Event) {
            self.heard.lock().unwrap().push(event);
        }
    }

    impl Person for Absent {
        fn input(&self) -> Input {
            self.input
        }

        fn is_interactive(&self) -> bool {
            false
        }

        fn ask(&self, _: &Question, _: &Interrupt) -> Answer {
            Answer::Nobody
        }

        fn attend(&self, _: &Pending, _: &[Question], _: &Interrupt) -> Option<Attending> {
            None
        }
    }

    fn is_approved(decisions: &Decisions, number: u32) -> bool {
        matches!(decisions.on(number), PersonDecision::Approved { .. })
    }

    #[track_caller]
    fn declined(decisions: &Decisions, number: u32) -> Outcome {
        match decisions.on(number) {
            PersonDecision::Declined(outcome) => outcome,
            other => panic!("{other:?}"),
        }
    }

    fn step(number: u32, script: &str) -> Step {
        Step {
            number,
            line: 1,
            command: Command::RunCommand {
                script: script.to_owned(),
                timeout: None,
            },
        }
    }

    /// Asks about commands of round 2 after decisions have been written.
    fn outcome(scripts: &[&str], input: Input, decide: &dyn Fn(&Pending)) -> Decisions {
        let steps: Vec<Step> = (1..)
            .zip(scripts)
            .map(|(n, script)| step(n, script))
            .collect();
        let directory = tempfile::tempdir().unwrap();
        outcome_in(directory.path(), &steps, input, decide)
    }

    /// Asks about the steps of a reply that need it, where decisions may lie already.
    fn outcome_in(
        directory: &Path,
        steps: &[Step],
        input: Input,
        decide: &dyn Fn(&Pending),
    ) -> Decisions {
        let mut policy = Policy::new(directory, None);
        policy.confinement = CommandConfinement::Sandboxed;
        policy.approval = Approval::Edits;
        policy.lookup = ProgramLookup::new(|word| {
            let path = Path::new("/usr/bin").join(word);
            let real = path.clone();
            Some(FoundProgram { path, real })
        });
        let pending = Pending::of(directory);
        let rules = KeptRules::kept_in(Some(directory));
        let mut earlier = EarlierChanges::default();
        let mut asked = Vec::new();
        for step in steps {
            let ruling = policy.rule_on(&step.command);
            if ruling.decision == Decision::Ask {
                asked.push(Asked::new(&policy, step, &ruling, None, &earlier));
            }
            earlier.note(step);
        }
        // Where the person cannot be asked, no question is put.
        if input == Input::Wait {
            for asked in &asked {
                pending.put(&asked.question(2)).unwrap();
            }
        }
        decide(&pending);
        let (person, interrupt) = (Absent::with(Input::Wait), Interrupt::default());
        let desk = Desk {
            person: &person,
            interrupt: &interrupt,
            pending: &pending,
            rules: (&rules, directory),
            input,
            origin: QuestionOrigin::Reply,
        };
        let decisions = ask(&desk, 2, &asked).unwrap().unwrap();
        let kept = rules.load(directory).unwrap();
        assert_eq!(kept, decisions.rules());
        decisions
    }

    fn writes(number: u32, name: &str, content: &str) -> Step {
        Step {
            number,
            line: 1,
            command: Command::create_file(
                crate::protocol::RelPath::parse(name).unwrap(),
                content.to_owned(),
            ),
        }
    }

    #[test]
    fn always_does_not_cover_a_script_that_the_reply_rewrites_in_between() {
        let approves = |between: Step| {
            let steps = [
                step(1, "./check.sh"),
                between,
                step(3, "./check.sh"),
                step(4, "date"),
            ];
            let directory = tempfile::tempdir().unwrap();
            // Nobody answers about step 3, so that only the first answer can count for it.
            let decisions = outcome_in(directory.path(), &steps, Input::Wait, &|pending| {
                pending.decide_put(1, &Verdict::Always).unwrap();
                pending.decide_put(4, &Verdict::Stop).unwrap();
            });
            assert!(is_approved(&decisions, 1));
            is_approved(&decisions, 3)
        };
        assert!(!approves(writes(2, "check.sh", "evil\n")));
        assert!(!approves(writes(2, "lib/used.sh", "evil\n")));
        let reads = Step {
            command: Command::Message {
                text: "on it".to_owned(),
            },
            ..step(2, "")
        };
        assert!(approves(reads));
    }

    #[test]
    fn an_answer_counts_only_after_the_same_changes_and_the_question_names_them() {
        let reply = |content: &str| [writes(1, "check.sh", content), step(2, "./check.sh")];
        let directory = tempfile::tempdir().unwrap();
        outcome_in(
            directory.path(),
            &reply("good\n"),
            Input::Wait,
            &|pending| {
                let why = &pending.all()[0].why;
                assert!(
                    why.ends_with("before it runs, this reply changes `check.sh`"),
                    "{why}"
                );
                pending.decide_put(2, &Verdict::Yes).unwrap();
            },
        );
        let again = |content: &str| {
            let decisions = outcome_in(directory.path(), &reply(content), Input::Refuse, &|_| {});
            is_approved(&decisions, 2)
        };
        assert!(again("good\n"));
        assert!(!again("evil\n"));
    }

    #[test]
    fn a_decision_that_was_there_before_a_restart_counts() {
        let decisions = outcome(&["ls", "pwd"], Input::Wait, &|pending| {
            pending.decide_put(1, &Verdict::Yes).unwrap();
            let reason = Some("use cargo instead".to_owned());
            pending.decide_put(2, &Verdict::No { reason }).unwrap();
        });
        assert!(is_approved(&decisions, 1));
        let refusal = declined(&decisions, 2);
        assert_eq!(refusal.status, Status::Refused);
        assert_eq!(refusal.by_person, Some(PersonAct::Declined));
        assert_eq!(refusal.message, "declined: use cargo instead");
    }

    #[test]
    fn without_input_nobody_is_waited_for_and_nobody_is_said_to_have_declined() {
        let decisions = outcome(&["ls"], Input::Refuse, &|_| {});
        let refusal = declined(&decisions, 1);
        assert_eq!(refusal.status, Status::Refused);
        assert!(
            refusal.message.contains("nobody can be asked"),
            "{refusal:?}"
        );
    }

    #[test]
    fn all_of_this_round_approves_what_is_still_open() {
        let decisions = outcome(&["ls", "pwd", "date"], Input::Wait, &|pending| {
            pending.decide_put(2, &Verdict::Skip).unwrap();
            pending.decide_put(1, &Verdict::AllOfThisRound).unwrap();
        });
        assert!(is_approved(&decisions, 1));
        assert_eq!(declined(&decisions, 2).status, Status::Skipped);
        assert!(is_approved(&decisions, 3));
    }

    #[test]
    fn what_needs_a_declined_change_is_decided_with_it() {
        let change = writes(2, "a.txt", "a\n");
        let verdicts = |declined: &Verdict, on_failure: OnFailure| {
            let steps = [step(1, "ls"), change.clone(), step(3, "pwd")];
            let directory = tempfile::tempdir().unwrap();
            let mut policy = Policy::new(directory.path(), None);
            policy.approval = Approval::Ask;
            let earlier = EarlierChanges::default();
            let questions = steps.each_ref().map(|step| {
                let ruling = policy.rule_on(&step.command);
                let asked = Asked::new(&policy, step, &ruling, None, &earlier);
                asked.after(Vec::new(), on_failure).question(2)
            });
            let pending = Pending::of(directory.path());
            for question in &questions {
                pending.put(question).unwrap();
            }
            pending.decide_put(2, declined).unwrap();
            decided(&pending, &questions).unwrap()
        };
        let (no, skip) = (Verdict::No { reason: None }, Verdict::Skip);
        for declined in [&no, &skip] {
            assert_eq!(
                verdicts(declined, OnFailure::SkipCommands),
                [None, Some(declined.clone()), Some(Verdict::Skip)]
            );
        }
        assert_eq!(verdicts(&no, OnFailure::Continue)[2], None);
        assert_eq!(verdicts(&Verdict::Yes, OnFailure::SkipCommands)[2], None);
    }

    #[test]
    fn two_who_look_at_once_both_see_what_follows_from_an_answer() {
        let mut questions = [question(1, "a.txt"), question(2, "ls"), question(3, "pwd")];
        questions[0].command = "CREATE_FILE".to_owned();
        questions[1].needs_changes = true;
        questions[2].needs_changes = true;
        for _ in 0..50 {
            let directory = tempfile::tempdir().unwrap();
            let pending = Pending::of(directory.path());
            for question in &questions {
                pending.put(question).unwrap();
            }
            pending.decide_put(1, &Verdict::Skip).unwrap();
            let look = || decided(&pending, &questions).unwrap();
            let seen = std::thread::scope(|scope| {
                let both = [scope.spawn(look), scope.spawn(look)];
                both.map(|one| one.join().unwrap())
            });
            let skipped = vec![Some(Verdict::Skip); 3];
            assert_eq!(seen, [skipped.clone(), skipped]);
        }
    }

    #[test]
    fn always_is_kept_as_a_rule_and_covers_its_like() {
        let decisions = outcome(
            &["cargo test -q", "cargo test --doc", "ls"],
            Input::Wait,
            &|pending| {
                let asked = pending.all();
                let words = "commands beginning with `cargo test`";
                assert_eq!(asked[0].proposal.as_deref(), Some(words));
                pending.decide_put(1, &Verdict::Always).unwrap();
                pending.decide_put(3, &Verdict::Skip).unwrap();
            },
        );
        assert_eq!(decisions.rules(), [Rule::parse("cargo test").unwrap()]);
        assert!(is_approved(&decisions, 2) && !is_approved(&decisions, 3));
    }

    #[test]
    fn stopping_leaves_out_the_rest() {
        let decisions = outcome(&["ls", "pwd", "date"], Input::Wait, &|pending| {
            pending.decide_put(1, &Verdict::Yes).unwrap();
            pending.decide_put(2, &Verdict::Stop).unwrap();
        });
        assert!(is_approved(&decisions, 1));
        for number in [2, 3, 4] {
            assert_eq!(decisions.on(number), PersonDecision::Stopped);
        }
    }

    #[test]
    fn an_edited_script_is_run_instead_and_the_model_is_told() {
        let decisions = outcome(&["ls"], Input::Wait, &|pending| {
            let script = "ls -a".to_owned();
            pending.decide_put(1, &Verdict::Edit { script }).unwrap();
        });
        let decision = decisions.on(1);
        let script = Some("ls -a".to_owned());
        assert_eq!(decision, PersonDecision::Approved { script });
        let outcome = decision.told(Outcome::ok("exit code 0"));
        assert_eq!(
            outcome.line_for_model(),
            "the user changed the script; exit code 0"
        );
        assert!(outcome.detail.text.starts_with("ran instead:\nls -a\n"));
    }
}
