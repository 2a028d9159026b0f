//! A run's counts as columns of JSON (their meaning: documentation of `load_run` in Python).

use std::collections::BTreeMap;

use serde_json::{Value, json};
use steelyard_engine::columns::columns;
use steelyard_engine::histogram::{encode_text, merge};
use steelyard_engine::phase::{Phase, phases};

use crate::plan::Plan;
use crate::record::Record;
use crate::record::counts::{Count, KindRecord, Lost};
use crate::record::digest::Digest;
use crate::record::executed::{Executed, Marks};

/// Counts of a diagnostic phase, which is not measured.
pub struct Aside {
    pub point: usize,
    pub phase: &'static str,
    pub transactions: u64,
}

/// A number that one client's session reported at the end.
pub struct Inspected {
    pub client: usize,
    pub name: String,
    pub metric: String,
    pub value: f64,
}

/// Code of a transaction that ends with the server still in one.
pub const OPEN: &str = "open";

/// Codes of an end without an answer.
pub const BROKEN: [&str; 2] = ["connection", DEADLINE];

/// Code of a statement without an answer in time.
pub const DEADLINE: &str = "deadline";

/// A statement that was tried; transaction and statement by number, none: between statements. The code is
/// empty where it succeeded. value: the first one that its rows gave to the steps, as text.
#[derive(Default)]
pub struct Tried {
    pub draw: usize,
    pub transaction: usize,
    pub statement: Option<usize>,
    /// None: it has no such number.
    pub rows: Option<u64>,
    pub digest: Digest,
    pub took_ns: u64,
    pub code: String,
    pub message: String,
    pub value: Option<String>,
}

/// Statements that were tried, as columns.
pub fn tried_columns(tried: &[Tried], plan: &Plan) -> Value {
    let rows = tried.iter().map(|one| {
        [
            json!(plan.transactions[one.transaction].name),
            json!(one.statement.map(|statement| &plan.statements[statement].name)),
            json!(one.took_ns),
            json!(one.code),
            json!(one.message),
            json!(one.value),
            json!(one.draw),
            json!(one.rows),
            json!(format!("{:016x}", one.digest.sum)),
            // a single row is an aggregate: its numbers are compared
            json!((one.rows == Some(1)).then_some(&one.digest.first)),
        ]
    });
    let names =
        ["transaction", "statement", "took_ns", "code", "message", "value", "draw", "rows", "digest", "row"];
    columns(names, rows)
}

