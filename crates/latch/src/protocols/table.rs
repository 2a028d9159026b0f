//! The table of names.

use super::cna::Cna;
use super::lwlock::LwLock;
use super::mcs::Mcs;
use super::oracle_sx::OracleSx;
use super::oracle_x::OracleX;
use super::reader_slots::ReaderSlots;
use super::robust_mutex::RobustMutex;
use super::seqlock::Seqlock;
use super::ticket::Ticket;
use super::{Facts, Latch, crossbeam_epoch, dashmap, moka, quick_cache};
use crate::alone::{self, Saturated};
use crate::cache::{Cache, Latched};
use crate::plan::Plan;
use crate::region::Region;

/// One line of the table.
pub struct Protocol {
    pub facts: Facts,
    pub open: for<'r> fn(&'r Region, &Plan) -> Box<dyn Cache + 'r>,
    /// The latch by itself; `None` for whole caches.
    pub alone: Option<Alone>,
}

/// A latch without a cache, to be timed; with counters or without.
#[derive(Clone, Copy)]
pub struct Alone {
    pub uncontended_ns: fn(u64, bool) -> f64,
    pub saturated: fn([usize; 2], u64, bool) -> Option<Saturated>,
    pub hand_over_ns: fn([usize; 2], u64, bool) -> Option<f64>,
}

const fn latch<L: Latch + 'static>() -> Protocol {
    let alone = Alone {
        uncontended_ns: alone::uncontended_ns::<L>,
        saturated: alone::saturated::<L>,
        hand_over_ns: alone::hand_over_ns::<L>,
    };
    Protocol { facts: L::FACTS, open: open::<L>, alone: Some(alone) }
}

fn open<'r, L: Latch + 'static>(region: &'r Region, plan: &Plan) -> Box<dyn Cache + 'r> {
    Box::new(Latched::<L>::new(region, plan))
}

const fn whole(facts: Facts, open: for<'r> fn(&'r Region, &Plan) -> Box<dyn Cache + 'r>) -> Protocol {
    Protocol { facts, open, alone: None }
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
