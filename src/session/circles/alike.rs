//! Decides when two failures are the same: when they print the same, transient words aside.
//!
//! Transient words are durations, times of day, dates, seconds since 1970, addresses in memory,
//! ports of an address, seeds, the numbers of processes and threads, and the names of temporary
//! files. Counts stay: a model that brings twelve failed tests down to seven makes progress.

/// The units in which programs print how long something took.
const UNITS: [&str; 18] = [
    "ns", "us", "µs", "μs", "ms", "s", "sec", "secs", "second", "seconds", "m", "min", "mins",
    "minute", "minutes", "h", "hour", "hours",
];

/// Words before a number that is random, or given to a process or a thread.
const NUMBERED: [&str; 6] = [
    "pid",
    "process",
    "thread",
    "seed",
    "random_seed",
    "random-seed",
];

/// Where temporary files lie, as pieces of text have it.
const TEMPORARY: [&str; 5] = [
    "tmp/",
    "var/tmp/",
    "var/folders/",
    "private/tmp/",
    "private/var/folders/",
];

/// From how many digits on a number is none that anybody counts.
const LONGEST_COUNT: usize = 10;

/// A hash that is equal for texts that differ only in transient words, white space and punctuation.
pub(super) fn identity(texts: [&str; 4]) -> String {
    let mut hasher = blake3::Hasher::new();
    for text in texts {
        let mut before = ["", ""];
        let mut pieces = pieces(text).peekable();
        while let Some(piece) = pieces.next() {
            let next = pieces.peek().copied().unwrap_or_default();
            if !passes(piece, before, next) {
                hasher.update(lasting(piece).as_bytes());
                hasher.update(b" ");
            }
            before = [before[1], piece];
        }
        hasher.update(b"\n");
    }
    hasher.finalize().to_hex()[..16].to_owned()
}

/// A hash that is equal for texts that differ in any numbers, such as that of the line.
pub(super) fn identity_without_numbers(texts: [&str; 4]) -> String {
    let letters = |text: &str| -> String { text.chars().filter(|c| !c.is_numeric()).collect() };
    let texts = texts.map(letters);
    identity(texts.each_ref().map(String::as_str))
}

/// The words of a text, without what encloses and separates them.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let is_joint = |c: char| matches!(c, '.' | ':' | '-' | '_' | '/');
    text.split(move |c: char| !c.is_alphanumeric() && !is_joint(c))
        .map(move |piece| piece.trim_matches(is_joint))
        .filter(|piece| !piece.is_empty())
}

/// Reduces the path of a temporary file to its name, or to nothing if the name is temporary too.
fn lasting(piece: &str) -> &str {
    let is_temporary = TEMPORARY.iter().any(|start| piece.starts_with(start));
    let name = piece.rsplit_once('/').map_or(piece, |(_, name)| name);
    match name {
        _ if !is_temporary => piece,
        name if name.contains('.') && !name.starts_with("tmp") => name,
        _ => "",
    }
}

/// Returns true if a piece is transient, judged by the two before it and the one after.
fn passes(piece: &str, before: [&str; 2], next: &str) -> bool {
    if !piece.starts_with(|c: char| c.is_ascii_digit()) {
        // The unit of a number.
        return UNITS.contains(&piece) && is_number(before[1]);
    }
    let is_own = |word: &str| NUMBERED.iter().any(|own| word.eq_ignore_ascii_case(own));
    let is_of_process = is_own(before[1]) || before[0].eq_ignore_ascii_case("thread");
    let is_measure = UNITS.contains(&next) && !matches!(next, "m" | "h");
    let is_long = piece.find('.').unwrap_or(piece.len()) >= LONGEST_COUNT;
    (is_number(piece) && (is_measure || is_of_process || is_long))
        || is_duration(piece)
        || is_moment(piece)
        || is_address(piece)
}

fn is_number(piece: &str) -> bool {
    let (whole, fraction) = piece.split_once('.').unwrap_or((piece, "0"));
    is_digits(whole) && is_digits(fraction)
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// `1.23s`, `0m0.004s`.
fn is_duration(piece: &str) -> bool {
    let mut rest = piece;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.');
        let Some((number, after)) = digits.map(|end| rest.split_at(end)) else {
            return false;
        };
        let end = after.find(|c: char| c.is_ascii_digit());
        let (unit, after) = after.split_at(end.unwrap_or(after.len()));
        if !is_number(number) || !UNITS.contains(&unit) {
            return false;
        }
        rest = after;
    }
    true
}

