//! Real files, saved in each of the ways that people's tools save.
//!
//! A writer thread saves while the inbox waits; every wait ends by itself or, long after it should
//! have, by a waker that fails the test.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use super::*;
use crate::protocol::{EndMark, Event, EventSink};

const DEADLINE: Duration = Duration::from_secs(20);

struct Post {
    base: tempfile::TempDir,
    mailbox: Mailbox,
}

impl Post {
    fn new() -> Self {
        let base = tempfile::tempdir().unwrap();
        let mailbox = Mailbox::open(base.path().join("outbox"), base.path().join("inbox")).unwrap();
        Self { base, mailbox }
    }

    fn watch(&self) -> Inbox {
        Inbox::watch(&self.mailbox, find_end_mark)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.mailbox.inbox().join(name)
    }

    fn claim(&self, candidate: &Candidate) -> Option<PathBuf> {
        self.mailbox.claim(candidate, &session(), 1).unwrap()
    }

    /// Reads and claims what arrives next, and makes sure that nothing else does.
    #[track_caller]
    fn receive(&self, inbox: &mut Inbox) -> (String, String) {
        let candidate = reply(inbox);
        let text = match self.mailbox.read(&candidate).unwrap() {
            Reading::Text(bytes) => String::from_utf8(bytes).unwrap(),
            other => panic!("{other:?}"),
        };
        assert!(self.claim(&candidate).is_some());
        (candidate.name, text)
    }
}

/// Keeps what it is told.
#[derive(Debug, Default)]
struct CollectingSink(std::sync::Mutex<Vec<Event>>);

impl EventSink for CollectingSink {
    fn emit(&self, event: Event) {
        self.0.lock().unwrap().push(event);
    }
}

#[test]
fn a_reply_that_takes_its_time_is_told_while_it_arrives() {
    let post = Post::new();
    let events = std::sync::Arc::new(CollectingSink::default());
    let mut inbox = post.watch().telling(events.clone());
    save(&post.path("slow.txt"), "the first words");
    assert_eq!(post.receive(&mut inbox).0, "slow.txt");
    let arriving = Event::Arriving {
        name: "slow.txt".to_owned(),
        bytes: 15,
    };
    assert_eq!(*events.0.lock().unwrap(), [arriving]);
    // One that ends with the mark of the round is there at once.
    save(&post.path("quick.txt"), "done\n[END ab12cd34#1]\n");
    assert_eq!(post.receive(&mut inbox).0, "quick.txt");
    assert_eq!(events.0.lock().unwrap().len(), 1);
}

fn session() -> SessionId {
    SessionId::parse("ab12cd34").unwrap()
}

fn round() -> EndMark {
    EndMark {
        session: session(),
        sequence: 1,
    }
}

fn find_end_mark(tail: &str) -> Option<EndMark> {
    let is_marked = tail.lines().any(|line| line == round().to_string());
    is_marked.then(round)
}

fn marked(text: &str) -> String {
    format!("{text}\n{}\n", round())
}

fn save(path: &Path, content: impl AsRef<[u8]>) {
    File::create(path)
        .unwrap()
        .write_all(content.as_ref())
        .unwrap();
}

#[expect(clippy::disallowed_methods, reason = "a tool of the person renames")]
fn rename(from: &Path, to: &Path) {
    fs::rename(from, to).unwrap();
}

/// Waits for an arrival, but not for ever.
#[track_caller]
fn next(inbox: &mut Inbox) -> Arrival {
    let waker = inbox.waker();
    let (done, ended) = mpsc::channel::<()>();
    let guard = thread::spawn(move || {
        if ended.recv_timeout(DEADLINE) == Err(mpsc::RecvTimeoutError::Timeout) {
            waker.wake();
        }
    });
    let arrival = inbox.next(&round());
    drop(done);
    guard.join().unwrap();
    arrival
}

#[track_caller]
fn reply(inbox: &mut Inbox) -> Candidate {
    match next(inbox) {
        Arrival::Reply(candidate) => candidate,
        other => panic!("expected a reply, got {other:?}"),
    }
}

#[track_caller]
fn notice(inbox: &mut Inbox) -> Notice {
    match next(inbox) {
        Arrival::Notice(notice) => notice,
        other => panic!("expected a notice, got {other:?}"),
    }
}

/// Saves while the inbox waits; exactly one reply must arrive, and all of it.
#[track_caller]
fn arrives_once(expected: &str, writer: impl FnOnce(&Path) + Send) {
    let post = Post::new();
    let mut inbox = post.watch();
    let (name, text) = thread::scope(|scope| {
        scope.spawn(|| writer(&post.path("reply.txt")));
        post.receive(&mut inbox)
    });
    assert_eq!((name.as_str(), text.as_str()), ("reply.txt", expected));
    assert_eq!(inbox.poll(&round()), None);
}

