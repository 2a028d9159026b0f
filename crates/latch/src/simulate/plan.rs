//! The plan of a simulation, as JSON, and its validation.

use serde::Deserialize;
use steelyard_engine::error::PlanError;

use super::lengths::Lengths;

/// Which worker gets a latch that becomes free.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// The first worker that tries; a post is not a grant.
    Barging,
    /// The worker that waits longest: sleepers first, then spinners; newcomers wait behind sleepers.
    Fifo,
}

/// The release of a latch to a sleeper that missed it `asleep_ns` before.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wake {
    pub asleep_ns: f64,
    /// From the release to trying again.
    pub wake_ns: f64,
    /// The cost of the release with its post.
    #[serde(default)]
    pub post_ns: f64,
    /// The share of cases in which it sleeps: a worker that is about to sleep finds the post and goes on.
    #[serde(default = "all")]
    pub slept: f64,
}

/// A holder loses its CPU.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Preempted {
    /// Of one hold.
    pub probability: f64,
    pub for_ns: f64,
}

/// Fewer CPUs than workers: workers without a CPU wait in one queue.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cpus {
    pub count: usize,
    /// Mean CPU time until a worker loses its CPU although it could go on; exponential.
    pub slice_ns: f64,
    /// From one worker to the next on a CPU.
    pub switch_ns: f64,
}

/// The precision at which a simulation ends.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Until {
    /// Half the 95 % interval of gets/s, as a part of them.
    pub gets: f64,
    /// Half the 95 % interval of misses a get.
    pub misses: f64,
    /// Ends it in any case.
    pub gets_max: u64,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SimulationPlan {
    pub workers: usize,
    #[serde(default = "one")]
    pub children: usize,
    #[serde(default = "two")]
    pub gets_per_lookup: u32,
    /// How long a latch is held, hand-over excluded.
    pub hold: Lengths,
    /// From a lookup to the next. Where hold and think time are both constant, workers fall into step.
    pub think: Lengths,
    /// From a get to the next of the same lookup.
    #[serde(default)]
    pub between_ns: f64,
    /// Spin budget in time; 0: sleeps at once.
    pub spin_ns: f64,
    /// From a release to the get of a spinner; where latches are granted in turn, added to its hold.
    #[serde(default)]
    pub hand_over_ns: f64,
    /// Added to a hold that follows another worker's and found the latch free.
    #[serde(default)]
    pub line_ns: f64,
    /// In order of time asleep; interpolated between two. Empty: a wake-up takes no time.
    #[serde(default)]
    pub wakes: Vec<Wake>,
    pub order: Order,
    #[serde(default)]
    pub shared_gets: bool,
    #[serde(default = "all")]
    pub read_share: f64,
    #[serde(default)]
    pub preempted: Option<Preempted>,
    /// `None`: each worker has a CPU.
    #[serde(default)]
    pub cpus: Option<Cpus>,
    /// Goes on beyond `duration_ns`, twice as long each time, until the forecast is this precise.
    #[serde(default)]
    pub until: Option<Until>,
    #[serde(default)]
    pub warm_up_ns: f64,
    pub duration_ns: f64,
    pub seed: u64,
}

fn one() -> usize {
    1
}
fn two() -> u32 {
    2
}
fn all() -> f64 {
    1.0
}

const DURATION_NS_MAX: f64 = 1e13;
const GETS_MAX: u64 = 1_000_000_000;

impl SimulationPlan {
    /// The wake-up of a worker that has slept so long, interpolated.
    pub fn wake(&self, asleep_ns: f64) -> Wake {
        let after = self.wakes.partition_point(|known| known.asleep_ns <= asleep_ns);
        let before = after.checked_sub(1).map(|before| self.wakes[before]);
        match (before, self.wakes.get(after).copied()) {
            (None, None) => Wake { asleep_ns, wake_ns: 0.0, post_ns: 0.0, slept: 1.0 },
            (None, Some(only)) | (Some(only), None) => only,
            (Some(from), Some(to)) => {
                let part = (asleep_ns - from.asleep_ns) / (to.asleep_ns - from.asleep_ns);
                let between = |from: f64, to: f64| from + (to - from) * part;
                Wake {
                    asleep_ns,
                    wake_ns: between(from.wake_ns, to.wake_ns),
                    post_ns: between(from.post_ns, to.post_ns),
                    slept: between(from.slept, to.slept),
                }
            }
        }
    }

