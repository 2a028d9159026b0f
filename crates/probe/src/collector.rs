//! Opens the sources that are available, and the windows in which they record.
//!
//! Outside the windows only records about processes are collected.

use std::collections::HashMap;
use std::sync::mpsc::{self, Sender};
use std::thread::JoinHandle;

use crate::drain::{CpuRing, Drain, Head, open_rings};
use crate::error::SourceError;
use crate::perf::event::Event;
use crate::plan::Plan;
use crate::result::Outcome;
use crate::router::Router;
use crate::sources::requested;
use crate::sources::source::{Extract, Purpose, Source, Window};
use crate::symbols::kernel::KernelSymbols;
use crate::symbols::processes::Processes;

/// Probes that run. When dropped, they end without a result.
pub struct Collector {
    windows: Option<Sender<Window>>,
    thread: Option<JoinHandle<Outcome>>,
    events: Vec<(Purpose, Event)>,
    heads: Vec<Head>,
    /// Dropped after the events: the kernel does not remove a probe while an event is open on it.
    sources: Vec<Source>,
    /// Sources that are not available: name and reason.
    pub refused: Vec<(&'static str, String)>,
}

impl Collector {
    /// Opens the sources of the plan on all CPUs. A source that is not available is refused; the others continue.
    pub fn start(plan: &Plan) -> Collector {
        let mut collector = Collector {
            windows: None,
            thread: None,
            events: Vec::new(),
            heads: Vec::new(),
            sources: Vec::new(),
            refused: Vec::new(),
        };
        let mut sources = Vec::new();
        for (name, found) in requested(plan) {
            match found {
                Ok(source) => sources.push(source),
                Err(error) => collector.refuse(name, &error),
            }
        }
        let kernel = match (plan.profile_hz > 0 || plan.locks).then(KernelSymbols::read) {
            Some(Ok(symbols)) => Some(symbols),
            Some(Err(error)) => {
                collector.refuse("kernel symbols", &error);
                None
            }
            None => None,
        };
        if sources.is_empty() {
            return collector;
        }
        match open_rings() {
            Ok(rings) => collector.drain(plan, sources, rings, kernel),
            Err(error) => sources.iter().for_each(|source| collector.refuse(source.name, &error)),
        }
        collector
    }

    /// Opens the events of the sources and starts the thread.
    fn drain(
        &mut self,
        plan: &Plan,
        mut sources: Vec<Source>,
        rings: Vec<CpuRing>,
        kernel: Option<KernelSymbols>,
    ) {
        self.heads = rings.iter().map(|ring| ring.head.clone()).collect();
        sources.retain(|source| match opened(source, &self.heads) {
            Ok(events) => {
                self.events.extend(events);
                true
            }
            Err(error) => {
                self.refuse(source.name, &error);
                false
            }
        });
        if sources.is_empty() {
            return;
        }
        self.close_latch_counts();
        let (windows, inbox) = mpsc::channel();
        let extracts: HashMap<u16, Extract> = sources
            .iter()
            .flat_map(|source| &source.extractors)
            .map(|one| (one.id, one.extract.clone()))
            .collect();
        self.sources = sources;
        let roots = plan.roots.clone();
        // the rings are open: they report every process that is forked from here on
        let router = move || Router::new(Processes::running(&roots), kernel, extracts);
        match Drain::start(rings, plan.cpus.clone(), inbox, router) {
            Ok(thread) => (self.windows, self.thread) = (Some(windows), Some(thread)),
            Err(error) => self.refuse("probes", &error),
        }
    }

    fn refuse(&mut self, name: &'static str, error: &impl ToString) {
        self.refused.push((name, error.to_string()));
    }

    /// Starts to record the sources of the window's purpose.
    pub fn open(&mut self, window: Window) {
        if let Some(windows) = &self.windows {
            // before its first record; `finish` reports a thread that has ended
            let _ = windows.send(window);
        }
        if window.purpose == Purpose::LatchCount {
            for source in self.sources.iter().filter(|source| source.purpose == Purpose::LatchCount) {
                match opened(source, &self.heads) {
                    Ok(events) => self.events.extend(events),
                    Err(error) => {
                        let refusal = (source.name, error.to_string());
                        // the same at every load point
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

    /// Stops recording.
    pub fn close(&mut self) {
        for (_, event) in &self.events {
            let _ = event.disable();
        }
        self.close_latch_counts();
    }

    fn close_latch_counts(&mut self) {
        self.events.retain(|(purpose, _)| *purpose != Purpose::LatchCount);
    }

    /// Ends the probes; the outcome, with names. None when no source was available.
    pub fn finish(&mut self) -> Option<Outcome> {
        self.close();
        self.windows = None;
        let outcome = self.thread.take().and_then(|thread| thread.join().ok());
        self.events.clear();
        self.sources.clear();
        self.heads.clear();
        outcome
    }
}

/// A source's events on all CPUs, none enabled.
fn opened(source: &Source, heads: &[Head]) -> Result<Vec<(Purpose, Event)>, SourceError> {
    let on = |head: &Head, kind| Ok((source.purpose, Event::beside(kind, head.cpu, &head.event)?));
    heads.iter().flat_map(|head| source.kinds().map(move |kind| on(head, kind))).collect()
}
