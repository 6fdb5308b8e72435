use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use agent::sandbox::{Backend, try_out};

use crate::place::{is_root, program, skipped};

/// A user who owns nothing on the machine: one per backend, because the kernel counts the processes
/// of a user, and runs with different backends are made at the same time. The fork bomb of one would
/// take from the other what it may start.
fn ordinary_user(backend: Backend) -> u32 {
    match backend {
        Backend::Namespaces => 4_000,
        Backend::Bubblewrap => 4_001,
        Backend::Landlock => 4_002,
    }
}

/// The exit code of a run that could not be prepared.
const UNPREPARED: i32 = 99;

/// Tests that run with every backend, as every kind of user. With `AGENT_ATTACKS=all` all tests do.
const SAMPLE: [&str; 24] = [
    "kernel::dangerous_calls_do_not_get_to_the_kernel",
    "kernel::devices_keep_their_mode_owner_and_times",
    "kernel::files_that_only_root_may_read_are_masked_whatever_their_name",
    "kernel::namespaces_and_mounts_are_not_to_be_had",
    "kernel::privileges_are_gone_for_good",
    "kernel::the_kernel_is_not_configured",
    "kernel::the_person_is_told_whether_commands_run_as_root",
    "links::a_command_cannot_change_a_file_with_a_hard_link_outside",
    "network::only_the_loopback_is_there_and_it_works",
    "own::a_base_in_a_path_that_the_person_opened_stays_as_it_is",
    "own::commands_neither_see_nor_change_the_records_of_another_base",
    "own::the_settings_of_a_workspace_in_the_base_are_closed",
    "processes::a_fork_bomb_ends_with_its_command",
    "processes::limits_are_met",
    "processes::names_outside_are_not_seen",
    "processes::nobody_outlives_a_command",
    "processes::nobody_outlives_the_program",
    "processes::nothing_outside_is_written_or_read",
    "processes::other_processes_are_neither_signalled_nor_looked_into",
    "processes::other_processes_are_not_seen",
    "processes::the_environment_of_the_program_is_not_to_be_had",
    "protected::commands_do_not_change_what_tools_obey",
    "protected::our_own_state_is_not_read",
    "repositories::a_repository_further_down_is_closed_as_that_of_the_top_is",
];

/// Attacks that Landlock does not withstand: the rows of docs/security.md in which it has a `no`, or
/// says that something is disabled afterwards.
const NOT_BY_LANDLOCK: [&str; 27] = [
    "git::a_second_name_of_a_configuration_is_closed_with_it",
    "git::a_submodule_that_is_not_there_gets_no_repository",
    "git::what_the_configuration_of_git_names_is_closed_as_hooks_are",
    "git::what_the_configuration_of_git_names_is_closed_in_each_work_tree",
    "links::a_command_cannot_change_a_file_with_a_hard_link_outside",
    "links::a_link_that_one_command_found_is_closed_to_the_next_wherever_it_moves",
    "links::very_many_links_are_all_protected",
    "network::only_the_loopback_is_there_and_it_works",
    "own::nothing_is_run_or_made_while_a_protected_name_is_a_link",
    "own::the_settings_of_a_workspace_in_the_base_are_closed",
    "processes::names_outside_are_not_seen",
    "processes::no_file_is_left_behind",
    "processes::other_processes_are_not_seen",
    "protected::a_grant_opens_no_hook",
    "protected::commands_do_not_change_what_build_services_run",
    "protected::commands_do_not_change_what_tools_obey",
    "protected::our_mark_on_a_directory_of_the_person_opens_nothing",
    "protected::our_own_state_is_not_read",
    "protected::what_tools_obey_further_down_is_not_changed_by_commands",
    "repositories::a_directory_that_was_closed_to_us_is_closed_to_the_next_command",
    "repositories::a_grant_opens_a_repository_further_down_but_nothing_that_git_obeys",
    "repositories::a_grant_opens_nothing_that_git_obeys_in_a_repository_outside",
    "repositories::a_path_that_is_too_long_hides_nothing",
    "repositories::a_repository_further_down_is_closed_as_that_of_the_top_is",
    "repositories::a_repository_without_files_is_closed_with_a_grant_too",
    "repositories::what_git_would_run_in_a_repository_further_down_is_not_led_elsewhere",
    "repositories::what_was_not_looked_through_is_read_only",
];

/// Tests that need a command to run unasked beside records of `agent` in the workspace: with Landlock
/// every such command is asked about.
const ASKED_WITH_LANDLOCK: [&str; 7] = [
    "git::the_state_of_another_base_further_down_is_not_seen",
    "own::our_records_are_not_read_through_a_link",
    "own::settings_in_force_are_not_replaced_by_a_reply",
    "planted::a_notification_is_not_shown_by_what_a_command_planted",
    "planted::no_helper_is_taken_from_where_commands_can_write",
    "planted::the_doctor_runs_nothing_of_a_directory_whose_settings_are_broken",
    "tools::programs_of_the_workspace_are_not_taken_for_those_of_the_system",
];

