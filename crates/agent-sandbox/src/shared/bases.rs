//! Adds what belongs to other base directories besides their sessions: inbox, outbox and settings.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use super::walk::WalkResult;
use crate::STATE;
use agent_files::records::{MAX_SETTINGS_BYTES, NamedDirectories, SETTINGS};

/// Adds inbox, outbox and settings of each base directory whose sessions were found.
pub(super) fn add_all(seen: &mut WalkResult, workspace: &Path) {
    let sessions: Vec<PathBuf> = seen.states.iter().cloned().collect();
    for sessions in sessions {
        let is_in_place = sessions
            .file_name()
            .is_some_and(|name| name.eq_ignore_ascii_case(STATE));
        let above = sessions.ancestors().skip(usize::from(!is_in_place));
        for base in above.take_while(|base| base.starts_with(workspace)) {
            let settings = base.join(SETTINGS);
            if let Some(named) = named_in(&settings) {
                let named = named.from_base(base);
                if is_in_place || named.sessions == sessions {
                    hide(seen, named, workspace);
                    seen.found.extend(Some(settings).filter(|_| !is_in_place));
                }
            }
            if is_in_place {
                break;
            }
        }
        // A flag may have overruled the settings, or there are none.
        if let Some(base) = sessions.parent().filter(|_| !is_in_place) {
            let named = NamedDirectories::usual().from_base(base);
            if named.sessions == sessions {
                hide(seen, named, workspace);
            }
        }
    }
}

fn hide(seen: &mut WalkResult, named: NamedDirectories, workspace: &Path) {
    let inside = named.all().into_iter().filter(|path| {
        let is_directory = path.symlink_metadata().is_ok_and(|found| found.is_dir());
        is_directory && path.starts_with(workspace) && path != workspace
    });
    seen.states.extend(inside);
}

fn named_in(settings: &Path) -> Option<NamedDirectories> {
    let is_file = fs::symlink_metadata(settings).is_ok_and(|found| found.is_file());
    let file = File::open(settings).ok().filter(|_| is_file)?;
    let mut content = Vec::new();
    file.take(MAX_SETTINGS_BYTES)
        .read_to_end(&mut content)
        .ok()?;
    NamedDirectories::in_settings(&content)
}
