//! Lengths of time, as they are drawn.

use rand::Rng;
use rand::rngs::SmallRng;
use serde::Deserialize;

/// Lengths of time.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Lengths {
    Constant {
        ns: f64,
    },
    Exponential {
        mean_ns: f64,
    },
    /// Measured values. `share`: of each, so that rare ones keep their weight; none: all are as likely.
    Values {
        ns: Vec<f64>,
        #[serde(default)]
        share: Vec<f64>,
    },
}

impl Lengths {
    pub fn draw(&self, random: &mut SmallRng) -> f64 {
        match self {
            Self::Constant { ns } => *ns,
            Self::Exponential { mean_ns } => -mean_ns * (1.0 - random.random::<f64>()).ln(),
            Self::Values { ns, share } if share.is_empty() => ns[random.random_range(0..ns.len())],
            Self::Values { ns, share } => {
                let at = random.random::<f64>();
                ns[share.partition_point(|below| *below <= at).min(ns.len() - 1)]
            }
        }
    }

    /// BaseCosts shares into running sums of 1, by which a value is drawn; whether they fit the values.
    pub fn accumulate(&mut self) -> bool {
        let Self::Values { ns, share } = self else { return true };
        let total: f64 = share.iter().sum();
        let mut sum = 0.0;
        for part in &mut *share {
            if !(*part >= 0.0 && total > 0.0 && total.is_finite()) {
                return false;
            }
            sum += *part / total;
            *part = sum;
        }
        share.is_empty() || share.len() == ns.len()
    }

    pub fn values(&self) -> &[f64] {
        match self {
            Self::Constant { ns } | Self::Exponential { mean_ns: ns } => std::slice::from_ref(ns),
            Self::Values { ns, .. } => ns,
        }
    }
}
