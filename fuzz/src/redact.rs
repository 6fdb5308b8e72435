//! Whatever a text is, redaction does not panic, keeps its lines, and leads back.

use agent_redact::{Scanner, TextSource, Vault};

/// The first byte chooses where the text comes from.
pub fn check(bytes: &[u8]) {
    let Some((first, rest)) = bytes.split_first() else {
        return;
    };
    let text = String::from_utf8_lossy(rest);
    let source = match first % 8 {
        0 => TextSource::File("a/.env"),
        1 => TextSource::File(".netrc"),
        2 => TextSource::File(".pgpass"),
        3 => TextSource::File("a.yml"),
        4 => TextSource::File("tests/a.rs"),
        5 => TextSource::File(".htpasswd"),
        _ => TextSource::Text,
    };
    let (scanner, mut vault) = (Scanner::default(), Vault::default());
    let redacted = vault.redact(&scanner, &text, source).text;
    assert_eq!(redacted.lines().count(), text.lines().count());
    // Half a placeholder in the text can become a whole one; then there is no way back.
    if !text.contains("[SECRET-") {
        let revealed = vault.reveal(&redacted, &mut |_, _| true, &str::to_owned);
        let revealed = revealed.expect("every placeholder may be used");
        assert_eq!(revealed.as_deref().unwrap_or(&redacted), text);
    }
    for number in 1..=vault.secrets().len() {
        vault.answer(number, true);
    }
    let restored = vault.restore_sent(&redacted);
    assert!(restored.is_none_or(|restored| restored.lines().count() == text.lines().count()));
}
