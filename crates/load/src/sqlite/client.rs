//! The closed loop of one client on its own connection, the same in a thread and in a process.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rand::rngs::SmallRng;
use rusqlite::{Connection, Error, Statement, ffi};
use steelyard_engine::clock::now_ns;
use steelyard_engine::usage::usage;

use super::state::PointState;
use super::statements::{Statements, code_of};
use crate::client::NOT_ENDED;
use crate::error::LoadError;
use crate::io::poll::no_timer_slack;
use crate::plan::schedule::think_ns;
use crate::plan::sqlite::Begin;
use crate::progress::Live;
use crate::record::executed::{Effect, Executed};
use crate::record::{Ending, Record, Window};
use crate::statements::draw::Draw;
use crate::statements::work::Work;

/// Steps of SQLite's machine between two looks at the clock: about a millisecond.
pub const STEPS: i32 = 10_000;
/// What is under way at the end may end, uncounted, within this time.
const DRAIN_NS: u64 = 2_000_000_000;

struct Client<'a> {
    work: &'a Work,
    connection: &'a Connection,
    statements: Statements<'a>,
    begin: Statement<'a>,
    commit: Statement<'a>,
    rollback: Statement<'a>,
    draw: Draw,
    pauses: SmallRng,
    record: Record,
    effects: Vec<(usize, Effect)>,
    /// By statement, since the client began.
    executed: Vec<Executed>,
    /// Deadline at which SQLite interrupts the statement.
    limit_ns: Arc<AtomicU64>,
    deadline_ns: u64,
    window: Window,
}

/// Opens the database.
pub fn open(state: &PointState) -> Result<Connection, LoadError> {
    no_timer_slack();
    state.database.open(Duration::from_secs_f64(state.work.plan.deadline_ms / 1e3))
}

/// What was counted, CPU time and switches of the measure phase, facts of the connection.
pub type Report = (Record, [u64; 4], Vec<(String, i64)>);

/// Works through the window and reports once; statements are kept until `report` returns.
pub fn drive(
    state: &PointState,
    connection: &Connection,
    number: usize,
    window: Window,
    report: impl FnOnce(Result<Report, LoadError>),
) {
    match Client::new(state.work, connection, state.database.begin, number, window) {
        Err(error) => report(Err(state.database.failed(&error))),
        Ok(mut client) => {
            let usage = client.drive(state, &state.live[number]);
            let Client { record, statements, .. } = client;
            report(Ok((record, usage, status(connection))));
            drop(statements);
        }
    }
}

impl<'a> Client<'a> {
    fn new(
        work: &'a Work,
        connection: &'a Connection,
        begin: Begin,
        number: usize,
        window: Window,
    ) -> Result<Self, Error> {
        let limit_ns = Arc::new(AtomicU64::new(u64::MAX));
        let limit = Arc::clone(&limit_ns);
        connection.progress_handler(STEPS, Some(move || now_ns() > limit.load(Ordering::Relaxed)));
        Ok(Self {
            work,
            connection,
            statements: Statements::new(work, connection),
            begin: connection.prepare(begin.sql())?,
            commit: connection.prepare("commit")?,
            rollback: connection.prepare("rollback")?,
            draw: Draw::new(work, number),
            pauses: work.chance(number, 2),
            record: Record::new(
                window,
                None,
                work.plan.timed().len() - 1,
                &work.plan.timed_kinds(),
                std::iter::once(number),
            ),
            effects: Vec::new(),
            executed: vec![Executed::default(); work.templates.len()],
            limit_ns,
            deadline_ns: (work.plan.deadline_ms * 1e6) as u64,
            window,
        })
    }

    fn drive(&mut self, state: &PointState, live: &Live) -> [u64; 4] {
        let mut before = None;
        let mut now = now_ns();
        while now < self.window.end_ns && !state.gate.stopped() {
            if before.is_none() && now >= self.window.measure_ns {
                before = Some(usage());
            }
            now = self.transaction(now);
            live.done.store(self.record.total.done, Ordering::Relaxed);
            live.errors.store(self.record.total.errors, Ordering::Relaxed);
            let pause_ns = think_ns(&self.work.plan.arrival, &mut self.pauses);
            if pause_ns > 0 {
                let left_ns = self.window.end_ns.saturating_sub(now);
                std::thread::sleep(Duration::from_nanos(pause_ns.min(left_ns)));
                now = now_ns();
            }
        }
        let after = usage();
        let before = before.unwrap_or(after);
        std::array::from_fn(|kind| after[kind] - before[kind])
    }

