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
    /// Messages that it waits for: its latency counts from the moment when the last of them was due.
    #[serde(default)]
    pub takes: Vec<Takes>,
    /// Clients that execute nothing else; the others do not execute it. Without `takes` they execute it one
    /// after another, and it counts by itself alone: not among transactions, nor in their latency.
    #[serde(default)]
    pub clients: usize,
    /// A roll back undoes it, so that new connections may execute it before the load.
    #[serde(default = "yes")]
    pub primes: bool,
}

fn yes() -> bool {
    true
}

/// Most messages of one queue that a transaction takes.
const MESSAGES_MAX: usize = 1_000;

/// Messages of a queue that a transaction takes.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Takes {
    pub queue: String,
    /// Values that a message's become; of several messages, with the message's number after the name.
    pub into: Vec<String>,
    #[serde(default = "one")]
    pub count: usize,
    /// The transaction begins with so many; values of those that lack then are NULL.
    #[serde(default = "one")]
    pub least: usize,
}

fn one() -> usize {
    1
}

impl Takes {
    pub fn is_possible(&self) -> bool {
        !self.into.is_empty() && self.least <= self.count && (1..=MESSAGES_MAX).contains(&self.count)
    }

    /// Names of the values, message by message.
    pub fn names(&self) -> impl Iterator<Item = String> {
        (1..=self.count).flat_map(move |number| {
            self.into.iter().map(
                move |name| {
                    if self.count == 1 { name.clone() } else { format!("{name}{number}") }
                },
            )
        })
    }
}

impl Transaction {
    pub fn begins(&self) -> bool {
        self.begin || self.steps.iter().any(|step| step.any(&|one| matches!(one, Step::Begin {})))
    }

    /// Whether it runs beside the others and is counted apart from them.
    pub fn is_background(&self) -> bool {
        self.clients > 0 && self.takes.is_empty()
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
