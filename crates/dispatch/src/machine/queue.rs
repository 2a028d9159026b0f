//! The run queue of one CPU: a list per priority, and a bit per list that is not empty.

use super::thread::{NONE, Thread};
use crate::tables::class::PRIORITIES;

/// Below every priority: an idle CPU, an empty queue.
pub const IDLE: i16 = -1;

#[derive(Debug, Clone)]
pub struct RunQueue {
    heads: [u32; PRIORITIES],
    tails: [u32; PRIORITIES],
    lengths: [u32; PRIORITIES],
    occupied: [u64; PRIORITIES.div_ceil(64)],
}

impl Default for RunQueue {
    fn default() -> Self {
        Self {
            heads: [NONE; PRIORITIES],
            tails: [NONE; PRIORITIES],
            lengths: [0; PRIORITIES],
            occupied: [0; PRIORITIES.div_ceil(64)],
        }
    }
}

impl RunQueue {
    /// Highest priority that waits here; [`IDLE`] when none does.
    pub fn highest(&self) -> i16 {
        for (index, word) in self.occupied.iter().enumerate().rev() {
            if *word != 0 {
                return (index as u32 * 64 + 63 - word.leading_zeros()) as i16;
            }
        }
        IDLE
    }

    pub fn is_empty(&self) -> bool {
        self.occupied.iter().all(|word| *word == 0)
    }

    pub fn len_at(&self, priority: i16) -> u32 {
        self.lengths[priority as usize]
    }

    /// First thread of a priority, or [`NONE`].
    pub fn first(&self, priority: i16) -> u32 {
        self.heads[priority as usize]
    }

    pub fn push(&mut self, threads: &mut [Thread], id: u32, front: bool) {
        let at = threads[id as usize].priority as usize;
        let (near, far) =
            if front { (&mut self.heads, &mut self.tails) } else { (&mut self.tails, &mut self.heads) };
        let neighbour = std::mem::replace(&mut near[at], id);
        let (next, before) = if front { (neighbour, NONE) } else { (NONE, neighbour) };
        let thread = &mut threads[id as usize];
        (thread.next, thread.before) = (next, before);
        if neighbour == NONE {
            far[at] = id;
            self.occupied[at / 64] |= 1 << (at % 64);
        } else if front {
            threads[neighbour as usize].before = id;
        } else {
            threads[neighbour as usize].next = id;
        }
        self.lengths[at] += 1;
    }

    pub fn remove(&mut self, threads: &mut [Thread], id: u32) {
        let Thread { next, before, priority, .. } = threads[id as usize];
        let at = priority as usize;
        if before == NONE {
            self.heads[at] = next;
        } else {
            threads[before as usize].next = next;
        }
        if next == NONE {
            self.tails[at] = before;
        } else {
            threads[next as usize].before = before;
        }
        self.lengths[at] -= 1;
        if self.lengths[at] == 0 {
            self.occupied[at / 64] &= !(1 << (at % 64));
        }
    }
}
