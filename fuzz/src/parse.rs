//! Any bytes are a reply: decoding, repairing and all dialects.

use agent_reply::Reply;

/// Bytes as they come from a file.
pub fn check(bytes: &[u8]) {
    let (text, _) = agent_reply::decode(bytes);
    let first = check_text(&text);
    assert_eq!(first, agent_reply::parse(&text), "the same text, read twice");
}

/// A text, with all that holds of any reply.
pub fn check_text(text: &str) -> Reply {
    let reply = agent_reply::parse(text);
    // A text without other line ends may have those of Unicode.
    let line_ends = ['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}'];
    let lines = u32::try_from(text.split(line_ends).count()).expect("inputs are small");
    let mut last = 0;
    for step in &reply.steps {
        assert!(step.number > last, "step {} after {last}", step.number);
        assert!(
            (1..=lines).contains(&step.line),
            "line {} of {lines}",
            step.line
        );
        last = step.number;
    }
    for issue in &reply.issues {
        assert!(
            (1..=lines).contains(&issue.line),
            "line {} of {lines}",
            issue.line
        );
        assert!(!issue.message.is_empty());
        let taken = reply
            .steps
            .iter()
            .any(|step| Some(step.number) == issue.number);
        assert!(
            !taken,
            "the number {:?} stands for two commands",
            issue.number
        );
    }
    if let Some(cut) = &reply.cut {
        assert!(
            (1..=lines).contains(&cut.line),
            "cut in line {} of {lines}",
            cut.line
        );
    }
    // The tail is enough to find the mark: the mailbox relies on it.
    let _ = agent_reply::end_mark(text);
    reply
}
