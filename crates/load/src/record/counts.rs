//! Counts of transactions, by client and by kind, and of lost connections.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use steelyard_engine::histogram::LONGEST_NS;

use crate::record::packed;

#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct Count {
    pub done: u64,
    pub errors: u64,
}

/// One client in the measure phase.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ClientRecord {
    pub number: usize,
    pub count: Count,
    pub sum_ns: u64,
    #[serde(with = "packed::one")]
    histogram: Histogram<u32>,
}

impl ClientRecord {
    pub fn new(number: usize) -> Self {
        let mut histogram =
            Histogram::new_with_bounds(1000, LONGEST_NS, 2).unwrap_or_else(|_| unreachable!());
        histogram.auto(false);
        Self { number, count: Count::default(), sum_ns: 0, histogram }
    }

    /// A transaction without error.
    pub fn add(&mut self, latency_ns: u64) {
        self.count.done += 1;
        self.sum_ns += latency_ns;
        self.histogram.saturating_record(latency_ns);
    }

    pub fn mean_ns(&self) -> f64 {
        self.sum_ns as f64 / self.count.done.max(1) as f64
    }

    pub fn p99_ns(&self) -> u64 {
        self.histogram.value_at_quantile(0.99)
    }
}

/// Connections that ended without our having closed them.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
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
