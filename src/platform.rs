//! What differs between operating systems, in one place.

use std::fs::OpenOptions;

/// Makes a file that is created private to its owner, where the system knows such a thing.
pub fn private(options: &mut OpenOptions) {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    #[cfg(not(unix))]
    let _ = options;
}
