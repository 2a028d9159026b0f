//! One simulated worker and its events.

use crate::primitives::slot::Mode;

/// The event of a worker at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Event {
    /// The think time is over: it tries the latch.
    Get,
    /// Its spin budget is spent: joins the sleepers.
    SpinEnds,
    /// Posted and awake: tries again.
    Awake,
    Release,
    /// Loses its CPU.
    SliceEnds,
    /// A spinner has a CPU again.
    Back,
    /// An event of a latch: its spinners see that it was released.
    Seen,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Thinking,
    Spinning,
    Asleep,
    Holding,
}

pub(super) struct Worker {
    pub state: State,
    pub latch: usize,
    pub mode: Mode,
    /// Gets left in this lookup.
    pub gets: u32,
    /// In this acquisition.
    pub missed: bool,
    pub sleeps: u32,
    pub asleep_since_ns: f64,
    /// Number of its next event: an event with an older number is void (a spin that ended with the latch).
    pub serial: u32,
    /// Has a CPU.
    pub runs: bool,
    /// As `serial`, for the ends of time slices.
    pub slice: u32,
    /// When its next event is due, while it has a CPU.
    pub due_ns: f64,
    /// While it has no CPU: the time left of what it was doing, and the event that ends it.
    pub paused: (f64, Event),
}

impl Default for Worker {
    fn default() -> Self {
        Self {
            state: State::Thinking,
            latch: 0,
            mode: Mode::Exclusive,
            gets: 0,
            missed: false,
            sleeps: 0,
            asleep_since_ns: 0.0,
            serial: 0,
            runs: true,
            slice: 0,
            due_ns: 0.0,
            paused: (0.0, Event::Get),
        }
    }
}
