//! The settings and where they come from.
//!
//! Defaults, then the person's own file, then `appsettings.json` of the base directory, then
//! `Agent__Key` in the environment, then flags: the later one wins. Every value is checked where it is read, so that an error can name the key and the
//! file or variable; figment then lays the layers on top of each other and knows, for each key,
//! which one it came from. What loosens, against the person's own value or the default, counts from a
//! base directory's file only if the person has trusted it.
//!
//! Code that has `Settings` need not check ranges or words again: each value has its type. Making
//! directories, asking the person and printing are left to others; the environment is handed in as
//! values.

mod base;
mod chat;
mod copied;
mod environment;
mod file;
mod groups;
mod kept;
mod keys;
mod layer;
mod loosens;
mod origin;
mod own;
mod paths;
mod suggestion;
mod trust;
mod typed;
mod value;

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use figment::Figment;
use serde::{Deserialize, Serialize};

pub use self::base::{Base, DIRECTORY_NAME, FILE_NAME, FoundBase, init, is_empty, set_here};
pub use self::chat::{Attach, Attachment, Chat, KeepsContext, WhenTooLong};
pub use self::copied::copy;
pub use self::environment::process_environment;
pub use self::groups::{GROUPS, Group};
pub use self::keys::{KEYS, Key, markdown};
pub use self::layer::Overrides;
pub use self::loosens::Loosens;
pub use self::origin::Origin;
pub use self::own::OwnSettings;
pub use self::paths::{Paths, placed, resolved};
pub use self::suggestion::{nearest, quoted};
pub use self::trust::Trust;
pub use self::typed::{
    BackendChoice, ChosenPrice, ChosenProvider, ClipboardUse, Commands, NotifyBy, Reasoning,
    SamplingTemperature, Secrets, ShellChoice, Switch,
};
pub use self::value::{Shape, Value};

use self::file::SettingsFile;
use self::layer::Layer;
use crate::error::{Error, ExitKind, Result};
use crate::fs::resolve_dots;
use crate::policy::{Approval, Grant, Network, Rule, Strictness};
use crate::protocol::{Housekeeping, OnFailure, SetupNews};
use crate::runner::RunnerChoice;
use crate::sandbox::SandboxMode;
use crate::secrets::Allow;

/// The settings in force; the table `KEYS` says what each means and which values it may have.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
#[expect(missing_docs, reason = "documented in the table `KEYS`")]
pub struct Settings {
    pub workspace_dir: PathBuf,
    pub inbox_dir: PathBuf,
    pub outbox_dir: PathBuf,
    pub sessions_dir: PathBuf,
    pub max_rounds: u32,
    pub commands: Commands,
    pub approval: Approval,
    pub policy: Strictness,
    pub sandbox: SandboxMode,
    pub sandbox_backend: BackendChoice,
    pub runner: RunnerChoice,
    pub shell: ShellChoice,
    pub network: Network,
    #[serde(with = "typed::grants")]
    pub grants: Vec<Grant>,
    #[serde(with = "typed::rules")]
    pub allow: Vec<Rule>,
    #[serde(with = "typed::rules")]
    pub ask: Vec<Rule>,
    #[serde(with = "typed::rules")]
    pub deny: Vec<Rule>,
    #[serde(with = "typed::paths")]
    pub extra_read_paths: Vec<PathBuf>,
    #[serde(with = "typed::paths")]
    pub extra_write_paths: Vec<PathBuf>,
    pub check_command: String,
    pub check_timeout_seconds: u32,
    pub stop_when_check_passes: Switch,
    pub secrets: Secrets,
    pub allow_secrets: Allow,
    pub on_failure: OnFailure,
    pub clipboard: ClipboardUse,
    pub notify: NotifyBy,
    pub command_timeout_seconds: u32,
    pub max_command_timeout_seconds: u32,
    pub max_processes: u64,
    pub max_memory_megabytes: u64,
    pub max_written_megabytes: u64,
    pub max_open_files: u64,
    pub max_cpu_seconds: u64,
    pub max_cpus: u64,
    pub max_output_length: usize,
    pub max_read_lines: u32,
    pub max_list_items: u32,
    pub max_search_results: u32,
    #[serde(with = "typed::chat")]
    pub chat: &'static Chat,
    pub api: ChosenProvider,
    pub model: String,
    pub api_url: String,
    pub api_key_command: String,
    pub api_price: ChosenPrice,
    pub api_window: u64,
    pub temperature: SamplingTemperature,
    pub reasoning: Reasoning,
    pub max_cost: u64,
    pub max_tokens: u64,
    pub max_outbox_chars: usize,
    pub max_outbox_tokens: usize,
    pub max_parts: usize,
    pub attach: Attach,
    pub keeps_context: KeepsContext,
    pub max_file_bytes: u64,
    pub max_undo_file_bytes: u64,
    pub max_undo_megabytes: u64,
}

