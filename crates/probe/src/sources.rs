//! Sources by name: which events each needs, and what their records say.

use serde::Deserialize;

use crate::acquire::{Acquire, TRANCHE};
use crate::error::SourceError;
use crate::event::Kind;
use crate::plan::{Plan, Sleeper};
use crate::program::Program;
use crate::semaphore::{EVENT, Semaphore};
use crate::tracepoint::Tracepoint;
use crate::uprobes::Uprobes;

/// Frames that are enough to get past the locks' own functions.
const LOCK_FRAMES: u16 = 16;
/// The bits of sched_switch's prev_state that say why a thread does not go on; 0: it would.
const NOT_RUNNABLE: u64 = 0xff;
/// Of the gets of latches one in so many is recorded: hundreds of thousands a second would fill the rings. A
/// prime, so that no pattern of gets in a transaction keeps step with it.
const GETS_ONE_IN: u32 = 31;

/// What a window is for: a source records in windows of its own purpose alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Purpose {
    /// The measured phase: what costs next to nothing.
    Measure,
    /// A stretch that is not measured: what costs more.
    Watch,
    /// Another, for what costs so much that it is in the kernel no longer than its windows: breakpoints cost also
    /// where nothing is recorded.
    Count,
}

/// A stretch in which sources of one purpose record. Times of CLOCK_MONOTONIC.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    pub purpose: Purpose,
    pub point: usize,
    pub start_ns: u64,
    pub end_ns: u64,
}

/// What a record says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fact {
    Waits { lock: u64, flags: u64 },
    Waited { lock: u64 },
    Gets { tranche: u32, count: u32 },
    Sleeps { event: u32 },
    Slept,
    Switched { from: u32, runnable: bool, to: u32 },
    Woken(u32),
    Migrated(u32),
}

pub type Reader = std::sync::Arc<dyn Fn(&[u8]) -> Fact + Send + Sync>;

/// A tracepoint that a source reads.
pub struct Reading {
    pub id: u16,
    frames: u16,
    one_in: u32,
    pub reader: Reader,
}

/// A source that this kernel has. clock_hz: samples a second of each CPU, 0: none; uprobes: its own, which must
/// outlive its events.
pub struct Source {
    pub name: &'static str,
    pub purpose: Purpose,
    clock_hz: u32,
    pub readings: Vec<Reading>,
    _uprobes: Option<Uprobes>,
}

impl Source {
    /// The events to open on each CPU.
    pub fn kinds(&self) -> impl Iterator<Item = Kind> + '_ {
        let clock = (self.clock_hz > 0).then_some(Kind::Clock { hz: self.clock_hz });
        clock.into_iter().chain(self.readings.iter().map(|r| {
            let Reading { id, frames, one_in, .. } = *r;
            Kind::Tracepoint { id, frames, one_in }
        }))
    }
}

type Found = Result<Source, SourceError>;

/// The sources of a plan, as far as this kernel has them.
pub fn asked(plan: &Plan) -> Vec<(&'static str, Found)> {
    let profile = || {
        let clock_hz = plan.profile_hz;
        Ok(Source { clock_hz, ..source("profile", Purpose::Measure, Vec::new()) })
    };
    [
        (plan.profile_hz > 0).then(|| ("profile", profile())),
        plan.locks.then(|| ("locks", locks())),
        plan.sched.then(|| ("sched", sched())),
        plan.latches.as_ref().filter(|sleeper| sleeper.sleeps).map(|sleeper| ("latches", latches(sleeper))),
        plan.latches.as_ref().filter(|sleeper| sleeper.gets).map(|sleeper| ("gets", gets(sleeper))),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn locks() -> Found {
    let begin = Tracepoint::find("lock/contention_begin")?;
    let end = Tracepoint::find("lock/contention_end")?;
    let (lock, flags, ended) = (begin.number("lock_addr"), begin.number("flags"), end.number("lock_addr"));
    let readings = vec![
        reading(&begin, LOCK_FRAMES, move |raw| Fact::Waits { lock: lock(raw), flags: flags(raw) }),
        reading(&end, 0, move |raw| Fact::Waited { lock: ended(raw) }),
    ];
    Ok(source("locks", Purpose::Measure, readings))
}

fn latches(sleeper: &Sleeper) -> Found {
    let Semaphore { begin, end, uprobes } =
        Semaphore::probe(&Program::open(&sleeper.program)?, &sleeper.group)?;
    let event = begin.number(EVENT);
    let readings = vec![
        reading(&begin, 0, move |raw| Fact::Sleeps { event: event(raw) as u32 }),
        reading(&end, 0, |_| Fact::Slept),
    ];
    Ok(Source { _uprobes: Some(uprobes), ..source("latches", Purpose::Measure, readings) })
}

fn gets(sleeper: &Sleeper) -> Found {
    let Acquire { gets, uprobes } = Acquire::probe(&Program::open(&sleeper.program)?, &sleeper.group)?;
    let readings = gets
        .iter()
        .map(|point| {
            let tranche = point.number(TRANCHE);
            let fact = move |raw: &[u8]| Fact::Gets { tranche: tranche(raw) as u32, count: GETS_ONE_IN };
            Reading { one_in: GETS_ONE_IN, ..reading(point, 0, fact) }
        })
        .collect();
    Ok(Source { _uprobes: Some(uprobes), ..source("gets", Purpose::Count, readings) })
}

fn sched() -> Found {
    let switch = Tracepoint::find("sched/sched_switch")?;
    let wakeup = Tracepoint::find("sched/sched_wakeup")?;
    let first = Tracepoint::find("sched/sched_wakeup_new")?;
    let migrate = Tracepoint::find("sched/sched_migrate_task")?;
    let (from, state, to) =
        (switch.number("prev_pid"), switch.number("prev_state"), switch.number("next_pid"));
    let (woken, born, moved) = (wakeup.number("pid"), first.number("pid"), migrate.number("pid"));
    let switched = move |raw: &[u8]| Fact::Switched {
        from: from(raw) as u32,
        runnable: state(raw) & NOT_RUNNABLE == 0,
        to: to(raw) as u32,
    };
    let readings = vec![
        reading(&switch, 0, switched),
        reading(&wakeup, 0, move |raw| Fact::Woken(woken(raw) as u32)),
        reading(&first, 0, move |raw| Fact::Woken(born(raw) as u32)),
        reading(&migrate, 0, move |raw| Fact::Migrated(moved(raw) as u32)),
    ];
    Ok(source("sched", Purpose::Watch, readings))
}

fn source(name: &'static str, purpose: Purpose, readings: Vec<Reading>) -> Source {
    Source { name, purpose, clock_hz: 0, readings, _uprobes: None }
}

fn reading(
    point: &Tracepoint,
    frames: u16,
    reader: impl Fn(&[u8]) -> Fact + Send + Sync + 'static,
) -> Reading {
    Reading { id: point.id, frames, one_in: 1, reader: std::sync::Arc::new(reader) }
}
