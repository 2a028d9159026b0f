//! The plan of one simulation, as it comes in JSON, and everything that makes it impossible.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::class::{Class, FIRST_CPUPRI, Tables};
use crate::dispadmin::{parse_fx, parse_rt, parse_ts};
use crate::distribution::Distribution;
use crate::error::{PlanError, TableError};
use crate::machine::{Machine, range};
use crate::table::{QuantumTable, TsTable};

/// What can be simulated at most.
const MOST_THREADS: u64 = 4_000_000;
const LONGEST_S: f64 = 1e6;

/// The tables by name (`standard`, `extended`) or as text in dispadmin's form.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableTexts {
    pub ts: String,
    pub rt: Option<String>,
    pub fx: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum ClassName {
    #[serde(rename = "TS")]
    Ts,
    #[serde(rename = "IA")]
    Ia,
    #[serde(rename = "FX")]
    Fx,
    #[serde(rename = "RT")]
    Rt,
}

/// When the threads of a group come.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Arrive {
    #[serde(default)]
    pub at_s: f64,
    /// Spread evenly over so long.
    #[serde(default)]
    pub over_s: f64,
}

/// Threads that behave alike: bursts of CPU and sleeps in turn.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Group {
    pub name: String,
    pub count: u32,
    #[serde(default = "time_sharing")]
    pub class: ClassName,
    /// TS and IA: -20 (favoured) to 19.
    #[serde(default)]
    pub nice: i8,
    /// FX 0 to 60, RT 0 to 59; TS and IA: the class priority to start with (29 when left out).
    pub priority: Option<u8>,
    /// IA: whether the thread's window has the focus.
    #[serde(default)]
    pub foreground: bool,
    pub cpu: Distribution,
    /// A mean of 0: it never sleeps.
    pub sleep: Distribution,
    #[serde(default)]
    pub working_set_kib: f64,
    /// A processor set; none: the CPUs that are in no set.
    pub set: Option<String>,
    #[serde(default)]
    pub arrive: Arrive,
    /// Part of the bursts that end in a fork: the child runs one burst and exits.
    #[serde(default)]
    pub fork: f64,
}

/// What to trace, in simulated time.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceWish {
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
    pub trace: Option<TraceWish>,
}

fn time_sharing() -> ClassName {
    ClassName::Ts
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

    /// Everything but the tables and the trace.
    pub fn check(&self) -> Result<(), PlanError> {
        self.machine.check()?;
        range("hz", f64::from(self.hz), 1.0, 100_000.0)?;
        range("update_s", self.update_s, 0.0, LONGEST_S)?;
        range("warm_up_s", self.warm_up_s, 0.0, LONGEST_S)?;
        range("measure_s", self.measure_s, 1e-3, LONGEST_S)?;
        range("sample_s", self.sample_s, 1e-3, LONGEST_S)?;
        if self.groups.is_empty() {
            return Err(PlanError::new("groups", "no thread would run: give one group at least"));
        }
        let total: u64 = self.groups.iter().map(|group| u64::from(group.count)).sum();
        range("groups.count", total as f64, 1.0, MOST_THREADS as f64)?;
        for group in &self.groups {
            group.check(&self.sets)?;
            if self.groups.iter().filter(|other| other.name == group.name).count() > 1 {
                return Err(PlanError::new("groups", format!("two groups are called \"{}\"", group.name)));
            }
        }
        self.check_sets()
    }

    fn check_sets(&self) -> Result<(), PlanError> {
        let mut owner: BTreeMap<u32, &str> = BTreeMap::new();
        for (name, cpus) in &self.sets {
            let field = || format!("sets.{name}");
            if cpus.is_empty() {
                return Err(PlanError::new(field(), "a processor set needs a CPU"));
            }
            for cpu in cpus {
                if *cpu >= self.machine.cpus {
                    return Err(PlanError::new(
                        field(),
                        format!("there is no CPU {cpu}: the machine has {}", self.machine.cpus),
                    ));
                }
                if let Some(other) = owner.insert(*cpu, name) {
                    return Err(PlanError::new(field(), format!("CPU {cpu} is in the set {other} too")));
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

impl Group {
    fn check(&self, sets: &BTreeMap<String, Vec<u32>>) -> Result<(), PlanError> {
        let field = |name: &str| format!("groups.{}.{name}", self.name);
        if self.name.is_empty()
            || self.name.contains(':')
            || self.name == "transaction"
            || self.name == "total"
        {
            return Err(PlanError::new(
                field("name"),
                "a name without a colon is needed, other than `transaction` and `total`",
            ));
        }
        self.cpu.check(&field("cpu"), false)?;
        self.sleep.check(&field("sleep"), true)?;
        range(&field("working_set_kib"), self.working_set_kib, 0.0, 1e9)?;
        range(&field("nice"), f64::from(self.nice), -20.0, 19.0)?;
        range(&field("arrive.at_s"), self.arrive.at_s, 0.0, LONGEST_S)?;
        range(&field("arrive.over_s"), self.arrive.over_s, 0.0, LONGEST_S)?;
        range(&field("fork"), self.fork, 0.0, 1.0)?;
        let highest = if self.class == ClassName::Fx { 60.0 } else { 59.0 };
        range(&field("priority"), f64::from(self.priority.unwrap_or(0)), 0.0, highest)?;
        match &self.set {
            Some(set) if !sets.contains_key(set) => {
                Err(PlanError::new(field("set"), format!("no processor set \"{set}\" in sets")))
            }
            _ => Ok(()),
        }
    }

    /// The class of its threads, and the class priority that they start with.
    pub fn class(&self) -> (Class, u8) {
        let adjust = Class::user_priority(self.nice);
        let priority = self.priority.unwrap_or(0);
        let first = self.priority.unwrap_or(FIRST_CPUPRI);
        match self.class {
            ClassName::Ts => (Class::Ts { adjust }, first),
            ClassName::Ia => (Class::Ia { adjust, foreground: self.foreground }, first),
            ClassName::Fx => (Class::Fx { priority }, 0),
            ClassName::Rt => (Class::Rt { priority }, 0),
        }
    }
}
