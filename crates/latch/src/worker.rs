//! A worker as the cache knows it: its counters, what it times, how long it holds.

use std::cell::Cell;

use crate::counters::{Counters, Times};
use crate::cpu::busy;
use crate::operation::Operation;
use crate::seat::{Me, Wait};
use crate::sync::now_ns;

/// What is timed of a lookup. Never both: looks at the clock within would be part of the lookup.
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
    /// From the failed first try to the get; gets that did not miss have none.
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
    /// What one look at the clock adds to a time.
    pub clock_ns: u64,
    pub hold_turns: u64,
    pub long_turns: u64,
    pub nonces: Cell<u64>,
}

impl Worker<'_> {
    /// The time, for who times the gets of this lookup.
    #[inline]
    pub fn look_ns(&self) -> u64 {
        if self.timed == Timed::Gets { now_ns() } else { 0 }
    }

    /// Notes a hold that ends now, and the wait before it.
    #[inline]
    pub fn note(&self, wait: Wait, begin_ns: u64, got_ns: u64) {
        if self.timed == Timed::Gets {
            self.times.hold.record((now_ns() - got_ns).saturating_sub(self.clock_ns));
            if wait.missed() {
                self.times.wait.record((got_ns - begin_ns).saturating_sub(self.clock_ns));
            }
        }
    }

    /// What was counted so far was warm-up.
    pub fn restart(&self) {
        self.times.restart();
        self.counters.iter().for_each(Counters::restart);
    }

    /// Stays for the planned hold.
    #[inline]
    pub fn hold(&self, long: bool) {
        busy(if long { self.long_turns } else { self.hold_turns });
    }

    /// A payload's seed, another at each call.
    pub fn nonce(&self) -> u64 {
        self.nonces.replace(self.nonces.get() + 1)
    }

    /// The gets of one lookup at a cache that has no latch of ours.
    #[inline]
    pub fn whole(&self, operation: Operation, mut access: impl FnMut(Operation) -> bool) -> bool {
        let mut sound = true;
        for get in 1..=self.gets {
            let last = get == self.gets;
            let (update, long) = (operation.update && last, operation.long && last);
            sound &= access(Operation { update, long, ..operation });
            if self.counting {
                // whatever excludes others in there cannot be told
                self.counters[0].got_shared(Wait::default());
            }
        }
        sound
    }
}
