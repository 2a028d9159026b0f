//! Progress of every engine: events of phases and seconds, and whether to continue.

use std::borrow::Borrow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use steelyard_engine::clock::now_ns;
use steelyard_engine::listener::Listener;
use steelyard_engine::phase::Phase;

use crate::error::LoadError;
use crate::plan::Plan;
use crate::record::result::Outcome;
use crate::record::{Record, Window};

pub mod helper_thread;

const STEP: Duration = Duration::from_millis(50);
/// The longest silence of an engine.
const ALIVE_NS: u64 = 1_000_000_000;

/// The caller's line that starts a stretch of load, at this time of CLOCK_MONOTONIC.
#[derive(Debug, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case", deny_unknown_fields)]
enum Command {
    Start { at_ns: u64 },
}

/// The instant at which engines begin together, unless it is over.
pub fn in_time(at_ns: u64) -> Result<u64, LoadError> {
    let late_ns = now_ns().saturating_sub(at_ns);
    if late_ns > 0 { Err(LoadError::Late { late_ms: late_ns as f64 / 1e6 }) } else { Ok(at_ns) }
}

/// State of a loop while it runs.
#[derive(Default)]
pub struct Live {
    pub done: AtomicU64,
    pub errors: AtomicU64,
    /// Its clients have come to rest before the window's end.
    pub over: AtomicBool,
    /// It has returned its connections and is done.
    pub ended: AtomicBool,
}

/// Leads a run through its phases and keeps its counts.
pub struct Progress<'a> {
    pub plan: &'a Plan,
    listener: &'a mut dyn Listener,
    pub outcome: Outcome,
    /// The phase after a warm-up: measure, scheduling-trace or latch-count.
    pub loaded: &'static str,
    /// The phase and point of the last event.
    announced: (String, usize),
    /// Time of the last event.
    reported_ns: u64,
    /// Transactions and errors of the points before.
    earlier: (u64, u64),
}

impl<'a> Progress<'a> {
    pub fn new(plan: &'a Plan, listener: &'a mut dyn Listener) -> Self {
        Self {
            plan,
            listener,
            outcome: Outcome::default(),
            loaded: "measure",
            announced: Default::default(),
            reported_ns: now_ns(),
            earlier: (0, 0),
        }
    }

    /// Reports once that a phase begins; the time.
    pub fn begin(&mut self, phase: &str, point: usize, clients: usize) -> Result<u64, LoadError> {
        let t_ns = now_ns();
        let announced = (phase.to_string(), point);
        if self.announced == announced {
            return Ok(t_ns);
        }
        self.announced = announced;
        let line =
            json!({"event": "phase", "phase": phase, "point": point, "clients": clients, "t_ns": t_ns});
        self.report(t_ns, &line)?;
        Ok(t_ns)
    }

    pub fn report(&mut self, t_ns: u64, event: &Value) -> Result<(), LoadError> {
        self.reported_ns = t_ns;
        if self.listener.event(&event.to_string()) { Ok(()) } else { Err(LoadError::Stopped) }
    }

    pub fn ended(&mut self, name: &'static str, point: usize, clients: usize, start_ns: u64, end_ns: u64) {
        self.outcome.phases.push(Phase { point, clients, name, start_ns, end_ns });
    }

    /// The load of one point is over: keeps its phases and counts.
    pub fn keep(&mut self, point: usize, count: usize, window: Window, records: Vec<Record>) {
        for record in &records {
            self.earlier.0 += record.total.done;
            self.earlier.1 += record.total.errors;
        }
        self.outcome.records.push(records);
        if self.plan.warm_up_s > 0.0 {
            self.ended("warm-up", point, count, window.start_ns, window.measure_ns);
        }
        self.ended("measure", point, count, window.measure_ns, window.end_ns);
    }

