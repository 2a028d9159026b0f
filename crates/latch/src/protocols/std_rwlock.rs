//! The standard library's reader-writer lock (a futex of this process): threads only.

use std::sync::{PoisonError, RwLock};

use super::{Facts, Latch};
use crate::primitives::slot::{Me, Mode, Wait};

impl Latch for RwLock<()> {
    const FACTS: Facts = Facts {
        name: "std-rwlock",
        source: "Rust standard library, std::sync::RwLock",
        processes: false,
        shared: true,
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
    fn section<R>(&self, mode: Mode, _me: &Me, mut body: impl FnMut(Wait) -> R) -> (R, Wait) {
        match mode {
            Mode::Shared => {
                let (_guard, wait) = match self.try_read() {
                    Ok(guard) => (guard, Wait::default()),
                    Err(_) => (self.read().unwrap_or_else(PoisonError::into_inner), Wait::MISSED),
                };
                (body(wait), wait)
            }
            Mode::Exclusive => {
                let (_guard, wait) = match self.try_write() {
                    Ok(guard) => (guard, Wait::default()),
                    Err(_) => (self.write().unwrap_or_else(PoisonError::into_inner), Wait::MISSED),
                };
                (body(wait), wait)
            }
        }
    }
}