/// Modules in which nothing depends on who runs commands how.
const INDEPENDENT: [&str; 4] = ["files::", "races::", "terminal::", "policy::"];

/// By whom the suite is run again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Attacker {
    /// The user who runs it now.
    Same,
    /// Somebody who owns nothing but their home.
    Ordinary,
    /// Root, with files that cannot be shown as another's, as in most containers.
    RootOnOverlay,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Selection {
    Everything,
    Sample,
}

/// One run of the suite by a process of its own.
struct Again {
    attacker: Attacker,
    backend: Backend,
    selection: Selection,
}

impl Again {
    fn name(&self) -> String {
        let attacker = match self.attacker {
            Attacker::Same if is_root() => "root",
            Attacker::Same => "this user",
            Attacker::Ordinary => "an ordinary user",
            Attacker::RootOnOverlay => "root on overlayfs",
        };
        format!("{attacker} with {}", self.backend.name())
    }

    /// Script that prepares a mount namespace and then runs the suite, which is `"$@"`.
    fn preparation(&self) -> &'static str {
        match self.attacker {
            Attacker::Same => "exec \"$@\"",
            Attacker::Ordinary => {
                "mount --bind \"$BUILT_AGENT\" agent
                 mount --bind \"$BUILT_ATTACKS\" attacks
                 exec setpriv --reuid \"$ORDINARY\" --regid \"$ORDINARY\" --clear-groups \"$@\""
            }
            Attacker::RootOnOverlay => {
                "mount -t overlay files -o lowerdir=lower,upperdir=upper,workdir=work tmp || exit 99
                 exec \"$@\""
            }
        }
    }

    fn start(&self, directory: &Path) -> Output {
        let at = |name: &str| directory.join(name);
        let ordinary = ordinary_user(self.backend);
        for name in ["tmp", "home", "lower", "upper", "work", "etc", "etc.work"] {
            fs::create_dir(at(name)).unwrap();
        }
        fs::set_permissions(directory, fs::Permissions::from_mode(0o755)).unwrap();
        // The user may not be able to go where these were built.
        let (mut agent, mut attacks) = (program(), std::env::current_exe().unwrap());
        let built = [
            ("BUILT_AGENT", agent.clone()),
            ("BUILT_ATTACKS", attacks.clone()),
        ];
        if self.attacker == Attacker::Ordinary {
            (agent, attacks) = (at("agent"), at("attacks"));
            for name in ["agent", "attacks"] {
                fs::File::create(at(name)).unwrap();
            }
            for name in ["tmp", "home"] {
                chown(at(name), Some(ordinary), Some(ordinary)).unwrap();
            }
        }
        let mut script = String::from("set -e\n");
        if is_root() {
            // Something of the machine's own that only root may read, seen by this run alone.
            script.push_str(SYSTEM);
        }
        script.push_str(self.preparation());
        let mut command = Command::new(if is_root() { "unshare" } else { "sh" });
        if is_root() {
            command.args(["--mount", "sh"]);
        }
        // Landlock has no process namespace: a fork bomb in one test takes from another what the
        // user may start.
        let threads = match self.backend {
            Backend::Landlock => "1",
            Backend::Namespaces | Backend::Bubblewrap => "2",
        };
        command
            .args(["-c", &script, "sh"])
            .arg(attacks)
            .args(["--nocapture", "--test-threads", threads, "--skip", "user::"])
            .current_dir(directory)
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin")
            .env("HOME", at("home"))
            .env("TMPDIR", at("tmp"))
            .env("ATTACKS_COUNTED", "1")
            .env("ATTACKED_BACKEND", self.backend.name())
            .env("ATTACKED_PROGRAM", agent)
            .env("ATTACKED_STATE", at("home").join("state"))
            .env("ORDINARY", ordinary.to_string())
            .envs(built)
            .stdin(Stdio::null());
        if is_root() {
            command.env("ATTACKED_SYSTEM", "/etc/agent-attacks");
        }
        if self.attacker == Attacker::RootOnOverlay {
            command.env("ATTACKED_ON_OVERLAY", "1");
        }
        match self.selection {
            Selection::Sample => command.arg("--exact").args(SAMPLE),
            Selection::Everything if self.is_whole() => &mut command,
            Selection::Everything => {
                command.args(INDEPENDENT.iter().flat_map(|module| ["--skip", module]))
            }
        };
        command.output().unwrap()
    }

    /// Returns true if this is the run of everything by another user, which is always made.
    fn is_whole(&self) -> bool {
        self.attacker == Attacker::Ordinary && self.backend == Backend::Namespaces
    }

    /// Tests that must fail, because the backend does not withstand the attack.
    fn expected(&self) -> BTreeSet<&'static str> {
        let is_selected =
            |name: &&str| self.selection == Selection::Everything || SAMPLE.contains(name);
        match self.backend {
            Backend::Namespaces | Backend::Bubblewrap => BTreeSet::new(),
            Backend::Landlock => (NOT_BY_LANDLOCK.into_iter())
                .chain(ASKED_WITH_LANDLOCK)
                .filter(is_selected)
                .collect(),
        }
    }

    fn run(mut self) {
        if !is_root() && self.attacker != Attacker::Same {
            return skipped(&self.name(), "only root can become another or mount");
        }
        if std::env::var("AGENT_ATTACKS").is_ok_and(|value| value == "all") {
            self.selection = Selection::Everything;
        }
        let directory = tempfile::tempdir().unwrap();
        if let Err(reason) = try_out(self.backend, &program(), directory.path()) {
            return skipped(&self.name(), &reason);
        }
        let began = std::time::Instant::now();
        let output = self.start(directory.path());
        let stdout = String::from_utf8_lossy(&output.stdout);
        let stderr = String::from_utf8_lossy(&output.stderr);
        if output.status.code() == Some(UNPREPARED) {
            return skipped(&self.name(), &stderr);
        }
        let name = self.name();
        let failed: BTreeSet<&str> = failures(&stdout).collect();
        assert!(
            stdout.contains("test result: "),
            "{name}: {stdout}\n{stderr}"
        );
        assert_eq!(failed, self.expected(), "{name}: {stdout}\n{stderr}");
        for line in stderr.lines().filter(|line| line.starts_with("skipped: ")) {
            let _ = writeln!(std::io::stderr(), "{name}: {line}");
        }
        let cases: usize = stderr
            .lines()
            .filter_map(|line| line.rsplit_once("cases: ")?.1.parse::<usize>().ok())
            .sum();
        let _ = writeln!(
            std::io::stderr(),
            "attacks: {cases} cases withstood by {name} in {:.0?}, each with its counterpart; {} tests show what does not hold",
            began.elapsed(),
            failed.len()
        );
        assert!(cases >= 40, "{name}: only {cases} cases");
        let left = fs::read_dir(directory.path().join("tmp")).unwrap();
        let left: Vec<_> = left.map(|entry| entry.unwrap().path()).collect();
        assert!(left.is_empty(), "{name} leaves {left:?}");
    }
}