impl Default for Settings {
    fn default() -> Self {
        extract(&Figment::from(Layer::defaults())).expect("the table has a fitting default a field")
    }
}

/// The layers of settings, read and checked, but not yet resolved.
#[derive(Debug)]
pub struct Layers {
    base: Base,
    /// The person's own file.
    person: Option<Layer>,
    file: Option<(SettingsFile, Layer)>,
    /// Environment and flags, the later ones stronger; these need no trust.
    above: Vec<Layer>,
    /// Flags that the session was given earlier; they can only make things stricter.
    kept: Vec<(&'static Key, Value)>,
    /// Values that were in force when the session began; they can only make things stricter.
    began_with: Vec<(&'static Key, Value)>,
}

/// A value in a settings file that loosens, while nobody has trusted that file.
///
/// Displayed as the person should see it in a question: ``WorkspaceDir: `..` ``.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Untrusted {
    /// The key that it sets.
    pub key: &'static str,
    /// The value, as it stands in the file.
    pub value: String,
    /// The file.
    pub file: PathBuf,
}

/// The settings in force and all that belongs to them.
#[derive(Debug)]
pub struct Loaded {
    /// The values.
    pub settings: Settings,
    /// The `Approval` that would hold if nobody had said `plan`: for the work after a plan.
    pub work_approval: Approval,
    /// Where each came from, by key; every key of the table is there.
    pub origins: BTreeMap<&'static str, Origin>,
    /// The directories, absolute.
    pub paths: Paths,
    /// Values that were left out, because nobody has trusted the file.
    pub untrusted: Vec<Untrusted>,
    /// Notices for the person.
    pub notices: Vec<SetupNews>,
    /// The rules of the session that hold besides those of the settings, by key.
    pub further_rules: BTreeMap<&'static str, Vec<Rule>>,
    /// Flags that the session was given earlier and that no longer hold, because they permit more.
    /// They count if they are given again.
    pub not_kept: Vec<String>,
    /// Flags for what the settings permit by now and the session did not begin with.
    pub held_back: Vec<String>,
}

/// Reads all layers and decides: `read` and `settle` in one, for callers that ask no questions.
pub fn load(
    base: &Base,
    environment: impl Iterator<Item = (String, String)>,
    flags: &Overrides,
    trust: &Trust,
) -> Result<Loaded> {
    read(base, environment, flags)?.settle(trust)
}

/// Reads all layers and checks every value in them.
pub fn read(
    base: &Base,
    environment: impl Iterator<Item = (String, String)>,
    flags: &Overrides,
) -> Result<Layers> {
    let file = match &base.settings_file {
        Some(path) => SettingsFile::look(path)?
            .map(|file| file.layer().map(|layer| (file, layer)))
            .transpose()?,
        None => None,
    };
    let mut above = environment::layers(environment)?;
    above.extend(flags.layers()?);
    Ok(Layers {
        base: base.clone(),
        person: None,
        file,
        above,
        kept: flags.kept()?,
        began_with: flags.began_with()?,
    })
}

impl Layers {
    /// Lays the person's own settings over the defaults.
    ///
    /// Lists of what is refused or asked about add up: no project's file shortens the person's.
    pub fn over(mut self, own: &OwnSettings) -> Result<Self> {
        self.person = own.layer()?;
        let (Some(person), Some((_, file))) = (&self.person, &mut self.file) else {
            return Ok(self);
        };
        for (key, value) in &mut file.values {
            let own = person
                .value_of(key)
                .filter(|_| key.loosens == Loosens::Adds);
            if let Some(own) = own {
                let both = key.added(&own.to_string(), &value.to_string());
                *value = Value::Text(both.into());
            }
        }
        Ok(self)
    }

