//! The latches: one small trait, one file per protocol.

use crate::primitives::slot::{Me, Mode, Wait};

pub mod cna;
pub mod lwlock;
pub mod mcs;
pub mod oracle_sx;
pub mod oracle_x;
pub mod queued;
pub mod reader_slots;
pub mod seqlock;
pub mod ticket;

#[cfg(not(feature = "loom"))]
pub mod parking_lot;
#[cfg(not(feature = "loom"))]
pub mod robust_mutex;
#[cfg(not(feature = "loom"))]
pub mod std_mutex;
#[cfg(not(feature = "loom"))]
pub mod std_rwlock;

/// The properties of a protocol.
#[derive(Debug, Clone, Copy)]
pub struct Facts {
    pub name: &'static str,
    pub source: &'static str,
    /// Works between processes over shared memory.
    pub processes: bool,
    /// Readers do not exclude each other.
    pub shared: bool,
    /// Its misses and sleeps are visible from outside.
    pub misses: bool,
    pub sleeps: bool,
    /// Iterations of its bounded spin unless the plan says otherwise; 0: it has none.
    pub spin: u32,
    /// How many times it spends the spin budget before it sleeps.
    pub spins: u32,
    /// Queues in which waiters get the latch in order and never sleep; else the first one that tries gets it.
    pub in_turn: bool,
    /// Recovers after the death of a worker at any point.
    pub mends: bool,
    /// Takes child latches; false for whole caches, which have their own partitions.
    pub children: bool,
}

/// A latch: sections that exclude each other as their modes demand.
pub trait Latch: Sync {
    const FACTS: Facts;

    /// A free latch; `index` tells it from the others that the same workers use.
    fn new(index: u32) -> Self;

    /// Runs `body` once under the latch; an optimistic reader may run it again until it saw no change.
    fn section<R>(&self, mode: Mode, me: &Me, body: impl FnMut(Wait) -> R) -> (R, Wait);

    /// After the death of worker `dead` (an id): undoes what it left, where that is known; posts the waiters.
    fn mend(&self, _dead: u32, _me: &Me) {}
}

/// A latch with a get and a release.
pub trait Held: Sync {
    const FACTS: Facts;

    fn new(index: u32) -> Self;

    /// The first try.
    fn try_get(&self, mode: Mode, me: &Me) -> bool;

    /// Called after a failed first try; returns when the latch is got.
    fn wait_get(&self, mode: Mode, me: &Me) -> Wait;

    fn release(&self, mode: Mode, me: &Me);

    fn mend(&self, _dead: u32, _me: &Me) {}
}

impl<L: Held> Latch for L {
    const FACTS: Facts = L::FACTS;

    fn new(index: u32) -> Self {
        Held::new(index)
    }

    #[inline]
    fn section<R>(&self, mode: Mode, me: &Me, mut body: impl FnMut(Wait) -> R) -> (R, Wait) {
        let wait = if self.try_get(mode, me) { Wait::default() } else { self.wait_get(mode, me) };
        let result = body(wait);
        self.release(mode, me);
        (result, wait)
    }

    fn mend(&self, dead: u32, me: &Me) {
        Held::mend(self, dead, me);
    }
}
