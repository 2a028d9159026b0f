//! The life of a single thread on a machine of its own: each change of its priority or quantum.

use serde::Deserialize;
use serde_json::Value;
use steelyard_engine::error::PlanError;

use crate::plan::distribution::Distribution;
use crate::plan::group::{Arrive, ClassName, Group};
use crate::plan::machine::Machine;
use crate::plan::{Plan, TableTexts, TraceRequest};
use crate::sim::Sim;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Behaviour {
    /// It never sleeps.
    CpuBound,
    /// Short bursts: off the CPU at each update, on it at no tick.
    IoBound,
    /// It never gets the CPU: a real-time thread has it.
    Starved,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LifeRequest {
    pub tables: TableTexts,
    pub class: ClassName,
    /// Level to start with; FX and RT: the priority.
    pub from: u8,
    pub behaviour: Behaviour,
    pub hz: u32,
    pub seconds: f64,
}

/// The changes as columns, named as the priorities of a trace.
pub fn thread_life(text: &str) -> Result<Value, PlanError> {
    let request: LifeRequest =
        serde_json::from_str(text).map_err(|error| PlanError::new("request", error.to_string()))?;
    let plan = request.plan();
    plan.check()?;
    let mut sim = Sim::new(&plan)?;
    while sim.step() {}
    Ok(crate::result::priorities(&sim, &plan))
}

impl LifeRequest {
    fn plan(&self) -> Plan {
        // a burst of 10 us every 7.3 ms meets neither a whole second nor the inside of a tick
        let (cpu_us, sleep_us) = match self.behaviour {
            Behaviour::CpuBound | Behaviour::Starved => (3.6e9, 0.0),
            Behaviour::IoBound => (10.0, 7290.0),
        };
        let mut groups = vec![Group {
            name: "thread".into(),
            count: 1,
            class: self.class,
            nice: 0,
            priority: Some(self.from),
            foreground: true,
            cpu: Distribution::Fixed { mean_us: cpu_us },
            sleep: Distribution::Fixed { mean_us: sleep_us },
            working_set_kib: 0.0,
            set: None,
            arrive: Arrive::default(),
            fork: 0.0,
        }];
        if self.behaviour == Behaviour::Starved {
            let king =
                Group { name: "king".into(), class: ClassName::Rt, priority: Some(59), ..groups[0].clone() };
            // it comes first, for a real-time thread of the same priority would not be preempted
            groups.push(king);
            groups[0].arrive.at_s = 1e-9;
        }
        Plan {
            machine: Machine::free(1),
            sets: std::collections::BTreeMap::new(),
            tables: self.tables.clone(),
            groups,
            hz: self.hz,
            update_s: 1.0,
            warm_up_s: 0.0,
            measure_s: self.seconds,
            sample_s: self.seconds.max(1.0),
            seed: 0,
            trace: Some(TraceRequest {
                threads: vec!["thread:0".into()],
                from_s: 0.0,
                to_s: self.seconds,
                limit: 100_000,
            }),
        }
    }
}
