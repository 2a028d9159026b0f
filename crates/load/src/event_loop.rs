//! One thread's clients under load, over one point.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Thread;

use steelyard_engine::clock::now_ns;

use crate::client::Client;
use crate::error::LoadError;
use crate::event_loop::reconnect::Reconnector;
use crate::io::poll::{Poll, no_timer_slack};
use crate::io::uring::{Done, Uring};
use crate::plan::Arrival;
use crate::plan::schedule::OpenSchedule;
use crate::progress::Live;
use crate::protocol::Protocol;
use crate::record::Record;
use crate::statements::work::Work;

mod connections;
mod reconnect;
mod ring;
mod succession;

/// Interval of the checks for deadlines and lost connections.
const CARE_NS: u64 = 50_000_000;
/// What is under way at the end may end, uncounted, within this time.
const DRAIN_NS: u64 = 2_000_000_000;

/// Number of this loop, number of loops, and the stop signal.
pub struct Seat<'a> {
    pub thread: usize,
    pub threads: usize,
    pub live: &'a Live,
    pub stop: &'a AtomicBool,
    /// The thread that waits for the end of the window.
    pub attendant: &'a Thread,
}

struct Loop<'a, P: Protocol> {
    /// In place of `poll`, which is then idle. Before `clients`: dropped first, as the kernel may still
    /// read their messages.
    uring: Option<Uring>,
    work: &'a Work,
    clients: Vec<Client<P>>,
    record: Record,
    poll: Poll,
    done: Vec<Done>,
    buffer: Vec<u8>,
    /// Open loop: the schedule, arrivals that wait for a client, clients that wait for one.
    schedule: Option<OpenSchedule>,
    waiting: VecDeque<u64>,
    idle: VecDeque<usize>,
    /// Closed loop: the times when thinking clients continue.
    thinking: BinaryHeap<Reverse<(u64, usize)>>,
    /// The times when clients continue that pause within a transaction.
    pausing: BinaryHeap<Reverse<(u64, usize)>>,
    /// Clients without a connection, and when to try again; not those the helper is at work on.
    lost: Vec<(u64, usize)>,
    reconnector: Option<Reconnector>,
    /// Clients whose connection we closed, and why it could not be replaced so far.
    closed: BTreeMap<usize, Option<String>>,
    alone_since_ns: Option<u64>,
    last_cause: String,
}

/// Drives the clients through the record's window; returns them with what was counted.
pub fn run<P: Protocol>(
    work: &Work,
    clients: Vec<Client<P>>,
    record: Record,
    seat: &Seat,
) -> Result<(Vec<Client<P>>, Record), LoadError> {
    no_timer_slack();
    let uring = ring::ring(&work.plan, clients.len())?;
    let schedule = match work.plan.arrival {
        Arrival::Open { rate_per_s, spacing } => Some(OpenSchedule::new(
            rate_per_s,
            spacing,
            seat.thread,
            seat.threads,
            work.plan.seed,
            record.window.start_ns,
        )),
        Arrival::Closed { .. } | Arrival::Rounds | Arrival::Replay { .. } => None,
    };
    let mut this = Loop {
        work,
        clients,
        record,
        poll: Poll::new()?,
        uring,
        done: Vec::with_capacity(256),
        buffer: vec![0; 1 << 16],
        schedule,
        waiting: VecDeque::new(),
        idle: VecDeque::new(),
        thinking: BinaryHeap::new(),
        pausing: BinaryHeap::new(),
        lost: Vec::new(),
        reconnector: None,
        closed: BTreeMap::new(),
        alone_since_ns: None,
        last_cause: String::new(),
    };
    this.record.io = if this.uring.is_some() { "io_uring" } else { "epoll" };
    this.drive(seat)?;
    Ok((this.clients, this.record))
}

