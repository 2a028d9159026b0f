//! The cost of a hand-over, measured before each load point: a virtual machine's CPUs move from one minute
//! to the next.

use crate::calibrate::costs::{self, spread};
use crate::plan::Plan;
use crate::primitives::cpu::allowed;
use crate::registry::Protocol;

/// Costs between the first and the last CPU of the workers, by metric: the transfer of a cache line, and
/// the hand-over of this latch to a spinning worker.
pub fn hand_overs(plan: &Plan) -> Vec<(&'static str, f64)> {
    const TIME_NS: u64 = 2_000_000;
    let cpus = if plan.cpus.is_empty() { allowed() } else { plan.cpus.clone() };
    let pair = match cpus[..] {
        [first, .., last] if first != last => [first, last],
        _ => return Vec::new(),
    };
    let mut found = vec![("line_transfer_ns", spread(|| costs::line_transfer_ns(pair))[1])];
    let Protocol { facts, costs: latch, .. } = plan.protocol();
    // a latch without spin has a wake-up in place of a hand-over
    if let Some(latch) = latch
        && (facts.spin > 0 || facts.in_turn)
    {
        let rounds = (0..costs::ROUNDS).filter_map(|_| (latch.hand_over_ns)(pair, TIME_NS, plan.counters));
        found.extend(costs::median(rounds.collect()).map(|ns| ("hand_over_ns", ns)));
    }
    found
}
