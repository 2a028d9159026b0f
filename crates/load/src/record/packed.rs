//! Histograms in a record that goes from one process to another: HdrHistogram's V2 encoding, as text.

pub mod one {
    use hdrhistogram::{Counter, Histogram};
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};
    use steelyard_engine::histogram::{decode_text, encode_text};

    pub fn serialize<T: Counter, S: Serializer>(value: &Histogram<T>, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&encode_text(value))
    }

    pub fn deserialize<'de, T: Counter, D: Deserializer<'de>>(from: D) -> Result<Histogram<T>, D::Error> {
        decode_text(&String::deserialize(from)?).map_err(D::Error::custom)
    }
}

pub mod many {
    use hdrhistogram::{Counter, Histogram};
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};
    use steelyard_engine::histogram::{decode_text, encode_text};

    pub fn serialize<T: Counter, S: Serializer>(values: &[Histogram<T>], to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(values.iter().map(encode_text))
    }

    pub fn deserialize<'de, T: Counter, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Vec<Histogram<T>>, D::Error> {
        let texts = Vec::<String>::deserialize(from)?;
        texts.iter().map(|text| decode_text(text).map_err(D::Error::custom)).collect()
    }
}
