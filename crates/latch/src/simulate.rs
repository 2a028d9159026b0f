//! The closed loop as discrete events: what formulae cannot do (barging or FIFO, preempted holders,
//! children, shared gets). As deterministic as its seed. CPUs are not modelled: every worker has one,
//! unless it is preempted while holding.

mod latch;
mod model;

pub use model::{Forecast, Lengths, Order, Preempted, SimulationPlan};

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use crate::seat::Mode;
use latch::SimulatedLatch;

/// What a worker does when its time comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// Thought long enough: tries the latch.
    Get,
    /// Its spin budget is spent: joins the sleepers.
    SpinEnds,
    /// Posted and awake: tries again.
    Awake,
    Release,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Thinking,
    Spinning,
    Asleep,
    Holding,
}

struct Worker {
    state: State,
    latch: usize,
    mode: Mode,
    /// Gets left in this lookup.
    gets: u32,
    /// Of this acquisition.
    missed: bool,
    sleeps: u32,
    asleep_since_ns: f64,
    /// Makes an event that was overtaken (a spin that ended with the latch) void.
    turn: u32,
}

/// Time in ns as ordered bits: times are never negative.
type At = Reverse<(u64, u32, u32, Event)>;

struct Simulation<'a> {
    plan: &'a SimulationPlan,
    random: SmallRng,
    now_ns: f64,
    queue: BinaryHeap<At>,
    workers: Vec<Worker>,
    latches: Vec<SimulatedLatch>,
    forecast: Forecast,
}

/// Runs a checked plan.
pub fn simulate(plan: &SimulationPlan) -> Forecast {
    let worker = |_| Worker {
        state: State::Thinking,
        latch: 0,
        mode: Mode::Exclusive,
        gets: 0,
        missed: false,
        sleeps: 0,
        asleep_since_ns: 0.0,
        turn: 0,
    };
    let mut simulation = Simulation {
        plan,
        random: SmallRng::seed_from_u64(plan.seed),
        now_ns: 0.0,
        queue: BinaryHeap::with_capacity(2 * plan.workers),
        workers: (0..plan.workers).map(worker).collect(),
        latches: (0..plan.children).map(|_| SimulatedLatch::default()).collect(),
        forecast: Forecast::default(),
    };
    simulation.run();
    simulation.forecast
}

