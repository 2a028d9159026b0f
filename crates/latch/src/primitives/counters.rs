//! The counters of workers, in shared memory, so that they outlive the workers. Each cell has one writer.

use std::sync::atomic::compiler_fence;

use super::slot::Wait;
use super::sync::{AtomicU32, AtomicU64, Ordering};

/// A number with one writer: a plain addition, readable by others at any time.
#[derive(Default)]
pub struct Count(AtomicU64);

impl Count {
    #[inline]
    pub fn add(&self, amount: u64) {
        self.0.store(self.0.load(Ordering::Relaxed) + amount, Ordering::Relaxed);
    }

    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    pub fn set(&self, value: u64) {
        self.0.store(value, Ordering::Relaxed);
    }
}

/// One worker's gets of one latch, as Oracle counts them; on lines that nobody else writes, those first
/// that every get writes.
#[derive(Default)]
#[repr(C, align(128))]
pub struct Counters {
    /// The count under the latch after its last exclusive get.
    left: Count,
    /// The part of `left` that other workers counted.
    others: Count,
    pub shared: Count,
    /// Exclusive gets whose previous holder was another worker.
    pub hand_overs: Count,
    /// Gets whose first try failed.
    pub misses: Count,
    /// Misses that never slept.
    pub spin_gets: Count,
    pub sleeps: Count,
    /// Slept; spins excluded.
    pub wait_ns: Count,
    /// Exclusive gets before it was measured.
    warm_up: Count,
}

impl Counters {
    /// An exclusive get that found `before` under the latch: as the last one left it, unless another was there.
    #[inline]
    pub fn got_exclusive(&self, before: u64, wait: Wait) {
        let left = self.left.get();
        self.left.set(before + 1);
        // killed in between it has too many, by what the others got since its last; never too few, which would be
        // less than none
        compiler_fence(Ordering::Release);
        if before != left {
            // less where an update was lost: its own gets come to the right number all the same
            self.others.set(self.others.get().wrapping_add(before).wrapping_sub(left));
            self.hand_overs.add(1);
        }
        self.waited(wait);
    }

    #[inline]
    pub fn got_shared(&self, wait: Wait) {
        self.shared.add(1);
        self.waited(wait);
    }

    #[inline]
    fn waited(&self, wait: Wait) {
        if wait.missed() {
            self.misses.add(1);
            if wait.sleeps() == 0 {
                self.spin_gets.add(1);
            } else {
                self.sleeps.add(wait.sleeps());
                self.wait_ns.add(wait.slept_ns);
            }
        }
    }

    /// Gets that exclude all others, of the whole point: equal to the count under the latch.
    pub fn exclusive(&self) -> u64 {
        self.left.get().wrapping_sub(self.others.get())
    }

    pub fn gets(&self) -> u64 {
        self.exclusive() - self.warm_up.get() + self.shared.get()
    }

    /// The measurement begins here.
    pub fn restart(&self) {
        self.warm_up.set(self.exclusive());
        let Self { shared, hand_overs, misses, spin_gets, sleeps, wait_ns, .. } = self;
        for count in [shared, hand_overs, misses, spin_gets, sleeps, wait_ns] {
            count.set(0);
        }
    }
}

/// The record of one worker, which outlives its death.
#[derive(Default)]
#[repr(align(128))]
pub struct Record {
    pub ready: AtomicU32,
    /// Lookups, warm-up included.
    pub done: Count,
    /// Payloads that did not match their checksum.
    pub torn: Count,
    pub user_ns: Count,
    pub system_ns: Count,
    pub voluntary: Count,
    pub involuntary: Count,
}
