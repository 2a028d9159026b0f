//! io_uring: one system call hands over all messages written since the last one and waits for
//! replies, which arrive in buffers shared with the kernel. Plain sockets only, left blocking.

use std::io;
use std::os::fd::RawFd;

use io_uring::squeue::{Entry, Flags};
use io_uring::types::{CancelBuilder, Fd, SubmitArgs, TimeoutFlags, Timespec};
use io_uring::{IoUring, cqueue, opcode};

mod pool;

use pool::{BUFFER_BYTES, Pool};

const ENTRIES: u32 = 512;
const GROUP: u16 = 0;

const RECEIVE: u64 = 0;
const SEND: u64 = 1;
const CANCEL: u64 = 2;
const TICK: u64 = 3;

/// An event of a client's connection.
#[derive(Debug)]
pub enum Done {
    /// Bytes came: read [`Uring::bytes`], then [`Uring::give_back`] their buffer.
    Bytes { client: usize, buffer: u16, length: usize },
    /// The connection ended; error 0: the server closed it.
    Ended { client: usize, error: i32 },
}

/// One connection of this ring. A lost one keeps its slot until the ring is closed.
struct Slot {
    fd: RawFd,
    client: Option<usize>,
}

pub struct Uring {
    ring: IoUring,
    pool: Pool,
    tick: Box<Timespec>,
    slots: Vec<Slot>,
    /// Slot of each client.
    places: Vec<usize>,
    /// Messages of lost connections: the kernel may still read them.
    kept: Vec<Vec<u8>>,
    /// Requests that have not ended.
    active: usize,
    closing: bool,
}

impl Uring {
    /// A ring for the calling thread and its clients, with a tick every `tick_ns`. Fails where the
    /// kernel has no io_uring, too old a one (before 6.4), or forbids it.
    pub fn new(tick_ns: u32, clients: usize) -> io::Result<Self> {
        let ring = IoUring::builder()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .setup_cqsize(4 * ENTRIES)
            .build(ENTRIES)?;
        let pool = Pool::new(clients)?;
        // SAFETY: the descriptors are page-aligned, zeroed, and outlive the ring's requests: `drop`
        // ends those first, or leaks the pool.
        unsafe {
            ring.submitter().register_buf_ring_with_flags(
                pool.base.as_ptr() as u64,
                pool.buffers,
                GROUP,
                0,
            )?;
        }
        let tick = Box::new(Timespec::new().nsec(tick_ns));
        let mut this = Self {
            ring,
            pool,
            tick,
            slots: Vec::new(),
            places: Vec::new(),
            kept: Vec::new(),
            active: 0,
            closing: false,
        };
        for buffer in 0..this.pool.buffers {
            this.pool.give_back(buffer);
        }
        this.start_tick()?;
        // too old a kernel refuses the tick at once
        this.wait(Some(0), &mut Vec::new())?;
        if this.active == 0 { Err(io::ErrorKind::Unsupported.into()) } else { Ok(this) }
    }

    /// Adds a client's connection.
    pub fn add(&mut self, fd: RawFd, client: usize) -> io::Result<()> {
        let slot = self.slots.len();
        self.slots.push(Slot { fd, client: Some(client) });
        if self.places.len() <= client {
            self.places.resize(client + 1, usize::MAX);
        }
        self.places[client] = slot;
        self.active += 1;
        self.receive(slot)
    }

    /// Sends a message with the next wait. It must not change until its reply is there.
    pub fn send(&mut self, client: usize, message: &[u8]) -> io::Result<()> {
        let slot = self.places[client];
        // the kernel continues until all is sent, and does not report it
        let entry = opcode::Send::new(Fd(self.slots[slot].fd), message.as_ptr(), message.len() as u32)
            .flags(libc::MSG_NOSIGNAL | libc::MSG_WAITALL)
            .build()
            .flags(Flags::SKIP_SUCCESS)
            .user_data((slot as u64) << 2 | SEND);
        self.push(entry)
    }

    /// The client's connection is given up, and not yet dropped. `message`: its last, which is kept
    /// while the kernel may read it.
    pub fn forget(&mut self, client: usize, message: Vec<u8>) {
        // a request that waits to be submitted names a descriptor that may soon be another's; what
        // fails is reported by its completion
        let _ = self.ring.submit();
        let slot = &mut self.slots[self.places[client]];
        slot.client = None;
        self.kept.push(message);
        // SAFETY: no pointers; the transport, which owns the descriptor, is still there.
        unsafe { libc::shutdown(slot.fd, libc::SHUT_RDWR) };
    }

