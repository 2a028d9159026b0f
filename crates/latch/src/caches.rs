//! The caches: the trait, the cache under a latch, whole caches of other crates.

pub mod child;
pub mod crossbeam_epoch;
pub mod dashmap;
pub mod entries;
pub mod fixture;
pub mod latched;
pub mod moka;
pub mod operation;
pub mod payload;
pub mod quick_cache;
pub mod worker;

use crate::primitives::slot::Me;
use operation::Operation;
use worker::Worker;

/// The size of a cache.
#[derive(Debug, Clone, Copy)]
pub struct Size {
    pub keys: usize,
    pub payload_bytes: usize,
    /// Child latches, over which the keys are spread; whole caches ignore it.
    pub children: usize,
}

/// A cache as workers use it.
pub trait Cache: Sync {
    /// Looks up or updates; `false` when the payload does not match its checksum.
    fn operate(&self, operation: Operation, worker: &Worker) -> bool;

    /// Repairs the state after the death of worker `dead` (an id).
    fn mend(&self, _dead: u32, _me: &Me) {}

    /// Gets counted under the exclusive latch, without atomic additions.
    fn guarded(&self) -> u64 {
        0
    }
}
