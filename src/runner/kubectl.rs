//! A pod of a cluster, reached by the person's own `kubectl` with their configuration.

use std::process::Command;
use std::sync::atomic::AtomicBool;

use super::exchange::RemoteConnection;
use crate::platform::programs;

/// A container that runs in a cluster.
#[derive(Debug)]
pub struct PodConnection {
    /// The namespace, if it is not the current one.
    pub namespace: Option<String>,
    /// The pod.
    pub pod: String,
    /// The container of the pod, if it is not the first.
    pub container: Option<String>,
}

impl RemoteConnection for PodConnection {
    fn client(&self, script: Option<&str>, _: &AtomicBool) -> Result<Command, String> {
        let mut kubectl = programs::command("kubectl")
            .map_err(|_| "`kubectl` is not installed; install it, or choose another `Runner`")?;
        kubectl.arg("exec").arg("--stdin");
        if let Some(namespace) = &self.namespace {
            kubectl.args(["--namespace", namespace]);
        }
        if let Some(container) = &self.container {
            kubectl.args(["--container", container]);
        }
        kubectl.args([&self.pod, "--", "sh"]);
        if let Some(script) = script {
            kubectl.args(["-c", script]);
        }
        Ok(kubectl)
    }

    fn explain(&self, words: &str) -> String {
        let pod = &self.pod;
        let lower = words.to_lowercase();
        let advice = if lower.contains("not found") && lower.contains("pods") {
            format!("there is no pod `{pod}`: `kubectl get pods` lists them")
        } else if lower.contains("forbidden") || lower.contains("unauthorized") {
            format!("you may not run commands in the pod `{pod}`")
        } else if lower.contains("refused") || lower.contains("no route") {
            "the cluster does not answer".to_owned()
        } else {
            format!("`kubectl exec {pod}` failed")
        };
        let words: Vec<&str> = words.split_whitespace().collect();
        match words.join(" ") {
            words if words.is_empty() => advice,
            words => format!("{advice} ({words})"),
        }
    }
}
