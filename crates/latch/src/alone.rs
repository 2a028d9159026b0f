//! Each latch without a cache: what a get and a hand-over of it cost on this machine.
//!
//! Two figures of handing over. The hand-over proper lasts from the release to the get of one who stands
//! in the queue by then. The saturated one is what two threads come to that do nothing but get the latch:
//! there joining the queue is on the way too, and whatever else moves the latch's lines.

use std::cell::Cell;
use std::hint::black_box;

use serde_json::{Value, json};

use crate::child::Child;
use crate::costs::{Turns, each_ns, line_transfer_ns, median};
use crate::counters::Counters;
use crate::cpu::{both, preempted};
use crate::protocols::{Latch, PROTOCOLS};
use crate::seat::{Me, Mode, Seat};
use crate::sync::now_ns;
use crate::worker::{Sampled, Timed, Worker};

/// What a worker without a cache uses of its own.
pub(crate) struct Desk {
    pub(crate) counters: [Counters; 1],
    times: Sampled,
}

impl Desk {
    pub(crate) fn new() -> Self {
        Self { counters: Default::default(), times: Sampled::default() }
    }

    pub(crate) fn worker<'a>(
        &'a self,
        number: usize,
        seats: &'a [Seat],
        spin: u32,
        counting: bool,
    ) -> Worker<'a> {
        Worker {
            me: Me { number: number as u32, seats, spin, groups: 2 },
            counters: &self.counters,
            times: &self.times,
            gets: 1,
            counting,
            timed: Timed::Nothing,
            clock_ns: 0,
            hold_turns: 0,
            long_turns: 0,
            nonces: Cell::new(0),
        }
    }
}

/// ns of one exclusive get and release that nobody contends.
pub fn uncontended_ns<L: Latch>(count: u64, counting: bool) -> f64 {
    let (seats, desk, child) = ([Seat::default()], Desk::new(), Child::<L>::new(0));
    let worker = desk.worker(0, &seats, L::FACTS.spin, counting);
    each_ns(count, || {
        for _ in 0..count {
            black_box(&child).get(Mode::Exclusive, &worker, |_| ());
        }
    })
}

/// What two threads come to that do nothing but get a latch exclusively.
#[derive(Debug, Clone, Copy)]
pub struct Saturated {
    /// Elapsed by gets of both.
    pub get_ns: f64,
    /// Of two threads a miss is a hand-over, seen with and without counters.
    pub misses_per_get: f64,
    /// Elapsed by hand-overs: median over bursts in which at least every second get was one.
    pub hand_over_ns: Option<f64>,
}

const BURST: u64 = 32;

struct Burst {
    side: usize,
    begin_ns: u64,
    end_ns: u64,
    missed: u64,
}

/// Two threads, each on its CPU, for `ns`; `None` where one of them lost its CPU meanwhile.
pub fn saturated<L: Latch>(cpus: [usize; 2], ns: u64, counting: bool) -> Option<Saturated> {
    let (seats, desks) = ([Seat::default(), Seat::default()], [Desk::new(), Desk::new()]);
    let child = Child::<L>::new(0);
    let mut bursts = both(cpus, |side| {
        let worker = desks[side].worker(side, &seats, L::FACTS.spin, counting);
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
    // one begins before the other, and goes on after it
    bursts.retain(|burst| burst.begin_ns >= begin_ns && burst.end_ns <= end_ns);
    let gets = (bursts.len() as u64 * BURST) as f64;
    // the other was handed as many
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
    asked_ns: u64,
    got_ns: u64,
    released_ns: u64,
}

/// Long enough for the other to join, shorter than anyone spins before sleeping.
const HOLD_NS: u64 = 1_000;
/// Before the next get: long enough for the other to take what was released.
const PAUSE_NS: u64 = 300;
/// Who asked so long before a release stands in the queue by then.
const JOINED_NS: u64 = 300;

/// The first look at the clock that is not before `ns`.
fn until(ns: u64) -> u64 {
    loop {
        let now = now_ns();
        if now >= ns {
            return now;
        }
    }
}

/// ns from a release to the get of the one who was waiting, by two threads in turn for `ns`; one look at
/// the clock taken off. Medians of both directions, whose mean is free of an offset between their clocks.
pub fn hand_over_ns<L: Latch>(cpus: [usize; 2], ns: u64, counting: bool) -> Option<f64> {
    let (seats, desks) = ([Seat::default(), Seat::default()], [Desk::new(), Desk::new()]);
    let child = Child::<L>::new(0);
    let mut holds = both(cpus, |side| {
        let worker = desks[side].worker(side, &seats, L::FACTS.spin, counting);
        let mut holds = Vec::with_capacity((ns / HOLD_NS) as usize);
        let mut asked_ns = now_ns();
        let end_ns = asked_ns + ns;
        while asked_ns < end_ns {
            let (got_ns, released_ns) = child.get(Mode::Exclusive, &worker, |_| {
                let got_ns = now_ns();
                (got_ns, until(got_ns + HOLD_NS))
            });
            holds.push(Hold { side, asked_ns, got_ns, released_ns });
            asked_ns = until(released_ns + PAUSE_NS);
        }
        holds
    });
    holds.sort_unstable_by_key(|hold| hold.got_ns);
    let to = |side: usize| {
        let handed = holds.windows(2).filter(|pair| {
            pair[1].side == side
                && pair[0].side != side
                && pair[1].asked_ns + JOINED_NS <= pair[0].released_ns
        });
        median(handed.map(|pair| pair[1].got_ns as f64 - pair[0].released_ns as f64).collect())
    };
    Some((to(0)? + to(1)?) / 2.0 - Turns::measured().clock_ns as f64)
}

/// Gets and hand-overs of each latch, counters on and off; rounds are interleaved, so that the latches can
/// be compared.
pub fn compare(cpus: &[usize], rounds: usize) -> Value {
    const COUNT: u64 = 100_000;
    const TRIES: u32 = 10;
    let [first, last] = [cpus[0], cpus[cpus.len() - 1]];
    let pair = (first != last).then_some([first, last]);
    let mut rows = Vec::new();
    for round in 0..rounds {
        for (name, alone) in PROTOCOLS.iter().filter_map(|one| Some((one.facts.name, one.alone?))) {
            // whoever goes second finds warm caches
            for counting in [round % 2 == 0, round % 2 != 0] {
                let saturated = pair
                    .and_then(|pair| (0..TRIES).find_map(|_| (alone.saturated)(pair, 2_000_000, counting)));
                rows.push(json!({
                    "round": round,
                    "latch": name,
                    "counters": counting,
                    "uncontended_ns": (alone.uncontended_ns)(COUNT, counting),
                    // between the CPUs of a virtual machine it may change from minute to minute
                    "line_transfer_ns": pair.map(line_transfer_ns),
                    "hand_over_ns": pair.and_then(|pair| (alone.hand_over_ns)(pair, 4_000_000, counting)),
                    "saturated_get_ns": saturated.map(|both| both.get_ns),
                    "saturated_misses_per_get": saturated.map(|both| both.misses_per_get),
                    "saturated_hand_over_ns": saturated.and_then(|both| both.hand_over_ns),
                }));
            }
        }
    }
    Value::Array(rows)
}
