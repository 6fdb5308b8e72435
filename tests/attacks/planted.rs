use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use agent::runner::RunEnd;

use crate::place::{Place, TestProcess, cases, command, eventually};

/// Programs that `agent` starts by itself, outside of the sandbox.
const HELPERS: [&str; 8] = [
    "notify-send",
    "wl-copy",
    "wl-paste",
    "xclip",
    "xsel",
    "git",
    "bash",
    "my-editor",
];

/// A project with an activated environment: its directory of programs is in `PATH` before those of
/// the person.
struct Project {
    place: Place,
}

impl Project {
    /// One where the person works in place.
    fn new() -> Self {
        let project = Self::with_helpers(Place::new());
        let output = project.agent(&["init"]).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        project
    }

    fn with_helpers(place: Place) -> Self {
        let project = Self { place };
        fs::create_dir(project.own()).unwrap();
        for helper in HELPERS {
            let path = project.own().join(helper);
            let mark = project.place.root().join(format!("own-{helper}"));
            // An editor is given the file last; what the others do does not matter.
            let script = format!(
                "#!/bin/sh\necho x >> '{}'\nfor file; do :; done\ntest {helper} = my-editor && echo '[MESSAGE]' > \"$file\"\nexit 0\n",
                mark.display()
            );
            fs::write(&path, script).unwrap();
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        project
    }

    /// Where the person's own helpers are.
    fn own(&self) -> PathBuf {
        self.place.root().join("bin")
    }

    fn has_run_own(&self, helper: &str) -> bool {
        self.place.root().join(format!("own-{helper}")).exists()
    }

    /// A command of the model plants all of them, in the sandbox as it is.
    fn plant(&self) {
        self.place.apply(&self.planting()).all(1, "ok");
    }

    fn planting(&self) -> String {
        let script = "mkdir -p .venv/bin && for name in NAMES; do printf '#!/bin/sh\\necho x >> WORK/ran-%s\\nfor file; do :; done\\ncat /dev/null\\n' $name > .venv/bin/$name && chmod +x .venv/bin/$name; done"
            .replace("NAMES", &HELPERS.join(" "))
            .replace("WORK", self.place.workspace().to_str().unwrap());
        command(&script)
    }

    fn planted_have_run(&self) -> Vec<String> {
        let names = crate::place::contents(&self.place.workspace()).into_keys();
        names.filter(|name| name.starts_with("ran-")).collect()
    }

    fn search(&self) -> String {
        let planted = self.place.workspace().join(".venv/bin");
        format!(
            "{}:.venv/bin:{}:/usr/bin:/bin",
            planted.display(),
            self.own().display()
        )
    }

    fn agent(&self, arguments: &[&str]) -> Command {
        let mut command = self.place.agent(arguments);
        command
            .current_dir(self.place.workspace())
            .env("PATH", self.search())
            .env("DISPLAY", ":4711")
            .env("VISUAL", "my-editor --wait");
        command
    }

    /// A shell that looks in the same `PATH` starts what was planted.
    #[track_caller]
    fn counterpart(&self, helper: &str) {
        let ran = self
            .place
            .plain(&format!("PATH='{}' {helper} x < /dev/null", self.search()));
        assert_eq!(ran.end, RunEnd::Exited(0), "{}", ran.output.text);
        assert_eq!(self.planted_have_run(), [format!("ran-{helper}")]);
        let mark = self.place.workspace().join(format!("ran-{helper}"));
        fs::remove_file(mark).unwrap();
        cases(1);
    }
}

#[test]
fn no_helper_is_taken_from_where_commands_can_write() {
    let project = Project::new();
    project.plant();
    // The clipboard: what puts the text there, and what reads it back.
    let new = ["new", "task", "--no-wait", "--clipboard", "out"];
    let output = project.agent(&new).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(project.has_run_own("xclip"), "{output:?}");
    fs::remove_file(project.own().join("xclip")).unwrap();
    let output = project.agent(&new).output().unwrap();
    assert!(project.has_run_own("xsel"), "{output:?}");
    let mut wayland = project.agent(&new);
    let wayland = wayland.env("WAYLAND_DISPLAY", "wayland-4711");
    let output = wayland.output().unwrap();
    for helper in ["wl-copy", "wl-paste"] {
        assert!(project.has_run_own(helper), "{helper}: {output:?}");
    }
    // The editor, by name.
    let output = project.agent(&["paste", "--edit"]).output().unwrap();
    assert!(project.has_run_own("my-editor"), "{output:?}");
    // What the doctor looks at.
    let output = project.agent(&["doctor"]).output().unwrap();
    assert!(project.has_run_own("git"), "{output:?}");
    assert!(project.has_run_own("bash"), "{output:?}");
    assert_eq!(project.planted_have_run(), [""; 0]);
    for helper in HELPERS.iter().filter(|helper| **helper != "notify-send") {
        project.counterpart(helper);
    }
}

#[test]
fn a_notification_is_not_shown_by_what_a_command_planted() {
    let project = Project::new();
    let mut agent = project.agent(&["new", "task", "--notify", "desktop"]);
    let agent = TestProcess(agent.spawn().unwrap());
    let own = project.place.workspace().join(".agent");
    let has_files = |folder: &str| {
        let entries = fs::read_dir(own.join(folder)).into_iter().flatten();
        entries.count() > 0
    };
    eventually("the first message", || has_files("outbox"));
    // On a slow machine the first message is worth a notification too.
    let notified = || {
        let mark = project.place.root().join("own-notify-send");
        fs::read_to_string(mark).map_or(0, |text| text.lines().count())
    };
    let early = notified();
    // The reply of the same round plants what its end would start.
    fs::write(own.join("inbox/reply.md"), project.planting()).unwrap();
    let planted = project.place.workspace().join(".venv/bin/notify-send");
    eventually("the person is notified", || {
        planted.exists() && notified() > early
    });
    drop(agent);
    assert_eq!(project.planted_have_run(), [""; 0]);
    project.counterpart("notify-send");
}

#[test]
fn the_doctor_runs_nothing_of_a_directory_whose_settings_are_broken() {
    let project = Project::new();
    project.plant();
    let settings = project.place.workspace().join(".agent/appsettings.json");
    fs::write(settings, "{").unwrap();
    project.agent(&["doctor"]).output().unwrap();
    assert!(project.has_run_own("git"));
    assert_eq!(project.planted_have_run(), [""; 0]);
    project.counterpart("git");
}

#[test]
fn a_project_cannot_have_programs_started_without_trust() {
    for setting in [
        "\"Notify\":\"desktop\"",
        "\"Notify\":\"bell\"",
        "\"Clipboard\":\"out\"",
    ] {
        let settings = format!("{{\"Agent\":{{{setting}}}}}");
        let place = Place::new().file("appsettings.json", &settings);
        let project = Project::with_helpers(place);
        let output = project
            .agent(&["new", "task", "--no-wait"])
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let name = setting.split('"').nth(1).unwrap();
        assert!(said.contains(&format!("`{name}` in")), "{said}");
        assert!(said.contains("trusted"), "{said}");
        assert!(!project.has_run_own("xclip"));
        cases(1);
    }
    // The counterpart: with trust, or by flag, it counts.
    let project = Project::new();
    let flag = ["new", "task", "--no-wait", "--clipboard", "out"];
    project.agent(&flag).output().unwrap();
    assert!(project.has_run_own("xclip"));
}
