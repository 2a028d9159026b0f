//! A worker without a cache, to calibrate and to test one latch.

use std::cell::Cell;

use super::worker::{Sampled, Timed, Worker};
use crate::primitives::counters::Counters;
use crate::primitives::slot::{Me, Slot};

/// Counters and times of a worker that uses a latch without a cache.
#[derive(Default)]
pub struct Fixture {
    pub counters: [Counters; 1],
    times: Sampled,
}

impl Fixture {
    /// Worker `number`, with one get per lookup and neither hold nor think time.
    pub fn worker<'a>(&'a self, number: usize, slots: &'a [Slot], spin: u32, counting: bool) -> Worker<'a> {
        Worker {
            me: Me { number: number as u32, slots, spin, groups: 2 },
            counters: &self.counters,
            times: &self.times,
            gets: 1,
            counting,
            timed: Timed::Nothing,
            clock_ns: 0,
            hold_iterations: 0,
            long_iterations: 0,
            nonces: Cell::new(0),
        }
    }
}
