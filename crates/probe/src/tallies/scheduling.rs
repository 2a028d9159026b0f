//! Scheduling: run-queue wait, time slices, time off the CPU and switches, by role.

use std::collections::HashMap;
use std::rc::Rc;

use hdrhistogram::Histogram;

use crate::symbols::processes::Processes;

/// The state of a thread and its start.
#[derive(Clone, Copy, PartialEq)]
enum State {
    /// Waits for a CPU; left_ns: start of its voluntary time off the CPU.
    Ready {
        since_ns: u64,
        left_ns: Option<u64>,
    },
    Running {
        since_ns: u64,
    },
    Asleep {
        since_ns: u64,
    },
}

/// Figures of one role at one point. off_cpu: from a voluntary switch to running again.
pub struct Role {
    pub run_queue_ns: Histogram<u64>,
    pub slice_ns: Histogram<u64>,
    pub off_cpu_ns: Histogram<u64>,
    pub voluntary: u64,
    pub involuntary: u64,
    pub migrations: u64,
}

impl Default for Role {
    fn default() -> Self {
        let empty = || Histogram::new(3).expect("3 digits are allowed");
        Role {
            run_queue_ns: empty(),
            slice_ns: empty(),
            off_cpu_ns: empty(),
            voluntary: 0,
            involuntary: 0,
            migrations: 0,
        }
    }
}

#[derive(Default)]
pub struct Scheduling {
    states: HashMap<u32, State>,
    roles: HashMap<(usize, Rc<str>), Role>,
}

impl Scheduling {
    /// A CPU switches from one thread to another. runnable: the first one could continue.
    pub fn switched(
        &mut self,
        point: usize,
        now_ns: u64,
        from: u32,
        runnable: bool,
        to: u32,
        who: &Processes,
    ) {
        if from != 0 {
            let before = self.states.get(&from).copied();
            let role = self.role(point, from, who);
            if let Some(State::Running { since_ns }) = before {
                record(&mut role.slice_ns, passed_ns(since_ns, now_ns));
            }
            *(if runnable { &mut role.involuntary } else { &mut role.voluntary }) += 1;
            let state = if runnable {
                State::Ready { since_ns: now_ns, left_ns: None }
            } else {
                State::Asleep { since_ns: now_ns }
            };
            self.states.insert(from, state);
        }
        if to != 0 {
            let before = self.states.insert(to, State::Running { since_ns: now_ns });
            if let Some(State::Ready { since_ns, left_ns }) = before {
                let role = self.role(point, to, who);
                record(&mut role.run_queue_ns, passed_ns(since_ns, now_ns));
                if let Some(left_ns) = left_ns {
                    record(&mut role.off_cpu_ns, passed_ns(left_ns, now_ns));
                }
            }
        }
    }

    /// A thread may run again.
    pub fn woken(&mut self, now_ns: u64, thread: u32) {
        let left_ns = match self.states.get(&thread) {
            Some(State::Asleep { since_ns }) => Some(*since_ns),
            // it was woken before it was off the CPU
            Some(_) => return,
            None => None,
        };
        self.states.insert(thread, State::Ready { since_ns: now_ns, left_ns });
    }

    /// A thread is to run on another CPU.
    pub fn migrated(&mut self, point: usize, thread: u32, who: &Processes) {
        self.role(point, thread, who).migrations += 1;
    }

    /// Forgets the states of threads: a window begins, or records are missing.
    pub fn forget(&mut self) {
        self.states.clear();
    }

    fn role(&mut self, point: usize, thread: u32, who: &Processes) -> &mut Role {
        self.roles.entry((point, who.role(who.process_of(thread)))).or_default()
    }

    /// Figures by point and role.
    pub fn roles(&self) -> Vec<(usize, Rc<str>, &Role)> {
        let mut found: Vec<_> =
            self.roles.iter().map(|((point, name), role)| (*point, name.clone(), role)).collect();
        found.sort_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
        found
    }
}

fn passed_ns(from_ns: u64, to_ns: u64) -> u64 {
    to_ns.saturating_sub(from_ns).max(1)
}

/// A histogram that grows takes every value.
fn record(histogram: &mut Histogram<u64>, value: u64) {
    let _ = histogram.record(value);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_slices_and_sleeps_of_a_known_history() {
        let who = Processes::running(&[]);
        let mut sched = Scheduling::default();
        let thread = 4_000_001;
        sched.woken(1_000, thread);
        sched.switched(0, 3_000, 0, false, thread, &who);
        sched.switched(0, 10_000, thread, true, 4_000_002, &who);
        sched.switched(0, 12_000, 4_000_002, false, thread, &who);
        sched.switched(0, 13_000, thread, false, 0, &who);
        sched.woken(20_000, thread);
        sched.migrated(0, thread, &who);
        sched.switched(0, 20_500, 0, false, thread, &who);
        let roles = sched.roles();
        assert_eq!(roles.len(), 1);
        let (point, role, found) = &roles[0];
        assert_eq!((*point, &**role), (0, "other"));
        assert_eq!((found.voluntary, found.involuntary, found.migrations), (2, 1, 1));
        // the other thread's slice of 2 us among them
        assert_eq!((found.slice_ns.len(), found.slice_ns.max(), found.slice_ns.min()), (3, 7_003, 1_000));
        assert_eq!((found.run_queue_ns.len(), found.run_queue_ns.min()), (3, 500));
        assert_eq!((found.off_cpu_ns.len(), found.off_cpu_ns.max()), (1, 7_503));
    }
}
