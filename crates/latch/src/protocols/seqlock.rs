//! The sequence lock: a writer makes the number odd, changes, makes it even; a reader writes nothing
//! and reads again when the number has moved. Readers may starve; writers queue at an exclusive latch.

use super::oracle_x::OracleX;
use super::{Facts, Held, Latch};
use crate::primitives::slot::{Me, Mode, Wait};
use crate::primitives::sync::{AtomicU64, Ordering, fence, give_way, relax};

/// Tries before it yields the CPU: the writer may have been preempted.
const TRIES: u32 = 1_000;

pub struct Seqlock {
    sequence: AtomicU64,
    queue: OracleX,
}

impl Seqlock {
    fn read<R>(&self, mut body: impl FnMut(Wait) -> R) -> (R, Wait) {
        let mut wait = Wait::default();
        let mut tries = 0_u32;
        loop {
            let before = self.sequence.load(Ordering::Acquire);
            if before & 1 == 0 {
                let result = body(wait);
                fence(Ordering::Acquire);
                if self.sequence.load(Ordering::Relaxed) == before {
                    return (result, wait);
                }
            }
            wait = Wait::MISSED;
            tries += 1;
            if tries.is_multiple_of(TRIES) { give_way() } else { relax() }
        }
    }

    fn write<R>(&self, me: &Me, mut body: impl FnMut(Wait) -> R) -> (R, Wait) {
        self.queue.section(Mode::Exclusive, me, |wait| {
            let before = self.sequence.load(Ordering::Relaxed);
            self.sequence.store(before + 1, Ordering::Relaxed);
            fence(Ordering::Release);
            let result = body(wait);
            self.sequence.store(before + 2, Ordering::Release);
            result
        })
    }
}

impl Latch for Seqlock {
    const FACTS: Facts = Facts {
        name: "seqlock",
        source: "Linux, Documentation/locking/seqlock.rst; Boehm, Can seqlocks get along with programming language memory models?, 2012",
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
        Self { sequence: AtomicU64::new(0), queue: Held::new(index) }
    }

    #[inline]
    fn section<R>(&self, mode: Mode, me: &Me, body: impl FnMut(Wait) -> R) -> (R, Wait) {
        match mode {
            Mode::Shared => self.read(body),
            Mode::Exclusive => self.write(me, body),
        }
    }

    /// A writer died within: its number is made even before the next writer comes.
    fn mend(&self, dead: u32, me: &Me) {
        if self.queue.owned_by(dead) {
            let sequence = self.sequence.load(Ordering::Relaxed);
            self.sequence.store(sequence + (sequence & 1), Ordering::Release);
        }
        Held::mend(&self.queue, dead, me);
    }
}
