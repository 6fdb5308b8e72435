//! Taking replies out of the inbox: into `processed/` before anything of them is executed, into
//! `rejected/` if nothing will be.
//!
//! A reply that is claimed is the one that was read: if it changed in between, it goes back and
//! nothing was claimed. Names never replace each other.

use std::fs;
use std::path::{Path, PathBuf};

use super::name::{self, NameKind};
use super::read::{self, Reading};
use super::settle::Stat;
use super::{Candidate, Mailbox, round_prefix};
use crate::error::{Error, Result};
use crate::fs::{Durability, sync_directory, take_aside, write_atomic};
use crate::protocol::SessionId;

/// How long the name of a reply may be in an archive, in bytes, so that a prefix fits before it.
const MAX_NAME: usize = 200;

impl Mailbox {
    /// Reads a reply that arrived, if it is still the same.
    pub fn read(&self, candidate: &Candidate) -> Result<Reading> {
        read::candidate(candidate)
    }

    /// Moves a reply out of the inbox, before anything of it is executed, and makes that last.
    ///
    /// Nothing if it vanished, changed since it arrived, or another process was faster.
    pub fn claim(
        &self,
        candidate: &Candidate,
        id: &SessionId,
        sequence: u32,
    ) -> Result<Option<PathBuf>> {
        let directory = self.processed();
        let name = archive_name(candidate);
        let name = format!("{}_{name}", round_prefix(id, sequence));
        if candidate.path.is_symlink() {
            return claim_copy(candidate, &directory, &name);
        }
        let claimed = match take_aside(&candidate.path, &directory, &name) {
            Err(error) if is_other_file_system(&error) => {
                return claim_copy(candidate, &directory, &name);
            }
            moved => moved?,
        };
        let Some(claimed) = claimed else {
            return Ok(None);
        };
        if is_same(&claimed, &candidate.stat) {
            keep_private(&claimed)?;
            sync_directory(&directory).map_err(|cause| Error::file("sync", &directory, cause))?;
            return Ok(Some(claimed));
        }
        take_aside(&claimed, &self.inbox, &candidate.name)?;
        Ok(None)
    }

    /// Moves a reply out of the inbox that will not be used, with the reason beside it.
    ///
    /// Nothing if it vanished. Where `rejected/` is on another file system, a file that is no reply
    /// at all, because it is too large or no text, stays where it is.
    pub fn reject(&self, candidate: &Candidate, why: &str) -> Result<Option<PathBuf>> {
        let (name, directory) = (archive_name(candidate), self.rejected());
        let rejected = match take_aside(&candidate.path, &directory, &name) {
            Err(error) if is_other_file_system(&error) => {
                let copied = claim_copy(candidate, &directory, &name)?;
                copied.or_else(|| {
                    is_same(&candidate.path, &candidate.stat).then(|| candidate.path.clone())
                })
            }
            moved => moved?,
        };
        let Some(rejected) = rejected else {
            return Ok(None);
        };
        if rejected == candidate.path {
            return Ok(Some(rejected));
        }
        keep_private(&rejected)?;
        let mut reason = rejected.clone().into_os_string();
        reason.push(".why");
        let text = format!("{}\n", why.trim_end());
        write_atomic(Path::new(&reason), text.as_bytes(), Durability::Atomic)?;
        Ok(Some(rejected))
    }

    /// The reply that was claimed for this round already, if the program ended before using it.
    ///
    /// Of several, the one that was written last.
    pub fn claimed(&self, id: &SessionId, sequence: u32) -> Option<PathBuf> {
        let prefix = format!("{}_", round_prefix(id, sequence));
        fs::read_dir(self.processed())
            .ok()?
            .filter_map(std::result::Result::ok)
            .filter(|entry| entry.file_name().to_string_lossy().starts_with(&prefix))
            .filter_map(|entry| {
                let modified = entry.metadata().ok()?.modified().ok()?;
                Some((modified, entry.path()))
            })
            .max()
            .map(|(_, path)| path)
    }
}

