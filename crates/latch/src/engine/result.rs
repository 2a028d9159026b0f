//! The counts of a run as columns of JSON (described at `latch_run` in Python).

use std::collections::BTreeMap;

use serde_json::{Value, json};
use steelyard_engine::columns::columns;
use steelyard_engine::phase::{Phase, phases};
use steelyard_engine::usage::METRICS;

use super::encoding::{encode, histogram};
use crate::caches::worker::Sampled;
use crate::calibrate::costs::BaseCosts;
use crate::plan::Plan;
use crate::point::gate::Window;
use crate::point::state::PointState;
use crate::primitives::counters::{Count, Counters};
use crate::primitives::times::Times;

/// A fault of the run, for the table of errors.
pub struct Trouble {
    pub code: &'static str,
    pub message: String,
}

/// Rows of one table; a row has a value per column.
type Rows<const N: usize> = Vec<[Value; N]>;

/// The result of a run.
pub struct Outcome {
    pub base: BaseCosts,
    pub phases: Vec<Phase>,
    throughput: Rows<5>,
    latency: Rows<4>,
    clients: Rows<6>,
    errors: Rows<4>,
    latches: Rows<8>,
    histograms: Rows<4>,
    samples: Rows<4>,
    strides: Vec<u32>,
    guarded: Vec<u64>,
    exclusive: Vec<u64>,
}

impl Outcome {
    pub fn new(base: BaseCosts) -> Self {
        Self {
            base,
            phases: Vec::new(),
            throughput: Vec::new(),
            latency: Vec::new(),
            clients: Vec::new(),
            errors: Vec::new(),
            latches: Vec::new(),
            histograms: Vec::new(),
            samples: Vec::new(),
            strides: Vec::new(),
            guarded: Vec::new(),
            exclusive: Vec::new(),
        }
    }

