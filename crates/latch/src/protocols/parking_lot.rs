//! parking_lot's mutex: adaptive spin, then parked in a table of this process; threads only.

use super::{Facts, Latch};
use crate::primitives::slot::{Me, Mode, Wait};

impl Latch for parking_lot::Mutex<()> {
    const FACTS: Facts = Facts {
        name: "parking-lot",
        source: "crate parking_lot, Mutex",
        processes: false,
        shared: false,
        misses: true,
        sleeps: false,
        spin: 0,
        spins: 1,
        in_turn: false,
        mends: false,
        children: true,
    };

    fn new(_index: u32) -> Self {
        Self::new(())
    }

    #[inline]
    fn section<R>(&self, _mode: Mode, _me: &Me, mut body: impl FnMut(Wait) -> R) -> (R, Wait) {
        let (_guard, wait) = match self.try_lock() {
            Some(guard) => (guard, Wait::default()),
            None => (self.lock(), Wait::MISSED),
        };
        (body(wait), wait)
    }
}
