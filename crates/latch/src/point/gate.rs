//! When the workers of a load point begin, are measured and end.

use std::time::Duration;

use steelyard_engine::clock::now_ns;

use crate::plan::Plan;
use crate::primitives::sync::{AtomicU32, AtomicU64, Ordering};

const SECOND_NS: u64 = 1_000_000_000;

/// The times of one load point (CLOCK_MONOTONIC).
#[derive(Debug, Clone, Copy)]
pub struct Window {
    pub start_ns: u64,
    pub measure_ns: u64,
    pub end_ns: u64,
}

impl Window {
    pub fn of(plan: &Plan, start_ns: u64) -> Self {
        let measure_ns = start_ns + (plan.warm_up_s * 1e9) as u64;
        Self { start_ns, measure_ns, end_ns: measure_ns + (plan.measure_s * 1e9) as u64 }
    }

    /// Whole seconds before the measure phase, rounded up.
    pub fn warm_up(&self) -> usize {
        (self.measure_ns - self.start_ns).div_ceil(SECOND_NS) as usize
    }

    pub fn seconds(&self) -> usize {
        self.warm_up() + (self.end_ns - self.measure_ns).div_ceil(SECOND_NS) as usize
    }

    /// Index of the second of a time within the window.
    pub fn second(&self, t_ns: u64) -> usize {
        match t_ns.checked_sub(self.measure_ns) {
            Some(since_ns) => self.warm_up() + (since_ns / SECOND_NS) as usize,
            None => self.warm_up() - (self.measure_ns - t_ns).div_ceil(SECOND_NS) as usize,
        }
    }
}

/// The coordinator's signals to the workers, in shared memory.
#[derive(Default)]
pub struct Gate {
    start_ns: AtomicU64,
    measure_ns: AtomicU64,
    end_ns: AtomicU64,
    stop: AtomicU32,
}

impl Gate {
    pub fn open(&self, window: Window) {
        self.measure_ns.store(window.measure_ns, Ordering::Relaxed);
        self.end_ns.store(window.end_ns, Ordering::Relaxed);
        self.start_ns.store(window.start_ns, Ordering::Release);
    }

    pub fn window(&self) -> Window {
        let start_ns = self.start_ns.load(Ordering::Acquire);
        let [measure_ns, end_ns] = [&self.measure_ns, &self.end_ns].map(|time| time.load(Ordering::Relaxed));
        Window { start_ns, measure_ns, end_ns }
    }

    pub fn stop(&self) {
        self.stop.store(1, Ordering::Relaxed);
    }

    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed) == 1
    }

    /// Waits until the coordinator opens the gate; `None` when it stopped the run instead.
    pub fn wait(&self) -> Option<Window> {
        loop {
            if self.stopped() {
                return None;
            }
            let window = self.window();
            let ahead_ns = window.start_ns.saturating_sub(now_ns());
            if window.start_ns != 0 && ahead_ns == 0 {
                return Some(window);
            }
            let step_ns = if window.start_ns == 0 { 1_000_000 } else { ahead_ns.min(1_000_000) };
            std::thread::sleep(Duration::from_nanos(step_ns));
        }
    }
}
