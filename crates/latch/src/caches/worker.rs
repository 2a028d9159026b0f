//! A worker as the cache sees it: its counters, its timing of gets, its hold time.

use std::cell::Cell;

use steelyard_engine::clock::now_ns;

use super::operation::Operation;
use crate::primitives::counters::Counters;
use crate::primitives::cpu::busy;
use crate::primitives::slot::{Me, Wait};
use crate::primitives::times::Times;

/// The part of a lookup that is timed. Never both: clock reads within a lookup would be part of its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timed {
    Nothing,
    Lookup,
    Gets,
}

/// Times of sampled lookups.
#[derive(Default)]
#[repr(align(128))]
pub struct Sampled {
    pub lookup: Times,
    pub hold: Times,
    /// From the failed first try to the get; a get without a miss has none.
    pub wait: Times,
}

impl Sampled {
    fn restart(&self) {
        [&self.lookup, &self.hold, &self.wait].into_iter().for_each(Times::restart);
    }
}

/// A worker in its loop.
pub struct Worker<'a> {
    pub me: Me<'a>,
    /// By child latch.
    pub counters: &'a [Counters],
    pub times: &'a Sampled,
    pub gets: u32,
    pub counting: bool,
    pub timed: Timed,
    /// The time that one clock read adds.
    pub clock_ns: u64,
    pub hold_iterations: u64,
    pub long_iterations: u64,
    pub nonces: Cell<u64>,
}

impl Worker<'_> {
    /// The time where the gets of this lookup are timed, else 0.
    #[inline]
    pub fn look_ns(&self) -> u64 {
        if self.timed == Timed::Gets { now_ns() } else { 0 }
    }

    /// Records a hold that ends now, and the wait before it.
    #[inline]
    pub fn note(&self, wait: Wait, begin_ns: u64, got_ns: u64) {
        if self.timed == Timed::Gets {
            self.times.hold.record((now_ns() - got_ns).saturating_sub(self.clock_ns));
            if wait.missed() {
                self.times.wait.record((got_ns - begin_ns).saturating_sub(self.clock_ns));
            }
        }
    }

    /// Discards what was counted so far: the warm-up.
    pub fn restart(&self) {
        self.times.restart();
        self.counters.iter().for_each(Counters::restart);
    }

    /// Keeps the CPU busy for the planned hold time.
    #[inline]
    pub fn hold(&self, long: bool) {
        busy(if long { self.long_iterations } else { self.hold_iterations });
    }

    /// The seed of a payload, different at each call.
    pub fn nonce(&self) -> u64 {
        self.nonces.replace(self.nonces.get() + 1)
    }

    /// The gets of one lookup at a whole cache, which has no latch of ours.
    #[inline]
    pub fn whole(&self, operation: Operation, mut access: impl FnMut(Operation) -> bool) -> bool {
        let mut sound = true;
        for get in 1..=self.gets {
            let last = get == self.gets;
            let (update, long) = (operation.update && last, operation.long && last);
            sound &= access(Operation { update, long, ..operation });
            if self.counting {
                // whether the cache excluded other workers is not visible from outside
                self.counters[0].got_shared(Wait::default());
            }
        }
        sound
    }
}
