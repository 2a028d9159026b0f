//! When transactions start: after the previous one (closed loop), or at given times (open).

use rand::Rng;
use rand::SeedableRng;
use rand::rngs::SmallRng;
use rand_distr::{Distribution, Exp1};

use crate::plan::transaction::Think;
use crate::plan::{Arrival, Spacing};

/// Pause of the arrival after a transaction, ns.
pub fn think_ns(arrival: &Arrival, rng: &mut SmallRng) -> u64 {
    match arrival {
        Arrival::Closed { think_ms, think } => pause_ns(*think_ms, *think, rng),
        Arrival::Open { .. } | Arrival::Rounds | Arrival::Replay { .. } => 0,
    }
}

/// A pause of this mean, ns.
pub fn pause_ns(mean_ms: f64, think: Think, rng: &mut SmallRng) -> u64 {
    match think {
        _ if mean_ms == 0.0 => 0,
        Think::Fixed => (mean_ms * 1e6) as u64,
        Think::Exponential => {
            let unit: f64 = Exp1.sample(rng);
            (mean_ms * 1e6 * unit) as u64
        }
    }
}

/// Intended starts of an open loop, one after another: one schedule per thread, each at its share of
/// the rate (shares of a Poisson process are Poisson; even ones are staggered).
#[derive(Debug)]
pub struct OpenSchedule {
    next_ns: f64,
    gap_ns: f64,
    spacing: Spacing,
    rng: SmallRng,
}

impl OpenSchedule {
    pub fn new(
        rate_per_s: f64,
        spacing: Spacing,
        thread: usize,
        threads: usize,
        seed: u64,
        start_ns: u64,
    ) -> Self {
        let gap_ns = 1e9 * threads as f64 / rate_per_s;
        let mut rng = SmallRng::seed_from_u64(seed ^ (thread as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let first = match spacing {
            Spacing::Even => gap_ns * thread as f64 / threads as f64,
            Spacing::Poisson => -gap_ns * (1.0 - rng.random::<f64>()).ln(),
        };
        Self { next_ns: start_ns as f64 + first, gap_ns, spacing, rng }
    }

    /// The next intended start, ns; not taken yet.
    pub fn peek(&self) -> u64 {
        self.next_ns as u64
    }

    /// Takes the next intended start.
    pub fn take(&mut self) -> u64 {
        let start = self.next_ns as u64;
        self.next_ns += match self.spacing {
            Spacing::Even => self.gap_ns,
            Spacing::Poisson => {
                let unit: f64 = Exp1.sample(&mut self.rng);
                self.gap_ns * unit
            }
        };
        start
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn even_threads_are_staggered_into_one_even_schedule() {
        let mut starts: Vec<u64> = (0..4)
            .flat_map(|thread| {
                let mut schedule = OpenSchedule::new(1000.0, Spacing::Even, thread, 4, 1, 0);
                (0..3).map(move |_| schedule.take())
            })
            .collect();
        starts.sort_unstable();
        let expected: Vec<u64> = (0..12).map(|n| n * 1_000_000).collect();
        assert_eq!(starts, expected);
    }

    #[test]
    fn poisson_gaps_have_the_mean_and_the_spread_of_an_exponential() {
        let mut schedule = OpenSchedule::new(1000.0, Spacing::Poisson, 0, 1, 3, 0);
        let starts: Vec<f64> = (0..100_000).map(|_| schedule.take() as f64 / 1e6).collect();
        let gaps: Vec<f64> = starts.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        assert!((mean - 1.0).abs() < 0.02 && (variance - 1.0).abs() < 0.05, "{mean} {variance}");
    }
}