    /// Lists the values that the person must confirm before they apply; none if the file is
    /// trusted.
    pub fn untrusted(&self, trust: &Trust) -> Vec<Untrusted> {
        match &self.file {
            Some((file, layer)) if !trust.holds(&file.path, &file.content) => layer
                .values
                .iter()
                .filter(|(key, value)| self.loosens(key, value) && !self.is_overridden(key))
                .map(|(key, value)| Untrusted {
                    key: key.name,
                    value: value.to_string(),
                    file: file.path.clone(),
                })
                .collect(),
            _ => Vec::new(),
        }
    }

    /// Trusts the settings file with the content that was read: the person has said yes to it.
    pub fn confirm(&self, trust: &Trust) -> Result<()> {
        match &self.file {
            Some((file, _)) => trust.remember(&file.path, &file.content),
            None => Ok(()),
        }
    }

    /// Tells once that the settings file pins a default of an earlier version, which was written
    /// there when the base directory was made.
    pub fn tell_pinned_default(&self, trust: &Trust) -> Option<Housekeeping> {
        const NAME: &str = "CommandTimeoutSeconds";
        const EARLIER: &str = "30";
        let (file, layer) = self.file.as_ref()?;
        let pinned =
            |(key, value): &&(&Key, Value)| key.name == NAME && value.to_string() == EARLIER;
        let (key, _) = layer.values.iter().find(pinned)?;
        // Where it cannot be remembered, nobody is told again and again.
        let is_news = trust.tell_once(&file.path, &file.content);
        is_news.then(|| Housekeeping::EarlierDefault {
            setting: NAME.to_owned(),
            value: EARLIER.to_owned(),
            default: key.default.to_string(),
            file: file.path.display().to_string(),
        })
    }

    /// Refuses values that do not go together, before there is a base directory.
    pub fn ensure_sound(&self) -> Result<()> {
        let settings = extract(&self.figment())?;
        let origins = BTreeMap::new();
        refuse_impossible_timeouts(&settings, &origins)?;
        refuse_tiny_messages(&settings, &origins)
    }

    /// Returns true if the person declined the settings file with its current content.
    pub fn is_declined(&self, trust: &Trust) -> bool {
        let file = self.file.as_ref().map(|(file, _)| file);
        file.is_some_and(|file| trust.is_declined(&file.path, &file.content))
    }

    /// Remembers that the person said no to the settings file as it was read.
    pub fn decline(&self, trust: &Trust) -> Result<()> {
        match &self.file {
            Some((file, _)) => trust.decline(&file.path, &file.content),
            None => Ok(()),
        }
    }

    /// Decides what holds.
    ///
    /// Loosening values of a file that is not trusted are left out with a notice. A directory
    /// outside of the base is an error, because working in another one would surprise more.
    pub fn settle(mut self, trust: &Trust) -> Result<Loaded> {
        let exposed = self.tighten_exposed_own();
        let personal = self.leave_out_personal();
        let untrusted = self.untrusted(trust);
        let is_declined = self.is_declined(trust);
        for item in &untrusted {
            self.leave_out(item, is_declined)?;
        }
        let work_approval = self.work_approval();
        let (mut further_rules, not_kept) = self.keep_strict();
        let held_back = self.hold_to_beginning(&mut further_rules);
        let figment = self.figment();
        let settings = extract(&figment)?;
        // All values at once: figment merges its layers anew for every question.
        let values = figment.find_value("").ok();
        let metadata = |key: &Key| {
            let value = values.as_ref()?.find_ref(key.name)?;
            figment.get_metadata(value.tag())
        };
        let origins: BTreeMap<_, _> = KEYS
            .iter()
            .map(|key| (key.name, Origin::of(key, metadata(key))))
            .collect();
        refuse_impossible_timeouts(&settings, &origins)?;
        refuse_tiny_messages(&settings, &origins)?;
        let paths = Paths::place(&self.base, &settings, |name| {
            origins.get(name).cloned().unwrap_or(Origin::Default)
        })?;
        let mut notices: Vec<SetupNews> = (untrusted.iter())
            .map(|item| item.notice(is_declined))
            .collect();
        notices.extend(exposed);
        notices.extend(personal);
        notices.extend(
            (self.base.passed_over()).map(|file| SetupNews::SettingsPassedOver {
                file: file.display().to_string(),
                directory: self.base.directory.display().to_string(),
            }),
        );
        notices.extend(exposed_trust(&paths, trust));
        Ok(Loaded {
            settings,
            work_approval,
            origins,
            paths,
            untrusted,
            notices,
            further_rules,
            not_kept,
            held_back,
        })
    }

