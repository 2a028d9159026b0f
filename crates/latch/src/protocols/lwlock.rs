//! PostgreSQL's lightweight lock: compare and swap, enqueue, try once more, sleep; it does not spin, and
//! a release wakes nobody while one woken has not tried yet.

use super::Facts;
use super::queued::{Policy, Queued};

pub struct Lightweight;
pub type LwLock = Queued<Lightweight>;

impl Policy for Lightweight {
    const FACTS: Facts = Facts {
        name: "lwlock",
        source: "PostgreSQL 9.5 and later, src/backend/storage/lmgr/lwlock.c",
        processes: true,
        shared: true,
        misses: true,
        sleeps: true,
        spin: 0,
        spins: 1,
        in_turn: false,
        mends: true,
        children: true,
    };
    const EXCLUSIVE_FIRST: bool = false;
    const ONE_WAKE: bool = true;
}
