//! Hunks on texts of a small vocabulary; and differences between two texts, which must apply.

use agent_protocol::{Command, FileChange, Hunk, HunkLine, Level};
use similar::TextDiff;

use crate::unchanged::assert_unchanged_elsewhere;
use crate::words::{self, Kind};

/// The first byte chooses between hunks of any kind and a round trip.
pub fn check(mut bytes: &[u8]) {
    match words::byte(&mut bytes) % 3 {
        0 => any_hunks(bytes),
        1 => round_trip(bytes),
        _ => round_trip_as_text(bytes),
    }
}

fn any_hunks(mut bytes: &[u8]) {
    let text = words::text(words::take(&mut bytes, 24), Kind::Any);
    let mut hunks = Vec::new();
    while !bytes.is_empty() && hunks.len() < 4 {
        hunks.push(hunk(&mut bytes));
    }
    if let Ok(edited) = agent_edit::patch(&text, &hunks) {
        assert_unchanged_elsewhere(&text, &edited);
        if edited.level == Level::AlreadyApplied {
            assert_eq!(edited.text, text);
        }
    }
    let _ = agent_edit::check_patch_old(&text, &hunks);
}

fn hunk(bytes: &mut &[u8]) -> Hunk {
    let flags = words::byte(bytes);
    let lines = words::take(bytes, 8).chunks_exact(2).map(|pair| {
        let line = words::text(&pair[..1], Kind::Any).replace(['\n', '\r'], "");
        match pair[1] % 4 {
            0 => HunkLine::Add(line),
            1 => HunkLine::Remove(line),
            _ => HunkLine::Keep(line),
        }
    });
    let lines = lines.collect();
    let anchors = words::text(words::take(bytes, 2), Kind::Plain);
    Hunk {
        old_start: (flags & 1 != 0).then_some(u32::from(flags >> 3)),
        anchors: anchors.lines().map(str::to_owned).collect(),
        lines,
        at_end: flags & 2 != 0,
        old_without_newline: flags & 4 != 0,
        new_without_newline: flags & 8 != 0,
        unquoted: 0,
    }
}

/// Two texts that share lines, and how much context their difference has.
fn two_texts(mut bytes: &[u8]) -> (String, String, usize) {
    let radius = usize::from(words::byte(&mut bytes) % 4);
    let old = words::take(&mut bytes, 24);
    let mut new = old.to_vec();
    while let [position, action, line, rest @ ..] = bytes {
        bytes = rest;
        let position = usize::from(*position) % (new.len() + 1);
        match action % 3 {
            0 => new.insert(position, *line),
            1 if position < new.len() => drop(new.remove(position)),
            _ if position < new.len() => new[position] = *line,
            _ => {}
        }
    }
    (
        words::text(old, Kind::Plain),
        words::text(&new, Kind::Plain),
        radius,
    )
}

/// Hunks with true numbers and at least one line of context give the new text.
fn round_trip(bytes: &[u8]) {
    let (old, new, radius) = two_texts(bytes);
    if old == new {
        return;
    }
    let diff = TextDiff::from_lines(&old, &new);
    let hunks: Vec<Hunk> = diff
        .grouped_ops(radius.max(1))
        .iter()
        .map(|group| hunk_of(&diff, group))
        .collect();
    let edited = agent_edit::patch(&old, &hunks)
        .unwrap_or_else(|refusal| panic!("{refusal:?}\n{old:?}\n{new:?}\n{hunks:?}"));
    assert_eq!(edited.text, new, "{old:?} {hunks:?}");
    assert_eq!(edited.level, Level::Exact, "{old:?} {hunks:?}");
    assert_unchanged_elsewhere(&old, &edited);
}

fn hunk_of(diff: &TextDiff<'_, '_, str>, group: &[similar::DiffOp]) -> Hunk {
    let mut hunk = Hunk::default();
    let start = group.first().map_or(0, |op| op.old_range().start);
    hunk.old_start = u32::try_from(start + 1).ok();
    for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
        let line = change.value().trim_end_matches('\n').to_owned();
        let is_open = change.missing_newline();
        hunk.lines.push(match change.tag() {
            similar::ChangeTag::Equal => {
                hunk.old_without_newline |= is_open;
                hunk.new_without_newline |= is_open;
                HunkLine::Keep(line)
            }
            similar::ChangeTag::Delete => {
                hunk.old_without_newline |= is_open;
                HunkLine::Remove(line)
            }
            similar::ChangeTag::Insert => {
                hunk.new_without_newline |= is_open;
                HunkLine::Add(line)
            }
        });
    }
    // An old side without lines stands below the line that it names.
    if hunk.lines.iter().all(|line| line.before().is_none()) {
        hunk.old_start = u32::try_from(start).ok();
    }
    hunk
}

/// Checks the round trip through the text of a diff, as a reply carries it.
fn round_trip_as_text(bytes: &[u8]) {
    let (old, new, radius) = two_texts(bytes);
    if old == new {
        return;
    }
    let diff = TextDiff::from_lines(&old, &new);
    let text = diff
        .unified_diff()
        .context_radius(radius)
        .header("a/f.rs", "b/f.rs")
        .to_string();
    let reply = agent_reply::parse(&format!(
        "Here it is.\n\n``````diff\n{text}``````\n\nThat is all.\n"
    ));
    let [step] = &reply.steps[..] else {
        panic!("not one step: {reply:?}\n{text}");
    };
    let Command::ApplyPatch { changes } = &step.command else {
        panic!("not a patch: {step:?}\n{text}");
    };
    match &changes[..] {
        [FileChange::Update { hunks, .. }] => {
            let edited = agent_edit::patch(&old, hunks)
                .unwrap_or_else(|refusal| panic!("{refusal:?}\n{old:?}\n{new:?}\n{text}"));
            assert_eq!(edited.text, new, "{old:?}\n{text}");
        }
        [FileChange::Add { content, .. }] => assert_eq!(*content, new, "{text}"),
        other => panic!("not one change: {other:?}\n{text}"),
    }
}
