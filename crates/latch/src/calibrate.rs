//! The costs of this machine: what a study records before its first run.

pub mod costs;
pub mod latches;
pub mod pauses;
pub mod wakes;

use std::hint::black_box;

use serde_json::{Value, json};

use crate::primitives::slot::{Me, Mode, Slot};
use crate::primitives::sync::Parker;
use crate::protocols::Held;
use crate::protocols::oracle_x::OracleX;
use costs::{ROUNDS, busy_turn_ns, clock_ns, each_ns, line_transfer_ns, pass, spread};
use pauses::pauses;
use wakes::wakes;

fn spread_of([min, median, max]: [f64; 3]) -> Value {
    json!({"min": min, "median": median, "max": max})
}

/// One iteration of a bounded spin: a look at a latch that another worker holds.
fn spin_turn_ns() -> f64 {
    const TURNS: u32 = 200_000;
    let slots = [Slot::default(), Slot::default()];
    let [holder, spinner] = [0, 1].map(|number| Me { number, slots: &slots, spin: 0, groups: 2 });
    let latch = <OracleX as Held>::new(0);
    assert!(Held::try_get(&latch, Mode::Exclusive, &holder));
    each_ns(TURNS.into(), || {
        assert!(!(0..TURNS).any(|_| black_box(&latch).attempt(Mode::Exclusive, &spinner, false)));
    })
}

fn futex_hand_over_ns(cpus: [usize; 2]) -> f64 {
    let parkers = [Parker::default(), Parker::default()];
    let wait = |side: usize, _| {
        parkers[side].wait();
    };
    pass(cpus, 100, 5, wait, |side, _| parkers[side].post())
}

/// Costs in ns, each with its spread over rounds; those between CPUs are null where only one CPU is
/// available.
pub fn calibrate(cpus: &[usize]) -> Value {
    let [first, last] = [cpus[0], cpus[cpus.len() - 1]];
    let pair = (first != last).then_some([first, last]);
    json!({
        "cpus": [first, last],
        "rounds": ROUNDS,
        "line_transfer_ns": pair.map(|pair| spread_of(spread(|| line_transfer_ns(pair)))),
        "futex_same_cpu_ns": spread_of(spread(|| futex_hand_over_ns([first, first]))),
        "wakes": pair.map(wakes),
        "pauses": pair.map(pauses),
        "futex_other_cpu_ns": pair.map(|pair| spread_of(spread(|| futex_hand_over_ns(pair)))),
        "clock_ns": spread_of(spread(clock_ns)),
        "spin_turn_ns": spread_of(spread(spin_turn_ns)),
        "busy_turn_ns": spread_of(spread(busy_turn_ns)),
    })
}
