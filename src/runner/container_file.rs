//! Containers that a file of the workspace describes: `devcontainer.json`, or a service of a compose
//! file.
//!
//! Image, user, folder and environment count; everything else is named as ignored. Such a file is the
//! project's word, so nothing in it can mount a path, add a privilege or read the person's variables.
//! Nothing is built: an image that is to be built is named with the command that does it.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::CstRootNode;
use saphyr_parser::{Event, Parser, ScalarStyle};
use serde_json::{Map, Value};

use super::ContainerEngine;
use crate::workspace::Workspace;

/// The largest file that is read.
const MAX_FILE_BYTES: u64 = 256 * 1024;

/// The most values that aliases may make: a short file could make any number.
const MAX_COPIED: usize = 10_000;

/// Directories of an image in which the workspace must not be shown.
const OF_SYSTEM: [&str; 11] = [
    "bin", "dev", "etc", "lib", "lib64", "proc", "run", "sbin", "sys", "usr", "boot",
];

/// The image of a container and what a file says about its use.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ContainerPlan {
    /// The image, by its name.
    pub image: String,
    /// The name under which the person's commands run.
    pub user: Option<String>,
    /// The directory in which the workspace is shown too, and in which commands begin.
    pub folder: Option<PathBuf>,
    /// Variables that commands get.
    pub environment: Vec<(String, String)>,
    /// Entries of the file that have no effect.
    pub ignored: Vec<String>,
}

impl ContainerPlan {
    /// The plan of an image name, or of a file beginning with `./`, with `#SERVICE` after a compose
    /// file.
    pub fn read(
        engine: ContainerEngine,
        image: &str,
        workspace: &Workspace,
    ) -> Result<Self, String> {
        let Some(file) = image.strip_prefix("./") else {
            let image = image.to_owned();
            return Ok(Self {
                image,
                ..Self::default()
            });
        };
        let (file, service) = match file.split_once('#') {
            Some((file, service)) => (file, Some(service)),
            None => (file, None),
        };
        let is_inside =
            (Path::new(file).components()).all(|part| matches!(part, Component::Normal(_)));
        let text = (is_inside.then(|| workspace.read_exact(Path::new(file), MAX_FILE_BYTES)))
            .and_then(Result::ok)
            .flatten()
            .ok_or_else(|| format!("the workspace has no file `{file}` that can be read"))?;
        let text = String::from_utf8_lossy(&text);
        let reader = FileReader {
            engine,
            file,
            workspace: workspace.path(),
        };
        match service {
            Some(service) => reader.compose(&text, service),
            None => reader.devcontainer(&text),
        }
    }

    /// Sentences for the person about what does not count.
    pub fn notes(&self) -> Option<String> {
        let ignored = self.ignored.join(", ");
        (!ignored.is_empty()).then(|| {
            format!("of the file that describes the container, this is ignored: {ignored}")
        })
    }

    fn take_user(&mut self, key: &str, value: &Value) {
        let name = value.as_str().unwrap_or_default();
        let name = name.split(':').next().unwrap_or_default();
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
        let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        if is_name && name.chars().all(is_plain) && name != "root" {
            self.user = Some(name.to_owned());
        } else {
            self.ignored.push(format!("`{key}` (commands run as you)"));
        }
    }

    /// Takes the variables of an object, or of a list of `NAME=VALUE`.
    fn take_environment(&mut self, key: &str, value: &Value) {
        let pairs: Vec<(&str, Option<&str>)> = match value {
            Value::Object(pairs) => (pairs.iter())
                .map(|(name, value)| (name.as_str(), value.as_str()))
                .collect(),
            Value::Array(lines) => (lines.iter().filter_map(Value::as_str))
                .map(|line| match line.split_once('=') {
                    Some((name, value)) => (name, Some(value)),
                    None => (line, None),
                })
                .collect(),
            _ => Vec::new(),
        };
        for (name, value) in pairs {
            let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let is_name =
                !name.starts_with(|c: char| c.is_ascii_digit()) && name.chars().all(is_plain);
            // A value that is missing, or has a variable in it, would be the person's.
            match value.filter(|value| !value.contains(['$', '\0'])) {
                Some(value) if is_name && !name.is_empty() => {
                    self.environment.push((name.to_owned(), value.to_owned()));
                }
                _ => self
                    .ignored
                    .push(format!("`{key}.{name}` (no plain value)")),
            }
        }
    }
}

/// Reads one file.
struct FileReader<'a> {
    engine: ContainerEngine,
    file: &'a str,
    workspace: &'a Path,
}

