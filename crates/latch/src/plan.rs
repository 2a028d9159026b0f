//! The plan of one run, as JSON, and its validation.

use serde::Deserialize;
use steelyard_engine::error::PlanError;

use crate::caches::Size;
use crate::primitives::cpu::allowed;
use crate::registry::{self, Protocol};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WorkerKind {
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

/// Some holds are long.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tail {
    /// That the last hold of a lookup is long.
    pub probability: f64,
    pub hold_ns: u64,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    pub protocol: String,
    pub workers: WorkerKind,
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

// A plan beyond these limits is a mistake, or needs more memory than there is.
pub const WORKERS_MAX: usize = 256;
const CHILDREN_MAX: usize = 1024;
const KEYS_MAX: usize = 10_000_000;
const PAYLOAD_BYTES_MAX: usize = 1 << 20;
const ENTRIES_BYTES_MAX: usize = 4 << 30;
const DURATION_NS_MAX: u64 = 10_000_000_000;
const DURATION_S_MAX: f64 = 604_800.0;
const SKEW_MAX: f64 = 4.0;

impl Plan {
    /// Reads and checks a plan.
    pub fn parse(json: &str) -> Result<Self, PlanError> {
        let plan: Self =
            serde_json::from_str(json).map_err(|error| PlanError::new("plan", error.to_string()))?;
        plan.check()?;
        Ok(plan)
    }

    /// The protocol, which `check` has found by its name.
    pub fn protocol(&self) -> &'static Protocol {
        registry::find(&self.protocol).unwrap_or(&registry::PROTOCOLS[0])
    }

    /// Iterations of the bounded spin.
    pub fn spin(&self) -> u32 {
        self.spin.unwrap_or(self.protocol().facts.spin)
    }

    pub fn size(&self) -> Size {
        Size { keys: self.keys, payload_bytes: self.payload_bytes, children: self.children }
    }

    fn check(&self) -> Result<(), PlanError> {
        let refuse = |field: &str, cause: String| Err(PlanError::new(field, cause));
        self.check_protocol()?;
        let counts = 1..=WORKERS_MAX;
        if self.points.is_empty() || !self.points.iter().all(|count| counts.contains(count)) {
            return refuse("points", format!("needs one number of workers or more, each 1 to {WORKERS_MAX}"));
        }
        for (field, value, min, max) in [
            ("children", self.children, 1, CHILDREN_MAX),
            ("gets_per_lookup", self.gets_per_lookup as usize, 1, 16),
            ("keys", self.keys, self.children, KEYS_MAX),
            ("payload_bytes", self.payload_bytes, 8, PAYLOAD_BYTES_MAX),
            ("groups", self.groups as usize, 1, WORKERS_MAX),
            ("sample_every", self.sample_every as usize, 1, 1 << 20),
            ("spin", self.spin.unwrap_or(0) as usize, 0, 1 << 30),
            ("hold_ns", self.hold_ns as usize, 0, DURATION_NS_MAX as usize),
            ("think_ns", self.think_ns as usize, 0, DURATION_NS_MAX as usize),
        ] {
            if !(min..=max).contains(&value) {
                return refuse(field, format!("must be {min} to {max}, not {value}"));
            }
        }
        if self.keys.saturating_mul(self.payload_bytes) > ENTRIES_BYTES_MAX {
            return refuse(
                "payload_bytes",
                format!("keys x payload must be at most {ENTRIES_BYTES_MAX} bytes"),
            );
        }
        for (field, value, max) in [
            ("read_share", self.read_share, 1.0),
            ("skew", self.skew, SKEW_MAX),
            ("warm_up_s", self.warm_up_s, DURATION_S_MAX),
            ("measure_s", self.measure_s, DURATION_S_MAX),
            ("cool_down_s", self.cool_down_s, DURATION_S_MAX),
        ] {
            if !(0.0..=max).contains(&value) {
                return refuse(field, format!("must be 0 to {max}, not {value}"));
            }
        }
        if self.measure_s == 0.0 {
            return refuse("measure_s", "must be above 0".into());
        }
        let sound = |tail: &Tail| (0.0..=1.0).contains(&tail.probability) && tail.hold_ns <= DURATION_NS_MAX;
        if !self.hold_tail.as_ref().is_none_or(sound) {
            return refuse(
                "hold_tail",
                format!("needs a probability 0 to 1 and hold_ns up to {DURATION_NS_MAX}"),
            );
        }
        check_cpus(&self.cpus)
    }

    fn check_protocol(&self) -> Result<(), PlanError> {
        let Some(protocol) = registry::find(&self.protocol) else {
            let names: Vec<_> = registry::PROTOCOLS.iter().map(|protocol| protocol.facts.name).collect();
            let cause = format!("unknown latch `{}`; one of: {}", self.protocol, names.join(", "));
            return Err(PlanError::new("protocol", cause));
        };
        let facts = protocol.facts;
        if self.workers == WorkerKind::Processes && !facts.processes {
            let able = registry::PROTOCOLS.iter().filter(|protocol| protocol.facts.processes);
            let able: Vec<_> = able.map(|protocol| protocol.facts.name).collect();
            let cause = format!(
                "`{}` works between threads of one process only: set workers = \"threads\", or use one of {}",
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
            let cause = format!("`{}` has its own partitions: leave children at 1", facts.name);
            return Err(PlanError::new("children", cause));
        }
        Ok(())
    }
}

/// Whether this process may use these CPUs.
pub fn check_cpus(cpus: &[usize]) -> Result<(), PlanError> {
    let allowed = allowed();
    match cpus.iter().find(|cpu| !allowed.contains(cpu)) {
        Some(cpu) => Err(PlanError::new("cpus", format!("CPU {cpu} is not available to this process"))),
        None => Ok(()),
    }
}
