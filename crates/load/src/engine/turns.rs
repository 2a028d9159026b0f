//! A load point in turns: the caller says when this engine loads its server, while the engines of the other
//! options rest.
//!
//! Before the first turn and between turns nothing is under way: no request, no timer, no open transaction.

use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::json;
use steelyard_engine::clock::now_ns;

use super::Run;
use super::sessions::leave;
use crate::client::Client;
use crate::error::LoadError;
use crate::progress::in_time;
use crate::protocol::{Protocol, Session};
use crate::record::{Record, Window};

/// Threads get this long to begin before a turn's clock starts: it is time in which no option is measured.
const TURN_LEAD_NS: u64 = 1_000_000;
/// All sessions together get this long to answer the statement at the end of a turn.
const TURN_END: Duration = Duration::from_secs(10);

/// One line of the caller.
#[derive(Debug, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case", deny_unknown_fields)]
enum Command {
    /// New connections for all clients, in place of those that they have.
    Connect,
    /// Load of this length; what begins within `settle_ms` counts nowhere.
    /// at_ns: when it begins, of an engine among several; default: now. again: in place of the turn before,
    /// which began too late for one of them and counts nowhere.
    Turn {
        settle_ms: f64,
        measure_ms: f64,
        at_ns: Option<u64>,
        #[serde(default)]
        again: bool,
    },
    /// The load point is over.
    Next,
}

impl Command {
    fn parse(line: &str) -> Result<Self, LoadError> {
        let refused = |cause: String| std::io::Error::other(format!("the command `{line}`: {cause}"));
        let command = serde_json::from_str(line).map_err(|error| refused(error.to_string()))?;
        if let Self::Turn { settle_ms, measure_ms, .. } = command
            && !(settle_ms >= 0.0 && measure_ms >= 0.0 && settle_ms + measure_ms > 0.0)
        {
            return Err(refused("not a length of time".into()).into());
        }
        Ok(command)
    }
}