/// Puts a directory with files for root and for everyone into `/etc`, as this run sees it.
const SYSTEM: &str = "
mount -t overlay etc -o lowerdir=/etc,upperdir=etc,workdir=etc.work /etc || exit 99
mkdir -m 755 /etc/agent-attacks
mkdir -m 700 /etc/agent-attacks/closed
echo key > /etc/agent-attacks/key
echo key > /etc/agent-attacks/closed/key
chmod 600 /etc/agent-attacks/key
echo open > /etc/agent-attacks/open
";

/// The names of the tests that failed, from what the suite printed.
fn failures(stdout: &str) -> impl Iterator<Item = &str> {
    let list = stdout
        .rsplit_once("\nfailures:\n")
        .map_or("", |(_, list)| list);
    list.lines()
        .map_while(|line| line.strip_prefix("    "))
        .map(str::trim)
}

#[test]
fn an_ordinary_user_is_protected_just_as_root_is() {
    Again {
        attacker: Attacker::Ordinary,
        backend: Backend::Namespaces,
        selection: Selection::Everything,
    }
    .run();
}

fn sample(attacker: Attacker, backend: Backend) {
    Again {
        attacker,
        backend,
        selection: Selection::Sample,
    }
    .run();
}

#[test]
fn bubblewrap_protects_every_kind_of_user() {
    sample(Attacker::Same, Backend::Bubblewrap);
    sample(Attacker::Ordinary, Backend::Bubblewrap);
    sample(Attacker::RootOnOverlay, Backend::Bubblewrap);
}

#[test]
fn landlock_protects_every_kind_of_user_as_far_as_it_can() {
    sample(Attacker::Same, Backend::Landlock);
    sample(Attacker::Ordinary, Backend::Landlock);
    sample(Attacker::RootOnOverlay, Backend::Landlock);
}

#[test]
fn root_is_protected_where_files_cannot_be_shown_as_those_of_another() {
    sample(Attacker::RootOnOverlay, Backend::Namespaces);
}
