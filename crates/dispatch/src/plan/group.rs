//! A group of threads that behave alike.

use std::collections::BTreeMap;

use serde::Deserialize;
use steelyard_engine::error::PlanError;

use super::distribution::Distribution;
use super::range::{DURATION_S_MAX, range};
use crate::tables::class::{Class, FIRST_CPUPRI};

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

fn time_sharing() -> ClassName {
    ClassName::Ts
}

impl Group {
    /// Checks all fields; `sets` are the processor sets of the plan.
    pub fn check(&self, sets: &BTreeMap<String, Vec<u32>>) -> Result<(), PlanError> {
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
        range(&field("arrive.at_s"), self.arrive.at_s, 0.0, DURATION_S_MAX)?;
        range(&field("arrive.over_s"), self.arrive.over_s, 0.0, DURATION_S_MAX)?;
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
