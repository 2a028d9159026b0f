//! What one circumstance makes of the closed loop: counters off, a second worker, memory of its own.
//!
//! Turns of half a millisecond under each circumstance follow one another in one run, on the same pages and with the
//! same hold and think times, for from run to run a shared machine changes by more than is asked about. A
//! turn in which a worker lost its CPU says nothing and is marked.

use std::io;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::costs::Turns;
use crate::cpu::{both, busy, preempted};
use crate::draws::draw;
use crate::operation::Operation;
use crate::plan::Plan;
use crate::stage::{Stage, region};
use crate::sync::now_ns;
use crate::worker::{Timed, Worker};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Circumstance {
    One,
    OneUncounted,
    Two,
    TwoUncounted,
    /// Two, each with a cache of its own: what two CPUs give to workers that share nothing.
    Apart,
}

impl Circumstance {
    fn engages(self, number: usize) -> bool {
        number == 0 || !matches!(self, Self::One | Self::OneUncounted)
    }

    fn counts(self) -> bool {
        !matches!(self, Self::OneUncounted | Self::TwoUncounted)
    }

    /// The stage on which a worker is: a common one, or its own.
    fn stage(self, number: usize) -> usize {
        if self == Self::Apart { 1 + number } else { 0 }
    }
}

const TURN_NS: u64 = 500_000;
/// Until the first turn.
const LEAD_NS: u64 = 5_000_000;
/// Awake before a turn begins.
const AWAKE_NS: u64 = 100_000;
/// For what is noted between turns.
const CLOSING_NS: u64 = 50_000;
/// One lookup in so many has its gets timed.
const TIMED: u32 = 32;

/// `rounds` of turns on two CPUs, each round in the order opposite to the last one's; rows by turn and
/// worker: round, circumstance, worker, lookups, ns, gets timed and misses among them, `whole` where it had
/// its CPU throughout.
pub fn interleaved(
    plan: &Plan,
    cpus: [usize; 2],
    among: &[Circumstance],
    rounds: usize,
) -> io::Result<Value> {
    let regions = [region(plan, 2)?, region(plan, 2)?, region(plan, 2)?];
    let turn = Turns::measured();
    let stages = regions.each_ref().map(|region| Stage::new(plan, 2, region, turn));
    let draws = [0, 1].map(|number| draw(plan, number, 2));
    let start_ns = now_ns() + LEAD_NS;
    let rows = both(cpus, |number| {
        let mut workers = stages.each_ref().map(|stage| stage.worker(number));
        let mut operations = draws[number].iter().copied().cycle();
        let mut rows = Vec::new();
        for index in 0..rounds * among.len() {
            let (round, place) = (index / among.len(), index % among.len());
            let now = among[if round % 2 == 0 { place } else { among.len() - 1 - place }];
            if !now.engages(number) {
                continue;
            }
            let at = now.stage(number);
            workers[at].counting = now.counts();
            let mut row =
                played(&stages[at], &mut workers[at], &mut operations, start_ns + TURN_NS * index as u64);
            row["round"] = json!(round);
            row["circumstance"] = json!(now);
            row["worker"] = json!(number);
            rows.push(row);
        }
        rows
    });
    Ok(Value::Array(rows))
}

/// One worker's turn.
fn played(
    stage: &Stage,
    worker: &mut Worker,
    operations: &mut impl Iterator<Item = Operation>,
    from_ns: u64,
) -> Value {
    let think_turns = stage.turns(stage.plan.think_ns);
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
        for operation in operations.by_ref().take(stage.stride as usize) {
            worker.timed = if lookups.is_multiple_of(TIMED) { Timed::Gets } else { Timed::Nothing };
            stage.cache.operate(operation, worker);
            lookups += 1;
            busy(think_turns);
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
