//! Worker slots: the words of each worker that other workers read and write, found by its number.

use super::sync::{AtomicU32, Ordering, Parker};

/// The mode of a get.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    Shared,
    Exclusive,
}

/// The cost of a get beyond its first try. Two numbers stay in registers; a third one would go through memory,
/// and every get would wait for it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Wait {
    /// 1 plus the sleeps of a miss; 0: the first try succeeded.
    tries: u64,
    pub slept_ns: u64,
}

impl Wait {
    /// A miss that may yet sleep.
    pub const MISSED: Self = Self { tries: 1, slept_ns: 0 };

    /// The first try failed.
    #[inline]
    pub fn missed(self) -> bool {
        self.tries > 0
    }

    pub fn sleeps(self) -> u64 {
        self.tries.saturating_sub(1)
    }

    pub fn slept(&mut self, slept_ns: Option<u64>) {
        if let Some(slept_ns) = slept_ns {
            self.tries += 1;
            self.slept_ns += slept_ns;
        }
    }
}

/// A worker as others see it. A worker waits for one latch at a time, so one node is enough for
/// every queue. Numbers, never addresses: 0 is no worker, worker `w` is `w + 1`.
#[repr(align(128))]
#[derive(Default)]
pub struct Slot {
    pub parker: Parker,
    /// The one behind in a queue.
    pub next: AtomicU32,
    /// The latch + 1 in whose queue it is.
    pub queued: AtomicU32,
    /// Waits for exclusive use.
    pub exclusive: AtomicU32,
    /// Queues of nodes: 1 while it must wait.
    pub locked: AtomicU32,
    /// Group of the last holder's node (CNA), and the head and tail of those passed over.
    pub passed_head: AtomicU32,
    pub passed_tail: AtomicU32,
    /// The latch + 1 of which it holds a share.
    pub share: AtomicU32,
    /// The entry + 1 that it is changing.
    pub writing: AtomicU32,
    /// It is within a section of the latch + 1.
    pub holding: AtomicU32,
    /// It waits for the latch + 1.
    pub waiting: AtomicU32,
}

/// The worker itself.
#[derive(Clone, Copy)]
pub struct Me<'a> {
    /// From 0.
    pub number: u32,
    pub slots: &'a [Slot],
    /// Iterations of a bounded spin.
    pub spin: u32,
    /// Number of groups of workers, standing for NUMA nodes.
    pub groups: u32,
}

impl<'a> Me<'a> {
    pub fn slot(&self) -> &'a Slot {
        &self.slots[self.number as usize]
    }

    /// As in latch words, where 0 is no worker.
    pub fn id(&self) -> u32 {
        self.number + 1
    }

    /// The slot of an id.
    pub fn of(&self, id: u32) -> &'a Slot {
        &self.slots[id as usize - 1]
    }

    pub fn group(&self, id: u32) -> u32 {
        (id - 1) % self.groups
    }

    /// Publishes that it waits, so that others can repair the latch after its death.
    pub fn begin_wait(&self, latch: u32) {
        self.slot().waiting.store(latch + 1, Ordering::Relaxed);
    }

    pub fn end_wait(&self) {
        self.slot().waiting.store(0, Ordering::Relaxed);
    }
}