    /// Reads and checks a plan.
    pub fn parse(json: &str) -> Result<Self, PlanError> {
        let mut plan: Self =
            serde_json::from_str(json).map_err(|error| PlanError::new("plan", error.to_string()))?;
        plan.check()?;
        for (field, lengths) in [("hold", &mut plan.hold), ("think", &mut plan.think)] {
            if !lengths.accumulate() {
                return Err(PlanError::new(field, "needs a share for each value, none below 0, nor all 0"));
            }
        }
        Ok(plan)
    }

    fn check(&self) -> Result<(), PlanError> {
        for (field, value, max) in [
            ("workers", self.workers, 4096),
            ("children", self.children, 65_536),
            ("gets_per_lookup", self.gets_per_lookup as usize, 16),
        ] {
            if !(1..=max).contains(&value) {
                return Err(PlanError::new(field, format!("must be 1 to {max}, not {value}")));
            }
        }
        for (field, lengths) in [("hold", &self.hold), ("think", &self.think)] {
            let values = lengths.values();
            if values.is_empty() || !values.iter().all(|ns| (0.0..=DURATION_NS_MAX).contains(ns)) {
                return Err(PlanError::new(
                    field,
                    format!("needs one value or more, each 0 to {DURATION_NS_MAX} ns"),
                ));
            }
        }
        let preempted = self.preempted.unwrap_or(Preempted { probability: 0.0, for_ns: 0.0 });
        let cpus = self.cpus.unwrap_or(Cpus { count: 1, slice_ns: 1.0, switch_ns: 0.0 });
        let until = self.until.unwrap_or(Until { gets: 1.0, misses: 1.0, gets_max: 1 });
        if cpus.count == 0 || cpus.slice_ns < 1.0 || until.gets_max > GETS_MAX {
            return Err(PlanError::new(
                "cpus",
                format!("count and slice_ns must be 1 or more; until.gets_max at most {GETS_MAX}"),
            ));
        }
        for (field, value, max) in [
            ("between_ns", self.between_ns, DURATION_NS_MAX),
            ("spin_ns", self.spin_ns, DURATION_NS_MAX),
            ("hand_over_ns", self.hand_over_ns, DURATION_NS_MAX),
            ("line_ns", self.line_ns, DURATION_NS_MAX),
            ("read_share", self.read_share, 1.0),
            ("preempted.probability", preempted.probability, 1.0),
            ("preempted.for_ns", preempted.for_ns, DURATION_NS_MAX),
            ("cpus.slice_ns", cpus.slice_ns, DURATION_NS_MAX),
            ("cpus.switch_ns", cpus.switch_ns, DURATION_NS_MAX),
            ("until.gets", until.gets, 1.0),
            ("until.misses", until.misses, 1.0),
            ("warm_up_ns", self.warm_up_ns, DURATION_NS_MAX),
            ("duration_ns", self.duration_ns, DURATION_NS_MAX),
        ] {
            if !(0.0..=max).contains(&value) {
                return Err(PlanError::new(field, format!("must be 0 to {max}, not {value}")));
            }
        }
        let ordered = self.wakes.is_sorted_by(|one, next| one.asleep_ns < next.asleep_ns);
        let possible = |wake: &Wake| {
            [wake.asleep_ns, wake.wake_ns, wake.post_ns].iter().all(|ns| (0.0..=DURATION_NS_MAX).contains(ns))
                && (0.0..=1.0).contains(&wake.slept)
        };
        if !ordered || !self.wakes.iter().all(possible) {
            return Err(PlanError::new(
                "wakes",
                format!("each 0 to {DURATION_NS_MAX} ns, by growing asleep_ns"),
            ));
        }
        if self.duration_ns == 0.0 {
            return Err(PlanError::new("duration_ns", "must be above 0"));
        }
        // a lookup that takes no time would never let time pass
        if [&self.hold, &self.think].iter().all(|lengths| lengths.values().contains(&0.0)) {
            return Err(PlanError::new("hold", "hold or think time must always be above 0"));
        }
        Ok(())
    }
}
