//! The end of a load point: the time limit of workers, and the repair after dead or stuck ones.

use std::time::Duration;

use super::result::Trouble;
use crate::point::state::PointState;
use crate::primitives::sync::{AtomicU32, Ordering};
use crate::workers::Workers;
use crate::workers::processes::Death;

/// After the end of a load point a queue drains one hand-over after another, each perhaps a time slice long.
const DRAIN: Duration = Duration::from_secs(5);

/// How long workers may take to end. A process can be killed; threads get the time in which all of them
/// can hold the latch.
pub fn patience(state: &PointState, running: &Workers) -> Duration {
    let plan = state.plan;
    let hold_ns = plan.hold_tail.map_or(0, |tail| tail.hold_ns).max(plan.hold_ns);
    match running {
        Workers::Processes(_) => DRAIN,
        Workers::Threads(_) => {
            let gets = state.workers as u32 * plan.gets_per_lookup;
            DRAIN + Duration::from_nanos(hold_ns) * gets + Duration::from_nanos(plan.think_ns)
        }
    }
}

/// The message about a worker that is still in a queue.
pub fn stuck(state: &PointState, worker: usize) -> String {
    let after_s = DRAIN.as_secs();
    format!(
        "`{}` was never handed over to worker {worker}, which was still {} {after_s} s after the end of the \
         point",
        state.plan.protocol,
        doing(state, worker)
    )
}

/// The state of a worker, as text for messages.
pub fn doing(state: &PointState, worker: usize) -> String {
    let slot = &state.slots[worker];
    let at = |word: &AtomicU32| word.load(Ordering::Relaxed).checked_sub(1);
    match (at(&slot.holding), at(&slot.waiting)) {
        (Some(latch), _) => format!("holding latch {latch}"),
        (None, Some(latch)) => format!("waiting for latch {latch}"),
        (None, None) => "between gets".into(),
    }
}

/// Repairs the latch after the death of a worker, as far as the protocol can.
pub fn mend(state: &PointState, death: Death) -> Trouble {
    let Death { worker, pid, signal } = death;
    let was = doing(state, worker);
    state.cache.mend(worker as u32 + 1, &state.me(state.workers));
    let mends = state.plan.protocol().facts.mends;
    let after = if mends { "the latch was recovered" } else { "this protocol cannot recover" };
    Trouble {
        code: if mends { "worker-died-recovered" } else { "worker-died" },
        message: format!("worker {worker} (pid {pid}) ended by signal {signal} while {was}; {after}"),
    }
}
