//! A repository that nobody wrote: realistic names, depths, sizes and ignore files.
//!
//! A number of files always gives the same tree. Nothing is downloaded.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// How many files a directory has on average, as in large repositories.
const FILES_A_DIRECTORY: usize = 11;

/// A line that a few files have: what a search looks for.
pub(crate) const RARE: &str = "reconcile_pending_ledger";

/// A word that nearly every file has.
pub(crate) const COMMON: &str = "return";

const AREAS: &[&str] = &[
    "core",
    "api",
    "auth",
    "billing",
    "cache",
    "client",
    "config",
    "events",
    "gateway",
    "history",
    "index",
    "jobs",
    "ledger",
    "metrics",
    "network",
    "orders",
    "parser",
    "queue",
    "render",
    "search",
    "storage",
    "sync",
    "templates",
    "users",
    "views",
    "workers",
];
const WORDS: &[&str] = &[
    "account",
    "adapter",
    "batch",
    "builder",
    "context",
    "controller",
    "decoder",
    "dispatch",
    "entry",
    "filter",
    "handler",
    "helper",
    "iterator",
    "layout",
    "manager",
    "mapper",
    "model",
    "options",
    "policy",
    "provider",
    "reader",
    "record",
    "registry",
    "request",
    "resolver",
    "response",
    "router",
    "schema",
    "service",
    "session",
    "state",
    "table",
    "token",
    "types",
    "utils",
    "validator",
    "writer",
];
const EXTENSIONS: &[&str] = &[
    "rs", "ts", "tsx", "py", "go", "java", "js", "c", "h", "md", "json", "yaml", "css", "html",
    "txt",
];
const LINES: &[&str] = &[
    "    let total = items.iter().map(|item| item.amount).sum();",
    "    if (request.headers.get(\"authorization\") == null) {",
    "        return Err(Error::new(\"the session has expired\"));",
    "    for entry in registry.entries():",
    "// The order matters: a later rule overrides an earlier one.",
    "",
    "    const response = await client.fetch(url, { retries: 3 });",
    "    return state;",
    "}",
    "func (s *Service) Handle(ctx context.Context, id string) error {",
];

/// The numbers that make one file differ from the next.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = (self.0)
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or_default() % sides
    }

    fn pick(&mut self, list: &[&'static str]) -> &'static str {
        list[self.roll(list.len())]
    }
}

/// Makes a tree of so many files that are not ignored, and some that are.
pub(crate) fn make(root: &Path, files: usize) -> std::io::Result<()> {
    let mut dice = Dice(files as u64);
    fs::create_dir_all(root)?;
    fs::write(
        root.join(".gitignore"),
        "node_modules/\ntarget/\n/dist\n*.log\n*.pyc\n__pycache__/\n.DS_Store\n*.swp\n!keep.log\nbuild/**/out\n",
    )?;
    let mut made = 1;
    let mut number = 0;
    while made < files {
        let directory = directory(root, &mut dice, number);
        fs::create_dir_all(&directory)?;
        if number.is_multiple_of(40) {
            fs::write(directory.join(".gitignore"), "/generated\n*.tmp\n")?;
            fs::write(directory.join("scratch.tmp"), "left out\n")?;
            made += 1;
        }
        let here = 1 + dice.roll(FILES_A_DIRECTORY * 2);
        for _ in 0..here.min(files - made) {
            made += 1;
            let name = format!(
                "{}_{}{made}.{}",
                dice.pick(WORDS),
                dice.pick(WORDS),
                dice.pick(EXTENSIONS)
            );
            fs::write(directory.join(name), content(&mut dice, made))?;
        }
        number += 1;
    }
    Ok(())
}

fn directory(root: &Path, dice: &mut Dice, number: usize) -> PathBuf {
    // Two dozen turns go to one package, so that its directories fill up.
    let package = number / 24;
    let top = ["packages", "services", "libs", "apps", "tools"];
    let mut path = root.join(top[package % top.len()]);
    path.push(format!("{}-{package}", AREAS[package % AREAS.len()]));
    if !number.is_multiple_of(24) {
        path.push(dice.pick(&["src", "src", "src", "tests", "lib"]));
        for _ in 0..dice.roll(4) {
            path.push(AREAS[(package + dice.roll(3)) % AREAS.len()]);
        }
    }
    path
}

fn content(dice: &mut Dice, number: usize) -> String {
    let mut text = String::new();
    for line in 0..8 + dice.roll(60) {
        let _ = writeln!(text, "{}", dice.pick(LINES));
        if number.is_multiple_of(2_999) && line == 5 {
            let _ = writeln!(text, "    {RARE}_{number}(&mut state);");
        }
    }
    text
}
