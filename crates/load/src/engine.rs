//! One run: connections, phases, threads; events while it goes on, and the result.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::client::Client;
use crate::error::LoadError;
use crate::event_loop::{self, Live, Seat};
use crate::plan::Arrival;
use crate::poll::now_ns;
use crate::record::{Record, Window};
use crate::result::{Outcome, Phase, Told};
use crate::session::{Session, farewell};
use crate::transport::Transport;
use crate::work::Work;

mod rounds;

const STEP: Duration = Duration::from_millis(50);
/// How long a session may take over a question of `inspect`.
const INSPECT: Duration = Duration::from_secs(5);
/// Threads get this long to begin before the point's clock starts.
const LEAD_NS: u64 = 5_000_000;

/// Who listens to a run. Either answer `false` stops it.
pub trait Listener {
    /// A line of JSON: a phase begins, or a second has passed.
    fn event(&mut self, line: &str) -> bool;
    /// Asked several times a second.
    fn go_on(&mut self) -> bool;
}

struct Run<'a> {
    work: &'a Work,
    listener: &'a mut dyn Listener,
    outcome: Outcome,
    /// Transactions and errors of the points before.
    earlier: (u64, u64),
}

/// Runs the plan; the result as JSON (see the documentation of `load_run` in Python).
pub fn run(work: &Work, listener: &mut dyn Listener) -> Result<String, LoadError> {
    let mut run = Run { work, listener, outcome: Outcome::default(), earlier: (0, 0) };
    let mut clients: Vec<Client> = Vec::new();
    for (point, count) in work.plan.points.iter().copied().enumerate() {
        run.connect(point, count, &mut clients)?;
        let (back, records) = run.point(point, clients)?;
        clients = back;
        run.outcome.records.push(records);
    }
    let last = work.plan.points.len() - 1;
    run.cool_down(last, &mut clients)?;
    let begin_ns = run.begin("disconnect", last, clients.len())?;
    for client in &mut clients {
        if let Some(transport) = &mut client.transport {
            // the server closes the connection either way
            let _ = transport.write_all(farewell(work.plan.server.protocol));
        }
    }
    run.ended("disconnect", last, clients.len(), begin_ns, now_ns());
    drop(clients);
    Ok(run.outcome.to_json(&work.plan).to_string())
}

