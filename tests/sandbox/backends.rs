//! The self-test, for each backend that the machine has.

use std::path::Path;

use agent::sandbox::Backend;

#[test]
fn the_self_test_finds_that_everything_holds() {
    let launcher = Path::new(env!("CARGO_BIN_EXE_agent"));
    let strength = agent::sandbox::probe(launcher, &std::env::temp_dir(), None);
    assert!(strength.is_whole(), "{strength:#?}");
}

/// Checks that these properties hold for a weaker backend, if this machine has it.
#[track_caller]
fn holds(backend: Backend, names: &[&str]) {
    let launcher = Path::new(env!("CARGO_BIN_EXE_agent"));
    let Ok(properties) = agent::sandbox::try_out(backend, launcher, &std::env::temp_dir()) else {
        return;
    };
    for property in properties {
        let is_promised = names.contains(&property.name.word());
        assert!(property.holds || !is_promised, "{property:?}");
    }
}

#[test]
fn bubblewrap_holds_all_but_that_root_is_another() {
    let names = [
        "home",
        "files",
        "repository",
        "network",
        "processes",
        "signals",
        "privileges",
        "calls",
        "kernel",
        "system",
        "survival",
    ];
    holds(Backend::Bubblewrap, &names);
}

#[test]
fn landlock_holds_what_it_can() {
    let names = [
        "home",
        "files",
        "network",
        "signals",
        "privileges",
        "calls",
        "kernel",
        "system",
        "survival",
    ];
    holds(Backend::Landlock, &names);
}
