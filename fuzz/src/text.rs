//! Whatever the bytes of a file are, what counts as text is written back byte for byte.

use agent_files::workspace::text::TextFile;

pub fn check(bytes: &[u8]) {
    let Ok(file) = TextFile::decode(bytes.to_vec()) else {
        return;
    };
    let (view, _) = TextFile::view(bytes).expect("both read the same");
    assert_eq!(view, file.text);
    assert_eq!(file.encode().expect("it was stored so"), bytes);
}
