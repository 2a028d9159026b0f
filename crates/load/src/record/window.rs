//! When a load point counts, and a transaction in it.

use serde::{Deserialize, Serialize};

/// The times of one point, monotonic ns.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Window {
    pub start_ns: u64,
    pub measure_ns: u64,
    /// No transaction begins from here on.
    pub last_begin_ns: u64,
    pub end_ns: u64,
}

impl Window {
    /// A window that ends as it starts: of a record before its first turn.
    pub fn empty(start_ns: u64) -> Self {
        Self { start_ns, measure_ns: start_ns, last_begin_ns: start_ns, end_ns: start_ns }
    }

    /// Seconds of warm-up, rounded up: how far below 0 seconds are numbered.
    pub fn warm_up_seconds(&self) -> usize {
        (self.measure_ns - self.start_ns).div_ceil(1_000_000_000) as usize
    }

    pub fn seconds(&self) -> usize {
        self.warm_up_seconds() + (self.end_ns - self.measure_ns).div_ceil(1_000_000_000) as usize
    }
}

/// A transaction of a client that ends, or begins again; monotonic ns.
#[derive(Debug, Clone, Copy)]
pub struct Ending {
    pub client: usize,
    /// Its kind.
    pub transaction: usize,
    pub begin_ns: u64,
    pub now_ns: u64,
}
