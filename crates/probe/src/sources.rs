//! Sources by name: which events each needs, and what their records say.

use serde::Deserialize;

use crate::error::SourceError;
use crate::event::Kind;
use crate::plan::Plan;
use crate::tracepoint::Tracepoint;

/// Frames that are enough to get past the locks' own functions.
const LOCK_FRAMES: u16 = 16;
/// The bits of sched_switch's prev_state that say why a thread does not go on; 0: it would.
const NOT_RUNNABLE: u64 = 0xff;

/// What a window is for: a source records in windows of its own purpose alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Purpose {
    /// The measured phase: what costs next to nothing.
    Measure,
    /// A stretch that is not measured: what costs more.
    Watch,
}

/// What a record says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fact {
    Waits { lock: u64, flags: u64 },
    Waited { lock: u64 },
    Switched { from: u32, runnable: bool, to: u32 },
    Woken(u32),
    Migrated(u32),
}

pub type Reader = std::sync::Arc<dyn Fn(&[u8]) -> Fact + Send + Sync>;

/// A tracepoint that a source reads.
pub struct Reading {
    pub id: u16,
    frames: u16,
    pub reader: Reader,
}

/// A source that this kernel has. clock_hz: samples a second of each CPU, 0: none.
pub struct Source {
    pub name: &'static str,
    pub purpose: Purpose,
    clock_hz: u32,
    pub readings: Vec<Reading>,
}

impl Source {
    /// The events to open on each CPU.
    pub fn kinds(&self) -> impl Iterator<Item = Kind> + '_ {
        let clock = (self.clock_hz > 0).then_some(Kind::Clock { hz: self.clock_hz });
        clock.into_iter().chain(self.readings.iter().map(|r| Kind::Tracepoint { id: r.id, frames: r.frames }))
    }
}

type Found = Result<Source, SourceError>;

/// The sources of a plan, as far as this kernel has them.
pub fn asked(plan: &Plan) -> Vec<(&'static str, Found)> {
    let profile = || {
        let clock_hz = plan.profile_hz;
        Ok(Source { name: "profile", purpose: Purpose::Measure, clock_hz, readings: Vec::new() })
    };
    [
        (plan.profile_hz > 0).then(|| ("profile", profile())),
        plan.locks.then(|| ("locks", locks())),
        plan.sched.then(|| ("sched", sched())),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn locks() -> Found {
    let begin = Tracepoint::find("lock/contention_begin")?;
    let end = Tracepoint::find("lock/contention_end")?;
    let (lock, flags, ended) = (begin.number("lock_addr"), begin.number("flags"), end.number("lock_addr"));
    Ok(Source {
        name: "locks",
        purpose: Purpose::Measure,
        clock_hz: 0,
        readings: vec![
            reading(&begin, LOCK_FRAMES, move |raw| Fact::Waits { lock: lock(raw), flags: flags(raw) }),
            reading(&end, 0, move |raw| Fact::Waited { lock: ended(raw) }),
        ],
    })
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
    Ok(Source {
        name: "sched",
        purpose: Purpose::Watch,
        clock_hz: 0,
        readings: vec![
            reading(&switch, 0, switched),
            reading(&wakeup, 0, move |raw| Fact::Woken(woken(raw) as u32)),
            reading(&first, 0, move |raw| Fact::Woken(born(raw) as u32)),
            reading(&migrate, 0, move |raw| Fact::Migrated(moved(raw) as u32)),
        ],
    })
}

fn reading(
    point: &Tracepoint,
    frames: u16,
    reader: impl Fn(&[u8]) -> Fact + Send + Sync + 'static,
) -> Reading {
    Reading { id: point.id, frames, reader: std::sync::Arc::new(reader) }
}
