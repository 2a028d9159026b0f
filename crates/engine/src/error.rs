//! Errors of a plan, as messages for the user.

use thiserror::Error;

/// The plan cannot be run: field and cause.
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
