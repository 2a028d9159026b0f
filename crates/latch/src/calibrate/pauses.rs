//! Pauses of a virtual machine: times in which a CPU executes nothing, and the share that stops two CPUs at once.
//! A worker that spins while the holder pauses spins in vain; one that pauses with it does not spin at all.

use serde_json::{Value, json};
use steelyard_engine::clock::now_ns;

use crate::primitives::cpu::both;

/// Longer than any look at the clock.
const PAUSE_NS: u64 = 1_000;
/// Longer ones are of a thread that lost its CPU to another.
const PAUSE_MAX_NS: u64 = 20_000;
const TIME_NS: u64 = 200_000_000;

#[derive(Clone, Copy)]
struct Gap {
    side: usize,
    begin_ns: u64,
    end_ns: u64,
}

impl Gap {
    fn is_pause(&self) -> bool {
        self.end_ns - self.begin_ns < PAUSE_MAX_NS
    }

    fn meets(&self, other: &Self) -> bool {
        self.begin_ns < other.end_ns && other.begin_ns < self.end_ns
    }
}

/// Pauses a second of one CPU, and the share of them that stop the other too, while that executes a thread.
pub fn pauses(cpus: [usize; 2]) -> Value {
    let gaps = both(cpus, |side| {
        let mut gaps = Vec::new();
        let mut last_ns = now_ns();
        let end_ns = last_ns + TIME_NS;
        while last_ns < end_ns {
            let now = now_ns();
            if now - last_ns > PAUSE_NS {
                gaps.push(Gap { side, begin_ns: last_ns, end_ns: now });
            }
            last_ns = now;
        }
        gaps
    });
    let (one, other): (Vec<Gap>, Vec<Gap>) = gaps.iter().copied().partition(|gap| gap.side == 0);
    let lost_ns: u64 = one.iter().filter(|gap| !gap.is_pause()).map(|gap| gap.end_ns - gap.begin_ns).sum();
    let (mut common, mut counted, mut first) = (0, 0, 0);
    for gap in one.iter().filter(|gap| gap.is_pause()) {
        while other.get(first).is_some_and(|other| other.end_ns <= gap.begin_ns) {
            first += 1;
        }
        let met = other.get(first).filter(|other| gap.meets(other));
        // of a CPU that executes something else nothing is known
        if met.is_none_or(Gap::is_pause) {
            counted += 1;
            common += u32::from(met.is_some());
        }
    }
    let executed_ns = TIME_NS.saturating_sub(lost_ns).max(1);
    let pauses = one.iter().filter(|gap| gap.is_pause()).count();
    json!({
        "per_s": pauses as f64 / executed_ns as f64 * 1e9,
        "common": if counted == 0 { 0.0 } else { f64::from(common) / f64::from(counted) },
        "pause_ns": PAUSE_NS,
    })
}
