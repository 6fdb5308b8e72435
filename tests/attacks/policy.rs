use std::path::Path;

use agent::policy::{CommandConfinement, Decision, Policy, Rule};
use agent::protocol::Command;
use serde_json::Value;

use crate::place::{Place, command};

/// The strictest that the program itself says of a script.
fn decision(place: &Place, script: &str) -> String {
    let output = place
        .agent(&["policy", "check", "--json", "--", script])
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let row: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    row["decision"].as_str().unwrap().to_owned()
}

/// Would be found by somebody who looks for the words as they are usually written.
fn is_plainly_written(script: &str) -> bool {
    script == "rm -rf /" || script.starts_with("sudo ")
}

#[test]
fn disguises_do_not_hide_destruction() {
    let place = Place::new();
    let scripts = [
        "r''m -rf /",
        "\\rm -r -f /",
        "$'\\x72\\x6d' -rf /",
        "rm --recursive --force /.",
        "rm -rf //",
        "rm -rf \"${HOME}\"",
        "env -i A=1 rm -rf /",
        "env -S 'rm -rf /'",
        "bash -c \"bash -c 'rm -rf /'\"",
        "echo 'rm -rf /' | sh",
        "bash <<EOF\nrm -rf /\nEOF",
        "echo $(rm -rf /)",
        "cd / && rm -rf *",
        "find / -delete",
        "echo / | xargs rm -rf",
        "busybox rm -rf /",
        "f() { rm -rf /; }; f",
        ":(){ :|:& };:",
        "nice sudo ls",
        "ls\nsudo ls",
        "dd if=x of=/tmp/../dev/sda",
        "bash <(echo sudo ls)",
        "x=END; cat <<$x\na\n$x\nsudo ls\nEND",
        "env -iS'sudo ls'",
        "flock f -c 'sudo ls'",
        "git -c alias.x='!sudo ls' x",
        "1<> /dev/sda",
        "f(){ f & f & };f",
    ];
    for script in scripts {
        assert!(!is_plainly_written(script));
        assert_eq!(decision(&place, script), "deny", "{script}");
    }
    // Only the running shell knows what these do, so the person is asked.
    for script in [
        "X=/; rm -rf $X",
        "rm${IFS}-rf${IFS}/",
        "{rm,-rf,/}",
        "\"$(echo sudo)\" ls",
        "s=sudoX; ${s%X} ls",
        "rm -rf $(echo /)",
        "printf '%s' 'sudo ls' | sh",
    ] {
        assert_eq!(decision(&place, script), "ask", "{script}");
    }
    // Code in other languages is left to the sandbox.
    for script in [
        "python3 -c 'import os; os.system(\"sudo ls\")'",
        "rm -rf build",
        "echo rm -rf /",
        "cargo test",
        "find . -name x",
    ] {
        assert_eq!(decision(&place, script), "allow", "{script}");
    }
}

/// The scripts in a cell of a table in Markdown.
fn scripts_in(cell: &str) -> Vec<String> {
    let spans = cell.split('`').skip(1).step_by(2);
    spans.map(|script| script.replace('\u{1}', "|")).collect()
}

#[test]
fn the_table_of_removals_says_what_is_so() {
    let page = include_str!("../../docs/security.md").replace("\\|", "\u{1}");
    let mut rows = page
        .lines()
        .skip_while(|line| *line != "| you are asked about | runs |");
    assert_eq!(rows.next(), Some("| you are asked about | runs |"));
    let mut policy = Policy::new(Path::new("/home/me/work"), Some(Path::new("/home/me")));
    policy.confinement = CommandConfinement::Sandboxed;
    let mut counts = [0, 0];
    for row in rows.skip(1).take_while(|line| line.starts_with('|')) {
        let cells = row.split('|').skip(1).map(scripts_in);
        for (column, decision) in cells.zip([Decision::Ask, Decision::Allow]).enumerate() {
            for script in decision.0 {
                assert_eq!(policy.explain(&script)[0].decision, decision.1, "{script}");
                counts[column] += 1;
            }
        }
    }
    assert_eq!(counts, [9, 6], "asked about, and run");
}

