//! The state that the workers of one load point share.

use std::cell::Cell;
use std::io;

use super::gate::{Gate, Window};
use crate::caches::Cache;
use crate::caches::worker::{Sampled, Timed, Worker};
use crate::calibrate::costs::BaseCosts;
use crate::plan::Plan;
use crate::primitives::counters::{Count, Counters, Record};
use crate::primitives::shared_memory::{ALIGN, Populated, SharedMemory};
use crate::primitives::slot::{Me, Slot};

/// The longest time between two clock reads of a worker.
const CLOCK_READ_NS: u64 = 20_000;
/// The approximate time of a lookup without hold and think time.
const LOOKUP_NS: u64 = 50;

/// Everything lies in shared memory; workers find their part by their number.
pub struct PointState<'r> {
    pub plan: &'r Plan,
    pub workers: usize,
    pub memory: Populated<'r>,
    pub cache: Box<dyn Cache + 'r>,
    /// One per worker, and the last one for the coordinator.
    pub slots: &'r [Slot],
    pub records: &'r [Record],
    pub times: &'r [Sampled],
    /// Workers x children.
    pub counters: &'r [Counters],
    /// Workers x seconds: lookups done. No two workers share a cache line.
    seconds: &'r [Count],
    pub gate: &'r Gate,
    /// One lookup in so many is timed.
    pub stride: u32,
    base: BaseCosts,
}

/// Distance between the seconds of two workers, so that they share no cache line.
fn seconds_step(plan: &Plan) -> usize {
    Window::of(plan, 0).seconds().next_multiple_of(ALIGN / size_of::<Count>())
}

/// Room for everything that `PointState::new` places.
fn memory_bytes(plan: &Plan, workers: usize) -> usize {
    let entries = plan.keys * (plan.payload_bytes + 128) + plan.keys.next_power_of_two() * 4;
    let seconds = seconds_step(plan) * size_of::<Count>();
    let each = size_of::<Slot>()
        + size_of::<Record>()
        + size_of::<Sampled>()
        + plan.children * size_of::<Counters>()
        + seconds;
    entries + (workers + 1) * each + plan.children * 1024 + (1 << 16)
}

impl<'r> PointState<'r> {
    pub fn new(plan: &'r Plan, workers: usize, memory: &'r SharedMemory, base: BaseCosts) -> Self {
        let nominal_ns = u64::from(plan.gets_per_lookup) * plan.hold_ns + plan.think_ns + LOOKUP_NS;
        let often = (CLOCK_READ_NS / nominal_ns).max(1).min(plan.sample_every.into());
        Self {
            plan,
            workers,
            cache: (plan.protocol().open)(memory, plan.size()),
            slots: memory.place(workers + 1, |_| Slot::default()),
            records: memory.place(workers, |_| Record::default()),
            times: memory.place(workers, |_| Sampled::default()),
            counters: memory.place(workers * plan.children, |_| Counters::default()),
            seconds: memory.place(workers * seconds_step(plan), |_| Count::default()),
            gate: &memory.place(1, |_| Gate::default())[0],
            memory: Populated(memory),
            stride: often as u32,
            base,
        }
    }

    /// Iterations of the busy loop that take `ns`.
    pub fn iterations(&self, ns: u64) -> u64 {
        (ns as f64 / self.base.busy_ns).round() as u64
    }

    pub fn me(&self, number: usize) -> Me<'r> {
        let (spin, groups) = (self.plan.spin(), self.plan.groups);
        Me { number: number as u32, slots: self.slots, spin, groups }
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
            clock_ns: self.base.clock_ns,
            hold_iterations: self.iterations(plan.hold_ns),
            long_iterations: plan.hold_tail.map_or(0, |tail| self.iterations(tail.hold_ns)),
            nonces: Cell::new((number as u64) << 40),
        }
    }
}

/// Shared memory for one load point.
pub fn shared_memory(plan: &Plan, workers: usize) -> io::Result<SharedMemory> {
    SharedMemory::new(memory_bytes(plan, workers))
}
