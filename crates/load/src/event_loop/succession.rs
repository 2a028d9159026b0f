//! What a client does after a reply, after a pause, and after a transaction.

use std::cmp::Reverse;

use steelyard_engine::clock::now_ns;

use super::Loop;
use crate::client::Then;
use crate::protocol::{Protocol, Reply};
use crate::record::Ending;

/// A transaction that sends nothing is followed by another after this pause.
const NOTHING_SENT_NS: u64 = 10_000;

impl<P: Protocol> Loop<'_, P> {
    /// Continues the transactions whose pause is over.
    pub(super) fn resume_due(&mut self, now: u64) {
        while let Some(Reverse((due, index))) = self.pausing.peek().copied() {
            if due > now {
                break;
            }
            self.pausing.pop();
            let then = self.clients[index].resume(self.work, now_ns(), &mut self.record, index);
            self.follow(index, then, now);
        }
    }

    pub(super) fn begin(&mut self, index: usize, intended_ns: u64, now: u64) {
        if self.clients[index].transport.is_none() {
            return;
        }
        let intended_ns = match self.clients[index].receive(self.work, now) {
            Ok(due_ns) => due_ns.unwrap_or(intended_ns),
            Err(again_ns) => return self.thinking.push(Reverse((again_ns, index))),
        };
        if self.record.began_ns == 0 {
            self.record.began_ns = now;
        }
        let then = self.clients[index].begin(self.work, intended_ns, now, &mut self.record, index);
        if then != Then::Done {
            return self.follow(index, then, now);
        }
        // it ended without a message: the loop serves its other clients before it begins the next
        if self.schedule.is_some() {
            self.idle.push_back(index);
        } else if now < self.record.window.last_begin_ns {
            let pause_ns = self.clients[index].pause_ns(self.work, false);
            self.thinking.push(Reverse((now + pause_ns.max(NOTHING_SENT_NS), index)));
        }
    }

    pub(super) fn reply(&mut self, index: usize, reply: Reply) {
        let now = now_ns();
        let client = &mut self.clients[index];
        if !client.busy {
            return;
        }
        let then = client.take(self.work, reply, now, &mut self.record, index);
        self.follow(index, then, now);
    }

    /// What a client does next.
    fn follow(&mut self, index: usize, then: Then, now: u64) {
        match then {
            Then::Send => return self.send(index),
            Then::Wait { ns } => return self.pausing.push(Reverse((now + ns, index))),
            Then::Done => {}
        }
        if self.clients[index].busy || now >= self.record.window.last_begin_ns {
            return;
        }
        if self.schedule.is_some() {
            match self.waiting.pop_front() {
                Some(intended) => self.begin(index, intended, now),
                None => self.idle.push_back(index),
            }
        } else {
            match self.clients[index].pause_ns(self.work, false) {
                0 => self.next(index, now),
                pause => self.thinking.push(Reverse((now + pause, index))),
            }
        }
    }

    /// Begins a client's next transaction; in a replay, when it is due: from then on its latency counts.
    pub(super) fn next(&mut self, index: usize, now: u64) {
        let Some(capture) = &self.work.capture else { return self.begin(index, now, now) };
        if self.clients[index].transport.is_none() {
            return;
        }
        match self.clients[index].player.due(capture, self.record.window.start_ns, now) {
            Ok(Some(due)) if due <= now => self.begin(index, due, now),
            Ok(Some(due)) => self.thinking.push(Reverse((due, index))),
            Ok(None) => {}
            Err(cause) => {
                let ending = Ending { client: index, transaction: 0, begin_ns: now, now_ns: now };
                self.record.failed(ending, None, "capture", &cause);
                self.thinking.push(Reverse((now, index)));
            }
        }
    }
}