    /// One transaction from `start_ns`; when it ended.
    fn transaction(&mut self, start_ns: u64) -> u64 {
        let kind = self.draw.transaction(self.work);
        self.draw.begin(self.work, kind);
        let recipe = &self.work.transactions[kind];
        let limit_ns = (start_ns + self.deadline_ns).min(self.window.end_ns + DRAIN_NS);
        self.limit_ns.store(limit_ns, Ordering::Relaxed);
        let (mut now, mut at) = (start_ns, None);
        let mut outcome = Ok(());
        if recipe.begin {
            outcome = self.begin.raw_execute().map(|_| ());
            now = now_ns();
            self.control_done(&outcome, 0, now, now - start_ns);
        }
        for statement in recipe.statements.iter().copied() {
            if outcome.is_err() {
                break;
            }
            at = Some(statement);
            self.draw.statement(self.work, statement);
            let effect = self.statements.execute(&self.draw);
            let begin_ns = std::mem::replace(&mut now, now_ns());
            if let Ok(effect) = effect {
                self.effects.push((statement, effect));
                self.record.statement_done(statement, now, now - begin_ns);
            }
            outcome = effect.map(|_| ());
        }
        if recipe.begin && outcome.is_ok() {
            at = None;
            outcome = self.commit.raw_execute().map(|_| ());
            let begin_ns = std::mem::replace(&mut now, now_ns());
            self.control_done(&outcome, 1, now, now - begin_ns);
        }
        let open = !self.connection.is_autocommit();
        if open {
            // a failed statement may or may not have ended the transaction
            self.limit_ns.store(u64::MAX, Ordering::Relaxed);
            let _ = self.rollback.raw_execute();
        }
        if recipe.begin {
            now = now_ns();
        }
        let ending = Ending { client: 0, transaction: kind, begin_ns: start_ns, now_ns: now };
        match outcome {
            Ok(()) if open => self.record.failed(ending, None, "step", NOT_ENDED),
            Ok(()) if now - start_ns <= self.deadline_ns => {
                self.record.executed(ending, &mut self.executed, self.effects.drain(..));
                self.record.transaction_done(ending);
            }
            Ok(()) => {
                let cause = "it took longer than workload.deadline_ms";
                self.record.failed(ending, at, "deadline", cause);
            }
            Err(error) => self.record.failed(ending, at, &code_of(&error), &error.to_string()),
        }
        self.effects.clear();
        now
    }

    /// number: 0 for `begin`, 1 for `commit`.
    fn control_done(&mut self, outcome: &rusqlite::Result<()>, number: usize, now: u64, took_ns: u64) {
        if let (Some(begin), Ok(())) = (self.work.control, outcome) {
            self.record.statement_done(begin + number, now, took_ns);
        }
    }
}

/// What a connection counts: https://www.sqlite.org/c3ref/c_dbstatus_options.html
const STATUS: [(&str, i32); 6] = [
    ("cache_hits", ffi::SQLITE_DBSTATUS_CACHE_HIT),
    ("cache_misses", ffi::SQLITE_DBSTATUS_CACHE_MISS),
    ("cache_writes", ffi::SQLITE_DBSTATUS_CACHE_WRITE),
    ("cache_used_bytes", ffi::SQLITE_DBSTATUS_CACHE_USED),
    ("schema_used_bytes", ffi::SQLITE_DBSTATUS_SCHEMA_USED),
    ("statements_used_bytes", ffi::SQLITE_DBSTATUS_STMT_USED),
];

/// Facts of the connection, since it was opened.
fn status(connection: &Connection) -> Vec<(String, i64)> {
    let read = |(name, kind): &(&str, i32)| {
        let (mut current, mut highest) = (0, 0);
        // SAFETY: the handle is that of an open connection, and both numbers are valid for writes.
        unsafe { ffi::sqlite3_db_status(connection.handle(), *kind, &mut current, &mut highest, 0) };
        ((*name).to_string(), i64::from(current))
    };
    STATUS.iter().map(read).collect()
}
