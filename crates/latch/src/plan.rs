//! The plan of one run, as it comes in JSON, and everything that makes it impossible.

use serde::Deserialize;

use crate::cpu::allowed;
use crate::error::PlanError;
use crate::protocols::{self, Protocol};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Workers {
    Threads,
    Processes,
}

/// Which keys a worker looks up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Affinity {
    /// All of them.
    #[default]
    Uniform,
    /// Those of its own child latches.
    Own,
}

/// Now and then a hold is long.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tail {
    /// Of a lookup, that its last hold is long.
    pub probability: f64,
    pub hold_ns: u64,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    pub protocol: String,
    pub workers: Workers,
    pub points: Vec<usize>,
    #[serde(default = "one")]
    pub children: usize,
    /// Iterations of the protocol's bounded spin; `None`: its own.
    #[serde(default)]
    pub spin: Option<u32>,
    #[serde(default = "two")]
    pub gets_per_lookup: u32,
    /// Added to each hold.
    #[serde(default)]
    pub hold_ns: u64,
    #[serde(default)]
    pub hold_tail: Option<Tail>,
    /// Between lookups.
    #[serde(default)]
    pub think_ns: u64,
    /// Lookups that change nothing.
    #[serde(default = "all")]
    pub read_share: f64,
    #[serde(default = "thousand")]
    pub keys: usize,
    /// Exponent of Zipf's law over the keys; 0 is uniform.
    #[serde(default)]
    pub skew: f64,
    #[serde(default = "line")]
    pub payload_bytes: usize,
    #[serde(default)]
    pub affinity: Affinity,
    /// Workers are pinned to these in turn; empty: free.
    #[serde(default)]
    pub cpus: Vec<usize>,
    /// Groups of workers, standing for NUMA nodes (cna).
    #[serde(default = "two")]
    pub groups: u32,
    #[serde(default = "yes")]
    pub counters: bool,
    /// One lookup in so many is timed.
    #[serde(default = "sixteen")]
    pub sample_every: u32,
    pub warm_up_s: f64,
    pub measure_s: f64,
    pub cool_down_s: f64,
    pub seed: u64,
}

fn one() -> usize {
    1
}
fn two() -> u32 {
    2
}
fn sixteen() -> u32 {
    16
}
fn thousand() -> usize {
    1000
}
fn line() -> usize {
    48
}
fn all() -> f64 {
    1.0
}
fn yes() -> bool {
    true
}

/// Limits beyond which a plan is a slip of the pen, or more than memory holds.
pub const MOST_WORKERS: usize = 256;
const MOST_CHILDREN: usize = 1024;
const MOST_KEYS: usize = 10_000_000;
const MOST_BYTES: usize = 1 << 20;
const MOST_REGION_BYTES: usize = 4 << 30;
const LONGEST_NS: u64 = 10_000_000_000;
const LONGEST_S: f64 = 604_800.0;
const HIGHEST_SKEW: f64 = 4.0;

impl Plan {
    /// Reads and checks a plan.
    pub fn parse(json: &str) -> Result<Self, PlanError> {
        let plan: Self =
            serde_json::from_str(json).map_err(|error| PlanError::new("plan", error.to_string()))?;
        plan.check()?;
        Ok(plan)
    }

    /// The protocol by its name; `check` has found it.
    pub fn protocol(&self) -> &'static Protocol {
        protocols::find(&self.protocol).unwrap_or(&protocols::PROTOCOLS[0])
    }

    pub fn spin(&self) -> u32 {
        self.spin.unwrap_or(self.protocol().facts.spin)
    }

    fn check(&self) -> Result<(), PlanError> {
        let refuse = |field: &str, cause: String| Err(PlanError::new(field, cause));
        self.check_protocol()?;
        let most_workers = 1..=MOST_WORKERS;
        if self.points.is_empty() || !self.points.iter().all(|count| most_workers.contains(count)) {
            return refuse("points", format!("needs numbers of workers, each 1 to {MOST_WORKERS}"));
        }
        for (field, value, least, most) in [
            ("children", self.children, 1, MOST_CHILDREN),
            ("gets_per_lookup", self.gets_per_lookup as usize, 1, 16),
            ("keys", self.keys, self.children, MOST_KEYS),
            ("payload_bytes", self.payload_bytes, 8, MOST_BYTES),
            ("groups", self.groups as usize, 1, MOST_WORKERS),
            ("sample_every", self.sample_every as usize, 1, 1 << 20),
            ("spin", self.spin.unwrap_or(0) as usize, 0, 1 << 30),
            ("hold_ns", self.hold_ns as usize, 0, LONGEST_NS as usize),
            ("think_ns", self.think_ns as usize, 0, LONGEST_NS as usize),
        ] {
            if !(least..=most).contains(&value) {
                return refuse(field, format!("must be {least} to {most}, not {value}"));
            }
        }
        if self.keys.saturating_mul(self.payload_bytes) > MOST_REGION_BYTES {
            return refuse(
                "payload_bytes",
                format!("keys x payload must be at most {MOST_REGION_BYTES} bytes"),
            );
        }
        for (field, value, most) in [
            ("read_share", self.read_share, 1.0),
            ("skew", self.skew, HIGHEST_SKEW),
            ("warm_up_s", self.warm_up_s, LONGEST_S),
            ("measure_s", self.measure_s, LONGEST_S),
            ("cool_down_s", self.cool_down_s, LONGEST_S),
        ] {
            if !(0.0..=most).contains(&value) {
                return refuse(field, format!("must be 0 to {most}, not {value}"));
            }
        }
        if self.measure_s == 0.0 {
            return refuse("measure_s", "must be above 0".into());
        }
        let sound = |tail: &Tail| (0.0..=1.0).contains(&tail.probability) && tail.hold_ns <= LONGEST_NS;
        if !self.hold_tail.as_ref().is_none_or(sound) {
            return refuse("hold_tail", format!("needs a probability 0 to 1 and hold_ns up to {LONGEST_NS}"));
        }
        check_cpus(&self.cpus)
    }

    fn check_protocol(&self) -> Result<(), PlanError> {
        let Some(protocol) = protocols::find(&self.protocol) else {
            let names: Vec<_> = protocols::PROTOCOLS.iter().map(|protocol| protocol.facts.name).collect();
            let cause = format!("unknown latch `{}`; one of: {}", self.protocol, names.join(", "));
            return Err(PlanError::new("protocol", cause));
        };
        let facts = protocol.facts;
        if self.workers == Workers::Processes && !facts.processes {
            let able = protocols::PROTOCOLS.iter().filter(|protocol| protocol.facts.processes);
            let able: Vec<_> = able.map(|protocol| protocol.facts.name).collect();
            let cause = format!(
                "`{}` works between threads of one process only: take workers = \"threads\", or one of {}",
                facts.name,
                able.join(", ")
            );
            return Err(PlanError::new("workers", cause));
        }
        if self.spin.is_some() && facts.spin == 0 {
            let cause = format!("`{}` has no spin budget to set", facts.name);
            return Err(PlanError::new("spin", cause));
        }
        if self.children > 1 && !facts.children {
            let cause = format!("`{}` partitions by itself: leave children at 1", facts.name);
            return Err(PlanError::new("children", cause));
        }
        Ok(())
    }
}

/// Whether this process may use these CPUs.
pub fn check_cpus(cpus: &[usize]) -> Result<(), PlanError> {
    let allowed = allowed();
    match cpus.iter().find(|cpu| !allowed.contains(cpu)) {
        Some(cpu) => Err(PlanError::new("cpus", format!("CPU {cpu} is not for this process to use"))),
        None => Ok(()),
    }
}
