//! Generators of values, ready to draw from.

use std::sync::atomic::{AtomicU64, Ordering};

use rand::Rng;
use rand::rngs::SmallRng;
use rand_distr::{Distribution, Zipf};

use crate::plan::generator::Generator;
use crate::plan::share::Share;
use crate::shared_memory::Shared;
use crate::statements::scalar::Scalar;
use crate::statements::value::Value;

/// A generator ready to draw from; shared by all clients, each with its own random numbers.
#[derive(Debug)]
pub enum Source {
    Uniform(i64, i64),
    Zipf(i64, i64, Zipf<f64>),
    Nurand { a: i64, low: i64, high: i64, constant: i64 },
    Counter { next: Shared<AtomicU64>, start: i64, step: i64, to: Option<i64> },
    Text(usize),
    Choice(Vec<(String, bool)>),
}

impl Source {
    pub fn new(generator: &Generator) -> Self {
        let counter =
            |start, step, to| Self::Counter { next: Shared::new(AtomicU64::new(0)), start, step, to };
        match generator {
            Generator::Uniform { low, high } => Self::Uniform(*low, *high),
            Generator::Zipf { low, high, exponent } => {
                let n = *high as f64 - *low as f64 + 1.0;
                // check() has refused what Zipf::new refuses; a single value needs no distribution
                Zipf::new(n, *exponent)
                    .map_or(Self::Uniform(*low, *high), |zipf| Self::Zipf(*low, *high, zipf))
            }
            Generator::Nurand { a, low, high, constant } => {
                Self::Nurand { a: *a, low: *low, high: *high, constant: *constant }
            }
            Generator::Sequence { start, step, to } => counter(*start, *step, *to),
            Generator::Unique { start } => counter(*start, 1, None),
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

    /// Leaves the part of a counter's numbers that no other host takes.
    pub fn divide(&mut self, share: Share) {
        if let Self::Counter { start, step, .. } = self {
            *start = start.wrapping_add(step.wrapping_mul(share.host as i64));
            *step = step.wrapping_mul(share.hosts as i64);
        }
    }

    /// How many numbers of a counter were drawn.
    pub fn counted(&self) -> u64 {
        if let Self::Counter { next, .. } = self { next.load(Ordering::Relaxed) } else { 0 }
    }

    /// The next number of a counter, NULL after its last. peeks: it stays the next one.
    pub fn count(&self, peeks: bool, value: &mut Value) {
        if let Self::Counter { next, start, step, to } = self {
            let number = next.fetch_add(u64::from(!peeks), Ordering::Relaxed) as i64;
            let number = start.wrapping_add(step.wrapping_mul(number));
            match to {
                Some(to) if (number > *to) == (*step > 0) && number != *to => value.set(Scalar::Null),
                _ => value.set_integer(number),
            }
        }
    }

    /// Puts the next value in place of this one.
    pub fn draw(&self, rng: &mut SmallRng, value: &mut Value) {
        match self {
            Self::Uniform(low, high) => value.set_integer(rng.random_range(*low..=*high)),
            Self::Zipf(low, high, zipf) => value.set_integer((low + zipf.sample(rng) as i64 - 1).min(*high)),
            Self::Nurand { a, low, high, constant } => {
                let both = rng.random_range(0..=*a) | rng.random_range(*low..=*high);
                // no sum of two numbers from 0 overflows when it is unsigned
                let shifted = (both as u64 + *constant as u64) % (*high as u64 - *low as u64 + 1);
                value.set_integer(shifted as i64 + low);
            }
            Self::Counter { .. } => self.count(false, value),
            Self::Text(length) => {
                value.set_text(true).extend((0..*length).map(|_| rng.random_range(b'a'..=b'z')));
            }
            Self::Choice(values) => {
                let (text, quoted) = &values[rng.random_range(0..values.len())];
                value.set_text(*quoted).extend_from_slice(text.as_bytes());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    fn drawn(generator: &Generator, count: usize) -> Vec<String> {
        taken(&Source::new(generator), count)
    }

    fn taken(source: &Source, count: usize) -> Vec<String> {
        let mut rng = SmallRng::seed_from_u64(7);
        (0..count)
            .map(|_| {
                let (mut value, mut out) = (Value::default(), Vec::new());
                source.draw(&mut rng, &mut value);
                value.write(&mut out);
                String::from_utf8(out).unwrap()
            })
            .collect()
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
    fn nurand_is_the_formula_of_the_specification() {
        // a = 0 and a single number: ((0 | 5) + 3) mod 1 + 5
        assert_eq!(drawn(&Generator::Nurand { a: 0, low: 5, high: 5, constant: 0 }, 2), ["5", "5"]);
        let values = drawn(&Generator::Nurand { a: 255, low: 0, high: 999, constant: 10 }, 200_000);
        let mut counts = vec![0; 1000];
        for value in &values {
            counts[value.parse::<usize>().unwrap()] += 1;
        }
        // numbers whose low bits are all set are the most frequent: 255 + 10; 0 + 10 is rare
        assert!(counts[265] > 50 * counts[10], "{} {}", counts[265], counts[10]);
        let edge = drawn(&Generator::Nurand { a: i64::MAX, low: 0, high: i64::MAX, constant: i64::MAX }, 9);
        assert!(edge.iter().all(|value| value.parse::<i64>().unwrap() >= 0));
    }

    #[test]
    fn sequence_never_repeats() {
        assert_eq!(drawn(&Generator::Sequence { start: 5, step: 3, to: None }, 3), ["5", "8", "11"]);
    }

    #[test]
    fn a_sequence_ends_with_its_last_number() {
        for (step, expected) in [(3, ["5", "8", "", ""]), (-3, ["5", "2", "-1", ""])] {
            let to = Some(if step > 0 { 10 } else { -1 });
            assert_eq!(drawn(&Generator::Sequence { start: 5, step, to }, 4), expected);
        }
    }

    #[test]
    fn hosts_divide_a_sequence() {
        let mut all: Vec<i64> = (0..3)
            .flat_map(|host| {
                let mut source = Source::new(&Generator::Sequence { start: 5, step: -2, to: None });
                source.divide(Share { host, hosts: 3 });
                taken(&source, 4)
            })
            .map(|text| text.parse().unwrap())
            .collect();
        all.sort_unstable_by(|a, b| b.cmp(a));
        assert_eq!(all, (0..12).map(|n| 5 - 2 * n).collect::<Vec<_>>());
    }

    #[test]
    fn only_a_text_among_choices_is_quoted() {
        let source = Source::new(&Generator::Choice { values: vec!["O'Hara".into(), 1.5.into()] });
        let (mut rng, mut value) = (SmallRng::seed_from_u64(1), Value::default());
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..100 {
            let mut out = Vec::new();
            source.draw(&mut rng, &mut value);
            value.write_literal(b"'", b"'", &mut out);
            seen.insert(String::from_utf8(out).unwrap());
        }
        assert_eq!(seen, ["'O''Hara'".into(), "1.5".into()].into());
    }
}