/// Claims a copy of what cannot be moved: a link, which may be relative and would lead elsewhere from
/// another directory, and a file on another file system than the archive.
fn claim_copy(candidate: &Candidate, directory: &Path, name: &str) -> Result<Option<PathBuf>> {
    let Reading::Text(content) = read::candidate(candidate)? else {
        return Ok(None);
    };
    let copy = crate::fs::free_name(directory, name);
    write_atomic(&copy, &content, Durability::Durable)?;
    match fs::remove_file(&candidate.path) {
        Ok(()) => Ok(Some(copy)),
        Err(cause) => {
            // Without its copy nothing was claimed.
            fs::remove_file(&copy).map_err(|cause| Error::file("remove", &copy, cause))?;
            match cause.kind() {
                std::io::ErrorKind::NotFound => Ok(None),
                _ => Err(Error::file("remove", &candidate.path, cause)),
            }
        }
    }
}

/// A reply is saved with the permissions that a person's files have; our records have fewer.
///
/// A reply of another user is replaced by a copy of our own. One that cannot be copied stays as it
/// is: that somebody else may read what they wrote is no reason to stop.
fn keep_private(file: &Path) -> Result<()> {
    match crate::platform::make_file_private(file) {
        Err(cause) if cause.kind() == std::io::ErrorKind::PermissionDenied => {
            match read::read_reply(file) {
                Ok(Reading::Text(content)) => write_atomic(file, &content, Durability::Synced),
                _ => Ok(()),
            }
        }
        made => made.map_err(|cause| Error::file("make private", file, cause)),
    }
}

fn is_other_file_system(error: &Error) -> bool {
    let cause = std::error::Error::source(error);
    let cause = cause.and_then(|cause| cause.downcast_ref::<std::io::Error>());
    cause.is_some_and(|cause| cause.kind() == std::io::ErrorKind::CrossesDevices)
}

fn is_same(path: &Path, stat: &Stat) -> bool {
    fs::metadata(path).is_ok_and(|metadata| Stat::of(&metadata) == *stat)
}