/// Each way of saving must work for replies with an end mark and for those without.
#[track_caller]
fn arrives_once_either_way(writer: impl Fn(&Path, &str) + Send + Sync) {
    for text in ["[DONE]\n".to_owned(), marked("[DONE]")] {
        arrives_once(&text, |path| writer(path, &text));
    }
}

#[test]
fn takes_a_file_written_in_one_go() {
    arrives_once_either_way(|path, text| save(path, text));
}

#[test]
fn takes_a_file_written_in_slow_chunks() {
    arrives_once_either_way(|path, text| {
        let mut file = File::create(path).unwrap();
        for chunk in text.as_bytes().chunks(text.len() / 3 + 1) {
            file.write_all(chunk).unwrap();
            thread::sleep(Duration::from_millis(100));
        }
    });
}

#[cfg(target_os = "linux")]
#[test]
fn waits_for_a_writer_that_pauses_longer_than_others_need_to_settle() {
    let text = marked("[DONE]");
    arrives_once(&text, |path| {
        let mut file = File::create(path).unwrap();
        file.write_all(&text.as_bytes()[..3]).unwrap();
        thread::sleep(settle::SETTLE * 2);
        file.write_all(&text.as_bytes()[3..]).unwrap();
    });
}

#[test]
fn takes_a_file_appended_to_by_one_writer_after_the_other() {
    arrives_once_either_way(|path, text| {
        for chunk in text.as_bytes().chunks(text.len() / 3 + 1) {
            let mut file = OpenOptions::new()
                .create(true)
                .append(true)
                .open(path)
                .unwrap();
            file.write_all(chunk).unwrap();
            drop(file);
            thread::sleep(Duration::from_millis(100));
        }
    });
}

#[test]
fn waits_for_what_is_appended_with_pauses() {
    for text in ["one\ntwo\n".to_owned(), marked("one\ntwo")] {
        arrives_once(&text, |path| {
            for (number, line) in text.split_inclusive('\n').enumerate() {
                if number > 0 {
                    // Longer than a whole reply has to hold still, and after that than any other.
                    let pause = if number == 1 {
                        settle::SETTLE
                    } else {
                        settle::UNMARKED
                    };
                    thread::sleep(pause + Duration::from_millis(300));
                }
                let mut file = OpenOptions::new()
                    .create(true)
                    .append(true)
                    .open(path)
                    .unwrap();
                file.write_all(line.as_bytes()).unwrap();
            }
        });
    }
}

#[test]
fn takes_a_file_renamed_into_place() {
    arrives_once_either_way(|path, text| {
        let partial = path.with_extension("txt.crdownload");
        save(&partial, text);
        rename(&partial, path);
    });
}

#[test]
fn takes_a_file_moved_in_from_elsewhere() {
    arrives_once_either_way(|path, text| {
        let elsewhere = path.ancestors().nth(2).unwrap().join("download.txt");
        save(&elsewhere, text);
        rename(&elsewhere, path);
    });
}

#[test]
fn takes_a_copy() {
    arrives_once_either_way(|path, text| {
        let elsewhere = path.ancestors().nth(2).unwrap().join("download.txt");
        save(&elsewhere, text);
        fs::copy(&elsewhere, path).unwrap();
    });
}

#[test]
fn takes_a_hard_link() {
    arrives_once_either_way(|path, text| {
        let elsewhere = path.ancestors().nth(2).unwrap().join("download.txt");
        save(&elsewhere, text);
        fs::hard_link(&elsewhere, path).unwrap();
    });
}

#[test]
fn takes_what_an_editor_saves_beside_its_swap_file() {
    arrives_once_either_way(|path, text| {
        let swap = path.with_file_name(".reply.txt.swp");
        save(&swap, "swap");
        save(&path.with_file_name("4913"), "");
        save(path, "first thoughts\n");
        rename(path, &path.with_file_name("reply.txt~"));
        save(path, text);
        fs::remove_file(path.with_file_name("4913")).unwrap();
        fs::remove_file(path.with_file_name("reply.txt~")).unwrap();
        fs::remove_file(swap).unwrap();
    });
}

#[test]
fn takes_a_file_truncated_and_rewritten_in_place() {
    arrives_once_either_way(|path, text| {
        save(
            path,
            "a draft that is longer than what replaces it in the end\n".repeat(9),
        );
        thread::sleep(Duration::from_millis(100));
        let mut file = File::create(path).unwrap();
        thread::sleep(Duration::from_millis(100));
        file.write_all(text.as_bytes()).unwrap();
    });
}

