//! Lookups drawn before the run: a draw from Zipf's law costs more than a lookup.

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use rand_distr::{Distribution, Zipf};

use crate::caches::operation::{Operation, child_of};
use crate::plan::{Affinity, Plan};

/// A prime, so that lookups sampled at a stride are not always the same ones.
const COUNT: usize = 65_521;

/// The lookups of worker `number` of `workers`, which it repeats; the same for the same seed.
pub fn draw(plan: &Plan, number: usize, workers: usize) -> Vec<Operation> {
    let mut random = SmallRng::seed_from_u64(plan.seed ^ (number as u64 + 1).wrapping_mul(0x9e37_79b9));
    let own = match plan.affinity {
        Affinity::Uniform => Vec::new(),
        Affinity::Own => own_keys(plan, number, workers),
    };
    let keys = if own.is_empty() { plan.keys } else { own.len() };
    let zipf = Zipf::new(keys as f64, plan.skew).ok().filter(|_| plan.skew > 0.0);
    let long = plan.hold_tail.map_or(0.0, |tail| tail.probability);
    let mut one = || {
        let rank = match &zipf {
            Some(zipf) => (zipf.sample(&mut random) as usize).clamp(1, keys) - 1,
            None => random.random_range(0..keys),
        };
        Operation {
            key: own.get(rank).copied().unwrap_or(rank as u32),
            update: random.random::<f64>() >= plan.read_share,
            long: random.random::<f64>() < long,
        }
    };
    (0..COUNT).map(|_| one()).collect()
}

/// Keys of the children that this worker owns; more workers than children share a child.
fn own_keys(plan: &Plan, number: usize, workers: usize) -> Vec<u32> {
    let parts = workers.min(plan.children);
    let mine = |key: &u32| child_of(*key, plan.children) % parts == number % parts;
    (0..plan.keys as u32).filter(mine).collect()
}
