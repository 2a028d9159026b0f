//! A histogram that comes from outside makes an error, never a panic.

use proptest::prelude::*;
use steelyard_engine::histogram::{decode, empty, encode};

proptest! {
    #[test]
    fn no_bytes_make_a_histogram_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = decode::<u64>(&bytes);
    }
}

proptest! {
    // a histogram of full size takes a while to decode
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_damaged_histogram_does_not_panic(values in proptest::collection::vec(1u64..1 << 40, 0..50),
                                          at in any::<usize>(), byte in any::<u8>(), cut in any::<usize>()) {
        let mut histogram = empty();
        for value in values {
            histogram.saturating_record(value);
        }
        let mut bytes = encode(&histogram);
        let length = bytes.len();
        bytes[at % length] = byte;
        bytes.truncate(length - cut % 4);
        if let Ok(read) = decode::<u64>(&bytes) {
            let _ = (read.value_at_quantile(0.99), read.max(), read.mean());
        }
    }
}
