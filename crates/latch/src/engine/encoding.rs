//! Tables and histograms as JSON.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2Serializer};
use serde_json::Value;

use crate::primitives::times::Times;

const DURATION_NS_MAX: u64 = 3_600_000_000_000;

pub fn histogram(times: &[&Times]) -> Histogram<u64> {
    let mut histogram = Histogram::new_with_bounds(1, DURATION_NS_MAX, 3).unwrap_or_else(|_| unreachable!());
    for (value, count) in times.iter().flat_map(|times| times.iter()) {
        histogram.saturating_record_n(value.max(1), count);
    }
    histogram
}

/// The number of times, and their HdrHistogram, V2, base64.
pub fn encode(times: &[&Times]) -> (u64, String) {
    let merged = histogram(times);
    let mut bytes = Vec::new();
    // writing to memory does not fail
    let _ = V2Serializer::new().serialize(&merged, &mut bytes);
    (merged.len(), STANDARD.encode(bytes))
}

/// One array per column; a row has a value for each name.
pub fn columns(names: &[&str], rows: impl IntoIterator<Item = Vec<Value>>) -> Value {
    let mut columns: Vec<Vec<Value>> = vec![Vec::new(); names.len()];
    for row in rows {
        for (column, value) in columns.iter_mut().zip(row) {
            column.push(value);
        }
    }
    names.iter().zip(columns).map(|(name, column)| ((*name).to_string(), Value::Array(column))).collect()
}
