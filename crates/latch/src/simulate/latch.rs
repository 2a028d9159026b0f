//! A latch of the simulation.

use std::collections::VecDeque;

use crate::primitives::slot::Mode;

#[derive(Default)]
pub struct SimulatedLatch {
    exclusive: bool,
    shares: u32,
    last: Option<usize>,
    /// In order of arrival.
    pub spinners: Vec<usize>,
    pub sleepers: VecDeque<(usize, Mode)>,
}

impl SimulatedLatch {
    /// Whether it could be entered now; with `stands_back`, only behind the waiters.
    pub fn admits(&self, mode: Mode, stands_back: bool) -> bool {
        let free = match mode {
            Mode::Exclusive => !self.exclusive && self.shares == 0,
            Mode::Shared => !self.exclusive,
        };
        let behind = |other: &(usize, Mode)| mode == Mode::Exclusive || other.1 == Mode::Exclusive;
        free && !(stands_back && self.sleepers.iter().any(behind))
    }

    /// Whether the line has to come from another worker.
    pub fn enter(&mut self, worker: usize, mode: Mode) -> bool {
        match mode {
            Mode::Exclusive => self.exclusive = true,
            Mode::Shared => self.shares += 1,
        }
        self.last.replace(worker).is_some_and(|last| last != worker)
    }

    /// Whether it is free now.
    pub fn leave(&mut self, mode: Mode) -> bool {
        match mode {
            Mode::Exclusive => self.exclusive = false,
            Mode::Shared => self.shares -= 1,
        }
        !self.exclusive && self.shares == 0
    }
}
