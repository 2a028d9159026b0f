//! The closed loop of one worker, the same in a thread and in a process.

use steelyard_engine::clock::now_ns;
use steelyard_engine::pinning::pin;
use steelyard_engine::usage::usage;

use super::draws::draw;
use crate::caches::worker::Timed;
use crate::point::state::PointState;
use crate::primitives::cpu::busy;
use crate::primitives::sync::Ordering;

/// A worker whose batch takes longer counts lookup by lookup.
const SLOW_NS: u64 = 1_000_000;

/// Works until the end of the load point or until the run is stopped.
pub fn work(state: &PointState, number: usize) {
    let plan = state.plan;
    if !plan.cpus.is_empty() {
        // a CPU taken away meanwhile leaves the worker where it is
        let _ = pin(&[plan.cpus[number % plan.cpus.len()]]);
    }
    state.memory.0.populate();
    let draws = draw(plan, number, state.workers);
    let mut worker = state.worker(number);
    let record = &state.records[number];
    record.ready.store(1, Ordering::Release);
    let Some(window) = state.gate.wait() else { return };

    let seconds = state.seconds_of(number);
    let think_iterations = state.iterations(plan.think_ns);
    let (mut before, mut measuring) = (usage(), false);
    let (mut pending, mut left, mut samples, mut slow) = (0, 0, 0_u32, false);
    let mut looked_ns = window.start_ns;
    for operation in draws.iter().copied().cycle() {
        let look = left == 0 || slow;
        worker.timed = Timed::Nothing;
        if left == 0 {
            (left, samples) = (state.stride, samples.wrapping_add(1));
            worker.timed = if samples.is_multiple_of(2) { Timed::Gets } else { Timed::Lookup };
        }
        let begin_ns = if look { now_ns() } else { 0 };
        let sound = state.cache.operate(operation, &worker);
        pending += 1;
        if !sound {
            record.torn.add(1);
        }
        if look {
            let end_ns = now_ns();
            if end_ns >= window.end_ns || state.gate.stopped() {
                break;
            }
            // a batch that the end cuts off is not counted, so a slow worker counts one by one
            (slow, looked_ns) = (end_ns - looked_ns > SLOW_NS, end_ns);
            record.done.add(pending);
            if measuring {
                seconds[window.second(end_ns)].add(pending);
                if worker.timed == Timed::Lookup {
                    worker.times.lookup.record((end_ns - begin_ns).saturating_sub(worker.clock_ns));
                }
            } else {
                // lookups and gets are measured from the same moment: the first clock read after the edge
                if let Some(last) = window.warm_up().checked_sub(1) {
                    seconds[window.second(end_ns).min(last)].add(pending);
                }
                if end_ns >= window.measure_ns {
                    measuring = true;
                    before = usage();
                    worker.restart();
                }
            }
            pending = 0;
        }
        left -= 1;
        busy(think_iterations);
    }
    if !measuring {
        // it never got the latch in the measure phase
        before = usage();
        worker.restart();
    }
    let after = usage();
    let used = [&record.user_ns, &record.system_ns, &record.voluntary, &record.involuntary];
    for (count, (after, before)) in used.into_iter().zip(after.into_iter().zip(before)) {
        count.set(after - before);
    }
}
