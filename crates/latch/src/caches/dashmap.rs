//! DashMap, a hash table of shards under reader-writer locks; a hold keeps the shard's lock. Threads of
//! one process.

use dashmap::DashMap;

use super::operation::Operation;
use super::payload::{intact, payload};
use super::worker::Worker;
use super::{Cache, Size};
use crate::primitives::shared_memory::SharedMemory;
use crate::protocols::Facts;

pub const FACTS: Facts = Facts {
    name: "dashmap",
    source: "crate dashmap",
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
    entries: DashMap<u32, Box<[u64]>>,
    bytes: usize,
}

pub fn open<'r>(_region: &'r SharedMemory, size: Size) -> Box<dyn Cache + 'r> {
    let entries = DashMap::with_capacity(size.keys);
    for key in 0..size.keys as u32 {
        entries.insert(key, payload(1, size.payload_bytes));
    }
    Box::new(Whole { entries, bytes: size.payload_bytes })
}

impl Cache for Whole {
    fn operate(&self, operation: Operation, worker: &Worker) -> bool {
        worker.whole(operation, |operation| {
            if operation.update {
                let Some(mut entry) = self.entries.get_mut(&operation.key) else { return false };
                *entry = payload(worker.nonce(), self.bytes);
                worker.hold(operation.long);
                return true;
            }
            let Some(entry) = self.entries.get(&operation.key) else { return false };
            let good = intact(&entry);
            worker.hold(operation.long);
            good
        })
    }
}
