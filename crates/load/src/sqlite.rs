//! A run inside SQLite: no server and no protocol. Each client is a thread of this process, or a
//! process forked from it, with its own connection to one file.
//!
//! - [`database`]: how a connection is opened, and the facts that it reports
//! - [`state`]: what the clients of one point share
//! - [`gate`]: the signals for clients to begin and to leave
//! - [`client`]: the closed loop of one client
//! - [`statements`]: each way of handling statements as calls of SQLite
//! - [`trial`]: every transaction once, before any load
//! - [`workers`]: the clients of one point, as threads or processes

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::error::LoadError;
use crate::plan::sqlite::Database;
use crate::plan::{Arrival, Handle, Plan};
use crate::progress::{Live, Progress};
use crate::record::Window;
use crate::record::result::Inspected;
use crate::shared_memory::Shared;
use crate::statements::lexer::Lexis;
use crate::statements::template::Dialect;
use crate::statements::work::Work;
use gate::Gate;
use state::PointState;
use steelyard_engine::clock::now_ns;
use steelyard_engine::error::PlanError;
use steelyard_engine::listener::Listener;
use steelyard_engine::usage::METRICS;
use workers::{Left, RunningWorkers};

pub mod client;
pub mod database;
pub mod gate;
pub mod state;
pub mod statements;
pub mod trial;
pub mod workers;

/// An interrupted statement gets this long to come to its end.
const REST: Duration = Duration::from_secs(60);
/// Clients get this long to begin before the point's clock starts.
const LEAD_NS: u64 = 10_000_000;

const IN_PROCESS: &str = "the database works in the clients' own threads or processes: server CPU and memory \
                          are those of the load engine, with its loop around each statement";

/// To SQLite `$1` is a name; it numbers names by first occurrence, as a template does.
pub const DIALECT: Dialect =
    Dialect { lexis: Lexis::Sqlite, placeholder: |number| format!("${number}"), quote: b"'", doubled: b"'" };

/// Refuses what SQLite does not have.
pub fn check(plan: &Plan) -> Result<(), PlanError> {
    let refuse = |field: &str, cause: &str| Err(PlanError::new(field, cause));
    plan.check_sql()?;
    if let Some(database) = &plan.sqlite {
        database.check()?;
    }
    if plan.handle == Handle::Unnamed {
        return refuse("handle", "every statement of SQLite is a handle: handle 'per-use' is the same work");
    }
    if plan.transactions_max.is_some() {
        return refuse("transactions_max", "clients of SQLite count each for itself: measure by time");
    }
    if !matches!(plan.arrival, Arrival::Closed { .. }) {
        let cause = "clients of SQLite are threads or processes in a closed loop: it has no open one";
        return refuse("arrival", cause);
    }
    if let Some(one) = plan.transactions.iter().find(|one| !one.steps.is_empty() || one.pauses()) {
        let cause =
            "steps, keying and think times need a server's protocol: SQLite executes lists of statements";
        return refuse(&format!("transactions.{}", one.name), cause);
    }
    if plan.retries > 0 {
        return refuse(
            "retries",
            "SQLite waits for its locks: it has no failure to execute a transaction again for",
        );
    }
    if plan.threads != 1 {
        let cause = "clients are threads or processes themselves: no thread of the engine drives them";
        return refuse("threads", cause);
    }
    Ok(())
}

/// Runs the plan on its database; the result as JSON (see the documentation of `load_run` in Python).
pub fn run(work: &Work, listener: &mut dyn Listener) -> Result<String, LoadError> {
    let Some(database) = &work.plan.sqlite else {
        return Err(LoadError::Database { file: String::new(), cause: "the plan names no database".into() });
    };
    database.configure()?;
    let mut progress = Progress::new(&work.plan, listener);
    progress.outcome.notices.push(("in-process", IN_PROCESS.into()));
    for (point, count) in work.plan.points.iter().copied().enumerate() {
        let state = PointState {
            work,
            database,
            gate: Shared::new(Gate::default()),
            live: (0..count).map(|_| Shared::new(Live::default())).collect(),
        };
        run_point(&mut progress, point, count, &state)?;
    }
    progress.outcome.numbered = work.counted();
    Ok(progress.outcome.to_json(&work.plan).to_string())
}

fn run_point(
    progress: &mut Progress,
    point: usize,
    count: usize,
    state: &PointState,
) -> Result<(), LoadError> {
    std::thread::scope(|scope| {
        let begin_ns = progress.begin("connect", point, count)?;
        // opens the gate when dropped, so that no thread waits for it at the end of the scope
        let mut workers = RunningWorkers::start(scope, state, count)?;
        let window = connect(progress, state, &mut workers)?;
        progress.ended("connect", point, count, begin_ns, now_ns());
        progress.attend(point, count, window, &state.live, &state.gate.stop)?;
        let left = workers.left(progress, Instant::now() + patience(progress.plan))?;
        keep(progress, point, window, left);
        if point + 1 == progress.plan.points.len() {
            let begin_ns = progress.begin("cool-down", point, count)?;
            progress.cool_down(point, count, begin_ns)?;
            let begin_ns = progress.begin("disconnect", point, count)?;
            drop(workers);
            progress.ended("disconnect", point, count, begin_ns, now_ns());
        }
        Ok(())
    })
}

