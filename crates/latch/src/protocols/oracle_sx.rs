//! Oracle's shared latch: modes S and X in one word, 2,000 iterations spun twice, then the FIFO list; a
//! waiting X holds back new S.

use super::Facts;
use super::queued::{Policy, Queued};

pub struct SharedExclusive;
pub type OracleSx = Queued<SharedExclusive>;

impl Policy for SharedExclusive {
    const FACTS: Facts = Facts {
        name: "oracle-sx",
        source: "A. Nikolaev, Exploring Oracle RDBMS latches using Solaris DTrace, 2011",
        processes: true,
        shared: true,
        misses: true,
        sleeps: true,
        spin: 2_000,
        spins: 2,
        in_turn: false,
        mends: true,
        children: true,
    };
    const EXCLUSIVE_FIRST: bool = true;
    const ONE_WAKE: bool = false;
}
