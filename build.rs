//! Tells the program which commit it was built from, when that was made, and for which target.

#![expect(
    clippy::disallowed_methods,
    reason = "no command of a model runs before a build"
)]

use std::process::Command;

fn main() {
    // A build for tests does not name its commit, so that not every commit builds it anew.
    let is_release = std::env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let git = |arguments: &[&str]| is_release.then(|| git(arguments)).flatten();
    // In an archive or from a registry there is no repository.
    if let Some(directory) = git(&["rev-parse", "--absolute-git-dir"]) {
        println!("cargo::rerun-if-changed={directory}/logs/HEAD");
    }
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=AGENT_COMMIT");
    println!("cargo::rerun-if-env-changed=SOURCE_DATE_EPOCH");
    let commit = std::env::var("AGENT_COMMIT").ok();
    let commit = commit.or_else(|| git(&["rev-parse", "--short=9", "HEAD"]));
    let time = std::env::var("SOURCE_DATE_EPOCH").ok();
    let time = time.or_else(|| git(&["log", "-1", "--format=%ct"]));
    let target = std::env::var("TARGET").unwrap_or_default();
    println!(
        "cargo::rustc-env=AGENT_COMMIT={}",
        commit.unwrap_or_default()
    );
    println!(
        "cargo::rustc-env=AGENT_COMMIT_TIME={}",
        time.unwrap_or_default()
    );
    println!("cargo::rustc-env=AGENT_TARGET={target}");
}

fn git(arguments: &[&str]) -> Option<String> {
    let directory = std::env::var_os("CARGO_MANIFEST_DIR")?;
    // Only the repository of this package, not one that it happens to lie in.
    if !std::path::Path::new(&directory).join(".git").exists() {
        return None;
    }
    let output = Command::new("git")
        .args(arguments)
        .current_dir(directory)
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    (output.status.success() && !text.trim().is_empty()).then(|| text.trim().to_owned())
}
