//! The trace of chosen threads in a window of time: their stints on CPUs and the changes of their priority.

use steelyard_engine::error::PlanError;

use crate::plan::{Plan, TraceRequest};
use crate::tables::class::Reason;

/// A stint on a CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interval {
    pub cpu: u32,
    pub thread: u32,
    pub start_ns: u64,
    pub end_ns: u64,
    pub priority: i16,
}

/// A new priority or quantum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Change {
    pub t_ns: u64,
    pub thread: u32,
    pub reason: Reason,
    /// Class priorities before and after; equal for FX and RT.
    pub from: u8,
    pub to: u8,
    /// Global priority from now on.
    pub priority: i16,
    pub quantum_ticks: i32,
}

#[derive(Debug, Default)]
pub struct Trace {
    from_ns: u64,
    to_ns: u64,
    limit: usize,
    /// Chosen threads by number; empty: all.
    chosen: Vec<bool>,
    pub intervals: Vec<Interval>,
    pub changes: Vec<Change>,
    /// More happened than the limit allows.
    pub cut: bool,
}

impl Trace {
    /// starts: the number of each group's first thread.
    pub fn new(plan: &Plan, starts: &[u32]) -> Result<Self, PlanError> {
        let Some(request) = &plan.trace else { return Ok(Self::default()) };
        let mut chosen = Vec::new();
        if !request.threads.is_empty() {
            chosen = vec![false; plan.groups.iter().map(|group| group.count as usize).sum()];
        }
        for name in &request.threads {
            let known = name.split_once(':').and_then(|(group, number)| {
                let index = plan.groups.iter().position(|known| known.name == group)?;
                let number: u32 = number.parse().ok().filter(|number| *number < plan.groups[index].count)?;
                Some(starts[index] + number)
            });
            let known = known.ok_or_else(|| {
                PlanError::new(
                    "trace.threads",
                    format!("no thread \"{name}\": a name is group:number, from 0"),
                )
            })?;
            chosen[known as usize] = true;
        }
        let TraceRequest { from_s, to_s, limit, .. } = *request;
        if !(from_s >= 0.0 && to_s > from_s) {
            return Err(PlanError::new("trace.to_s", format!("{to_s} is not after from_s, {from_s}")));
        }
        let (from_ns, to_ns) = ((from_s * 1e9) as u64, (to_s * 1e9) as u64);
        Ok(Self { from_ns, to_ns, limit, chosen, ..Self::default() })
    }

    fn wants(&self, thread: u32) -> bool {
        self.chosen.is_empty() || self.chosen.get(thread as usize).copied().unwrap_or(false)
    }

    pub fn interval(&mut self, interval: Interval) {
        let Interval { thread, start_ns, end_ns, .. } = interval;
        if end_ns <= self.from_ns || start_ns >= self.to_ns || start_ns == end_ns || !self.wants(thread) {
            return;
        }
        if self.intervals.len() >= self.limit {
            self.cut = true;
            return;
        }
        let (start_ns, end_ns) = (start_ns.max(self.from_ns), end_ns.min(self.to_ns));
        self.intervals.push(Interval { start_ns, end_ns, ..interval });
    }

    pub fn change(&mut self, change: Change) {
        if !(self.from_ns..self.to_ns).contains(&change.t_ns) || !self.wants(change.thread) {
            return;
        }
        if self.changes.len() >= self.limit {
            self.cut = true;
            return;
        }
        self.changes.push(change);
    }
}
