//! What handing a latch over costs, measured before each point: the host of a virtual machine moves its CPUs
//! from one minute to the next.

use crate::costs::{self, spread};
use crate::cpu::allowed;
use crate::plan::Plan;
use crate::protocols::Protocol;

/// What handing over costs between the first and the last CPU of the workers, by metric: a cache line's way,
/// and this latch's way to one who spins for it.
pub fn hand_overs(plan: &Plan) -> Vec<(&'static str, f64)> {
    const TIME_NS: u64 = 2_000_000;
    let cpus = if plan.cpus.is_empty() { allowed() } else { plan.cpus.clone() };
    let pair = match cpus[..] {
        [first, .., last] if first != last => [first, last],
        _ => return Vec::new(),
    };
    let mut found = vec![("line_transfer_ns", spread(|| costs::line_transfer_ns(pair))[1])];
    let Protocol { facts, alone, .. } = plan.protocol();
    // one that sleeps at once has a wake-up in place of a hand-over
    if let Some(alone) = alone
        && (facts.spin > 0 || facts.in_turn)
    {
        let rounds = (0..costs::ROUNDS).filter_map(|_| (alone.hand_over_ns)(pair, TIME_NS, plan.counters));
        found.extend(costs::median(rounds.collect()).map(|ns| ("hand_over_ns", ns)));
    }
    found
}