impl FileReader<'_> {
    fn devcontainer(&self, text: &str) -> Result<ContainerPlan, String> {
        let file = self.file;
        let read = CstRootNode::parse(text, &ParseOptions::default())
            .map_err(|error| format!("`{file}` cannot be read: {error}"))?;
        let read = read.to_serde_value().unwrap_or_default();
        let read = read
            .as_object()
            .ok_or_else(|| format!("`{file}` has no object"))?;
        let build = read.get("build").or_else(|| read.get("dockerFile"));
        let mut plan = ContainerPlan {
            image: self.image(read.get("image"), build)?,
            ..ContainerPlan::default()
        };
        for (key, value) in read {
            match key.as_str() {
                "image" | "name" | "$schema" => {}
                "containerUser" if read.contains_key("remoteUser") => {}
                "remoteUser" | "containerUser" => plan.take_user(key, value),
                "workspaceFolder" => self.take_folder(key, value, &mut plan),
                "containerEnv" | "remoteEnv" => plan.take_environment(key, value),
                key => plan.ignored.push(format!("`{key}`")),
            }
        }
        Ok(plan)
    }

    fn compose(&self, text: &str, service: &str) -> Result<ContainerPlan, String> {
        let file = self.file;
        let read = yaml(text).map_err(|error| format!("`{file}` cannot be read: {error}"))?;
        let services = read.get("services").and_then(Value::as_object);
        let services = services.ok_or_else(|| format!("`{file}` has no services"))?;
        let read = services
            .get(service)
            .and_then(Value::as_object)
            .ok_or_else(|| {
                let names: Vec<&str> = services.keys().map(String::as_str).collect();
                format!(
                    "`{file}` has no service `{service}`; it has: {}",
                    names.join(", ")
                )
            })?;
        let mut plan = ContainerPlan {
            image: self.image(read.get("image"), read.get("build"))?,
            ..ContainerPlan::default()
        };
        for (key, value) in read {
            match key.as_str() {
                "image" => {}
                "user" => plan.take_user(key, value),
                "working_dir" => self.take_folder(key, value, &mut plan),
                "environment" => plan.take_environment(key, value),
                key => plan.ignored.push(format!("`{key}`")),
            }
        }
        Ok(plan)
    }

    /// The image by its name; an error says how to build it.
    fn image(&self, image: Option<&Value>, build: Option<&Value>) -> Result<String, String> {
        let (file, program) = (self.file, self.engine.program());
        let is_name = |image: &&str| {
            !image.is_empty()
                && !image.starts_with(['-', '.'])
                && !image.contains(char::is_whitespace)
        };
        match (image.and_then(Value::as_str), build) {
            (Some(image), _) if is_name(&image) && !image.contains('$') => Ok(image.to_owned()),
            (Some(image), _) => Err(format!(
                "the image `{image}` of `{file}` is no plain name; name the image itself: `--runner {program}:IMAGE`"
            )),
            (None, Some(build)) => Err(format!(
                "`{file}` names no image but builds one; build it with `{}`, and use `--runner {program}:NAME`",
                self.build_command(build)
            )),
            (None, None) => Err(format!(
                "`{file}` names no image; a compose file is named with its service: `--runner {program}:./compose.yaml#SERVICE`"
            )),
        }
    }

    /// The command that builds the image, for the directory of the workspace.
    fn build_command(&self, build: &Value) -> String {
        let folder = Path::new(self.file).parent().unwrap_or(Path::new(""));
        let place = |name: &str| match folder.join(name) {
            path if path.as_os_str().is_empty() || path == Path::new(".") => ".".to_owned(),
            path => path.display().to_string(),
        };
        let part = |name| build.get(name).and_then(Value::as_str);
        let is_devcontainer = Path::new(self.file)
            .extension()
            .is_some_and(|end| end == "json");
        // A text is a Dockerfile there and a directory here.
        let (dockerfile, context) = match build.as_str() {
            Some(dockerfile) if is_devcontainer => (Some(dockerfile), "."),
            Some(context) => (None, context),
            None => (part("dockerfile"), part("context").unwrap_or(".")),
        };
        let program = self.engine.program();
        match dockerfile {
            // A compose file names it in the context, a devcontainer beside itself.
            Some(dockerfile) if !is_devcontainer => {
                let dockerfile = Path::new(context).join(dockerfile);
                let dockerfile = place(&dockerfile.to_string_lossy());
                format!("{program} build -t NAME -f {dockerfile} {}", place(context))
            }
            Some(dockerfile) => {
                format!(
                    "{program} build -t NAME -f {} {}",
                    place(dockerfile),
                    place(context)
                )
            }
            None => format!("{program} build -t NAME {}", place(context)),
        }
    }

    fn take_folder(&self, key: &str, value: &Value, plan: &mut ContainerPlan) {
        let text = value.as_str().unwrap_or_default();
        let basename = self.workspace.file_name().unwrap_or_default();
        let text = text.replace(
            "${localWorkspaceFolderBasename}",
            &basename.to_string_lossy(),
        );
        let folder = Path::new(&text);
        let mut parts = folder.components();
        let is_whole = parts.next() == Some(Component::RootDir);
        let top = parts.clone().next();
        let is_of_system = match top {
            Some(Component::Normal(top)) => OF_SYSTEM.iter().any(|name| top == *name),
            _ => true,
        };
        let is_plain = parts.all(|part| matches!(part, Component::Normal(_)));
        let overlaps = folder.starts_with(self.workspace) || self.workspace.starts_with(folder);
        if folder == self.workspace {
            return;
        }
        if is_whole && is_plain && !is_of_system && !overlaps && !text.contains('$') {
            plan.folder = Some(folder.to_owned());
        } else {
            plan.ignored
                .push(format!("`{key}` (cannot be the folder of the workspace)"));
        }
    }
}

