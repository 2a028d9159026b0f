//! Steps of a transaction, as a plan gives them: statements, values, branches, loops.
//!
//! An expression is JSON: a number, `true`, `false` or `null`; the name of a value as a text; or a call, as
//! a list of the function's name and its arguments: `["add", "stock", 91]`.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::generator::Generator;

/// Which row of a result gives the values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Row {
    #[default]
    First,
    Last,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Step {
    /// Executes a statement. take: columns by the value that they become; a column that the result lacks, or
    /// a result without a row, leaves the value as it was. rows: the value that becomes the number of rows.
    Statement {
        name: String,
        #[serde(default)]
        take: BTreeMap<String, String>,
        #[serde(default)]
        row: Row,
        #[serde(default)]
        rows: Option<String>,
    },
    /// Draws a value. distinct: the name of a list: other than all that steps with this name have drawn in the
    /// transaction.
    Draw {
        value: String,
        from: Generator,
        #[serde(default)]
        distinct: Option<String>,
    },
    /// Gives a value one of these texts: the one of this number, from 1.
    Pick {
        value: String,
        from: Vec<String>,
        number: serde_json::Value,
    },
    /// Gives a value a prefix with a number after it, which has leading zeros: `S000417`.
    Name {
        value: String,
        prefix: String,
        number: serde_json::Value,
        digits: usize,
    },
    Set {
        value: String,
        to: serde_json::Value,
    },
    /// Puts a message into a queue, from which a transaction takes it (`Transaction::takes`) this much later.
    Send {
        queue: String,
        values: Vec<String>,
        #[serde(default)]
        after_ms: serde_json::Value,
    },
    If {
        condition: serde_json::Value,
        then: Vec<Step>,
        #[serde(default, rename = "else")]
        otherwise: Vec<Step>,
    },
    /// index: the value that becomes the number of the pass, from 1.
    Loop {
        times: serde_json::Value,
        #[serde(default)]
        index: Option<String>,
        steps: Vec<Step>,
    },
    /// Pauses within the transaction; part of its latency.
    Wait {
        ms: serde_json::Value,
    },
    Begin {},
    Commit {},
    /// Rolls back and ends the transaction, which counts as done.
    Rollback {},
    /// Ends the transaction as an error.
    Fail {
        message: String,
    },
}

impl Step {
    /// Whether it, or a step within it, has this property.
    pub fn any(&self, of: &dyn Fn(&Self) -> bool) -> bool {
        let within = match self {
            Self::If { then, otherwise, .. } => then.iter().chain(otherwise).any(|step| step.any(of)),
            Self::Loop { steps, .. } => steps.iter().any(|step| step.any(of)),
            _ => false,
        };
        within || of(self)
    }

    /// Names of the values that it, or a step within it, gives. depth: of loops around it.
    pub fn given(&self, depth: usize, names: &mut BTreeSet<String>) {
        let mut all = |steps: &[Self], depth| steps.iter().for_each(|step| step.given(depth, names));
        match self {
            Self::If { then, otherwise, .. } => {
                all(then, depth);
                all(otherwise, depth);
            }
            Self::Loop { index, steps, .. } => {
                all(steps, depth + 1);
                names.extend(index.iter().cloned().chain([pass_of(depth), passes_of(depth)]));
            }
            Self::Statement { take, rows, .. } => names.extend(take.keys().chain(rows).cloned()),
            Self::Draw { value, .. }
            | Self::Set { value, .. }
            | Self::Name { value, .. }
            | Self::Pick { value, .. } => {
                names.insert(value.clone());
            }
            Self::Wait { .. }
            | Self::Send { .. }
            | Self::Begin {}
            | Self::Commit {}
            | Self::Rollback {}
            | Self::Fail { .. } => {}
        }
    }
}

/// Name of the value that holds the number of a loop's pass; no text can mention it.
pub fn pass_of(depth: usize) -> String {
    format!("pass of loop {depth}")
}

/// Name of the value that holds how many passes a loop has.
pub fn passes_of(depth: usize) -> String {
    format!("passes of loop {depth}")
}
