//! Histograms in a record that goes from one process to another: HdrHistogram's V2 encoding, as text.

use hdrhistogram::{Counter, Histogram};
use steelyard_engine::histogram::{decode_text, encode_text};

pub mod one {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<T: super::Counter, S: Serializer>(
        value: &super::Histogram<T>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        to.serialize_str(&super::encode_text(value))
    }

    pub fn deserialize<'de, T: super::Counter, D: Deserializer<'de>>(
        from: D,
    ) -> Result<super::Histogram<T>, D::Error> {
        super::decode_text(&String::deserialize(from)?).map_err(D::Error::custom)
    }
}

pub mod many {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<T: super::Counter, S: Serializer>(
        values: &[super::Histogram<T>],
        to: S,
    ) -> Result<S::Ok, S::Error> {
        to.collect_seq(values.iter().map(super::encode_text))
    }

    pub fn deserialize<'de, T: super::Counter, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Vec<super::Histogram<T>>, D::Error> {
        let texts = Vec::<String>::deserialize(from)?;
        texts.iter().map(|text| super::decode_text(text).map_err(D::Error::custom)).collect()
    }
}
