//! A machine's costs as a study keeps them, before its first run.

use std::hint::black_box;

use serde_json::{Value, json};

use crate::costs::{ROUNDS, busy_turn_ns, clock_ns, each_ns, line_transfer_ns, pass, spread};
use crate::pauses::pauses;
use crate::protocols::Held;
use crate::protocols::oracle_x::OracleX;
use crate::seat::{Me, Mode, Seat};
use crate::sync::Parker;
use crate::wakes::wakes;

fn told([min, median, max]: [f64; 3]) -> Value {
    json!({"min": min, "median": median, "max": max})
}

/// One look at a latch that another holds, as a bounded spin makes it.
fn spin_turn_ns() -> f64 {
    const TURNS: u32 = 200_000;
    let seats = [Seat::default(), Seat::default()];
    let [holder, spinner] = [0, 1].map(|number| Me { number, seats: &seats, spin: 0, groups: 2 });
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

/// The machine's costs in ns, each with its spread over rounds; those between CPUs are null where only
/// one CPU is to be had.
pub fn calibrate(cpus: &[usize]) -> Value {
    let [first, last] = [cpus[0], cpus[cpus.len() - 1]];
    let pair = (first != last).then_some([first, last]);
    json!({
        "cpus": [first, last],
        "rounds": ROUNDS,
        "line_transfer_ns": pair.map(|pair| told(spread(|| line_transfer_ns(pair)))),
        "futex_same_cpu_ns": told(spread(|| futex_hand_over_ns([first, first]))),
        "wakes": pair.map(wakes),
        "pauses": pair.map(pauses),
        "futex_other_cpu_ns": pair.map(|pair| told(spread(|| futex_hand_over_ns(pair)))),
        "clock_ns": told(spread(clock_ns)),
        "spin_turn_ns": told(spread(spin_turn_ns)),
        "busy_turn_ns": told(spread(busy_turn_ns)),
    })
}