    /// Submits what was sent, and waits for at most `timeout_ns`, or until the next tick when none.
    pub fn wait(&mut self, timeout_ns: Option<u64>, done: &mut Vec<Done>) -> io::Result<()> {
        let outcome = match timeout_ns {
            None => self.ring.submit_and_wait(1),
            Some(ns) => {
                let time = Timespec::new().sec(ns / 1_000_000_000).nsec((ns % 1_000_000_000) as u32);
                self.ring.submitter().submit_with_args(1, &SubmitArgs::new().timespec(&time))
            }
        };
        if let Err(error) = outcome {
            match error.raw_os_error() {
                Some(libc::ETIME | libc::EINTR | libc::EBUSY | libc::EAGAIN) => {}
                _ => return Err(error),
            }
        }
        while let Some(entry) = self.next() {
            self.sort(&entry, done)?;
        }
        Ok(())
    }

    /// Received bytes, where the kernel put them.
    pub fn bytes(&self, buffer: u16, length: usize) -> &[u8] {
        // SAFETY: the kernel has filled `length` bytes of this buffer and does not touch it until
        // it is given back, which takes the ring mutably.
        unsafe { std::slice::from_raw_parts(self.pool.buffer(buffer), length.min(BUFFER_BYTES)) }
    }

    /// The kernel may reuse the buffer.
    pub fn give_back(&mut self, buffer: u16) {
        self.pool.give_back(buffer);
    }

    fn next(&mut self) -> Option<cqueue::Entry> {
        self.ring.completion().next()
    }

    fn sort(&mut self, entry: &cqueue::Entry, done: &mut Vec<Done>) -> io::Result<()> {
        let (result, flags) = (entry.result(), entry.flags());
        let slot = (entry.user_data() >> 2) as usize;
        let last = !cqueue::more(flags);
        match entry.user_data() & 3 {
            RECEIVE => {
                self.active -= usize::from(last);
                let client = self.slots[slot].client;
                if let Some(buffer) = cqueue::buffer_select(flags) {
                    match client {
                        Some(client) if result > 0 => {
                            done.push(Done::Bytes { client, buffer, length: result as usize });
                        }
                        _ => self.pool.give_back(buffer),
                    }
                }
                if let Some(client) = client
                    && last
                {
                    if result > 0 || result == -libc::ENOBUFS {
                        self.active += 1;
                        return self.receive(slot);
                    }
                    done.push(Done::Ended { client, error: -result });
                }
            }
            // a server that ends the connection says why before: the receipt reads that, and then the end
            SEND if result > 0 || matches!(-result, libc::EPIPE | libc::ECONNRESET) => {}
            SEND => {
                if let Some(client) = self.slots[slot].client {
                    done.push(Done::Ended { client, error: (-result).max(0) });
                }
            }
            TICK if last => {
                self.active -= 1;
                if !self.closing && result == -libc::ETIME {
                    return self.start_tick();
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn start_tick(&mut self) -> io::Result<()> {
        let entry = opcode::Timeout::new(&*self.tick).flags(TimeoutFlags::MULTISHOT).build();
        self.active += 1;
        self.push(entry.user_data(TICK))
    }

    fn receive(&mut self, slot: usize) -> io::Result<()> {
        let entry = opcode::RecvMulti::new(Fd(self.slots[slot].fd), GROUP).build();
        self.push(entry.user_data((slot as u64) << 2 | RECEIVE))
    }

    fn push(&mut self, entry: Entry) -> io::Result<()> {
        loop {
            // SAFETY: the pointers in an entry are to memory that outlives its request: messages
            // stay as they are until their reply or are kept by `forget`; the tick is ours.
            if unsafe { self.ring.submission().push(&entry) }.is_ok() {
                return Ok(());
            }
            self.ring.submit()?;
        }
    }

    /// Cancels all requests and waits for their end; false when some did not end.
    fn close(&mut self) -> bool {
        self.closing = true;
        for slot in &mut self.slots {
            slot.client = None;
        }
        for _ in 0..100 {
            if self.active == 0 {
                return true;
            }
            let cancel = opcode::AsyncCancel2::new(CancelBuilder::any().all()).build();
            if self.push(cancel.user_data(CANCEL)).is_err()
                || self.wait(Some(10_000_000), &mut Vec::new()).is_err()
            {
                return false;
            }
        }
        false
    }
}

impl Drop for Uring {
    fn drop(&mut self) {
        if !self.close() {
            // the kernel may still use them: better lost than reused
            self.pool.leak = true;
            std::mem::take(&mut self.kept).leak();
            Box::leak(std::mem::take(&mut self.tick));
        }
    }
}
