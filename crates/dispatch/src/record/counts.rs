//! The counters of a group of threads.

use crate::machine::thread::{State, Thread};
use crate::tables::class::PRIORITIES;

/// Counters of one group since the start; `longest_wait_ns` since the last sample.
#[derive(Debug, Clone)]
pub struct Counts {
    pub cpu_ns: u64,
    pub wait_ns: u64,
    pub sleep_ns: u64,
    pub voluntary: u64,
    pub involuntary: u64,
    /// Of the involuntary ones: because a quantum was used up.
    pub quantum_switches: u64,
    pub expiries: u64,
    pub migrations: u64,
    pub steals: u64,
    pub forks: u64,
    pub reload_ns: f64,
    /// Direct cost of switches.
    pub switch_ns: u64,
    pub longest_wait_ns: u64,
    pub runnable: u64,
    /// Time on a CPU or waiting for one, by global priority.
    pub priority_ns: Box<[u64; PRIORITIES]>,
}

impl Default for Counts {
    fn default() -> Self {
        Self {
            cpu_ns: 0,
            wait_ns: 0,
            sleep_ns: 0,
            voluntary: 0,
            involuntary: 0,
            quantum_switches: 0,
            expiries: 0,
            migrations: 0,
            steals: 0,
            forks: 0,
            reload_ns: 0.0,
            switch_ns: 0,
            longest_wait_ns: 0,
            runnable: 0,
            priority_ns: Box::new([0; PRIORITIES]),
        }
    }
}

impl Counts {
    /// Accounts for a thread's time up to now in the state and at the priority that it has.
    pub fn settle(&mut self, thread: &mut Thread, now_ns: u64) {
        let passed_ns = now_ns - thread.since_ns;
        thread.since_ns = now_ns;
        match thread.state {
            State::Absent => return,
            State::Sleeping => {
                self.sleep_ns += passed_ns;
                thread.times.sleep_ns += passed_ns;
                return;
            }
            State::Runnable => {
                self.wait_ns += passed_ns;
                thread.times.wait_ns += passed_ns;
                self.longest_wait_ns = self.longest_wait_ns.max(now_ns - thread.runnable_ns);
            }
            State::Running => {
                self.cpu_ns += passed_ns;
                thread.times.cpu_ns += passed_ns;
            }
        }
        self.priority_ns[thread.priority as usize] += passed_ns;
    }

    pub fn add(&mut self, other: &Self) {
        self.cpu_ns += other.cpu_ns;
        self.wait_ns += other.wait_ns;
        self.sleep_ns += other.sleep_ns;
        self.voluntary += other.voluntary;
        self.involuntary += other.involuntary;
        self.quantum_switches += other.quantum_switches;
        self.expiries += other.expiries;
        self.migrations += other.migrations;
        self.steals += other.steals;
        self.forks += other.forks;
        self.reload_ns += other.reload_ns;
        self.switch_ns += other.switch_ns;
        self.longest_wait_ns = self.longest_wait_ns.max(other.longest_wait_ns);
        self.runnable += other.runnable;
        for (mine, theirs) in self.priority_ns.iter_mut().zip(other.priority_ns.iter()) {
            *mine += theirs;
        }
    }

    /// Name (a counter ends in `_total`) and value of everything but the priorities.
    pub fn metrics(&self) -> [(&'static str, f64); 14] {
        [
            ("cpu_ns_total", self.cpu_ns as f64),
            ("wait_ns_total", self.wait_ns as f64),
            ("sleep_ns_total", self.sleep_ns as f64),
            ("voluntary_switches_total", self.voluntary as f64),
            ("involuntary_switches_total", self.involuntary as f64),
            ("quantum_switches_total", self.quantum_switches as f64),
            ("quantum_expiries_total", self.expiries as f64),
            ("migrations_total", self.migrations as f64),
            ("steals_total", self.steals as f64),
            ("forks_total", self.forks as f64),
            ("reload_ns_total", self.reload_ns),
            ("switch_ns_total", self.switch_ns as f64),
            ("longest_wait_ns", self.longest_wait_ns as f64),
            ("runnable_threads", self.runnable as f64),
        ]
    }
}
