//! The cost of a get and of a hand-over of one latch on this machine, without a cache.
//!
//! There are two figures of a hand-over. The hand-over itself lasts from the release to the get of a
//! waiter that is in the queue by then. The saturated hand-over is that of two threads that do nothing
//! but get the latch: it includes joining the queue and every other transfer of the latch's cache lines.

use std::hint::black_box;

use serde_json::{Value, json};
use steelyard_engine::clock::now_ns;

use super::costs::{BaseCosts, each_ns, line_transfer_ns, median};
use crate::caches::child::Child;
use crate::caches::fixture::Fixture;
use crate::primitives::cpu::{both, preempted};
use crate::primitives::slot::{Mode, Slot};
use crate::protocols::Latch;

/// The measurements of one latch.
#[derive(Clone, Copy)]
pub struct LatchCosts {
    /// Number of gets, counters on or off.
    pub uncontended_ns: fn(u64, bool) -> f64,
    /// Two CPUs, duration in ns, counters on or off.
    pub saturated: fn([usize; 2], u64, bool) -> Option<Saturated>,
    /// As above.
    pub hand_over_ns: fn([usize; 2], u64, bool) -> Option<f64>,
}

impl LatchCosts {
    pub const fn of<L: Latch>() -> Self {
        Self {
            uncontended_ns: uncontended_ns::<L>,
            saturated: saturated::<L>,
            hand_over_ns: hand_over_ns::<L>,
        }
    }
}

/// ns of one uncontended exclusive get and release.
fn uncontended_ns<L: Latch>(count: u64, counting: bool) -> f64 {
    let (slots, fixture, child) = ([Slot::default()], Fixture::default(), Child::<L>::new(0));
    let worker = fixture.worker(0, &slots, L::FACTS.spin, counting);
    each_ns(count, || {
        for _ in 0..count {
            black_box(&child).get(Mode::Exclusive, &worker, |_| ());
        }
    })
}

/// Figures of two threads that do nothing but get one latch exclusively.
#[derive(Debug, Clone, Copy)]
pub struct Saturated {
    /// Elapsed time per get of both threads.
    pub get_ns: f64,
    /// With two threads a miss is a hand-over; it is seen with and without counters.
    pub misses_per_get: f64,
    /// Elapsed time per hand-over: median over bursts in which at least every second get was one.
    pub hand_over_ns: Option<f64>,
}

const BURST: u64 = 32;

struct Burst {
    side: usize,
    begin_ns: u64,
    end_ns: u64,
    missed: u64,
}

/// Two threads, each on its own CPU, for `ns`; `None` where one of them lost its CPU meanwhile.
fn saturated<L: Latch>(cpus: [usize; 2], ns: u64, counting: bool) -> Option<Saturated> {
    let (slots, fixtures) = ([Slot::default(), Slot::default()], [Fixture::default(), Fixture::default()]);
    let child = Child::<L>::new(0);
    let mut bursts = both(cpus, |side| {
        let worker = fixtures[side].worker(side, &slots, L::FACTS.spin, counting);
        let before = preempted();
        let (mut bursts, mut begin_ns) = (Vec::with_capacity((ns / 100) as usize), now_ns());
        let last_ns = begin_ns + ns;
        while begin_ns < last_ns {
            let mut missed = 0;
            for _ in 0..BURST {
                child.get(Mode::Exclusive, &worker, |wait| missed += u64::from(wait.missed()));
            }
            let end_ns = now_ns();
            bursts.push(Burst { side, begin_ns, end_ns, missed });
            begin_ns = end_ns;
        }
        if preempted() == before { bursts } else { Vec::new() }
    });
    let of = |side: usize| bursts.iter().filter(move |burst| burst.side == side);
    let begin_ns = of(0).next()?.begin_ns.max(of(1).next()?.begin_ns);
    let end_ns = of(0).next_back()?.end_ns.min(of(1).next_back()?.end_ns);
    // one thread begins before the other and ends after it
    bursts.retain(|burst| burst.begin_ns >= begin_ns && burst.end_ns <= end_ns);
    let gets = (bursts.len() as u64 * BURST) as f64;
    // the other thread got as many hand-overs
    let handed = bursts.iter().filter(|burst| burst.missed >= BURST / 2);
    let each_ns = |burst: &Burst| (burst.end_ns - burst.begin_ns) as f64 / (2 * burst.missed) as f64;
    (gets > 0.0).then(|| Saturated {
        get_ns: (end_ns - begin_ns) as f64 / gets,
        misses_per_get: bursts.iter().map(|burst| burst.missed).sum::<u64>() as f64 / gets,
        hand_over_ns: median(handed.map(each_ns).collect()),
    })
}