    /// Leaves out every value that needs trust and has none, also one that names a folder elsewhere:
    /// for who only looks at settings, and goes nowhere.
    #[must_use]
    pub fn without_untrusted(mut self, trust: &Trust) -> Self {
        let untrusted = self.untrusted(trust);
        if let Some((_, layer)) = &mut self.file {
            let is_left_out = |key: &Key| untrusted.iter().any(|item| item.key == key.name);
            layer.values.retain(|(key, _)| !is_left_out(key));
        }
        self
    }

    /// Returns true if a value of the base directory's file permits more than the person's own value,
    /// or than the default where they have none.
    fn loosens(&self, key: &Key, value: &Value) -> bool {
        let own = self.person.as_ref().and_then(|layer| layer.value_of(key));
        match (key.loosens, value, own) {
            (Loosens::Outside, Value::Text(text), _) => {
                paths::leads_out(&self.base.directory, text)
            }
            (Loosens::Adds, ..) => false,
            (_, value, Some(own)) => value != own && !key.is_as_strict(value, own),
            (_, value, None) => key.is_beyond_default(value),
        }
    }

    /// Leaves out of the person's own file what permits more than the defaults, where the model works
    /// in a directory that holds this file; says so.
    fn tighten_exposed_own(&mut self) -> Option<SetupNews> {
        let workspace = Key::named("WorkspaceDir").map(|key| self.value_of(key))?;
        let workspace = resolve_dots(&self.base.directory.join(workspace.to_string()));
        let layer = self.person.as_mut()?;
        let Origin::Person(file) = &layer.origin else {
            return None;
        };
        if !paths::resolved(file).starts_with(paths::resolved(&workspace)) {
            return None;
        }
        let permits =
            |key: &Key, value: &Value| key.is_personal(value) || key.is_beyond_default(value);
        let all = layer.values.len();
        layer.values.retain(|(key, value)| !permits(key, value));
        (layer.values.len() < all).then(|| SetupNews::OwnSettingsExposed {
            file: file.display().to_string(),
            workspace: workspace.display().to_string(),
        })
    }

    fn is_overridden(&self, key: &Key) -> bool {
        self.above.iter().any(|layer| layer.sets(key))
    }

    fn leave_out(&mut self, item: &Untrusted, is_declined: bool) -> Result<()> {
        let Some((_, layer)) = &mut self.file else {
            return Ok(());
        };
        if let Some((key, _)) = layer.values.iter().find(|(key, _)| key.name == item.key)
            && key.loosens == Loosens::Outside
        {
            return Err(item.refusal(&self.base, key, is_declined));
        }
        layer.values.retain(|(key, _)| key.name != item.key);
        Ok(())
    }

    /// Leaves out what no file may set; says so.
    fn leave_out_personal(&mut self) -> Vec<SetupNews> {
        let Some((file, layer)) = &mut self.file else {
            return Vec::new();
        };
        let left_out = (layer.values).extract_if(.., |(key, value)| key.is_personal(value));
        left_out
            .map(|(key, _)| SetupNews::PersonalSetting {
                setting: key.name.to_owned(),
                file: file.path.display().to_string(),
                flag: key.flag.to_owned(),
            })
            .collect()
    }

    fn figment(&self) -> Figment {
        let file = self.file.iter().map(|(_, layer)| layer);
        (self.person.iter().chain(file).chain(&self.above))
            .fold(Figment::from(Layer::defaults()), |figment, layer| {
                figment.merge(layer)
            })
    }
}

impl Untrusted {
    /// Tells the person that it is left out.
    pub fn notice(&self, is_declined: bool) -> SetupNews {
        SetupNews::UntrustedSetting {
            setting: self.key.to_owned(),
            file: self.file.display().to_string(),
            is_declined,
        }
    }

