//! A run's counts as columns of JSON (their meaning: documentation of `latch_run` in Python).

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2Serializer};
use serde_json::{Value, json};

use crate::costs::Turns;
use crate::counters::{Count, Counters, Times};
use crate::plan::Plan;
use crate::stage::{Stage, Window};

const LONGEST_NS: u64 = 3_600_000_000_000;

pub struct Phase {
    pub point: usize,
    pub clients: usize,
    pub name: &'static str,
    pub start_ns: u64,
    pub end_ns: u64,
}

/// Something that a reader of the result must know.
pub struct Trouble {
    pub code: &'static str,
    pub message: String,
}

/// Rows by table; a row has the fields of the table's names.
type Rows = Vec<Vec<Value>>;

/// What a run leaves.
pub struct Outcome {
    pub turns: Turns,
    pub phases: Vec<Phase>,
    throughput: Rows,
    latency: Rows,
    clients: Rows,
    errors: Rows,
    latches: Rows,
    histograms: Rows,
    samples: Rows,
    strides: Vec<u32>,
    guarded: Vec<u64>,
    exclusive: Vec<u64>,
}

impl Outcome {
    pub fn new(turns: Turns) -> Self {
        Self {
            turns,
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

    /// Takes what a point's workers have counted.
    pub fn keep(
        &mut self,
        point: usize,
        stage: &Stage,
        hand_overs: &[(&'static str, f64)],
        mut troubles: Vec<Trouble>,
    ) {
        let window = stage.gate.window();
        for (metric, ns) in hand_overs {
            let entity = format!("point{point}");
            self.samples.push(vec![json!(window.end_ns), json!(entity), json!(metric), json!(ns)]);
        }
        self.strides.push(stage.stride);
        self.keep_throughput(point, stage, window);
        let lookups: Vec<&Times> = stage.times.iter().map(|times| &times.lookup).collect();
        let (count, text) = encode(&lookups);
        self.latency.push(vec![json!(point), json!("transaction"), json!(count), json!(text)]);
        self.keep_clients(point, stage, window);
        self.keep_latches(point, stage);
        for (kind, of) in [("hold", of_hold as fn(_) -> _), ("wait", of_wait)] {
            let (count, text) = encode(&stage.times.iter().map(of).collect::<Vec<_>>());
            self.histograms.push(vec![json!(point), json!(kind), json!(count), json!(text)]);
        }
        let exclusive: u64 = stage.counters.iter().map(|counters| counters.exclusive()).sum();
        let (guarded, whole) = (stage.cache.guarded(), troubles.is_empty());
        self.guarded.push(guarded);
        self.exclusive.push(exclusive);
        // a worker killed between the two counts leaves them different without any overlap
        if whole && guarded != exclusive {
            let message =
                format!("{exclusive} exclusive gets left {guarded} under the latch: holders overlapped");
            troubles.push(Trouble { code: "overlap", message });
        }
        let torn: u64 = stage.records.iter().map(|record| record.torn.get()).sum();
        let mut kinds = BTreeMap::<_, (u64, String)>::new();
        if torn > 0 {
            kinds.insert("torn", (torn, "payloads did not fit their checksum".into()));
        }
        for Trouble { code, message } in troubles {
            let (count, all) = kinds.entry(code).or_default();
            *count += 1;
            *all = if all.is_empty() { message } else { format!("{all}; {message}") };
        }
        let row = |(code, (count, message))| vec![json!(point), json!(code), json!(count), json!(message)];
        self.errors.extend(kinds.into_iter().map(row));
    }

    fn keep_throughput(&mut self, point: usize, stage: &Stage, window: Window) {
        for index in 0..window.seconds() {
            let count: u64 = (0..stage.workers).map(|w| stage.seconds_of(w)[index].get()).sum();
            let second = index as i64 - window.warm_up() as i64;
            self.throughput.push(vec![
                json!(point),
                json!(second),
                json!("transaction"),
                json!(count),
                json!(0),
            ]);
        }
    }

    fn keep_clients(&mut self, point: usize, stage: &Stage, window: Window) {
        for (worker, (record, times)) in stage.records.iter().zip(stage.times).enumerate() {
            let lookups: u64 = stage.seconds_of(worker)[window.warm_up()..].iter().map(Count::get).sum();
            let p99_ns = histogram(&[&times.lookup]).value_at_quantile(0.99);
            let (torn, mean_ns) = (record.torn.get(), times.lookup.mean_ns());
            self.clients.push(vec![
                json!(point),
                json!(worker),
                json!(lookups),
                json!(torn),
                json!(mean_ns),
                json!(p99_ns),
            ]);
            let entity = format!("point{point}/worker{worker}");
            for (metric, count) in [
                ("cpu_user_ns", &record.user_ns),
                ("cpu_system_ns", &record.system_ns),
                ("switches_voluntary", &record.voluntary),
                ("switches_involuntary", &record.involuntary),
            ] {
                let value = json!(count.get());
                self.samples.push(vec![json!(window.end_ns), json!(entity), json!(metric), value]);
            }
        }
    }

    fn keep_latches(&mut self, point: usize, stage: &Stage) {
        let children = stage.plan.children;
        for child in 0..children {
            let sum = |of: fn(&Counters) -> u64| -> u64 {
                (0..stage.workers).map(|w| of(&stage.counters_of(w)[child])).sum()
            };
            let name = &stage.plan.protocol;
            let latch = if children == 1 { name.clone() } else { format!("{name}#{child}") };
            self.latches.push(vec![
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
        let phases = self.phases.iter().map(|phase| {
            let Phase { point, clients, name, start_ns, end_ns } = phase;
            vec![json!(point), json!(clients), json!(name), json!(start_ns), json!(end_ns)]
        });
        let facts = plan.protocol().facts;
        json!({
            "phases": columns(&["point", "clients", "phase", "start_ns", "end_ns"], phases),
            "throughput": columns(&["point", "second", "statement", "count", "errors"], self.throughput.clone()),
            "latency": columns(&["point", "statement", "count", "histogram_base64"], self.latency.clone()),
            "clients": columns(
                &["point", "client", "transactions", "errors", "mean_ns", "p99_ns"], self.clients.clone()
            ),
            "errors": columns(&["point", "code", "count", "message"], self.errors.clone()),
            "inspect": columns(&["client", "name", "metric", "value"], []),
            "latches": columns(
                &["point", "latch", "gets", "misses", "spin_gets", "sleeps", "wait_ns", "hand_overs"],
                self.latches.clone(),
            ),
            "latch_histograms": columns(&["point", "kind", "count", "histogram_base64"], self.histograms.clone()),
            "samples": columns(&["t_ns", "entity", "metric", "value"], self.samples.clone()),
            "engine": {
                "io": "none",
                "threads": plan.points.iter().max(),
                "connections_made": plan.points.iter().sum::<usize>(),
                "reconnections": 0,
                "connect_ns_mean": 0.0,
                "backlog": vec![0; plan.points.len()],
                "busy_turn_ns": self.turns.busy_ns,
                "clock_ns": self.turns.clock_ns,
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

fn of_hold(times: &crate::worker::Sampled) -> &Times {
    &times.hold
}

fn of_wait(times: &crate::worker::Sampled) -> &Times {
    &times.wait
}

fn histogram(times: &[&Times]) -> Histogram<u64> {
    let mut histogram = Histogram::new_with_bounds(1, LONGEST_NS, 3).unwrap_or_else(|_| unreachable!());
    for (value, count) in times.iter().flat_map(|times| times.iter()) {
        histogram.saturating_record_n(value.max(1), count);
    }
    histogram
}

/// How many, and their HdrHistogram, V2, base64.
fn encode(times: &[&Times]) -> (u64, String) {
    let merged = histogram(times);
    let mut bytes = Vec::new();
    // writing to memory does not fail
    let _ = V2Serializer::new().serialize(&merged, &mut bytes);
    (merged.len(), STANDARD.encode(bytes))
}

fn columns(names: &[&str], rows: impl IntoIterator<Item = Vec<Value>>) -> Value {
    let mut columns: Vec<Vec<Value>> = vec![Vec::new(); names.len()];
    for row in rows {
        for (column, value) in columns.iter_mut().zip(row) {
            column.push(value);
        }
    }
    names.iter().zip(columns).map(|(name, column)| ((*name).to_string(), Value::Array(column))).collect()
}