impl Simulation<'_> {
    fn run(&mut self) {
        for worker in 0..self.plan.workers {
            // spread over a think time, so that they do not begin in step
            let first_ns = self.random.random::<f64>() * (self.plan.think.draw(&mut self.random) + 1.0);
            self.at(first_ns, worker, Event::Get);
        }
        let (warm_ns, end_ns) = (self.plan.warm_up_ns, self.plan.warm_up_ns + self.plan.duration_ns);
        let mut warm = warm_ns <= 0.0;
        while let Some(Reverse((bits, worker, turn, event))) = self.queue.pop() {
            self.now_ns = f64::from_bits(bits);
            if self.now_ns >= end_ns {
                break;
            }
            if !warm && self.now_ns >= warm_ns {
                warm = true;
                self.forecast = Forecast::default();
            }
            self.forecast.events += 1;
            let worker = worker as usize;
            if self.workers[worker].turn == turn {
                self.happen(worker, event);
            }
        }
        self.forecast.finish(self.plan);
    }

    fn at(&mut self, after_ns: f64, worker: usize, event: Event) {
        let turn = self.workers[worker].turn;
        self.queue.push(Reverse(((self.now_ns + after_ns).to_bits(), worker as u32, turn, event)));
    }

    fn happen(&mut self, worker: usize, event: Event) {
        match event {
            Event::Get => {
                self.begin(worker);
                self.attempt(worker);
            }
            Event::Awake => {
                self.forecast.wait_ns += self.now_ns - self.workers[worker].asleep_since_ns;
                self.attempt(worker);
            }
            Event::SpinEnds => self.sleep(worker),
            Event::Release => self.release(worker),
        }
    }

    /// Chooses latch and mode of the next get.
    fn begin(&mut self, worker: usize) {
        let first = self.workers[worker].gets == 0;
        let child = if first { self.random.random_range(0..self.plan.children) } else { 0 };
        let update = self.plan.read_share < 1.0 && self.random.random::<f64>() >= self.plan.read_share;
        let worker = &mut self.workers[worker];
        if first {
            worker.gets = self.plan.gets_per_lookup;
            worker.latch = child;
        }
        let exclusive = !self.plan.shared_gets || (update && worker.gets == 1);
        worker.mode = if exclusive { Mode::Exclusive } else { Mode::Shared };
        (worker.missed, worker.sleeps) = (false, 0);
    }

    fn attempt(&mut self, worker: usize) {
        let Worker { latch, mode, sleeps, .. } = self.workers[worker];
        let stands_back = self.plan.order == Order::Fifo && sleeps == 0;
        if self.latches[latch].admits(mode, stands_back || mode == Mode::Shared && sleeps == 0) {
            self.got(worker);
            return;
        }
        self.workers[worker].missed = true;
        if self.plan.spin_ns > 0.0 {
            self.workers[worker].state = State::Spinning;
            self.latches[latch].spinners.push(worker);
            self.at(self.plan.spin_ns, worker, Event::SpinEnds);
        } else {
            self.sleep(worker);
        }
    }

    fn sleep(&mut self, worker: usize) {
        let latch = &mut self.latches[self.workers[worker].latch];
        latch.spinners.retain(|other| *other != worker);
        let it = &mut self.workers[worker];
        it.turn += 1;
        it.sleeps += 1;
        (it.state, it.asleep_since_ns) = (State::Asleep, self.now_ns);
        latch.sleepers.push_back((worker, it.mode));
        self.forecast.sleeps += 1;
    }

    fn got(&mut self, worker: usize) {
        let it = &mut self.workers[worker];
        it.turn += 1;
        it.state = State::Holding;
        self.forecast.gets += 1;
        self.forecast.misses += u64::from(it.missed);
        self.forecast.spin_gets += u64::from(it.missed && it.sleeps == 0);
        let (mode, missed) = (it.mode, it.missed);
        let handed = self.latches[it.latch].enter(worker, mode);
        let mut hold_ns = self.plan.hold.draw(&mut self.random);
        if handed {
            self.forecast.hand_overs += 1;
            // who missed has the line taken from the holder at its release, and works a transfer later
            hold_ns += if missed { self.plan.hand_over_ns } else { self.plan.line_ns };
        }
        if let Some(Preempted { probability, for_ns }) = self.plan.preempted
            && self.random.random::<f64>() < probability
        {
            hold_ns += for_ns;
        }
        self.at(hold_ns, worker, Event::Release);
    }

    fn release(&mut self, worker: usize) {
        let it = &mut self.workers[worker];
        it.gets -= 1;
        it.turn += 1;
        it.state = State::Thinking;
        let (number, mode, gets) = (it.latch, it.mode, it.gets);
        let freed = self.latches[number].leave(mode);
        let mut busy_ns = 0.0;
        if gets == 0 {
            self.forecast.lookups += 1;
            busy_ns += self.plan.think.draw(&mut self.random);
        } else {
            busy_ns += self.plan.between_ns;
        }
        if freed {
            busy_ns += self.hand_on(number);
        }
        self.at(busy_ns, worker, Event::Get);
    }

    /// The latch is free: spinners take it, and the first sleeper is posted; what posting cost.
    fn hand_on(&mut self, number: usize) -> f64 {
        let granted = self.plan.order == Order::Fifo;
        let mut spent_ns = 0.0;
        let mut woken = 0;
        if !granted {
            self.take(number);
        }
        while let Some((sleeper, mode)) = self.latches[number].sleepers.front().copied() {
            // readers are woken with the reader before them
            if woken > 0 && (mode == Mode::Exclusive || self.workers[woken - 1].mode == Mode::Exclusive) {
                break;
            }
            self.latches[number].sleepers.pop_front();
            woken = sleeper + 1;
            let wake = self.plan.wake(self.now_ns - self.workers[sleeper].asleep_since_ns);
            spent_ns += wake.post_ns;
            if granted {
                self.grant(sleeper, wake.wake_ns);
            } else {
                self.at(wake.wake_ns, sleeper, Event::Awake);
            }
        }
        if granted && woken == 0 {
            self.take(number);
        }
        spent_ns
    }

    /// Spinners see a free latch: one of them gets it, or all readers among them.
    fn take(&mut self, number: usize) {
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