fn archive_name(candidate: &Candidate) -> String {
    debug_assert_ne!(name::kind(&candidate.name), NameKind::Bystander);
    name::shortened(&candidate.name, MAX_NAME)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn mailbox(base: &Path) -> Mailbox {
        Mailbox::open(base.join("outbox"), base.join("inbox")).unwrap()
    }

    fn id() -> SessionId {
        SessionId::parse("ab12cd34").unwrap()
    }

    fn put(mailbox: &Mailbox, name: &str, text: &str) -> Candidate {
        let path = mailbox.inbox().join(name);
        fs::File::create(&path)
            .unwrap()
            .write_all(text.as_bytes())
            .unwrap();
        Candidate::at(path).unwrap()
    }

    #[cfg(unix)]
    #[test]
    fn what_is_kept_is_readable_by_its_owner_alone() {
        use std::os::unix::fs::PermissionsExt;
        let base = tempfile::tempdir().unwrap();
        let mailbox = mailbox(base.path());
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let open = |name| {
            let candidate = put(&mailbox, name, "[DONE]");
            fs::set_permissions(&candidate.path, fs::Permissions::from_mode(0o644)).unwrap();
            Candidate::at(candidate.path).unwrap()
        };
        let claimed = mailbox.claim(&open("a.txt"), &id(), 1).unwrap().unwrap();
        let rejected = mailbox.reject(&open("b.txt"), "why").unwrap().unwrap();
        assert_eq!((mode(&claimed), mode(&rejected)), (0o600, 0o600));
        for directory in [mailbox.inbox(), mailbox.outbox(), &mailbox.processed()] {
            assert_eq!(mode(directory), 0o700, "{}", directory.display());
        }
    }

    #[test]
    fn a_claimed_reply_is_found_again_by_its_round() {
        let base = tempfile::tempdir().unwrap();
        let mailbox = mailbox(base.path());
        let candidate = put(&mailbox, "reply.txt", "[DONE]");
        let claimed = mailbox.claim(&candidate, &id(), 7).unwrap().unwrap();
        assert_eq!(
            claimed,
            mailbox.processed().join("ab12cd34_seq0007_reply.txt")
        );
        assert!(!candidate.path.exists());
        assert_eq!(mailbox.claimed(&id(), 7), Some(claimed));
        assert_eq!(mailbox.claimed(&id(), 6), None);
        assert_eq!(mailbox.claimed(&id(), 70), None);
    }

    #[test]
    fn only_one_of_two_claims_succeeds() {
        let base = tempfile::tempdir().unwrap();
        let mailbox = mailbox(base.path());
        let candidate = put(&mailbox, "reply.txt", "[DONE]");
        assert!(mailbox.claim(&candidate, &id(), 1).unwrap().is_some());
        assert_eq!(mailbox.claim(&candidate, &id(), 1).unwrap(), None);
        assert_eq!(mailbox.reject(&candidate, "late").unwrap(), None);
    }

    #[test]
    fn a_reply_that_changed_after_it_was_read_goes_back() {
        let base = tempfile::tempdir().unwrap();
        let mailbox = mailbox(base.path());
        let candidate = put(&mailbox, "reply.txt", "[DONE]");
        put(&mailbox, "reply.txt", "[DONE] and more");
        assert_eq!(mailbox.read(&candidate).unwrap(), Reading::Gone);
        assert_eq!(mailbox.claim(&candidate, &id(), 1).unwrap(), None);
        assert_eq!(
            fs::read(&candidate.path).unwrap(),
            b"[DONE] and more".to_vec()
        );
        assert_eq!(mailbox.claimed(&id(), 1), None);
    }

    #[test]
    fn a_rejected_reply_says_why_and_replaces_no_other() {
        let base = tempfile::tempdir().unwrap();
        let mailbox = mailbox(base.path());
        for expected in ["reply.txt", "reply-2.txt"] {
            let candidate = put(&mailbox, "reply.txt", "x");
            let rejected = mailbox.reject(&candidate, "too late").unwrap().unwrap();
            assert_eq!(rejected, mailbox.rejected().join(expected));
            let why = mailbox.rejected().join(format!("{expected}.why"));
            assert_eq!(fs::read(why).unwrap(), b"too late\n".to_vec());
        }
    }

    #[test]
    fn the_longest_name_still_fits() {
        let base = tempfile::tempdir().unwrap();
        let mailbox = mailbox(base.path());
        let name = format!("{}.txt", "x".repeat(251));
        let candidate = put(&mailbox, &name, "x");
        let claimed = mailbox.claim(&candidate, &id(), 1).unwrap().unwrap();
        assert!(claimed.to_string_lossy().ends_with("xx.txt"));
        let candidate = put(&mailbox, &name, "x");
        mailbox.reject(&candidate, "no").unwrap().unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn what_a_link_leads_to_is_claimed_as_a_copy() {
        let base = tempfile::tempdir().unwrap();
        let mailbox = mailbox(base.path());
        let target = put(&mailbox, ".elsewhere", "[DONE]").path;
        let link = mailbox.inbox().join("reply.txt");
        std::os::unix::fs::symlink(".elsewhere", &link).unwrap();
        let candidate = Candidate::at(link.clone()).unwrap();
        let claimed = mailbox.claim(&candidate, &id(), 1).unwrap().unwrap();
        assert_eq!(fs::read(claimed).unwrap(), b"[DONE]".to_vec());
        assert!(link.symlink_metadata().is_err());
        assert!(target.exists());
        assert_eq!(mailbox.claim(&candidate, &id(), 1).unwrap(), None);
    }
}
