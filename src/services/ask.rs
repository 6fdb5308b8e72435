//! One question about the workspace, and its answer: nothing is changed, and nothing is kept.

use std::fmt::Write as _;
use std::path::Path;

use super::api::{self, ApiChoice, LimitedSpending};
use super::open::{self, FirstRun};
use super::{Caller, guard};
use crate::agent::added::find_files;
use crate::agent::credentials;
pub use crate::api::CompletionEnd;
use crate::api::{ChatTurn, RequestProgress, TokenPrice, TokenUsage, dollars};
use crate::compose::{estimated_tokens, fenced};
use crate::courier::api::ApiPlan;
use crate::error::{Error, Result};
use crate::known_keys::KnownKeys;
use crate::number::count;
use crate::protocol::generated::unread;
use crate::protocol::{ApiNews, Event, RelPath};
use crate::secrets::{Scanner, TextSource, Vault};
use crate::settings::{Origin, Secrets, Settings};
use crate::workspace::Workspace;
use crate::workspace::text::TextFile;

/// How many files the listing names.
const LISTED: usize = 200;
/// The largest file that is shown.
const MAX_FILE_BYTES: u64 = 1024 * 1024;
/// How many tokens of files are shown, if the model's window is not known.
const MAX_TOKENS: usize = 60_000;

const OPENING: &str = "\
You are asked one question about the project below. Answer it in Markdown; be concrete and brief.
Nothing that you write is carried out. If you propose changes, write each as a unified diff, or as a \
whole file in a code block below a line with its path: a person may apply your answer with a tool.";

/// A question, ready to be asked.
#[derive(Debug)]
pub struct PreparedQuestion {
    /// The message, with the workspace's context.
    pub message: String,
    /// How long it is, in estimated tokens.
    pub tokens: usize,
    /// The names of files that had no room in it.
    pub left_out: Vec<String>,
    /// The API to ask; without one a person carries the message.
    api: Option<ApiChoice>,
}

/// Makes the message of a question: a listing, the files that are added or that it names, and itself.
pub fn prepare(caller: &Caller, question: &str, add: &[String]) -> Result<PreparedQuestion> {
    let question = question.trim();
    if question.is_empty() {
        return Err(Error::usage("the question is empty")
            .hint("agent ask \"where are the settings read?\""));
    }
    let (base, loaded) = open::settings(caller, FirstRun::Look)?;
    let is_set =
        (loaded.origins.get("WorkspaceDir")).is_some_and(|origin| *origin != Origin::Default);
    let directory = if base.settings_file.is_none() && !is_set {
        base.directory
    } else {
        loaded.paths.workspace.clone()
    };
    let workspace = Workspace::open(&directory)?.leaving_out(guard::own_paths(&loaded, &directory));
    let api = api::chosen(&loaded.settings, &caller.interrupt)?;
    let room = room(api.as_ref(), &loaded.settings);
    let mut redactor = QuestionRedactor::of(&loaded.settings, &workspace);
    let walked = workspace.walk(None);
    let mut listed: Vec<RelPath> = match walked {
        Ok(walked) => walked.files.iter().map(|file| file.path.clone()).collect(),
        Err(problem) => {
            return Err(Error::mendable(format!(
                "could not list the workspace: {problem}"
            )));
        }
    };
    listed.sort();
    let mut files = added(&workspace, &caller.here, add)?;
    let named = listed
        .iter()
        .filter(|path| question.contains(path.as_str()));
    files.extend(named.filter(|path| unread(path).is_none()).cloned());
    let mut message = format!("{OPENING}\n\n## Files\n");
    for path in listed.iter().take(LISTED) {
        let _ = writeln!(message, "{path}");
    }
    if listed.len() > LISTED {
        let _ = writeln!(message, "... and {} more", listed.len() - LISTED);
    }
    let asked = format!("\n## Question\n{}\n", redactor.text(question));
    let mut tokens = estimated_tokens(&message) + estimated_tokens(&asked);
    let mut left_out = Vec::new();
    let mut shown: Vec<&RelPath> = Vec::new();
    for path in &files {
        if shown.contains(&path) {
            continue;
        }
        shown.push(path);
        let Some(text) = read(&workspace, path) else {
            left_out.push(redactor.keys.scrub(path.as_str()));
            continue;
        };
        let part = format!("\n## {path}\n{}\n", fenced(&redactor.file(path, &text)));
        let size = estimated_tokens(&part);
        if tokens + size > room {
            left_out.push(redactor.keys.scrub(path.as_str()));
            continue;
        }
        tokens += size;
        message.push_str(&part);
    }
    message.push_str(&asked);
    Ok(PreparedQuestion {
        // Names of files may have the key in them too.
        message: redactor.keys.scrub(&message),
        tokens,
        left_out,
        api,
    })
}

fn room(api: Option<&ApiChoice>, settings: &Settings) -> usize {
    let window = api.and_then(|api| api.window);
    let own = settings.max_outbox_tokens;
    match (own, window) {
        (0, None) => MAX_TOKENS,
        (0, Some(window)) => usize::try_from(window / 2).unwrap_or(usize::MAX),
        (own, _) => own,
    }
}

