//! One simulated thread.

use rand::rngs::SmallRng;

use super::reload::Footprint;
use crate::tables::class::Standing;

/// No thread, no CPU.
pub const NONE: u32 = u32::MAX;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Not come yet, or gone.
    Absent,
    Sleeping,
    Runnable,
    Running,
}

#[derive(Debug, Clone)]
pub struct Thread {
    pub group: u32,
    pub state: State,
    pub standing: Standing,
    /// Global priority: that of `standing` when it last changed.
    pub priority: i16,
    /// To the back of its queue, with a full quantum, when it gives the CPU up.
    pub to_back: bool,
    /// It has just forked: it sleeps when it next gets a CPU.
    pub forked: bool,
    /// It exits at the end of its burst.
    pub child: bool,
    /// Where it ran last, or is to run first.
    pub cpu: u32,
    /// The CPU in whose queue it is.
    pub queued: u32,
    pub home: u32,
    pub next: u32,
    pub before: u32,
    /// Number of the tick after which it left a CPU; none before its first stint.
    pub left_tick: Option<u64>,
    /// When its present state was last accounted for.
    pub since_ns: u64,
    /// When it began to wait for a CPU.
    pub runnable_ns: u64,
    /// When it was put into the queue where it is.
    pub queued_ns: u64,
    /// When its present burst began to be due.
    pub due_ns: u64,
    pub work_ns: f64,
    pub footprint: Footprint,
    pub times: Times,
    pub rng: SmallRng,
}

/// Where a thread's time went.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Times {
    pub cpu_ns: u64,
    pub wait_ns: u64,
    pub sleep_ns: u64,
}

impl Thread {
    pub fn new(group: u32, standing: Standing, cpu: u32, home: u32, rng: SmallRng) -> Self {
        Self {
            group,
            state: State::Absent,
            priority: standing.priority(),
            standing,
            to_back: false,
            forked: false,
            child: false,
            cpu,
            queued: NONE,
            home,
            next: NONE,
            before: NONE,
            left_tick: None,
            since_ns: 0,
            runnable_ns: 0,
            queued_ns: 0,
            due_ns: 0,
            work_ns: 0.0,
            footprint: Footprint::default(),
            times: Times::default(),
            rng,
        }
    }
}
