//! Times as histograms.

use hdrhistogram::Histogram;
use steelyard_engine::histogram::{empty, encode_text};

use crate::primitives::times::Times;

pub fn histogram(times: &[&Times]) -> Histogram<u64> {
    let mut histogram = empty();
    for (value, count) in times.iter().flat_map(|times| times.iter()) {
        histogram.saturating_record_n(value.max(1), count);
    }
    histogram
}

/// The number of times, and their HdrHistogram, V2, base64.
pub fn encode(times: &[&Times]) -> (u64, String) {
    let merged = histogram(times);
    (merged.len(), encode_text(&merged))
}