#[test]
fn an_empty_file_is_named_once_and_taken_when_it_is_filled() {
    let post = Post::new();
    let mut inbox = post.watch();
    save(&post.path("reply.txt"), "");
    assert_eq!(
        notice(&mut inbox).message,
        "`reply.txt` in the inbox is empty"
    );
    assert_eq!(inbox.poll(&round()), None);
    save(&post.path("reply.txt"), "");
    assert_eq!(inbox.poll(&round()), None);
    save(&post.path("reply.txt"), marked("[DONE]"));
    assert_eq!(post.receive(&mut inbox).1, marked("[DONE]"));
}

#[test]
fn a_marked_reply_is_taken_long_before_it_would_have_settled() {
    let post = Post::new();
    let mut inbox = post.watch();
    assert_eq!(inbox.poll(&round()), None);
    // The quickest of several: other work on the machine may delay any one of them.
    let quickest = (0..5)
        .map(|n| {
            let (sender, closed) = mpsc::channel();
            thread::scope(|scope| {
                scope.spawn(|| {
                    save(&post.path(&format!("{n}.txt")), marked("[DONE]"));
                    sender.send(Instant::now()).unwrap();
                });
                let candidate = reply(&mut inbox);
                let taken = Instant::now();
                post.claim(&candidate);
                taken.saturating_duration_since(closed.recv().unwrap())
            })
        })
        .min()
        .unwrap();
    let limit = if cfg!(target_os = "linux") { 50 } else { 2_000 };
    assert!(
        quickest < Duration::from_millis(limit),
        "took {quickest:?} at best"
    );
}

#[test]
fn takes_several_oldest_first() {
    let post = Post::new();
    for (name, seconds) in [("b.txt", 30), ("a.txt", 20), ("d.md", 40), ("c.txt", 40)] {
        save(&post.path(name), marked("[DONE]"));
        let time = std::time::SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        let file = OpenOptions::new()
            .write(true)
            .open(post.path(name))
            .unwrap();
        file.set_modified(time).unwrap();
    }
    let mut inbox = post.watch();
    let names: Vec<String> = (0..4).map(|_| post.receive(&mut inbox).0).collect();
    assert_eq!(names, ["a.txt", "b.txt", "c.txt", "d.md"]);
}

#[test]
fn a_reply_that_came_while_nothing_ran_is_there_at_once() {
    let post = Post::new();
    save(&post.path("reply.md"), marked("[DONE]"));
    let mut inbox = post.watch();
    let start = Instant::now();
    assert!(matches!(inbox.poll(&round()), Some(Arrival::Reply(_))));
    assert!(start.elapsed() < settle::SETTLE);
}

#[test]
fn a_poll_waits_for_a_fresh_file_without_a_mark() {
    let post = Post::new();
    save(&post.path("reply.md"), "[DONE]");
    let mut inbox = post.watch();
    let start = Instant::now();
    assert!(matches!(inbox.poll(&round()), Some(Arrival::Reply(_))));
    assert!(start.elapsed() >= settle::SETTLE);
}

#[test]
fn files_of_tools_are_left_alone_and_others_are_named_once() {
    let post = Post::new();
    for name in [".x.txt", "x.txt~", "x.txt.part", "x.crdownload", ".x.swp"] {
        save(&post.path(name), "x");
    }
    fs::create_dir(post.path("folder.txt")).unwrap();
    save(&post.path("reply.docx"), "x");
    save(&post.path("reply"), "x");
    let mut inbox = post.watch();
    let mut hints = [notice(&mut inbox).hint, notice(&mut inbox).hint];
    hints.sort();
    assert_eq!(
        hints,
        [
            "if it is the reply, rename it to `reply.txt`",
            "if it is the reply, save it as plain text, such as `reply.txt`",
        ]
    );
    assert_eq!(inbox.poll(&round()), None);
}

#[cfg(unix)]
#[test]
fn links_are_read_through_and_pipes_are_not_waited_for() {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    let post = Post::new();
    let mode = Mode::RUSR | Mode::WUSR;
    mknodat(CWD, post.path("a.txt"), FileType::Fifo, mode, 0).unwrap();
    std::os::unix::fs::symlink("nowhere", post.path("b.txt")).unwrap();
    let elsewhere = post.base.path().join("elsewhere");
    save(&elsewhere, marked("[DONE]"));
    std::os::unix::fs::symlink(&elsewhere, post.path("c.txt")).unwrap();
    let mut inbox = post.watch();
    assert_eq!(post.receive(&mut inbox).1, marked("[DONE]"));
    let message = notice(&mut inbox).message;
    assert!(message.ends_with("not a regular file"), "{message}");
    let message = notice(&mut inbox).message;
    assert!(message.ends_with("a link that leads nowhere"), "{message}");
    assert_eq!(inbox.poll(&round()), None);
}

