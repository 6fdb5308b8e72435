use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use agent::protocol::RelPath;
use agent::workspace::Workspace;
use rustix::fs::{CWD, RenameFlags, renameat_with};

use crate::place::{Place, SECRET};

const SWAPS: usize = 100_000;

/// A directory `dir` and a link `other` that leads out, to be swapped.
fn place() -> Place {
    let place = Place::new()
        .file("dir/victim", "inside")
        .file("still", "inside");
    place.link("other", "../../outside")
}

fn swap(workspace: &Path) {
    let (one, two) = (workspace.join("dir"), workspace.join("other"));
    renameat_with(CWD, one, CWD, two, RenameFlags::EXCHANGE).unwrap();
}

/// Swaps while the work is done, at least so often.
fn while_swapped(workspace: &Path, least: usize, work: impl Fn(&dyn Fn() -> bool)) {
    let (swaps, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while swaps.load(Ordering::Relaxed) < least || !is_over.load(Ordering::Relaxed) {
                swap(workspace);
                swaps.fetch_add(1, Ordering::Relaxed);
            }
        });
        work(&|| swaps.load(Ordering::Relaxed) < least);
        is_over.store(true, Ordering::Relaxed);
    });
}

#[test]
fn nothing_is_read_or_written_outside_in_100_000_swaps() {
    let place = place();
    let workspace = Workspace::open(&place.workspace()).unwrap();
    let path = |text: &str| RelPath::parse(text).unwrap();
    let (victim, new, moved) = (path("dir/victim"), path("dir/new/deep"), path("dir/moved"));
    while_swapped(&place.workspace(), SWAPS, |goes_on| {
        let mut reads = 0_u32;
        while goes_on() {
            if let Ok(bytes) = workspace.read(&victim, 1000) {
                assert_ne!(bytes, SECRET.as_bytes());
                reads += 1;
            }
            let _ = workspace.write(&victim, b"inside");
            let _ = workspace.write(&new, b"x");
            let _ = workspace.remove(&new);
            let _ = workspace.rename(&path("still"), &moved);
            let _ = workspace.rename(&moved, &path("still"));
            if let Ok(walked) = workspace.walk(None) {
                let is_outside = |name: &str| name.contains("neighbour");
                assert!(
                    !walked
                        .files
                        .iter()
                        .any(|file| is_outside(file.path.as_str()))
                );
            }
        }
        assert!(reads > 0, "the door was open half of the time");
    });
    place.is_untouched("the race");
}

#[test]
fn a_program_that_checks_first_and_opens_then_is_led_out() {
    let place = place();
    let root = place.workspace();
    while_swapped(&root, 0, |_| {
        let deadline = Instant::now() + Duration::from_secs(30);
        let path = root.join("dir/victim");
        let leaks = || {
            let checked = fs::canonicalize(&path).is_ok_and(|real| real.starts_with(&root));
            checked && fs::read_to_string(&path).is_ok_and(|text| text == SECRET)
        };
        while !leaks() {
            assert!(Instant::now() < deadline, "the race was never lost");
        }
    });
}

#[test]
fn a_reply_is_carried_out_inside_while_directories_become_links() {
    let place = place();
    let forms = "[READ_FILE path=\"dir/victim\"]\n\
        [CREATE_FILE path=\"dir/new\"]\nx\n[/CREATE_FILE]\n\
        [INSERT_TEXT path=\"dir/victim\" line=\"0\"]\nx\n[/INSERT_TEXT]\n\
        [SEARCH_TEXT pattern=\"hunter\"]\n\
        [MOVE_FILE from=\"dir/new\" to=\"dir/new2\"]\n\
        [DELETE_FILE path=\"dir/new2\"]\n";
    while_swapped(&place.workspace(), 1000, |_| {
        for _ in 0..3 {
            place.apply(&forms.repeat(30)).tells_no_secret();
        }
    });
    place.is_untouched("the race");
}

#[test]
fn a_command_that_swaps_leads_no_other_step_out() {
    let place = place();
    let script = "import os, threading\n\
        end = __import__(\"time\").time() + 1\n\
        while __import__(\"time\").time() < end:\n    \
            os.rename(\"dir\", \"x\"); os.rename(\"other\", \"dir\"); os.rename(\"x\", \"other\")";
    let reply = format!("[RUN_COMMAND]\n/usr/bin/python3 -c '{script}'\n[/RUN_COMMAND]\n");
    let mut swapping = place.start(&["--json"], &reply);
    while swapping.try_wait().unwrap().is_none() {
        place
            .apply("[READ_FILE path=\"dir/victim\"]\n[CREATE_FILE path=\"dir/new\"]\nx\n[/CREATE_FILE]\n")
            .tells_no_secret();
    }
    place.is_untouched("the race");
}