/// How long clients may take to come to rest: a statement waits for a lock until its deadline, and after
/// that what is under way is interrupted.
fn patience(plan: &Plan) -> Duration {
    let most = plan.transactions.iter().map(|one| one.statements.len()).max().unwrap_or_default();
    REST + Duration::from_secs_f64(plan.deadline_ms / 1e3) * (most as u32 + 2)
}

/// Waits until all clients have opened the database, and sets the clock.
fn connect(
    progress: &mut Progress,
    state: &PointState,
    workers: &mut RunningWorkers,
) -> Result<Window, LoadError> {
    let plan = progress.plan;
    let limit = Instant::now() + Duration::from_secs_f64(plan.connect_s);
    loop {
        if state.gate.failed.load(Ordering::Acquire) {
            // clients that wait for the start would keep their pipes open
            state.gate.stop.store(true, Ordering::Relaxed);
            workers.left(progress, Instant::now() + patience(plan))?;
        }
        let ready = state.gate.ready.load(Ordering::Acquire) as usize;
        if ready == state.live.len() {
            break;
        }
        if Instant::now() > limit {
            let cause =
                format!("{ready} of {} clients were ready after {} s", state.live.len(), plan.connect_s);
            return Err(LoadError::Database { file: state.database.file.clone(), cause });
        }
        progress.go_on()?;
        std::thread::sleep(Duration::from_millis(1));
    }
    let start_ns = now_ns() + LEAD_NS;
    let measure_ns = start_ns + (plan.warm_up_s * 1e9) as u64;
    let end_ns = measure_ns + (plan.measure_s * 1e9) as u64;
    let window = Window { start_ns, measure_ns, last_begin_ns: end_ns, end_ns };
    state.gate.open(window);
    Ok(window)
}

fn keep(progress: &mut Progress, point: usize, window: Window, left: Vec<Left>) {
    let (count, last) = (left.len(), point + 1 == progress.plan.points.len());
    let outcome = &mut progress.outcome;
    let mut records = Vec::with_capacity(count);
    for (client, mut left) in left.into_iter().enumerate() {
        left.record.io = "sqlite";
        outcome.connections += 1;
        outcome.connect_ns += left.connect_ns;
        let entity = format!("point{point}/client{client}");
        for (metric, value) in METRICS.into_iter().zip(left.usage) {
            outcome.samples.push((window.end_ns, entity.clone(), metric, value as f64));
        }
        // facts of sessions are reported once per run: by those of the last point, as for servers
        outcome.inspect.extend(left.status.into_iter().filter(|_| last).map(|(metric, value)| Inspected {
            client,
            name: "sqlite".into(),
            metric,
            value: value as f64,
        }));
        records.push(left.record);
    }
    progress.keep(point, count, window, records);
}

/// Facts of a database with these settings, as JSON (see `sqlite_facts` in Python).
pub fn facts(database_json: &str) -> Result<String, LoadError> {
    let database: Database = serde_json::from_str(database_json)
        .map_err(|error| LoadError::Database { file: "settings".into(), cause: error.to_string() })?;
    let connection = database.open(Duration::from_secs(10))?;
    let facts = database.facts(&connection).map_err(|error| database.failed(&error))?;
    Ok(json!(facts).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Patient;

    impl Listener for Patient {
        fn event(&mut self, _: &str) -> bool {
            true
        }

        fn go_on(&mut self) -> bool {
            true
        }
    }

    #[test]
    fn who_cannot_open_the_file_is_named_and_those_who_could_are_let_go() {
        let file = std::env::temp_dir().join(format!("steelyard-workers-{}.sqlite", std::process::id()));
        std::fs::write(&file, "").unwrap();
        let plan = json!({
            "sqlite": {"file": file, "workers": "threads", "threading": "serialized", "shared_cache": false,
                       "begin": "deferred", "memory_status": true, "pragmas": []},
            "text": "identical", "distinct_texts": 1, "parameters": "client", "handle": "named",
            "statements": [{"name": "s", "sql": "select 1"}],
            "transactions": [{"name": "t", "weight": 1, "statements": ["s"]}],
            "arrival": {"kind": "closed", "think_ms": 0, "think": "fixed"},
            "points": [2], "warm_up_s": 0, "measure_s": 1, "cool_down_s": 0,
            "deadline_ms": 100, "threads": 1, "seed": 1,
        });
        let work = Work::new(Plan::parse(&plan.to_string()).unwrap(), DIALECT).unwrap();
        let state = PointState {
            work: &work,
            database: work.plan.sqlite.as_ref().unwrap(),
            gate: Shared::new(Gate::default()),
            live: (0..2).map(|_| Shared::new(Live::default())).collect(),
        };
        let mut listener = Patient;
        let mut progress = Progress::new(&work.plan, &mut listener);
        let connected = std::thread::scope(|scope| {
            let mut workers = RunningWorkers::start(scope, &state, 1).unwrap();
            while state.gate.ready.load(Ordering::Acquire) == 0 {
                assert!(!state.gate.failed.load(Ordering::Acquire), "client 0 could not open the file");
                std::thread::yield_now();
            }
            std::fs::remove_file(&file).unwrap();
            workers.take_on(scope, &state).unwrap();
            connect(&mut progress, &state, &mut workers)
        });
        let refused = connected.unwrap_err();
        assert!(matches!(refused, LoadError::Client { number: 1, .. }), "{refused}");
    }
}
