//! How the values of a parameter are made, as a plan says.

use serde::Deserialize;

const LONGEST_TEXT: usize = 1 << 20;

/// How the values of one parameter are made.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Generator {
    /// Whole numbers low..=high, uniformly distributed.
    Uniform { low: i64, high: i64 },
    /// Whole numbers low..=high; low is the most frequent, its k-th follower has weight k^-exponent.
    Zipf { low: i64, high: i64, exponent: f64 },
    /// Whole numbers low..=high, some much more often than others; a, constant: A and C of the specification
    /// (TPC-C 2.1.6).
    Nurand { a: i64, low: i64, high: i64, constant: i64 },
    /// start, start + step, ...: one sequence for all clients, without duplicates. to: its last number.
    Sequence {
        start: i64,
        step: i64,
        #[serde(default)]
        to: Option<i64>,
    },
    /// start, start + 1, ...: whole numbers never used before in this run.
    Unique {
        #[serde(default = "first")]
        start: i64,
    },
    /// Random lower-case letters.
    Text { length: usize },
    /// One of these, uniformly distributed.
    Choice { values: Vec<serde_json::Value> },
}

fn first() -> i64 {
    1
}

impl Generator {
    pub fn check(&self) -> Result<(), String> {
        match self {
            Self::Uniform { low, high } | Self::Zipf { low, high, .. } if low > high => {
                Err(format!("low {low} is above high {high}"))
            }
            // beyond 2^53 a float cannot distinguish neighbours
            Self::Zipf { low, high, .. } if *high as f64 - *low as f64 >= 2f64.powi(53) => {
                Err(format!("{low} to {high} has more values than a float can distinguish"))
            }
            Self::Zipf { exponent, .. } if !(exponent.is_finite() && *exponent >= 0.0) => {
                Err("exponent must not be below 0".into())
            }
            Self::Nurand { low, high, .. } if !(0 <= *low && low <= high) => {
                Err(format!("must be 0 <= low <= high: {low} to {high}"))
            }
            Self::Nurand { a, constant, .. } if !(0 <= *constant && constant <= a) => {
                Err(format!("must be 0 <= constant <= a: {constant}, {a}"))
            }
            Self::Text { length } if *length > LONGEST_TEXT => {
                Err(format!("length {length} is above {LONGEST_TEXT}"))
            }
            Self::Choice { values } if values.iter().any(|value| !is_plain(value)) => {
                Err("values must be texts, numbers or booleans".into())
            }
            Self::Choice { values } if values.is_empty() => Err("values is empty".into()),
            _ => Ok(()),
        }
    }
}

/// Without a zero byte, which ends every text of the protocol.
fn is_plain(value: &serde_json::Value) -> bool {
    match value {
        serde_json::Value::String(text) => !text.contains('\0'),
        other => other.is_number() || other.is_boolean(),
    }
}
