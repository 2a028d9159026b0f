//! What things cost on this machine: a get, a hand-over, a cache line, a sleep, a look at the clock.

use std::cell::Cell;
use std::hint::black_box;
use std::time::Instant;

use serde_json::{Value, json};

use crate::cache::Child;
use crate::counters::Counters;
use crate::protocols::{Latch, PROTOCOLS, Protocol};
use crate::seat::{Me, Seat};
use crate::sync::{AtomicU32, Ordering, Parker, now_ns};
use crate::worker::{Sampled, Timed, Worker, pin};

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
fn each_ns(count: u64, all: impl FnOnce()) -> f64 {
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
    let word = AtomicU32::new(1);
    each_ns(TURNS.into(), || {
        assert!(!(0..TURNS).any(|_| black_box(&word).load(Ordering::Relaxed) == 0));
    })
}

fn worker<'a>(
    number: u32,
    seats: &'a [Seat],
    counters: &'a [Counters],
    times: &'a Sampled,
    spin: u32,
    counting: bool,
) -> Worker<'a> {
    Worker {
        me: Me { number, seats, spin, groups: 2 },
        counters,
        times,
        gets: 1,
        counting,
        timed: Timed::Nothing,
        clock_ns: 0,
        hold_turns: 0,
        long_turns: 0,
        nonces: Cell::new(0),
    }
}

/// ns of one exclusive get and release that nobody contends.
pub fn uncontended_ns<L: Latch>(count: u64, counting: bool) -> f64 {
    let (seats, counters, times) = ([Seat::default()], [Counters::default()], Sampled::default());
    let child = Child::<L>::new(0);
    let worker = worker(0, &seats, &counters, &times, L::FACTS.spin, counting);
    let mode = Child::<L>::mode(true);
    each_ns(count, || {
        for _ in 0..count {
            black_box(&child).get(mode, &worker, |_| ());
        }
    })
}

/// What two threads that do nothing but get a latch exclusively came to.
#[derive(Debug, Clone, Copy)]
pub struct Contended {
    pub elapsed_ns: u64,
    pub gets: u64,
    pub hand_overs: u64,
}

/// Two threads, each on its CPU, for `ns`.
pub fn contended<L: Latch>(cpus: [usize; 2], ns: u64) -> Contended {
    let (seats, times) = ([Seat::default(), Seat::default()], [Sampled::default(), Sampled::default()]);
    let counters = [[Counters::default()], [Counters::default()]];
    let child = Child::<L>::new(0);
    let mode = Child::<L>::mode(true);
    let started = std::sync::Barrier::new(2);
    let run = |number: usize| {
        pin(cpus[number]);
        let worker = worker(number as u32, &seats, &counters[number], &times[number], L::FACTS.spin, true);
        started.wait();
        let end_ns = now_ns() + ns;
        while now_ns() < end_ns {
            for _ in 0..256 {
                child.get(mode, &worker, |_| ());
            }
        }
    };
    std::thread::scope(|scope| {
        for number in 0..2 {
            scope.spawn(move || run(number));
        }
    });
    let sum = |of: fn(&Counters) -> u64| counters.iter().flatten().map(of).sum();
    Contended { elapsed_ns: ns, gets: sum(|c| c.gets.get()), hand_overs: sum(|c| c.hand_overs.get()) }
}

/// ns one way: two threads, one on each CPU, pass a token to and fro.
fn pass(
    cpus: [usize; 2],
    count: u32,
    wait: impl Fn(usize, u32) + Sync,
    give: impl Fn(usize, u32) + Sync,
) -> f64 {
    let started = std::sync::Barrier::new(2);
    let run = |side: usize| {
        pin(cpus[side]);
        started.wait();
        let begin = Instant::now();
        for turn in 0..count {
            if side == 0 {
                give(1, turn);
                wait(0, turn);
            } else {
                wait(1, turn);
                give(0, turn);
            }
        }
        begin.elapsed().as_nanos() as f64 / f64::from(2 * count)
    };
    std::thread::scope(|scope| {
        let other = scope.spawn(|| run(1));
        let ns = scope.spawn(|| run(0)).join().unwrap_or(f64::NAN);
        other.join().unwrap_or(f64::NAN).min(ns)
    })
}

fn line_transfer_ns(cpus: [usize; 2]) -> f64 {
    let line = Seat::default();
    let ball = &line.locked;
    let wait = |side: usize, turn: u32| {
        let wanted = 2 * turn + 2 - side as u32;
        let mut looks = 0_u32;
        while ball.load(Ordering::Acquire) != wanted {
            looks += 1;
            // two jobs on one CPU would otherwise wait out their time slices
            if looks.is_multiple_of(1 << 20) { std::thread::yield_now() } else { std::hint::spin_loop() }
        }
    };
    pass(cpus, 20_000, wait, |side, turn| ball.store(2 * turn + 2 - side as u32, Ordering::Release))
}

fn futex_hand_over_ns(cpus: [usize; 2]) -> f64 {
    let parkers = [Parker::default(), Parker::default()];
    let wait = |side: usize, _| {
        parkers[side].wait();
    };
    pass(cpus, 2_000, wait, |side, _| parkers[side].post())
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
        "futex_other_cpu_ns": pair.map(|pair| told(spread(|| futex_hand_over_ns(pair)))),
        "clock_ns": told(spread(clock_ns)),
        "spin_turn_ns": told(spread(spin_turn_ns)),
        "busy_turn_ns": told(spread(busy_turn_ns)),
    })
}

/// ns of one get and release of each latch: uncontended with and without counters, and between two CPUs;
/// rounds are interleaved, so that the latches can be compared.
pub fn compare(cpus: &[usize], rounds: usize) -> Value {
    const COUNT: u64 = 1_000_000;
    let pair = [cpus[0], cpus[cpus.len() - 1]];
    let latches: Vec<(&Protocol, _)> =
        PROTOCOLS.iter().filter_map(|protocol| Some((protocol, protocol.alone?))).collect();
    let mut rows = Vec::new();
    for round in 0..rounds {
        for (protocol, alone) in &latches {
            let counted_ns = (alone.uncontended_ns)(COUNT, true);
            let bare_ns = (alone.uncontended_ns)(COUNT, false);
            let both = (pair[0] != pair[1]).then(|| (alone.contended)(pair, 50_000_000));
            rows.push(json!({
                "round": round,
                "latch": protocol.facts.name,
                "uncontended_ns": counted_ns,
                "uncontended_without_counters_ns": bare_ns,
                "get_ns": both.map(|both| both.elapsed_ns as f64 / both.gets.max(1) as f64),
                "hand_over_ns": both.map(|both| both.elapsed_ns as f64 / both.hand_overs.max(1) as f64),
            }));
        }
    }
    Value::Array(rows)
}
