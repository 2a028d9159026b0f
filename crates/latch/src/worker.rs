//! The closed loop of one worker, the same in a thread and in a process.

use std::cell::Cell;

use crate::cache::Operation;
use crate::costs::busy;
use crate::counters::{Count, Counters, Times};
use crate::draws;
use crate::seat::{Me, Wait};
use crate::stage::{Gate, Stage, Window};
use crate::sync::{AtomicU32, Ordering, now_ns};

/// What is timed of a lookup. Never both: looks at the clock within would be part of the lookup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timed {
    Nothing,
    Lookup,
    Gets,
}

/// Times of sampled lookups.
#[derive(Default)]
#[repr(align(128))]
pub struct Sampled {
    pub lookup: Times,
    pub hold: Times,
    /// From the failed first try to the get; gets that did not miss have none.
    pub wait: Times,
}

impl Sampled {
    fn restart(&self) {
        [&self.lookup, &self.hold, &self.wait].into_iter().for_each(Times::restart);
    }
}

/// What one worker leaves behind, also when it is killed.
#[derive(Default)]
#[repr(align(128))]
pub struct Record {
    pub ready: AtomicU32,
    /// Lookups, warm-up included.
    pub done: Count,
    /// Payloads that did not fit their checksum.
    pub torn: Count,
    pub user_ns: Count,
    pub system_ns: Count,
    pub voluntary: Count,
    pub involuntary: Count,
}

/// A worker in its loop.
pub struct Worker<'a> {
    pub me: Me<'a>,
    /// By child latch.
    pub counters: &'a [Counters],
    pub times: &'a Sampled,
    pub gets: u32,
    pub counting: bool,
    pub timed: Timed,
    /// What one look at the clock adds to a time.
    pub clock_ns: u64,
    pub hold_turns: u64,
    pub long_turns: u64,
    pub nonces: Cell<u64>,
}

impl Worker<'_> {
    /// The time, for who times the gets of this lookup.
    #[inline]
    pub fn look_ns(&self) -> u64 {
        if self.timed == Timed::Gets { now_ns() } else { 0 }
    }

    /// Notes a hold that ends now, and the wait before it.
    #[inline]
    pub fn note(&self, wait: Wait, begin_ns: u64, got_ns: u64) {
        if self.timed == Timed::Gets {
            self.times.hold.record((now_ns() - got_ns).saturating_sub(self.clock_ns));
            if wait.missed() {
                self.times.wait.record((got_ns - begin_ns).saturating_sub(self.clock_ns));
            }
        }
    }

    /// What was counted so far was warm-up.
    fn restart(&self) {
        self.times.restart();
        self.counters.iter().for_each(Counters::restart);
    }

    /// Stays for the planned hold.
    #[inline]
    pub fn hold(&self, long: bool) {
        busy(if long { self.long_turns } else { self.hold_turns });
    }

    /// A payload's seed, another at each call.
    pub fn nonce(&self) -> u64 {
        self.nonces.replace(self.nonces.get() + 1)
    }

    /// The gets of one lookup at a cache that has no latch of ours.
    #[inline]
    pub fn whole(&self, operation: Operation, mut access: impl FnMut(Operation) -> bool) -> bool {
        let mut sound = true;
        for get in 1..=self.gets {
            let last = get == self.gets;
            let (update, long) = (operation.update && last, operation.long && last);
            sound &= access(Operation { update, long, ..operation });
            if self.counting {
                // whatever excludes others in there cannot be told
                self.counters[0].got_shared(Wait::default());
            }
        }
        sound
    }
}

/// User ns, system ns, voluntary and involuntary switches of the calling thread.
fn usage() -> [u64; 4] {
    // SAFETY: all zero is a valid rusage, written by the call that follows.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` is valid for writes.
    unsafe { libc::getrusage(libc::RUSAGE_THREAD, &mut usage) };
    let ns = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000;
    [ns(usage.ru_utime), ns(usage.ru_stime), usage.ru_nvcsw as u64, usage.ru_nivcsw as u64]
}

/// How often the calling thread has lost its CPU.
pub fn preempted() -> u64 {
    let [.., involuntary] = usage();
    involuntary
}

/// Binds the calling thread to one CPU.
pub fn pin(cpu: usize) {
    // SAFETY: all zero is an empty set; the plan's check keeps the number below the set's size; a CPU
    // taken away meanwhile leaves the worker where it is.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set);
    }
}

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
