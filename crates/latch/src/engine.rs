//! One run: load points, phases, events, and the result.

pub mod drain;
pub mod encoding;
pub mod hand_overs;
pub mod result;

use std::time::{Duration, Instant};

use serde_json::json;

use crate::calibrate::costs::BaseCosts;
use crate::error::LatchError;
use crate::plan::Plan;
use crate::point::gate::Window;
use crate::point::state::{PointState, shared_memory};
use crate::primitives::sync::Ordering;
use crate::workers::Workers;
use drain::{mend, patience, stuck};
use hand_overs::hand_overs;
use result::{Outcome, Trouble};
use steelyard_engine::clock::now_ns;
use steelyard_engine::listener::Listener;
use steelyard_engine::phase::Phase;

const STEP: Duration = Duration::from_millis(20);
/// The time between the last worker's readiness and the start of the point.
const LEAD_NS: u64 = 10_000_000;
/// How long workers may take to be ready.
const READY: Duration = Duration::from_secs(60);
/// The longest time without an event.
const ALIVE_NS: u64 = 1_000_000_000;

struct Run<'a> {
    plan: &'a Plan,
    listener: &'a mut dyn Listener,
    outcome: Outcome,
    /// Lookups of the load points before.
    earlier: u64,
    /// Time of the last event.
    event_ns: u64,
}

/// Runs the plan; the result as JSON (see the documentation of `latch_run` in Python).
pub fn run(plan: &Plan, listener: &mut dyn Listener) -> Result<String, LatchError> {
    let outcome = Outcome::new(BaseCosts::measured());
    let mut run = Run { plan, listener, outcome, earlier: 0, event_ns: now_ns() };
    for (point, workers) in plan.points.iter().copied().enumerate() {
        run.point(point, workers)?;
    }
    let last = plan.points.len() - 1;
    let begin_ns = run.begin("cool-down", last, plan.points[last])?;
    let end_ns = begin_ns + (plan.cool_down_s * 1e9) as u64;
    while now_ns() < end_ns {
        run.go_on()?;
        std::thread::sleep(STEP.min(Duration::from_nanos(end_ns.saturating_sub(now_ns()))));
    }
    run.ended("cool-down", last, plan.points[last], begin_ns, now_ns());
    Ok(run.outcome.to_json(plan).to_string())
}

