//! The result of a simulation as columns of JSON (described at `dispatch_run` in Python).

use hdrhistogram::Histogram;
use serde_json::{Value, json};
use steelyard_engine::columns::columns;
use steelyard_engine::histogram::encode_text;
use steelyard_engine::phase::{self, Phase};

use crate::plan::Plan;
use crate::sim::Sim;

/// All columns of the result, and facts about the simulation.
pub fn to_json(sim: &Sim, plan: &Plan, wall_s: f64) -> Value {
    let threads: u64 = plan.groups.iter().map(|group| u64::from(group.count)).sum();
    json!({
        "phases": phases(sim, threads),
        "throughput": throughput(sim, plan),
        "latency": latency(sim, plan),
        "clients": clients(sim),
        "errors": columns(["point", "code", "count", "message"], []),
        "inspect": columns(["client", "name", "metric", "value"], []),
        "samples": samples(sim, plan),
        "trace": trace(sim, plan),
        "engine": {
            "events": sim.events,
            "wall_s": wall_s,
            "threads": threads,
            "clients_told": sim.record.clients.len(),
            "trace_cut": sim.trace.cut,
        },
    })
}

fn phases(sim: &Sim, threads: u64) -> Value {
    let record = &sim.record;
    let warm_up = (record.measure_ns > 0).then_some(("warm-up", 0, record.measure_ns));
    let rows = warm_up.into_iter().chain([("measure", record.measure_ns, record.end_ns)]);
    let phases: Vec<Phase> = rows
        .map(|(name, start_ns, end_ns)| Phase { point: 0, clients: threads as usize, name, start_ns, end_ns })
        .collect();
    phase::phases(&phases)
}

fn throughput(sim: &Sim, plan: &Plan) -> Value {
    let mut rows = Vec::new();
    for (index, counts) in sim.record.seconds.iter().enumerate() {
        let second = sim.record.second_of(index);
        let mut row = |name: &str, count: u64| {
            rows.push([json!(0), json!(second), json!(name), json!(count), json!(0)]);
        };
        for (group, count) in plan.groups.iter().zip(counts) {
            row(&group.name, *count);
        }
        row("transaction", counts.iter().sum());
    }
    columns(["point", "second", "statement", "count", "errors"], rows)
}

fn latency(sim: &Sim, plan: &Plan) -> Value {
    let mut all = Histogram::<u64>::new(3).unwrap_or_else(|_| unreachable!());
    for histogram in &sim.record.histograms {
        // it grows with the values
        let _ = all.add(histogram);
    }
    let names = plan.groups.iter().map(|group| group.name.as_str()).chain(["transaction"]);
    let histograms = sim.record.histograms.iter().chain([&all]);
    columns(
        ["point", "statement", "count", "histogram_base64"],
        names.zip(histograms).map(|(name, histogram)| {
            [json!(0), json!(name), json!(histogram.len()), json!(encode_text(histogram))]
        }),
    )
}

fn clients(sim: &Sim) -> Value {
    columns(
        ["point", "client", "transactions", "errors", "mean_ns", "p99_ns"],
        sim.record.clients.iter().map(|client| {
            let mean_ns = client.sum_ns as f64 / client.done.max(1) as f64;
            let p99_ns = client.histogram.value_at_quantile(0.99);
            [json!(0), json!(client.thread), json!(client.done), json!(0), json!(mean_ns), json!(p99_ns)]
        }),
    )
}

fn samples(sim: &Sim, plan: &Plan) -> Value {
    let names: Vec<&str> = plan.groups.iter().map(|group| group.name.as_str()).chain(["total"]).collect();
    let mut rows = Vec::new();
    for sample in &sim.record.samples {
        let name = names[sample.group];
        let t_ns = json!(sample.t_ns);
        for (metric, value) in sample.counts.metrics() {
            rows.push([t_ns.clone(), json!(name), json!(metric), json!(value)]);
        }
        for (priority, ns) in sample.counts.priority_ns.iter().enumerate().filter(|(_, ns)| **ns > 0) {
            let entity = format!("{name}:{priority}");
            rows.push([t_ns.clone(), json!(entity), json!("priority_ns_total"), json!(*ns as f64)]);
        }
    }
    columns(["t_ns", "entity", "metric", "value"], rows)
}

fn trace(sim: &Sim, plan: &Plan) -> Value {
    if plan.trace.is_none() {
        return Value::Null;
    }
    let names = thread_names(sim, plan);
    let intervals = sim.trace.intervals.iter().map(|interval| {
        let thread = &names[interval.thread as usize];
        let (start_ns, end_ns) = (interval.start_ns, interval.end_ns);
        [json!(interval.cpu), json!(thread), json!(start_ns), json!(end_ns), json!(interval.priority)]
    });
    json!({
        "intervals": columns(["cpu", "thread", "start_ns", "end_ns", "priority"], intervals),
        "priorities": priorities(sim, plan),
    })
}

/// Changes of priority or quantum in the order of time.
pub fn priorities(sim: &Sim, plan: &Plan) -> Value {
    let names = thread_names(sim, plan);
    let tick_ms = 1000.0 / f64::from(plan.hz);
    let changes = sim.trace.changes.iter().map(|change| {
        [
            json!(change.t_ns),
            json!(names[change.thread as usize]),
            json!(change.reason.name()),
            json!(change.from),
            json!(change.to),
            json!(change.priority),
            json!(f64::from(change.quantum_ticks) * tick_ms),
        ]
    });
    columns(["t_ns", "thread", "reason", "from", "to", "priority", "quantum_ms"], changes)
}

/// `group:number` by thread; children of forks have numbers of their own.
fn thread_names(sim: &Sim, plan: &Plan) -> Vec<String> {
    let mut names = Vec::with_capacity(sim.threads.len());
    for group in &plan.groups {
        names.extend((0..group.count).map(|number| format!("{}:{number}", group.name)));
    }
    names.extend(
        (names.len()..sim.threads.len())
            .map(|id| format!("{}:child{id}", plan.groups[sim.threads[id].group as usize].name)),
    );
    names
}
