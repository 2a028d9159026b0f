//! One run over a server's protocol: connections, points, threads, and the result.

use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::ScopedJoinHandle;
use std::time::Duration;

use steelyard_engine::listener::Listener;

use crate::client::Client;
use crate::error::LoadError;
use crate::event_loop::{self, Seat};
use crate::plan::Arrival;
use crate::plan::transaction::Transaction;
use crate::progress::{Live, Progress};
use crate::protocol::Protocol;
use crate::record::result::Aside;
use crate::record::{Record, Window};
use crate::statements::work::Work;

mod priming;
mod rounds;
mod sessions;
mod trial;
mod turns;

pub use trial::trial;

/// Threads get this long to begin before the point's clock starts.
const LEAD_NS: u64 = 5_000_000;
/// The lab gets this long to set breakpoints in all processes of a server.
const PREPARE: Duration = Duration::from_millis(200);

struct Run<'a, P: Protocol> {
    work: &'a Work,
    progress: Progress<'a>,
    protocol: PhantomData<P>,
}

/// Runs the plan; the result as JSON (see the documentation of `load_run` in Python).
pub fn run<P: Protocol>(work: &Work, listener: &mut dyn Listener) -> Result<String, LoadError> {
    let mut run = Run { work, progress: Progress::new(&work.plan, listener), protocol: PhantomData::<P> };
    let mut clients: Vec<Client<P>> = Vec::new();
    for (point, count) in work.plan.points.iter().copied().enumerate() {
        let count = work.plan.own().clients(count);
        if work.plan.turns {
            clients = run.turns(point, count, clients)?;
            continue;
        }
        let known = clients.len().min(count);
        run.connect(point, count, &mut clients)?;
        run.prime(&mut clients[known..])?;
        clients = run.point(point, clients)?;
    }
    let last = work.plan.points.len() - 1;
    run.cool_down(last, &mut clients)?;
    run.disconnect(last, clients)?;
    run.progress.outcome.numbered = work.counted();
    Ok(run.progress.outcome.to_json(&work.plan).to_string())
}

