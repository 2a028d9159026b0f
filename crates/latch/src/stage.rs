//! What the workers of one point share.

use std::cell::Cell;
use std::io;

use crate::cache::Cache;
use crate::costs::Turns;
use crate::counters::{Count, Counters, Record};
use crate::plan::Plan;
use crate::region::{ALIGN, Populated, Region};
use crate::seat::{Me, Seat};
use crate::sync::{AtomicU32, AtomicU64, Ordering};
use crate::worker::{Sampled, Timed, Worker};

const SECOND_NS: u64 = 1_000_000_000;
/// The clock is looked at least so often.
const LOOK_NS: u64 = 20_000;
/// What a lookup costs without hold and think time, roughly.
const LOOKUP_NS: u64 = 50;

/// The times of one point, monotonic ns.
#[derive(Debug, Clone, Copy)]
pub struct Window {
    pub start_ns: u64,
    pub measure_ns: u64,
    pub end_ns: u64,
}

impl Window {
    pub fn of(plan: &Plan, start_ns: u64) -> Self {
        let measure_ns = start_ns + (plan.warm_up_s * 1e9) as u64;
        Self { start_ns, measure_ns, end_ns: measure_ns + (plan.measure_s * 1e9) as u64 }
    }

    /// Whole seconds before the measure phase, rounded up.
    pub fn warm_up(&self) -> usize {
        (self.measure_ns - self.start_ns).div_ceil(SECOND_NS) as usize
    }

    pub fn seconds(&self) -> usize {
        self.warm_up() + (self.end_ns - self.measure_ns).div_ceil(SECOND_NS) as usize
    }

    /// Index of the second of a time within the window.
    pub fn second(&self, t_ns: u64) -> usize {
        match t_ns.checked_sub(self.measure_ns) {
            Some(since_ns) => self.warm_up() + (since_ns / SECOND_NS) as usize,
            None => self.warm_up() - (self.measure_ns - t_ns).div_ceil(SECOND_NS) as usize,
        }
    }
}

/// How the coordinator tells workers when to begin and to stop.
#[derive(Default)]
pub struct Gate {
    start_ns: AtomicU64,
    measure_ns: AtomicU64,
    end_ns: AtomicU64,
    stop: AtomicU32,
}

impl Gate {
    pub fn open(&self, window: Window) {
        self.measure_ns.store(window.measure_ns, Ordering::Relaxed);
        self.end_ns.store(window.end_ns, Ordering::Relaxed);
        self.start_ns.store(window.start_ns, Ordering::Release);
    }

    pub fn window(&self) -> Window {
        let start_ns = self.start_ns.load(Ordering::Acquire);
        let [measure_ns, end_ns] = [&self.measure_ns, &self.end_ns].map(|time| time.load(Ordering::Relaxed));
        Window { start_ns, measure_ns, end_ns }
    }

    pub fn stop(&self) {
        self.stop.store(1, Ordering::Relaxed);
    }

    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed) == 1
    }
}

pub struct Stage<'r> {
    pub plan: &'r Plan,
    pub workers: usize,
    pub region: Populated<'r>,
    pub cache: Box<dyn Cache + 'r>,
    /// One more than workers: the coordinator's.
    pub seats: &'r [Seat],
    pub records: &'r [Record],
    pub times: &'r [Sampled],
    /// Workers x children.
    pub counters: &'r [Counters],
    /// Workers x seconds, each worker's on lines of its own: lookups done.
    seconds: &'r [Count],
    pub gate: &'r Gate,
    /// One lookup in so many is timed.
    pub stride: u32,
    turn: Turns,
}

/// From one worker's seconds to the next one's: no line is shared by two that write.
fn seconds_step(plan: &Plan) -> usize {
    Window::of(plan, 0).seconds().next_multiple_of(ALIGN / size_of::<Count>())
}

/// Enough for everything that `Stage::new` places.
pub fn region_bytes(plan: &Plan, workers: usize) -> usize {
    let entries = plan.keys * (plan.payload_bytes + 128) + plan.keys.next_power_of_two() * 4;
    let seconds = seconds_step(plan) * size_of::<Count>();
    let each = size_of::<Seat>()
        + size_of::<Record>()
        + size_of::<Sampled>()
        + plan.children * size_of::<Counters>()
        + seconds;
    entries + (workers + 1) * each + plan.children * 1024 + (1 << 16)
}

impl<'r> Stage<'r> {
    pub fn new(plan: &'r Plan, workers: usize, region: &'r Region, turn: Turns) -> Self {
        let nominal_ns = u64::from(plan.gets_per_lookup) * plan.hold_ns + plan.think_ns + LOOKUP_NS;
        let often = (LOOK_NS / nominal_ns).max(1).min(plan.sample_every.into());
        Self {
            plan,
            workers,
            cache: (plan.protocol().open)(region, plan),
            seats: region.place(workers + 1, |_| Seat::default()),
            records: region.place(workers, |_| Record::default()),
            times: region.place(workers, |_| Sampled::default()),
            counters: region.place(workers * plan.children, |_| Counters::default()),
            seconds: region.place(workers * seconds_step(plan), |_| Count::default()),
            gate: &region.place(1, |_| Gate::default())[0],
            region: Populated(region),
            stride: often as u32,
            turn,
        }
    }

    /// Turns of the busy loop that take `ns`.
    pub fn turns(&self, ns: u64) -> u64 {
        (ns as f64 / self.turn.busy_ns).round() as u64
    }

    pub fn me(&self, number: usize) -> Me<'r> {
        let (spin, groups) = (self.plan.spin(), self.plan.groups);
        Me { number: number as u32, seats: self.seats, spin, groups }
    }

    pub fn counters_of(&self, number: usize) -> &'r [Counters] {
        &self.counters[number * self.plan.children..][..self.plan.children]
    }

    pub fn seconds_of(&self, number: usize) -> &'r [Count] {
        let seconds = Window::of(self.plan, 0).seconds();
        &self.seconds[number * seconds_step(self.plan)..][..seconds]
    }

    pub fn worker(&self, number: usize) -> Worker<'r> {
        let plan = self.plan;
        Worker {
            me: self.me(number),
            counters: self.counters_of(number),
            times: &self.times[number],
            gets: plan.gets_per_lookup,
            counting: plan.counters,
            timed: Timed::Nothing,
            clock_ns: self.turn.clock_ns,
            hold_turns: self.turns(plan.hold_ns),
            long_turns: plan.hold_tail.map_or(0, |tail| self.turns(tail.hold_ns)),
            nonces: Cell::new((number as u64) << 40),
        }
    }
}

/// A region for one point.
pub fn region(plan: &Plan, workers: usize) -> io::Result<Region> {
    Region::new(region_bytes(plan, workers))
}
