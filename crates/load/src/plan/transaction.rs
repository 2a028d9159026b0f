//! Transactions of a plan, and how they follow one another.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::generator::Generator;
use super::steps::Step;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transaction {
    pub name: String,
    pub weight: f64,
    /// Executed in this order; or, in their place, `steps`.
    #[serde(default)]
    pub statements: Vec<String>,
    #[serde(default)]
    pub steps: Vec<Step>,
    #[serde(default)]
    pub begin: bool,
    /// Drawn once per transaction, for the parameters of its statements that have no generator of their own.
    #[serde(default)]
    pub values: BTreeMap<String, Generator>,
    /// Pause of the client before it, which is no part of its latency.
    #[serde(default)]
    pub keying_ms: f64,
    /// Pause of the client after it, in addition to that of the arrival.
    #[serde(default)]
    pub think_ms: f64,
    #[serde(default)]
    pub think: Think,
}

impl Transaction {
    pub fn begins(&self) -> bool {
        self.begin || self.steps.iter().any(|step| step.any(&|one| matches!(one, Step::Begin {})))
    }

    /// Whether its client pauses before or after it.
    pub fn pauses(&self) -> bool {
        self.keying_ms > 0.0 || self.think_ms > 0.0
    }
}

/// How a client chooses its next transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mix {
    /// Each time at random, by weight.
    #[default]
    Weights,
    /// From a shuffled deck with as many cards of each as its weight says.
    Deck,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Think {
    #[default]
    Fixed,
    Exponential,
}
