//! Gives each record to whom it concerns, while a window is open.

use std::collections::HashMap;

use crate::kallsyms::Kallsyms;
use crate::latches::Latches;
use crate::locks::{Locks, Task};
use crate::processes::Processes;
use crate::profile::Profile;
use crate::record::{Body, Record};
use crate::result::Told;
use crate::sched::Sched;
use crate::sources::{Fact, Reader, Window};

/// Everything kept of the records so far.
pub struct Keeper {
    processes: Processes,
    kernel: Option<Kallsyms>,
    readers: HashMap<u16, Reader>,
    windows: Vec<Window>,
    profile: Profile,
    locks: Locks,
    latches: Latches,
    sched: Sched,
    lost: u64,
}

impl Keeper {
    /// readers: of tracepoints, by their number.
    pub fn new(processes: Processes, kernel: Option<Kallsyms>, readers: HashMap<u16, Reader>) -> Keeper {
        Keeper {
            processes,
            kernel,
            readers,
            windows: Vec::new(),
            profile: Profile::default(),
            locks: Locks::default(),
            latches: Latches::default(),
            sched: Sched::default(),
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
                match self.readers.get(&number) {
                    Some(reader) => {
                        let fact = reader(&raw);
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
                self.sched.switched(point, time_ns, from, runnable, to, who);
            }
            Fact::Woken(thread) => self.sched.woken(time_ns, thread),
            Fact::Migrated(thread) => self.sched.migrated(point, thread, who),
        }
    }

    fn forget(&mut self) {
        self.locks.forget();
        self.latches.forget();
        self.sched.forget();
    }

    fn point(&self, time_ns: u64) -> Option<usize> {
        let inside = |window: &&Window| (window.start_ns..window.end_ns).contains(&time_ns);
        self.windows.iter().rev().find(inside).map(|window| window.point)
    }

    /// What was kept, with names.
    pub fn told(&self) -> Told {
        let names = self.kernel.as_ref();
        Told::of(
            &self.profile.folded(names),
            &self.locks.sites(names),
            &self.latches.rows(),
            &self.latches.gets(),
            &self.sched.roles(),
            self.lost,
        )
    }
}
