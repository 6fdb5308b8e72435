//! Which build of the program this is, how old it is, and how it came here.

use std::path::Path;

use jiff::Timestamp;

/// The version, the commit and the target, as `agent --version` shows them.
pub fn version() -> &'static str {
    match env!("AGENT_COMMIT") {
        "" => concat!(env!("CARGO_PKG_VERSION"), " (", env!("AGENT_TARGET"), ")"),
        _ => concat!(
            env!("CARGO_PKG_VERSION"),
            " (",
            env!("AGENT_COMMIT"),
            ", ",
            env!("AGENT_TARGET"),
            ")"
        ),
    }
}

/// How old the commit is that was built, if the build knows it.
pub(super) fn age(now: Timestamp) -> Option<String> {
    let seconds: i64 = env!("AGENT_COMMIT_TIME").parse().ok()?;
    let made = Timestamp::from_second(seconds).ok()?;
    let days = now.duration_since(made).as_hours().max(0) / 24;
    Some(match days {
        0 => "built from a commit of today".to_owned(),
        1 => "built from a commit of yesterday".to_owned(),
        days => format!("built from a commit {days} days ago"),
    })
}

/// How this program was installed, judged by where it lies.
pub(super) fn origin(program: &Path, home: Option<&Path>) -> &'static str {
    let has = |name: &str| program.components().any(|part| part.as_os_str() == name);
    let in_home = |place: &str| home.is_some_and(|home| program.starts_with(home.join(place)));
    if has("node_modules") {
        "installed by npm"
    } else if has("site-packages") || has("pipx") {
        "installed by pip"
    } else if has("Cellar") || has("homebrew") || has("linuxbrew") {
        "installed by Homebrew"
    } else if has("scoop") {
        "installed by Scoop"
    } else if in_home(".cargo/bin") {
        "installed by cargo"
    } else if in_home(".local/bin") {
        "installed by install.sh or by hand"
    } else if has("target") && (has("debug") || has("release") || has("quick")) {
        "built in its source tree"
    } else if program == Path::new("/usr/bin/agent") {
        "installed by the system's package manager"
    } else {
        "installed by hand"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_names_the_target() {
        assert!(version().starts_with(env!("CARGO_PKG_VERSION")));
        assert!(version().contains(std::env::consts::ARCH), "{}", version());
    }

    #[test]
    fn where_it_lies_tells_how_it_came() {
        let home = Path::new("/home/eva");
        for (program, expected) in [
            (
                "/usr/bin/agent",
                "installed by the system's package manager",
            ),
            ("/home/eva/.cargo/bin/agent", "installed by cargo"),
            (
                "/home/eva/.local/bin/agent",
                "installed by install.sh or by hand",
            ),
            (
                "/home/eva/src/agent/target/release/agent",
                "built in its source tree",
            ),
            (
                "/home/eva/app/node_modules/agent/bin/agent",
                "installed by npm",
            ),
            ("/opt/homebrew/bin/agent", "installed by Homebrew"),
            ("/opt/agent", "installed by hand"),
        ] {
            assert_eq!(
                origin(Path::new(program), Some(home)),
                expected,
                "{program}"
            );
        }
    }

    #[test]
    fn the_age_is_told_in_days() {
        let Ok(seconds) = env!("AGENT_COMMIT_TIME").parse::<i64>() else {
            assert_eq!(age(Timestamp::UNIX_EPOCH), None);
            return;
        };
        let after =
            |hours: i64| age(Timestamp::from_second(seconds + hours * 3600).unwrap()).unwrap();
        assert_eq!(after(1), "built from a commit of today");
        assert_eq!(after(30), "built from a commit of yesterday");
        assert_eq!(after(24 * 40), "built from a commit 40 days ago");
        // A clock that is behind.
        assert_eq!(after(-100), "built from a commit of today");
    }
}
