//! Histograms of times in ns, three significant digits, and HdrHistogram's V2 encoding of them.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::serialization::{Deserializer, Serializer, V2Serializer};
use hdrhistogram::{Counter, Histogram};

/// The longest time that a histogram distinguishes: an hour.
pub const LONGEST_NS: u64 = 3_600_000_000_000;

/// A histogram with the common bounds.
pub fn empty() -> Histogram<u64> {
    // constants that the crate accepts; full-sized from the start, so recording never allocates
    Histogram::new_with_bounds(1, LONGEST_NS, 3).unwrap_or_else(|_| unreachable!())
}

/// One histogram of several.
pub fn merge<'a>(histograms: impl Iterator<Item = &'a Histogram<u64>>) -> Histogram<u64> {
    let mut merged = empty();
    // ours have the same bounds; a stranger's larger ones make room for themselves
    merged.auto(true);
    for histogram in histograms {
        let _ = merged.add(histogram);
    }
    merged
}

/// A histogram as kept: V2 encoding.
pub fn encode<C: Counter>(histogram: &Histogram<C>) -> Vec<u8> {
    let mut bytes = Vec::new();
    // writing to a Vec fails only for histograms larger than memory
    let _ = V2Serializer::new().serialize(histogram, &mut bytes);
    bytes
}

/// The histogram in an encoding of [`encode`].
pub fn decode<C: Counter>(mut bytes: &[u8]) -> Result<Histogram<C>, String> {
    Deserializer::new()
        .deserialize(&mut bytes)
        .map_err(|error| format!("not a histogram in V2 encoding: {error:?}"))
}

/// V2 encoding in base64, for JSON.
pub fn encode_text<C: Counter>(histogram: &Histogram<C>) -> String {
    STANDARD.encode(encode(histogram))
}

/// The histogram in an encoding of [`encode_text`].
pub fn decode_text<C: Counter>(text: &str) -> Result<Histogram<C>, String> {
    decode(&STANDARD.decode(text).map_err(|error| format!("not a histogram in base64: {error}"))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_survives_its_encoding() {
        let mut histogram = empty();
        for latency_ns in [10_000, 20_000, 5_000_000_000] {
            histogram.saturating_record(latency_ns);
        }
        assert_eq!(decode::<u64>(&encode(&histogram)).unwrap(), histogram);
        assert_eq!(decode_text::<u64>(&encode_text(&histogram)).unwrap(), histogram);
        assert!(decode::<u64>(b"nonsense").is_err() && decode_text::<u64>("?").is_err());
    }
}
