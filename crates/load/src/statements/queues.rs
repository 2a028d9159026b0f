//! Messages between transactions: what one sends, another takes when it is due.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use crate::statements::value::{Kind, Value};

/// How long a client without a message waits until it looks again; a message that is due is not late by it.
const LOOK_NS: u64 = 1_000_000;

/// Messages that a transaction takes from a queue.
#[derive(Debug)]
pub struct Taking {
    pub queue: usize,
    /// Places of the values, message by message.
    pub places: Vec<usize>,
    /// Of a message.
    pub values: usize,
    /// Without so many it does not begin.
    pub least: usize,
}

/// By the time when they are due, and in the order in which they were sent.
type Queue = BTreeMap<(u64, u64), Vec<Value>>;

/// All queues of a plan, for the clients of all threads.
pub struct Queues(Mutex<Waiting>);

struct Waiting {
    queues: Vec<Queue>,
    sent: u64,
}

impl Queues {
    pub fn new(count: usize) -> Self {
        Self(Mutex::new(Waiting { queues: vec![Queue::new(); count], sent: 0 }))
    }

    pub fn send(&self, queue: usize, due_ns: u64, message: Vec<Value>) {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.sent += 1;
        let number = waiting.sent;
        waiting.queues[queue].insert((due_ns, number), message);
    }

    /// Gives the values of the messages to their places among `values`; returns when the last that was needed was due. Err:
    /// when to look again.
    pub fn take(&self, takes: &[Taking], now_ns: u64, values: &mut [Value]) -> Result<u64, u64> {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut ready_ns = 0;
        for one in takes.iter().filter(|one| one.least > 0) {
            match waiting.queues[one.queue].keys().nth(one.least - 1) {
                Some((due_ns, _)) => ready_ns = ready_ns.max(*due_ns),
                None => return Err(now_ns + LOOK_NS),
            }
        }
        if ready_ns > now_ns {
            return Err(ready_ns.min(now_ns + LOOK_NS));
        }
        for one in takes {
            for places in one.places.chunks(one.values) {
                let first = waiting.queues[one.queue].first_entry().filter(|first| first.key().0 <= now_ns);
                let Some(message) = first.map(|first| first.remove()) else {
                    places.iter().for_each(|place| values[*place].kind = Kind::Null);
                    continue;
                };
                for (place, value) in places.iter().zip(message) {
                    values[*place] = value;
                }
            }
        }
        Ok(ready_ns)
    }
}
