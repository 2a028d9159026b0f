//! The lengths of bursts and sleeps.

use rand::Rng;
use rand::rngs::SmallRng;
use rand_distr::{Exp1, StandardNormal};
use serde::Deserialize;
use steelyard_engine::error::PlanError;

/// The longest mean: an hour.
const DURATION_US_MAX: f64 = 3.6e9;

/// A distribution of times by its mean.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Distribution {
    Fixed {
        mean_us: f64,
    },
    Exponential {
        mean_us: f64,
    },
    /// cv: standard deviation over mean.
    Lognormal {
        mean_us: f64,
        cv: f64,
    },
}

impl Distribution {
    pub fn mean_us(self) -> f64 {
        match self {
            Self::Fixed { mean_us } | Self::Exponential { mean_us } | Self::Lognormal { mean_us, .. } => {
                mean_us
            }
        }
    }

    /// zero: whether a mean of 0 is allowed.
    pub fn check(self, field: &str, zero: bool) -> Result<(), PlanError> {
        let mean_us = self.mean_us();
        if !(mean_us <= DURATION_US_MAX && (mean_us > 0.0 || zero && mean_us == 0.0)) {
            let low = if zero { "0" } else { "more than 0" };
            return Err(PlanError::new(
                format!("{field}.mean_us"),
                format!("{mean_us} is not {low} to {DURATION_US_MAX}"),
            ));
        }
        match self {
            Self::Lognormal { cv, .. } if !(cv > 0.0 && cv <= 100.0) => {
                Err(PlanError::new(format!("{field}.cv"), format!("{cv} is not more than 0, at most 100")))
            }
            _ => Ok(()),
        }
    }
}

/// A distribution made ready to draw from.
#[derive(Debug, Clone, Copy)]
pub enum Sampler {
    Fixed { ns: f64 },
    Exponential { mean_ns: f64 },
    Lognormal { mu: f64, sigma: f64 },
}

impl Sampler {
    pub fn new(distribution: Distribution) -> Self {
        let ns = distribution.mean_us() * 1e3;
        match distribution {
            // of nothing there is no spread: a thread that never sleeps must not sleep a nanosecond
            _ if ns == 0.0 => Self::Fixed { ns },
            Distribution::Fixed { .. } => Self::Fixed { ns },
            Distribution::Exponential { .. } => Self::Exponential { mean_ns: ns },
            Distribution::Lognormal { cv, .. } => {
                let variance = (1.0 + cv * cv).ln();
                Self::Lognormal { mu: ns.ln() - variance / 2.0, sigma: variance.sqrt() }
            }
        }
    }

    /// The next time; never below 1 ns unless the distribution is fixed at 0.
    pub fn draw_ns(self, rng: &mut SmallRng) -> f64 {
        match self {
            Self::Fixed { ns } => ns,
            Self::Exponential { mean_ns } => {
                let unit: f64 = rng.sample(Exp1);
                (unit * mean_ns).max(1.0)
            }
            Self::Lognormal { mu, sigma } => {
                let normal: f64 = rng.sample(StandardNormal);
                (mu + sigma * normal).exp().max(1.0)
            }
        }
    }
}
