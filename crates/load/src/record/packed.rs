//! Histograms in a record that goes from one process to another: HdrHistogram's V2 encoding, as text.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::serialization::{Deserializer, Serializer as _, V2Serializer};
use hdrhistogram::{Counter, Histogram};

fn text<T: Counter>(histogram: &Histogram<T>) -> String {
    let mut bytes = Vec::new();
    // writing to a Vec fails only for histograms larger than memory
    let _ = V2Serializer::new().serialize(histogram, &mut bytes);
    STANDARD.encode(bytes)
}

fn histogram<T: Counter, E: serde::de::Error>(text: &str) -> Result<Histogram<T>, E> {
    let bytes = STANDARD.decode(text).map_err(E::custom)?;
    Deserializer::new()
        .deserialize(&mut bytes.as_slice())
        .map_err(|error| E::custom(format!("not a histogram: {error:?}")))
}

pub mod one {
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<T: super::Counter, S: Serializer>(
        value: &super::Histogram<T>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        to.serialize_str(&super::text(value))
    }

    pub fn deserialize<'de, T: super::Counter, D: Deserializer<'de>>(
        from: D,
    ) -> Result<super::Histogram<T>, D::Error> {
        super::histogram(&String::deserialize(from)?)
    }
}

pub mod many {
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<T: super::Counter, S: Serializer>(
        values: &[super::Histogram<T>],
        to: S,
    ) -> Result<S::Ok, S::Error> {
        to.collect_seq(values.iter().map(super::text))
    }

    pub fn deserialize<'de, T: super::Counter, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Vec<super::Histogram<T>>, D::Error> {
        Vec::<String>::deserialize(from)?.iter().map(|text| super::histogram(text)).collect()
    }
}
