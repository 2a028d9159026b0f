//! Signals for clients to begin, to stop and to leave, in memory that all of them share.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use steelyard_engine::clock::now_ns;

use crate::record::Window;

const STEP: Duration = Duration::from_millis(1);

#[derive(Default)]
pub struct Gate {
    /// How many clients have opened the database.
    pub ready: AtomicU32,
    /// One of them could not.
    pub failed: AtomicBool,
    start_ns: AtomicU64,
    measure_ns: AtomicU64,
    end_ns: AtomicU64,
    /// The load ends at once.
    pub stop: AtomicBool,
    /// Connections may be closed.
    pub leave: AtomicBool,
}

impl Gate {
    pub fn open(&self, window: Window) {
        self.measure_ns.store(window.measure_ns, Ordering::Relaxed);
        self.end_ns.store(window.end_ns, Ordering::Relaxed);
        self.start_ns.store(window.start_ns, Ordering::Release);
    }

    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Until the start of the load; `None` when there is none.
    pub fn wait(&self) -> Option<Window> {
        loop {
            if self.stopped() {
                return None;
            }
            let start_ns = self.start_ns.load(Ordering::Acquire);
            let ahead_ns = start_ns.saturating_sub(now_ns());
            if start_ns != 0 && ahead_ns == 0 {
                let [measure_ns, end_ns] =
                    [&self.measure_ns, &self.end_ns].map(|time| time.load(Ordering::Relaxed));
                return Some(Window { start_ns, measure_ns, last_begin_ns: end_ns, end_ns });
            }
            let until = if start_ns == 0 { STEP } else { STEP.min(Duration::from_nanos(ahead_ns)) };
            std::thread::sleep(until);
        }
    }

    /// Until connections may be closed.
    pub fn wait_to_leave(&self) {
        while !self.leave.load(Ordering::Acquire) {
            std::thread::sleep(STEP);
        }
    }
}
