//! The events of a session: their page, their file, and who watches.

use std::collections::{BTreeMap, BTreeSet};

use agent::protocol::{
    ApprovalKind, Bounded, ClipboardNews, Command, EVENT_SCHEMA, Event, Housekeeping, Issue,
    Outcome, Recovery, RelPath, Repair, SessionId, Step, StepResult,
};

fn text() -> String {
    "text".to_owned()
}

fn id() -> SessionId {
    SessionId::parse("ab12cd34").unwrap()
}

fn nothing<T>() -> Bounded<T> {
    Bounded::new(0, Vec::new())
}

/// How sessions begin and end, and what is said meanwhile.
fn sessions() -> Vec<Event> {
    vec![
        Event::Session {
            id: id(),
            task: text(),
            base: text(),
            workspace: text(),
            resumed: false,
        },
        Event::Confinement {
            commands: true,
            backend: None,
            network: false,
            properties: Vec::new(),
        },
        Event::RepositoryHidden { repository: text() },
        Event::PlanMode,
        Event::Note { text: text() },
        Event::NoteUnsent { text: text() },
        Event::Notice { text: text() },
        Event::Trouble {
            message: text(),
            causes: Vec::new(),
            hints: Vec::new(),
        },
        Event::Done {
            id: id(),
            summary: text(),
            rounds: 1,
            changed: 1,
            files: Vec::new(),
            seconds: 1,
        },
        Event::Ended { id: id() },
        Event::RoundLimit {
            id: id(),
            rounds: 1,
        },
        Event::Interrupted { id: id() },
        Event::Reset,
        Event::Omitted {
            name: text(),
            bytes: 1,
        },
    ]
}

/// What becomes of messages and replies.
fn messages() -> Vec<Event> {
    vec![
        Event::Outbox {
            path: text(),
            pastes: Vec::new(),
            attachment: None,
            inbox: text(),
            sequence: 1,
            characters: 1,
            tokens: 1,
            takes: BTreeMap::new(),
            chat: text(),
            percent: 1,
            becomes_file: false,
            cuts: Vec::new(),
            is_waiting: true,
        },
        Event::ChatMemory {
            tokens: 1,
            limit: 1,
            chat: text(),
        },
        Event::SecretsKept {
            secrets: Vec::new(),
            doubts: 0,
        },
        Event::Inbox {
            message: text(),
            hint: text(),
        },
        Event::LeftInInbox {
            name: text(),
            answers: id(),
        },
        Event::Rejected {
            name: text(),
            why: text(),
            moved_to: text(),
        },
        Event::Reply {
            name: text(),
            file: text(),
            sequence: 1,
            commands: 1,
        },
        Event::Repaired {
            repair: Repair {
                what: text(),
                count: 1,
                in_body: false,
            },
        },
        Event::Prose { text: text() },
        Event::Issue {
            issue: Issue {
                line: 1,
                number: None,
                command: None,
                message: text(),
                hint: text(),
            },
        },
        Event::Cut {
            line: 1,
            what: text(),
        },
        Event::NoCommands,
    ]
}

/// What was carried out, and what it left.
fn steps() -> Vec<Event> {
    let step = Step {
        number: 1,
        line: 1,
        command: Command::DeleteFile {
            path: RelPath::parse("a").unwrap(),
        },
    };
    let outcome = Outcome::ok("done");
    vec![
        Event::Running {
            number: 1,
            script: text(),
        },
        Event::Output {
            number: 1,
            text: text(),
            omitted: 0,
        },
        Event::Check {
            command: text(),
            outcome: outcome.clone(),
        },
        Event::Step {
            result: StepResult::new(&step, outcome, std::time::Duration::ZERO),
            differences: Vec::new(),
        },
        Event::Plan { text: text() },
        Event::Message { text: text() },
        Event::Circles {
            circles: Vec::new(),
        },
        Event::LeftBehind {
            hooks: nothing(),
            obeyed: nothing(),
            executables: nothing(),
            links: nothing(),
        },
        Event::NotCovered { files: nothing() },
        Event::NoCheckpoint { cause: None },
        Event::Reversed {
            redone: false,
            rounds: Vec::new(),
            restored: nothing(),
            skipped: nothing(),
        },
        Event::Unlistable { problem: text() },
    ]
}