fn added(workspace: &Workspace, here: &Path, add: &[String]) -> Result<Vec<RelPath>> {
    let mut files = Vec::new();
    for named in add {
        files.extend(find_files(workspace, here, named)?);
    }
    Ok(files)
}

fn read(workspace: &Workspace, path: &RelPath) -> Option<String> {
    let bytes = workspace.read(path, MAX_FILE_BYTES).ok()?;
    TextFile::decode(bytes).ok().map(|file| file.text)
}

/// Keeps secrets out of the message, as in a session.
struct QuestionRedactor {
    scanner: Option<Scanner>,
    vault: Vault,
    known: Vault,
    keys: KnownKeys,
}

impl QuestionRedactor {
    fn of(settings: &Settings, workspace: &Workspace) -> Self {
        let scanner = (settings.secrets == Secrets::On).then(Scanner::default);
        let known = match &scanner {
            Some(scanner) => credentials(workspace, scanner),
            None => Vault::default(),
        };
        Self {
            scanner,
            vault: Vault::default(),
            known,
            keys: KnownKeys::of_this_process(),
        }
    }

    fn redact(&mut self, text: &str, source: TextSource<'_>) -> String {
        let text = self.keys.scrub(text);
        let Some(scanner) = &self.scanner else {
            return text;
        };
        self.vault.foresee(&self.known, &text);
        self.vault.redact(scanner, &text, source).text
    }

    fn file(&mut self, path: &RelPath, text: &str) -> String {
        self.redact(text, TextSource::File(path.as_str()))
    }

    fn text(&mut self, text: &str) -> String {
        self.redact(text, TextSource::Text)
    }
}

/// How an answer ended, and what it took.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskedAnswer {
    /// Its end.
    pub end: CompletionEnd,
    /// The tokens of question and answer, and the cost if a price is known, in words.
    pub spent: String,
}

/// Tokens, and what they cost if a price is known, in words.
fn spent(usage: &TokenUsage, price: Option<&TokenPrice>) -> String {
    let about = if usage.is_estimated { "~" } else { "" };
    let tokens = count(
        usize::try_from(usage.total()).unwrap_or(usize::MAX),
        "token",
    );
    let cost = (usage.cost_micros(price)).map(|cost| format!(", {about}{}", dollars(cost)));
    format!("{about}{tokens}{}", cost.unwrap_or_default())
}

impl PreparedQuestion {
    /// Whom the question goes to, if it is an API.
    pub fn api(&self) -> Option<String> {
        self.api.as_ref().map(|api| api.plan.name())
    }

    /// Asks the API, and tells the answer as it comes; Ctrl-C stops it.
    pub fn ask(&self, caller: &Caller, tell: &mut dyn FnMut(&str)) -> Result<AskedAnswer> {
        let choice = self
            .api
            .as_ref()
            .ok_or_else(|| Error::usage("there is no API to ask"))?;
        let ApiPlan { client, .. } = &choice.plan;
        let stop = api::stop_on(&caller.interrupt);
        self.ensure_affordable(choice, TokenUsage::default())?;
        let mut limit = None;
        let request = choice.plan.request(vec![ChatTurn::user(&self.message)]);
        let answer = client.complete(&request, &stop, &mut |progress| match progress {
            RequestProgress::Text(text) => tell(text),
            RequestProgress::Waiting {
                wait,
                tried,
                tries,
                why,
            } => {
                // A try that broke off may be billed, and so may the next.
                if let Err(reached) = self.ensure_affordable(choice, why.spent) {
                    limit = Some(reached);
                    return stop.raise();
                }
                caller.person.emit(Event::Api(ApiNews::Retrying {
                    why: why.to_string(),
                    millis: u64::try_from(wait.as_millis()).unwrap_or(u64::MAX),
                    tried,
                    tries,
                }));
            }
            RequestProgress::Sending { .. } | RequestProgress::Reasoning(_) => {}
        });
        let price = choice.price.as_ref();
        let answer = answer.map_err(|error| {
            let told = limit.unwrap_or_else(|| choice.plan.explained(&error, &stop));
            if error.spent.is_empty() {
                return told;
            }
            told.hint(format!("the request took {}", spent(&error.spent, price)))
        })?;
        Ok(AskedAnswer {
            end: answer.end,
            spent: spent(&answer.usage, price),
        })
    }

    /// Refuses a request if the question, with what was spent on it, reaches a limit of the person.
    fn ensure_affordable(&self, choice: &ApiChoice, mut spent: TokenUsage) -> Result<()> {
        spent.add(&TokenUsage {
            input: self.tokens as u64,
            is_estimated: true,
            ..TokenUsage::default()
        });
        choice.ensure_within_limits(&LimitedSpending {
            what: "the question",
            command: "agent ask",
            usage: spent,
            cost_micros: spent.cost_micros(choice.price.as_ref()),
            model: &choice.plan.model,
        })
    }
}
