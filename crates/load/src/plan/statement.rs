//! A statement of a plan: its text and its parameters.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::captured::Captured;
use super::generator::Generator;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Statement {
    pub name: String,
    pub sql: String,
    #[serde(default)]
    pub parameters: BTreeMap<String, Generator>,
    /// It stands for the statements of one class of a capture.
    #[serde(default)]
    pub captured: Option<Captured>,
    /// Its executions return or change a number of rows.
    #[serde(default = "counts")]
    pub counts: bool,
}

fn counts() -> bool {
    true
}
