//! How fast replies of about a megabyte are read: `cargo bench -p agent-reply`.
//!
//! Ordinary replies first. Then dense ones, where every line is a candidate for some recogniser,
//! with the time for the double size over that for the single one: 2 is linear.

use std::hint::black_box;
use std::time::{Duration, Instant};

const SIZE: usize = 900_000;
const RUNS: usize = 25;

const CODE: &str = "/// Counts what an item holds.
fn count(items: &[Item], limit: usize) -> usize {
    let mut total = 0;
    for item in items.iter().take(limit) {
        if item.is_open() && item.name != \"item\" {
            total += item.count();
        }
    }
    total
}

";

const HUNK: &str = "@@ -1,4 +1,4 @@
 fn count(items: &[Item], limit: usize) -> usize {
-    let mut total = 0;
+    let mut total = 1;
     for item in items.iter().take(limit) {
         if item.is_open() {
";

fn repeated(size: usize, part: impl Fn(usize) -> String) -> String {
    let mut text = String::with_capacity(size + 4096);
    for number in 0.. {
        if text.len() >= size {
            break;
        }
        text.push_str(&part(number));
    }
    text
}

/// A name and what makes a reply of some size.
type Sample = (&'static str, fn(usize) -> String);

const ORDINARY: [Sample; 8] = [
    ("prose", |size| {
        repeated(size, |number| {
            format!(
                "Step {number} is about the counter. It sums what is open, then it returns.\n\n- it is linear\n- it takes [a list](https://example.org/{number})\n\n"
            )
        })
    }),
    ("prose and code", |size| {
        repeated(size, |number| {
            format!("## Step {number}\n\nThe function *counts*, see `count`:\n\n```\n{CODE}```\n\n")
        })
    }),
    ("one whole file", |size| {
        let code = CODE.repeat(size / CODE.len());
        format!("[CREATE_FILE path=\"a.rs\"]\n{code}[/CREATE_FILE]\n")
    }),
    ("commands", |size| {
        repeated(size, |number| {
            let body = CODE.repeat(4);
            format!(
                "[CREATE_FILE path=\"src/part_{number}.rs\"]\n{body}[/CREATE_FILE]\n[RUN_COMMAND]\ncargo test\n[/RUN_COMMAND]\n"
            )
        })
    }),
    ("SEARCH/REPLACE", |size| {
        repeated(size, |number| {
            format!(
                "src/part_{number}.rs\n```rust\n<<<<<<< SEARCH\n{CODE}=======\n{CODE}>>>>>>> REPLACE\n```\n\n"
            )
        })
    }),
    ("unified diff", |size| {
        repeated(size, |number| {
            let hunks = HUNK.repeat(4);
            format!("--- a/src/part_{number}.rs\n+++ b/src/part_{number}.rs\n{hunks}")
        })
    }),
    ("*** Begin Patch", |size| {
        let files = repeated(size, |number| {
            format!("*** Update File: src/part_{number}.rs\n{HUNK}")
        });
        format!("*** Begin Patch\n{files}*** End Patch\n")
    }),
    ("JSON plan", |size| {
        let content = serde_json::Value::String(CODE.repeat(8));
        let actions = repeated(size, |number| {
            format!(
                "{{\"tool\": \"write_file\", \"path\": \"src/part_{number}.rs\", \"content\": {content}}},\n"
            )
        });
        let actions = actions.trim_end_matches(",\n");
        format!("{{\"actions\": [\n{actions}\n]}}\n")
    }),
];

/// Lines that are repeated.
const DENSE: [(&str, &str); 14] = [
    ("tags without a body", "[READ_FILE path=\"src/a.rs\"]\n"),
    ("opening tags", "[CREATE_FILE path=\"a\"]\n"),
    ("closing tags", "[/CREATE_FILE]\n"),
    ("fences", "```rust\n```\n"),
    (
        "short blocks",
        "a.rs\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n",
    ),
    ("SEARCH markers", "<<<<<<< SEARCH\n"),
    ("file headers", "--- a/a\n+++ b/a\n"),
    ("hunk headers", "@@ -1 +1 @@\n"),
    (
        "short JSON calls",
        "{\"tool\": \"run\", \"command\": \"ls\"}\n",
    ),
    ("open braces", "{\"tool\":\n"),
    ("XML calls", "<read_file>\n<path>a</path>\n</read_file>\n"),
    ("quotes and numbers", "> 12 | a\n"),
    ("table rows", "| `[DONE]` | ends |\n"),
    ("blank lines", "\n"),
];

/// The time of the fastest run: the other runs were disturbed.
fn fastest(text: &str) -> Duration {
    let run = |_| {
        let start = Instant::now();
        black_box(agent_reply::parse(black_box(text)));
        start.elapsed()
    };
    (0..RUNS).map(run).min().unwrap_or_default()
}

fn megabytes_per_second(text: &str, time: Duration) -> f64 {
    let bytes = f64::from(u32::try_from(text.len()).unwrap_or(u32::MAX));
    bytes / 1e6 / time.as_secs_f64()
}

#[expect(clippy::print_stdout, reason = "it is a program for people")]
fn main() {
    let only = std::env::args()
        .nth(1)
        .filter(|word| !word.starts_with('-'));
    let is_meant = |name: &str| {
        only.as_ref()
            .is_none_or(|only| name.contains(only.as_str()))
    };
    for (name, make) in ORDINARY.iter().filter(|(name, _)| is_meant(name)) {
        let text = make(SIZE);
        let steps = agent_reply::parse(&text).steps.len();
        let speed = megabytes_per_second(&text, fastest(&text));
        println!("{name:24} {speed:6.0} MB/s ({steps} steps)");
    }
    for (name, line) in DENSE.iter().filter(|(name, _)| is_meant(name)) {
        let text = |size: usize| format!("Here it is.\n\n{}", line.repeat(size / line.len()));
        let (half, whole) = (text(SIZE / 2), text(SIZE));
        let (once, twice) = (fastest(&half), fastest(&whole));
        let ratio = twice.as_secs_f64() / once.as_secs_f64();
        let speed = megabytes_per_second(&whole, twice);
        println!("{name:24} {speed:6.0} MB/s, twice the size takes {ratio:.1} times as long");
    }
}
