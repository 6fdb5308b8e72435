//! Holds README and docs to the program: commands and flags exist, links lead somewhere, the demo
//! says what the README shows, and the protocol's examples are understood as it says.
//!
//! Code is found by its fences. A block ```` ```reply commands=2 ```` is a reply that must be read
//! without an issue as so many commands; in a block ```` ```console ````, `...` stands for lines
//! that are left out.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::harness::Test;
#[cfg(target_os = "linux")]
use crate::harness::program;
#[cfg(target_os = "linux")]
use crate::terminal::{Terminal, has_script};

/// The pages that a person reads.
const PAGES: &[&str] = &[
    "README.md",
    "CONTRIBUTING.md",
    "docs/user-guide.md",
    "docs/api.md",
    "docs/batch.md",
    "docs/mcp.md",
    "docs/events.md",
    "docs/protocol.md",
    "docs/settings.md",
    "docs/architecture.md",
    "docs/security.md",
    "docs/systems.md",
    "docs/chats/chatgpt.md",
    "docs/chats/claude.md",
    "docs/chats/gemini.md",
    "docs/chats/ai-studio.md",
    "docs/chats/copilot.md",
    "docs/chats/other.md",
];

/// The most characters of the instructions, so that a first message stays small.
const MAX_INSTRUCTIONS: usize = 3_700;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

#[track_caller]
fn page(name: &str) -> String {
    let path = root().join(name);
    fs::read_to_string(&path).unwrap_or_else(|cause| panic!("{name}: {cause}"))
}

/// A fenced block of a page.
struct Block {
    /// The line of its fence, from 1.
    line: usize,
    info: String,
    text: String,
}

/// The fenced blocks of a page, and the page without them, line for line.
fn blocks(page: &str) -> (Vec<Block>, String) {
    let (mut blocks, mut prose) = (Vec::new(), String::new());
    let mut lines = page.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        let ticks = line.len() - line.trim_start_matches('`').len();
        prose.push('\n');
        if ticks < 3 {
            prose.insert_str(prose.len() - 1, line);
            continue;
        }
        let (fence, info) = line.split_at(ticks);
        let mut text = String::new();
        for (_, line) in lines.by_ref().take_while(|(_, line)| *line != fence) {
            text.push_str(line);
            text.push('\n');
        }
        blocks.push(Block {
            line: number + 1,
            info: info.to_owned(),
            text,
        });
    }
    (blocks, prose)
}

/// Texts between single backticks.
fn code_spans(prose: &str) -> impl Iterator<Item = &str> {
    prose
        .lines()
        .flat_map(|line| line.split('`').skip(1).step_by(2))
}

/// A command line without its comment, as words, from the word after `agent` on.
fn arguments(line: &str) -> Option<Vec<&str>> {
    let line = line.trim().trim_start_matches("$ ");
    let line = line.split(" #").next().unwrap_or_default();
    let rest = line.strip_prefix("cargo run --release -- ").or_else(|| {
        let (before, rest) = line.split_once("agent ")?;
        // `Agent__MaxRounds=5 agent new`, but no word that merely ends so.
        before
            .split_whitespace()
            .all(|word| word.contains('='))
            .then_some(rest)
    })?;
    Some(rest.split_whitespace().collect())
}

/// The help of each verb that was asked for.
#[derive(Default)]
struct Helps(BTreeMap<String, String>);

impl Helps {
    #[track_caller]
    fn of(&mut self, verb: &str) -> &str {
        self.0
            .entry(verb.to_owned())
            .or_insert_with(|| Test::new(&["help", verb]).run().code(0).stdout)
    }
}

#[track_caller]
fn check_command(line: &str, page: &str, helps: &mut Helps) -> bool {
    let Some(words) = arguments(line) else {
        return false;
    };
    let is_verb = |word: &&&str| word.bytes().all(|byte| byte.is_ascii_lowercase());
    let Some(verb) = words.first().filter(is_verb) else {
        return false;
    };
    let help = helps.of(verb);
    let mut quoted = false;
    for word in &words[1..] {
        let flag = word.split('=').next().unwrap_or_default();
        if !quoted && flag.starts_with("--") && flag.len() > 2 {
            let known = help
                .split([' ', '\n', ','])
                .any(|word| word == flag.trim_end_matches([',', '.']));
            assert!(known, "{page}: `{line}`: `agent {verb}` has no `{flag}`");
        }
        quoted ^= word.matches('"').count() % 2 == 1;
    }
    true
}

