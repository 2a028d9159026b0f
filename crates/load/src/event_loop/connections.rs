//! The connections of a loop: bytes out and in, what is lost and what replaces it.

use std::cmp::Reverse;
use std::io::ErrorKind;

use steelyard_engine::clock::now_ns;
use steelyard_engine::error::PlanError;

use super::Loop;
use crate::error::LoadError;
use crate::event_loop::reconnect::Reconnector;
use crate::io::transport::Transport;
use crate::protocol::{Dialogue, Protocol, Reply};

const BACK_OFF_NS: u64 = 50_000_000;
/// Without a single connection for this long, the server counts as gone.
const LOST_S: u64 = 2;

/// Pieces of a client's reply that are read before other clients are served.
const PIECES_MAX: usize = 64;

impl<P: Protocol> Loop<'_, P> {
    /// The clients as the load before left them, with a connection or without.
    pub(super) fn take_in(&mut self) -> Result<(), LoadError> {
        for index in 0..self.clients.len() {
            match &self.clients[index].transport {
                Some(transport) => {
                    let fd = transport.fd();
                    self.attach(index, fd)?;
                    if self.schedule.is_some() {
                        self.idle.push_back(index);
                    } else {
                        let pause_ns = self.clients[index].pause_ns(self.work, true);
                        self.thinking.push(Reverse((self.record.window.start_ns + pause_ns, index)));
                    }
                }
                // what was lost in an earlier load was counted there
                None => {
                    self.closed.insert(index, None);
                    self.lost.push((0, index));
                }
            }
        }
        Ok(())
    }

    pub(super) fn send(&mut self, index: usize) {
        let client = &mut self.clients[index];
        let Some(transport) = &mut client.transport else { return };
        if let Some(uring) = &mut self.uring {
            client.sent = client.out.len();
            if let Err(error) = uring.send(index, &client.out) {
                self.break_off(index, &error.to_string());
            }
            return;
        }
        match push(transport, &client.out, &mut client.sent) {
            Ok(()) if !client.armed => {}
            Ok(()) => self.arm(index, false),
            Err(error) if error.kind() == ErrorKind::WouldBlock => self.arm(index, true),
            Err(error) => self.break_off(index, &error.to_string()),
        }
    }

    /// Sets whether the loop waits until the client's socket is writable.
    fn arm(&mut self, index: usize, on: bool) {
        let client = &mut self.clients[index];
        let Some(transport) = &client.transport else { return };
        match self.poll.set_writable(transport.fd(), index, on) {
            Ok(()) => client.armed = on,
            Err(error) => self.break_off(index, &error.to_string()),
        }
    }

    pub(super) fn receive(&mut self, index: usize) {
        // a server that sends without end must not keep the loop from its other clients and from its end:
        // epoll reports the rest again
        for _ in 0..PIECES_MAX {
            let client = &mut self.clients[index];
            let Some(transport) = &mut client.transport else { return };
            let count = match transport.read(&mut self.buffer) {
                Ok(0) => return self.break_off(index, "the server closed the connection"),
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return self.break_off(index, &error.to_string()),
            };
            let more = count == self.buffer.len() || transport.is_encrypted();
            let found = client.dialogue.feed(&self.buffer[..count]);
            if !self.read(index, found) || !more {
                return;
            }
        }
    }

    /// Continues after a scan; false when it ended the connection.
    pub(super) fn read(&mut self, index: usize, found: Result<Option<Reply>, PlanError>) -> bool {
        match found {
            Ok(Some(Reply { error: Some(error), .. })) if P::is_last(&error.code) => {
                self.gone(index, &error.code, &error.message);
                return false;
            }
            Ok(Some(reply)) => {
                self.reply(index, reply);
                while let Some(reply) = self.clients[index].dialogue.further() {
                    self.reply(index, reply);
                }
            }
            Ok(None) => {}
            Err(error) => {
                self.break_off(index, &error.to_string());
                return false;
            }
        }
        true
    }

    /// The connection broke: with the server's last message as the cause, or else `cause`.
    pub(super) fn break_off(&mut self, index: usize, cause: &str) {
        let client = &mut self.clients[index];
        let mut said = None;
        if let Some(transport) = &mut client.transport
            && self.uring.is_none()
        {
            // a write may fail before the server's last words are read
            for _ in 0..PIECES_MAX {
                let Ok(count @ 1..) = transport.read(&mut self.buffer) else { break };
                let Ok(reply) = client.dialogue.feed(&self.buffer[..count]) else { break };
                said = said.or(reply.and_then(|reply| reply.error));
            }
        }
        match said.or_else(|| client.dialogue.last_error()) {
            Some(error) => self.gone(index, &error.code, &error.message),
            None => self.gone(index, "connection", cause),
        }
    }

    fn gone(&mut self, index: usize, code: &str, cause: &str) {
        self.record.lost.one(cause);
        self.lose(index, now_ns(), code, cause);
    }

    /// Closes a connection whose answer is late: a loss only if it stays without
    /// another.
    pub(super) fn close(&mut self, index: usize, now: u64, cause: &str) {
        self.closed.insert(index, None);
        self.lose(index, now, "deadline", cause);
    }

    fn lose(&mut self, index: usize, now: u64, code: &str, cause: &str) {
        let client = &mut self.clients[index];
        if let Some(uring) = &mut self.uring
            && client.transport.is_some()
        {
            uring.forget(index, std::mem::take(&mut client.out));
        }
        self.clients[index].lose(self.work, now, &mut self.record, index, code, cause);
        self.idle.retain(|idle| *idle != index);
        self.thinking.retain(|Reverse((_, thinking))| *thinking != index);
        self.pausing.retain(|Reverse((_, pausing))| *pausing != index);
        self.last_cause = cause.to_string();
        self.lost.push((now, index));
    }

    /// Replaces connections past their deadline and those that were lost.
    pub(super) fn care(&mut self, now: u64) -> Result<(), LoadError> {
        let deadline_ns = (self.work.plan.deadline_ms * 1e6) as u64;
        for index in 0..self.clients.len() {
            let client = &self.clients[index];
            if client.busy && now.saturating_sub(client.sent_ns) > deadline_ns {
                self.close(index, now, "no answer within the deadline");
            }
        }
        self.reconnect(now)?;
        if self.clients.iter().any(|client| client.transport.is_some()) {
            self.alone_since_ns = None;
        } else if now.saturating_sub(*self.alone_since_ns.get_or_insert(now)) > LOST_S * 1_000_000_000 {
            return Err(LoadError::Lost {
                address: self.work.plan.server.address(),
                seconds: LOST_S,
                cause: std::mem::take(&mut self.last_cause),
            });
        }
        Ok(())
    }

    fn reconnect(&mut self, now: u64) -> Result<(), LoadError> {
        let outcomes: Vec<_> = self.reconnector.iter().flat_map(Reconnector::outcomes).collect();
        for (index, outcome) in outcomes {
            match outcome {
                Ok(transport) => self.rejoin(index, transport)?,
                Err(cause) => {
                    if let Some(why) = self.closed.get_mut(&index) {
                        *why = Some(cause.clone());
                    }
                    self.last_cause = cause;
                    self.lost.push((now + BACK_OFF_NS, index));
                }
            }
        }
        let due: Vec<usize> =
            self.lost.extract_if(.., |(due, _)| *due <= now).map(|(_, index)| index).collect();
        if !due.is_empty() {
            let reconnector = match self.reconnector.take() {
                Some(reconnector) => reconnector,
                None => Reconnector::new::<P>((&self.work.plan).into())?,
            };
            self.reconnector.insert(reconnector).ask(due);
        }
        Ok(())
    }

    fn rejoin(&mut self, index: usize, transport: Transport) -> Result<(), LoadError> {
        let fd = transport.fd();
        self.clients[index].transport = Some(transport);
        self.closed.remove(&index);
        self.attach(index, fd)?;
        self.record.reconnections += 1;
        if self.schedule.is_some() {
            self.idle.push_back(index);
        } else {
            self.thinking.push(Reverse((now_ns(), index)));
        }
        Ok(())
    }
}

/// Writes the rest; WouldBlock when the socket's buffer is full.
fn push(transport: &mut Transport, out: &[u8], sent: &mut usize) -> std::io::Result<()> {
    while *sent < out.len() {
        match transport.write(&out[*sent..]) {
            Ok(count) => *sent += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    transport.flush()
}