impl<P: Protocol> Run<'_, P> {
    fn point(&mut self, point: usize, clients: Vec<Client<P>>) -> Result<Vec<Client<P>>, LoadError> {
        let plan = &self.work.plan;
        if matches!(plan.arrival, Arrival::Rounds) {
            return self.rounds(point, clients);
        }
        let count = clients.len();
        if let Some(capture) = &self.work.capture {
            capture.rewind();
        }
        let start_ns = self.progress.start_ns(point, LEAD_NS)?;
        let measure_ns = start_ns + (plan.warm_up_s * 1e9) as u64;
        let end_ns = measure_ns + (plan.measure_s * 1e9) as u64;
        let window = Window { start_ns, measure_ns, last_begin_ns: end_ns, end_ns };
        let (back, mut records) = self.load(point, clients, window, Vec::new())?;
        let window = Window { end_ns: ended_ns(&records), ..window };
        if let Some(capture) = &self.work.capture {
            // threads come to the capture's end one after another
            records.iter_mut().for_each(|record| record.end_at(window.end_ns));
            let answered = records.iter().map(|record| record.total.done + record.total.errors).sum();
            self.progress.outcome.notices.extend(capture.notices(answered));
        }
        self.progress.keep(point, count, window, records);
        let back = self.aside("scheduling-trace", plan.scheduling_trace_s, point, back)?;
        if plan.latch_count_s > 0.0 {
            // counters of the whole load must run before its first statement
            self.progress.begin("latch-count", point, count)?;
            std::thread::sleep(PREPARE);
        }
        self.aside("latch-count", plan.latch_count_s, point, back)
    }

    /// The same load, not measured: for probes that disturb the server.
    fn aside(
        &mut self,
        phase: &'static str,
        seconds: f64,
        point: usize,
        clients: Vec<Client<P>>,
    ) -> Result<Vec<Client<P>>, LoadError> {
        if seconds <= 0.0 {
            return Ok(clients);
        }
        let count = clients.len();
        let start_ns = self.progress.start_ns(point, LEAD_NS)?;
        let end_ns = start_ns + (seconds * 1e9) as u64;
        let window = Window { start_ns, measure_ns: start_ns, last_begin_ns: end_ns, end_ns };
        self.progress.loaded = phase;
        let outcome = self.load(point, clients, window, Vec::new());
        self.progress.loaded = "measure";
        let (back, records) = outcome?;
        self.progress.ended(phase, point, count, start_ns, ended_ns(&records));
        let transactions = records.iter().map(|record| record.total.done).sum();
        self.progress.outcome.asides.push(Aside { point, phase, transactions });
        Ok(back)
    }

    /// One record per thread; in turns those of the earlier turns.
    fn records(&self, seats: &[Vec<Client<P>>], window: Window, earlier: Vec<Record>) -> Vec<Record> {
        let plan = &self.work.plan;
        let begins = if plan.turns { Window::empty(window.start_ns) } else { window };
        let anew = |clients: &Vec<Client<P>>| {
            Record::new(
                begins,
                plan.transactions_max,
                plan.timed().len() - 1,
                &plan.timed_kinds(),
                clients.iter().map(|client| client.number),
            )
            .with_background(plan.transactions.iter().map(Transaction::is_background))
        };
        let mut records = if earlier.is_empty() { seats.iter().map(anew).collect() } else { earlier };
        if plan.turns {
            records.iter_mut().for_each(|record| record.next_turn(window));
        }
        records
    }

    /// Drives the clients through a window, in threads. earlier: records of earlier turns, which it continues.
    fn load(
        &mut self,
        point: usize,
        clients: Vec<Client<P>>,
        window: Window,
        earlier: Vec<Record>,
    ) -> Result<(Vec<Client<P>>, Vec<Record>), LoadError> {
        let count = clients.len();
        let threads = self.work.plan.threads.min(count);
        let mut seats: Vec<Vec<Client<P>>> = (0..threads).map(|_| Vec::new()).collect();
        for (index, client) in clients.into_iter().enumerate() {
            seats[index % threads].push(client);
        }
        let records = self.records(&seats, window, earlier);
        let stop = AtomicBool::new(false);
        let live: Vec<Live> = (0..threads).map(|_| Live::default()).collect();
        let (work, attendant) = (self.work, std::thread::current());
        let (outcomes, attended) = std::thread::scope(|scope| {
            let mut handles = Vec::new();
            for ((thread, (clients, record)), live) in seats.into_iter().zip(records).enumerate().zip(&live) {
                let (stop, attendant) = (&stop, &attendant);
                let (number, of) = work.plan.own().thread(thread, work.plan.threads, work.plan.points[point]);
                let body = move || {
                    let seat = Seat { thread: number, threads: of, live, stop, attendant };
                    let outcome = event_loop::run(work, clients, record, &seat);
                    if outcome.is_err() {
                        stop.store(true, Ordering::Relaxed);
                    }
                    live.ended.store(true, Ordering::Release);
                    attendant.unpark();
                    outcome
                };
                let handle =
                    std::thread::Builder::new().name(format!("load-{thread}")).spawn_scoped(scope, body);
                if handle.is_err() {
                    stop.store(true, Ordering::Relaxed);
                }
                handles.push(handle);
            }
            let ended = || {
                let over = |live: &Live| live.ended.load(Ordering::Acquire);
                handles.iter().zip(&live).all(|(handle, live)| {
                    over(live) || handle.as_ref().map_or(true, ScopedJoinHandle::is_finished)
                })
            };
            let attended = self.progress.attend(point, count, window, &live, &stop);
            let attended = attended.and_then(|()| self.progress.await_end(ended));
            if attended.is_err() {
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
            (outcomes, attended)
        });
        let mut back = Vec::with_capacity(count);
        let mut records = Vec::with_capacity(threads);
        for outcome in outcomes {
            let (clients, mut record) = outcome?;
            self.progress.outcome.lost.add(&mut record.lost);
            back.extend(clients);
            records.push(record);
        }
        attended?;
        back.sort_by_key(|client| client.number);
        Ok((back, records))
    }
}

/// When the last of the loops came to its end: before the window's where work ends the load.
fn ended_ns(records: &[Record]) -> u64 {
    records.iter().map(|record| record.window.end_ns).max().unwrap_or_default()
}
