//! The registry: all latches and caches by name, one line each.

use crate::caches::latched::Latched;
use crate::caches::{Cache, Size, crossbeam_epoch, dashmap, moka, quick_cache};
use crate::calibrate::latches::LatchCosts;
use crate::primitives::shared_memory::SharedMemory;
use crate::protocols::cna::Cna;
use crate::protocols::lwlock::LwLock;
use crate::protocols::mcs::Mcs;
use crate::protocols::oracle_sx::OracleSx;
use crate::protocols::oracle_x::OracleX;
use crate::protocols::reader_slots::ReaderSlots;
use crate::protocols::robust_mutex::RobustMutex;
use crate::protocols::seqlock::Seqlock;
use crate::protocols::ticket::Ticket;
use crate::protocols::{Facts, Latch};

/// Builds a cache in shared memory, which outlives it.
type Open = for<'r> fn(&'r SharedMemory, Size) -> Box<dyn Cache + 'r>;

/// A latch with a cache under it, or a whole cache.
pub struct Protocol {
    pub facts: Facts,
    pub open: Open,
    /// Measures the latch without a cache; `None` for whole caches.
    pub costs: Option<LatchCosts>,
}

const fn latch<L: Latch + 'static>() -> Protocol {
    Protocol { facts: L::FACTS, open: open::<L>, costs: Some(LatchCosts::of::<L>()) }
}

fn open<'r, L: Latch + 'static>(memory: &'r SharedMemory, size: Size) -> Box<dyn Cache + 'r> {
    Box::new(Latched::<L>::new(memory, size))
}

const fn whole(facts: Facts, open: Open) -> Protocol {
    Protocol { facts, open, costs: None }
}

pub static PROTOCOLS: &[Protocol] = &[
    latch::<OracleX>(),
    latch::<OracleSx>(),
    latch::<LwLock>(),
    latch::<Ticket>(),
    latch::<Mcs>(),
    latch::<Cna>(),
    latch::<ReaderSlots>(),
    latch::<Seqlock>(),
    latch::<RobustMutex>(),
    latch::<std::sync::Mutex<()>>(),
    latch::<std::sync::RwLock<()>>(),
    latch::<parking_lot::Mutex<()>>(),
    whole(crossbeam_epoch::FACTS, crossbeam_epoch::open),
    whole(moka::FACTS, moka::open),
    whole(quick_cache::FACTS, quick_cache::open),
    whole(dashmap::FACTS, dashmap::open),
];

pub fn find(name: &str) -> Option<&'static Protocol> {
    PROTOCOLS.iter().find(|protocol| protocol.facts.name == name)
}

/// Name and costs of each latch; whole caches have none.
pub fn latches() -> Vec<(&'static str, LatchCosts)> {
    PROTOCOLS.iter().filter_map(|protocol| Some((protocol.facts.name, protocol.costs?))).collect()
}
