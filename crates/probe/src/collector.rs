//! Opens the sources that can be had; one thread drains the rings, in the order of time over all CPUs.
//!
//! Nothing but news of processes is recorded outside the windows that the caller opens.

use std::collections::HashMap;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender, TryRecvError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::error::SourceError;
use crate::event::{Event, Kind, online_cpus};
use crate::kallsyms::Kallsyms;
use crate::keeper::Keeper;
use crate::plan::Plan;
use crate::processes::Processes;
use crate::record::{Record, parse};
use crate::result::Told;
use crate::ring::Ring;
use crate::sources::{Purpose, Reader, Source, Window, asked};

/// The rings are read so often at least; sooner when one fills.
const TURN: Duration = Duration::from_millis(100);
/// A record may reach its ring so much later than its time says.
const SLACK_NS: u64 = 1_000_000;

/// The probes at work. Dropped, they end without a result.
pub struct Collector {
    windows: Option<Sender<Window>>,
    thread: Option<JoinHandle<Told>>,
    events: Vec<(Purpose, Event)>,
    heads: Vec<Head>,
    /// After the events, which keep the kernel from taking a source's own probes away.
    sources: Vec<Source>,
    /// Sources that cannot be had, by name, with the reason.
    pub refused: Vec<(&'static str, String)>,
}

impl Collector {
    /// Opens what the plan asks for, on all CPUs. What is refused is told, and the rest goes on.
    pub fn start(plan: &Plan) -> Collector {
        let mut told = Collector {
            windows: None,
            thread: None,
            events: Vec::new(),
            heads: Vec::new(),
            sources: Vec::new(),
            refused: Vec::new(),
        };
        let (sources, refused): (Vec<_>, Vec<_>) = asked(plan)
            .into_iter()
            .map(|(name, found)| found.map_err(|error| (name, error)))
            .partition(Result::is_ok);
        told.refused = refused
            .into_iter()
            .filter_map(Result::err)
            .map(|(name, error)| (name, error.to_string()))
            .collect();
        let kernel = (plan.profile_hz > 0 || plan.locks).then(Kallsyms::read);
        if let Some(Err(error)) = &kernel {
            told.refused.push(("kernel symbols", error.to_string()));
        }
        let mut sources: Vec<_> = sources.into_iter().filter_map(Result::ok).collect();
        if sources.is_empty() {
            return told;
        }
        let rings = match open_rings() {
            Ok(rings) => rings,
            Err(error) => {
                told.refused.extend(sources.iter().map(|source| (source.name, error.to_string())));
                return told;
            }
        };
        told.heads = rings.iter().map(|ring| ring.head.clone()).collect();
        sources.retain(|source| {
            match opened(source, &told.heads) {
                Ok(events) => told.events.extend(events),
                Err(error) => {
                    told.refused.push((source.name, error.to_string()));
                    return false;
                }
            }
            true
        });
        if sources.is_empty() {
            return told;
        }
        told.close_what_costs();
        let (windows, inbox) = mpsc::channel();
        let (roots, cpus) = (plan.roots.clone(), plan.cpus.clone());
        let readers: HashMap<u16, Reader> = sources
            .iter()
            .flat_map(|source| &source.readings)
            .map(|reading| (reading.id, reading.reader.clone()))
            .collect();
        told.sources = sources;
        let body = move || {
            pin(&cpus);
            // the rings are open: what is born from here on is told by them
            let keeper = Keeper::new(Processes::running(&roots), kernel.and_then(Result::ok), readers);
            Drain { rings, keeper, pending: Vec::new(), inbox }.run()
        };
        match thread::Builder::new().name("probes".into()).spawn(body) {
            Ok(thread) => (told.windows, told.thread) = (Some(windows), Some(thread)),
            Err(error) => told.refused.push(("probes", error.to_string())),
        }
        told
    }

    /// Begins to record what has this purpose.
    pub fn open(&mut self, window: Window) {
        if let Some(windows) = &self.windows {
            // before its first record; a thread that has gone is told of by finish
            let _ = windows.send(window);
        }
        if window.purpose == Purpose::Count {
            for source in self.sources.iter().filter(|source| source.purpose == Purpose::Count) {
                match opened(source, &self.heads) {
                    Ok(events) => self.events.extend(events),
                    Err(error) => {
                        let refusal = (source.name, error.to_string());
                        // of one point after another it is the same
                        if !self.refused.contains(&refusal) {
                            self.refused.push(refusal);
                        }
                    }
                }
            }
        }
        for (purpose, event) in &self.events {
            if *purpose == window.purpose {
                // fails only for a CPU that was taken away
                let _ = event.enable();
            }
        }
    }

