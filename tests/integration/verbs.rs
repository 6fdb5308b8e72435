use std::fs;

use crate::harness::{Finished, Test, agent};

fn begun() -> Finished {
    Test::new(&["new", "--no-wait", "the task"]).run().code(0)
}

fn id_of(finished: &Finished) -> String {
    finished.session()["sessionId"].as_str().unwrap().to_owned()
}

#[track_caller]
fn prints(finished: &Finished, text: &str) {
    let shown = &finished.stdout;
    assert!(shown.contains(text), "`{text}` is missing:\n{shown}");
}

#[track_caller]
fn json_lines(finished: &Finished) -> Vec<serde_json::Value> {
    let lines = finished.stdout.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn parse_prints_typed_commands_one_a_line_and_touches_nothing() {
    let reply = "Sure.\n[EDIT_FILE path=\"a.rs\"]\n<<<<<<< SEARCH\nold\n=======\nnew\n>>>>>>> REPLACE\n[/EDIT_FILE]\n[RUN_COMMAND timeout=\"5\"]\nls\n[/RUN_COMMAND]\n[END 0123abcd#4]\n";
    let finished = Test::new(&["parse"]).input(reply).run().code(0);
    let lines = json_lines(&finished);
    let [edit, run, rest] = lines.as_slice() else {
        panic!("three lines were expected:\n{}", finished.stdout);
    };
    assert_eq!(edit["command"], "EDIT_FILE");
    assert_eq!(edit["path"], "a.rs");
    let search = edit["edits"][0]["search"].as_str().unwrap();
    assert_eq!(search.trim_end(), "old");
    let replace = edit["edits"][0]["replace"].as_str().unwrap();
    assert_eq!(replace.trim_end(), "new");
    assert_eq!(run["command"], "RUN_COMMAND");
    assert_eq!(run["timeout"], 5);
    assert_eq!(rest["summary"]["commands"], 2);
    assert_eq!(rest["end"]["sequence"], 4);
    assert!(rest["prose"].as_str().unwrap().contains("Sure."));
    assert!(
        finished.files("..").is_empty(),
        "{:?}",
        finished.files("..")
    );
}

#[test]
fn parse_succeeds_whenever_it_could_read_its_input() {
    for input in [
        "",
        "no command at all",
        "[EDIT_FILE]\nx\n[/EDIT_FILE]\n",
        "[CREATE_FILE path=\"a\"]\ncut",
    ] {
        let finished = Test::new(&["parse", "-"]).input(input).run().code(0);
        let rest = json_lines(&finished).pop().unwrap();
        assert!(rest["summary"].is_object(), "{input:?}: {rest}");
    }
    let finished = Test::new(&["parse", "reply.md"])
        .file("reply.md", "[DONE]\n")
        .run()
        .code(0);
    prints(&finished, "\"command\":\"DONE\"");
    Test::new(&["parse", "no-such.md"])
        .run()
        .code(1)
        .said("no-such.md");
}

#[test]
fn a_pasted_reply_lies_in_the_inbox_for_the_next_step() {
    let finished = begun();
    let reply = format!("[DONE]\nfine\n[/DONE]\n[END {}#1]\n", id_of(&finished));
    let finished = Test::after(finished, &["paste"])
        .input(" \n")
        .run()
        .code(1)
        .said("empty");
    let finished = Test::after(finished, &["paste"])
        .input(&reply)
        .run()
        .code(0)
        .said("Saved as");
    assert!(finished.files("inbox").values().any(|text| *text == reply));
    let finished = Test::after(finished, &["step"]).run().code(0).said("fine");
    // Nothing is read for a session that has ended.
    Test::after(finished, &["paste", "-"])
        .input(" \n")
        .run()
        .code(1)
        .said("no session waits for a reply");
}

#[test]
fn a_reply_with_an_earlier_number_is_used_only_if_it_is_pasted_anyway() {
    let finished = begun();
    let reply = format!("[DONE]\nfine\n[/DONE]\n[END {}#0]\n", id_of(&finished));
    let finished = Test::after(finished, &["paste", "reply.txt"])
        .file("reply.txt", &reply)
        .run()
        .code(0);
    let finished = Test::after(finished, &["step"])
        .run()
        .code(4)
        .said("agent paste --anyway");
    let finished = Test::after(finished, &["paste", "--anyway", "reply.txt"])
        .run()
        .code(0);
    let finished = Test::after(finished, &["step"]).run().code(0).said("fine");
    assert_eq!(finished.session()["isComplete"], true);
}

#[test]
fn a_number_of_a_round_that_there_was_not_yet_was_counted_wrong() {
    let finished = begun();
    let reply = format!("[DONE]\nfine\n[/DONE]\n[END {}#7]\n", id_of(&finished));
    let finished = Test::after(finished, &["paste"])
        .input(&reply)
        .run()
        .code(0);
    let finished = Test::after(finished, &["step"]).run().code(0).said("fine");
    assert_eq!(finished.session()["isComplete"], true);
}

#[test]
fn the_person_can_end_a_session() {
    let finished = begun();
    let id = id_of(&finished);
    let finished = Test::after(finished, &["end"]).run().code(0).said(&id);
    assert_eq!(finished.session()["isComplete"], true);
    let finished = Test::after(finished, &["end", &id])
        .run()
        .code(0)
        .said("already");
    let finished = Test::after(finished, &["resume", &id])
        .run()
        .code(1)
        .said("agent new");
    Test::after(finished, &["end"]).run().code(1);
}

#[test]
fn init_makes_its_folder_and_touches_nothing_else() {
    let finished = Test::new(&["init"])
        .file("src/main.rs", "fn main() {}\n")
        .file(".gitignore", "/target\n")
        .run()
        .code(0)
        .said("agent new");
    let expected = [
        ".agent/.gitignore",
        ".agent/appsettings.json",
        ".gitignore",
        "src/main.rs",
    ];
    let files = finished.files("");
    assert_eq!(files.keys().collect::<Vec<_>>(), expected);
    assert_eq!(files[".agent/.gitignore"], "*\n");
    assert_eq!(files[".gitignore"], "/target\n");
    let again = Test::after(finished, &["init"]).run().code(0);
    assert_eq!(again.files(""), files, "a second time changes nothing");
}

#[test]
fn below_an_initialised_project_a_session_works_in_place() {
    let finished = Test::new(&["init"])
        .file("src/main.rs", "fn main() {}\n")
        .run()
        .code(0);
    let base = finished.base();
    let output = agent(&base)
        .current_dir(base.join("src"))
        .args(["new", "--no-wait", "task"])
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let messages: Vec<String> = finished.files(".agent/outbox").into_values().collect();
    // The message, and its copy under the name that stays.
    assert_eq!(messages.len(), 2);
    assert_eq!(messages[0], messages[1]);
    assert!(messages[0].contains("src/main.rs"), "{}", messages[0]);
    assert!(!messages[0].contains("appsettings.json"), "{}", messages[0]);
    let finished = Test::after(finished, &["step", "--reply", "-"])
        .input("[CREATE_FILE path=\"src/lib.rs\"]\n//! new\n[/CREATE_FILE]\n")
        .run()
        .code(0);
    assert_eq!(finished.files("src")["lib.rs"], "//! new\n");
}

#[test]
fn a_directory_in_use_is_not_taken_without_being_told_where_to_work() {
    let finished = Test::new(&["new", "--no-wait", "task"])
        .file("main.c", "int main;\n")
        .run()
        .code(1)
        .said("agent init")
        .said("--base .");
    assert_eq!(finished.files("").len(), 1);
    Test::after(finished, &["new", "--no-wait", "--base", ".", "task"])
        .file("appsettings.other.json", "{}")
        .run()
        .code(0)
        .said("workspace");
}

#[test]
fn config_shows_every_value_and_where_it_comes_from() {
    let finished = Test::new(&["config", "--json", "--max-read-lines", "7"])
        .file(
            "appsettings.json",
            "{\"Agent\": {\"MaxRounds\": 5, \"MaxListItems\": 6, \"MaxReadLines\": 8}}",
        )
        .environment("Agent__MaxListItems", "9")
        .run()
        .code(0);
    let rows = json_lines(&finished);
    let row = |key: &str| rows.iter().find(|row| row["key"] == key).unwrap().clone();
    let case = |key: &str, value: u32, origin: &str| {
        let row = row(key);
        assert_eq!(row["value"], value, "{row}");
        let said = row["origin"].as_str().unwrap();
        assert!(said.contains(origin), "{row}");
    };
    case("MaxOutputLength", 4000, "default");
    case("MaxRounds", 5, "appsettings.json");
    case("MaxListItems", 9, "Agent__MaxListItems");
    case("MaxReadLines", 7, "--max-read-lines");
    let finished = Test::after(finished, &["config"]).run().code(0);
    prints(&finished, "BasePath = ");
    prints(&finished, "appsettings.json");
}

#[test]
fn an_unknown_setting_names_the_key_its_origin_and_the_nearest_key() {
    Test::new(&["config"])
        .file("appsettings.json", "{\"Agent\": {\"MaxRuonds\": 5}}")
        .run()
        .code(1)
        .said("MaxRuonds")
        .said("appsettings.json")
        .said("did you mean `MaxRounds`?");
    Test::new(&["new", "--no-wait", "task"])
        .environment("AGENT__MAXRUONDS", "5")
        .run()
        .code(1)
        .said("AGENT__MAXRUONDS")
        .said("MaxRounds");
    Test::new(&["config"])
        .file("appsettings.json", "{\"Agent\": {\"MaxRounds\": \"many\"}}")
        .run()
        .code(1)
        .said("MaxRounds")
        .said("appsettings.json");
    Test::new(&["config", "--max-ruonds", "5"])
        .run()
        .code(2)
        .said("--max-rounds");
}

#[test]
fn list_and_status_say_where_things_stand() {
    let finished = begun();
    let id = id_of(&finished);
    let finished = Test::after(finished, &["list"]).run().code(0);
    prints(&finished, &id);
    prints(&finished, "waiting");
    prints(&finished, "the task");
    let finished = Test::after(finished, &["status"]).run().code(0);
    prints(&finished, &id);
    prints(&finished, "the task");
    prints(&finished, "Round 1 of at most 20");
    prints(&finished, &format!("agent resume {id}"));
    let finished = Test::after(finished, &["status", "--json", &id[..4]])
        .run()
        .code(0);
    assert_eq!(json_lines(&finished)[0]["sessionId"], *id);
    let finished = Test::after(finished, &["end"]).run().code(0);
    let finished = Test::after(finished, &["list", "--json"]).run().code(0);
    assert_eq!(json_lines(&finished)[0]["state"], "done");
    let finished = Test::after(finished, &["status", &id]).run().code(0);
    prints(&finished, "ended");
}

#[test]
fn list_and_status_where_agent_was_never_used_say_what_begins_a_session() {
    for verb in ["list", "status"] {
        let finished = Test::new(&[verb]).run().code(1).said("agent new");
        assert!(
            finished.files("..").is_empty(),
            "{:?}",
            finished.files("..")
        );
    }
}

#[test]
fn status_names_the_open_question_and_say_answers_it() {
    let finished = begun();
    let finished = Test::after(finished, &["step", "--reply", "-"])
        .input("[ASK_USER]\nWhich colour?\n[/ASK_USER]\n")
        .run()
        .code(0)
        .said("Which colour?");
    let finished = Test::after(finished, &["status"]).run().code(0);
    prints(&finished, "Which colour?");
    prints(&finished, "agent say");
    Test::after(finished, &["say", "blue", "please"])
        .run()
        .code(0)
        .said("Which colour?");
}

#[test]
fn doctor_finds_nothing_broken_and_leaves_nothing_behind() {
    let finished = Test::new(&["doctor"]).run().code(0);
    prints(&finished, env!("CARGO_PKG_VERSION"));
    prints(&finished, "is not used by `agent` yet");
    assert!(!finished.stdout.contains("problem"), "{}", finished.stdout);
    assert!(
        finished.files("..").is_empty(),
        "{:?}",
        finished.files("..")
    );
    let finished = Test::new(&["doctor"])
        .file("appsettings.json", "{\"Agent\": {\"MaxRuonds\": 5}}")
        .run()
        .code(1);
    prints(&finished, "problem");
    prints(&finished, "MaxRuonds");
}

#[test]
fn the_rules_are_shown_in_words() {
    let finished = Test::new(&["policy"]).run().code(0);
    for word in ["allowed", "asked", "refused"] {
        prints(&finished, word);
    }
    let finished = Test::new(&["policy", "check", "git", "push", "origin"])
        .run()
        .code(0);
    prints(&finished, "asked");
    prints(&finished, "rule: ");
    assert!(!finished.stdout.contains("allowed"), "only what decides");
    let finished = Test::new(&["policy", "check", "--json", "--", "git push"])
        .run()
        .code(0);
    let rulings = json_lines(&finished);
    let is_asked = |ruling: &serde_json::Value| ruling["decision"].as_str() == Some("ask");
    assert!(rulings.iter().any(is_asked), "{rulings:?}");
}

#[test]
fn what_only_looks_leaves_nothing_behind() {
    for arguments in [
        &["config"][..],
        &["policy"],
        &["policy", "check", "ls"],
        &["parse", "a.md"],
    ] {
        let finished = Test::new(arguments).file("a.md", "[DONE]\n").run().code(0);
        let files: Vec<String> = finished.files("..").into_keys().collect();
        assert_eq!(files, ["base/a.md"], "{arguments:?}");
        let directories = fs::read_dir(finished.base()).unwrap().count();
        assert_eq!(directories, 1, "{arguments:?} made a directory");
    }
}

#[test]
fn a_mistyped_verb_has_a_suggestion() {
    Test::new(&["reusme"]).run().code(2).said("resume");
    Test::new(&["stauts"]).run().code(2).said("status");
    Test::new(&[]).run().code(2).said("Usage");
    Test::new(&["new"]).run().code(2).said("TASK");
    Test::new(&["new", " "]).run().code(2).said("empty");
}

#[test]
fn version_and_help_are_data() {
    let finished = Test::new(&["--version"]).run().code(0);
    let version = format!("agent {} (", env!("CARGO_PKG_VERSION"));
    assert!(finished.stdout.starts_with(&version), "{}", finished.stdout);
    assert!(finished.stdout.contains(std::env::consts::ARCH));
    for flag in ["--help", "help"] {
        let finished = Test::new(&[flag]).run().code(0);
        prints(&finished, "Examples:\n  agent new ");
        prints(&finished, "  agent resume\n");
        assert_eq!(finished.stderr, "");
    }
    let short = Test::new(&["-h"]).run().code(0);
    prints(&short, "  new \"<what to do>\"   start a session\n");
    prints(&short, "agent --help shows all commands and options.\n");
    assert!(short.stdout.lines().count() < 24, "{}", short.stdout);
    for verb in [
        "new", "resume", "step", "apply", "parse", "status", "list", "paste", "say", "end", "rm",
        "show", "export", "handoff", "fork", "config", "policy", "init", "doctor", "demo",
    ] {
        let finished = Test::new(&[verb, "--help"]).run().code(0);
        prints(&finished, &format!("Usage: agent {verb}"));
    }
}

#[test]
fn help_explains_topics_chats_and_settings() {
    let case = |arguments: &[&str], expected: &[&str]| {
        let finished = Test::new(arguments).run().code(0);
        for text in expected {
            prints(&finished, text);
        }
        assert_eq!(finished.stderr, "");
        let longest = finished.stdout.lines().map(|line| line.chars().count());
        assert!(longest.max() > Some(40), "{}", finished.stdout);
        assert_eq!(fs::read_dir(finished.base()).unwrap().count(), 0);
    };
    case(&["help", "protocol"], &["[END ab12cd34#1]", "SEARCH_TEXT"]);
    case(
        &["help", "safety"],
        &["## Refused", "fork bombs", "agent doctor"],
    );
    case(
        &["help", "chats"],
        &["- `copilot`: at most 8,000 characters"],
    );
    case(&["help", "chats", "claude"], &["## If the reply was cut"]);
    case(&["help", "chats", "chatgpt-plus"], &["# ChatGPT"]);
    case(&["help", "settings"], &["## Folders", "`--max-rounds`"]);
    case(&["help", "settings", "maxrounds"], &["default `20`"]);
    case(&["help", "MaxRounds"], &["default `20`"]);
    case(&["help", "policy", "check"], &["Usage: agent policy check"]);
}

#[test]
fn what_is_unknown_to_help_has_a_suggestion() {
    let case = |arguments: &[&str], expected: &str| {
        Test::new(arguments).run().code(2).said(expected);
    };
    case(&["help", "saftey"], "did you mean `agent help safety`?");
    case(
        &["help", "chats", "gemni"],
        "did you mean `agent help chats gemini`?",
    );
    case(
        &["help", "settings", "Netwrok"],
        "did you mean `agent help settings Network`?",
    );
    case(
        &["fix the failing test"],
        "agent new \"fix the failing test\"",
    );
    case(&["reusme"], "did you mean");
}

#[test]
fn doctor_has_a_remedy_for_all_that_is_not_well() {
    let settings = "{\"Agent\": {\"Sandbox\": \"off\", \"MaxRounds\": 7}}";
    let finished = Test::new(&["doctor", "--json"])
        .file("appsettings.json", settings)
        .run()
        .code(0);
    let lines = json_lines(&finished);
    for line in &lines {
        let is_well = line["health"] == "ok";
        assert_eq!(line["remedy"] == "", is_well, "{line}");
    }
    let told = |text: &str, health: &str| {
        let holds = |line: &&serde_json::Value| line["what"].as_str().unwrap().contains(text);
        let line = lines.iter().find(holds);
        assert_eq!(
            line.unwrap_or_else(|| panic!("{lines:?}"))["health"],
            health
        );
    };
    told("`MaxRounds` is `7`", "ok");
    told("`Sandbox` in", "warning");
    told("free on the disk", "ok");
    told("git version", "ok");
    let finished = Test::new(&["doctor", "--sandbox", "off"]).run().code(0);
    prints(&finished, "is switched off");
}

#[cfg(target_os = "linux")]
#[test]
fn doctor_ends_with_1_where_nothing_can_be_written() {
    let finished = Test::new(&["doctor", "--base", "/proc"]).run().code(1);
    prints(&finished, "problem  `/proc` cannot be written");
    prints(&finished, "-> look at its owner");
}
