//! What things cost on this machine: a get, a hand-over, a cache line, a sleep, a look at the clock.

use std::cell::Cell;
use std::hint::black_box;
use std::time::Instant;

use serde_json::{Value, json};

use crate::cache::Child;
use crate::counters::Counters;
use crate::protocols::oracle_x::OracleX;
use crate::protocols::{Held, Latch, PROTOCOLS, Protocol};
use crate::seat::{Me, Mode, Seat};
use crate::sync::{Ordering, Parker, now_ns};
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
    let seats = [Seat::default(), Seat::default()];
    let [holder, spinner] = [0, 1].map(|number| Me { number, seats: &seats, spin: 0, groups: 2 });
    let latch = <OracleX as Held>::new(0);
    assert!(Held::try_get(&latch, Mode::Exclusive, &holder));
    each_ns(TURNS.into(), || {
        assert!(!(0..TURNS).any(|_| black_box(&latch).attempt(Mode::Exclusive, &spinner, false)));
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
    /// Elapsed by gets of both.
    pub get_ns: f64,
    /// Median over bursts in which at least every second get was handed over: both threads had a CPU.
    pub hand_over_ns: Option<f64>,
}

const BURST: u64 = 32;

/// Two threads, each on its CPU, for `ns`.
pub fn contended<L: Latch>(cpus: [usize; 2], ns: u64) -> Contended {
    let (seats, times) = ([Seat::default(), Seat::default()], [Sampled::default(), Sampled::default()]);
    let counters = [[Counters::default()], [Counters::default()]];
    let child = Child::<L>::new(0);
    let mode = Child::<L>::mode(true);
    let bursts = both(cpus, |number| {
        let worker = worker(number as u32, &seats, &counters[number], &times[number], L::FACTS.spin, true);
        let hand_overs = &counters[number][0].hand_overs;
        let (mut bursts, mut begin_ns) = (Vec::new(), now_ns());
        let end_ns = begin_ns + ns;
        while begin_ns < end_ns {
            let before = hand_overs.get();
            for _ in 0..BURST {
                child.get(mode, &worker, |_| ());
            }
            let now = now_ns();
            let handed = hand_overs.get() - before;
            if handed >= BURST / 2 {
                // the other was handed as many
                bursts.push((now - begin_ns) as f64 / (2 * handed) as f64);
            }
            begin_ns = now;
        }
        bursts
    });
    let gets: u64 = counters.iter().flatten().map(|counters| counters.gets.get()).sum();
    Contended { get_ns: ns as f64 / gets as f64, hand_over_ns: median(bursts) }
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

/// Runs `side` on two CPUs at once; what both gave.
fn both(cpus: [usize; 2], side: impl Fn(usize) -> Vec<f64> + Sync) -> Vec<f64> {
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

fn line_transfer_ns(cpus: [usize; 2]) -> f64 {
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
        "futex_other_cpu_ns": pair.map(|pair| told(spread(|| futex_hand_over_ns(pair)))),
        "clock_ns": told(spread(clock_ns)),
        "spin_turn_ns": told(spread(spin_turn_ns)),
        "busy_turn_ns": told(spread(busy_turn_ns)),
    })
}

/// ns of one get and release of each latch: uncontended with and without counters, and between two CPUs;
/// rounds are interleaved, so that the latches can be compared.
pub fn compare(cpus: &[usize], rounds: usize) -> Value {
    const COUNT: u64 = 300_000;
    let pair = [cpus[0], cpus[cpus.len() - 1]];
    let latches: Vec<(&Protocol, _)> =
        PROTOCOLS.iter().filter_map(|protocol| Some((protocol, protocol.alone?))).collect();
    let mut rows = Vec::new();
    for round in 0..rounds {
        for (protocol, alone) in &latches {
            let counted_ns = (alone.uncontended_ns)(COUNT, true);
            let bare_ns = (alone.uncontended_ns)(COUNT, false);
            let both = (pair[0] != pair[1]).then(|| (alone.contended)(pair, 30_000_000));
            rows.push(json!({
                "round": round,
                "latch": protocol.facts.name,
                "uncontended_ns": counted_ns,
                "uncontended_without_counters_ns": bare_ns,
                "get_ns": both.map(|both| both.get_ns),
                "hand_over_ns": both.and_then(|both| both.hand_over_ns),
            }));
        }
    }
    Value::Array(rows)
}
