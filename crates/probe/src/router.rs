//! Routes each record to its tally, while a window is open.

use std::collections::HashMap;

use crate::perf::record::{Body, Record};
use crate::result::Outcome;
use crate::sources::source::{Extract, Fact, Window};
use crate::symbols::kernel::KernelSymbols;
use crate::symbols::processes::Processes;
use crate::tallies::latches::Latches;
use crate::tallies::locks::Locks;
use crate::tallies::profile::Profile;
use crate::tallies::scheduling::Scheduling;
use crate::tallies::task::Task;

/// The tallies of all records so far.
pub struct Router {
    processes: Processes,
    kernel: Option<KernelSymbols>,
    extracts: HashMap<u16, Extract>,
    windows: Vec<Window>,
    profile: Profile,
    locks: Locks,
    latches: Latches,
    scheduling: Scheduling,
    lost: u64,
}

impl Router {
    /// extracts: by number of the tracepoint.
    pub fn new(
        processes: Processes,
        kernel: Option<KernelSymbols>,
        extracts: HashMap<u16, Extract>,
    ) -> Router {
        Router {
            processes,
            kernel,
            extracts,
            windows: Vec::new(),
            profile: Profile::default(),
            locks: Locks::default(),
            latches: Latches::default(),
            scheduling: Scheduling::default(),
            lost: 0,
        }
    }

    pub fn open(&mut self, window: Window) {
        self.windows.push(window);
        self.forget();
    }

    /// Records come in the order of time.
    pub fn take(&mut self, record: Record) {
        let time_ns = record.time_ns;
        match record.body {
            Body::Mapped { pid, start, bytes, offset, path } => {
                self.processes.mapped(pid, start, bytes, offset, &path);
            }
            Body::Named { pid, tid, name, exec } => self.processes.named(pid, tid, &name, exec),
            Body::Forked { pid, tid, parent, parent_tid } => {
                self.processes.forked(pid, tid, parent, parent_tid);
            }
            Body::Lost(count) => {
                self.lost += count;
                // a beginning whose end is lost must not be paired with a later end
                self.forget();
            }
            Body::Sample { pid, tid, cpu, kernel, user, raw } => {
                let Some(point) = self.point(time_ns) else { return };
                let number = raw.get(..2).map_or(0, |bytes| u16::from_le_bytes([bytes[0], bytes[1]]));
                match self.extracts.get(&number) {
                    Some(extract) => {
                        let fact = extract(&raw);
                        self.learn(point, time_ns, Task { pid, tid, cpu }, fact, &kernel);
                    }
                    None => self.profile.add(point, &self.processes, pid, tid, &kernel, &user),
                }
            }
        }
    }

    fn learn(&mut self, point: usize, time_ns: u64, task: Task, fact: Fact, stack: &[u64]) {
        let (who, names) = (&self.processes, self.kernel.as_ref());
        match fact {
            Fact::Waits { lock, flags } => self.locks.begun(time_ns, task, lock, flags, stack, names),
            Fact::Waited { lock } => self.locks.ended(point, time_ns, task, lock, who, names),
            Fact::Gets { tranche, count } => self.latches.got(point, task, tranche, count, who),
            Fact::Sleeps { event } => self.latches.begun(time_ns, task, event),
            Fact::Slept => self.latches.ended(point, time_ns, task, who),
            Fact::Switched { from, runnable, to } => {
                self.scheduling.switched(point, time_ns, from, runnable, to, who);
            }
            Fact::Woken(thread) => self.scheduling.woken(time_ns, thread),
            Fact::Migrated(thread) => self.scheduling.migrated(point, thread, who),
        }
    }

    fn forget(&mut self) {
        self.locks.forget();
        self.latches.forget();
        self.scheduling.forget();
    }

    fn point(&self, time_ns: u64) -> Option<usize> {
        let inside = |window: &&Window| (window.start_ns..window.end_ns).contains(&time_ns);
        self.windows.iter().rev().find(inside).map(|window| window.point)
    }

    /// The tallies, with names.
    pub fn outcome(&self) -> Outcome {
        let names = self.kernel.as_ref();
        Outcome::of(
            &self.profile.folded(names),
            &self.locks.sites(names),
            &self.latches.rows(),
            &self.latches.gets(),
            &self.scheduling.roles(),
            self.lost,
        )
    }
}