#[test]
fn no_page_has_the_marks_of_an_unfinished_merge() {
    for name in PAGES {
        let text = page(name);
        let mark = text
            .lines()
            .find(|line| line.starts_with("<<<<<<< ") || line.starts_with(">>>>>>> "));
        // The protocol shows them in blocks of SEARCH and REPLACE.
        let is_shown =
            mark.is_none_or(|line| line.ends_with("SEARCH") || line.ends_with("REPLACE"));
        assert!(is_shown, "{name}: {mark:?}");
    }
}

#[test]
fn every_command_that_is_shown_exists() {
    let mut helps = Helps::default();
    let mut checked = 0;
    for name in PAGES.iter().copied() {
        let (blocks, prose) = blocks(&page(name));
        for block in blocks.iter().filter(|block| block.info == "sh") {
            for line in block.text.lines() {
                checked += usize::from(check_command(line, name, &mut helps));
            }
        }
        for span in code_spans(&prose) {
            checked += usize::from(check_command(span, name, &mut helps));
        }
    }
    assert!(checked > 40, "only {checked} commands were found");
}

#[test]
fn every_verb_is_in_the_guide() {
    let help = Test::new(&["help"]).run().code(0).stdout;
    // The commands stand under their purposes, between the examples and the topics.
    let verbs: Vec<&str> = help
        .lines()
        .skip_while(|line| *line != "Work:")
        .take_while(|line| *line != "Topics:")
        .filter(|line| line.starts_with("  "))
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert!(verbs.len() > 25, "{verbs:?}");
    let guide = page("docs/user-guide.md");
    for verb in verbs {
        assert!(
            guide.contains(&format!("`agent {verb}")),
            "the guide does not mention `agent {verb}`"
        );
    }
}

#[test]
fn every_event_is_described() {
    let source = page("crates/agent-protocol/src/event.rs");
    let described = page("docs/events.md");
    // A variant of the enum is indented once and begins with a capital; its event is camelCase.
    let variants = source
        .lines()
        .skip_while(|line| !line.starts_with("pub enum Event"))
        .take_while(|line| *line != "}")
        .filter_map(|line| line.strip_prefix("    "))
        .filter(|line| line.starts_with(|first: char| first.is_ascii_uppercase()))
        // What a reader makes of an event of a later version; it is never told.
        .filter(|line| !line.starts_with("Unknown"));
    let names = variants.map(|line| {
        let name = line.split([' ', ',', '(']).next().unwrap_or_default();
        name[..1].to_ascii_lowercase() + &name[1..]
    });
    let mut count = 0;
    for name in names {
        count += 1;
        assert!(
            described.contains(&format!("| `{name}` |")),
            "docs/events.md does not describe the event `{name}`"
        );
    }
    assert!(count > 10, "only {count} events were found");
}

/// The anchor that code hosts make of a heading.
fn anchor(heading: &str) -> String {
    let kept = heading
        .chars()
        .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

fn has_anchor(path: &Path, wanted: &str) -> bool {
    let text = fs::read_to_string(path).unwrap_or_default();
    let (_, prose) = blocks(&text);
    prose
        .lines()
        .filter(|line| line.starts_with('#'))
        .any(|line| anchor(line.trim_start_matches('#').trim()) == wanted)
}

#[test]
fn every_link_leads_somewhere() {
    for name in PAGES.iter().copied().chain(["CHANGELOG.md"]) {
        let (_, prose) = blocks(&page(name));
        let here = root().join(name);
        for target in prose
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split(')').next())
            .filter(|target| !target.contains("://"))
        {
            let (file, wanted) = target.split_once('#').unwrap_or((target, ""));
            let path: PathBuf = if file.is_empty() {
                here.clone()
            } else {
                here.parent().unwrap().join(file)
            };
            assert!(path.exists(), "{name}: `{target}` leads nowhere");
            assert!(
                wanted.is_empty() || has_anchor(&path, wanted),
                "{name}: `{target}` has no such heading"
            );
        }
    }
}

/// Puts what differs from run to run into one form.
#[cfg(target_os = "linux")]
fn steady(line: &str, base: &str) -> String {
    let line = line.replace(base, "~/project");
    let words = line.split(' ').map(|word| {
        let name = word.trim_start_matches("~/project/outbox/");
        let digits = name.bytes().take_while(u8::is_ascii_hexdigit).count();
        let is_amount = word
            .trim_start_matches(['(', '~'])
            .bytes()
            .all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b','));
        if digits == 8 {
            word.replacen(&name[..8], "<id>", 1)
        } else if is_amount && !word.is_empty() {
            "<n>".to_owned()
        } else {
            word.to_owned()
        }
    });
    words.collect::<Vec<_>>().join(" ")
}

