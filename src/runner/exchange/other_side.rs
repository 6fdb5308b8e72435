//! The directory on the other side: each method is a script that runs there.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::super::channel::quoted;
use super::super::framed::{CallLimits, FramedScript};
use super::super::listing::{PrunedDirectories, RemoteListing, listing_script};
use super::super::owner;
use super::super::tar::{self, TarEntry};
use super::{MARK, MAX_BYTES, RemoteConnection, SILENCE, TRIAL};

/// The directory on the other side, and the way to it.
#[derive(Debug)]
pub(super) struct OtherSide {
    pub(super) connection: Arc<dyn RemoteConnection>,
    /// The directory there, as a word of the shell.
    pub(super) directory: String,
    /// The directory there, for the person.
    pub(super) shown: String,
    /// True if the directory is ours alone, to be removed.
    pub(super) is_own: bool,
    /// The name of this workspace, in the mark.
    pub(super) name: String,
    /// The directory there has been made, or may have been.
    pub(super) has_entered: AtomicBool,
}

/// The directory there, just entered.
pub(super) struct EnteredDirectory {
    pub(super) mark: String,
    /// True if it had no mark.
    pub(super) is_new: bool,
    pub(super) listing: RemoteListing,
}

impl OtherSide {
    /// Runs a script there that reads this input; tells its output.
    pub(super) fn call(
        &self,
        script: &str,
        input: Vec<u8>,
        (stop, silence): (&AtomicBool, Duration),
    ) -> Result<Vec<u8>, String> {
        let script = FramedScript::new(script);
        let client = self.connection.client(Some(&script.text), stop)?;
        // The archive of one file of the largest size fits.
        let limits = CallLimits {
            bytes: usize::try_from(MAX_BYTES + (64 << 20)).unwrap_or(usize::MAX),
            silence,
            stop,
        };
        let answer = script.run(client, input, limits);
        if answer.is_err() && stop.load(Ordering::Relaxed) {
            self.connection.give_up();
        }
        answer.map_err(|words| self.connection.explain(&words))
    }

    /// Makes the directory there; tells its mark and its files.
    pub(super) fn enter(
        &self,
        pruned: &PrunedDirectories,
        patience: (&AtomicBool, Duration),
    ) -> Result<EnteredDirectory, String> {
        if !self.has_entered.swap(true, Ordering::Relaxed) {
            // What stays of them does no harm.
            let _ = self.remove_stale_trials(patience);
        }
        let new = format!("{} {}", uuid::Uuid::new_v4().simple(), self.name);
        // Nobody else uses a directory of our own: whatever its mark says, a command wrote it.
        let used = if self.is_own {
            String::new()
        } else {
            let used = format!(
                "another session uses the directory {0}; if it is over, remove {0}/{MARK} there",
                self.shown
            );
            format!("*' '*) echo {} >&2; exit 1;;", quoted(&used))
        };
        let script = format!(
            "umask 077; mkdir -p {0} && cd {0} || exit 1\n\
             for p in find tar; do command -v $p >/dev/null 2>&1 || {{ echo \"$p: not found\" >&2; exit 1; }}; done\n\
             command -v sha256sum >/dev/null 2>&1 || command -v shasum >/dev/null 2>&1 || {{ echo 'sha256sum: not found' >&2; exit 1; }}\n\
             m=$(cat {MARK} 2>/dev/null)\n\
             case $m in *' {name}') ;; {used} *) m='{new}'; rm -rf {MARK}; echo \"$m\" >{MARK} || exit 1;; esac\n\
             printf '%s\\0' \"$m\"\n",
            self.directory,
            name = self.name,
        );
        let script = script + &listing_script(pruned);
        let answer = self.call(&script, Vec::new(), patience)?;
        let end = answer.iter().position(|byte| *byte == 0);
        let end = end.ok_or("the other side has no directory")?;
        let mark = String::from_utf8_lossy(&answer[..end]).trim().to_owned();
        Ok(EnteredDirectory {
            is_new: mark == new,
            mark,
            listing: RemoteListing::parse(&answer[end + 1..])?,
        })
    }

