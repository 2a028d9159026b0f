//! One run over a server's protocol: connections, points, threads, and the result.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::client::Client;
use crate::conduct::{Conductor, Listener, Live};
use crate::error::LoadError;
use crate::event_loop::{self, Seat};
use crate::plan::Arrival;
use crate::poll::now_ns;
use crate::record::{Record, Window};
use crate::result::{Aside, Told};
use crate::session::{Session, farewell};
use crate::transport::Transport;
use crate::work::Work;

mod rounds;

/// How long a session may take over a question of `inspect`.
const INSPECT: Duration = Duration::from_secs(5);
/// Threads get this long to begin before the point's clock starts.
const LEAD_NS: u64 = 5_000_000;
/// The lab gets this long to set breakpoints in all processes of a server.
const PREPARE: Duration = Duration::from_millis(200);

struct Run<'a> {
    work: &'a Work,
    conductor: Conductor<'a>,
}

/// Runs the plan; the result as JSON (see the documentation of `load_run` in Python).
pub fn run(work: &Work, listener: &mut dyn Listener) -> Result<String, LoadError> {
    let mut run = Run { work, conductor: Conductor::new(&work.plan, listener) };
    let mut clients: Vec<Client> = Vec::new();
    for (point, count) in work.plan.points.iter().copied().enumerate() {
        run.connect(point, count, &mut clients)?;
        clients = run.point(point, clients)?;
    }
    let last = work.plan.points.len() - 1;
    run.cool_down(last, &mut clients)?;
    let begin_ns = run.conductor.begin("disconnect", last, clients.len())?;
    for client in &mut clients {
        if let Some(transport) = &mut client.transport {
            // the server closes the connection either way
            let _ = transport.write_all(farewell(work.plan.server.protocol));
        }
    }
    run.conductor.ended("disconnect", last, clients.len(), begin_ns, now_ns());
    drop(clients);
    Ok(run.conductor.outcome.to_json(&work.plan).to_string())
}

impl Run<'_> {
    fn connect(&mut self, point: usize, count: usize, clients: &mut Vec<Client>) -> Result<(), LoadError> {
        let begin_ns = self.conductor.begin("connect", point, count)?;
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
                    self.conductor.outcome.notices.push(("connections-refused", text));
                    break;
                }
                Err(error) => return Err(error),
            };
            self.conductor.outcome.connect_ns += now_ns() - start_ns;
            self.conductor.outcome.connections += 1;
            clients.push(Client::new(clients.len(), self.work, session.into_transport()));
            self.conductor.go_on()?;
        }
        self.conductor.ended("connect", point, clients.len(), begin_ns, now_ns());
        Ok(())
    }

    fn point(&mut self, point: usize, clients: Vec<Client>) -> Result<Vec<Client>, LoadError> {
        let plan = &self.work.plan;
        if matches!(plan.arrival, Arrival::Rounds) {
            return self.rounds(point, clients);
        }
        let count = clients.len();
        let start_ns = now_ns() + LEAD_NS;
        let measure_ns = start_ns + (plan.warm_up_s * 1e9) as u64;
        let end_ns = measure_ns + (plan.measure_s * 1e9) as u64;
        let window = Window { start_ns, measure_ns, last_begin_ns: end_ns, end_ns };
        let (back, records) = self.load(point, clients, window)?;
        let window = Window { end_ns: ended_ns(&records), ..window };
        self.conductor.keep(point, count, window, records);
        let back = self.aside("watch", plan.watch_s, point, back)?;
        if plan.count_s > 0.0 {
            // who counts what all of the load does must be there before its first statement
            self.conductor.begin("count", point, count)?;
            std::thread::sleep(PREPARE);
        }
        self.aside("count", plan.count_s, point, back)
    }

    /// The same load, not measured: what disturbs the server looks at it now.
    fn aside(
        &mut self,
        phase: &'static str,
        seconds: f64,
        point: usize,
        clients: Vec<Client>,
    ) -> Result<Vec<Client>, LoadError> {
        if seconds <= 0.0 {
            return Ok(clients);
        }
        let count = clients.len();
        let start_ns = now_ns() + LEAD_NS;
        let end_ns = start_ns + (seconds * 1e9) as u64;
        let window = Window { start_ns, measure_ns: start_ns, last_begin_ns: end_ns, end_ns };
        self.conductor.loaded = phase;
        let outcome = self.load(point, clients, window);
        self.conductor.loaded = "measure";
        let (back, records) = outcome?;
        self.conductor.ended(phase, point, count, start_ns, ended_ns(&records));
        let transactions = records.iter().map(|record| record.total.done).sum();
        self.conductor.outcome.asides.push(Aside { point, phase, transactions });
        Ok(back)
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
        let (work, attendant) = (self.work, std::thread::current());
        let (outcomes, told) = std::thread::scope(|scope| {
            let mut handles = Vec::new();
            for ((thread, clients), live) in seats.into_iter().enumerate().zip(&live) {
                let (stop, attendant) = (&stop, &attendant);
                let body = move || {
                    let seat = Seat { thread, threads, live, stop, attendant };
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
            let told = self.conductor.attend(point, count, window, &live, &stop);
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
            records.push(record);
        }
        told?;
        back.sort_by_key(|client| client.number);
        Ok((back, records))
    }

    /// Connections open, nothing sent but the questions of `inspect`.
    fn cool_down(&mut self, point: usize, clients: &mut [Client]) -> Result<(), LoadError> {
        let begin_ns = self.conductor.begin("cool-down", point, clients.len())?;
        for client in clients.iter_mut() {
            if let Some(transport) = client.transport.take() {
                client.transport = self.inspect(client.number, transport);
            }
            self.conductor.go_on()?;
        }
        self.conductor.cool_down(point, clients.len(), begin_ns)
    }

    /// Asks one client's session; its connection, unless that broke.
    fn inspect(&mut self, client: usize, transport: Transport) -> Option<Transport> {
        transport.set_timeout(Some(INSPECT)).ok()?;
        let mut session = Session::over(transport, self.work.plan.server.protocol);
        for question in &self.work.plan.inspect {
            match session.ask(&question.sql) {
                Ok(answer) => {
                    self.conductor.outcome.inspect.extend(answer.into_iter().map(|(metric, value)| Told {
                        client,
                        name: question.name.clone(),
                        metric,
                        value,
                    }))
                }
                // a server that cannot answer (too old, no right) leaves the answer out
                Err(LoadError::Session { .. }) => {}
                Err(_) => return None,
            }
        }
        Some(session.into_transport())
    }
}

/// When the last of the loops came to its end: before the window's where work ends the load.
fn ended_ns(records: &[Record]) -> u64 {
    records.iter().map(|record| record.window.end_ns).max().unwrap_or_default()
}