/// The lines that stay on a terminal, without their colours.
#[cfg(target_os = "linux")]
fn terminal_text(raw: &str) -> String {
    let bare = anstream::adapter::strip_str(raw).to_string();
    let kept = |line: &str| {
        let line = line.trim_end_matches('\r');
        line.rsplit('\r').next().unwrap_or_default().to_owned()
    };
    bare.split('\n').map(kept).collect::<Vec<_>>().join("\n")
}

#[cfg(target_os = "linux")]
#[test]
fn the_demo_says_what_the_readme_shows() {
    let readme = page("README.md");
    let (blocks, _) = blocks(&readme);
    let shown = blocks
        .iter()
        .find(|block| block.info == "console" && block.text.starts_with("$ agent demo\n"))
        .expect("the README shows the demo");
    // As a person sees it: at a terminal, which a script of the system makes.
    if !has_script() {
        return;
    }
    let arguments = format!("--version; stty cols 120; '{}' demo", program());
    let mut terminal = Terminal::open(Test::new(&[]), &arguments, &[("LANG", "C.UTF-8")]);
    let mut said = String::new();
    for round in 1..=3 {
        said += &terminal.expect_text(&format!("Round {round}"));
        terminal.type_in(" ");
    }
    let (code, rest) = terminal.close();
    assert_eq!(code, Some(0), "{rest}");
    let said = terminal_text(&(said + &rest));
    let base = said
        .lines()
        .find_map(|line| line.strip_prefix("Workspace: ")?.strip_suffix("/workspace"))
        .expect("the demo names its workspace");
    let mut said = said.lines().map(|line| steady(line, base)).peekable();
    // The version comes before the demo.
    let mut may_skip = true;
    for line in shown.text.lines().skip(1) {
        if line == "..." {
            may_skip = true;
            continue;
        }
        let expected = steady(line, "~/project");
        while may_skip && said.peek().is_some_and(|line| *line != expected) {
            said.next();
        }
        may_skip = false;
        assert_eq!(said.next().as_ref(), Some(&expected), "shown: `{line}`");
    }
}

/// Parses a reply: the number of commands and the last line of `agent parse`.
fn parsed(reply: &str) -> (usize, serde_json::Value) {
    let finished = Test::new(&["parse"]).input(reply).run().code(0);
    let rest = finished.stdout.lines().last().unwrap();
    (
        finished.stdout.lines().count() - 1,
        serde_json::from_str(rest).unwrap(),
    )
}

#[track_caller]
fn check_reply(reply: &str, commands: usize, place: &str) {
    let (count, rest) = parsed(reply);
    assert_eq!(rest["issues"], serde_json::json!([]), "{place}");
    assert_eq!(rest["repairs"], serde_json::json!([]), "{place}");
    assert!(rest["cut"].is_null(), "{place}: {}", rest["cut"]);
    assert_eq!(count, commands, "{place}");
}

#[test]
fn every_example_reply_is_understood_as_the_protocol_says() {
    let text = page("docs/protocol.md");
    let mut examples = 0;
    for block in blocks(&text).0 {
        let Some(words) = block.info.strip_prefix("reply") else {
            continue;
        };
        let place = format!("docs/protocol.md:{}", block.line);
        let commands = words
            .trim()
            .strip_prefix("commands=")
            .and_then(|number| number.parse().ok())
            .unwrap_or_else(|| panic!("{place}: `reply commands=N` is expected"));
        check_reply(&block.text, commands, &place);
        examples += 1;
    }
    assert!(examples >= 10, "only {examples} examples were found");
}

#[test]
fn the_instructions_are_short_and_their_example_is_understood() {
    let text = page("crates/agent-protocol/src/instructions.md");
    let characters = text.trim().chars().count();
    assert!(characters <= MAX_INSTRUCTIONS, "{characters} characters");
    let (blocks, _) = blocks(&text);
    let [example] = &blocks[..] else {
        panic!("the instructions have one example");
    };
    let reply = example.text.replace("{id}#{sequence}", "ab12cd34#1");
    check_reply(&reply, 3, "crates/agent-protocol/src/instructions.md");
    let (_, rest) = parsed(&reply);
    assert_eq!(rest["end"]["session"], "ab12cd34");
}

#[test]
fn every_command_of_the_protocol_is_in_its_table() {
    let protocol = page("docs/protocol.md");
    for name in agent::protocol::CommandKind::WORDS {
        assert!(
            protocol.contains(&format!("`{name}`")),
            "docs/protocol.md does not describe `{name}`"
        );
    }
}

#[test]
fn with_commands_off_nothing_is_run() {
    let reply = "[RUN_COMMAND]\necho ran > proof\n[/RUN_COMMAND]\n{end}\n";
    let finished = Test::new(&["new", "--commands", "off", "--max-rounds", "1", "try"])
        .reply(reply)
        .run()
        .code(3);
    assert!(finished.files("workspace").is_empty());
}

