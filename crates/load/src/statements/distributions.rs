//! Values of parameters, written as text straight into a message.

use std::sync::atomic::{AtomicU64, Ordering};

use rand::Rng;
use rand::rngs::SmallRng;
use rand_distr::{Distribution, Zipf};

use crate::plan::generator::Generator;
use crate::shared_memory::Shared;

/// A value that is bound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    Integer(i64),
    Text(Vec<u8>),
}

/// A generator ready to draw from; shared by all clients, each with its own random numbers.
#[derive(Debug)]
pub enum Source {
    Uniform(i64, i64),
    Zipf(i64, i64, Zipf<f64>),
    Counter { next: Shared<AtomicU64>, start: i64, step: i64 },
    Text(usize),
    Choice(Vec<(String, bool)>),
}

impl Source {
    pub fn new(generator: &Generator) -> Self {
        let counter = |start, step| Self::Counter { next: Shared::new(AtomicU64::new(0)), start, step };
        match generator {
            Generator::Uniform { low, high } => Self::Uniform(*low, *high),
            Generator::Zipf { low, high, exponent } => {
                let n = *high as f64 - *low as f64 + 1.0;
                // check() has refused what Zipf::new refuses; a single value needs no distribution
                Zipf::new(n, *exponent)
                    .map_or(Self::Uniform(*low, *high), |zipf| Self::Zipf(*low, *high, zipf))
            }
            Generator::Sequence { start, step } => counter(*start, *step),
            Generator::Unique {} => counter(1, 1),
            Generator::Text { length } => Self::Text(*length),
            Generator::Choice { values } => Self::Choice(
                values
                    .iter()
                    .map(|value| match value {
                        serde_json::Value::String(text) => (text.clone(), true),
                        other => (other.to_string(), false),
                    })
                    .collect(),
            ),
        }
    }

    /// A value, where values are whole numbers.
    fn integer(&self, rng: &mut SmallRng) -> Option<i64> {
        match self {
            Self::Uniform(low, high) => Some(rng.random_range(*low..=*high)),
            Self::Zipf(low, high, zipf) => Some((low + zipf.sample(rng) as i64 - 1).min(*high)),
            Self::Counter { next, start, step } => {
                let number = next.fetch_add(1, Ordering::Relaxed) as i64;
                Some(start.wrapping_add(step.wrapping_mul(number)))
            }
            Self::Text(_) | Self::Choice(_) => None,
        }
    }

    /// Appends a value as the server reads it from a bound parameter.
    pub fn write(&self, rng: &mut SmallRng, out: &mut Vec<u8>) {
        match self {
            Self::Text(length) => out.extend((0..*length).map(|_| rng.random_range(b'a'..=b'z'))),
            Self::Choice(values) => {
                out.extend_from_slice(values[rng.random_range(0..values.len())].0.as_bytes());
            }
            _ => {
                if let Some(number) = self.integer(rng) {
                    write_integer(number, out);
                }
            }
        }
    }

    /// A value with its type.
    pub fn draw(&self, rng: &mut SmallRng) -> Value {
        self.integer(rng).map_or_else(
            || {
                let mut text = Vec::new();
                self.write(rng, &mut text);
                Value::Text(text)
            },
            Value::Integer,
        )
    }

    /// Appends a value as a literal of the dialect. `quote`: surrounds a text; `doubled`: the bytes that
    /// are written twice in it.
    pub fn write_literal(&self, rng: &mut SmallRng, quote: &[u8], doubled: &[u8], out: &mut Vec<u8>) {
        match self {
            Self::Text(_) => {
                out.extend_from_slice(quote);
                self.write(rng, out);
                out.extend_from_slice(quote);
            }
            Self::Choice(values) => {
                let (value, quoted) = &values[rng.random_range(0..values.len())];
                if !quoted {
                    return out.extend_from_slice(value.as_bytes());
                }
                out.extend_from_slice(quote);
                for byte in value.bytes() {
                    if doubled.contains(&byte) {
                        out.push(byte);
                    }
                    out.push(byte);
                }
                out.extend_from_slice(quote);
            }
            _ => self.write(rng, out),
        }
    }
}

/// Appends decimal digits; a third of the time that `write!` takes, once or twice per transaction.
pub fn write_integer(number: i64, out: &mut Vec<u8>) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    let mut rest = number.unsigned_abs();
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if number < 0 {
        out.push(b'-');
    }
    out.extend_from_slice(&digits[at..]);
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    fn drawn(generator: &Generator, count: usize) -> Vec<String> {
        let source = Source::new(generator);
        let mut rng = SmallRng::seed_from_u64(7);
        (0..count)
            .map(|_| {
                let mut out = Vec::new();
                source.write(&mut rng, &mut out);
                String::from_utf8(out).unwrap()
            })
            .collect()
    }

    #[test]
    fn integers_are_written_as_the_language_writes_them() {
        for number in [0, 7, -7, 10, 1_234_567_890, i64::MAX, i64::MIN] {
            let mut out = Vec::new();
            write_integer(number, &mut out);
            assert_eq!(out, number.to_string().as_bytes());
        }
    }

    #[test]
    fn uniform_stays_within_its_bounds() {
        let values = drawn(&Generator::Uniform { low: -2, high: 2 }, 1000);
        let numbers: Vec<i64> = values.iter().map(|v| v.parse().unwrap()).collect();
        assert_eq!((numbers.iter().min(), numbers.iter().max()), (Some(&-2), Some(&2)));
    }

    #[test]
    fn zipf_of_exponent_one_halves_the_second_rank() {
        let values = drawn(&Generator::Zipf { low: 10, high: 109, exponent: 1.0 }, 200_000);
        let count = |word: &str| values.iter().filter(|v| *v == word).count() as f64;
        // 1/H(100), H(100) = 5.18738
        assert!((count("10") / 200_000.0 - 0.19278).abs() < 0.005);
        assert!((count("10") / count("11") - 2.0).abs() < 0.1);
    }

    #[test]
    fn sequence_never_repeats() {
        assert_eq!(drawn(&Generator::Sequence { start: 5, step: 3 }, 3), ["5", "8", "11"]);
    }

    #[test]
    fn a_quoted_choice_is_escaped_as_a_literal() {
        let source = Source::new(&Generator::Choice { values: vec!["O'Hara".into()] });
        let mut out = Vec::new();
        source.write_literal(&mut SmallRng::seed_from_u64(1), b"'", b"'", &mut out);
        assert_eq!(out, b"'O''Hara'");
    }
}