    /// Reports phases and seconds until the window ends.
    pub fn attend<L: Borrow<Live>>(
        &mut self,
        point: usize,
        count: usize,
        window: Window,
        live: &[L],
        stop: &AtomicBool,
    ) -> Result<(), LoadError> {
        let mut phase = "warm-up";
        let mut tick_ns = window.start_ns;
        if window.measure_ns > window.start_ns {
            self.begin(phase, point, count)?;
        }
        loop {
            let now = now_ns();
            if phase == "warm-up" && now >= window.measure_ns {
                phase = self.loaded;
                self.begin(phase, point, count)?;
            }
            if now >= tick_ns {
                tick_ns += 1_000_000_000;
                let sum = |of: fn(&Live) -> u64| live.iter().map(|live| of(live.borrow())).sum::<u64>();
                let line = json!({
                    "event": "tick", "t_ns": now, "point": point, "phase": phase,
                    "transactions": self.earlier.0 + sum(|live| live.done.load(Ordering::Relaxed)),
                    "errors": self.earlier.1 + sum(|live| live.errors.load(Ordering::Relaxed)),
                });
                self.report(now, &line)?;
            }
            let over = live.iter().all(|live| live.borrow().over.load(Ordering::Relaxed));
            if over || now >= window.end_ns || stop.load(Ordering::Relaxed) {
                return Ok(());
            }
            self.go_on()?;
            let edge = if phase == "warm-up" { window.measure_ns } else { window.end_ns };
            let wait_ns = edge.min(tick_ns).saturating_sub(now_ns()).min(STEP.as_nanos() as u64);
            // a loop that ends early wakes this thread
            std::thread::park_timeout(Duration::from_nanos(wait_ns));
        }
    }

    /// Nothing happens for the plan's cool-down, which began at `begin_ns`.
    pub fn cool_down(&mut self, point: usize, clients: usize, begin_ns: u64) -> Result<(), LoadError> {
        let end_ns = begin_ns + (self.plan.cool_down_s * 1e9) as u64;
        loop {
            let left = Duration::from_nanos(end_ns.saturating_sub(now_ns()));
            if left.is_zero() {
                break;
            }
            self.go_on()?;
            std::thread::sleep(left.min(STEP));
        }
        self.ended("cool-down", point, clients, begin_ns, now_ns());
        Ok(())
    }

    /// Waits for the end of loops whose window is over: they unpark this thread.
    pub fn await_end(&mut self, ended: impl Fn() -> bool) -> Result<(), LoadError> {
        while !ended() {
            self.go_on()?;
            std::thread::park_timeout(STEP);
        }
        Ok(())
    }

    /// When the next stretch of load begins: after `lead_ns`; of an engine among several when the caller says.
    pub fn start_ns(&mut self, point: usize, lead_ns: u64) -> Result<u64, LoadError> {
        let now = now_ns();
        if self.plan.share.is_none() {
            return Ok(now + lead_ns);
        }
        self.report(now, &json!({"event": "ready", "point": point, "t_ns": now}))?;
        let line = self.command()?;
        let refused = |cause: String| std::io::Error::other(format!("the command `{line}`: {cause}"));
        let Command::Start { at_ns } =
            serde_json::from_str(&line).map_err(|error| refused(error.to_string()))?;
        in_time(at_ns)
    }

    /// Waits for the caller's next command.
    pub fn command(&mut self) -> Result<String, LoadError> {
        loop {
            self.go_on()?;
            if let Some(line) = self.listener.command(STEP) {
                return Ok(line);
            }
        }
    }

    /// To be called several times per second: reports that the engine is alive if nothing else was reported.
    pub fn go_on(&mut self) -> Result<(), LoadError> {
        let now = now_ns();
        if now >= self.reported_ns + ALIVE_NS {
            let (phase, point) = (self.announced.0.clone(), self.announced.1);
            self.report(now, &json!({"event": "alive", "t_ns": now, "point": point, "phase": phase}))?;
        }
        if self.listener.go_on() { Ok(()) } else { Err(LoadError::Stopped) }
    }
}
