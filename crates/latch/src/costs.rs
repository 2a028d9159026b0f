//! What this machine's primitives cost: a cache line, a sleep, a look at the clock.

use std::hint::black_box;
use std::time::Instant;

use serde_json::{Value, json};

use crate::protocols::Held;
use crate::protocols::oracle_x::OracleX;
use crate::seat::{Me, Mode, Seat};
use crate::sync::{Ordering, Parker, now_ns};
use crate::wakes::wakes;
use crate::worker::pin;

/// Keeps the CPU busy without a pause instruction, which would lend it to a sibling.
#[inline]
pub fn busy(turns: u64) {
    for turn in 0..turns {
        black_box(turn);
    }
}

const ROUNDS: usize = 9;

/// Least, median and largest of what `one` gives.
fn spread(mut one: impl FnMut() -> f64) -> [f64; 3] {
    let mut values: Vec<f64> = (0..ROUNDS).map(|_| one()).collect();
    values.sort_by(f64::total_cmp);
    [values[0], values[ROUNDS / 2], values[ROUNDS - 1]]
}

fn told([min, median, max]: [f64; 3]) -> Value {
    json!({"min": min, "median": median, "max": max})
}

/// ns of each of `count` calls made by `all`.
pub fn each_ns(count: u64, all: impl FnOnce()) -> f64 {
    let begin = Instant::now();
    all();
    begin.elapsed().as_nanos() as f64 / count as f64
}

/// What a run needs to know; the least of several, for whatever disturbs makes it longer.
#[derive(Debug, Clone, Copy)]
pub struct Turns {
    pub busy_ns: f64,
    pub clock_ns: u64,
}

impl Turns {
    pub fn measured() -> Self {
        Self { busy_ns: spread(busy_turn_ns)[0].max(0.01), clock_ns: spread(clock_ns)[0] as u64 }
    }
}

fn busy_turn_ns() -> f64 {
    const TURNS: u64 = 200_000;
    each_ns(TURNS, || busy(TURNS))
}

/// One look at the clock.
fn clock_ns() -> f64 {
    const LOOKS: u64 = 20_000;
    each_ns(LOOKS, || {
        for _ in 0..LOOKS {
            black_box(now_ns());
        }
    })
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

pub fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

/// Runs `side` on two CPUs at once; what both gave.
pub fn both<T: Send>(cpus: [usize; 2], side: impl Fn(usize) -> Vec<T> + Sync) -> Vec<T> {
    let started = std::sync::Barrier::new(2);
    let run = |number: usize| {
        pin(cpus[number]);
        started.wait();
        side(number)
    };
    std::thread::scope(|scope| {
        let other = scope.spawn(|| run(1));
        let mut values = scope.spawn(|| run(0)).join().unwrap_or_default();
        values.extend(other.join().unwrap_or_default());
        values
    })
}

/// ns one way: two threads, one on each CPU, pass a token to and fro. The median over short bursts, for
/// in a long one a thread loses its CPU and the other waits for it.
fn pass(
    cpus: [usize; 2],
    bursts: u32,
    turns: u32,
    wait: impl Fn(usize, u32) + Sync,
    give: impl Fn(usize, u32) + Sync,
) -> f64 {
    let times = both(cpus, |side| {
        let burst = |number: u32| {
            let begin = Instant::now();
            for turn in number * turns..(number + 1) * turns {
                if side == 0 {
                    give(1, turn);
                    wait(0, turn);
                } else {
                    wait(1, turn);
                    give(0, turn);
                }
            }
            begin.elapsed().as_nanos() as f64 / f64::from(2 * turns)
        };
        (0..bursts).map(burst).collect()
    });
    median(times).unwrap_or(f64::NAN)
}

/// One way, by ping-pong.
pub fn line_transfer_ns(cpus: [usize; 2]) -> f64 {
    let line = Seat::default();
    let ball = &line.locked;
    let wait = |side: usize, turn: u32| {
        let wanted = 2 * turn + 2 - side as u32;
        let mut looks = 0_u32;
        while ball.load(Ordering::Acquire) != wanted {
            looks += 1;
            // whoever has the CPU that the other thread needs gets out of its way
            if looks.is_multiple_of(10_000) { std::thread::yield_now() } else { std::hint::spin_loop() }
        }
    };
    pass(cpus, 400, 50, wait, |side, turn| ball.store(2 * turn + 2 - side as u32, Ordering::Release))
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
        "futex_other_cpu_ns": pair.map(|pair| told(spread(|| futex_hand_over_ns(pair)))),
        "clock_ns": told(spread(clock_ns)),
        "spin_turn_ns": told(spread(spin_turn_ns)),
        "busy_turn_ns": told(spread(busy_turn_ns)),
    })
}
