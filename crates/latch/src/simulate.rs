//! The closed loop as discrete events, for what formulae do not cover: barging or FIFO order, preempted
//! holders, children, shared gets, fewer CPUs than workers. The seed determines the result.

mod cpus;
pub mod forecast;
mod latch;
pub mod lengths;
pub mod plan;
mod waiters;
mod worker;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use crate::primitives::slot::Mode;
use forecast::{Batches, Forecast};
use latch::SimulatedLatch;
use plan::{Order, Preempted, SimulationPlan};
use worker::{Event, State, Worker};

/// Time in ns as ordered bits: times are never negative.
type At = Reverse<(u64, u32, u32, Event)>;

struct Simulation<'a> {
    plan: &'a SimulationPlan,
    random: SmallRng,
    now_ns: f64,
    queue: BinaryHeap<At>,
    workers: Vec<Worker>,
    latches: Vec<SimulatedLatch>,
    /// CPUs without a worker, and workers without a CPU.
    free: usize,
    ready: VecDeque<usize>,
    forecast: Forecast,
}

/// Runs a checked plan.
pub fn simulate(plan: &SimulationPlan) -> Forecast {
    let mut simulation = Simulation {
        plan,
        random: SmallRng::seed_from_u64(plan.seed),
        now_ns: 0.0,
        queue: BinaryHeap::with_capacity(2 * plan.workers),
        workers: (0..plan.workers).map(|_| Worker::default()).collect(),
        latches: (0..plan.children).map(|_| SimulatedLatch::default()).collect(),
        free: 0,
        ready: VecDeque::new(),
        forecast: Forecast::default(),
    };
    simulation.run();
    simulation.forecast
}

impl Simulation<'_> {
    fn run(&mut self) {
        self.place();
        for worker in 0..self.plan.workers {
            // spread over a think time, so that they do not begin in step
            let first_ns = self.random.random::<f64>() * (self.plan.think.draw(&mut self.random) + 1.0);
            self.at(first_ns, worker, Event::Get);
        }
        let mut batches = Batches::new(self.plan.warm_up_ns, self.plan.duration_ns);
        let mut warm = self.plan.warm_up_ns <= 0.0;
        while let Some(Reverse((bits, worker, serial, event))) = self.queue.pop() {
            self.now_ns = f64::from_bits(bits);
            if !warm && self.now_ns >= self.plan.warm_up_ns {
                warm = true;
                self.forecast = Forecast::default();
            }
            while self.now_ns >= batches.end_ns() {
                if batches.end(&mut self.forecast, self.plan.until) {
                    return;
                }
            }
            self.forecast.events += 1;
            let worker = worker as usize;
            let current = match event {
                Event::Seen => serial,
                Event::SliceEnds => self.workers[worker].slice,
                _ => self.workers[worker].serial,
            };
            if serial == current {
                self.happen(worker, event);
            }
        }
    }

    /// An event of a worker; of one that has no CPU, as long after it has one again.
    fn at(&mut self, after_ns: f64, worker: usize, event: Event) {
        let it = &mut self.workers[worker];
        if !it.runs {
            it.paused = (after_ns, event);
            return;
        }
        it.due_ns = self.now_ns + after_ns;
        // if it loses its CPU before
        it.paused.1 = event;
        self.queue.push(Reverse((it.due_ns.to_bits(), worker as u32, it.serial, event)));
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
            Event::SpinEnds => self.spin_ends(worker),
            Event::Release => self.release(worker),
            Event::SliceEnds => self.slice_ends(worker),
            Event::Back => self.back(worker),
            Event::Seen => self.take(worker),
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

    fn got(&mut self, worker: usize) {
        let it = &mut self.workers[worker];
        it.serial += 1;
        it.state = State::Holding;
        self.forecast.gets += 1;
        self.forecast.misses += u64::from(it.missed);
        self.forecast.spin_gets += u64::from(it.missed && it.sleeps == 0);
        let (mode, missed) = (it.mode, it.missed);
        let handed = self.latches[it.latch].enter(worker, mode);
        let mut hold_ns = self.plan.hold.draw(&mut self.random);
        if handed {
            self.forecast.hand_overs += 1;
            // in FIFO order the latch belongs to the next waiter during the hand-over; else it is free until then
            hold_ns += match (missed, self.plan.order) {
                (true, Order::Fifo) => self.plan.hand_over_ns,
                (true, Order::Barging) => 0.0,
                (false, _) => self.plan.line_ns,
            };
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
        it.serial += 1;
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
}
