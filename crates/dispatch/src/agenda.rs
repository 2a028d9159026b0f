//! What will happen, by time. At one time: bursts end and threads wake before the clock ticks, the
//! update follows the tick, and preemption and stealing see the outcome of all of them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The running thread's burst ends. turn: dropped unless it is the CPU's present one.
    Burst {
        cpu: u32,
        turn: u32,
    },
    Wake {
        thread: u32,
    },
    /// The running thread's quantum ends, at a tick.
    Expiry {
        cpu: u32,
        turn: u32,
    },
    Update,
    /// The running thread enters the kernel because it was asked to.
    Ast {
        cpu: u32,
        turn: u32,
    },
    /// Idle CPUs of a partition look for work.
    Steal {
        partition: u32,
    },
    Sample,
}

const ID_BITS: u32 = 28;
const TURN_BITS: u32 = 32;

impl Event {
    /// Kind in the highest bits, so that the order of kinds holds within one time.
    fn pack(self) -> u64 {
        let (kind, id, turn) = match self {
            Self::Burst { cpu, turn } => (0, cpu, turn),
            Self::Wake { thread } => (1, thread, 0),
            Self::Expiry { cpu, turn } => (2, cpu, turn),
            Self::Update => (3, 0, 0),
            Self::Ast { cpu, turn } => (4, cpu, turn),
            Self::Steal { partition } => (5, partition, 0),
            Self::Sample => (6, 0, 0),
        };
        kind << (ID_BITS + TURN_BITS) | u64::from(id) << TURN_BITS | u64::from(turn)
    }

    fn unpack(packed: u64) -> Self {
        let id = (packed >> TURN_BITS) as u32 & ((1 << ID_BITS) - 1);
        let turn = packed as u32;
        match packed >> (ID_BITS + TURN_BITS) {
            0 => Self::Burst { cpu: id, turn },
            1 => Self::Wake { thread: id },
            2 => Self::Expiry { cpu: id, turn },
            3 => Self::Update,
            4 => Self::Ast { cpu: id, turn },
            5 => Self::Steal { partition: id },
            _ => Self::Sample,
        }
    }
}

#[derive(Debug, Default)]
pub struct Agenda(BinaryHeap<Reverse<(u64, u64)>>);

impl Agenda {
    pub fn add(&mut self, at_ns: u64, event: Event) {
        self.0.push(Reverse((at_ns, event.pack())));
    }

    pub fn next_ns(&self) -> Option<u64> {
        self.0.peek().map(|Reverse((at_ns, _))| *at_ns)
    }

    /// The next event before `end_ns`.
    pub fn next(&mut self, end_ns: u64) -> Option<(u64, Event)> {
        if self.next_ns()? >= end_ns {
            return None;
        }
        self.0.pop().map(|Reverse((at_ns, packed))| (at_ns, Event::unpack(packed)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn within_one_time_kinds_keep_their_order() {
        let mut agenda = Agenda::default();
        let order = [
            Event::Burst { cpu: 9, turn: u32::MAX },
            Event::Wake { thread: (1 << ID_BITS) - 1 },
            Event::Expiry { cpu: 3, turn: 7 },
            Event::Update,
            Event::Ast { cpu: 0, turn: 1 },
            Event::Steal { partition: 2 },
            Event::Sample,
        ];
        for event in order.iter().rev() {
            agenda.add(5, *event);
        }
        agenda.add(4, Event::Sample);
        assert_eq!(agenda.next(6), Some((4, Event::Sample)));
        for event in order {
            assert_eq!(agenda.next(6), Some((5, event)));
        }
        agenda.add(6, Event::Update);
        assert_eq!(agenda.next(6), None);
    }
}
