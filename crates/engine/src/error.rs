//! What is wrong with a plan, in a sentence for the person at the keyboard.

use thiserror::Error;

/// The plan cannot be run: which field, and why.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{field}: {cause}")]
pub struct PlanError {
    pub field: String,
    pub cause: String,
}

impl PlanError {
    pub fn new(field: impl Into<String>, cause: impl Into<String>) -> Self {
        Self { field: field.into(), cause: cause.into() }
    }
}