impl Run<'_> {
    fn begin(&mut self, phase: &str, point: usize, clients: usize) -> Result<u64, LatchError> {
        let t_ns = now_ns();
        self.send(
            &json!({"event": "phase", "phase": phase, "point": point, "clients": clients, "t_ns": t_ns}),
        )?;
        Ok(t_ns)
    }

    fn send(&mut self, event: &serde_json::Value) -> Result<(), LatchError> {
        self.event_ns = now_ns();
        if self.listener.event(&event.to_string()) { Ok(()) } else { Err(LatchError::Stopped) }
    }

    /// To be called several times a second: sends `alive` when there is no other event.
    fn go_on(&mut self) -> Result<(), LatchError> {
        let now = now_ns();
        if now >= self.event_ns + ALIVE_NS {
            self.send(&json!({"event": "alive", "t_ns": now}))?;
        }
        if self.listener.go_on() { Ok(()) } else { Err(LatchError::Stopped) }
    }

    fn ended(&mut self, name: &'static str, point: usize, clients: usize, start_ns: u64, end_ns: u64) {
        self.outcome.phases.push(Phase { point, clients, name, start_ns, end_ns });
    }

    fn point(&mut self, point: usize, workers: usize) -> Result<(), LatchError> {
        let begin_ns = self.begin("connect", point, workers)?;
        let memory = shared_memory(self.plan, workers)?;
        let state = PointState::new(self.plan, workers, &memory, self.outcome.base);
        let hand_overs = hand_overs(self.plan);
        let mut troubles = Vec::new();
        let window = std::thread::scope(|scope| {
            let mut running = Workers::start(scope, &state)?;
            let window = self.attend(point, &state, &mut running, begin_ns, &mut troubles);
            state.gate.stop();
            let drained = self.drain(&state, &mut running, &mut troubles);
            window.and_then(|window| drained.map(|()| window))
        })?;
        if self.plan.warm_up_s > 0.0 {
            self.ended("warm-up", point, workers, window.start_ns, window.measure_ns);
        }
        self.ended("measure", point, workers, window.measure_ns, window.end_ns);
        self.earlier += done(&state);
        self.outcome.keep(point, &state, &hand_overs, troubles);
        Ok(())
    }

    /// From the start of the workers to the end of the window.
    fn attend(
        &mut self,
        point: usize,
        state: &PointState,
        running: &mut Workers,
        begin_ns: u64,
        troubles: &mut Vec<Trouble>,
    ) -> Result<Window, LatchError> {
        let workers = state.workers;
        self.send(&json!({"event": "workers", "point": point, "pids": running.pids(), "t_ns": now_ns()}))?;
        let limit = Instant::now() + READY;
        while let Some(worker) =
            state.records.iter().position(|record| record.ready.load(Ordering::Acquire) == 0)
        {
            self.go_on()?;
            if let Some(death) = running.deaths().first() {
                return Err(LatchError::Lost { worker: death.worker });
            }
            if Instant::now() > limit {
                return Err(LatchError::NotReady { worker, seconds: READY.as_secs() });
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        let window = Window::of(self.plan, now_ns() + LEAD_NS);
        state.gate.open(window);
        self.ended("connect", point, workers, begin_ns, now_ns());
        let mut phase = "warm-up";
        let mut tick_ns = window.start_ns;
        if window.measure_ns > window.start_ns {
            self.begin(phase, point, workers)?;
        }
        loop {
            let now = now_ns();
            if phase == "warm-up" && now >= window.measure_ns {
                phase = "measure";
                self.begin(phase, point, workers)?;
            }
            if now >= tick_ns {
                tick_ns += 1_000_000_000;
                let transactions = self.earlier + done(state);
                self.send(&json!({
                    "event": "tick", "t_ns": now, "point": point, "phase": phase,
                    "transactions": transactions, "errors": 0,
                }))?;
            }
            for death in running.deaths() {
                troubles.push(mend(state, death));
            }
            if now >= window.end_ns {
                return Ok(window);
            }
            self.go_on()?;
            let edge = if phase == "warm-up" { window.measure_ns } else { window.end_ns };
            let wait_ns = edge.min(tick_ns).saturating_sub(now_ns()).min(STEP.as_nanos() as u64);
            std::thread::sleep(Duration::from_nanos(wait_ns));
        }
    }

    /// After the end workers leave the queues one after another; those that cannot are killed.
    fn drain(
        &mut self,
        state: &PointState,
        running: &mut Workers,
        troubles: &mut Vec<Trouble>,
    ) -> Result<(), LatchError> {
        let limit = Instant::now() + patience(state, running);
        let (mut outcome, mut given_up) = (Ok(()), false);
        while !running.ended() {
            for death in running.deaths() {
                troubles.push(mend(state, death));
            }
            if Instant::now() > limit && !given_up {
                troubles.extend(running.kill().into_iter().map(|worker| Trouble {
                    code: "worker-stuck",
                    message: format!("{}, which was ended by force", stuck(state, worker)),
                }));
                given_up = !running.ended();
                if given_up {
                    // a thread cannot be killed, and it uses our memory: the parent has to kill this process
                    let worker = state.slots.iter().position(|slot| slot.waiting.load(Ordering::Relaxed) > 0);
                    let cause = stuck(state, worker.unwrap_or_default());
                    let _ = self.send(&json!({"event": "failed", "cause": cause}));
                }
            } else if outcome.is_ok() && !given_up {
                outcome = self.go_on();
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        outcome
    }
}

fn done(state: &PointState) -> u64 {
    state.records.iter().map(|record| record.done.get()).sum()
}
