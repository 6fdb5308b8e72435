//! File system features that differ between operating systems.

use std::fs::OpenOptions;

pub mod files;
pub mod programs;

/// Makes files created with these options private to their owner, on systems with permission bits.
pub fn private(options: &mut OpenOptions) {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    #[cfg(not(unix))]
    let _ = options;
}

/// Options for one of our own files: private, and not opened through a symbolic link. A project
/// could ship a link to one of the person's files in its place.
pub fn ours(options: &mut OpenOptions) {
    private(options);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(
        options,
        // A pipe in the place of a file must not hold anybody up.
        (rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK)
            .bits()
            .cast_signed(),
    );
}

/// Returns true if this is a regular file of this user, as far as the system tells owners apart.
pub fn is_own_file(path: &std::path::Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|found| {
        #[cfg(unix)]
        let is_own =
            std::os::unix::fs::MetadataExt::uid(&found) == rustix::process::geteuid().as_raw();
        #[cfg(not(unix))]
        let is_own = true;
        found.is_file() && is_own
    })
}

/// Creates a directory that only its owner can read, on systems with permission bits.
pub fn create_private(directory: &std::path::Path) -> std::io::Result<()> {
    #[cfg(unix)]
    {
        let mut builder = std::fs::DirBuilder::new();
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(directory)
    }
    #[cfg(not(unix))]
    std::fs::create_dir(directory)
}

/// Creates a temporary directory that only its owner can enter, on systems with permission bits.
///
/// All our temporary directories are created here: tempfile leaves the mode to the umask, and
/// drafts or copies of workspace files would be readable by everybody.
pub fn temporary_directory(prefix: &str) -> std::io::Result<tempfile::TempDir> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(prefix);
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
    builder.tempdir()
}

/// Makes a directory private to its owner, on systems with permission bits.
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

/// Makes a regular file private to its owner, on systems with permission bits.
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

/// Free space for this user on the file system of the directory, in bytes, if known.
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
