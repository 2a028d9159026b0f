//! The thread that drains the rings, in the order of time over all CPUs.

use std::io;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use steelyard_engine::clock::now_ns;
use steelyard_engine::pinning::pin;

use crate::error::SourceError;
use crate::perf::event::{Event, Kind, online_cpus};
use crate::perf::record::{Record, parse};
use crate::perf::ring::Ring;
use crate::result::Outcome;
use crate::router::Router;
use crate::sources::source::Window;

/// The rings are read at least so often, sooner when one fills.
const PERIOD: Duration = Duration::from_millis(100);
/// A record may reach its ring so much later than its time.
const SLACK_NS: u64 = 1_000_000;

/// The event of a CPU that owns its ring.
#[derive(Clone)]
pub struct Head {
    pub cpu: u32,
    pub event: Arc<Event>,
}

/// A ring and the event that owns it.
pub struct CpuRing {
    pub head: Head,
    ring: Ring,
}

/// A ring on each CPU, into which the kernel writes records about processes from now on.
pub fn open_rings() -> Result<Vec<CpuRing>, SourceError> {
    online_cpus()
        .into_iter()
        .map(|cpu| {
            let event = Event::open(Kind::Processes, cpu)?;
            let ring = Ring::map(&event, cpu)?;
            Ok(CpuRing { head: Head { cpu, event: Arc::new(event) }, ring })
        })
        .collect()
}

/// The rings, and the router that gets their records.
pub struct Drain {
    rings: Vec<CpuRing>,
    router: Router,
    /// Records read, not yet old enough for all earlier ones to have been read too.
    pending: Vec<Record>,
    inbox: Receiver<Window>,
}

impl Drain {
    /// Starts the thread, which ends when the sender of windows is dropped.
    pub fn start(
        rings: Vec<CpuRing>,
        cpus: Vec<usize>,
        inbox: Receiver<Window>,
        router: impl FnOnce() -> Router + Send + 'static,
    ) -> io::Result<JoinHandle<Outcome>> {
        thread::Builder::new().name("probes".into()).spawn(move || {
            if !cpus.is_empty() {
                // where it may not be pinned it runs where it is put
                let _ = pin(&cpus);
            }
            Drain { rings, router: router(), pending: Vec::new(), inbox }.run()
        })
    }

    fn run(mut self) -> Outcome {
        let mut buffer = Vec::new();
        loop {
            let horizon_ns = now_ns().saturating_sub(SLACK_NS);
            for cpu in &mut self.rings {
                cpu.ring.drain(&mut buffer, |bytes| self.pending.extend(parse(bytes)));
            }
            // after the records: a window is sent before its first record
            let over = loop {
                match self.inbox.try_recv() {
                    Ok(window) => self.router.open(window),
                    Err(TryRecvError::Empty) => break false,
                    Err(TryRecvError::Disconnected) => break true,
                }
            };
            self.route(if over { u64::MAX } else { horizon_ns });
            if over {
                return self.router.outcome();
            }
            self.wait();
        }
    }

    /// Routes the records before the horizon, in the order of time.
    fn route(&mut self, horizon_ns: u64) {
        // stable: records of one ring are in order already
        self.pending.sort_by_key(|record| record.time_ns);
        let ripe = self.pending.partition_point(|record| record.time_ns < horizon_ns);
        for record in self.pending.drain(..ripe) {
            self.router.take(record);
        }
    }

    /// Waits until a ring fills or the period is over.
    fn wait(&mut self) {
        let mut polled: Vec<libc::pollfd> = self
            .rings
            .iter()
            .map(|ring| libc::pollfd { fd: ring.head.event.as_raw_fd(), events: libc::POLLIN, revents: 0 })
            .collect();
        // SAFETY: polled holds as many pollfd as its length says, and lives until the call returns.
        unsafe { libc::poll(polled.as_mut_ptr(), polled.len() as _, PERIOD.as_millis() as i32) };
    }
}
