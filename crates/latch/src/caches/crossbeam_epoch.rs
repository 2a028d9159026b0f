//! Epoch-based reclamation: a reader pins the epoch and follows a pointer, a writer swaps the pointer and
//! leaves the old payload to be freed when no reader can hold it. Threads of one process.

use crossbeam_epoch::{Atomic, Owned, pin};

use super::operation::Operation;
use super::payload::{intact, payload};
use super::worker::Worker;
use super::{Cache, Size};
use crate::primitives::shared_memory::SharedMemory;
use crate::primitives::sync::Ordering;
use crate::protocols::Facts;

pub const FACTS: Facts = Facts {
    name: "epoch",
    source: "Fraser, Practical lock-freedom, 2004; crate crossbeam-epoch",
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

struct Epoch {
    entries: Vec<Atomic<Box<[u64]>>>,
    bytes: usize,
}

pub fn open<'r>(_region: &'r SharedMemory, size: Size) -> Box<dyn Cache + 'r> {
    let entries = (0..size.keys).map(|_| Atomic::new(payload(1, size.payload_bytes))).collect();
    Box::new(Epoch { entries, bytes: size.payload_bytes })
}

impl Cache for Epoch {
    fn operate(&self, operation: Operation, worker: &Worker) -> bool {
        let entry = &self.entries[operation.key as usize];
        worker.whole(operation, |operation| {
            let guard = pin();
            if operation.update {
                let fresh = Owned::new(payload(worker.nonce(), self.bytes));
                let old = entry.swap(fresh, Ordering::AcqRel, &guard);
                // SAFETY: `old` is no longer reachable from the entry, and each swap defers its own.
                unsafe { guard.defer_destroy(old) };
                worker.hold(operation.long);
                return true;
            }
            // SAFETY: never null, and freed only after this guard is dropped.
            let found = unsafe { entry.load(Ordering::Acquire, &guard).as_ref() };
            let good = found.is_some_and(|payload| intact(payload));
            worker.hold(operation.long);
            good
        })
    }
}

impl Drop for Epoch {
    fn drop(&mut self) {
        for entry in &mut self.entries {
            // SAFETY: no worker is left, so the entry's payload is owned here alone.
            drop(unsafe { std::mem::take(entry).into_owned() });
        }
    }
}
