//! Sleeps for latches of a server, by wait event; gets of latches, by tranche.

use std::collections::HashMap;
use std::rc::Rc;

use hdrhistogram::Histogram;

use super::task::Task;
use crate::symbols::processes::Processes;

#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    point: usize,
    role: Rc<str>,
    /// A wait event, or a tranche.
    number: u32,
}

struct Sleeps {
    total_ns: u64,
    histogram: Histogram<u64>,
}

/// Sleeps by role and wait event; gets by role and tranche.
#[derive(Default)]
pub struct Latches {
    asleep: HashMap<u32, (u64, u32)>,
    sleeps: HashMap<Key, Sleeps>,
    gets: HashMap<Key, u64>,
}

/// All sleeps of a role under one wait event.
pub struct Slept {
    pub point: usize,
    pub role: Rc<str>,
    pub event: u32,
    pub sleeps: u64,
    pub wait_ns: u64,
    pub histogram: Histogram<u64>,
}

/// Gets of a role of all latches of a tranche, estimated from the recorded ones.
pub struct Got {
    pub point: usize,
    pub role: Rc<str>,
    pub tranche: u32,
    pub gets: u64,
}

impl Latches {
    /// A task gets a latch; one get in `count` is recorded.
    pub fn got(&mut self, point: usize, task: Task, tranche: u32, count: u32, who: &Processes) {
        let key = Key { point, role: who.role(task.pid), number: tranche };
        *self.gets.entry(key).or_default() += u64::from(count);
    }

    /// A task goes to sleep. A task that was killed asleep is forgotten.
    pub fn begun(&mut self, time_ns: u64, task: Task, event: u32) {
        self.asleep.insert(task.tid, (time_ns, event));
    }

    /// The sleep ends; ignored where its beginning was not seen.
    pub fn ended(&mut self, point: usize, time_ns: u64, task: Task, who: &Processes) {
        let Some((begun_ns, event)) = self.asleep.remove(&task.tid) else { return };
        let wait_ns = time_ns.saturating_sub(begun_ns);
        let key = Key { point, role: who.role(task.pid), number: event };
        let sleeps = self.sleeps.entry(key).or_insert_with(|| Sleeps {
            total_ns: 0,
            histogram: Histogram::new(3).expect("3 digits are allowed"),
        });
        sleeps.total_ns += wait_ns;
        // a histogram that grows takes every value
        let _ = sleeps.histogram.record(wait_ns.max(1));
    }

    /// Forgets sleeps that have not ended: a window begins, or records are missing.
    pub fn forget(&mut self) {
        self.asleep.clear();
    }

    pub fn gets(&self) -> Vec<Got> {
        let mut found: Vec<Got> = self
            .gets
            .iter()
            .map(|(key, gets)| Got {
                point: key.point,
                role: key.role.clone(),
                tranche: key.number,
                gets: *gets,
            })
            .collect();
        found.sort_by(|a, b| (a.point, &a.role, a.tranche).cmp(&(b.point, &b.role, b.tranche)));
        found
    }

    pub fn rows(&self) -> Vec<Slept> {
        let mut found: Vec<Slept> = self
            .sleeps
            .iter()
            .map(|(key, sleeps)| Slept {
                point: key.point,
                role: key.role.clone(),
                event: key.number,
                sleeps: sleeps.histogram.len(),
                wait_ns: sleeps.total_ns,
                histogram: sleeps.histogram.clone(),
            })
            .collect();
        found.sort_by(|a, b| (a.point, &a.role, a.event).cmp(&(b.point, &b.role, b.event)));
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sleep_counts_under_the_event_it_began_with_and_only_once_it_has_ended() {
        let who = Processes::running(&[]);
        let task = |tid| Task { pid: tid, tid, cpu: 0 };
        let mut latches = Latches::default();
        latches.ended(0, 50, task(4_000_001), &who);
        latches.begun(100, task(4_000_001), 0x0100_0008);
        latches.begun(110, task(4_000_002), 0x0100_0037);
        latches.ended(0, 400, task(4_000_001), &who);
        latches.ended(0, 410, task(4_000_001), &who);
        latches.begun(500, task(4_000_001), 0x0100_0008);
        latches.ended(0, 700, task(4_000_001), &who);
        let rows = latches.rows();
        assert_eq!(rows.len(), 1);
        assert_eq!((rows[0].event, rows[0].sleeps, rows[0].wait_ns), (0x0100_0008, 2, 500));
        assert_eq!((rows[0].point, &*rows[0].role), (0, "other"));
    }
}
