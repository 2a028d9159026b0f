//! The ticket lock: take a number, wait until it is served. FIFO, and so it stands still whenever the
//! next in turn has no CPU.

use super::{Facts, Held};
use crate::primitives::slot::{Me, Mode, Wait};
use crate::primitives::sync::{AtomicU32, Ordering, relax};

pub struct Ticket {
    next: AtomicU32,
    serving: AtomicU32,
    index: u32,
}

impl Held for Ticket {
    const FACTS: Facts = Facts {
        name: "ticket",
        source: "Mellor-Crummey and Scott, Algorithms for scalable synchronization, 1991",
        processes: true,
        shared: false,
        misses: true,
        sleeps: true,
        spin: 0,
        spins: 1,
        in_turn: true,
        mends: false,
        children: true,
    };

    fn new(index: u32) -> Self {
        Self { next: AtomicU32::new(0), serving: AtomicU32::new(0), index }
    }

    #[inline]
    fn try_get(&self, _mode: Mode, _me: &Me) -> bool {
        let serving = self.serving.load(Ordering::Acquire);
        let after = serving.wrapping_add(1);
        self.next.compare_exchange(serving, after, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    fn wait_get(&self, _mode: Mode, me: &Me) -> Wait {
        me.begin_wait(self.index);
        let ticket = self.next.fetch_add(1, Ordering::Relaxed);
        while self.serving.load(Ordering::Acquire) != ticket {
            relax();
        }
        me.end_wait();
        Wait::MISSED
    }

    #[inline]
    fn release(&self, _mode: Mode, _me: &Me) {
        let serving = self.serving.load(Ordering::Relaxed);
        self.serving.store(serving.wrapping_add(1), Ordering::Release);
    }
}
