//! Oracle's exclusive latch, 9.2 to 11.2: test and test-and-set for up to 20,000 iterations, then a
//! FIFO list, asleep until posted; a post is not a grant.

use super::Facts;
use super::queued::{Policy, Queued};

pub struct Exclusive;
pub type OracleX = Queued<Exclusive>;

impl Policy for Exclusive {
    const FACTS: Facts = Facts {
        name: "oracle-x",
        source: "A. Nikolaev, Exploring Oracle RDBMS latches using Solaris DTrace, 2011",
        processes: true,
        shared: false,
        misses: true,
        sleeps: true,
        spin: 20_000,
        spins: 1,
        in_turn: false,
        mends: true,
        children: true,
    };
    const EXCLUSIVE_FIRST: bool = false;
    const ONE_WAKE: bool = false;
}