impl<P: Protocol> Run<'_, P> {
    /// One load point, by the caller's commands.
    pub(super) fn turns(
        &mut self,
        point: usize,
        count: usize,
        mut clients: Vec<Client<P>>,
    ) -> Result<Vec<Client<P>>, LoadError> {
        let (mut records, mut before) = (Vec::<Record>::new(), Vec::<Record>::new());
        let (mut start_ns, mut measure_ns) = (None, None);
        loop {
            let line = self.progress.command()?;
            match Command::parse(&line)? {
                Command::Connect => clients = self.renew(point, count, clients)?,
                Command::Turn { settle_ms, measure_ms, at_ns, again } => {
                    if again {
                        records.clone_from(&before);
                    } else if at_ns.is_some() {
                        before.clone_from(&records);
                    }
                    let begin_ns = match at_ns.map_or_else(|| Ok(now_ns() + TURN_LEAD_NS), in_time) {
                        Err(LoadError::Late { late_ms }) => {
                            self.late(point, late_ms)?;
                            continue;
                        }
                        begin_ns => begin_ns?,
                    };
                    let window = window(begin_ns, settle_ms, measure_ms);
                    start_ns.get_or_insert(window.start_ns);
                    if measure_ms > 0.0 {
                        measure_ns.get_or_insert(window.measure_ns);
                    }
                    (clients, records) = self.turn(point, clients, window, records)?;
                }
                Command::Next => break,
            }
        }
        let measured_ns = records.first().map_or(0, Record::measured_ns);
        let now = now_ns();
        let (start_ns, measure_ns) = (start_ns.unwrap_or(now), measure_ns.unwrap_or(now));
        let end_ns = measure_ns + measured_ns;
        self.progress.keep(
            point,
            clients.len(),
            Window { start_ns, measure_ns, last_begin_ns: end_ns, end_ns },
            records,
        );
        Ok(clients)
    }

    /// The engines of other hosts have begun: the caller repeats the turn.
    fn late(&mut self, point: usize, late_ms: f64) -> Result<(), LoadError> {
        let now = now_ns();
        self.progress.report(now, &json!({"event": "late", "point": point, "late_ms": late_ms, "t_ns": now}))
    }

    /// Connections of new sessions; the clients go on with their values.
    fn renew(
        &mut self,
        point: usize,
        count: usize,
        mut before: Vec<Client<P>>,
    ) -> Result<Vec<Client<P>>, LoadError> {
        let phases = self.progress.outcome.phases.len();
        let again = before.len() == count;
        before.iter_mut().for_each(leave);
        let mut clients = Vec::with_capacity(count);
        self.connect(point, count, &mut clients)?;
        if again {
            // of one load point one phase is kept, and what was counted by client so far needs all of them
            self.progress.outcome.phases.truncate(phases);
        }
        let primed_ms = self.prime(&mut clients)?;
        for (client, earlier) in clients.iter_mut().zip(before) {
            client.continue_from(earlier);
        }
        let now = now_ns();
        let event = json!({"event": "connected", "point": point, "primed_ms": primed_ms, "t_ns": now});
        self.progress.report(now, &event)?;
        Ok(clients)
    }

    /// Loads the server once, until nothing is under way, and reports what was done.
    fn turn(
        &mut self,
        point: usize,
        clients: Vec<Client<P>>,
        window: Window,
        earlier: Vec<Record>,
    ) -> Result<(Vec<Client<P>>, Vec<Record>), LoadError> {
        let before = Counts::of(&earlier);
        let (mut clients, records) = self.load(point, clients, window, earlier)?;
        self.end_turn(&mut clients)?;
        let after = Counts::of(&records);
        let parts = records.first().map_or(0, |record| record.profile.parts.len());
        let profile: Vec<u64> =
            (0..parts).map(|part| records.iter().map(|record| record.profile.parts[part]).sum()).collect();
        let sum_ms: f64 = records.iter().map(|record| record.profile.sum_ms).sum();
        let squares_ms2: f64 = records.iter().map(|record| record.profile.squares_ms2).sum();
        let now = now_ns();
        let event = json!({
            "event": "turn", "point": point, "start_ns": window.start_ns, "measure_ns": window.measure_ns,
            "end_ns": window.end_ns, "t_ns": now, "transactions": after.measured - before.measured,
            "first_half": after.first_half - before.first_half, "all": after.all - before.all,
            "profile": profile, "sum_ms": sum_ms, "squares_ms2": squares_ms2,
            "lost": self.progress.outcome.lost.count, "lost_cause": self.progress.outcome.lost.last_cause,
        });
        self.progress.report(now, &event)?;
        Ok((clients, records))
    }

    /// Lets each session say what it keeps to itself: the counts of a turn are then the server's at its end.
    fn end_turn(&self, clients: &mut [Client<P>]) -> Result<(), LoadError> {
        let (sql, most) = (&self.work.plan.turn_end, self.work.plan.message_bytes_max());
        if sql.is_empty() {
            return Ok(());
        }
        let limit = Instant::now() + TURN_END;
        for client in clients {
            let Some(transport) = client.transport.take() else { continue };
            let mut session = P::Session::over(transport, most);
            session.transport().set_limit(Some(limit))?;
            session.query(sql)?;
            client.transport = Some(session.release()?);
        }
        Ok(())
    }
}

/// Counts of all threads so far.
#[derive(Default)]
struct Counts {
    measured: u64,
    first_half: u64,
    all: u64,
}

impl Counts {
    fn of(records: &[Record]) -> Self {
        records.iter().fold(Self::default(), |sum, record| Self {
            measured: sum.measured + record.measured(),
            first_half: sum.first_half + record.first_half,
            all: sum.all + record.total.done,
        })
    }
}

fn window(start_ns: u64, settle_ms: f64, measure_ms: f64) -> Window {
    let measure_ns = start_ns + (settle_ms * 1e6) as u64;
    let end_ns = measure_ns + (measure_ms * 1e6) as u64;
    Window { start_ns, measure_ns, last_begin_ns: end_ns, end_ns }
}
