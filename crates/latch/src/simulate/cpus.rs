//! CPUs, where there are more workers than CPUs: preempted and woken workers wait for one in one queue.
//!
//! A worker loses its CPU at a measured rate, not by the rules of one scheduler. Think and hold times stop while
//! it has none and go on later. A spinner without a CPU cannot see that the latch is free,
//! but keeps its place where latches are granted in turn.

use std::cmp::Reverse;

use rand::Rng;

use super::Simulation;
use super::plan::Order;
use super::worker::{Event, State};

impl Simulation<'_> {
    /// The first workers have a CPU, the others wait for one.
    pub(super) fn place(&mut self) {
        let Some(cpus) = self.plan.cpus else { return };
        self.free = cpus.count.saturating_sub(self.workers.len());
        for worker in 0..self.workers.len() {
            if worker < cpus.count {
                self.begin_slice(worker, 0.0);
            } else {
                self.workers[worker].runs = false;
                self.ready.push_back(worker);
            }
        }
    }

    /// Draws when this worker, which has a CPU from `after_ns` on, is to lose it.
    fn begin_slice(&mut self, worker: usize, after_ns: f64) {
        let Some(cpus) = self.plan.cpus else { return };
        let slice_ns = -cpus.slice_ns * (1.0 - self.random.random::<f64>()).ln();
        let it = &mut self.workers[worker];
        it.slice += 1;
        let at_ns = self.now_ns + after_ns + slice_ns;
        self.queue.push(Reverse((at_ns.to_bits(), worker as u32, it.slice, Event::SliceEnds)));
    }

    /// Loses its CPU to the first worker that waits for one.
    pub(super) fn slice_ends(&mut self, worker: usize) {
        if self.ready.is_empty() {
            self.begin_slice(worker, 0.0);
            return;
        }
        let it = &mut self.workers[worker];
        it.serial += 1;
        it.runs = false;
        it.paused.0 = (it.due_ns - self.now_ns).max(0.0);
        if it.state == State::Spinning && self.plan.order == Order::Barging {
            let latch = it.latch;
            self.latches[latch].spinners.retain(|other| *other != worker);
        }
        self.ready.push_back(worker);
        self.free += 1;
        self.dispatch();
    }

    /// Sleeps: its CPU is free.
    pub(super) fn leave_cpu(&mut self, worker: usize) {
        if self.plan.cpus.is_some() {
            let it = &mut self.workers[worker];
            it.runs = false;
            it.slice += 1;
            self.free += 1;
            self.dispatch();
        }
    }

    /// Whether a worker that is woken has a CPU at once; else it joins those that wait for one.
    pub(super) fn finds_cpu(&mut self, worker: usize) -> bool {
        if self.plan.cpus.is_none() {
            return true;
        }
        let found = self.free > 0;
        if found {
            self.free -= 1;
            self.workers[worker].runs = true;
            self.begin_slice(worker, 0.0);
        } else {
            self.ready.push_back(worker);
        }
        found
    }

    fn dispatch(&mut self) {
        let Some(cpus) = self.plan.cpus else { return };
        while self.free > 0
            && let Some(worker) = self.ready.pop_front()
        {
            self.free -= 1;
            let it = &mut self.workers[worker];
            it.runs = true;
            let (left_ns, event) = it.paused;
            let spins = it.state == State::Spinning;
            self.begin_slice(worker, cpus.switch_ns);
            if spins {
                self.at(cpus.switch_ns, worker, Event::Back);
                // until then it has spun no further
                self.workers[worker].paused = (left_ns, Event::SpinEnds);
            } else {
                self.at(cpus.switch_ns + left_ns, worker, event);
            }
        }
    }

    /// A spinner has a CPU again and looks.
    pub(super) fn back(&mut self, worker: usize) {
        let (left_ns, _) = self.workers[worker].paused;
        let (number, mode) = (self.workers[worker].latch, self.workers[worker].mode);
        if self.plan.order == Order::Barging {
            if self.latches[number].admits(mode, false) {
                self.got(worker);
                return;
            }
            self.latches[number].spinners.push(worker);
        }
        self.at(left_ns, worker, Event::SpinEnds);
    }
}