/// One hold, as its worker saw it.
#[derive(Clone, Copy)]
struct Hold {
    side: usize,
    requested_ns: u64,
    got_ns: u64,
    released_ns: u64,
}

/// Long enough for the other thread to join the queue, shorter than any spin before sleep.
const HOLD_NS: u64 = 1_000;
/// Before the next get: long enough for the other thread to take the released latch.
const PAUSE_NS: u64 = 300;
/// A thread that requested the latch so long before a release is in the queue by then.
const JOINED_NS: u64 = 300;

/// Reads the clock until it is `ns` or later.
fn until(ns: u64) -> u64 {
    loop {
        let now = now_ns();
        if now >= ns {
            return now;
        }
    }
}

/// ns from a release to the get of the waiter, by two threads that alternate for `ns`, less one clock read.
/// The mean of the medians of both directions: an offset between the clocks of the CPUs cancels out.
fn hand_over_ns<L: Latch>(cpus: [usize; 2], ns: u64, counting: bool) -> Option<f64> {
    let (slots, fixtures) = ([Slot::default(), Slot::default()], [Fixture::default(), Fixture::default()]);
    let child = Child::<L>::new(0);
    let mut holds = both(cpus, |side| {
        let worker = fixtures[side].worker(side, &slots, L::FACTS.spin, counting);
        let mut holds = Vec::with_capacity((ns / HOLD_NS) as usize);
        let mut requested_ns = now_ns();
        let end_ns = requested_ns + ns;
        while requested_ns < end_ns {
            let (got_ns, released_ns) = child.get(Mode::Exclusive, &worker, |_| {
                let got_ns = now_ns();
                (got_ns, until(got_ns + HOLD_NS))
            });
            holds.push(Hold { side, requested_ns, got_ns, released_ns });
            requested_ns = until(released_ns + PAUSE_NS);
        }
        holds
    });
    holds.sort_unstable_by_key(|hold| hold.got_ns);
    let to = |side: usize| {
        let handed = holds.windows(2).filter(|pair| {
            pair[1].side == side
                && pair[0].side != side
                && pair[1].requested_ns + JOINED_NS <= pair[0].released_ns
        });
        median(handed.map(|pair| pair[1].got_ns as f64 - pair[0].released_ns as f64).collect())
    };
    Some((to(0)? + to(1)?) / 2.0 - BaseCosts::measured().clock_ns as f64)
}

/// Gets and hand-overs of each latch, counters on and off; the rounds are interleaved, so that the latches
/// can be compared.
pub fn compare(latches: &[(&str, LatchCosts)], cpus: &[usize], rounds: usize) -> Value {
    const COUNT: u64 = 100_000;
    const TRIES: u32 = 10;
    let [first, last] = [cpus[0], cpus[cpus.len() - 1]];
    let pair = (first != last).then_some([first, last]);
    let mut rows = Vec::new();
    for round in 0..rounds {
        for (name, costs) in latches {
            // the second one finds warm caches
            for counting in [round % 2 == 0, round % 2 != 0] {
                let saturated = pair
                    .and_then(|pair| (0..TRIES).find_map(|_| (costs.saturated)(pair, 2_000_000, counting)));
                rows.push(json!({
                    "round": round,
                    "latch": name,
                    "counters": counting,
                    "uncontended_ns": (costs.uncontended_ns)(COUNT, counting),
                    // on a virtual machine it may change from minute to minute
                    "line_transfer_ns": pair.map(line_transfer_ns),
                    "hand_over_ns": pair.and_then(|pair| (costs.hand_over_ns)(pair, 4_000_000, counting)),
                    "saturated_get_ns": saturated.map(|both| both.get_ns),
                    "saturated_misses_per_get": saturated.map(|both| both.misses_per_get),
                    "saturated_hand_over_ns": saturated.and_then(|both| both.hand_over_ns),
                }));
            }
        }
    }
    Value::Array(rows)
}
