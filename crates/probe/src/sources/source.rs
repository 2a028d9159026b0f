//! A source: its events, the facts in their records, and the windows in which it records.

use std::sync::Arc;

use crate::perf::event::Kind;
use crate::perf::tracepoint::Tracepoint;
use crate::perf::uprobes::Uprobes;

/// The purpose of a window: a source records only in windows of its own purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// The measured phase: sources that cost next to nothing.
    Measure,
    /// A diagnostic phase: sources that cost more.
    SchedulingTrace,
    /// A diagnostic phase for sources that are in the kernel only during their windows: breakpoints cost time also
    /// where nothing is recorded.
    LatchCount,
}

/// A time in which the sources of one purpose record (CLOCK_MONOTONIC).
#[derive(Clone, Copy, Debug)]
pub struct Window {
    pub purpose: Purpose,
    pub point: usize,
    pub start_ns: u64,
    pub end_ns: u64,
}

/// The content of a record.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fact {
    Waits { lock: u64, flags: u64 },
    Waited { lock: u64 },
    Gets { tranche: u32, count: u32 },
    Sleeps { event: u32 },
    Slept,
    Switched { from: u32, runnable: bool, to: u32 },
    Woken(u32),
    Migrated(u32),
}

/// Extracts the fact from the raw part of a record.
pub type Extract = Arc<dyn Fn(&[u8]) -> Fact + Send + Sync>;

/// The events of one tracepoint: frames of the kernel's stack; one event in `one_in` is recorded.
pub struct Extractor {
    pub id: u16,
    pub frames: u16,
    pub one_in: u32,
    pub extract: Extract,
}

impl Extractor {
    /// Records every event of a tracepoint.
    pub fn new(
        point: &Tracepoint,
        frames: u16,
        extract: impl Fn(&[u8]) -> Fact + Send + Sync + 'static,
    ) -> Extractor {
        Extractor { id: point.id, frames, one_in: 1, extract: Arc::new(extract) }
    }
}

/// A source that this kernel has. clock_hz: samples per second and CPU, 0: none.
pub struct Source {
    pub name: &'static str,
    pub purpose: Purpose,
    pub clock_hz: u32,
    pub extractors: Vec<Extractor>,
    /// Its own probes, which must outlive its events.
    pub uprobes: Option<Uprobes>,
}

impl Source {
    /// A source of tracepoints of the kernel.
    pub fn new(name: &'static str, purpose: Purpose, extractors: Vec<Extractor>) -> Source {
        Source { name, purpose, clock_hz: 0, extractors, uprobes: None }
    }

    /// The events to open on each CPU.
    pub fn kinds(&self) -> impl Iterator<Item = Kind> + '_ {
        let clock = (self.clock_hz > 0).then_some(Kind::Clock { hz: self.clock_hz });
        clock.into_iter().chain(self.extractors.iter().map(|one| {
            let Extractor { id, frames, one_in, .. } = *one;
            Kind::Tracepoint { id, frames, one_in }
        }))
    }
}