/// The first document of a YAML text; every scalar is a text, and none where nothing is written.
fn yaml(text: &str) -> Result<Value, String> {
    let mut open: Vec<(usize, Value, Option<String>)> = Vec::new();
    let mut anchors: BTreeMap<usize, Value> = BTreeMap::new();
    let mut copied = 0;
    for event in Parser::new_from_str(text) {
        let (event, _) = event.map_err(|error| error.to_string())?;
        let (anchor, value) = match event {
            Event::Scalar(text, ScalarStyle::Plain, anchor, _)
                if matches!(&*text, "" | "~" | "null") =>
            {
                (anchor, Value::Null)
            }
            Event::Scalar(text, _, anchor, _) => (anchor, Value::String(text.into_owned())),
            Event::SequenceStart(anchor, _) => {
                open.push((anchor, Value::Array(Vec::new()), None));
                continue;
            }
            Event::MappingStart(anchor, _) => {
                open.push((anchor, Value::Object(Map::new()), None));
                continue;
            }
            Event::SequenceEnd | Event::MappingEnd => match open.pop() {
                Some((anchor, value, _)) => (anchor, value),
                None => continue,
            },
            Event::Alias(anchor) => {
                let named = anchors.get(&anchor).unwrap_or(&Value::Null);
                copied += count(named);
                if copied > MAX_COPIED {
                    return Err("its aliases make too many values".to_owned());
                }
                (0, named.clone())
            }
            Event::DocumentEnd => break,
            _ => continue,
        };
        if anchor > 0 {
            anchors.insert(anchor, value.clone());
        }
        match open.last_mut() {
            None => return Ok(value),
            Some((_, Value::Array(items), _)) => items.push(value),
            Some((_, Value::Object(pairs), key)) => match key.take() {
                Some(key) => drop(pairs.insert(key, value)),
                None => *key = Some(value.as_str().unwrap_or_default().to_owned()),
            },
            Some(_) => {}
        }
    }
    Ok(Value::Null)
}