    fn refusal(&self, base: &Base, key: &Key, is_declined: bool) -> Error {
        let place = resolve_dots(&base.directory.join(&self.value));
        let error = Error::mendable(format!(
            "`{}` in `{}` leads out of its directory, to `{}`, and you have not trusted that file",
            self.key,
            self.file.display(),
            place.display()
        ));
        let is_in_place = base
            .directory
            .file_name()
            .is_some_and(|name| name == DIRECTORY_NAME)
            && base.directory.parent() == Some(&place);
        let error = if is_in_place {
            error.hint(format!("run `agent init` in `{}`", place.display()))
        } else if is_declined {
            error.hint("you said no to that file; you are asked again when it changes")
        } else {
            error.hint("read that file; then run `agent` on a terminal and confirm it")
        };
        error.hint(format!(
            "or say it yourself: `{} {}`",
            key.flag,
            suggestion::quoted(&place)
        ))
    }
}

impl fmt::Display for Untrusted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: `{}`", self.key, suggestion::shown(&self.value))
    }
}

impl Loaded {
    /// Every setting with its value and its origin, in the order of the table.
    pub fn rows(&self) -> impl Iterator<Item = (&'static Key, String, &Origin)> {
        let values = serde_json::to_value(&self.settings).unwrap_or_default();
        KEYS.iter().map(move |key| {
            let value = match values.get(key.name) {
                Some(serde_json::Value::String(text)) => text.clone(),
                Some(other) => other.to_string(),
                None => String::new(),
            };
            let origin = self.origins.get(key.name).unwrap_or(&Origin::Default);
            (key, value, origin)
        })
    }
}

/// The layers are checked already, so a failure here is a defect of ours; it is reworded all the
/// same, because figment calls a key `default.Key`.
fn extract(figment: &Figment) -> Result<Settings> {
    figment.extract().map_err(|problem| {
        let key = problem.path.join(".");
        Error::new(
            ExitKind::Defect,
            format!("the setting `{key}` does not fit"),
        )
        .because(problem.kind.to_string())
    })
}

fn refuse_impossible_timeouts(
    settings: &Settings,
    origins: &BTreeMap<&'static str, Origin>,
) -> Result<()> {
    let (usual, longest) = ("CommandTimeoutSeconds", "MaxCommandTimeoutSeconds");
    if settings.command_timeout_seconds <= settings.max_command_timeout_seconds {
        return Ok(());
    }
    let origin = |name| origins.get(name).unwrap_or(&Origin::Default);
    Err(Error::mendable(format!(
        "`{usual}` ({}, in {}) is more than `{longest}` ({}, in {})",
        settings.command_timeout_seconds,
        origin(usual),
        settings.max_command_timeout_seconds,
        origin(longest),
    ))
    .hint(format!("raise `{longest}` or lower `{usual}`")))
}

/// The least characters of a message: in fewer there is no room beside what tells the parts apart.
const LEAST_MESSAGE: usize = 2000;

fn refuse_tiny_messages(
    settings: &Settings,
    origins: &BTreeMap<&'static str, Origin>,
) -> Result<()> {
    let least = [
        ("MaxOutboxChars", settings.max_outbox_chars, LEAST_MESSAGE),
        (
            "MaxOutboxTokens",
            settings.max_outbox_tokens,
            LEAST_MESSAGE / 2,
        ),
    ];
    for (name, value, least) in least {
        if value > 0 && value < least {
            let origin = origins.get(name).unwrap_or(&Origin::Default);
            return Err(Error::mendable(format!(
                "`{name}` ({value}, in {origin}) leaves no room for a message"
            ))
            .hint(format!(
                "it must be at least {least}, or 0 for what `Chat` says"
            )));
        }
    }
    Ok(())
}

/// In a workspace that holds the memory of trust, a command could trust whatever it likes.
fn exposed_trust(paths: &Paths, trust: &Trust) -> Option<SetupNews> {
    let directory = trust.directory()?;
    (directory.starts_with(&paths.workspace)).then(|| SetupNews::TrustExposed {
        directory: directory.display().to_string(),
        workspace: paths.workspace.display().to_string(),
    })
}

#[cfg(test)]
mod tests;