impl Run<'_> {
    fn begin(&mut self, phase: &str, point: usize, clients: usize) -> Result<u64, LoadError> {
        let t_ns = now_ns();
        let line =
            json!({"event": "phase", "phase": phase, "point": point, "clients": clients, "t_ns": t_ns});
        if self.listener.event(&line.to_string()) { Ok(t_ns) } else { Err(LoadError::Stopped) }
    }

    fn ended(&mut self, name: &'static str, point: usize, clients: usize, start_ns: u64, end_ns: u64) {
        self.outcome.phases.push(Phase { point, clients, name, start_ns, end_ns });
    }

    fn connect(&mut self, point: usize, count: usize, clients: &mut Vec<Client>) -> Result<(), LoadError> {
        let begin_ns = self.begin("connect", point, count)?;
        let limit = Instant::now() + Duration::from_secs_f64(self.work.plan.connect_s);
        for mut client in clients.drain(count.min(clients.len())..) {
            if let Some(transport) = &mut client.transport {
                let _ = transport.write_all(farewell(self.work.plan.server.protocol));
            }
        }
        while clients.len() < count {
            let left = limit.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
            let start_ns = now_ns();
            let session = match Session::open(&self.work.plan.server, &self.work.plan.session, left) {
                Ok(session) => session,
                // a ramp that meets the server's limit goes on with the clients that it has
                Err(error) if error.is_full() && !clients.is_empty() => {
                    let text = format!("point {point}: {} of {count} clients: {error}", clients.len());
                    self.outcome.notices.push(("connections-refused", text));
                    break;
                }
                Err(error) => return Err(error),
            };
            self.outcome.connect_ns += now_ns() - start_ns;
            self.outcome.connections += 1;
            clients.push(Client::new(clients.len(), self.work, session.into_transport()));
            self.go_on()?;
        }
        self.ended("connect", point, clients.len(), begin_ns, now_ns());
        Ok(())
    }

    fn point(&mut self, point: usize, clients: Vec<Client>) -> Result<(Vec<Client>, Vec<Record>), LoadError> {
        let plan = &self.work.plan;
        if matches!(plan.arrival, Arrival::Rounds) {
            return self.rounds(point, clients);
        }
        let count = clients.len();
        let start_ns = now_ns() + LEAD_NS;
        let measure_ns = start_ns + (plan.warm_up_s * 1e9) as u64;
        let end_ns = measure_ns + (plan.measure_s * 1e9) as u64;
        let window = Window { start_ns, measure_ns, last_begin_ns: end_ns, end_ns };
        let loaded = self.load(point, clients, window)?;
        if plan.warm_up_s > 0.0 {
            self.ended("warm-up", point, count, start_ns, measure_ns);
        }
        self.ended("measure", point, count, measure_ns, end_ns);
        Ok(loaded)
    }

    /// Drives the clients through a window, in threads.
    fn load(
        &mut self,
        point: usize,
        clients: Vec<Client>,
        window: Window,
    ) -> Result<(Vec<Client>, Vec<Record>), LoadError> {
        let count = clients.len();
        let threads = self.work.plan.threads.min(count);
        let mut seats: Vec<Vec<Client>> = (0..threads).map(|_| Vec::new()).collect();
        for (index, client) in clients.into_iter().enumerate() {
            seats[index % threads].push(client);
        }
        let stop = AtomicBool::new(false);
        let live: Vec<Live> = (0..threads).map(|_| Live::default()).collect();
        let work = self.work;
        let (outcomes, told) = std::thread::scope(|scope| {
            let mut handles = Vec::new();
            for ((thread, clients), live) in seats.into_iter().enumerate().zip(&live) {
                let stop = &stop;
                let body = move || {
                    let seat = Seat { thread, threads, live, stop };
                    let outcome = event_loop::run(work, clients, window, &seat);
                    if outcome.is_err() {
                        stop.store(true, Ordering::Relaxed);
                    }
                    outcome
                };
                let handle =
                    std::thread::Builder::new().name(format!("load-{thread}")).spawn_scoped(scope, body);
                if handle.is_err() {
                    stop.store(true, Ordering::Relaxed);
                }
                handles.push(handle);
            }
            let told = self.attend(point, count, window, &live, &stop);
            if told.is_err() {
                stop.store(true, Ordering::Relaxed);
            }
            let outcomes: Vec<_> = handles
                .into_iter()
                .map(|handle| match handle {
                    Ok(handle) => handle
                        .join()
                        .unwrap_or_else(|_| Err(std::io::Error::other("a load thread panicked").into())),
                    Err(error) => Err(error.into()),
                })
                .collect();
            (outcomes, told)
        });
        let mut back = Vec::with_capacity(count);
        let mut records = Vec::with_capacity(threads);
        for outcome in outcomes {
            let (clients, record) = outcome?;
            back.extend(clients);
            self.earlier.0 += record.total.done;
            self.earlier.1 += record.total.errors;
            records.push(record);
        }
        told?;
        back.sort_by_key(|client| client.number);
        Ok((back, records))
    }

    /// Tells of phases and seconds until the window ends.
    fn attend(
        &mut self,
        point: usize,
        count: usize,
        window: Window,
        live: &[Live],
        stop: &AtomicBool,
    ) -> Result<(), LoadError> {
        let mut phase = "warm-up";
        let mut tick_ns = window.start_ns;
        if window.measure_ns > window.start_ns {
            self.begin(phase, point, count)?;
        }
        loop {
            let now = now_ns();
            if phase == "warm-up" && now >= window.measure_ns {
                phase = "measure";
                self.begin(phase, point, count)?;
            }
            if now >= tick_ns {
                tick_ns += 1_000_000_000;
                let sum = |of: fn(&Live) -> u64| live.iter().map(of).sum::<u64>();
                let line = json!({
                    "event": "tick", "t_ns": now, "point": point, "phase": phase,
                    "transactions": self.earlier.0 + sum(|live| live.done.load(Ordering::Relaxed)),
                    "errors": self.earlier.1 + sum(|live| live.errors.load(Ordering::Relaxed)),
                });
                if !self.listener.event(&line.to_string()) {
                    return Err(LoadError::Stopped);
                }
            }
            let over = live.iter().all(|live| live.over.load(Ordering::Relaxed));
            if over || now >= window.end_ns || stop.load(Ordering::Relaxed) {
                return Ok(());
            }
            self.go_on()?;
            let edge = if phase == "warm-up" { window.measure_ns } else { window.end_ns };
            let wait_ns = edge.min(tick_ns).saturating_sub(now_ns()).min(STEP.as_nanos() as u64);
            std::thread::sleep(Duration::from_nanos(wait_ns));
        }
    }

    /// Connections open, nothing sent but the questions of `inspect`.
    fn cool_down(&mut self, point: usize, clients: &mut [Client]) -> Result<(), LoadError> {
        let begin_ns = self.begin("cool-down", point, clients.len())?;
        for client in clients.iter_mut() {
            if let Some(transport) = client.transport.take() {
                client.transport = self.inspect(client.number, transport);
            }
            self.go_on()?;
        }
        let end_ns = begin_ns + (self.work.plan.cool_down_s * 1e9) as u64;
        loop {
            let left = Duration::from_nanos(end_ns.saturating_sub(now_ns()));
            if left.is_zero() {
                break;
            }
            self.go_on()?;
            std::thread::sleep(left.min(STEP));
        }
        self.ended("cool-down", point, clients.len(), begin_ns, now_ns());
        Ok(())
    }

    /// Asks one client's session; its connection, unless that broke.
    fn inspect(&mut self, client: usize, transport: Transport) -> Option<Transport> {
        transport.set_timeout(Some(INSPECT)).ok()?;
        let mut session = Session::over(transport, self.work.plan.server.protocol);
        for question in &self.work.plan.inspect {
            match session.ask(&question.sql) {
                Ok(answer) => self.outcome.inspect.extend(answer.into_iter().map(|(metric, value)| Told {
                    client,
                    name: question.name.clone(),
                    metric,
                    value,
                })),
                // a server that cannot answer (too old, no right) leaves the answer out
                Err(LoadError::Session { .. }) => {}
                Err(_) => return None,
            }
        }
        Some(session.into_transport())
    }

    fn go_on(&mut self) -> Result<(), LoadError> {
        if self.listener.go_on() { Ok(()) } else { Err(LoadError::Stopped) }
    }
}
