//! Errors, as messages for the user.

use thiserror::Error;

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