/// The number of values in a value.
fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(count).sum(),
        Value::Object(pairs) => pairs.values().map(count).sum(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fs::{Durability, write_atomic};

    fn read(name: &str, text: &str, image: &str) -> Result<ContainerPlan, String> {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap().join("project");
        std::fs::create_dir_all(root.join(".devcontainer")).unwrap();
        write_atomic(&root.join(name), text.as_bytes(), Durability::Atomic).unwrap();
        let workspace = Workspace::open(&root).unwrap();
        ContainerPlan::read(ContainerEngine::Docker, image, &workspace)
    }

    fn devcontainer(text: &str) -> Result<ContainerPlan, String> {
        let name = ".devcontainer/devcontainer.json";
        read(name, text, &format!("./{name}"))
    }

    fn compose(text: &str) -> Result<ContainerPlan, String> {
        read("compose.yaml", text, "./compose.yaml#app")
    }

    #[track_caller]
    fn refused(plan: Result<ContainerPlan, String>, words: &str) {
        let reason = plan.unwrap_err();
        assert!(reason.contains(words), "{reason}");
    }

    fn pairs(plan: &ContainerPlan) -> Vec<(&str, &str)> {
        let pairs = plan.environment.iter();
        pairs
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect()
    }

    #[test]
    fn of_a_devcontainer_image_user_folder_and_environment_count() {
        let plan = devcontainer(
            r#"{ // comments and trailing commas are read
              "name": "x", "image": "rust:1", "remoteUser": "vscode",
              "workspaceFolder": "/workspaces/${localWorkspaceFolderBasename}",
              "containerEnv": {"A": "1", "B": "${localEnv:SECRET}", "C;x": "1"},
              "remoteEnv": {"D": "it's"},
              "mounts": ["source=/,target=/host,type=bind"], "runArgs": ["--privileged"], "features": {},
            }"#,
        )
        .unwrap();
        assert_eq!(plan.image, "rust:1");
        assert_eq!(plan.user.as_deref(), Some("vscode"));
        assert_eq!(plan.folder, Some(PathBuf::from("/workspaces/project")));
        assert_eq!(pairs(&plan), [("A", "1"), ("D", "it's")]);
        let notes = plan.notes().unwrap();
        for name in [
            "`mounts`",
            "`runArgs`",
            "`features`",
            "`containerEnv.B`",
            "`containerEnv.C;x`",
        ] {
            assert!(notes.contains(name), "{name}: {notes}");
        }
    }

    #[test]
    fn of_a_compose_service_the_same_counts() {
        let plan = compose(
            "services:\n  db: {image: postgres}\n  app:\n    image: \"node:22\"\n    user: node:node\n    \
             working_dir: /app\n    environment:\n      - A=1\n      - HOST_ONLY\n      - B=${SECRET}\n    \
             privileged: true\n    volumes: [\"/:/host\"]\n",
        )
        .unwrap();
        assert_eq!(plan.image, "node:22");
        assert_eq!(plan.user.as_deref(), Some("node"));
        assert_eq!(plan.folder, Some(PathBuf::from("/app")));
        assert_eq!(pairs(&plan), [("A", "1")]);
        let notes = plan.notes().unwrap();
        for name in [
            "`privileged`",
            "`volumes`",
            "`environment.HOST_ONLY`",
            "`environment.B`",
        ] {
            assert!(notes.contains(name), "{name}: {notes}");
        }
        let plan =
            compose("services:\n  app: {image: a, environment: {N: 5, E: , Q: \"\"}}").unwrap();
        assert_eq!(pairs(&plan), [("N", "5"), ("Q", "")]);
        refused(compose("services: {web: {image: a}}"), "it has: web");
        refused(compose("a: ["), "cannot be read");
    }

    #[test]
    fn an_image_that_is_built_is_named_with_its_command() {
        refused(
            devcontainer(r#"{"build": {"dockerfile": "Dockerfile", "context": ".."}}"#),
            "docker build -t NAME -f .devcontainer/Dockerfile .devcontainer/..",
        );
        refused(
            compose("services: {app: {build: ./web}}"),
            "docker build -t NAME ./web`",
        );
        refused(
            compose("services: {app: {build: {context: web, dockerfile: D}}}"),
            "docker build -t NAME -f web/D web`",
        );
        refused(
            devcontainer(r#"{"dockerComposeFile": "x.yml"}"#),
            "#SERVICE",
        );
        refused(
            compose("services: {app: {image: \"${IMAGE}\"}}"),
            "no plain name",
        );
        refused(
            compose("services: {app: {image: -v/:/host}}"),
            "no plain name",
        );
    }

    #[test]
    fn root_and_folders_of_the_system_do_not_count() {
        for folder in [
            "/",
            "/usr/src",
            "/proc",
            "relative",
            "/a/../etc",
            "/${X}",
            "/bin",
        ] {
            let text =
                format!(r#"{{"image": "a", "remoteUser": "root", "workspaceFolder": "{folder}"}}"#);
            let plan = devcontainer(&text).unwrap();
            assert_eq!(
                (plan.folder, plan.user, plan.ignored.len()),
                (None, None, 2),
                "{folder}"
            );
        }
    }

    #[test]
    fn a_file_outside_of_the_workspace_or_of_any_size_is_not_read() {
        for image in ["./../x.json", "./none.json", "./"] {
            refused(read("a.json", "{}", image), "has no file");
        }
        let laughs = (1..30).fold(String::from("a0: &a0 [x, x]\n"), |text, n| {
            format!("{text}a{n}: &a{n} [*a{0}, *a{0}]\n", n - 1)
        });
        refused(compose(&laughs), "too many values");
        refused(compose(&"[".repeat(100_000)), "recursion limit");
    }
}
