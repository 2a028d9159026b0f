//! A slot for each reader, as in BRAVO with its bias never taken back: a reader writes only its own
//! line; a writer raises a flag and looks into every slot. Writers, and readers that find the flag
//! raised, queue at an exclusive latch.

use super::oracle_x::OracleX;
use super::{Facts, Held};
use crate::primitives::slot::{Me, Mode, Wait};
use crate::primitives::sync::{AtomicU32, Ordering, fence, give_way, relax};

/// Looks at a slot before it yields the CPU: its reader may have been preempted.
const TRIES: u32 = 1_000;

pub struct ReaderSlots {
    writer: AtomicU32,
    queue: OracleX,
    index: u32,
}

impl ReaderSlots {
    /// Both sides publish, then look: with full fences at least one of them sees the other.
    #[inline]
    fn enter(&self, me: &Me) -> bool {
        let share = &me.slot().share;
        // a swap is a store with a full fence at the price of one
        share.swap(self.index + 1, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        self.writer.load(Ordering::Acquire) == 0
    }

    fn drain(&self, me: &Me) {
        self.writer.store(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        for slot in me.slots {
            let mut tries = 0_u32;
            while slot.share.load(Ordering::Acquire) == self.index + 1 {
                tries += 1;
                if tries.is_multiple_of(TRIES) { give_way() } else { relax() }
            }
        }
    }
}

impl Held for ReaderSlots {
    const FACTS: Facts = Facts {
        name: "reader-slots",
        source: "Dice and Kogan, BRAVO: biased locking for reader-writer locks, arXiv 1810.01553",
        processes: true,
        shared: true,
        misses: true,
        sleeps: true,
        spin: 20_000,
        spins: 1,
        in_turn: false,
        mends: true,
        children: true,
    };

    fn new(index: u32) -> Self {
        Self { writer: AtomicU32::new(0), queue: Held::new(index), index }
    }

    #[inline]
    fn try_get(&self, mode: Mode, me: &Me) -> bool {
        match mode {
            Mode::Shared => {
                let got = self.enter(me);
                if !got {
                    me.slot().share.store(0, Ordering::Release);
                }
                got
            }
            Mode::Exclusive => {
                let got = self.queue.try_get(mode, me);
                if got {
                    self.drain(me);
                }
                got
            }
        }
    }

    fn wait_get(&self, mode: Mode, me: &Me) -> Wait {
        let wait = self.queue.wait_get(Mode::Exclusive, me);
        match mode {
            Mode::Exclusive => self.drain(me),
            Mode::Shared => {
                // no writer while the queue's latch is held
                me.slot().share.store(self.index + 1, Ordering::Relaxed);
                self.queue.release(Mode::Exclusive, me);
            }
        }
        wait
    }

    #[inline]
    fn release(&self, mode: Mode, me: &Me) {
        match mode {
            Mode::Shared => me.slot().share.store(0, Ordering::Release),
            Mode::Exclusive => {
                self.writer.store(0, Ordering::Release);
                self.queue.release(mode, me);
            }
        }
    }

    /// The slot of a dead reader is emptied, the flag of a dead writer lowered.
    fn mend(&self, dead: u32, me: &Me) {
        let held = self.index + 1;
        let share = &me.of(dead).share;
        if self.queue.owned_by(dead) {
            self.writer.store(0, Ordering::Release);
        }
        let _ = share.compare_exchange(held, 0, Ordering::Release, Ordering::Relaxed);
        self.queue.mend(dead, me);
    }
}
