//! The effect of one circumstance on the closed loop: counters off, a second worker, separate caches.
//!
//! Turns of half a millisecond under each circumstance follow one another in one run, on the same pages and
//! with the same hold and think times, because a shared machine changes from run to run by more than the
//! effect. A turn in which a worker lost its CPU is marked as not valid.

use std::io;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use steelyard_engine::clock::now_ns;

use super::draws::draw;
use crate::caches::operation::Operation;
use crate::caches::worker::{Timed, Worker};
use crate::calibrate::costs::BaseCosts;
use crate::plan::Plan;
use crate::point::state::{PointState, shared_memory};
use crate::primitives::cpu::{both, busy, preempted};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Circumstance {
    One,
    OneUncounted,
    Two,
    TwoUncounted,
    /// Two workers, each with a cache of its own: they share nothing.
    Apart,
}

impl Circumstance {
    fn engages(self, number: usize) -> bool {
        number == 0 || !matches!(self, Self::One | Self::OneUncounted)
    }

    fn counts(self) -> bool {
        !matches!(self, Self::OneUncounted | Self::TwoUncounted)
    }

    /// Number of the state that a worker uses: the common one, or its own.
    fn state(self, number: usize) -> usize {
        if self == Self::Apart { 1 + number } else { 0 }
    }
}

const TURN_NS: u64 = 500_000;
/// Time before the first turn.
const LEAD_NS: u64 = 5_000_000;
/// A worker wakes up so long before its turn begins.
const AWAKE_NS: u64 = 100_000;
/// Left for the bookkeeping between turns.
const CLOSING_NS: u64 = 50_000;
/// The gets of one lookup in so many are timed.
const TIMED: u32 = 32;

/// `rounds` of turns on two CPUs, each round in the reverse order of the round before. One row per turn and
/// worker: round, circumstance, worker, lookups, ns, timed gets, misses among them, and `whole`: the worker
/// had its CPU throughout.
pub fn interleaved(
    plan: &Plan,
    cpus: [usize; 2],
    among: &[Circumstance],
    rounds: usize,
) -> io::Result<Value> {
    let memories = [shared_memory(plan, 2)?, shared_memory(plan, 2)?, shared_memory(plan, 2)?];
    let base = BaseCosts::measured();
    let states = memories.each_ref().map(|memory| PointState::new(plan, 2, memory, base));
    let draws = [0, 1].map(|number| draw(plan, number, 2));
    let start_ns = now_ns() + LEAD_NS;
    let rows = both(cpus, |number| {
        let mut workers = states.each_ref().map(|state| state.worker(number));
        let mut operations = draws[number].iter().copied().cycle();
        let mut rows = Vec::new();
        for index in 0..rounds * among.len() {
            let (round, place) = (index / among.len(), index % among.len());
            let now = among[if round % 2 == 0 { place } else { among.len() - 1 - place }];
            if !now.engages(number) {
                continue;
            }
            let at = now.state(number);
            workers[at].counting = now.counts();
            let mut row =
                turn(&states[at], &mut workers[at], &mut operations, start_ns + TURN_NS * index as u64);
            row["round"] = json!(round);
            row["circumstance"] = json!(now);
            row["worker"] = json!(number);
            rows.push(row);
        }
        rows
    });
    Ok(Value::Array(rows))
}

/// One turn of one worker.
fn turn(
    state: &PointState,
    worker: &mut Worker,
    operations: &mut impl Iterator<Item = Operation>,
    from_ns: u64,
) -> Value {
    let think_iterations = state.iterations(state.plan.think_ns);
    let (holds, waits) = (worker.times.hold.count(), worker.times.wait.count());
    let ahead_ns = from_ns.saturating_sub(now_ns() + AWAKE_NS);
    std::thread::sleep(std::time::Duration::from_nanos(ahead_ns));
    let before = preempted();
    let mut begin_ns = now_ns();
    while begin_ns < from_ns {
        begin_ns = now_ns();
    }
    let late = begin_ns > from_ns + CLOSING_NS;
    let (mut lookups, mut now) = (0_u32, begin_ns);
    while now < from_ns + TURN_NS - CLOSING_NS {
        for operation in operations.by_ref().take(state.stride as usize) {
            worker.timed = if lookups.is_multiple_of(TIMED) { Timed::Gets } else { Timed::Nothing };
            state.cache.operate(operation, worker);
            lookups += 1;
            busy(think_iterations);
        }
        now = now_ns();
    }
    json!({
        "lookups": lookups,
        "ns": now - begin_ns,
        "timed_gets": worker.times.hold.count() - holds,
        "timed_misses": worker.times.wait.count() - waits,
        "whole": !late && before == preempted(),
    })
}