impl<P: Protocol> Loop<'_, P> {
    fn drive(&mut self, seat: &Seat) -> Result<(), LoadError> {
        self.take_in()?;
        let mut care_ns = self.record.window.start_ns + CARE_NS;
        let mut ready = Vec::with_capacity(256);
        loop {
            let now = now_ns();
            if now >= self.record.window.end_ns || seat.stop.load(Ordering::Relaxed) {
                break;
            }
            if self.rests(now) {
                self.record.window.end_ns = now;
                break;
            }
            self.start_due(now);
            if now >= care_ns {
                care_ns = now + CARE_NS;
                self.care(now)?;
                seat.live.done.store(self.record.total.done, Ordering::Relaxed);
                seat.live.errors.store(self.record.total.errors, Ordering::Relaxed);
            }
            let due = self.next_due().min(self.record.window.end_ns);
            // what is due within two ticks is waited for to the nanosecond; a later tick comes first else
            let soon = due < now + 2 * CARE_NS;
            self.wait(soon.then(|| due.saturating_sub(now_ns())), &mut ready)?;
        }
        seat.live.over.store(true, Ordering::Relaxed);
        seat.attendant.unpark();
        self.take_arrivals(self.record.window.end_ns);
        for intended_ns in self.waiting.drain(..) {
            self.record.never_began(self.record.window.end_ns - intended_ns);
        }
        for cause in self.closed.values().flatten() {
            self.record.lost.one(cause);
        }
        self.drain(seat, &mut ready)?;
        for client in &self.clients {
            if let Some(transport) = &client.transport {
                transport.set_nonblocking(false)?;
            }
        }
        Ok(())
    }

    /// Rounds and replays: nothing is under way, and nothing will begin.
    fn rests(&self, now: u64) -> bool {
        let over = |client: &Client<P>| {
            !client.busy && (client.transport.is_some() || now >= self.record.window.last_begin_ns)
        };
        matches!(self.work.plan.arrival, Arrival::Rounds | Arrival::Replay { .. })
            && self.thinking.is_empty()
            && self.clients.iter().all(over)
    }

    /// Waits for transactions under way; late ones are abandoned.
    fn drain(&mut self, seat: &Seat, ready: &mut Vec<crate::io::poll::Ready>) -> Result<(), LoadError> {
        let limit_ns = now_ns() + DRAIN_NS;
        let deadline_ns = (self.work.plan.deadline_ms * 1e6) as u64;
        loop {
            let now = now_ns();
            let awaited =
                |client: &Client<P>| client.busy && now.saturating_sub(client.sent_ns) <= deadline_ns;
            if now >= limit_ns || seat.stop.load(Ordering::Relaxed) || !self.clients.iter().any(awaited) {
                break;
            }
            self.resume_due(now);
            let due = self.pausing.peek().map(|Reverse((due, _))| due.saturating_sub(now));
            self.wait(due, ready)?;
        }
        for index in 0..self.clients.len() {
            if self.clients[index].busy {
                self.close(index, now_ns(), "still under way after the end of the load");
            }
        }
        Ok(())
    }

    /// Waits until something happens, for at most `timeout_ns` and about [`CARE_NS`].
    fn wait(
        &mut self,
        timeout_ns: Option<u64>,
        ready: &mut Vec<crate::io::poll::Ready>,
    ) -> Result<(), LoadError> {
        if self.uring.is_some() {
            return self.wait_ring(timeout_ns);
        }
        ready.clear();
        self.poll.wait(timeout_ns.unwrap_or(CARE_NS).min(CARE_NS), |event| ready.push(event))?;
        for event in ready.iter() {
            if event.writable {
                self.send(event.token);
            }
            if event.readable {
                self.receive(event.token);
            }
        }
        Ok(())
    }

    /// Starts what is due: arrivals of the open loop, clients after their think time.
    fn start_due(&mut self, now: u64) {
        self.resume_due(now);
        if self.schedule.is_some() {
            self.take_arrivals(now);
            // the client that has been idle for longest: all get the same share
            while !self.waiting.is_empty()
                && let Some(index) = self.idle.pop_front()
            {
                if let Some(intended) = self.waiting.pop_front() {
                    self.begin(index, intended, now_ns());
                }
            }
        }
        while let Some(Reverse((due, index))) = self.thinking.peek().copied() {
            if due > now {
                break;
            }
            self.thinking.pop();
            // a client's first begins even where this thread had to wait for its CPU until then
            if now >= self.record.window.last_begin_ns && due > self.record.window.start_ns {
                continue;
            }
            // the client's own pause set this time: it is late by as much as we are
            self.next(index, now_ns());
        }
    }

    fn take_arrivals(&mut self, now: u64) {
        let Some(schedule) = &mut self.schedule else { return };
        while schedule.peek() <= now && schedule.peek() < self.record.window.end_ns {
            self.waiting.push_back(schedule.take());
        }
    }

    fn next_due(&self) -> u64 {
        let arrival = match &self.schedule {
            Some(schedule) if !self.idle.is_empty() => schedule.peek(),
            _ => u64::MAX,
        };
        let continues = [&self.thinking, &self.pausing].into_iter().filter_map(|due| due.peek());
        continues.map(|Reverse((due, _))| *due).fold(arrival, u64::min)
    }
}
