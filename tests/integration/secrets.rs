use std::fmt::Write as _;
use std::fs;

use crate::harness::{Finished, Test};

const DONE: &str = "``````\n[DONE]\nall done\n[/DONE]\n{end}\n``````\n";

fn block(commands: &str) -> String {
    format!("``````\n{commands}\n{{end}}\n``````\n")
}

/// A token that no scanner of repositories finds in this file.
fn token() -> String {
    format!("gh{}{}", "p_", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8")
}

/// A session in a workspace with a token in `.env`, which the first reply reads.
fn session(replies: &[&str]) -> Test {
    let first = block("[READ_FILE path=\".env\"]\n[RUN_COMMAND]\ncat .env\n[/RUN_COMMAND]");
    let test = Test::new(&["new", "--base", ".", "task"])
        .file(
            "workspace/.env",
            format!("TOKEN={}\nPORT=80\nDB_PASSWORD=hunter2\n", token()),
        )
        .reply(&first);
    replies.iter().fold(test, |test, reply| test.reply(reply))
}

#[track_caller]
fn nothing_left(finished: &Finished) {
    for (name, text) in finished.files("outbox") {
        for secret in [&token(), "hunter2"] {
            assert!(!text.contains(secret), "{name}:\n{text}");
        }
    }
}

#[test]
fn a_secret_goes_out_as_a_placeholder_and_comes_back_into_its_file() {
    let edit = block(
        "[EDIT_FILE path=\".env\"]\n<<<<<<< SEARCH\nTOKEN=[SECRET-1 github-token]\n=======\n# mine\nTOKEN=[SECRET-1 github-token]\n>>>>>>> REPLACE\n[/EDIT_FILE]\n[INSERT_TEXT path=\".env\" line=\"3\"]\nCOPY=[SECRET-1 github-token]\n[/INSERT_TEXT]",
    );
    let finished = session(&[&edit, DONE]).run().code(0);
    nothing_left(&finished);
    let shown = finished.outbox(2);
    assert!(
        shown.contains("TOKEN=[SECRET-1 github-token]\nPORT=80\nDB_PASSWORD=[SECRET-2 password]"),
        "{shown}"
    );
    let token = token();
    let finished = finished
        .said("2 secrets stay here")
        .said("github-token in `.env`, the result of step 2; password in `.env`")
        .workspace(
            ".env",
            &format!("# mine\nTOKEN={token}\nPORT=80\nDB_PASSWORD=hunter2\nCOPY={token}\n"),
        );
    let id = finished.session()["sessionId"].as_str().unwrap().to_owned();
    let kept = finished.base().join(format!("sessions/{id}/secrets.json"));
    assert!(fs::read_to_string(&kept).unwrap().contains(&token));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(
            fs::metadata(kept).unwrap().permissions().mode() & 0o777,
            0o600
        );
    }
}

#[test]
fn a_placeholder_anywhere_else_is_refused_with_the_reason() {
    let elsewhere = block(
        "[RUN_COMMAND]\necho '[SECRET-1 github-token]' > leak.txt\n[/RUN_COMMAND]\n[CREATE_FILE path=\"other.env\"]\nTOKEN=[SECRET-1 github-token]\n[/CREATE_FILE]\n[MESSAGE]\nI saw [SECRET-1 github-token].\n[/MESSAGE]\n[CREATE_FILE path=\"fine.txt\"]\n[SECRET-KEY]\n[/CREATE_FILE]",
    );
    let finished = session(&[&elsewhere, DONE]).run().code(0);
    let told = finished.outbox(3);
    let refused = "2. [REFUSED] CREATE_FILE: `other.env`: `[SECRET-1 github-token]` stands for a secret that only edits of the file in which it stands (`.env`) can use";
    assert!(told.contains(refused), "{told}");
    assert!(told.contains("1. [REFUSED] RUN_COMMAND: "), "{told}");
    let files = finished.files("workspace");
    assert!(!files.contains_key("other.env") && !files.contains_key("leak.txt"));
    finished.workspace("fine.txt", "[SECRET-KEY]\n");
}

