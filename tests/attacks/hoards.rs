//! Things that a command could use up, leave behind or find beside what it needs, in each sandbox.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use agent::runner::RunEnd;
use agent::sandbox::{Backend, Confinement};

use crate::place::{DEADLINE, Place, SECRET, cases, program, skipped};

/// Each sandbox that the machine has, with a place of its own.
fn in_each_sandbox(test: impl Fn(&Place, &mut Confinement)) {
    for backend in Backend::ALL {
        let place = Place::new();
        let mut confinement = Confinement::of_workspace(place.workspace());
        confinement.backend = backend;
        confinement.launcher = program();
        confinement.home = place.home();
        match place.run("true", Some(&confinement), DEADLINE).end {
            RunEnd::NotStarted(reason) => skipped(backend.name(), &reason),
            _ => test(&place, &mut confinement),
        }
    }
}

#[track_caller]
fn withstands(place: &Place, confinement: &Confinement, script: &str) {
    let script = place.filled(script);
    let ran = place.run(&script, Some(confinement), DEADLINE);
    assert!(
        matches!(ran.end, RunEnd::Exited(1..=124) | RunEnd::Signalled(_)),
        "{}: {script}: {ran:?}",
        confinement.backend.name()
    );
    assert!(!ran.output.text.contains(SECRET), "{script}: {ran:?}");
    let ran = place.plain(&script);
    assert_eq!(ran.end, RunEnd::Exited(0), "plain: {script}: {ran:?}");
    cases(1);
}

#[test]
fn shared_memory_is_limited() {
    in_each_sandbox(|place, confinement| {
        confinement.limits.memory = Some(100 << 20);
        for script in [
            "PYTHON 'import mmap, time; m = mmap.mmap(-1, 300 << 20); [m.__setitem__(i, 1) for i in range(0, 300 << 20, 4096)]; time.sleep(1)'",
            // No process has it in its memory.
            "PYTHON 'import os, time; f = os.memfd_create(\"x\"); [os.write(f, bytes(1 << 20)) for _ in range(300)]; time.sleep(1)'",
        ] {
            withstands(place, confinement, script);
        }
        // What several share counts once.
        let shared = "PYTHON 'import mmap, os, time; m = mmap.mmap(-1, 60 << 20); m.write(bytes(60 << 20)); [os.fork() for _ in range(2)]; m[::4096]; time.sleep(0.5)'";
        let ran = place.run(&place.filled(shared), Some(confinement), DEADLINE);
        assert_eq!(ran.end, RunEnd::Exited(0), "{ran:?}");
    });
}

#[test]
fn commands_are_the_first_to_go_where_memory_is_short() {
    in_each_sandbox(|place, confinement| {
        withstands(
            place,
            confinement,
            "test $(cat /proc/self/oom_score_adj) -lt 1000",
        );
    });
}

#[test]
fn no_crash_starts_a_program_of_the_system() {
    in_each_sandbox(|place, confinement| {
        // The kernel starts it for every limit but 1, for 0 too.
        let attack = "PYTHON 'import resource, sys; sys.exit(resource.getrlimit(resource.RLIMIT_CORE) == (1, 1))'";
        withstands(place, confinement, attack);
    });
}

#[test]
fn of_the_kernels_own_sockets_there_is_only_that_of_routes() {
    in_each_sandbox(|place, confinement| {
        confinement.network = true;
        // Audit, the firewall, devices that come and go, and all that has a name.
        for protocol in [9, 12, 15, 16] {
            let attack = format!("PYTHON 'import socket; socket.socket(16, 3, {protocol})'");
            withstands(place, confinement, &attack);
        }
        let routes = place.filled("PYTHON 'import socket; socket.socket(16, 3, 0)'");
        let ran = place.run(&routes, Some(confinement), DEADLINE);
        assert_eq!(ran.end, RunEnd::Exited(0), "{ran:?}");
    });
}

#[test]
fn what_tools_keep_for_their_owner_is_hidden_and_the_tools_are_not() {
    in_each_sandbox(|place, confinement| {
        let write = |path: &str, mode: u32, text: &str| {
            let path = place.home().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        };
        let token = format!("_authToken={SECRET}");
        let secrets = [
            (
                ".local/share/uv/credentials/credentials.toml",
                0o600,
                SECRET,
            ),
            (".dotnet/corefx/x509stores/my/a.pfx", 0o600, SECRET),
            (".sdkman/keys/open", 0o644, SECRET),
            (".nvm/versions/node/v1/etc/npmrc", 0o644, &token),
            (".pyenv/versions/3/pip.conf", 0o644, &token),
            ("miniconda3/.condarc", 0o644, &token),
        ];
        let tools = [
            (".local/share/uv/tools/x/bin/x", 0o700, "tool"),
            (".nvm/versions/node/v1/lib/x.js", 0o644, "tool"),
            ("miniconda3/lib/closed.py", 0o600, "tool"),
        ];
        for (path, mode, text) in secrets.iter().chain(&tools) {
            write(path, *mode, text);
        }
        let keys = place.home().join(".sdkman/keys");
        fs::set_permissions(keys, fs::Permissions::from_mode(0o700)).unwrap();
        for (path, ..) in &secrets {
            withstands(place, confinement, &format!("grep SECRET ~/{path}"));
        }
        for (path, ..) in &tools {
            let ran = place.run(&format!("grep tool ~/{path}"), Some(confinement), DEADLINE);
            assert_eq!(ran.end, RunEnd::Exited(0), "{path}: {ran:?}");
        }
    });
}

#[test]
fn temporary_directories_are_closed_to_others() {
    // The other sandboxes have one in memory, which nobody else sees.
    let place = Place::new();
    let mut confinement = Confinement::of_workspace(place.workspace());
    confinement.backend = Backend::Landlock;
    confinement.launcher = program();
    confinement.home = place.home();
    if let RunEnd::NotStarted(reason) = place.run("true", Some(&confinement), DEADLINE).end {
        return skipped("landlock", &reason);
    }
    let attack = "test $(( 0$(stat -c %a ${TMPDIR:-/tmp}) & 055 )) != 0";
    withstands(&place, &confinement, attack);
    let own = agent::fs::temporary_directory("agent-").unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(own.path()), 0o700);
    let plain = tempfile::tempdir().unwrap();
    assert_ne!(mode(plain.path()), 0o700, "what says nothing is open");
}
