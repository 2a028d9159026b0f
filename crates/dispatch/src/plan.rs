//! The plan of one simulation, as JSON, and its validation.

pub mod distribution;
pub mod group;
pub mod machine;
pub mod range;

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::error::TableError;
use crate::tables::class::Tables;
use crate::tables::dispadmin::{parse_fx, parse_rt, parse_ts};
use crate::tables::{QuantumTable, TsTable};
use group::Group;
use machine::Machine;
use range::{DURATION_S_MAX, range};
use steelyard_engine::error::PlanError;

/// Threads of all groups.
const THREADS_MAX: u64 = 4_000_000;

/// The tables by name (`standard`, `extended`) or as text in dispadmin's form.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableTexts {
    pub ts: String,
    pub rt: Option<String>,
    pub fx: Option<String>,
}

/// The trace: which threads, and when in simulated time.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceRequest {
    /// `group:number` each; none: all threads.
    #[serde(default)]
    pub threads: Vec<String>,
    #[serde(default)]
    pub from_s: f64,
    pub to_s: f64,
    /// At most so many intervals, and so many changes of priority.
    #[serde(default = "limit")]
    pub limit: usize,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    pub machine: Machine,
    #[serde(default)]
    pub sets: BTreeMap<String, Vec<u32>>,
    pub tables: TableTexts,
    pub groups: Vec<Group>,
    #[serde(default = "hundred")]
    pub hz: u32,
    /// Seconds between updates; 0: none.
    #[serde(default = "second")]
    pub update_s: f64,
    pub warm_up_s: f64,
    pub measure_s: f64,
    #[serde(default = "second")]
    pub sample_s: f64,
    pub seed: u64,
    pub trace: Option<TraceRequest>,
}

fn limit() -> usize {
    100_000
}
fn hundred() -> u32 {
    100
}
fn second() -> f64 {
    1.0
}

impl Plan {
    /// Reads a plan and checks it. The error names the field.
    pub fn parse(text: &str) -> Result<Self, PlanError> {
        let plan: Self =
            serde_json::from_str(text).map_err(|error| PlanError::new("plan", error.to_string()))?;
        plan.check()?;
        Ok(plan)
    }

    /// Checks everything except the tables and the trace.
    pub fn check(&self) -> Result<(), PlanError> {
        self.machine.check()?;
        range("hz", f64::from(self.hz), 1.0, 100_000.0)?;
        range("update_s", self.update_s, 0.0, DURATION_S_MAX)?;
        range("warm_up_s", self.warm_up_s, 0.0, DURATION_S_MAX)?;
        range("measure_s", self.measure_s, 1e-3, DURATION_S_MAX)?;
        range("sample_s", self.sample_s, 1e-3, DURATION_S_MAX)?;
        if self.groups.is_empty() {
            return Err(PlanError::new("groups", "no thread would run: add at least one group"));
        }
        let total: u64 = self.groups.iter().map(|group| u64::from(group.count)).sum();
        range("groups.count", total as f64, 1.0, THREADS_MAX as f64)?;
        for group in &self.groups {
            group.check(&self.sets)?;
            if self.groups.iter().filter(|other| other.name == group.name).count() > 1 {
                return Err(PlanError::new("groups", format!("two groups have the name \"{}\"", group.name)));
            }
        }
        self.check_sets()
    }

    fn check_sets(&self) -> Result<(), PlanError> {
        let mut owner: BTreeMap<u32, &str> = BTreeMap::new();
        for (name, cpus) in &self.sets {
            let field = || format!("sets.{name}");
            if cpus.is_empty() {
                return Err(PlanError::new(field(), "a processor set needs at least one CPU"));
            }
            for cpu in cpus {
                if *cpu >= self.machine.cpus {
                    return Err(PlanError::new(
                        field(),
                        format!("there is no CPU {cpu}: the machine has {}", self.machine.cpus),
                    ));
                }
                if let Some(other) = owner.insert(*cpu, name) {
                    return Err(PlanError::new(field(), format!("CPU {cpu} is also in the set {other}")));
                }
            }
        }
        let free = owner.len() < self.machine.cpus as usize;
        match self.groups.iter().find(|group| group.set.is_none()) {
            Some(group) if !free => Err(PlanError::new(
                format!("groups.{}.set", group.name),
                "every CPU is in a processor set, so this group needs one",
            )),
            _ => Ok(()),
        }
    }

    /// The tables, read. The error names table and line.
    pub fn tables(&self) -> Result<Tables, PlanError> {
        let wrong = |class: &str| {
            let field = format!("tables.{class}");
            move |error: TableError| PlanError::new(field, error.to_string())
        };
        let ts = match self.tables.ts.as_str() {
            "standard" => TsTable::standard(),
            "extended" => TsTable::extended(),
            text => parse_ts(text).map_err(wrong("ts"))?,
        };
        let rt = match &self.tables.rt {
            None => QuantumTable::rt(),
            Some(text) => parse_rt(text).map_err(wrong("rt"))?,
        };
        let fx = match &self.tables.fx {
            None => QuantumTable::fx(),
            Some(text) => parse_fx(text).map_err(wrong("fx"))?,
        };
        Ok(Tables::new(ts, &rt, &fx, self.hz))
    }
}