#[test]
fn placeholders_hold_after_a_restart() {
    let edit = block(
        "[EDIT_FILE path=\".env\" start_line=\"1\" end_line=\"1\"]\nKEY=[SECRET-1 github-token]\n[/EDIT_FILE]",
    );
    let running = session(&[]).start();
    running.outbox(2);
    let killed = running.kill();
    let finished = Test::after(killed, &["resume"])
        .reply(&edit)
        .reply(DONE)
        .run()
        .code(0);
    let expected = format!("KEY={}\nPORT=80\nDB_PASSWORD=hunter2\n", token());
    finished.workspace(".env", &expected);
}

#[test]
fn the_person_can_allow_a_secret_or_switch_the_search_off() {
    for flags in [["--secrets", "off"], ["--allow-secrets", "ghp_*"]] {
        let read = block("[READ_FILE path=\"a.txt\"]");
        let finished = Test::new(&["new", "--base", ".", flags[0], flags[1], "task"])
            .file("workspace/a.txt", token())
            .reply(&read)
            .reply(DONE)
            .run()
            .code(0);
        assert!(finished.outbox(2).contains(&token()));
    }
}

#[test]
fn a_project_cannot_switch_the_search_off() {
    let read = block("[READ_FILE path=\"a.txt\"]");
    let finished = Test::new(&["new", "task"])
        .file("appsettings.json", r#"{"Agent": {"Secrets": "off"}}"#)
        .file("workspace/a.txt", token())
        .reply(&read)
        .reply(DONE)
        .run()
        .code(0)
        .said("`Secrets` in");
    nothing_left(&finished);
}

#[test]
fn what_the_person_says_is_searched_too() {
    let task = format!("use {}", token());
    let finished = Test::new(&["new", &task]).reply(DONE).run().code(0);
    nothing_left(&finished);
    finished.said("A secret stays here");
}

/// A service account with a private key, all of it in one line of JSON.
fn service_account() -> String {
    let letters: Vec<char> = ('a'..='z').collect();
    let lines: Vec<String> = (0..30)
        .map(|n| {
            (0..62).fold(format!("{n:02}"), |line, at| {
                format!("{line}{}", letters[(n + at * 7) % 26])
            })
        })
        .collect();
    let key = lines.join("\\n");
    let text = format!(
        "{{\"private_key_id\": \"{}\", \"private_key\": \"-----BEGIN PRIVATE KEY-----\\n{key}\\n-----END PRIVATE KEY-----\\n\"}}\n",
        "0123456789abcdef".repeat(3).split_at(40).0
    );
    text
}

#[test]
fn a_key_in_one_line_does_not_go_out_in_pieces() {
    let json = service_account();
    let reply = block(
        "[SEARCH_TEXT pattern=\"private_key\"]\n[SEARCH_TEXT pattern=\"17\"]\n[READ_FILE path=\"account.json\"]\n[RUN_COMMAND]\nhead -c 900 account.json; echo; tail -c 900 account.json\n[/RUN_COMMAND]",
    );
    let finished = Test::new(&["new", "--base", ".", "task"])
        .file("workspace/account.json", json.clone())
        .reply(&reply)
        .reply(DONE)
        .run()
        .code(0);
    let body = json.split("KEY-----").nth(1).unwrap();
    let words: Vec<&str> = body.split("\\n").filter(|word| word.len() == 64).collect();
    for (name, text) in finished.files("outbox") {
        for word in &words {
            for piece in [&word[..20], &word[44..]] {
                assert!(!text.contains(piece), "{name}: {piece}\n{text}");
            }
        }
    }
    assert!(finished.outbox(2).contains("private_key"));
}

#[test]
fn a_long_line_before_the_end_of_a_key_stops_nothing() {
    let text = format!("{}-----END PRIVATE KEY-----", "\u{e9}".repeat(20_000));
    Test::new(&["new", "--base", ".", "task"])
        .file("workspace/a.txt", text)
        .reply(DONE)
        .run()
        .code(0);
}

#[test]
fn a_placeholder_that_stands_for_nothing_overwrites_no_secret() {
    let edit = |number: &str| {
        block(&format!(
            "[EDIT_FILE path=\".env\" start_line=\"1\" end_line=\"1\"]\nTOKEN=[SECRET-{number} token]\n[/EDIT_FILE]"
        ))
    };
    let finished = session(&[&edit("9"), &edit("X"), DONE]).run().code(0);
    for sequence in [3, 4] {
        let told = finished.outbox(sequence);
        assert!(
            told.contains("1. [REFUSED] EDIT_FILE: `.env`: `[SECRET-"),
            "{told}"
        );
        assert!(
            told.contains("stands for no secret that is known here"),
            "{told}"
        );
    }
    let unchanged = format!("TOKEN={}\nPORT=80\nDB_PASSWORD=hunter2\n", token());
    finished.workspace(".env", &unchanged);
}

#[test]
fn a_short_secret_is_kept_however_it_is_printed() {
    let print =
        block("[RUN_COMMAND]\ncat -n .env; grep -n '' .env; grep -H '' .env\n[/RUN_COMMAND]");
    let finished = session(&[&print, DONE]).run().code(0);
    nothing_left(&finished);
}

/// Values whose names tell nothing, and a key without its first line.
const QUIET: &str = "FOO=kJ83hf92Kdl0\nBAR=Zx81mQ02LpWe\nPORT=1\n";

fn key() -> String {
    let line = |n: usize| -> String {
        let letters: Vec<char> = ('a'..='z').chain('A'..='Z').chain('0'..='9').collect();
        (0..64)
            .map(|at| letters[(n * 17 + at * 23 + at * at) % 62])
            .collect()
    };
    let lines: Vec<String> = (0..8).map(line).collect();
    let mark = |word: &str| format!("-----{word} PRIVATE KEY-----");
    format!("{}\n{}\n{}\n", mark("BEGIN"), lines.join("\n"), mark("END"))
}

#[track_caller]
fn no_credentials_in(name: &str, text: &str) {
    let key = key();
    let values = ["kJ83hf92Kdl0", "Zx81mQ02LpWe", key.lines().nth(3).unwrap()];
    for value in values {
        assert!(!text.contains(value), "{name}: {value}\n{text}");
    }
}

#[test]
fn what_files_with_credentials_keep_is_known_wherever_it_is_printed() {
    let print = block(
        "[RUN_COMMAND]\ncat .env\nawk '{print NR\": \"$0}' .env\nsed 's/.*=/\"v\": \"/; s/$/\"/' .env\nsed -n 3,5p tls/key.pem\n[/RUN_COMMAND]",
    );
    let check = "nl -ba .env; sed -n 3,5p tls/key.pem; exit 1";
    let arguments = ["new", "--base", ".", "--no-wait", "--check", check, "task"];
    let begun = Test::new(&arguments)
        .file("workspace/.gitignore", ".env\n")
        .file("workspace/.env", QUIET)
        .file("workspace/tls/key.pem", key())
        .run()
        .code(0);
    no_credentials_in("first", &begun.outbox(1));
    let id = begun.session()["sessionId"].as_str().unwrap().to_owned();
    let reply = print.replace("{end}", &format!("[END {id}#1]"));
    let stepped = Test::after(begun, &["step", "--reply", "-"]).input(&reply);
    let stepped = stepped.run().code(0);
    let told = stepped.outbox(2);
    no_credentials_in("outbox", &told);
    assert!(told.contains("FOO=[SECRET-"), "{told}");
    let handed = Test::after(stepped, &["handoff"]).run().code(0);
    no_credentials_in("handoff", &handed.outbox(2));
    let exported = Test::after(handed, &["export"]).run().code(0);
    assert!(exported.stdout.contains("FOO=[SECRET-"));
    no_credentials_in("export", &exported.stdout);
}

#[test]
fn a_secret_that_nothing_tells_is_neither_kept_nor_spoken_of() {
    let finished = Test::new(&["new", "--base", ".", "--no-wait", "task"])
        .file("workspace/.env", QUIET)
        .run()
        .code(0);
    assert!(!finished.outbox(1).contains("SECRET"));
    let id = finished.session()["sessionId"].as_str().unwrap().to_owned();
    assert!(!(finished.base().join(format!("sessions/{id}/secrets.json"))).exists());
}

#[test]
fn lines_that_a_failed_patch_shows_are_read_as_those_of_their_file() {
    let env = "FOO=kJ83hf92\nBAR=Zx81mQ02LpWe\nSHORT_PASSWORD=a1B2\nPORT=1\n";
    let patch = block(
        "[APPLY_PATCH]\n*** Begin Patch\n*** Update File: b.txt\n-one\n+two\n*** Update File: .env\n-FOO=wrong\n-BAR=wrong\n-PORT=1\n+PORT=3\n*** Update File: c.txt\n-nowhere\n+here\n*** End Patch\n[/APPLY_PATCH]",
    );
    let finished = Test::new(&["new", "--base", ".", "task"])
        .file("workspace/.env", env)
        .file("workspace/b.txt", "one\n")
        .file("workspace/c.txt", "SHORT = a1B2\nno where\n")
        .reply(&patch)
        .reply(DONE)
        .run()
        .code(0);
    let told = finished.outbox(2);
    assert!(told.contains("1. [FAILED] APPLY_PATCH"), "{told}");
    assert!(told.contains("FOO=[SECRET-"), "{told}");
    for value in ["kJ83hf92", "Zx81mQ02LpWe", "PASSWORD=a1B2"] {
        assert!(!told.contains(value), "{value}\n{told}");
    }
}

#[test]
fn the_log_has_no_secret() {
    let says = block(&format!(
        "[MESSAGE]\nI saw {} and hunter2.\n[/MESSAGE]\n[LIST_FILES]",
        token()
    ));
    let finished = session(&[&says, DONE])
        .file(&format!("workspace/{}.txt", token()), "")
        .run()
        .code(0);
    let id = finished.session()["sessionId"].as_str().unwrap().to_owned();
    let log = finished.base().join(format!("sessions/{id}/agent.log"));
    let log = fs::read_to_string(log).unwrap();
    assert!(log.contains("RUN_COMMAND"), "{log}");
    for secret in [&token(), "hunter2"] {
        assert!(!log.contains(secret), "{log}");
    }
}

#[cfg(unix)]
#[test]
fn a_link_is_no_way_around() {
    let commands = block(
        "[READ_FILE path=\"notes.txt\"]\n[EDIT_FILE path=\"notes.txt\"]\n<<<<<<< SEARCH\nSESSION=another\n=======\nx\n>>>>>>> REPLACE\n[/EDIT_FILE]\n[SEARCH_TEXT pattern=\"SESSION\" path=\"notes.txt\"]",
    );
    let test = Test::new(&["new", "--base", ".", "task"])
        .file("workspace/.env", "SESSION=q8Zr2LmX0pVt\n")
        .reply(&commands)
        .reply(DONE);
    let link = test.base().join("workspace/notes.txt");
    std::os::unix::fs::symlink(".env", link).unwrap();
    let finished = test.run().code(0);
    let told = finished.outbox(2);
    assert!(!told.contains("q8Zr2LmX0pVt"), "{told}");
    assert!(told.contains("SESSION=[SECRET-1 "), "{told}");
}

/// Random letters and digits that no scanner of repositories finds in this file.
fn made_up(seed: u64, length: usize, alphabet: &[u8]) -> String {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let letters = (0..length + 8).map(|_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        char::from(alphabet[usize::try_from(state >> 33).unwrap() % alphabet.len()])
    });
    letters.skip(8).collect()
}

