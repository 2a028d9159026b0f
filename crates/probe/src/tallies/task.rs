//! The task that a record belongs to.

/// A task and its CPU.
#[derive(Clone, Copy)]
pub struct Task {
    pub pid: u32,
    pub tid: u32,
    pub cpu: u32,
}

impl Task {
    /// Thread, and CPU for the idle tasks, which share number 0.
    pub fn key(self) -> (u32, u32) {
        (self.tid, if self.tid == 0 { self.cpu } else { 0 })
    }
}
