//! Waiters: going to sleep, getting a latch that becomes free, being woken.

use std::cmp::Reverse;

use rand::Rng;

use super::Simulation;
use super::plan::Order;
use super::worker::{Event, State, Worker};
use crate::primitives::slot::Mode;

impl Simulation<'_> {
    /// Tries a last time, then joins the sleepers.
    pub(super) fn spin_ends(&mut self, worker: usize) {
        let Worker { latch, mode, .. } = self.workers[worker];
        if self.plan.order == Order::Barging && self.latches[latch].admits(mode, false) {
            self.latches[latch].spinners.retain(|other| *other != worker);
            self.got(worker);
        } else {
            self.sleep(worker);
        }
    }

    pub(super) fn sleep(&mut self, worker: usize) {
        let latch = &mut self.latches[self.workers[worker].latch];
        latch.spinners.retain(|other| *other != worker);
        let it = &mut self.workers[worker];
        it.serial += 1;
        it.sleeps += 1;
        (it.state, it.asleep_since_ns) = (State::Asleep, self.now_ns);
        latch.sleepers.push_back((worker, it.mode));
        self.leave_cpu(worker);
    }

    /// The latch is free: spinners take it, and the first sleeper is posted. Returns the cost of posting in ns.
    pub(super) fn hand_on(&mut self, number: usize) -> f64 {
        let granted = self.plan.order == Order::Fifo;
        let mut spent_ns = 0.0;
        let mut woken = 0;
        if !granted && self.plan.hand_over_ns > 0.0 && !self.latches[number].spinners.is_empty() {
            // until the spinners have seen it, a newcomer may take it: often the releaser itself
            let at_ns = self.now_ns + self.plan.hand_over_ns;
            self.queue.push(Reverse((at_ns.to_bits(), number as u32, 0, Event::Seen)));
        } else if !granted {
            self.take(number);
        }
        while let Some((sleeper, mode)) = self.latches[number].sleepers.front().copied() {
            // readers are woken with the reader before them
            if woken > 0 && (mode == Mode::Exclusive || self.workers[woken - 1].mode == Mode::Exclusive) {
                break;
            }
            self.latches[number].sleepers.pop_front();
            woken = sleeper + 1;
            let asleep_ns = self.now_ns - self.workers[sleeper].asleep_since_ns;
            // where no CPU is idle, a woken worker waits for one as a preempted one does, and a post wakes no CPU
            let at_once = self.finds_cpu(sleeper);
            let wake = self.plan.wake(if at_once { asleep_ns } else { 0.0 });
            spent_ns += wake.post_ns;
            self.forecast.posted_ns += wake.post_ns;
            let wake_ns = if at_once { wake.wake_ns } else { 0.0 };
            if at_once && self.random.random::<f64>() >= wake.slept {
                let it = &mut self.workers[sleeper];
                it.sleeps -= 1;
                it.asleep_since_ns = self.now_ns + wake_ns;
            } else {
                self.forecast.sleeps += 1;
            }
            if granted {
                self.grant(sleeper, wake_ns);
            } else {
                self.at(wake_ns, sleeper, Event::Awake);
            }
        }
        if granted && woken == 0 {
            self.take(number);
        }
        spent_ns
    }

    /// Spinners see a free latch: one of them gets it, or all readers among them.
    pub(super) fn take(&mut self, number: usize) {
        while !self.latches[number].spinners.is_empty() {
            let count = self.latches[number].spinners.len();
            let index = match self.plan.order {
                Order::Fifo => 0,
                Order::Barging => self.random.random_range(0..count),
            };
            let spinner = self.latches[number].spinners[index];
            if !self.latches[number].admits(self.workers[spinner].mode, false) {
                return;
            }
            self.latches[number].spinners.remove(index);
            self.got(spinner);
        }
    }

    /// First in, first out: the latch is the sleeper's from now on, while it wakes up.
    fn grant(&mut self, sleeper: usize, wake_ns: f64) {
        self.forecast.wait_ns += self.now_ns + wake_ns - self.workers[sleeper].asleep_since_ns;
        let began_ns = self.now_ns;
        self.now_ns += wake_ns;
        self.got(sleeper);
        self.now_ns = began_ns;
    }
}
