//! One run: points, phases, workers and their deaths; events while it goes on, and the result.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::costs::Turns;
use crate::crew::{Crew, Death};
use crate::error::LatchError;
use crate::hand_overs::hand_overs;
use crate::plan::Plan;
use crate::result::{Outcome, Phase, Trouble};
use crate::stage::{Stage, Window, region};
use crate::sync::{Ordering, now_ns};

const STEP: Duration = Duration::from_millis(20);
/// Workers get this long to begin before the point's clock starts.
const LEAD_NS: u64 = 10_000_000;
/// How long workers may take to be ready, and to end after the point's end: a queue drains one hand-over
/// after another, each perhaps a time slice long.
const READY: Duration = Duration::from_secs(60);
const DRAIN: Duration = Duration::from_secs(5);
/// The longest silence of an engine.
const ALIVE_NS: u64 = 1_000_000_000;

/// Who listens to a run. Either answer `false` stops it.
pub trait Listener {
    /// A line of JSON: a phase begins, workers have started, a second of load has passed, or a second
    /// without any other event.
    fn event(&mut self, line: &str) -> bool;
    /// Asked several times a second.
    fn go_on(&mut self) -> bool;
}

struct Run<'a> {
    plan: &'a Plan,
    listener: &'a mut dyn Listener,
    outcome: Outcome,
    /// Lookups of the points before.
    earlier: u64,
    /// When something was told last.
    told_ns: u64,
}

