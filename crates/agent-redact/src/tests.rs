//! Secrets that are found, texts that are not secrets, and placeholders that are restored.
//!
//! Samples are put together here from their parts, so that no scanner of repositories takes them
//! for the real thing; their random parts come from a fixed sequence.

pub(crate) mod forms;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;

use self::forms::{Sample, samples};
use super::*;

const ALPHANUMERIC: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
const HEX: &str = "0123456789abcdef";
const BASE64: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Random characters, the same in every run, other ones for every seed.
fn random(seed: u64, alphabet: &str, length: usize) -> String {
    let alphabet: Vec<char> = alphabet.chars().collect();
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        alphabet[usize::try_from(state >> 33).unwrap() % alphabet.len()]
    };
    for _ in 0..8 {
        next();
    }
    (0..length).map(|_| next()).collect()
}

/// A sample as it goes out when the model reads the file, when a command prints it, and when a
/// command prints a copy of it under another name.
fn shown(sample: &Sample) -> [(&'static str, String); 3] {
    let (scanner, file) = (Scanner::default(), TextSource::File(sample.path));
    let read = Vault::default().redact(&scanner, &sample.text, file).text;
    // A settings file that a command names is read before its output is searched, and files that
    // are there to keep secrets are always known.
    let name = sample.path.rsplit('/').next().unwrap();
    let keeps_secrets = agent_protocol::generated::has_credentials(name);
    let printed = |is_known: bool| {
        let mut vault = Vault::default();
        if is_known {
            vault.learn(&scanner, &sample.text, file, MAX_KNOWN);
        }
        vault.redact(&scanner, &sample.text, TextSource::Text).text
    };
    [
        ("read", read),
        ("cat", printed(keeps_secrets || keeps_settings(name))),
        ("cat of a copy", printed(keeps_secrets)),
    ]
}

#[test]
fn nearly_all_values_of_all_forms_are_kept_back() {
    let (mut all, mut missed) = (0, Vec::new());
    for seed in 1..=8 {
        for sample in samples(seed) {
            for (way, text) in shown(&sample) {
                all += 1;
                if sample.secret.iter().any(|line| text.contains(line)) {
                    missed.push(format!("{}, {way}: {text}", sample.name));
                }
            }
        }
    }
    assert!(samples(1).len() >= 195, "{}", samples(1).len());
    for Sample { name, .. } in samples(1) {
        let is_own = |one: &&String| one.starts_with(&format!("{name}, read"));
        let own: Vec<&String> = missed.iter().filter(is_own).collect();
        assert!(own.len() < 4, "most of them slip out: {own:?}");
    }
    let kept = all - missed.len();
    println!("{} forms, {kept} of {all} kept back", samples(1).len());
    assert!(
        kept * 100 >= all * 97,
        "{kept} of {all}:\n{}",
        missed.join("\n")
    );
}

/// Paths and texts: `%` stands for a random value, `#` for a key in hexadecimal, `%%` for something
/// else.
#[rustfmt::skip] // A table, one form a line.
const ODD_NOTATIONS: &[(&str, &str)] = &[
    ("a.sql", "ALTER ROLE app WITH LOGIN PASSWORD '%';"),
    ("a.sql", "alter user 'app'@'%%' identified by '%';"),
    (
        "a.sql",
        "CREATE USER app\n  WITH ENCRYPTED PASSWORD\n  '%';",
    ),
    ("a.sql", "CREATE LOGIN app WITH PASSWORD = N'%';"),
    ("a.sql", "GRANT ALL ON *.* TO 'a'@'h' IDENTIFIED BY \"%\";"),
    ("a.sh", "mysqldump -h db -uroot -p% app > x.sql"),
    ("a.sh", "mysql -u root -p'%' app"),
    ("a.sh", "MYSQL_PWD=% mysql -u root app"),
    ("a.http", "Cookie: a=b; sessionid=%; c=d"),
    ("a.http", "Set-Cookie: sid=%; Path=/; HttpOnly"),
    ("a.py", "headers = {'Cookie': 'session=%'}"),
    ("a.js", "headers.set(\"cookie\", \"session=%\")"),
    ("a.js", "const privateKey = '0x#'"),
    ("a.ts", "private_key: \"#\","),
    ("a.go", "privateKey := \"0x#\""),
    ("config/credentials/production.key", "%abcdef123456\n"),
    (
        "k.yml",
        "apiVersion: v1\nkind: Secret\nstringData:\n  a: %\n",
    ),
    (
        "k.yml",
        "apiVersion: v1\nstringData:\n  a: \"%\"\nkind: \"Secret\"\n",
    ),
    (
        "k.yml",
        "kind: List\nitems:\n- kind: Secret\n  data:\n    a: %\n",
    ),
    ("k.json", "{\"kind\": \"Secret\", \"data\": {\"a\": \"%\"}}"),
    (".htpasswd", "bob:{SHA}%A9bQx7z=\n"),
    ("a.txt", "root:$6$salt$%Zk9.Q/x2:19000:0:99999:7:::\n"),
    (
        "a.txt",
        "https://hooks.slack.com/services/T0123ABCD/B0123ABCD/%abcd",
    ),
    (
        "a.txt",
        "curl 'https://maps.googleapis.com/x?address=a&key=%%'",
    ),
    ("a.cs", "\"Server=db;Database=x;User Id=sa;Password=%;\""),
    ("a.cs", "\"Data Source=db;Pwd=%;Uid=sa\""),
    (
        "web.config",
        "<add name=\"x\" connectionString=\"Server=a;Password=%;Database=b\"/>",
    ),
    ("settings.py", "SECRET_KEY = \"django-insecure-%&%(x^\""),
    (
        "settings.py",
        "SECRET_KEY = os.environ.get('SECRET_KEY', '%')",
    ),
    ("a.yml", "db:\n  user: app\n  password: '%'\n"),
    ("a.yml", "db:\n  user: app\n  password: >-\n    %\n"),
    ("a.yml", "db:\n  user: app\n  password: |\n    %\n"),
    (".env", "KEY=\"first\n%\nlast\"\n"),
    (".env", "export   API_TOKEN = '%'\n"),
    ("a.toml", "[db]\npassword = '''%'''\n"),
    ("a.toml", "password = \"\"\"%\"\"\"\n"),
    ("a.ini", "[db]\npassword:%\n"),
    ("a.xml", "<password><![CDATA[%]]></password>"),
    ("a.xml", "<password>\n  %\n</password>"),
    ("a.json", "{\"password\":\n  \"%\"}"),
    ("a.py", "password = (\n    '%'\n)"),
    ("a.py", "PASSWORD: Final[str] = '%'"),
    ("a.java", "props.put(\"password\", \"%\");"),
    ("a.php", "define('DB_PASSWORD', '%');"),
    ("a.sh", "curl -u user:% https://x"),
    ("a.sh", "curl --header 'Authorization: Basic dXNlcjpw%'"),
    ("a.sh", "sshpass -p % ssh host"),
    ("a.sh", "export TOKEN=$'%'"),
    ("Dockerfile", "ENV A=b DB_PASSWORD=%\n"),
    ("a.ps1", "$env:API_KEY = \"%\""),
    ("a.ps1", "ConvertTo-SecureString '%' -AsPlainText"),
    ("a.bat", "set API_TOKEN=%\n"),
    (".netrc", "machine x\n  login y\n  password %\n"),
    (".pgpass", "h:5432:d:u:%\n"),
];

/// Secrets of which the value must not be shown, in notations that slipped out before.
#[test]
fn secrets_in_odd_notations_are_kept_back() {
    let token = random(5, ALPHANUMERIC, 20);
    let hex = random(6, HEX, 64);
    let mut missed = Vec::new();
    for (path, form) in ODD_NOTATIONS {
        let text = form
            .replace("%%", "\u{1}")
            .replace('%', &token)
            .replace('#', &hex);
        let text = text.replace('\u{1}', "AIzaSyB");
        let sample = Sample {
            name: form,
            path,
            text: text.replace("AIzaSyB", &random(7, ALPHANUMERIC, 30)),
            secret: vec![if form.contains('#') {
                hex.clone()
            } else {
                token.clone()
            }],
        };
        for (way, shown) in shown(&sample) {
            if sample.secret.iter().any(|value| shown.contains(value)) {
                missed.push(format!("{path} {way}: {form:?}"));
            }
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
    // Without its file this could be code.
    let list = format!("db: {{user: app, password: {token}}}\n");
    let read = Vault::default().redact(&Scanner::default(), &list, TextSource::File("a.yml"));
    assert!(!read.text.contains(&token), "{}", read.text);
}

fn key(seed: u64, label: &str, lines: usize) -> String {
    let body = (0..lines).map(|line| random(seed + line as u64, BASE64, 64) + "\n");
    let body: String = body.collect();
    format!(
        "-----BEGIN {label}PRIVATE KEY-----\n{body}{}\n-----END {label}PRIVATE KEY-----\n",
        random(seed, BASE64, 20)
    )
}

#[test]
fn a_private_key_goes_line_by_line_and_keeps_its_first_and_last_line() {
    for label in ["", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED "] {
        let text = format!("before\n{}after\n", key(3, label, 3));
        let redacted = redact(&text);
        let expected = format!(
            "before\n-----BEGIN {label}PRIVATE KEY-----\n[SECRET-1.1 private-key]\n[SECRET-1.2 private-key]\n[SECRET-1.3 private-key]\n[SECRET-1.4 private-key]\n-----END {label}PRIVATE KEY-----\nafter\n"
        );
        assert_eq!(redacted, expected);
    }
}

#[test]
fn a_key_is_found_however_its_lines_are_dressed_and_wherever_it_is_cut() {
    let key = key(5, "", 4);
    let dressed = |dress: &dyn Fn(usize, &str) -> String| -> String {
        (1..)
            .zip(key.lines())
            .map(|(number, line)| dress(number, line) + "\n")
            .collect()
    };
    let texts = [
        dressed(&|number, line| format!("{number}: {line}")),
        dressed(&|_, line| format!("+{line}")),
        dressed(&|_, line| format!("-{line}")),
        dressed(&|_, line| format!("    {line}")),
        dressed(&|_, line| format!("  \"{line}\\n\" +")),
        format!("{{\"key\": \"{}\"}}", key.replace('\n', "\\n")),
        key.lines().take(4).collect::<Vec<_>>().join("\n"),
        key.lines().skip(2).collect::<Vec<_>>().join("\n"),
    ];
    for text in texts {
        let redacted = redact(&text);
        assert_eq!(redacted.lines().count(), text.lines().count(), "{redacted}");
        for line in key.lines().filter(|line| line.len() == 64) {
            assert!(!redacted.contains(line), "{text}\n{redacted}");
        }
    }
}

/// The base64 of a private key in PEM, and of a certificate.
fn encoded(label: &str) -> String {
    let body = random(3, BASE64, 2400);
    match label {
        "PRIVATE KEY" => format!("LS0tLS1CRUdJTiBQUklWQVRFIEtFWS0tLS0tCk1J{body}"),
        "RSA PRIVATE KEY" => format!("LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQpN{body}"),
        _ => format!("LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSURE{body}"),
    }
}

#[test]
fn a_key_in_base64_is_found_and_a_certificate_stays() {
    let certificate = encoded("CERTIFICATE");
    for label in ["PRIVATE KEY", "RSA PRIVATE KEY"] {
        let key = encoded(label);
        let text = format!(
            "    client-certificate-data: {certificate}\n    client-key-data: {key}\n    token: x\n"
        );
        let expected = text.replace(&key, "[SECRET-1 private-key]");
        assert_eq!(redact(&text), expected);
        let wrapped: Vec<&str> = (0..key.len())
            .step_by(76)
            .map(|start| &key[start..key.len().min(start + 76)])
            .collect();
        let shown = redact(&format!("{}\nafter\n", wrapped.join("\n")));
        // The last line is short, and has no more than the end of the end line in it.
        let is_gone = |line: &&str| line.len() < 40 || !shown.contains(*line);
        assert!(wrapped.iter().all(is_gone), "{shown}");
        assert!(shown.ends_with("\nafter\n"), "{shown}");
    }
}

#[test]
fn long_tokens_are_found_whole() {
    let payload = random(1, ALPHANUMERIC, 6000);
    let fly = random(2, BASE64, 3000);
    for token in [
        format!(
            "ey{}.eyJ{payload}.{}",
            "JhbGciOiJIUzI1NiJ9",
            random(3, ALPHANUMERIC, 43)
        ),
        format!("fm{}{fly}", "2_"),
    ] {
        let redacted = redact(&format!("x = '{token}';"));
        assert!(!has_piece(&token, &redacted, 8), "{redacted}");
        assert!(redacted.starts_with("x = '[SECRET-1 ") && redacted.ends_with("';"));
    }
}

#[test]
fn a_key_of_putty_keeps_its_public_half() {
    let line = |seed| random(seed, BASE64, 64);
    let text = format!(
        "PuTTY-User-Key-File-3: ssh-rsa\nEncryption: none\nComment: me\nPublic-Lines: 2\n{}\n{}\nPrivate-Lines: 3\n{}\n{}\nAAAA\nPrivate-MAC: 1a2b3c4d\n",
        line(1),
        line(2),
        line(3),
        line(4)
    );
    let expected = text
        .replace(&line(3), "[SECRET-1.1 private-key]")
        .replace(&line(4), "[SECRET-1.2 private-key]")
        .replace("AAAA\n", "[SECRET-1.3 private-key]\n");
    assert_eq!(redact(&text), expected);
}

#[test]
fn ordinary_assignments_are_no_secrets_and_blacken_nothing() {
    let (scanner, mut vault) = (Scanner::default(), Vault::default());
    let makefile = "AUTHOR=Jane Doe\nPASS=passed\nCOMPASS=northwest\nCERT_DIR=build/certs\nAUTH=ldap\nall:\n\techo hi\n";
    for source in [TextSource::File("Makefile"), TextSource::Text] {
        let redacted = vault.redact(&scanner, makefile, source);
        assert_eq!(redacted.text, makefile);
    }
    // In a file of values such a word is taken for a password, there and nowhere else.
    let env = vault.redact(&scanner, "DB_PASS=passed\n", TextSource::File(".env"));
    assert_eq!(env.text, "DB_PASS=[SECRET-1 password]\n");
    for text in [
        "status: passed\n",
        "test_a: passed\n",
        "result=\"passed\"\n",
    ] {
        let redacted = vault.redact(&scanner, text, TextSource::Text);
        assert_eq!(redacted.text, text);
    }
    let printed = vault.redact(&scanner, "DB_PASS=passed\n", TextSource::Text);
    assert_eq!(printed.text, "DB_PASS=[SECRET-1 password]\n");
}

#[test]
fn a_printed_assignment_ends_where_the_command_begins() {
    for (text, expected) in [
        (
            "PGPASSWORD=Pg29dkfj39dk psql -h db\n",
            "PGPASSWORD=[SECRET-1 password] psql -h db\n",
        ),
        (
            "PGPASSWORD=hunter2 psql -h db\n",
            "PGPASSWORD=[SECRET-1 password] psql -h db\n",
        ),
        (
            "PGPASSWORD='hunter 2' psql -h db\n",
            "PGPASSWORD='[SECRET-1 password]' psql -h db\n",
        ),
    ] {
        assert_eq!(redact(text), expected);
    }
}

#[test]
fn values_of_environment_files_are_taken_out_and_harmless_ones_stay() {
    let text = "# c=d\nexport DB_PASSWORD=hunter2\nAPP_NAME=my-app\nPORT=8080\nDEBUG=true\nSALT='ab9!'\nHOST=db.example.com\nBLOB=x9Kd03mVq81LzPw7\nURL=https://u:Xk29dkfj39dk@h/\nAPI_KEY=\nJWT_SECRET=${OTHER}\n";
    let mut vault = Vault::default();
    let redacted = vault.redact(&Scanner::default(), text, TextSource::File("a/.env"));
    assert_eq!(
        redacted.text,
        "# c=d\nexport DB_PASSWORD=[SECRET-1 password]\nAPP_NAME=my-app\nPORT=8080\nDEBUG=true\nSALT='[SECRET-2 secret]'\nHOST=db.example.com\nBLOB=[SECRET-3 secret]\nURL=https://u:[SECRET-4 url-password]@h/\nAPI_KEY=\nJWT_SECRET=${OTHER}\n"
    );
    let printed = redact(text);
    assert_eq!(printed.matches("[SECRET-").count(), 3, "{printed}");
    let diff = "diff --git a/.env b/.env\n--- a/.env\n+++ b/.env\n@@ -1 +1 @@\n-DB_PASSWORD=hunter2\n+DB_PASSWORD=hunter3\ndiff --git a/x b/x\n+++ b/x\n+PASSWORD=hunter4\n";
    let shown = redact(diff);
    assert!(
        !shown.contains("hunter3") && shown.ends_with("+PASSWORD=hunter4\n"),
        "{shown}"
    );
    assert!(!redact("conf/.env:3: DB_PASSWORD=hunter2\n").contains("hunter2"));
    assert!(redact(".env.example:3: DB_PASSWORD=hunter2\n").contains("hunter2"));
}

#[test]
fn a_telling_name_protects_what_looks_harmless() {
    let hides = |text: &str, secret: &str, source: TextSource<'_>| {
        let mut vault = Vault::default();
        let redacted = vault.redact(&Scanner::default(), text, source).text;
        assert!(!redacted.contains(secret), "{redacted}");
    };
    let env = TextSource::File(".env");
    hides("DB_PASSWORD=84629175\n", "84629175", env);
    hides("ADMIN_PASSWORD=$ecr3tPass99\n", "ecr3tPass99", env);
    hides("STRIPE_SECRET=/Ab19xZ/qq0\n", "Ab19xZ", env);
    hides("URL=redis://:pa55w0rdLong@cache/1\n", "pa55w0rdLong", env);
    hides(
        "see postgres://admin:hunter2@db/x\n",
        "hunter2",
        TextSource::Text,
    );
    hides(
        "     1\tDB_PASSWORD=hunter2xyz\n",
        "hunter2xyz",
        TextSource::Text,
    );
    hides(
        "12:DB_PASSWORD=hunter2xyz\n",
        "hunter2xyz",
        TextSource::Text,
    );
    hides(
        "xoxc-8391027465-kQ2mZx81LpWv0a7R\n",
        "kQ2mZx81LpWv",
        TextSource::Text,
    );
}

#[test]
fn what_follows_a_hunk_of_an_environment_file_is_none_of_it() {
    let text = "--- a/.env\n+++ b/.env\n@@ -1 +1 @@\n-DB_PASSWORD=hunter2\n+DB_PASSWORD=hunter3\n\nbuild = v1a2b3c4d5\n";
    let redacted = Vault::default()
        .redact(&Scanner::default(), text, TextSource::Text)
        .text;
    assert!(!redacted.contains("hunter"), "{redacted}");
    assert!(redacted.contains("build = v1a2b3c4d5"), "{redacted}");
}

#[test]
fn samples_templates_and_names_are_no_secrets() {
    for text in [
        "password = \"password\"",
        "password: String,",
        "token = \"access_token\"",
        "let token = lexer.next_token();",
        "API_KEY=your-api-key-here",
        "api_key = os.environ[\"API_KEY_2\"]",
        "AKIAIOSFODNN7EXAMPLE",
        "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "postgres://user:password@localhost/db",
        "http://{user}:{password1}@host",
        "secret = \"${SECRET_1a2b3c}\"",
        "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAu1SU1LfVLPHCozMxH2Mo\n-----END PUBLIC KEY-----",
        "const BEGIN: &str = \"-----BEGIN PRIVATE KEY-----\";\nconst END: &str = \"-----END PRIVATE KEY-----\";",
        "password_hash_type = \"argon2id13v\"",
        "[SECRET-1 token]",
        "token = \"[SECRET-1 token]\"",
        "/// the program identified by 'sequence' and the lines of it",
        "http://a/?username=b&password=secure%20password",
    ] {
        assert_eq!(redact(text), text);
    }
}

#[test]
fn the_same_secret_has_the_same_placeholder_and_is_known_without_its_context() {
    let (scanner, mut vault) = (Scanner::default(), Vault::default());
    let (one, two) = (random(1, ALPHANUMERIC, 24), random(2, ALPHANUMERIC, 24));
    let first = vault.redact(
        &scanner,
        &format!("password = \"{one}\"\npassword = \"{two}\""),
        TextSource::Text,
    );
    assert_eq!(
        first.text,
        "password = \"[SECRET-1 password]\"\npassword = \"[SECRET-2 password]\""
    );
    let again = vault.redact(&scanner, &format!("{two} and {one}"), TextSource::Text);
    assert_eq!(again.text, "[SECRET-2 password] and [SECRET-1 password]");
    let json = serde_json::to_string(&vault).unwrap();
    let kept: Vault = serde_json::from_str(&json).unwrap();
    assert_eq!(kept, vault);
}

#[test]
fn a_placeholder_leads_back_only_where_it_may() {
    let (scanner, mut vault) = (Scanner::default(), Vault::default());
    let text = format!(
        "password = \"{}\"\n{}",
        random(7, ALPHANUMERIC, 20),
        key(9, "", 2)
    );
    let redacted = vault.redact(&scanner, &text, TextSource::File("a.toml"));
    let revealed = vault
        .reveal(&redacted.text, &mut |_, _| true, &str::to_owned)
        .unwrap();
    assert_eq!(revealed.as_deref(), Some(text.as_str()));
    let refused = vault
        .reveal(&redacted.text, &mut |_, _| false, &str::to_owned)
        .unwrap_err();
    assert_eq!(refused.placeholder, "[SECRET-1 password]");
    assert!(refused.files.unwrap().iter().eq(["a.toml"]));
    for text in ["[SECRET-", "[SECRET-KEY]", "[SECRET-1 [x]", "[SECRET-1\n]"] {
        let revealed = vault.reveal(text, &mut |_, _| false, &str::to_owned);
        assert_eq!(revealed, Ok(None), "{text}");
    }
    assert!(
        vault
            .reveal("[SECRET-1]", &mut |_, _| true, &str::to_owned)
            .unwrap()
            .is_some()
    );
}

#[test]
fn a_placeholder_that_stands_for_nothing_is_told_from_text() {
    let (scanner, mut vault) = (Scanner::default(), Vault::default());
    let text = format!(
        "password = \"{}\"\n{}",
        random(7, ALPHANUMERIC, 20),
        key(9, "", 2)
    );
    vault.redact(&scanner, &text, TextSource::File("a.toml"));
    for text in [
        "[SECRET-9 password]",
        "[SECRET-X password]",
        "[SECRET-X]",
        "[SECRET-0]",
        "[SECRET-2.99 private-key]",
        "[SECRET-1\u{2026}]",
    ] {
        let refused = vault.reveal(text, &mut |_, secret| secret.is_some(), &str::to_owned);
        let misplaced = refused.unwrap_err();
        assert_eq!(
            (misplaced.placeholder.as_str(), misplaced.files.is_some()),
            (text, false)
        );
        let kept = vault.reveal(text, &mut |_, _| true, &str::to_owned);
        assert_eq!(kept, Ok(None));
    }
    let numbers = vault.numbers_in("[SECRET-1] [SECRET-2.1 x] [SECRET-7 x] [SECRET-X x]");
    assert_eq!(numbers, [0, 1, 2].into());
}

/// A key as the JSON of a service account has it, in one line.
fn service_account(seed: u64) -> (String, String) {
    let key = key(seed, "", 25).replace('\n', "\\n");
    let id = random(seed, HEX, 40);
    let text = format!(
        "{{\n  \"type\": \"service_account\",\n  \"private_key_id\": \"{id}\",\n  \"private_key\": \"{key}\",\n  \"client_email\": \"a@b\"\n}}\n"
    );
    (text, key)
}

/// Returns true if a text still has a piece of the key of this length.
fn has_piece(key: &str, text: &str, length: usize) -> bool {
    let left: BTreeSet<&[u8]> = text.as_bytes().windows(length).collect();
    let words = key.split("\\n").filter(|word| !word.contains(' '));
    let mut pieces = words.flat_map(|word| word.as_bytes().windows(length));
    pieces.any(|piece| left.contains(piece))
}

#[test]
fn a_key_in_one_line_is_found_wherever_it_is_cut_and_the_line_before_it_stays() {
    let (text, key) = service_account(11);
    let redacted = redact(&text);
    assert!(redacted.contains("\\n[SECRET-1.1 private-key]\\n[SECRET-1.2 private-key]\\n"));
    assert!(!has_piece(&key, &redacted, 4), "{redacted}");
    let id = text.lines().nth(2).unwrap();
    assert!(redacted.contains(id), "{redacted}");
    let (start, end) = (
        text.find("-----BEGIN").unwrap(),
        text.find("-----END").unwrap(),
    );
    let mut vault = Vault::default();
    vault.redact(&Scanner::default(), &text, TextSource::File("key.json"));
    for cut in (start + 60..end).step_by(7) {
        // What is left between a mark and the cut may be too short to tell.
        for piece in [&text[..cut], &text[cut..], &text[start..cut]] {
            let shown = redact(piece);
            assert!(!has_piece(&key, &shown, 16), "{cut}: {shown}");
        }
        let piece = &text[cut..end.min(cut + 400)];
        let known = vault
            .redact(&Scanner::default(), piece, TextSource::Text)
            .text;
        assert!(!has_piece(&key, &known, 64), "{known}");
    }
}

#[test]
fn a_long_line_before_the_end_of_a_key_is_no_trouble() {
    let text = format!("{}-----END PRIVATE KEY-----", "\u{e9}".repeat(20_000));
    assert_eq!(redact(&text), text);
    let text = format!("-----BEGIN PRIVATE KEY-----{}", "\u{e9}".repeat(20_000));
    assert_eq!(redact(&text), text);
}

#[test]
fn what_is_allowed_stays() {
    let token = format!("gh{}{}", "p_", random(1, ALPHANUMERIC, 36));
    for allowed in [token.as_str(), "ghp_*", "github-token"] {
        let scanner = Scanner::new(Allow::parse(allowed));
        let redacted = Vault::default().redact(&scanner, &token, TextSource::Text);
        assert_eq!(redacted.text, token);
    }
}

#[test]
fn too_many_secrets_are_taken_out_all_the_same() {
    let text: String = (0..700)
        .map(|seed| ["gh", "p_", &random(seed, ALPHANUMERIC, 36), "\n"].concat())
        .collect();
    let mut vault = Vault::default();
    let redacted = vault.redact(&Scanner::default(), &text, TextSource::Text);
    assert!(!redacted.text.contains("ghp_"));
    assert!(redacted.text.contains("[SECRET-X github-token]"));
    assert!(!redacted.text.contains("[SECRET-501"));
    let json = serde_json::to_string(&vault).unwrap();
    let kept: Vault = serde_json::from_str(&json).unwrap();
    assert_eq!(kept.secrets().len(), 500);
}

#[test]
fn a_secret_too_many_is_known_where_nothing_tells_it() {
    let lines = (0..700).map(|seed| format!("V{seed}={}\n", random(seed, ALPHANUMERIC, 16)));
    let text: String = lines.collect();
    let (scanner, mut vault) = (Scanner::default(), Vault::default());
    vault.redact(&scanner, &text, TextSource::File(".env"));
    let values = text.lines().filter_map(|line| line.split_once('='));
    let values: Vec<&str> = values.map(|(_, value)| value).collect();
    let shown = vault
        .redact(&scanner, &values.join("\n"), TextSource::Text)
        .text;
    let left: Vec<&str> = shown
        .lines()
        .filter(|line| !line.starts_with("[SECRET-"))
        .collect();
    // Those that do not look made up are none.
    assert!(left.len() < 50, "{left:?}");
    assert!(shown.contains("[SECRET-X secret]"));
}

#[test]
fn a_text_teaches_no_more_than_its_share() {
    let lines = (0..30).map(|number| format!("T{number}_TOKEN=hunter{number}x\n"));
    let text: String = lines.collect();
    let mut vault = Vault::default();
    for share in [10, 5] {
        vault.learn(&Scanner::default(), &text, TextSource::File(".env"), share);
    }
    assert_eq!(vault.secrets().len(), 15);
}

#[test]
fn what_everybody_may_read_is_no_secret_and_blackens_nothing() {
    let (scanner, mut vault) = (Scanner::default(), Vault::default());
    let env = "ADMIN_EMAIL=jane2@corp.com\nFEATURES=login,search,payments,export-csv\nAUTH_MODE=oauth2\nCERT=server.crt\nIMAGE_TAG=2024-01-31-a1b2c3\nJWT_PRIVATE_KEY=keys/jwt-rs256.pem\nSSL_CERT=server1.crt\nGOOGLE_APPLICATION_CREDENTIALS=./gcp-billing-2024.json\n";
    assert_eq!(
        vault.redact(&scanner, env, TextSource::File(".env")).text,
        env
    );
    assert!(vault.is_empty());
    // A password is one whatever it looks like.
    for value in ["jane2@corp.com", "keys/jwt-rs256", "server1.crt"] {
        let line = format!("DB_PASSWORD={value}\n");
        let shown = Vault::default().redact(&scanner, &line, TextSource::File(".env"));
        assert!(!shown.text.contains(value), "{}", shown.text);
    }
}

#[test]
fn what_a_doubtful_name_has_is_known_in_its_file_and_where_it_is_assigned() {
    let (scanner, mut vault) = (Scanner::default(), Vault::default());
    let text = "acme_key = \"a1b2c3d4e5f6g7\"\nx a1b2c3d4e5f6g7\n";
    let file = vault.redact(&scanner, text, TextSource::File("a.py")).text;
    assert!(!file.contains("a1b2c3d4e5f6g7"), "{file}");
    let other = "id a1b2c3d4e5f6g7\n";
    assert_eq!(vault.redact(&scanner, other, TextSource::Text).text, other);
    let sure = vault.redact(
        &scanner,
        "db_password = \"a1b2c3d4e5f6g7\"\n",
        TextSource::Text,
    );
    assert_eq!(sure.text, "db_password = \"[SECRET-1 key]\"\n");
    // From now on it is one for sure.
    let known = vault.redact(&scanner, other, TextSource::Text).text;
    assert_eq!(known, "id [SECRET-1 key]\n");
}

#[test]
fn a_secret_that_is_the_name_of_a_file_is_plain_text_elsewhere() {
    let (scanner, mut vault) = (Scanner::default(), Vault::default());
    let env = TextSource::File(".env");
    vault.redact(&scanner, "DB_PASSWORD=billing2\nX_PASSWORD=hunter2\n", env);
    vault.spare(Plain::new(|| "billing2/app.py\n".to_owned()));
    let text = "billing2/app.py has hunter2; DB_PASSWORD=billing2\n";
    let shown = vault.redact(&scanner, text, TextSource::Text).text;
    let expected = "billing2/app.py has [SECRET-2 password]; DB_PASSWORD=[SECRET-1 password]\n";
    assert_eq!(shown, expected);
    let own = vault.redact(&scanner, "APP=billing2\n", env).text;
    assert_eq!(own, "APP=[SECRET-1 password]\n");
    vault.redact(&scanner, "Y_PASSWORD=app.py7\n", env);
    vault.spare(Plain::default());
    let shown = vault
        .redact(&scanner, "see billing2", TextSource::Text)
        .text;
    assert_eq!(shown, "see [SECRET-1 password]");
}

#[test]
fn what_may_be_harmless_is_sent_after_a_yes_and_kept_after_a_no() {
    let (scanner, token) = (Scanner::default(), |seed| {
        format!("gh{}{}", "p_", random(seed, ALPHANUMERIC, 36))
    });
    let mut vault = Vault::default();
    for (seed, path) in [(1, "src/test.rs"), (2, "docs/b.md"), (3, "src/a.py")] {
        vault.redact(&scanner, &token(seed), TextSource::File(path));
    }
    vault.redact(
        &scanner,
        "acme_key = \"a1b2c3d4e5f6g7\"",
        TextSource::File("a.py"),
    );
    // A token in the sources is one, wherever else it stands.
    vault.redact(&scanner, &token(3), TextSource::File("tests/c.py"));
    assert_eq!(vault.open_doubts(0..9), [1, 2, 4]);
    let text = format!("{} {} {}", token(1), token(2), token(3));
    let before = vault.redact(&scanner, &text, TextSource::Text).text;
    vault.answer(1, true);
    vault.answer(2, false);
    assert_eq!(vault.open_doubts(0..9), [4]);
    let expected = format!(
        "{} [SECRET-2 github-token] [SECRET-3 github-token]",
        token(1)
    );
    assert_eq!(
        vault.restore_sent(&before).as_deref(),
        Some(expected.as_str())
    );
    assert_eq!(
        vault.redact(&scanner, &text, TextSource::Text).text,
        expected
    );
    assert!(
        vault
            .places(&scanner, &token(1), TextSource::Text)
            .is_empty()
    );
    let kept: Vault = serde_json::from_str(&serde_json::to_string(&vault).unwrap()).unwrap();
    assert_eq!(
        kept.restore_sent(&before).as_deref(),
        Some(expected.as_str())
    );
    assert_eq!(kept.restore_sent("[SECRET-2 x] [SECRET-9 x]"), None);
}

#[test]
fn a_password_that_is_a_word_is_found_among_settings_and_not_in_prose() {
    let file = |path| {
        let text = "db:\n  user: app\n  password: swordfish\n";
        let mut vault = Vault::default();
        let redacted = vault.redact(&Scanner::default(), text, TextSource::File(path));
        !redacted.text.contains("swordfish")
    };
    assert!(file("a.yml") && file("a.ini") && !file("a.rs"));
    for text in [
        "user: app\npassword: swordfish\n",
        "+  host: db\n+  password: swordfish\n",
    ] {
        let found = Scanner::default().scan(text, TextSource::Text);
        assert!(found.iter().all(|finding| finding.is_doubtful));
        assert!(!redact(text).contains("swordfish"), "{text}");
    }
    for text in [
        "password: swordfish\n",
        "The user said password: swordfish\nuser: app\n",
        "user: string\npassword: string\n",
        "user: app\npassword: ${PASSWORD}\n",
        "Username: bob\nPassword: required\n",
    ] {
        assert_eq!(redact(text), text);
    }
}

#[test]
fn a_password_that_is_alone_in_its_line_is_found_in_every_file_and_before_a_comment() {
    for line in [
        "password = \"correct-horse-9\" # of the test server\n",
        "password: Sommer2024!\n",
        "db_password = 'Winter#2023'  // old\n",
        "password = correct-horse-9 ; of the test server\n",
    ] {
        for source in [
            TextSource::File("a.py"),
            TextSource::File("a.txt"),
            TextSource::Text,
        ] {
            let mut vault = Vault::default();
            let redacted = vault.redact(&Scanner::default(), line, source).text;
            assert!(
                redacted.contains("[SECRET-1 password]"),
                "{source:?} {redacted}"
            );
        }
    }
    let code = "password = prompt!(\"password-2\") # asks\ncheck(password=a-b-2, b)\n";
    assert_eq!(redact(code), code);
}

#[test]
fn the_data_of_a_kubernetes_secret_is_taken_out_and_other_manifests_stay() {
    let secret = "kind: ConfigMap\ndata:\n  a: plain\n---\nkind: Secret\nmetadata:\n  name: db\ndata:\n  user: YWRtaW4=\n  file: |\n    c2VjcmV0\ntype: Opaque\n";
    let expected = "kind: ConfigMap\ndata:\n  a: plain\n---\nkind: Secret\nmetadata:\n  name: db\ndata:\n  user: [SECRET-1 secret]\n  file: |\n    [SECRET-2 secret]\ntype: Opaque\n";
    assert_eq!(redact(secret), expected);
    let store = "kind: SecretStore\ndata:\n  a: plain\n";
    assert_eq!(redact(store), store);
}

#[test]
fn a_hostile_text_takes_no_longer_than_its_length() {
    let began = time_used();
    for piece in [
        "kind: Secret\n",
        "cookie: ",
        "password=a;",
        "IBAAKCAQEA",
        "MC4CAQAwBQYDK2V\n",
        "create user x ",
        "eyJ",
        "A_PASSWORD=\"\n",
        "mysql -p",
    ] {
        redact(&piece.repeat(200_000 / piece.len()));
    }
    // A search that is not linear takes minutes.
    let used = time_used().saturating_sub(began);
    assert!(used.as_secs() < 60, "{used:?}");
}

/// The time that this thread was on a processor, which does not depend on what else the machine
/// does; nothing where the system does not tell it.
fn time_used() -> std::time::Duration {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = told
        .split(' ')
        .next()
        .and_then(|number| number.parse().ok());
    std::time::Duration::from_nanos(nanoseconds.unwrap_or_default())
}

#[test]
fn half_a_placeholder_before_a_secret_stays_what_it_is() {
    let text = "[SECRET-1 =A0=a-1b";
    let mut vault = Vault::default();
    let redacted = vault.redact(&Scanner::default(), text, TextSource::File(".env"));
    assert_ne!(redacted.text, text);
    let revealed = vault.reveal(&redacted.text, &mut |_, _| true, &str::to_owned);
    assert_eq!(revealed.unwrap().as_deref(), Some(text));
}

#[test]
fn a_long_key_that_repeats_itself_comes_back_in_its_parts() {
    let text = "a0ABC+bD".repeat(2_528) + "-----END PRIVATE KEY-----";
    for source in [TextSource::Text, TextSource::File("a.pem")] {
        let mut vault = Vault::default();
        let redacted = vault.redact(&Scanner::default(), &text, source).text;
        let revealed = vault.reveal(&redacted, &mut |_, _| true, &str::to_owned);
        assert!(revealed.unwrap().is_some_and(|revealed| revealed == text));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn long_lines_with_marks_of_keys_come_back(pieces in prop::collection::vec(("(\\n|\\\\n|-----BEGIN PRIVATE KEY-----|-----END PRIVATE KEY-----|[a-zA-Z0-9+/]{1,70}|\u{e9}|\u{1f600}| |n|\\\\)", 1_usize..9_000), 1..4)) {
        let text: String = pieces.iter().map(|(piece, times)| piece.repeat(*times % (24_000 / piece.len()))).collect();
        for source in [TextSource::Text, TextSource::File("a.pem")] {
            let mut vault = Vault::default();
            let redacted = vault.redact(&Scanner::default(), &text, source).text;
            let revealed = vault.reveal(&redacted, &mut |_, _| true, &str::to_owned).unwrap();
            prop_assert!(revealed.unwrap_or(redacted) == text);
        }
    }
}

proptest! {
    #[test]
    fn any_text_comes_back_and_keeps_its_lines(text in "([a-zA-Z0-9_=:'\"é\n +/.-]{0,40}(password|token|-----BEGIN |-----END |PRIVATE KEY-----|ghp_|eyJ|://|\\[SECRET-1|<pass>|</pass>|login x password |--token |ENV A_KEY |, \"value\": |\\\\n|\\\\\"|%22|Private-Lines: 3\n|LS0tLS1CRUdJTiBQUklWQVRFIEtFWS0tLS0tCk1J|_pwd=Xk29dkfj39dk&a=|\"auth\": \"dXNlcjE6cEA1NXcwckQ5\")?){0,12}") {
        for source in [TextSource::File(".env"), TextSource::File(".netrc"), TextSource::File(".pgpass"), TextSource::Text] {
            let mut vault = Vault::default();
            let redacted = vault.redact(&Scanner::default(), &text, source).text;
            prop_assert_eq!(redacted.lines().count(), text.lines().count());
            let revealed = vault.reveal(&redacted, &mut |_, _| true, &str::to_owned).unwrap();
            prop_assert_eq!(revealed.as_ref().unwrap_or(&redacted), &text);
        }
    }
}

fn sources(directory: &Path, endings: &[&str], found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let (path, kind) = (entry.path(), entry.file_type());
        if kind.as_ref().is_ok_and(fs::FileType::is_dir) {
            sources(&path, endings, found);
        } else if kind.is_ok_and(|kind| kind.is_file())
            && path
                .extension()
                .is_some_and(|ending| endings.contains(&&*ending.to_string_lossy()))
        {
            found.push(path);
        }
    }
}

/// The findings in all sources beneath a directory, and how many bytes were read.
fn alarms(directory: &Path, endings: &[&str]) -> (Vec<String>, usize) {
    let mut files = Vec::new();
    sources(directory, endings, &mut files);
    let (mut alarms, mut bytes) = (Vec::new(), 0);
    for file in files {
        let Ok(text) = fs::read_to_string(&file) else {
            continue;
        };
        bytes += text.len();
        let name = file.to_string_lossy();
        let scan = |source| Scanner::default().scan(&text, source);
        // A file is read as such, and once more in the message in which it stands.
        let mut found = scan(TextSource::File(&name));
        let in_message = scan(TextSource::Text);
        let is_new = |one: &SecretFinding| found.iter().all(|other| other.parts != one.parts);
        let new: Vec<SecretFinding> = in_message.into_iter().filter(is_new).collect();
        found.extend(new);
        for finding in found {
            let line = text[..finding.parts[0].start].lines().count();
            alarms.push(format!(
                "{name}:{line}: {} {}",
                finding.kind,
                &text[finding.parts[0].clone()]
            ));
        }
    }
    (alarms, bytes)
}

fn registry() -> Option<PathBuf> {
    let home = std::env::var_os("CARGO_HOME").map_or_else(
        || Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")),
        |home| Some(PathBuf::from(home)),
    )?;
    let index = fs::read_dir(home.join("registry/src"))
        .ok()?
        .flatten()
        .next()?;
    Some(index.path())
}

#[test]
fn the_sources_of_large_projects_raise_no_alarm() {
    let Some(registry) = registry() else { return };
    let large = [
        "regex-automata-",
        "jiff-0",
        "rustix-1",
        "clap_builder-",
        "serde_json-",
        "tracing-subscriber-",
    ];
    let crates = fs::read_dir(registry)
        .unwrap()
        .flatten()
        .map(|entry| entry.path());
    let chosen = crates.filter(|path| {
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        large.iter().any(|start| name.starts_with(start))
    });
    for project in chosen {
        let (alarms, _) = alarms(&project, &["rs", "toml", "md", "json", "yml"]);
        assert!(alarms.is_empty(), "{}", alarms.join("\n"));
    }
}

/// For a look at everything that lies on a machine: `cargo test secrets -- --ignored --nocapture`.
///
/// `SECRETS_ROOTS` names other directories, parted by colons.
#[test]
#[ignore = "reads some hundred megabytes"]
fn what_all_sources_of_this_machine_raise() {
    let mut roots: Vec<PathBuf> = registry().into_iter().collect();
    match std::env::var_os("SECRETS_ROOTS") {
        Some(others) => roots = std::env::split_paths(&others).collect(),
        None => roots.extend(
            [
                "/usr/lib/python3",
                "/usr/lib/python3.11",
                "/usr/lib/node_modules",
            ]
            .map(PathBuf::from),
        ),
    }
    for root in roots {
        let began = std::time::Instant::now();
        let (alarms, bytes) = alarms(
            &root,
            &[
                "rs",
                "toml",
                "md",
                "json",
                "yml",
                "yaml",
                "py",
                "js",
                "ts",
                "c",
                "h",
                "sh",
                "html",
                "xml",
                "txt",
                "conf",
                "cfg",
                "ini",
                "properties",
                "java",
                "go",
                "pl",
                "pm",
                "rb",
                "tcl",
            ],
        );
        eprintln!(
            "{}: {} in {} MB, {:?}",
            root.display(),
            alarms.len(),
            bytes / 1_000_000,
            began.elapsed()
        );
        for alarm in alarms {
            eprintln!("  {}", alarm.chars().take(240).collect::<String>());
        }
    }
}
