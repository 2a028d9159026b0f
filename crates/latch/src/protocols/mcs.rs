//! The MCS lock: a queue of nodes, each waiter spinning on its own, so that a hand-over moves one line
//! to the waiter and its link to the holder. A dead waiter blocks the queue.

use super::{Facts, Held};
use crate::primitives::slot::{Me, Mode, Wait};
use crate::primitives::sync::{AtomicU32, Ordering, relax};

pub struct Mcs {
    tail: AtomicU32,
    index: u32,
}

impl Held for Mcs {
    const FACTS: Facts = Facts {
        name: "mcs",
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
        Self { tail: AtomicU32::new(0), index }
    }

    #[inline]
    fn try_get(&self, _mode: Mode, me: &Me) -> bool {
        me.slot().next.store(0, Ordering::Relaxed);
        self.tail.compare_exchange(0, me.id(), Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    fn wait_get(&self, _mode: Mode, me: &Me) -> Wait {
        let slot = me.slot();
        me.begin_wait(self.index);
        slot.locked.store(1, Ordering::Relaxed);
        let before = self.tail.swap(me.id(), Ordering::AcqRel);
        if before != 0 {
            me.of(before).next.store(me.id(), Ordering::Release);
            while slot.locked.load(Ordering::Acquire) == 1 {
                relax();
            }
        }
        me.end_wait();
        Wait::MISSED
    }

    #[inline]
    fn release(&self, _mode: Mode, me: &Me) {
        let slot = me.slot();
        let mut next = slot.next.load(Ordering::Acquire);
        if next == 0 {
            if self.tail.compare_exchange(me.id(), 0, Ordering::Release, Ordering::Relaxed).is_ok() {
                return;
            }
            // the next waiter has joined and not yet linked itself
            while next == 0 {
                relax();
                next = slot.next.load(Ordering::Acquire);
            }
        }
        me.of(next).locked.store(0, Ordering::Release);
    }
}
