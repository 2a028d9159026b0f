//! Plans for the tests, and their simulations.
#![allow(dead_code)]

use serde_json::{Value, json};
use steelyard_dispatch::plan::Plan;
use steelyard_dispatch::sim::Sim;

/// A machine on which a switch costs nothing.
pub fn free_machine(cpus: u32) -> Value {
    json!({"cpus": cpus, "clock_ghz": 2.0, "memory_latency_ns": 0.0, "cache_kib": 0.0, "switch_cycles": 0.0})
}

pub fn plan(machine: Value, table: &str, groups: Value, seconds: f64) -> Value {
    json!({
        "machine": machine, "tables": {"ts": table}, "groups": groups,
        "warm_up_s": 0.0, "measure_s": seconds, "seed": 1,
        "trace": {"to_s": seconds},
    })
}

/// Never sleeps.
pub fn hog(name: &str, count: u32) -> Value {
    json!({"name": name, "count": count, "cpu": fixed(3.6e9), "sleep": fixed(0.0)})
}

pub fn fixed(mean_us: f64) -> Value {
    json!({"kind": "fixed", "mean_us": mean_us})
}

pub fn exponential(mean_us: f64) -> Value {
    json!({"kind": "exponential", "mean_us": mean_us})
}

pub fn ready(plan: &Value) -> (Plan, Sim) {
    let plan = Plan::parse(&plan.to_string()).unwrap();
    let sim = Sim::new(&plan).unwrap();
    (plan, sim)
}

pub fn finished(plan: &Value) -> Sim {
    let (_, mut sim) = ready(plan);
    while sim.step() {}
    sim
}
