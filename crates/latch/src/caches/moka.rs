//! moka, a whole cache (concurrent hash table, TinyLFU): each get may record itself in a buffer. Threads of one process.

use std::sync::Arc;

use super::operation::Operation;
use super::payload::{intact, payload};
use super::worker::Worker;
use super::{Cache, Size};
use crate::primitives::shared_memory::SharedMemory;
use crate::protocols::Facts;

pub const FACTS: Facts = Facts {
    name: "moka",
    source: "crate moka, sync::Cache",
    processes: false,
    shared: true,
    misses: false,
    sleeps: false,
    spin: 0,
    spins: 1,
    in_turn: false,
    mends: false,
    children: false,
};

struct Whole {
    entries: moka::sync::Cache<u32, Arc<[u64]>>,
    bytes: usize,
}

/// Twice the keys in capacity: nothing is evicted, every lookup is a hit.
pub fn open<'r>(_region: &'r SharedMemory, size: Size) -> Box<dyn Cache + 'r> {
    let entries = moka::sync::Cache::new(size.keys as u64 * 2);
    for key in 0..size.keys as u32 {
        entries.insert(key, payload(1, size.payload_bytes).into());
    }
    Box::new(Whole { entries, bytes: size.payload_bytes })
}

impl Cache for Whole {
    fn operate(&self, operation: Operation, worker: &Worker) -> bool {
        worker.whole(operation, |operation| {
            if operation.update {
                self.entries.insert(operation.key, payload(worker.nonce(), self.bytes).into());
            }
            let good = self.entries.get(&operation.key).is_some_and(|payload| intact(&payload));
            worker.hold(operation.long);
            good
        })
    }
}
