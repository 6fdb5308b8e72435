use crate::harness::{Finished, Test};

const DONE: &str = "``````\n[DONE]\nall done\n[/DONE]\n{end}\n``````\n";

fn block(commands: &str) -> String {
    format!("``````\n{commands}\n{{end}}\n``````\n")
}

/// A workspace whose secrets are also names of files, and a word of our own instructions.
fn named(test: Test) -> Test {
    let env = "GOOGLE_APPLICATION_CREDENTIALS=./gcp-billing-2024.json\nJWT_PRIVATE_KEY=keys/jwt-rs256.pem\nSSL_CERT=server1.crt\nDB_PASSWORD=billing2\nAPI_TOKEN=python3\nADMIN_PASSWORD=hunter2\n";
    test.file("workspace/.env", env)
        .file("workspace/gcp-billing-2024.json", "{}\n")
        .file("workspace/keys/jwt-rs256.pem", "x\n")
        .file("workspace/server1.crt", "y\n")
        .file("workspace/billing2/app.py", "print(2)\n")
        .file("workspace/main.py", "open(\"./gcp-billing-2024.json\")\n")
}

#[track_caller]
fn has(finished: &Finished, sequence: u32, texts: &[&str]) {
    let told = finished.outbox(sequence);
    for text in texts {
        assert!(told.contains(text), "{text}\n{told}");
    }
}

#[test]
fn what_is_the_name_of_a_file_or_a_word_of_ours_is_told_as_it_is() {
    let print = block("[RUN_COMMAND]\ncat .env; echo hunter2 ran python3\n[/RUN_COMMAND]");
    let test = Test::new(&["new", "--base", ".", "Mend billing2/app.py"]);
    let finished = named(test).reply(&print).reply(DONE).run().code(0);
    has(
        &finished,
        1,
        &[
            "Task: Mend billing2/app.py",
            "billing2/app.py (",
            "keys/jwt-rs256.pem (",
            "gcp-billing-2024.json (",
            "server1.crt (",
            "open(\"./gcp-billing-2024.json\")",
            "python3 ",
        ],
    );
    assert!(!finished.outbox(1).contains("[SECRET-"));
    let told = finished.outbox(2);
    assert!(told.contains("DB_PASSWORD=[SECRET-"), "{told}");
    assert!(
        told.contains("JWT_PRIVATE_KEY=keys/jwt-rs256.pem"),
        "{told}"
    );
    assert!(
        told.contains(" ran python3") && !told.contains("hunter2"),
        "{told}"
    );
}

#[test]
fn a_placeholder_is_no_name_of_a_file() {
    let read = block("[READ_FILE path=\".env\"]");
    let name = "[SECRET-1 password]";
    let commands = block(&format!(
        "[CREATE_FILE path=\"{name}/new.py\"]\nx\n[/CREATE_FILE]\n[READ_FILE path=\"{name}/app.py\"]\n[MOVE_FILE from=\"main.py\" to=\"{name}.py\"]\n[DELETE_FILE path=\"{name}\"]"
    ));
    let test = Test::new(&["new", "--base", ".", "task"]);
    let finished = named(test).reply(&read).reply(&commands).reply(DONE).run();
    let finished = finished.code(0);
    let told = finished.outbox(3);
    for number in 1..=4 {
        assert!(told.contains(&format!("{number}. [REFUSED] ")), "{told}");
    }
    assert!(told.contains("no name of a file"), "{told}");
    let files = finished.files("workspace");
    assert!(files.contains_key("main.py"));
    assert!(files.keys().all(|path| !path.contains("SECRET")));
}

#[test]
fn a_secret_too_many_is_known_all_the_same() {
    let value = |name: &str, number: usize| {
        let letters: Vec<char> = ('a'..='z').chain('A'..='Z').collect();
        let letter = |at: usize| letters[(number * 7 + at * 11 + at * at * number) % 52];
        let value: String = (0..5).map(letter).collect();
        format!("{value}{number}{name}{}", value.to_uppercase())
    };
    let lines = |name: &str, count: usize| -> String {
        let line = |number| format!("{name}{number}_TOKEN={}\n", value(name, number));
        (0..count).map(line).collect()
    };
    let print = block("[RUN_COMMAND]\ncut -d= -f2 .env.zz .z/.env | head -60\n[/RUN_COMMAND]");
    let finished = Test::new(&["new", "--base", ".", "task"])
        .file("workspace/.env", lines("X", 495))
        .file("workspace/.env.zz", lines("Z", 40))
        .file("workspace/.a/.env", lines("A", 600))
        .file("workspace/.z/.env", lines("Q", 20))
        .reply(&block("[READ_FILE path=\".env\"]"))
        .reply(&print)
        .reply(DONE)
        .run()
        .code(0);
    let told = finished.outbox(3);
    assert!(told.contains("[SECRET-X token]"), "{told}");
    for (name, count) in [("Z", 40), ("Q", 20)] {
        for number in 0..count {
            assert!(!told.contains(&value(name, number)), "{told}");
        }
    }
}

const SETTINGS: &str = "production:\n  username: app\n  password: Sommer2024!\n  secret_key_base: winter-is-coming-99x\nsmtp:\n  pass: Winter#2023\n";

#[test]
fn a_command_shows_of_settings_what_reading_them_shows() {
    let test = |commands: &str| {
        let finished = Test::new(&["new", "--base", ".", "task"])
            .file("workspace/config/database.yml", SETTINGS)
            .file("workspace/big.txt", "x".repeat(12_000))
            .reply(&block(commands))
            .reply(DONE)
            .run()
            .code(0);
        let told = finished.outbox(2);
        assert!(told.contains("username: app"), "{told}");
        for value in ["Sommer2024!", "winter-is-coming-99x", "Winter#2023"] {
            assert!(!told.contains(value), "{commands}\n{told}");
        }
    };
    test("[READ_FILE path=\"config/database.yml\"]");
    test("[RUN_COMMAND]\nhead -6 config/database.yml\n[/RUN_COMMAND]");
    test("[RUN_COMMAND]\ncat config/*\n[/RUN_COMMAND]");
    test("[RUN_COMMAND]\ngrep -rn : config\n[/RUN_COMMAND]");
    test("[RUN_COMMAND]\necho username: app\ncut -d: -f2 config/database.yml\n[/RUN_COMMAND]");
}

#[test]
fn credentials_beneath_ignored_directories_are_known() {
    let values = [
        "kJ83hf92Kdl0",
        "aJ73hf92Kdl1",
        "bJ73hf92Kdl2",
        "dJ73hf92Kdl4",
    ];
    let line = |number: usize| format!("FOO={}\n", values[number]);
    let print = block(
        "[RUN_COMMAND]\ncat .env secrets/.env config/local/prod.env private/a/b/c/.env | cut -d= -f2\n[/RUN_COMMAND]",
    );
    let finished = Test::new(&["new", "--base", ".", "task"])
        .file(
            "workspace/.gitignore",
            ".env\nsecrets/\nconfig/local/\nprivate/\n",
        )
        .file("workspace/.env", line(0))
        .file("workspace/secrets/.env", line(1))
        .file("workspace/config/local/prod.env", line(2))
        .file("workspace/private/a/b/c/.env", line(3))
        .reply(&print)
        .reply(DONE)
        .run()
        .code(0);
    let told = finished.outbox(2);
    for value in values {
        assert!(!told.contains(value), "{value}\n{told}");
    }
    assert!(told.contains("[SECRET-"), "{told}");
}