#[test]
fn a_refused_script_is_not_run() {
    let place = Place::new();
    // Each would leave a file if any of it were run.
    let scripts = [
        "touch ran; rm -rf /",
        "touch ran; sudo true",
        "touch ran\u{202e}",
        "touch ran #\u{1b}[2J",
        "touch ran; bash -c 'shutdown now'",
    ];
    let reply: String = scripts.iter().map(|script| command(script)).collect();
    let applied = place.apply(&reply);
    assert!(!place.workspace().join("ran").exists(), "{}", applied.text);
    applied.did_nothing();
    place.apply(&command("touch ran")).all(1, "ok");
    assert!(place.workspace().join("ran").exists());
}

#[test]
fn without_a_sandbox_and_a_person_nothing_is_run() {
    let place = Place::new();
    let applied = place.apply_with(&["--sandbox", "off"], &command("touch ran"));
    applied.all(1, "refused");
    let applied = place.apply_with(&["--commands", "off"], &command("touch ran"));
    applied.all(1, "refused");
    let applied = place.apply_with(&["--approval", "plan"], &command("touch ran"));
    applied.all(1, "refused");
    assert!(!place.workspace().join("ran").exists());
}

#[test]
fn no_rule_that_allows_matches_what_is_not_understood() {
    let mut policy = Policy::new(Path::new("/home/me/work"), Some(Path::new("/home/me")));
    policy.confinement = CommandConfinement::SwitchedOff;
    policy.person.allow = ["echo", "ls", "git status"]
        .map(|rule| Rule::parse(rule).unwrap())
        .to_vec();
    policy.lookup = agent::policy::ProgramLookup::new(|word| {
        let path = Path::new("/usr/bin").join(word);
        let real = path.clone();
        Some(agent::policy::FoundProgram { path, real })
    });
    let decide = |script: &str| {
        let command = Command::RunCommand {
            script: script.to_owned(),
            timeout: None,
        };
        policy.rule_on(&command).decision
    };
    for script in ["echo x", "ls && git status", "echo 'a b' | ls"] {
        assert_eq!(decide(script), Decision::Allow, "{script}");
    }
    for script in [
        "echo $(touch x)",
        "echo `touch x`",
        "echo x > y",
        "echo x >> .bashrc",
        "LD_PRELOAD=./x ls",
        "PATH=. ls",
        "ls *",
        "ls & touch x",
        "echo <(touch x)",
        "ls; touch x",
        "ls || touch x",
        "ls\ntouch x",
        "ls | sh",
        "bash -c ls",
        "./ls",
        "../ls",
        "eval ls",
        "git -c core.pager=./x status",
        "git --exec-path=. status",
        "echo {a,b}",
        "echo ~",
        "if true; then ls; fi",
        "function ls { touch x; }; ls",
        "alias ls=touch; ls",
        "ls <<EOF\nEOF",
        "(ls)",
        "env touch x",
        "git push",
        "base64 -d <<< eA== | sh",
        "cd evil && git status",
        "git -C evil status",
        "git --git-dir=evil status",
        "GIT_DIR=evil git status",
    ] {
        assert_ne!(decide(script), Decision::Allow, "{script}");
    }
}

#[test]
fn a_settings_file_of_the_workspace_permits_nothing() {
    let settings = r#"{"Sandbox": "off", "Commands": "run", "Network": "on", "Grants": "git-write,network", "Approval": "auto", "AllowCommands": "touch", "ExtraWritePaths": "/"}"#;
    let place = Place::new()
        .file("appsettings.json", settings)
        .file(".agent/appsettings.json", settings)
        .file(".env", "AGENT_SANDBOX=off\nAGENT_NETWORK=on\n");
    let applied = place.apply(&command(&place.filled("echo x > OUTSIDE/n")));
    applied.did_nothing();
    place.is_untouched(&applied.text);
}