/// Returns true if a test binary has a test of this name, where `*` at its end stands for any rest.
fn has_test(suite: &str, module: &str, name: &str) -> bool {
    let source = page(&format!("tests/{suite}/{module}.rs"));
    let mut tests = source
        .split("#[test]\nfn ")
        .skip(1)
        .filter_map(|rest| rest.split('(').next());
    match name.strip_suffix('*') {
        Some(begin) => tests.any(|test| test.starts_with(begin)),
        None => tests.any(|test| test == name),
    }
}

#[test]
fn every_promise_of_the_security_page_names_a_test_that_exists() {
    let mut named = 0;
    for line in page("docs/security.md").lines() {
        let place = line.find("`attacks: ").or_else(|| line.find("`sandbox: "));
        let Some(place) = place else { continue };
        let (mut suite, mut module) = ("", "");
        for span in code_spans(&line[place..]) {
            let name = match span.split_once(": ") {
                Some((first, rest)) => {
                    suite = first;
                    rest
                }
                // In a table the names of one cell share what stands before the first.
                None if line.starts_with('|') => span,
                None => continue,
            };
            let name = match name.split_once("::") {
                Some((first, rest)) => {
                    module = first;
                    rest
                }
                None => name,
            };
            assert!(has_test(suite, module, name), "`{span}` of {line}");
            named += 1;
        }
    }
    assert!(named > 30, "{named}");
}

#[test]
fn the_picture_of_the_loop_needs_nothing_from_elsewhere() {
    let picture = page("docs/loop.svg");
    assert!(picture.contains("prefers-color-scheme: dark"));
    assert!(picture.contains("<title") && picture.contains("<desc"));
    let own = picture.replace("xmlns=\"http://www.w3.org/2000/svg\"", "");
    for foreign in [
        "http",
        "href",
        "<script",
        "<image",
        "<foreignObject",
        "@import",
        "data:",
    ] {
        assert!(!own.contains(foreign), "{foreign}");
    }
    // A class without a colour for the dark would keep that for the light.
    for class in own
        .split("class=\"")
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
    {
        assert!(own.contains(&format!(".{class} {{")), "{class}");
    }
}

#[test]
fn every_page_about_a_chat_is_linked_from_the_readme_and_the_guide() {
    let (readme, guide) = (page("README.md"), page("docs/user-guide.md"));
    for name in PAGES.iter().filter(|name| name.contains("/chats/")) {
        assert!(readme.contains(&format!("({name})")), "README.md: {name}");
        let from_guide = name.trim_start_matches("docs/");
        assert!(
            guide.contains(&format!("({from_guide})")),
            "the guide: {name}"
        );
    }
}

/// Sentences that people stumbled over; each has a plain one in its place.
const STUMBLED_OVER: &[&str] = &[
    "will tell it to the model",
    "sent to the terminal's clipboard by OSC 52",
    "Putting round",
    "is there again",
    "nothing to put again",
    "puts that again",
    "is taken back;",
    "it is used so",
    "Not finished either",
    "Shall the model",
    "nobody has said where to work",
    "of what most chats take",
    "for want of room",
    "the person decides about everything",
    "none of the answers",
    "No rule can be made of this",
    "looks as if it missed the network",
    "at the user's word",
    "was never used in",
    "mend it",
    "came after the end, so",
    "reply lies in",
    "prompt of the loop",
    "No loop is running",
    "what their verbs take",
    "the line is no command",
    "In the way; a copy",
    "A rehearsal:",
    "Say only what needs you",
    "Ask nobody:",
    "Carry and decide",
    "Look, and take back",
    "Look and take back",
    "Go another way",
    "send it so",
    "What was sent",
];

#[test]
fn no_sentence_that_people_stumbled_over_is_printed_or_documented() {
    let mut files: Vec<PathBuf> = PAGES.iter().map(|page| root().join(page)).collect();
    files.push(root().join("docs/web.md"));
    let mut folders = vec![root().join("src"), root().join("crates")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let has_words = |ending: &std::ffi::OsStr| {
                ["rs", "js", "html", "md"]
                    .iter()
                    .any(|known| ending == *known)
            };
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(has_words) {
                files.push(path);
            }
        }
    }
    assert!(files.len() > 300, "{}", files.len());
    for path in files {
        let text = fs::read_to_string(&path).unwrap();
        let printed = text
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"));
        for line in printed {
            for words in STUMBLED_OVER {
                assert!(!line.contains(words), "{}: {line}", path.display());
            }
        }
    }
}