/// The result of a run.
#[derive(Default)]
pub struct Outcome {
    pub phases: Vec<Phase>,
    /// By point, then by thread.
    pub records: Vec<Vec<Record>>,
    pub asides: Vec<Aside>,
    pub inspect: Vec<Inspected>,
    /// When, of whom, metric, value: what clients used, where they are ours.
    pub samples: Vec<(u64, String, &'static str, f64)>,
    pub connections: u64,
    pub connect_ns: u64,
    /// The most numbers drawn of one counter.
    pub numbered: u64,
    /// Under load of any kind, measured or not.
    pub lost: Lost,
    /// Notices: code and text.
    pub notices: Vec<(&'static str, String)>,
}

impl Outcome {
    pub fn to_json(&self, plan: &Plan) -> Value {
        let names = plan.timed();
        let asides = self.asides.iter().map(|aside| {
            let Aside { point, phase, transactions } = aside;
            [json!(point), json!(phase), json!(transactions)]
        });
        let inspect = self.inspect.iter().map(|inspected| {
            [json!(inspected.client), json!(inspected.name), json!(inspected.metric), json!(inspected.value)]
        });
        let notices = self.notices.iter().map(|(code, text)| [json!(code), json!(text)]);
        let samples = self
            .samples
            .iter()
            .map(|(t_ns, entity, metric, value)| [json!(t_ns), json!(entity), json!(metric), json!(value)]);
        json!({
            "phases": phases(&self.phases),
            "asides": columns(["point", "phase", "transactions"], asides),
            "throughput": self.throughput(&names),
            "latency": self.latency(&names),
            "clients": self.clients(),
            "transactions": self.transactions(plan),
            "executions": self.executions(plan),
            "marks": self.marks(plan),
            "errors": self.errors(),
            "notices": columns(["code", "text"], notices),
            "inspect": columns(["client", "name", "metric", "value"], inspect),
            "samples": columns(["t_ns", "entity", "metric", "value"], samples),
            "engine": self.engine(plan),
        })
    }

    fn points(&self) -> impl Iterator<Item = (usize, &[Record])> {
        self.records.iter().map(Vec::as_slice).enumerate()
    }

    fn throughput(&self, names: &[String]) -> Value {
        let mut rows = Vec::new();
        for (point, records) in self.points() {
            let Some(first) = records.first() else { continue };
            for index in 0..first.seconds.len() {
                for (statement, name) in names.iter().enumerate() {
                    let sum = |of: fn(&Count) -> u64| -> u64 {
                        records.iter().map(|record| of(&record.seconds[index][statement])).sum()
                    };
                    let (done, errors) = (sum(|count| count.done), sum(|count| count.errors));
                    let second = first.second_of(index);
                    rows.push([json!(point), json!(second), json!(name), json!(done), json!(errors)]);
                }
            }
        }
        columns(["point", "second", "statement", "count", "errors"], rows)
    }

    fn latency(&self, names: &[String]) -> Value {
        let mut rows = Vec::new();
        for (point, records) in self.points() {
            for (statement, name) in names.iter().enumerate() {
                let merged = merge(records.iter().map(|record| &record.histograms[statement]));
                let text = encode_text(&merged);
                rows.push([json!(point), json!(name), json!(merged.len()), json!(text)]);
            }
        }
        columns(["point", "statement", "count", "histogram_base64"], rows)
    }

    fn clients(&self) -> Value {
        let mut rows = Vec::new();
        for (point, records) in self.points() {
            let mut all: Vec<_> = records.iter().flat_map(|record| &record.clients).collect();
            all.sort_by_key(|client| client.number);
            rows.extend(all.into_iter().map(|client| {
                let count = client.count;
                let (mean_ns, p99_ns) = (client.mean_ns(), client.p99_ns());
                [
                    json!(point),
                    json!(client.number),
                    json!(count.done),
                    json!(count.errors),
                    json!(mean_ns),
                    json!(p99_ns),
                ]
            }));
        }
        columns(["point", "client", "transactions", "errors", "mean_ns", "p99_ns"], rows)
    }

    fn transactions(&self, plan: &Plan) -> Value {
        let mut rows = Vec::new();
        for (point, records) in self.points() {
            for (number, transaction) in plan.transactions.iter().enumerate() {
                let sum = |of: fn(&Count) -> u64| -> u64 {
                    records.iter().map(|record| of(&record.kinds[number].count)).sum()
                };
                let failure = records.iter().find_map(|record| record.kinds[number].failure.as_ref());
                let (code, message) =
                    failure.map_or(("", ""), |(code, message)| (code.as_str(), message.as_str()));
                let (done, errors) = (sum(|count| count.done), sum(|count| count.errors));
                let all = |of: fn(&KindRecord) -> u64| -> u64 {
                    records.iter().map(|record| of(&record.kinds[number])).sum()
                };
                rows.push([
                    json!(point),
                    json!(transaction.name),
                    json!(done),
                    json!(errors),
                    json!(all(|kind| kind.retries)),
                    json!(all(|kind| kind.rolled_back)),
                    json!(code),
                    json!(message),
                ]);
            }
        }
        columns(
            ["point", "transaction", "count", "errors", "retries", "rolled_back", "code", "message"],
            rows,
        )
    }

    fn executions(&self, plan: &Plan) -> Value {
        let mut rows = Vec::new();
        for (point, records) in self.points() {
            for (number, statement) in plan.statements.iter().enumerate() {
                let mut all = Executed::default();
                records.iter().for_each(|record| all.merge(&record.executed[number]));
                let known = |sum: u64| (all.counted > 0).then_some(sum);
                // within a process nothing is received
                let bytes = plan.sqlite.is_none().then_some(all.bytes);
                rows.push([
                    json!(point),
                    json!(statement.name),
                    json!(all.executions),
                    json!(known(all.rows)),
                    json!(known(all.empty)),
                    json!(bytes),
                ]);
            }
        }
        columns(["point", "statement", "executions", "rows", "empty", "bytes"], rows)
    }

    fn marks(&self, plan: &Plan) -> Value {
        let mut all = Marks::default();
        self.records.iter().flatten().for_each(|record| all.merge(&record.marks));
        let rows = all.rows().filter(|(statement, ..)| plan.statements[*statement].counts);
        columns(
            ["statement", "execution", "clients", "rows", "empty"],
            rows.map(|(statement, execution, mark)| {
                let name = &plan.statements[statement].name;
                [json!(name), json!(execution), json!(mark.clients), json!(mark.rows), json!(mark.empty)]
            }),
        )
    }

    fn errors(&self) -> Value {
        let mut rows = Vec::new();
        for (point, records) in self.points() {
            let mut kinds = BTreeMap::new();
            for (code, (count, message)) in records.iter().flat_map(|record| &record.errors) {
                kinds.entry(code).or_insert((0, message)).0 += count;
            }
            rows.extend(
                kinds.into_iter().map(|(code, (count, message))| {
                    [json!(point), json!(code), json!(count), json!(message)]
                }),
            );
        }
        columns(["point", "code", "count", "message"], rows)
    }

    fn engine(&self, plan: &Plan) -> Value {
        let backlog: Vec<usize> =
            self.records.iter().map(|records| records.iter().map(|record| record.backlog).sum()).collect();
        let first = |records: &Vec<Record>| records.iter().map(|one| one.began_ns).filter(|ns| *ns > 0).min();
        let began_ns: Vec<u64> = self.records.iter().map(|records| first(records).unwrap_or(0)).collect();
        let reconnections: u64 = self.records.iter().flatten().map(|record| record.reconnections).sum();
        json!({
            "io": self.records.iter().flatten().map(|record| record.io).next().unwrap_or_default(),
            "threads": plan.threads,
            "connections_made": self.connections,
            "reconnections": reconnections,
            "numbered": self.numbered,
            "connections_lost": self.lost.count,
            "connections_lost_cause": self.lost.last_cause,
            "connect_ns_mean": self.connect_ns as f64 / self.connections.max(1) as f64,
            "backlog": backlog,
            "began_ns": began_ns,
        })
    }
}
