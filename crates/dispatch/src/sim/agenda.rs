//! The future events, by time. At one time, bursts end and threads wake before the clock ticks, the update
//! follows the tick, and preemption and stealing come after all of them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The running thread's burst ends. serial: the event is void unless it is the latest of the CPU.
    Burst {
        cpu: u32,
        serial: u32,
    },
    Wake {
        thread: u32,
    },
    /// The running thread's quantum ends, at a tick.
    Expiry {
        cpu: u32,
        serial: u32,
    },
    Update,
    /// The running thread enters the kernel because of a request.
    Ast {
        cpu: u32,
        stint: u32,
    },
    /// Idle CPUs of a partition look for work.
    Steal {
        partition: u32,
    },
    Sample,
}

const ID_BITS: u32 = 28;
const SERIAL_BITS: u32 = 32;

impl Event {
    /// Kind in the highest bits, so that the order of kinds holds within one time.
    fn pack(self) -> u64 {
        let (kind, id, serial) = match self {
            Self::Burst { cpu, serial } => (0, cpu, serial),
            Self::Wake { thread } => (1, thread, 0),
            Self::Expiry { cpu, serial } => (2, cpu, serial),
            Self::Update => (3, 0, 0),
            Self::Ast { cpu, stint } => (4, cpu, stint),
            Self::Steal { partition } => (5, partition, 0),
            Self::Sample => (6, 0, 0),
        };
        kind << (ID_BITS + SERIAL_BITS) | u64::from(id) << SERIAL_BITS | u64::from(serial)
    }

    fn unpack(packed: u64) -> Self {
        let id = (packed >> SERIAL_BITS) as u32 & ((1 << ID_BITS) - 1);
        let serial = packed as u32;
        match packed >> (ID_BITS + SERIAL_BITS) {
            0 => Self::Burst { cpu: id, serial },
            1 => Self::Wake { thread: id },
            2 => Self::Expiry { cpu: id, serial },
            3 => Self::Update,
            4 => Self::Ast { cpu: id, stint: serial },
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
            Event::Burst { cpu: 9, serial: u32::MAX },
            Event::Wake { thread: (1 << ID_BITS) - 1 },
            Event::Expiry { cpu: 3, serial: 7 },
            Event::Update,
            Event::Ast { cpu: 0, stint: 1 },
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
