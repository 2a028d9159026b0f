//! The sources: the events that each needs, and the facts in their records.

pub mod acquire;
pub mod semaphore;
pub mod source;

use crate::error::SourceError;
use crate::perf::tracepoint::Tracepoint;
use crate::plan::{Plan, ServerLatches};
use crate::symbols::program::Program;
use acquire::{Acquire, TRANCHE};
use semaphore::{EVENT, Semaphore};
use source::{Extractor, Fact, Purpose, Source};

/// Frames that are enough to reach the caller of the locks' own functions.
const LOCK_FRAMES: u16 = 16;
/// The bits of sched_switch's prev_state with the reason why a thread is not runnable; 0: it is.
const NOT_RUNNABLE: u64 = 0xff;
/// One get of a latch in so many is recorded: hundreds of thousands per second would fill the rings. A prime, so
/// that no pattern of gets in a transaction keeps step with it.
const GETS_ONE_IN: u32 = 31;

type Found = Result<Source, SourceError>;

/// The sources of a plan by name; an error where this kernel does not have one.
pub fn requested(plan: &Plan) -> Vec<(&'static str, Found)> {
    let profile = || {
        let clock_hz = plan.profile_hz;
        Ok(Source { clock_hz, ..Source::new("profile", Purpose::Measure, Vec::new()) })
    };
    [
        (plan.profile_hz > 0).then(|| ("profile", profile())),
        plan.locks.then(|| ("locks", locks())),
        plan.sched.then(|| ("sched", sched())),
        plan.latches.as_ref().filter(|server| server.sleeps).map(|server| ("latches", latches(server))),
        plan.latches.as_ref().filter(|server| server.gets).map(|server| ("gets", gets(server))),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn locks() -> Found {
    let begin = Tracepoint::find("lock/contention_begin")?;
    let end = Tracepoint::find("lock/contention_end")?;
    let (lock, flags, ended) = (begin.number("lock_addr"), begin.number("flags"), end.number("lock_addr"));
    let extractors = vec![
        Extractor::new(&begin, LOCK_FRAMES, move |raw| Fact::Waits { lock: lock(raw), flags: flags(raw) }),
        Extractor::new(&end, 0, move |raw| Fact::Waited { lock: ended(raw) }),
    ];
    Ok(Source::new("locks", Purpose::Measure, extractors))
}

fn latches(server: &ServerLatches) -> Found {
    let Semaphore { begin, end, uprobes } =
        Semaphore::probe(&Program::open(&server.program)?, &server.group)?;
    let event = begin.number(EVENT);
    let extractors = vec![
        Extractor::new(&begin, 0, move |raw| Fact::Sleeps { event: event(raw) as u32 }),
        Extractor::new(&end, 0, |_| Fact::Slept),
    ];
    Ok(Source { uprobes: Some(uprobes), ..Source::new("latches", Purpose::Measure, extractors) })
}

fn gets(server: &ServerLatches) -> Found {
    let Acquire { gets, uprobes } = Acquire::probe(&Program::open(&server.program)?, &server.group)?;
    let extractors = gets
        .iter()
        .map(|point| {
            let tranche = point.number(TRANCHE);
            let fact = move |raw: &[u8]| Fact::Gets { tranche: tranche(raw) as u32, count: GETS_ONE_IN };
            Extractor { one_in: GETS_ONE_IN, ..Extractor::new(point, 0, fact) }
        })
        .collect();
    Ok(Source { uprobes: Some(uprobes), ..Source::new("gets", Purpose::LatchCount, extractors) })
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
    let extractors = vec![
        Extractor::new(&switch, 0, switched),
        Extractor::new(&wakeup, 0, move |raw| Fact::Woken(woken(raw) as u32)),
        Extractor::new(&first, 0, move |raw| Fact::Woken(born(raw) as u32)),
        Extractor::new(&migrate, 0, move |raw| Fact::Migrated(moved(raw) as u32)),
    ];
    Ok(Source::new("sched", Purpose::SchedulingTrace, extractors))
}
