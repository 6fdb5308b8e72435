//! How much is looked at, counted in tests only: a clock says nothing on a busy machine.

#[cfg(test)]
use std::cell::Cell;

#[cfg(test)]
thread_local! {
    static DONE: Cell<usize> = const { Cell::new(0) };
}

/// Counts so many lines or bytes that were looked at where hostile text could make it too many.
#[inline]
pub(super) fn count(looks: usize) {
    #[cfg(test)]
    DONE.with(|done| done.set(done.get() + looks));
    #[cfg(not(test))]
    let _ = looks;
}

/// Holds that work on an input of eight times the size is about eight times as much.
#[cfg(test)]
#[track_caller]
pub(super) fn assert_linear(size: usize, work: impl Fn(usize)) {
    let measure = |size: usize| {
        DONE.set(0);
        work(size);
        DONE.get()
    };
    let (small, large) = (measure(size), measure(8 * size));
    assert!(
        large <= 10 * small + 1_000,
        "{small} looks at {size}, {large} at eight times as much"
    );
}
