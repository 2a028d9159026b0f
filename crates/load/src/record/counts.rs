//! Counts of transactions, of their kinds, and of lost connections.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct Count {
    pub done: u64,
    pub errors: u64,
}

/// Connections that ended without our having closed them.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Lost {
    pub count: u64,
    pub last_cause: Option<String>,
}

impl Lost {
    pub fn one(&mut self, cause: &str) {
        self.count += 1;
        self.last_cause = Some(cause.into());
    }

    /// Adds those of another loop, or of a later stretch of load.
    pub fn add(&mut self, other: &mut Self) {
        self.count += std::mem::take(&mut other.count);
        self.last_cause = other.last_cause.take().or(self.last_cause.take());
    }
}

/// One kind of transaction in the measure phase.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct KindRecord {
    pub count: Count,
    /// Executions after a serialization failure or a deadlock.
    pub retries: u64,
    /// Of those done: they chose to roll back.
    pub rolled_back: u64,
    /// Code and message of its first error.
    pub failure: Option<(String, String)>,
}
