//! The identity of contents: what the model saw, what a step changed.

/// The identity of a content.
pub fn hash(content: &[u8]) -> String {
    blake3::hash(content).to_hex().to_string()
}
