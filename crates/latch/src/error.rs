//! Errors, as messages for the user.

use thiserror::Error;

/// The plan is invalid: the field and the cause.
#[derive(Debug, Error)]
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

/// The run cannot start or continue.
#[derive(Debug, Error)]
pub enum LatchError {
    #[error("the workers cannot be started: {0}")]
    Workers(#[from] std::io::Error),
    #[error("worker {worker} was not ready within {seconds} s")]
    NotReady { worker: usize, seconds: u64 },
    #[error("worker {worker} ended before it was ready")]
    Lost { worker: usize },
    #[error("stopped")]
    Stopped,
}
