//! The closed loop of one worker, the same in a thread and in a process.

use crate::cpu::{busy, pin, usage};
use crate::draws;
use crate::stage::{Gate, Stage, Window};
use crate::sync::{Ordering, now_ns};
use crate::worker::Timed;

const SLOW_NS: u64 = 1_000_000;

/// Works until the point's end or until it is stopped.
pub fn work(stage: &Stage, number: usize) {
    let plan = stage.plan;
    if !plan.cpus.is_empty() {
        pin(plan.cpus[number % plan.cpus.len()]);
    }
    stage.region.0.populate();
    let draws = draws::draw(plan, number, stage.workers);
    let mut worker = stage.worker(number);
    let record = &stage.records[number];
    record.ready.store(1, Ordering::Release);
    let Some(window) = stage.gate.wait() else { return };

    let seconds = stage.seconds_of(number);
    let think_turns = stage.turns(plan.think_ns);
    let (mut before, mut measuring) = (usage(), false);
    let (mut pending, mut left, mut turn, mut slow) = (0, 0, 0_u32, false);
    let mut looked_ns = window.start_ns;
    for operation in draws.iter().copied().cycle() {
        let look = left == 0 || slow;
        worker.timed = Timed::Nothing;
        if left == 0 {
            (left, turn) = (stage.stride, turn.wrapping_add(1));
            worker.timed = if turn.is_multiple_of(2) { Timed::Gets } else { Timed::Lookup };
        }
        let begin_ns = if look { now_ns() } else { 0 };
        let sound = stage.cache.operate(operation, &worker);
        pending += 1;
        if !sound {
            record.torn.add(1);
        }
        if look {
            let end_ns = now_ns();
            if end_ns >= window.end_ns || stage.gate.stopped() {
                break;
            }
            // a batch that was cut off by the end is not counted, so a slow worker counts one by one
            (slow, looked_ns) = (end_ns - looked_ns > SLOW_NS, end_ns);
            record.done.add(pending);
            if measuring {
                seconds[window.second(end_ns)].add(pending);
                if worker.timed == Timed::Lookup {
                    worker.times.lookup.record((end_ns - begin_ns).saturating_sub(worker.clock_ns));
                }
            } else {
                // lookups and gets are measured from the same moment: the first look after the edge
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
        busy(think_turns);
    }
    if !measuring {
        // never had its turn in the measure phase
        before = usage();
        worker.restart();
    }
    let after = usage();
    let used = [&record.user_ns, &record.system_ns, &record.voluntary, &record.involuntary];
    for (count, (after, before)) in used.into_iter().zip(after.into_iter().zip(before)) {
        count.set(after - before);
    }
}

impl Gate {
    /// Until the coordinator opens; `None` when it stopped instead.
    fn wait(&self) -> Option<Window> {
        loop {
            if self.stopped() {
                return None;
            }
            let window = self.window();
            let ahead_ns = window.start_ns.saturating_sub(now_ns());
            if window.start_ns != 0 && ahead_ns == 0 {
                return Some(window);
            }
            let step_ns = if window.start_ns == 0 { 1_000_000 } else { ahead_ns.min(1_000_000) };
            std::thread::sleep(std::time::Duration::from_nanos(step_ns));
        }
    }
}