    /// Adds the counts of the workers of one load point.
    pub fn keep(
        &mut self,
        point: usize,
        state: &PointState,
        hand_overs: &[(&'static str, f64)],
        mut troubles: Vec<Trouble>,
    ) {
        let window = state.gate.window();
        for (metric, ns) in hand_overs {
            let entity = format!("point{point}");
            self.samples.push([json!(window.end_ns), json!(entity), json!(metric), json!(ns)]);
        }
        self.strides.push(state.stride);
        self.keep_throughput(point, state, window);
        let lookups: Vec<&Times> = state.times.iter().map(|times| &times.lookup).collect();
        let (count, text) = encode(&lookups);
        self.latency.push([json!(point), json!("transaction"), json!(count), json!(text)]);
        self.keep_clients(point, state, window);
        self.keep_latches(point, state);
        for (kind, of) in [("hold", of_hold as fn(_) -> _), ("wait", of_wait)] {
            let (count, text) = encode(&state.times.iter().map(of).collect::<Vec<_>>());
            self.histograms.push([json!(point), json!(kind), json!(count), json!(text)]);
        }
        let exclusive: u64 = state.counters.iter().map(|counters| counters.exclusive()).sum();
        let (guarded, whole) = (state.cache.guarded(), troubles.is_empty());
        self.guarded.push(guarded);
        self.exclusive.push(exclusive);
        // a worker that is killed between the two counts leaves a difference without any overlap
        if whole && guarded != exclusive {
            let message =
                format!("{exclusive} exclusive gets left {guarded} under the latch: holders overlapped");
            troubles.push(Trouble { code: "overlap", message });
        }
        let torn: u64 = state.records.iter().map(|record| record.torn.get()).sum();
        let mut kinds = BTreeMap::<_, (u64, String)>::new();
        if torn > 0 {
            kinds.insert("torn", (torn, "payloads did not match their checksum".into()));
        }
        for Trouble { code, message } in troubles {
            let (count, all) = kinds.entry(code).or_default();
            *count += 1;
            *all = if all.is_empty() { message } else { format!("{all}; {message}") };
        }
        let row = |(code, (count, message))| [json!(point), json!(code), json!(count), json!(message)];
        self.errors.extend(kinds.into_iter().map(row));
    }

    fn keep_throughput(&mut self, point: usize, state: &PointState, window: Window) {
        for index in 0..window.seconds() {
            let count: u64 = (0..state.workers).map(|w| state.seconds_of(w)[index].get()).sum();
            let second = index as i64 - window.warm_up() as i64;
            self.throughput.push([json!(point), json!(second), json!("transaction"), json!(count), json!(0)]);
        }
    }

    fn keep_clients(&mut self, point: usize, state: &PointState, window: Window) {
        for (worker, (record, times)) in state.records.iter().zip(state.times).enumerate() {
            let lookups: u64 = state.seconds_of(worker)[window.warm_up()..].iter().map(Count::get).sum();
            let p99_ns = histogram(&[&times.lookup]).value_at_quantile(0.99);
            let (torn, mean_ns) = (record.torn.get(), times.lookup.mean_ns());
            self.clients.push([
                json!(point),
                json!(worker),
                json!(lookups),
                json!(torn),
                json!(mean_ns),
                json!(p99_ns),
            ]);
            let entity = format!("point{point}/worker{worker}");
            let used = [&record.user_ns, &record.system_ns, &record.voluntary, &record.involuntary];
            for (metric, count) in METRICS.into_iter().zip(used) {
                let value = json!(count.get());
                self.samples.push([json!(window.end_ns), json!(entity), json!(metric), value]);
            }
        }
    }

    fn keep_latches(&mut self, point: usize, state: &PointState) {
        let children = state.plan.children;
        for child in 0..children {
            let sum = |of: fn(&Counters) -> u64| -> u64 {
                (0..state.workers).map(|w| of(&state.counters_of(w)[child])).sum()
            };
            let name = &state.plan.protocol;
            let latch = if children == 1 { name.clone() } else { format!("{name}#{child}") };
            self.latches.push([
                json!(point),
                json!(latch),
                json!(sum(Counters::gets)),
                json!(sum(|c| c.misses.get())),
                json!(sum(|c| c.spin_gets.get())),
                json!(sum(|c| c.sleeps.get())),
                json!(sum(|c| c.wait_ns.get())),
                json!(sum(|c| c.hand_overs.get())),
            ]);
        }
    }

    pub fn to_json(&self, plan: &Plan) -> Value {
        let facts = plan.protocol().facts;
        json!({
            "phases": phases(&self.phases),
            "throughput": columns(["point", "second", "statement", "count", "errors"], self.throughput.clone()),
            "latency": columns(["point", "statement", "count", "histogram_base64"], self.latency.clone()),
            "clients": columns(
                ["point", "client", "transactions", "errors", "mean_ns", "p99_ns"], self.clients.clone()
            ),
            "errors": columns(["point", "code", "count", "message"], self.errors.clone()),
            "latches": columns(
                ["point", "latch", "gets", "misses", "spin_gets", "sleeps", "wait_ns", "hand_overs"],
                self.latches.clone(),
            ),
            "latch_histograms": columns(["point", "kind", "count", "histogram_base64"], self.histograms.clone()),
            "samples": columns(["t_ns", "entity", "metric", "value"], self.samples.clone()),
            "engine": {
                "threads": plan.points.iter().max(),
                "busy_turn_ns": self.base.busy_ns,
                "clock_ns": self.base.clock_ns,
                "sampled_every": self.strides,
                "spin": plan.spin() * facts.spins,
                "in_turn": facts.in_turn,
                "sees_misses": facts.misses,
                "sees_sleeps": facts.sleeps,
                "guarded": self.guarded,
                "exclusive_gets": self.exclusive,
            },
        })
    }
}

fn of_hold(times: &Sampled) -> &Times {
    &times.hold
}

fn of_wait(times: &Sampled) -> &Times {
    &times.wait
}
