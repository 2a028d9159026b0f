//! The standard library's mutex (a futex of this process): threads only.

use std::sync::{Mutex, PoisonError};

use super::{Facts, Latch};
use crate::primitives::slot::{Me, Mode, Wait};

impl Latch for Mutex<()> {
    const FACTS: Facts = Facts {
        name: "std-mutex",
        source: "Rust standard library, std::sync::Mutex",
        processes: false,
        shared: false,
        misses: true,
        sleeps: false,
        spin: 0,
        spins: 1,
        in_turn: false,
        mends: false,
        children: true,
    };

    fn new(_index: u32) -> Self {
        Self::new(())
    }

    #[inline]
    fn section<R>(&self, _mode: Mode, _me: &Me, mut body: impl FnMut(Wait) -> R) -> (R, Wait) {
        let (guard, wait) = match self.try_lock() {
            Ok(guard) => (guard, Wait::default()),
            Err(_) => (self.lock().unwrap_or_else(PoisonError::into_inner), Wait::MISSED),
        };
        let result = body(wait);
        drop(guard);
        (result, wait)
    }
}
