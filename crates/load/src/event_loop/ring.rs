//! The loop over io_uring in place of epoll.

use std::io;
use std::os::fd::RawFd;

use super::{CARE_NS, Loop};
use crate::error::LoadError;
use crate::io::uring::{Done, Uring};
use crate::plan::{Io, Plan, Tls};
use crate::protocol::{Dialogue, Protocol};

/// The ring, where the plan and the kernel permit it.
pub(super) fn ring(plan: &Plan, clients: usize) -> Result<Option<Uring>, LoadError> {
    let ring = match plan.io {
        Io::Epoll => return Ok(None),
        Io::Auto if plan.server.tls != Tls::Disable => return Ok(None),
        Io::Auto | Io::IoUring => Uring::new(CARE_NS as u32, clients),
    };
    match ring {
        Ok(ring) => Ok(Some(ring)),
        Err(_) if plan.io == Io::Auto => Ok(None),
        Err(cause) => Err(LoadError::NoUring { cause }),
    }
}

impl<P: Protocol> Loop<'_, P> {
    /// Adds a client's connection.
    pub(super) fn attach(&mut self, index: usize, fd: RawFd) -> Result<(), LoadError> {
        if let Some(uring) = &mut self.uring {
            return Ok(uring.add(fd, index)?);
        }
        if let Some(transport) = &self.clients[index].transport {
            transport.set_nonblocking(true)?;
        }
        Ok(self.poll.add(fd, index)?)
    }

    pub(super) fn wait_ring(&mut self, timeout_ns: Option<u64>) -> Result<(), LoadError> {
        let mut done = std::mem::take(&mut self.done);
        if let Some(uring) = &mut self.uring {
            // without a timeout the ring's own tick ends the wait: to arm a timer each time costs more
            uring.wait(timeout_ns, &mut done)?;
        }
        for event in done.drain(..) {
            match event {
                Done::Bytes { client, buffer, length } => {
                    let Some(uring) = &mut self.uring else { continue };
                    let awaited = self.clients[client].transport.is_some();
                    let found =
                        awaited.then(|| self.clients[client].dialogue.feed(uring.bytes(buffer, length)));
                    uring.give_back(buffer);
                    if let Some(found) = found {
                        self.read(client, found);
                    }
                }
                Done::Ended { client, .. } if self.clients[client].transport.is_none() => {}
                Done::Ended { client, error: 0 } => {
                    self.break_off(client, "the server closed the connection")
                }
                Done::Ended { client, error } => {
                    self.break_off(client, &io::Error::from_raw_os_error(error).to_string());
                }
            }
        }
        self.done = done;
        Ok(())
    }
}