    /// Records no more.
    pub fn close(&mut self) {
        for (_, event) in &self.events {
            let _ = event.disable();
        }
        self.close_what_costs();
    }

    fn close_what_costs(&mut self) {
        self.events.retain(|(purpose, _)| *purpose != Purpose::Count);
    }

    /// Ends; what was recorded, with names looked up. None when no source could be had.
    pub fn finish(&mut self) -> Option<Told> {
        self.close();
        self.windows = None;
        let told = self.thread.take().and_then(|thread| thread.join().ok());
        self.events.clear();
        self.sources.clear();
        self.heads.clear();
        told
    }
}

/// The event of a CPU that has its ring.
#[derive(Clone)]
struct Head {
    cpu: u32,
    news: Arc<Event>,
}

struct CpuRing {
    head: Head,
    ring: Ring,
}

/// A source's events on all CPUs, none enabled.
fn opened(source: &Source, heads: &[Head]) -> Result<Vec<(Purpose, Event)>, SourceError> {
    let on = |head: &Head, kind| Ok((source.purpose, Event::beside(kind, head.cpu, &head.news)?));
    heads.iter().flat_map(|head| source.kinds().map(move |kind| on(head, kind))).collect()
}

fn open_rings() -> Result<Vec<CpuRing>, SourceError> {
    online_cpus()
        .into_iter()
        .map(|cpu| {
            let news = Event::open(Kind::Processes, cpu)?;
            let ring = Ring::map(&news, cpu)?;
            Ok(CpuRing { head: Head { cpu, news: Arc::new(news) }, ring })
        })
        .collect()
}

fn pin(cpus: &[usize]) {
    if cpus.is_empty() {
        return;
    }
    // SAFETY: a cpu_set_t of zeros is the empty set; CPU_SET bounds-checks its index.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        for cpu in cpus {
            libc::CPU_SET(*cpu, &mut set);
        }
        // where it may not be pinned it runs where it is put
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set);
    }
}

struct Drain {
    rings: Vec<CpuRing>,
    keeper: Keeper,
    /// Records read, not yet old enough for all earlier ones to have been read too.
    pending: Vec<Record>,
    inbox: Receiver<Window>,
}

impl Drain {
    fn run(mut self) -> Told {
        let mut buffer = Vec::new();
        loop {
            let horizon_ns = now_ns().saturating_sub(SLACK_NS);
            for cpu in &mut self.rings {
                cpu.ring.drain(&mut buffer, |bytes| self.pending.extend(parse(bytes)));
            }
            // after the records: whoever opens a window tells of it first
            let over = loop {
                match self.inbox.try_recv() {
                    Ok(window) => self.keeper.open(window),
                    Err(TryRecvError::Empty) => break false,
                    Err(TryRecvError::Disconnected) => break true,
                }
            };
            self.hand_on(if over { u64::MAX } else { horizon_ns });
            if over {
                return self.keeper.told();
            }
            self.wait();
        }
    }

    /// Hands on what is older, in the order of time.
    fn hand_on(&mut self, horizon_ns: u64) {
        // stable: records of one ring are in order already
        self.pending.sort_by_key(|record| record.time_ns);
        let ripe = self.pending.partition_point(|record| record.time_ns < horizon_ns);
        for record in self.pending.drain(..ripe) {
            self.keeper.take(record);
        }
    }

    /// Until a ring fills, or the turn is over.
    fn wait(&mut self) {
        let mut polled: Vec<libc::pollfd> = self
            .rings
            .iter()
            .map(|ring| libc::pollfd { fd: ring.head.news.as_raw_fd(), events: libc::POLLIN, revents: 0 })
            .collect();
        // SAFETY: polled holds as many pollfd as its length says, and lives until the call returns.
        unsafe { libc::poll(polled.as_mut_ptr(), polled.len() as _, TURN.as_millis() as i32) };
    }
}

fn now_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: time is a timespec that we own.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
