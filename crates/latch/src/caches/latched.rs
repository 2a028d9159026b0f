//! The cache under one latch, or under child latches.

use super::child::Child;
use super::entries::Entries;
use super::operation::{Operation, child_of};
use super::worker::Worker;
use super::{Cache, Size};
use crate::primitives::shared_memory::SharedMemory;
use crate::primitives::slot::Me;
use crate::primitives::sync::Ordering;
use crate::protocols::Latch;

/// The cache under one latch, or under child latches by the hash of the key.
pub struct Latched<'r, L> {
    entries: Entries<'r>,
    children: &'r [Child<L>],
}

impl<'r, L: Latch> Latched<'r, L> {
    pub fn new(memory: &'r SharedMemory, size: Size) -> Self {
        Self { entries: Entries::new(memory, size), children: memory.place(size.children, Child::new) }
    }

    /// The work under the latch; whether the payload matched its checksum.
    #[inline]
    fn visit(&self, operation: Operation, last: bool, worker: &Worker) -> bool {
        let good = match self.entries.find(operation.key) {
            Some(entry) if last && operation.update => {
                let writing = &worker.me.slot().writing;
                writing.store(entry as u32 + 1, Ordering::Relaxed);
                self.entries.write(entry, worker.nonce());
                writing.store(0, Ordering::Relaxed);
                true
            }
            Some(entry) if last => self.entries.read(entry),
            found => found.is_some(),
        };
        worker.hold(operation.long && last);
        good
    }
}

impl<L: Latch> Cache for Latched<'_, L> {
    fn operate(&self, operation: Operation, worker: &Worker) -> bool {
        let number = child_of(operation.key, self.children.len());
        let holding = &worker.me.slot().holding;
        let mut sound = true;
        for get in 1..=worker.gets {
            let last = get == worker.gets;
            let mode = Child::<L>::mode(operation.update && last);
            let begin_ns = worker.look_ns();
            sound &= self.children[number].get(mode, worker, |wait| {
                let got_ns = worker.look_ns();
                holding.store(number as u32 + 1, Ordering::Relaxed);
                let good = self.visit(operation, last, worker);
                holding.store(0, Ordering::Relaxed);
                worker.note(wait, begin_ns, got_ns);
                good
            });
        }
        sound
    }

    /// Rewrites an entry that the dead worker left half changed, before another worker can read it.
    fn mend(&self, dead: u32, me: &Me) {
        if let Some(entry) = me.of(dead).writing.swap(0, Ordering::Relaxed).checked_sub(1) {
            self.entries.write(entry as usize, 2);
        }
        self.children.iter().for_each(|child| child.mend(dead, me));
    }

    fn guarded(&self) -> u64 {
        self.children.iter().map(|child| child.guarded()).sum()
    }
}