#[test]
fn a_reply_that_nobody_claims_is_handed_out_once_for_each_round() {
    let post = Post::new();
    save(&post.path("reply.txt"), marked("[DONE]"));
    let mut inbox = post.watch();
    reply(&mut inbox);
    assert_eq!(inbox.poll(&round()), None);
    let later = EndMark {
        sequence: 2,
        ..round()
    };
    assert!(matches!(inbox.poll(&later), Some(Arrival::Reply(_))));
}

#[test]
fn a_wait_can_be_ended_from_another_thread() {
    let post = Post::new();
    let mut inbox = post.watch();
    let waker = inbox.waker();
    let other = thread::spawn(move || waker.wake());
    assert_eq!(inbox.next(&round()), Arrival::Woken);
    other.join().unwrap();
}

#[test]
fn an_inbox_that_was_removed_is_made_again_and_watched() {
    let post = Post::new();
    let mut inbox = post.watch();
    assert_eq!(inbox.poll(&round()), None);
    fs::remove_dir_all(post.mailbox.inbox()).unwrap();
    assert!(notice(&mut inbox).message.ends_with("it was made again"));
    save(&post.path("reply.txt"), marked("[DONE]"));
    assert_eq!(post.receive(&mut inbox).0, "reply.txt");
    assert_eq!(inbox.poll(&round()), None);
}

#[test]
fn an_inbox_that_was_replaced_is_watched_instead_of_the_old_one() {
    let post = Post::new();
    let mut inbox = post.watch();
    assert_eq!(inbox.poll(&round()), None);
    rename(post.mailbox.inbox(), &post.base.path().join("old"));
    fs::create_dir(post.mailbox.inbox()).unwrap();
    assert!(notice(&mut inbox).message.contains("was replaced"));
    save(&post.path("reply.txt"), marked("[DONE]"));
    assert_eq!(post.receive(&mut inbox).0, "reply.txt");
}

#[test]
fn an_inbox_whose_base_was_moved_is_not_made_at_the_old_place() {
    let root = tempfile::tempdir().unwrap();
    let (base, moved) = (root.path().join("base"), root.path().join("moved"));
    let mailbox = Mailbox::open(base.join("outbox"), base.join("inbox")).unwrap();
    let mut inbox = Inbox::watch(&mailbox, find_end_mark);
    assert_eq!(inbox.poll(&round()), None);
    rename(&base, &moved);
    assert!(notice(&mut inbox).message.contains("was moved, renamed"));
    assert!(!base.exists());
    // Another one in its place is not the same either.
    fs::create_dir(&base).unwrap();
    assert_eq!(inbox.poll(&round()), None);
    assert!(!base.join("inbox").exists());
    fs::remove_dir(&base).unwrap();
    rename(&moved, &base);
    save(&base.join("inbox/reply.txt"), marked("[DONE]"));
    assert_eq!(reply(&mut inbox).name, "reply.txt");
}

#[test]
fn an_inbox_that_cannot_be_made_is_named_once_and_tried_again() {
    let post = Post::new();
    let mut inbox = post.watch();
    fs::remove_dir_all(post.mailbox.inbox()).unwrap();
    save(post.mailbox.inbox(), "a file in its place");
    assert!(notice(&mut inbox).message.contains("cannot be opened"));
    fs::remove_file(post.mailbox.inbox()).unwrap();
    assert!(notice(&mut inbox).message.ends_with("it was made again"));
}

#[test]
fn replies_are_found_without_any_watch() {
    let post = Post::new();
    let mut inbox = post.watch();
    assert_eq!(inbox.poll(&round()), None);
    inbox.without_reports();
    save(&post.path("reply.txt"), marked("[DONE]"));
    assert_eq!(post.receive(&mut inbox).0, "reply.txt");
}

#[test]
fn a_mark_is_seen_at_the_end_of_a_long_reply_and_in_utf_16() {
    let long = marked(&"ä line\n".repeat(100_000));
    let mut wide = vec![0xff, 0xfe];
    let text = marked(&"line\n".repeat(5_000));
    wide.extend(text.encode_utf16().flat_map(u16::to_le_bytes));
    for content in [long.into_bytes(), wide] {
        let post = Post::new();
        save(&post.path("reply.txt"), content);
        let (tail, _) = read::tail(&post.path("reply.txt")).unwrap();
        assert_eq!(find_end_mark(&tail), Some(round()));
    }
}
