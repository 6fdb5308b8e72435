//! What the file systems of operating systems do differently.

use std::fs::OpenOptions;

pub mod files;
pub mod programs;

/// Makes a file that is created private to its owner, where the system knows such a thing.
pub fn private(options: &mut OpenOptions) {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    #[cfg(not(unix))]
    let _ = options;
}

/// The same for a file of our own, which is not opened through a link: a project may bring one along
/// that leads to a file of the person's.
pub fn ours(options: &mut OpenOptions) {
    private(options);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(
        options,
        rustix::fs::OFlags::NOFOLLOW.bits().cast_signed(),
    );
}

/// Makes a directory that only its owner can look into, where the system knows such a thing.
pub fn create_private(directory: &std::path::Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(directory)
}

/// Makes a temporary directory that only its owner can enter, where the system knows such a thing.
///
/// Every temporary directory of ours is made here: by itself the crate leaves the mode to the umask,
/// and what lies in it (a draft, a copy of the workspace's files) is readable for everybody.
pub fn temporary_directory(prefix: &str) -> std::io::Result<tempfile::TempDir> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(prefix);
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
    builder.tempdir()
}

/// Makes a directory private to its owner, where the system knows such a thing.
pub fn make_private(directory: &std::path::Path) -> std::io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let private = std::fs::Permissions::from_mode(0o700);
        if std::fs::metadata(directory)?.permissions().mode() & 0o777 != 0o700 {
            std::fs::set_permissions(directory, private)?;
        }
    }
    #[cfg(not(unix))]
    let _ = directory;
    Ok(())
}

/// Makes a regular file private to its owner, where the system knows such a thing.
pub fn make_file_private(file: &std::path::Path) -> std::io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let found = std::fs::symlink_metadata(file)?;
        if found.is_file() && found.permissions().mode() & 0o777 != 0o600 {
            std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o600))?;
        }
    }
    #[cfg(not(unix))]
    let _ = file;
    Ok(())
}

/// How many bytes this person can still write beneath a directory, where the system tells.
pub fn free_bytes(directory: &std::path::Path) -> Option<u64> {
    #[cfg(unix)]
    {
        let told = rustix::fs::statvfs(directory).ok()?;
        Some(told.f_bavail.saturating_mul(told.f_frsize))
    }
    #[cfg(not(unix))]
    {
        let _ = directory;
        None
    }
}