/// Letters and digits.
fn letters(seed: u64, length: usize) -> String {
    let alphabet = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    made_up(seed, length, alphabet)
}

fn hex(seed: u64, length: usize) -> String {
    made_up(seed, length, b"0123456789abcdef")
}

/// A path, a text and the secret in it.
type Form = (&'static str, String, String);

fn form(path: &'static str, secret: &str, text: &str) -> Form {
    (path, text.replace("{}", secret), secret.to_owned())
}

/// Files with secrets in the forms that used to go out.
#[rustfmt::skip] // A table, one form a line.
fn forms() -> Vec<Form> {
    let hash = |method, seed, length| format!("${method}${}${}", letters(seed, 8), letters(seed + 50, length));
    let hook = format!("T{}/B{}/{}", hex(10, 8).to_uppercase(), hex(11, 8).to_uppercase(), letters(10, 24));
    let django = made_up(14, 50, b"abcdefghijklmnopqrstuvwxyz0123456789!@#$%^&*(-_=+)");
    let key = format!("MIIEv{}{}", "QIBADANBgkqhkiG9w0BAQEFAASC", letters(9, 800));
    vec![
        form("a.sql", "marigold", "CREATE ROLE app LOGIN PASSWORD '{}';\n"),
        form("b.sql", "cinnamon", "GRANT ALL ON x.* TO 'a'@'%' IDENTIFIED BY '{}';\n"),
        form("dump.sh", &letters(1, 12), "mysql -u root -p{} db < x.sql\n"),
        form("c.http", &letters(2, 40), "GET / HTTP/1.1\nCookie: theme=dark; sid={}; lang=de\n"),
        form("d.http", &letters(3, 40), "HTTP/1.1 200 OK\nSet-Cookie: sid={}; Path=/; HttpOnly\n"),
        form("deploy.js", &format!("0x{}", hex(4, 64)), "const privateKey = \"{}\";\n"),
        form("config/master.key", &hex(5, 32), "{}\n"),
        form("k8s.yaml", &letters(6, 24), "apiVersion: v1\nkind: Secret\ndata:\n  login: {}\n"),
        form(".htpasswd", &hash("apr1", 7, 22), "bob:{}\n"),
        form("shadow", &hash("6", 8, 86), "root:{}:19000:0:99999:7:::\n"),
        form("key.txt", &key, "{}\n"),
        form("hook.js", &hook, &format!("post('https://hooks.{}/services/{{}}')\n", "slack.com")),
        form("map.js", &letters(12, 39), "fetch('https://maps.corp/api/js?key={}')\n"),
        form("appsettings.json", "thunder-fall", "{\"Db\": \"Server=db;User Id=sa;Password={};Encrypt=true\"}\n"),
        form("kubeconfig", &letters(13, 600), "users:\n- user:\n    client-key-data: {}\n"),
        form("settings.py", &django, "SECRET_KEY = '{}'\n"),
        form("db.yml", "waterfall", "db:\n  host: x\n  password: {}\n"),
        form(".env", &format!("{}\n{}", letters(15, 20), letters(16, 20)), "PORT=1\nAPI_SECRET=\"{}\"\n"),
    ]
}

#[test]
fn forms_that_used_to_go_out_are_kept_back_read_printed_and_copied() {
    let forms = forms();
    let mut test = Test::new(&["new", "--base", ".", "task"]);
    let mut reads = String::new();
    let (mut prints, mut copies) = (String::new(), String::new());
    for (number, (path, text, _)) in forms.iter().enumerate() {
        test = test.file(&format!("workspace/{path}"), text.clone());
        let _ = writeln!(reads, "[READ_FILE path=\"{path}\"]");
        let _ = writeln!(prints, "cat {path}");
        let _ = writeln!(copies, "cp {path} copy{number}.txt; cat copy{number}.txt");
    }
    let command = |script: &str| block(&format!("[RUN_COMMAND]\n{script}[/RUN_COMMAND]"));
    let finished = test
        .reply(&block(reads.trim_end()))
        .reply(&command(&prints))
        .reply(&command(&copies))
        .reply(DONE)
        .run()
        .code(0);
    for (name, text) in finished.files("outbox") {
        for (path, _, secret) in &forms {
            for line in secret.lines() {
                assert!(!text.contains(line), "{name}, {path}: {line}\n{text}");
            }
        }
    }
    assert!(finished.outbox(4).contains("[SECRET-"));
}

#[test]
fn a_sample_token_is_kept_back_where_nobody_can_be_asked() {
    let finished = Test::new(&["new", "--base", ".", "task"])
        .file("workspace/tests/auth.py", format!("T = '{}'\n", token()))
        .reply(DONE)
        .run()
        .code(0)
        .said("1 of them may be samples or no secrets; `--allow-secrets`");
    nothing_left(&finished);
}