/// What the person is asked and decides.
fn decisions() -> Vec<Event> {
    let kind = ApprovalKind::Step;
    vec![
        Event::Question { question: text() },
        Event::Approval {
            kind,
            number: 1,
            round: 1,
            command: text(),
            title: text(),
            shown: text(),
            why: text(),
            may: text(),
            proposal: None,
        },
        Event::Waiting { kind },
        Event::Decided {
            number: 1,
            command: text(),
            title: text(),
            decision: text(),
            reason: None,
        },
        Event::BadDecision { number: 1 },
        Event::RuleKept {
            rule: text(),
            file: text(),
        },
    ]
}

/// Those that have different fields by what they tell: enough of each to have all fields.
fn by_what() -> Vec<Event> {
    let clipboard = [
        ClipboardNews::Copied {
            message: text(),
            how: text(),
        },
        ClipboardNews::NotCopied {
            message: text(),
            why: text(),
        },
        ClipboardNews::NextPart {
            message: text(),
            part: 2,
        },
        ClipboardNews::Unwatched {
            remembered_in: None,
        },
        ClipboardNews::Taken {
            characters: 1,
            lines: 1,
            mark: text(),
        },
    ];
    let housekeeping = [
        Housekeeping::JournalCompacted { bytes: 1 },
        Housekeeping::JournalNotCompacted { cause: text() },
        Housekeeping::RoundsGivenUp {
            rounds: 1,
            limit_megabytes: 1,
        },
        Housekeeping::OverLimit {
            megabytes: 1,
            limit_megabytes: 1,
        },
        Housekeeping::RemovedFilesGivenUp {
            undos: 1,
            limit_megabytes: 1,
        },
    ];
    let recovery = [
        Recovery::ReplyGone { file: text() },
        Recovery::JournalTorn { bytes: 1 },
        Recovery::FileChanged {
            path: text(),
            kept: None,
            problem: None,
        },
        Recovery::Disarmed { told: text() },
        Recovery::Unclear { files: nothing() },
    ];
    let clipboard = clipboard.into_iter().map(Event::Clipboard);
    let housekeeping = housekeeping.into_iter().map(Event::Housekeeping);
    let recovery = recovery.into_iter().map(Event::Recovery);
    clipboard.chain(housekeeping).chain(recovery).collect()
}

fn page() -> String {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/events.md");
    std::fs::read_to_string(page).unwrap()
}

/// The events of the page, each with the names of its fields.
fn described() -> BTreeMap<String, BTreeSet<String>> {
    let page = page();
    let rows = page.lines().filter(|line| line.starts_with("| `"));
    let row = |line: &str| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        // What stands behind a colon is within the field before it.
        let fields = cells[2].split("`: ").next().unwrap_or_default();
        let fields = fields
            .split(", ")
            .map(|name| name.trim_matches('`').to_owned())
            .filter(|name| !name.is_empty());
        (cells[1].trim_matches('`').to_owned(), fields.collect())
    };
    rows.filter(|line| !line.starts_with("| `event`"))
        .map(row)
        .collect()
}

#[test]
fn the_page_describes_every_event_with_its_fields() {
    let mut told: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let all = [sessions(), messages(), steps(), decisions(), by_what()];
    for event in all.into_iter().flatten() {
        let value = serde_json::to_value(event).unwrap();
        let object = value.as_object().unwrap();
        let names = object.keys().filter(|name| *name != "event");
        let fields = told.entry(object["event"].as_str().unwrap().to_owned());
        fields.or_default().extend(names.cloned());
    }
    assert_eq!(told, described());
}

#[test]
fn the_page_names_the_version() {
    let page = page();
    assert!(page.contains(&format!("the version of this page: **{EVENT_SCHEMA}**")));
    assert!(page.contains(&format!("\"schema\":{EVENT_SCHEMA}}}")));
}