/// Runs the plan; the result as JSON (see the documentation of `latch_run` in Python).
pub fn run(plan: &Plan, listener: &mut dyn Listener) -> Result<String, LatchError> {
    let outcome = Outcome::new(Turns::measured());
    let mut run = Run { plan, listener, outcome, earlier: 0, told_ns: now_ns() };
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
        self.tell(
            &json!({"event": "phase", "phase": phase, "point": point, "clients": clients, "t_ns": t_ns}),
        )?;
        Ok(t_ns)
    }

    fn tell(&mut self, event: &serde_json::Value) -> Result<(), LatchError> {
        self.told_ns = now_ns();
        if self.listener.event(&event.to_string()) { Ok(()) } else { Err(LatchError::Stopped) }
    }

    /// To be called several times a second: tells that the engine is alive where nothing else is told.
    fn go_on(&mut self) -> Result<(), LatchError> {
        let now = now_ns();
        if now >= self.told_ns + ALIVE_NS {
            self.tell(&json!({"event": "alive", "t_ns": now}))?;
        }
        if self.listener.go_on() { Ok(()) } else { Err(LatchError::Stopped) }
    }

    fn ended(&mut self, name: &'static str, point: usize, clients: usize, start_ns: u64, end_ns: u64) {
        self.outcome.phases.push(Phase { point, clients, name, start_ns, end_ns });
    }

    fn point(&mut self, point: usize, workers: usize) -> Result<(), LatchError> {
        let begin_ns = self.begin("connect", point, workers)?;
        let region = region(self.plan, workers)?;
        let stage = Stage::new(self.plan, workers, &region, self.outcome.turns);
        // before each point anew: the host of a virtual machine moves its CPUs from one minute to the next
        let hand_overs = hand_overs(self.plan);
        let mut troubles = Vec::new();
        let told = std::thread::scope(|scope| {
            let mut crew = Crew::start(scope, &stage)?;
            let told = self.attend(point, &stage, &mut crew, begin_ns, &mut troubles);
            stage.gate.stop();
            let drained = self.drain(&stage, &mut crew, &mut troubles);
            told.and_then(|window| drained.map(|()| window))
        });
        let window = told?;
        if self.plan.warm_up_s > 0.0 {
            self.ended("warm-up", point, workers, window.start_ns, window.measure_ns);
        }
        self.ended("measure", point, workers, window.measure_ns, window.end_ns);
        self.earlier += done(&stage);
        self.outcome.keep(point, &stage, &hand_overs, troubles);
        Ok(())
    }

    /// From the start of the workers to the end of the window.
    fn attend(
        &mut self,
        point: usize,
        stage: &Stage,
        crew: &mut Crew,
        begin_ns: u64,
        troubles: &mut Vec<Trouble>,
    ) -> Result<Window, LatchError> {
        let workers = stage.workers;
        self.tell(&json!({"event": "workers", "point": point, "pids": crew.pids(), "t_ns": now_ns()}))?;
        let limit = Instant::now() + READY;
        while let Some(worker) =
            stage.records.iter().position(|record| record.ready.load(Ordering::Acquire) == 0)
        {
            self.go_on()?;
            if let Some(death) = crew.deaths().first() {
                return Err(LatchError::Lost { worker: death.worker });
            }
            if Instant::now() > limit {
                return Err(LatchError::NotReady { worker, seconds: READY.as_secs() });
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        let window = Window::of(self.plan, now_ns() + LEAD_NS);
        stage.gate.open(window);
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
                let transactions = self.earlier + done(stage);
                self.tell(&json!({
                    "event": "tick", "t_ns": now, "point": point, "phase": phase,
                    "transactions": transactions, "errors": 0,
                }))?;
            }
            for death in crew.deaths() {
                troubles.push(mend(stage, death));
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

    /// After the end: workers leave the queues one after another; those that cannot are ended.
    fn drain(
        &mut self,
        stage: &Stage,
        crew: &mut Crew,
        troubles: &mut Vec<Trouble>,
    ) -> Result<(), LatchError> {
        let limit = Instant::now() + patience(stage, crew);
        let (mut told, mut given_up) = (Ok(()), false);
        while !crew.ended() {
            for death in crew.deaths() {
                troubles.push(mend(stage, death));
            }
            if Instant::now() > limit && !given_up {
                troubles.extend(crew.kill().into_iter().map(|worker| Trouble {
                    code: "worker-stuck",
                    message: format!("{}, which was ended by force", stuck(stage, worker)),
                }));
                given_up = !crew.ended();
                if given_up {
                    // a thread cannot be ended, and it uses our memory: whoever began this process ends it
                    let worker = stage.seats.iter().position(|seat| seat.waiting.load(Ordering::Relaxed) > 0);
                    let cause = stuck(stage, worker.unwrap_or_default());
                    let _ = self.tell(&json!({"event": "failed", "cause": cause}));
                }
            } else if told.is_ok() && !given_up {
                told = self.go_on();
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        told
    }
}

/// How long workers may take to end. A process is ended by force; threads get the time that all of them
/// need to have their turn.
fn patience(stage: &Stage, crew: &Crew) -> Duration {
    let plan = stage.plan;
    let hold_ns = plan.hold_tail.map_or(0, |tail| tail.hold_ns).max(plan.hold_ns);
    match crew {
        Crew::Processes(_) => DRAIN,
        Crew::Threads(_) => {
            let gets = stage.workers as u32 * plan.gets_per_lookup;
            DRAIN + Duration::from_nanos(hold_ns) * gets + Duration::from_nanos(plan.think_ns)
        }
    }
}

fn stuck(stage: &Stage, worker: usize) -> String {
    let after_s = DRAIN.as_secs();
    format!(
        "`{}` was never handed over to worker {worker}, which was still {} {after_s} s after the end of the \
         point",
        stage.plan.protocol,
        doing(stage, worker)
    )
}

fn done(stage: &Stage) -> u64 {
    stage.records.iter().map(|record| record.done.get()).sum()
}

/// What a worker was at, for people.
fn doing(stage: &Stage, worker: usize) -> String {
    let seat = &stage.seats[worker];
    let at = |state: &crate::sync::AtomicU32| state.load(Ordering::Relaxed).checked_sub(1);
    match (at(&seat.holding), at(&seat.waiting)) {
        (Some(latch), _) => format!("holding latch {latch}"),
        (None, Some(latch)) => format!("waiting for latch {latch}"),
        (None, None) => "between gets".into(),
    }
}

/// Puts right what a dead worker left, as far as the protocol can.
fn mend(stage: &Stage, death: Death) -> Trouble {
    let Death { worker, pid, signal } = death;
    let was = doing(stage, worker);
    stage.cache.mend(worker as u32 + 1, &stage.me(stage.workers));
    let mends = stage.plan.protocol().facts.mends;
    let after = if mends { "the latch was recovered" } else { "this protocol cannot recover" };
    Trouble {
        code: if mends { "worker-died-recovered" } else { "worker-died" },
        message: format!("worker {worker} (pid {pid}) ended by signal {signal} while {was}; {after}"),
    }
}
