use std::collections::BTreeMap;

use crate::story::Tree;

/// The end of a session that was played.
pub struct Played {
    pub troubles: Vec<String>,
    pub said: String,
    pub was_hit: bool,
    /// True if the model had to repair something, so that not every word is the same.
    pub is_mended: bool,
    pub workspace: Tree,
    /// Directories, links and permissions of the workspace.
    pub shape: Tree,
    pub session: serde_json::Value,
    pub outboxes: BTreeMap<u32, String>,
}

impl Played {
    /// In what it differs from an undisturbed session.
    pub fn compare(&self, undisturbed: &Self, is_same_course: bool) -> Vec<String> {
        let mut found = self.troubles.clone();
        if self.workspace != undisturbed.workspace {
            found.push(format!("lost: the workspace is {:#?}", self.workspace));
        }
        if self.shape != undisturbed.shape {
            found.push(format!("lost: the shape is {:#?}", self.shape));
        }
        if self.session["isComplete"] != true || self.session["summary"] != "fine" {
            found.push(format!("lost: the session is {:#}", self.session));
        }
        if is_same_course && !self.is_mended {
            for (number, text) in &undisturbed.outboxes {
                let ours = self.outboxes.get(number).map(|text| normal(text));
                if ours.as_deref() != Some(normal(text).as_str()) {
                    found.push(format!(
                        "lost: message {number} is {}",
                        ours.unwrap_or_default()
                    ));
                }
            }
            let session = |played: &Self| {
                let mut session = played.session.clone();
                for result in session["lastResults"].as_array_mut().into_iter().flatten() {
                    result["millis"].take();
                }
                for key in [
                    "sessionId",
                    "createdAt",
                    "updatedAt",
                    "replies",
                    "checkpoints",
                    // By the lengths of messages, which tell how long things took.
                    "chatTokens",
                ] {
                    session[key].take();
                }
                normal(&session.to_string())
            };
            if session(self) != session(undisturbed) {
                found.push(format!("lost: the session is {:#}", self.session));
            }
        }
        found
    }
}

/// A text without what differs between any two sessions: the id, and how long things took.
fn normal(text: &str) -> String {
    let id = text
        .lines()
        .nth(1)
        .and_then(|line| line.strip_prefix("Session: "));
    let text = id.map_or(text.to_owned(), |id| text.replace(id, "<id>"));
    let mut words = Vec::new();
    for line in text.lines() {
        match line.split_once("exit code 0 in ") {
            Some((before, after)) => {
                let rest = after.split_once('s').map_or("", |(_, rest)| rest);
                words.push(format!("{before}exit code 0 in <time>{rest}"));
            }
            None => words.push(line.to_owned()),
        }
    }
    words.join("\n")
}
