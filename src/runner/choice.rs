//! The words by which a person names a runner.
//!
//! ```text
//! runner = "local"
//!        | ("docker" | "podman") ":" IMAGE
//!        | ("docker" | "podman") ":./" FILE ["#" SERVICE]     a file of the workspace that names it
//!        | "ssh:" HOST [":" DIRECTORY]
//!        | "kubectl:" [NAMESPACE "/"] POD [":" CONTAINER]      names without "/"
//!        | "exec:" PROGRAM { ARGUMENT }          quotes keep spaces together
//! ```

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A program that runs containers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContainerEngine {
    /// Docker, with root or without.
    Docker,
    /// Podman, with root or without.
    Podman,
}

impl ContainerEngine {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Docker, Self::Podman];

    /// The name of its program.
    pub fn program(self) -> &'static str {
        match self {
            Self::Docker => "docker",
            Self::Podman => "podman",
        }
    }

    /// True if it may have containers. Podman would make its storage and start a process of its own
    /// when it is asked for them the first time; docker's program asks a daemon.
    pub fn has_been_used(self) -> bool {
        let home = std::env::home_dir().unwrap_or_default();
        let named = |variable: &str, otherwise: &str| {
            let path = std::env::var_os(variable).filter(|path| !path.is_empty());
            path.map_or_else(|| home.join(otherwise), PathBuf::from)
        };
        match self {
            Self::Docker => true,
            Self::Podman => [
                named("XDG_DATA_HOME", ".local/share").join("containers/storage"),
                // Names another place for the storage.
                named("XDG_CONFIG_HOME", ".config").join("containers/storage.conf"),
                PathBuf::from("/var/lib/containers/storage"),
            ]
            .iter()
            // Root's storage is not readable for others.
            .any(|path| path.is_file() || path.read_dir().is_ok()),
        }
    }
}

/// The runner that a person chose.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum RunnerChoice {
    /// This machine, with its sandbox.
    #[default]
    Local,
    /// A container of this image.
    Container {
        /// The program that runs it.
        engine: ContainerEngine,
        /// The image, by its name, or `./` and a file of the workspace that describes the container.
        image: String,
    },
    /// Another machine.
    Ssh {
        /// Its name, as `ssh` knows it.
        host: String,
        /// The directory there; a new one if none is named.
        directory: Option<String>,
    },
    /// A container that runs in a cluster.
    Kubectl {
        /// The namespace, if it is not the current one.
        namespace: Option<String>,
        /// The pod.
        pod: String,
        /// The container of the pod, if it is not the first.
        container: Option<String>,
    },
    /// A program of the person that runs the script that it reads from its standard input.
    Exec(Vec<String>),
}

/// A text is no runner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("is no runner")]
pub struct NoRunner;

impl RunnerChoice {
    /// True for a container of an image: the only runners that a project may name.
    pub fn is_container(&self) -> bool {
        matches!(self, Self::Container { .. })
    }
}

impl FromStr for RunnerChoice {
    type Err = NoRunner;

    fn from_str(text: &str) -> Result<Self, NoRunner> {
        let text = text.trim();
        if text.is_empty() || text.eq_ignore_ascii_case("local") {
            return Ok(Self::Local);
        }
        let (kind, rest) = text.split_once(':').ok_or(NoRunner)?;
        let engine = ContainerEngine::ALL
            .into_iter()
            .find(|one| one.program() == kind);
        if let Some(engine) = engine {
            let image = name(rest)?;
            return Ok(Self::Container { engine, image });
        }
        match kind {
            "ssh" => {
                let (host, directory) = match rest.split_once(':') {
                    Some((host, directory)) => (host, Some(directory)),
                    None => (rest, None),
                };
                let directory = directory.filter(|directory| !directory.is_empty());
                if directory.is_some_and(|directory| directory.starts_with('-')) {
                    return Err(NoRunner);
                }
                Ok(Self::Ssh {
                    host: name(host)?,
                    directory: directory.map(str::to_owned),
                })
            }
            "kubectl" if rest.matches('/').count() > 1 => Err(NoRunner),
            "kubectl" => {
                let (namespace, rest) = match rest.split_once('/') {
                    Some((namespace, rest)) => (Some(name(namespace)?), rest),
                    None => (None, rest),
                };
                let (pod, container) = match rest.split_once(':') {
                    Some((pod, container)) => (pod, Some(name(container)?)),
                    None => (rest, None),
                };
                Ok(Self::Kubectl {
                    namespace,
                    pod: name(pod)?,
                    container,
                })
            }
            "exec" => match words(rest).ok_or(NoRunner)? {
                words if words.is_empty() => Err(NoRunner),
                words => Ok(Self::Exec(words)),
            },
            _ => Err(NoRunner),
        }
    }
}