/// `12:34:56`, `2026-11-15`, `2026-11-15T12:34:56.789Z`; not `12:34`, which is a place too.
fn is_moment(piece: &str) -> bool {
    let has = |text: &str, mark: char, lengths: [usize; 3]| {
        let parts: Vec<&str> = text.splitn(4, mark).collect();
        parts.len() == 3
            && (parts.iter().zip(lengths))
                .all(|(part, length)| is_digits(part) && part.len() == length)
    };
    let is_date = |text: &str| has(text, '-', [4, 2, 2]);
    let is_time = |text: &str| {
        let end = text.find(['.', 'Z', '+']).unwrap_or(text.len());
        has(&text[..end], ':', [2, 2, 2])
    };
    match piece.split_once('T') {
        Some((date, time)) => is_date(date) && is_time(time),
        None => is_date(piece) || is_time(piece),
    }
}

/// `0x7ffd0a12`, `127.0.0.1:43512`.
fn is_address(piece: &str) -> bool {
    if let Some(hex) = piece.strip_prefix("0x") {
        return !hex.is_empty() && hex.bytes().all(|byte| byte.is_ascii_hexdigit());
    }
    let Some((host, port)) = piece.split_once(':') else {
        return false;
    };
    is_digits(port) && host.splitn(5, '.').filter(|part| is_digits(part)).count() == 4
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn same(one: &str, other: &str, expected: bool) {
        let of = |text| identity([text, "", "", ""]);
        assert_eq!(of(one) == of(other), expected, "{one} | {other}");
    }

    #[test]
    fn what_passes_makes_no_difference() {
        for (one, other) in [
            ("exit code 2 in 1.2 s", "exit code 2 in 40 ms"),
            ("3 failed in 0.12s", "3 failed in 13.5s"),
            ("real\t0m0.003s", "real\t1m2.5s"),
            ("took 3 seconds.", "took 14 seconds."),
            ("[12:34:56.789] boom", "[23:00:01.000] boom"),
            ("2026-11-15T12:34:56Z no", "2026-11-16T01:02:03Z no"),
            ("<A object at 0x7f12ab>", "<A object at 0x55ee01>"),
            ("connect 127.0.0.1:4000", "connect 127.0.0.1:51234"),
            ("killed (pid 4012)", "killed (pid 777)"),
            (
                "thread 'main' (4012) panicked",
                "thread 'main' (17) panicked",
            ),
            ("seed: 4711", "seed: 12"),
            ("--random-seed=4711", "--random-seed=12"),
            ("at 1763200000 no", "at 1763200123 no"),
            ("at 1763200000.25 no", "at 1763200123.5 no"),
            (
                "/tmp/pytest-of-me/pytest-12/test_a0/out.txt missing",
                "/tmp/pytest-of-me/pytest-13/test_a0/out.txt missing",
            ),
            ("in /tmp/tmpab12cd", "in /tmp/tmpzz99"),
            (
                "open '/private/var/folders/x1/T/a.db'",
                "open '/private/var/folders/y2/T/a.db'",
            ),
            ("a  b\n", "a b"),
        ] {
            same(one, other, true);
        }
    }

    #[test]
    fn counts_and_places_make_one() {
        for (one, other) in [
            ("12 of 20 tests failed", "7 of 20 tests failed"),
            ("exit code 1", "exit code 2"),
            ("a.py:3: no", "a.py:9: no"),
            ("  12:34  error", "  12:35  error"),
            ("expected 1.5", "expected 2.5"),
            ("version 1.2.3", "version 1.2.4"),
            ("no", "no no"),
            ("/tmp/x1/a.txt missing", "/tmp/x1/b.txt missing"),
            ("src/tmp/x1 missing", "src/tmp/x2 missing"),
            ("123456789 rows", "123456780 rows"),
        ] {
            same(one, other, false);
        }
    }

    #[test]
    fn what_comes_late_in_a_long_text_counts() {
        let long = "fine\n".repeat(5_000);
        same(
            &format!("{long}12 failed"),
            &format!("{long}7 failed"),
            false,
        );
    }

    #[test]
    fn nothing_is_too_odd() {
        for text in [
            "",
            "1",
            ".",
            "1.",
            "1s1",
            "0x",
            "::",
            "1:2:3:4:5",
            "T",
            "1T",
            "١٢",
            "12:3é:56",
        ] {
            same(text, text, true);
            identity_without_numbers([text; 4]);
        }
    }
}
