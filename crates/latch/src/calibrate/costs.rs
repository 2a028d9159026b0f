//! The costs of this machine's primitives: a cache-line transfer, a clock read, an iteration of the busy loop.

use std::hint::black_box;
use std::time::Instant;

use steelyard_engine::clock::now_ns;

use crate::primitives::cpu::{both, busy};
use crate::primitives::slot::Slot;
use crate::primitives::sync::Ordering;

pub const ROUNDS: usize = 9;

/// Minimum, median and maximum of the values of `one`.
pub fn spread(mut one: impl FnMut() -> f64) -> [f64; 3] {
    let mut values: Vec<f64> = (0..ROUNDS).map(|_| one()).collect();
    values.sort_by(f64::total_cmp);
    [values[0], values[ROUNDS / 2], values[ROUNDS - 1]]
}

/// ns of each of `count` calls made by `all`.
pub fn each_ns(count: u64, all: impl FnOnce()) -> f64 {
    let begin = Instant::now();
    all();
    begin.elapsed().as_nanos() as f64 / count as f64
}

/// The costs that a run needs; the minimum of several, because every disturbance makes them longer.
#[derive(Debug, Clone, Copy)]
pub struct BaseCosts {
    pub busy_ns: f64,
    pub clock_ns: u64,
}

impl BaseCosts {
    pub fn measured() -> Self {
        Self { busy_ns: spread(busy_turn_ns)[0].max(0.01), clock_ns: spread(clock_ns)[0] as u64 }
    }
}

pub fn busy_turn_ns() -> f64 {
    const ITERATIONS: u64 = 200_000;
    each_ns(ITERATIONS, || busy(ITERATIONS))
}

/// One clock read.
pub fn clock_ns() -> f64 {
    const READS: u64 = 20_000;
    each_ns(READS, || {
        for _ in 0..READS {
            black_box(now_ns());
        }
    })
}

pub fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

/// ns one way: two threads, one on each CPU, pass a token to and fro. The median over short bursts, for
/// in a long one a thread loses its CPU and the other waits for it.
pub fn pass(
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
    let line = Slot::default();
    let ball = &line.locked;
    let wait = |side: usize, turn: u32| {
        let wanted = 2 * turn + 2 - side as u32;
        let mut looks = 0_u32;
        while ball.load(Ordering::Acquire) != wanted {
            looks += 1;
            // the other thread may need this CPU
            if looks.is_multiple_of(10_000) { std::thread::yield_now() } else { std::hint::spin_loop() }
        }
    };
    pass(cpus, 400, 50, wait, |side, turn| ball.store(2 * turn + 2 - side as u32, Ordering::Release))
}