/// A name that no program takes for an option.
fn name(text: &str) -> Result<String, NoRunner> {
    let is_plain = |c: char| !c.is_whitespace() && !c.is_control();
    let fits = !text.is_empty() && !text.starts_with('-') && text.chars().all(is_plain);
    fits.then(|| text.to_owned()).ok_or(NoRunner)
}

/// The words of a command line; none if a quote is not closed.
fn words(text: &str) -> Option<Vec<String>> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for character in text.chars() {
        match (quote, character) {
            (Some(open), close) if open == close => quote = None,
            (None, '\'' | '"') => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (None, space) if space.is_whitespace() => words.extend(word.take()),
            (_, character) => word.get_or_insert_default().push(character),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

impl fmt::Display for RunnerChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local => f.write_str("local"),
            Self::Container { engine, image } => write!(f, "{}:{image}", engine.program()),
            Self::Ssh { host, directory } => match directory {
                Some(directory) => write!(f, "ssh:{host}:{directory}"),
                None => write!(f, "ssh:{host}"),
            },
            Self::Kubectl {
                namespace,
                pod,
                container,
            } => {
                f.write_str("kubectl:")?;
                if let Some(namespace) = namespace {
                    write!(f, "{namespace}/")?;
                }
                f.write_str(pod)?;
                match container {
                    Some(container) => write!(f, ":{container}"),
                    None => Ok(()),
                }
            }
            Self::Exec(words) => {
                f.write_str("exec:")?;
                for (number, word) in words.iter().enumerate() {
                    let space = if number == 0 { "" } else { " " };
                    let is_plain = |c: char| !c.is_whitespace() && c != '\'' && c != '"';
                    if !word.is_empty() && word.chars().all(is_plain) {
                        write!(f, "{space}{word}")?;
                    } else if word.contains('\'') {
                        write!(f, "{space}\"{word}\"")?;
                    } else {
                        write!(f, "{space}'{word}'")?;
                    }
                }
                Ok(())
            }
        }
    }
}

impl Serialize for RunnerChoice {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for RunnerChoice {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn case(text: &str) -> RunnerChoice {
        let choice: RunnerChoice = text.parse().unwrap();
        assert_eq!(choice.to_string(), text);
        choice
    }

    #[test]
    fn a_runner_is_written_as_it_is_read() {
        assert_eq!(case("local"), RunnerChoice::Local);
        assert!(case("docker:rust:1.95").is_container());
        assert!(case("podman:quay.io/a/b@sha256:0").is_container());
        assert!(case("docker:./.devcontainer/devcontainer.json").is_container());
        assert!(case("podman:./compose.yaml#app").is_container());
        assert!(!case("ssh:box:/srv/work").is_container());
        case("ssh:me@box");
        case("kubectl:builder");
        case("kubectl:ci/builder:main");
        let exec = case("exec:nsenter -t 'a b' sh");
        assert_eq!(
            exec,
            RunnerChoice::Exec(["nsenter", "-t", "a b", "sh"].map(str::to_owned).to_vec())
        );
    }

    #[test]
    fn what_a_program_would_take_for_an_option_is_no_name() {
        for text in [
            "docker:",
            "docker:-v/:/host",
            "docker:a b",
            "ssh:-oProxyCommand=x",
            "ssh:host:-x",
            "kubectl:-n",
            "kubectl:a/-x",
            "kubectl:a/b/c",
            "kubectl:a/b:c/d",
            "exec:",
            "exec:'open",
            "qemu:x",
            "rust",
        ] {
            assert_eq!(text.parse::<RunnerChoice>(), Err(NoRunner), "{text}");
        }
    }
}
