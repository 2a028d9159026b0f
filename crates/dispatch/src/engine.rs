//! One simulation from plan to result, with its events.

use std::time::{Duration, Instant};

use serde_json::json;
use steelyard_engine::error::PlanError;
use steelyard_engine::listener::Listener;

use crate::plan::Plan;
use crate::result::to_json;
use crate::sim::Sim;

/// Events of the simulation between two looks at the wall clock.
const BATCH: u32 = 50_000;
const TICK: Duration = Duration::from_millis(200);

/// Runs the plan; the result as JSON, None when the listener stopped it.
pub fn run(plan: &Plan, listener: &mut dyn Listener) -> Result<Option<String>, PlanError> {
    let mut sim = Sim::new(plan)?;
    let begun = Instant::now();
    let mut last_event = begun;
    let clients: u64 = plan.groups.iter().map(|group| u64::from(group.count)).sum();
    let phase_event = |phase: &str, t_ns: u64| {
        json!({"event": "phase", "phase": phase, "point": 0, "clients": clients, "t_ns": t_ns}).to_string()
    };
    let mut phase = if sim.record.measure_ns > 0 { "warm-up" } else { "measure" };
    if !listener.event(&phase_event(phase, 0)) {
        return Ok(None);
    }
    loop {
        let goes_on = (0..BATCH).all(|_| sim.step());
        if phase == "warm-up" && sim.now_ns >= sim.record.measure_ns {
            phase = "measure";
            if !listener.event(&phase_event(phase, sim.record.measure_ns)) {
                return Ok(None);
            }
        }
        if !goes_on {
            break;
        }
        if !listener.go_on() {
            return Ok(None);
        }
        if last_event.elapsed() >= TICK {
            last_event = Instant::now();
            let line = json!({
                "event": "tick", "t_ns": sim.now_ns, "point": 0, "phase": phase,
                "transactions": sim.record.total, "errors": 0,
            });
            if !listener.event(&line.to_string()) {
                return Ok(None);
            }
        }
    }
    Ok(Some(to_json(&sim, plan, begun.elapsed().as_secs_f64()).to_string()))
}
