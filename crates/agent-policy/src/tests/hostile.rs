//! Texts made to break the reader, and properties that hold for all.

use proptest::prelude::*;

use super::written::allowing;
use super::*;

/// Repeated until the script is as long as one may be.
#[rustfmt::skip]
const PIECES: &[&str] = &[
    "(", "$(", "${", "\"$(", "`", "env ", "rm -r ", "x rm ", "(){", "{a,b}", "bash -c \"", "$x$x",
    "find -exec ", "<<a\n", "x=$x$x;", "*/", "cd a;", "${x:-", "${x:-\"", "git add;", "'", "\\",
    ")", "a(){a", "<(", ">(", "eval ", "sh<<<x ", "alias a=", "&", "|", "xargs ", "echo a|", "/..",
    "-exec find ", "a&&", "((", "[[ (a && ", "a=(", "a[", "${x#", "$[", "b) a;;", "(a)|", "<<'a' ",
    "f(){ ", "! ", "if a;then ", "a <<E\nE\n", "a >b c ", "{\u{20000}", "rd /s ", "cmd /c ",
    "iex ", "git init a;git add;", "rm a;", "ls>a;", "a=b ", "-----",
];

/// The time that this thread was on a processor, which does not depend on what else the machine does;
/// nothing where the system does not tell it.
fn time_used() -> std::time::Duration {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = told
        .split(' ')
        .next()
        .and_then(|number| number.parse().ok());
    std::time::Duration::from_nanos(nanoseconds.unwrap_or_default())
}

#[test]
fn hostile_scripts_are_judged_quickly() {
    let begun = time_used();
    let fill = |piece: &str| piece.repeat(MAX_BYTES / piece.len());
    for piece in PIECES {
        let script = fill(piece);
        policy().rule_on(&run(&script));
    }
    let nested = (0..12).fold("x=rm".to_owned(), |script, number| {
        format!("{script};a{number}=$x$x$x$x$x$x$x$x;x=$a{number}")
    });
    // What `xargs` inserts is inserted again and again.
    for script in [
        format!("echo {{}}{{}} | {}x {{}}", "xargs -I{} ".repeat(2000)),
        format!(
            "echo {} | xargs -I{{}} x {}",
            fill("a")[..16000].to_owned(),
            "{}".repeat(8000)
        ),
        format!(
            "echo {} | xargs -I{{}} x {}",
            "a".repeat(250),
            "{}".repeat(16000)
        ),
    ] {
        policy().rule_on(&run(&script));
    }
    // Whatever an allow rule may be about.
    let mut allowed = allowing(&["ls", "a", "git init"]);
    allowed.places = allowed.places.with_links(|path| Some(path.to_owned()));
    for script in [
        fill("ls;"),
        fill("ls a "),
        fill("ls -a;"),
        format!("ls -{}", "a".repeat(32_000)),
        format!("{}{}", "cd a;".repeat(64), "ls a;".repeat(6000)),
        format!("{}ls {}", "cd a;".repeat(9), "a ".repeat(16_000)),
        format!("ls {}", "=".repeat(32_000)),
        fill("git init a;"),
        fill("a git init a;"),
    ] {
        allowed.rule_on(&run(&script));
        allowed.propose(&script);
    }
    case(&policy(), &nested, Decision::Allow);
    case(&policy(), &format!("{nested};$x"), Decision::Ask);
    let used = time_used().saturating_sub(begun);
    assert!(used.as_secs() < 60, "{used:?}");
}

/// Every piece alone and every two together, repeated up to the longest script: `cargo test -p
/// agent-policy --release -- --ignored --nocapture`.
///
/// Twice the script may take three times as long, counted in ticks of the processor's clock. Prints
/// the slowest.
#[test]
#[ignore = "measures an optimised build for a minute"]
fn no_hostile_script_takes_more_than_its_length() {
    const TICK: std::time::Duration = std::time::Duration::from_millis(4);
    let policy = policy();
    let time_to_judge = |script: &str| {
        let begun = time_used();
        policy.rule_on(&run(script));
        time_used().saturating_sub(begun)
    };
    let mut slow = Vec::new();
    let mut slowest = std::time::Duration::ZERO;
    for (one, other) in PIECES
        .iter()
        .flat_map(|one| PIECES.iter().map(move |other| (one, other)))
    {
        let piece = [*one, if one == other { "" } else { other }].concat();
        let script = |length: usize| piece.repeat(length / piece.len());
        let (half, whole) = (script(MAX_BYTES / 2), script(MAX_BYTES));
        // One time may have been slow for another reason.
        let best = |script: &str| (0..5).map(|_| time_to_judge(script)).min();
        let (half, whole) = (best(&half).unwrap(), best(&whole).unwrap());
        if whole > slowest {
            slowest = whole;
            println!("{whole:?} {piece:?}");
        }
        if whole > (half + TICK) * 3 {
            slow.push((piece, half, whole));
        }
    }
    assert!(slow.is_empty(), "{slow:?}");
}

/// A budget for hostile scripts must leave room for those that people and models write.
#[test]
fn long_scripts_are_read() {
    let source = "    assert_eq!(first(), second()); // it's `fine`\n".repeat(500);
    case(
        &policy(),
        &format!("mkdir -p src\ncat > src/a.rs <<'EOF'\n{source}EOF\ncargo test"),
        Decision::Allow,
    );
    let line = "if [ -f \"$x\" ]; then\n  sed 's/a/b/' \"$x\" > y || exit 1\nfi\n";
    case(&policy(), &line.repeat(100), Decision::Allow);
    case(
        &policy(),
        &format!("{}sudo ls", line.repeat(100)),
        Decision::Deny,
    );
    case(&policy(), &line.repeat(500), Decision::Ask);
    // Each is a script of its own.
    case(&policy(), &"eval ls\n".repeat(60), Decision::Allow);
    case(&policy(), &"eval ls\n".repeat(600), Decision::Ask);
}

/// The scanner of the grammar reads beyond a table after a brace and such a character.
#[test]
fn no_character_crashes_the_grammar() {
    for number in (0x80..0x11_0000).step_by(97) {
        let Some(character) = char::from_u32(number) else {
            continue;
        };
        policy().rule_on(&run(&format!("echo {{{character} {{1..{character}")));
    }
}

proptest! {
    #[test]
    fn nothing_panics(script in "\\PC{0,60}") {
        let _ = read_script(&script);
        policy().rule_on(&run(&script));
        let _ = policy().propose(&script);
    }

    #[test]
    fn nothing_panics_on_shell_characters(
        script in "[a-c '\"\\\\$(){}<>|&;`*~#=/\n\t!\\[\\].:-]{0,60}"
    ) {
        let _ = read_script(&script);
        for policy in [policy(), strict(), allowing(&["a", "b c"])] {
            let ruling = policy.rule_on(&run(&script));
            prop_assert_eq!(ruling.decision, policy.explain(&script)[0].decision);
        }
        prop_assert!(strict().rule_on(&run(&script)).decision >= policy().rule_on(&run(&script)).decision);
    }

    #[test]
    fn a_rule_always_reads_back(words in prop::collection::vec("[a-c '\"$\\\\*!=#\n-]{0,6}", 1..4)) {
        let script = words.join(" ");
        if let Ok(rule) = Rule::parse(&script) {
            prop_assert_eq!(Rule::parse(&rule.text()), Ok(rule));
        }
    }
}
