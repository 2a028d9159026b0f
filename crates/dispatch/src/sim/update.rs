//! The update of every second: threads of TS and IA that have waited too long are raised.

use super::Sim;
use super::agenda::Event;
use crate::machine::thread::State;
use crate::tables::class::Reason;

/// The update visits the threads in so many lists, and begins with another list each time for fairness, as the
/// kernel does.
const UPDATE_LISTS: usize = 16;

impl Sim {
    /// Updates every thread and schedules the next update.
    pub(super) fn update(&mut self) {
        let mut marker = None;
        for step in 0..UPDATE_LISTS {
            let list = (self.update_marker + step) % UPDATE_LISTS;
            let mut raised = false;
            for id in (list..self.threads.len()).step_by(UPDATE_LISTS) {
                raised |= self.update_thread(id as u32);
            }
            if raised && step > 0 {
                marker = marker.or(Some(list));
            }
        }
        self.update_marker = marker.unwrap_or(self.update_marker);
        self.agenda.add(self.now_ns + self.costs.update_ns, Event::Update);
    }

    fn update_thread(&mut self, id: u32) -> bool {
        let thread = &mut self.threads[id as usize];
        if thread.state == State::Absent || !thread.standing.second_passed(&self.tables) {
            return false;
        }
        match thread.state {
            State::Running => {
                let cpu = thread.cpu;
                self.request_ast(cpu);
                return false;
            }
            State::Runnable => self.raise_queued(id),
            State::Sleeping | State::Absent => {
                let from = thread.standing.cpupri;
                thread.standing.raise(&self.tables);
                self.reprioritise(id, Reason::Waited, from);
            }
        }
        true
    }

    fn raise_queued(&mut self, id: u32) {
        let thread = &mut self.threads[id as usize];
        let from = thread.standing.cpupri;
        let mut raised = thread.standing;
        raised.raise(&self.tables);
        if raised.priority() == thread.priority {
            thread.standing = raised;
            return;
        }
        self.unqueue(id);
        raised.refill(&self.tables);
        self.threads[id as usize].standing = raised;
        self.reprioritise(id, Reason::Waited, from);
        let front = raised.class.front().unwrap_or(false);
        let cpu = self.place(id, front);
        self.enqueue(id, cpu, front);
    }
}
