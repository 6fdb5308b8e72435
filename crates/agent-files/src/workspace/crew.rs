//! Runs tasks on several threads in priority order.
//!
//! A task may create more tasks. The smallest waiting task always runs next, so a caller that needs
//! only the first results can let the rest return early. Threads are started only if there are
//! enough tasks; a small workspace is walked on the calling thread. If the system refuses threads,
//! the existing ones do all the work.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, Builder};

/// Threads are started from this many tasks on.
const WORTH_THREADS: usize = 16;
/// More threads than this only wait for the disk.
const MAX_THREADS: usize = 8;
/// A thread takes no more tasks than these at once.
const MAX_BATCH: usize = 32;

/// Runs each task, and the tasks that it returns, until none are left.
pub(super) fn work_off<T: Ord + Send>(first: Vec<T>, work: impl Fn(T) -> Vec<T> + Sync) {
    let crew = Crew {
        queue: Mutex::new(Queue {
            waiting: first.into_iter().map(Reverse).collect(),
            at_work: 0,
            idle: 0,
        }),
        changed: Condvar::new(),
        work,
    };
    while crew.lock().waiting.len() < WORTH_THREADS {
        let Some(task) = crew.take() else { return };
        crew.finish((crew.work)(task));
    }
    let threads = threads();
    thread::scope(|scope| {
        for _ in 1..threads {
            let started = Builder::new().spawn_scoped(scope, || crew.serve());
            if started.is_err() {
                break;
            }
        }
        crew.serve();
    });
}

/// Does two things at the same time: both take a while in a large workspace.
pub fn both<A: Send, B>(one: impl Fn() -> A + Sync, other: impl FnOnce() -> B) -> (A, B) {
    thread::scope(|scope| {
        let running = Builder::new().spawn_scoped(scope, &one);
        let other = other();
        match running.map(thread::ScopedJoinHandle::join) {
            Ok(Ok(one)) => (one, other),
            Ok(Err(panic)) => std::panic::resume_unwind(panic),
            // There are no more threads to be had.
            Err(_) => (one(), other),
        }
    })
}

/// Maps all items, in parallel if there are many. Results are in the order of the items.
pub fn each_of<'a, T: Sync, R: Send>(items: &'a [T], work: impl Fn(&'a T) -> R + Sync) -> Vec<R> {
    if items.len() < WORTH_THREADS {
        return items.iter().map(work).collect();
    }
    share_out(items, work, threads(), Builder::new)
}

fn share_out<'a, T: Sync, R: Send>(
    items: &'a [T],
    work: impl Fn(&'a T) -> R + Sync,
    threads: usize,
    thread: impl Fn() -> Builder,
) -> Vec<R> {
    // Small enough for the last ones to be shared out, too.
    let batch = (items.len() / (threads * 8)).clamp(1, MAX_BATCH);
    let next = AtomicUsize::new(0);
    let share = || -> Vec<(usize, Vec<R>)> {
        let take = || {
            let start = next.fetch_add(batch, Ordering::Relaxed);
            let rest = items.get(start..).filter(|rest| !rest.is_empty())?;
            Some((start, &rest[..batch.min(rest.len())]))
        };
        std::iter::from_fn(take)
            .map(|(start, items)| (start, items.iter().map(&work).collect()))
            .collect()
    };
    let mut done = thread::scope(|scope| {
        let workers: Vec<_> = (1..threads)
            .map_while(|_| thread().spawn_scoped(scope, share).ok())
            .collect();
        let mut done = share();
        for worker in workers {
            match worker.join() {
                Ok(more) => done.extend(more),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        done
    });
    done.sort_unstable_by_key(|(start, _)| *start);
    done.into_iter().flat_map(|(_, answers)| answers).collect()
}

fn threads() -> usize {
    // The system reads files to tell, and a walk asks for each level.
    static THREADS: OnceLock<usize> = OnceLock::new();
    *THREADS.get_or_init(|| {
        let threads = thread::available_parallelism();
        threads.map_or(1, NonZeroUsize::get).min(MAX_THREADS)
    })
}

struct Crew<T, W> {
    queue: Mutex<Queue<T>>,
    changed: Condvar,
    work: W,
}

struct Queue<T> {
    waiting: BinaryHeap<Reverse<T>>,
    /// Tasks that are running; each may create others.
    at_work: usize,
    /// Threads that wait for a task.
    idle: usize,
}

/// Unblocks the other threads if a task panics.
struct Finish<'a, T: Ord, W: Fn(T) -> Vec<T>> {
    crew: &'a Crew<T, W>,
    brought: Vec<T>,
}

impl<T: Ord, W: Fn(T) -> Vec<T>> Drop for Finish<'_, T, W> {
    fn drop(&mut self) {
        self.crew.finish(std::mem::take(&mut self.brought));
    }
}

impl<T: Ord, W: Fn(T) -> Vec<T>> Crew<T, W> {
    fn lock(&self) -> MutexGuard<'_, Queue<T>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn serve(&self) {
        while let Some(task) = self.take() {
            let mut finish = Finish {
                crew: self,
                brought: Vec::new(),
            };
            finish.brought = (self.work)(task);
        }
    }

    /// The smallest waiting task. Blocks while running tasks may create more; `None` when all is
    /// done.
    fn take(&self) -> Option<T> {
        let mut queue = self.lock();
        loop {
            if let Some(Reverse(task)) = queue.waiting.pop() {
                queue.at_work += 1;
                return Some(task);
            }
            if queue.at_work == 0 {
                return None;
            }
            queue.idle += 1;
            queue = (self.changed.wait(queue)).unwrap_or_else(PoisonError::into_inner);
            queue.idle -= 1;
        }
    }

    fn finish(&self, brought: Vec<T>) {
        let mut queue = self.lock();
        queue.at_work -= 1;
        // There is usually no thread to wake, and waking costs a system call.
        let is_news = queue.idle > 0 && (!brought.is_empty() || queue.at_work == 0);
        queue.waiting.extend(brought.into_iter().map(Reverse));
        drop(queue);
        if is_news {
            self.changed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    #[test]
    fn every_task_is_done_once() {
        let sum = AtomicU64::new(0);
        // A tree of tasks: each number brings the two beneath it.
        work_off(vec![1_u64], |task| {
            sum.fetch_add(task, Ordering::Relaxed);
            let beneath = [task * 2, task * 2 + 1];
            beneath.into_iter().filter(|task| *task < 1 << 12).collect()
        });
        assert_eq!(sum.into_inner(), (1_u64..1 << 12).sum::<u64>());
    }

    #[test]
    fn without_another_thread_all_is_done_by_this_one() {
        let items: Vec<usize> = (0..100).collect();
        // No thread can have a stack of this size.
        let thread = || Builder::new().stack_size(1 << (usize::BITS - 2));
        let threads = share_out(&items, |item| (*item, thread::current().id()), 8, thread);
        let here = thread::current().id();
        assert!(threads.iter().all(|(_, thread)| *thread == here));
        assert!(threads.iter().map(|(item, _)| item).eq(&items));
    }

    #[test]
    fn one_thread_takes_the_first_first() {
        let order = Mutex::new(Vec::new());
        work_off(vec![5, 1, 3], |task| {
            order.lock().unwrap().push(task);
            if task == 1 { vec![4, 2] } else { Vec::new() }
        });
        assert_eq!(order.into_inner().unwrap(), [1, 2, 3, 4, 5]);
    }
}
