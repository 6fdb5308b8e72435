//! Looking for secrets in what goes out, beside a regular expression that knows three of its forms.

use agent::secrets::{Allow, Scanner, TextSource};
use regex::Regex;

use crate::Outcome;
use crate::parse::rate;
use crate::replies;
use crate::table::{Goal, Row, Table};

/// Bytes of a text; a megabyte is a million.
const SIZE: usize = 32_000_000;

/// Megabytes in a second: then the longest message costs 20 ms.
const GOAL: f64 = 50.0;

/// Output of a program that prints its settings. The values look like secrets and are none.
fn settings(size: usize) -> String {
    const LINES: &str = "DATABASE_URL=postgres://app@localhost:5432/app\napi_token: ${API_TOKEN}\npassword = \"changeme\"\nsha256 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08\nkey id: AKIA, region: eu-central-1\n";
    LINES.repeat(size / LINES.len())
}

pub(crate) fn measure(table: &mut Table) -> Outcome {
    let scanner = Scanner::new(Allow::default());
    let peer = Regex::new(
        r#"(?i)(?:password|token|secret|api.?key)["' ]*[:=]|gh[po]_[a-z0-9]{36}|AKIA[0-9A-Z]{16}"#,
    )?;
    for (name, text) in [
        ("prose and code", replies::prose(SIZE)),
        ("settings", settings(SIZE)),
    ] {
        let ours = rate(&text, || scanner.scan(&text, TextSource::Text))?;
        let beside = rate(&text, || peer.find_iter(&text).count())?;
        table.add(&Row {
            what: format!("secrets 32 MB: {name}"),
            ours: format!("{ours:.0} MB/s"),
            beside: format!("three forms {beside:.0} MB/s"),
            ratio: Some(ours / beside),
            goal: Goal::new("at least 50 MB/s", ours >= GOAL),
        });
    }
    Ok(())
}