    pub(super) fn list(
        &self,
        pruned: &PrunedDirectories,
        patience: (&AtomicBool, Duration),
    ) -> Result<RemoteListing, String> {
        let script = format!("cd {} || exit 1\n", self.directory) + &listing_script(pruned);
        RemoteListing::parse(&self.call(&script, Vec::new(), patience)?)
    }

    /// The contents of these files there, as far as they can be read.
    pub(super) fn contents(
        &self,
        names: &[&str],
        patience: (&AtomicBool, Duration),
    ) -> Result<BTreeMap<String, TarEntry>, String> {
        // A file that cannot be read is missing in the archive. Not every `tar` reads names from its
        // input, and a command line has a limit.
        let script = format!(
            "cd {} || exit 1; if tar -cf - -T /dev/null >/dev/null 2>&1; then tar -cf - -T -; exit 0; fi; \
             set --; while IFS= read -r n; do set -- \"$@\" \"$n\"; done; tar -cf - \"$@\"; exit 0",
            self.directory
        );
        let mut list = String::new();
        for name in names {
            let _ = writeln!(list, "./{name}");
        }
        let archive = self.call(&script, list.into_bytes(), patience)?;
        let entries = tar::entries(&archive).ok_or("the archive of the other side is damaged")?;
        let entries = entries.into_iter().map(|mut entry| {
            entry.name = entry.name.trim_start_matches("./").to_owned();
            (entry.name.clone(), entry)
        });
        Ok(entries.collect())
    }

    /// Follows a list of [`to_clear`] there. Tells the names that cannot take their place.
    pub(super) fn clear(&self, list: String, stop: &AtomicBool) -> Result<Vec<String>, String> {
        if list.is_empty() {
            return Ok(Vec::new());
        }
        let script = format!(
            "cd {} || exit 1; while IFS= read -r n; do f=./${{n#?}}; case $n in \
             \\<*) p=$f;; \
             \\>*) [ -e \"$f\" ] || [ -h \"$f\" ] || mv \"$p\" \"$f\" 2>/dev/null;; \
             \\?*) [ -h \"$f\" ] || [ ! -d \"$f\" ] || printf '%s\\n' \"${{n#?}}\";; \
             *) rm -f \"$f\" 2>/dev/null || rmdir \"$f\" 2>/dev/null || \
             case $n in =*) printf '%s\\n' \"${{n#?}}\";; esac;; esac; done; exit 0",
            self.directory
        );
        let kept = self.call(&script, list.into_bytes(), (stop, SILENCE))?;
        let kept = String::from_utf8_lossy(&kept);
        Ok(kept.lines().map(str::to_owned).collect())
    }

    /// Removes the directory there; of one that the person named, only the mark.
    pub(super) fn leave_directory(&self, cancelled: &AtomicBool) -> Result<(), String> {
        let script = if self.is_own {
            format!("rm -rf {}", self.directory)
        } else {
            format!("rm -f {}/{MARK}", self.directory)
        };
        self.call(&script, Vec::new(), (cancelled, SILENCE))
            .map(drop)
    }

    /// The beginning of the names of directories for trials there, as words of the shell.
    pub(super) fn trials(&self) -> String {
        if self.is_own {
            format!("{}-trial-", self.directory)
        } else {
            format!("{}/{TRIAL}", self.directory)
        }
    }

    /// Removes the directories of trials whose process was killed: those of this machine and workspace,
    /// as the end of their names says.
    pub(super) fn remove_stale_trials(
        &self,
        patience: (&AtomicBool, Duration),
    ) -> Result<(), String> {
        let trials = self.trials();
        let script = format!(
            "for d in {trials}*; do [ -d \"$d\" ] && printf '%s\\n' \"${{d##*-trial-}}\"; done; exit 0"
        );
        let found = self.call(&script, Vec::new(), patience)?;
        let found = String::from_utf8_lossy(&found);
        let is_stale =
            |name: &&str| !name.contains('/') && name.ends_with(&self.name) && owner::is_gone(name);
        let stale: Vec<String> = (found.lines().filter(is_stale))
            .map(|name| format!("{trials}{}", quoted(name)))
            .collect();
        if stale.is_empty() {
            return Ok(());
        }
        let script = format!("rm -rf {}", stale.join(" "));
        self.call(&script, Vec::new(), patience).map(drop)
    }
}
