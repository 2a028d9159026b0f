//! The ring that the kernel writes one CPU's records to (perf_event_open(2), "MMAP layout").

use std::io;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use perf_event_open_sys::bindings::perf_event_mmap_page;

use super::event::Event;
use crate::error::SourceError;

const DATA_BYTES_MAX: usize = 1 << 20;
/// The memory that an unprivileged user may lock (perf_event_mlock_kb) holds a ring of this size.
const DATA_BYTES_MIN: usize = 128 << 10;

/// A mapped ring; unmapped when dropped.
pub struct Ring {
    base: NonNull<u8>,
    page_bytes: usize,
    data_bytes: usize,
}

// SAFETY: the mapping belongs to this value alone; nothing about it is bound to a thread.
unsafe impl Send for Ring {}

impl Ring {
    /// Maps the ring of an event: of 1 MiB, or as much as the user may lock.
    pub fn map(event: &Event, cpu: u32) -> Result<Ring, SourceError> {
        // SAFETY: sysconf has no preconditions.
        let page_bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) }.max(4096) as usize;
        let mut data_bytes = DATA_BYTES_MAX;
        loop {
            // SAFETY: a new shared mapping of an open perf event, at an address that the kernel chooses.
            let base = unsafe {
                libc::mmap(
                    std::ptr::null_mut(),
                    page_bytes + data_bytes,
                    libc::PROT_READ | libc::PROT_WRITE,
                    libc::MAP_SHARED,
                    event.as_raw_fd(),
                    0,
                )
            };
            if base != libc::MAP_FAILED
                && let Some(base) = NonNull::new(base.cast::<u8>())
            {
                return Ok(Ring { base, page_bytes, data_bytes });
            }
            let cause = io::Error::last_os_error();
            if data_bytes <= DATA_BYTES_MIN {
                return Err(SourceError::NoRing { cpu, cause });
            }
            data_bytes /= 2;
        }
    }

    /// Hands each record, header included, to `take`; gives their room back to the kernel.
    pub fn drain(&mut self, buffer: &mut Vec<u8>, mut take: impl FnMut(&[u8])) {
        let (head, tail) = self.ends();
        let from = tail.load(Ordering::Relaxed);
        let to = head.load(Ordering::Acquire);
        let (mut at, end) = (0, (to - from) as usize);
        buffer.clear();
        self.copy(from, end, buffer);
        tail.store(to, Ordering::Release);
        while let Some(header) = buffer.get(at..at + 8) {
            let size = usize::from(u16::from_le_bytes([header[6], header[7]]));
            let Some(record) = buffer.get(at..at + size).filter(|_| size >= 8) else { break };
            take(record);
            at += size;
        }
    }

    fn ends(&self) -> (&AtomicU64, &AtomicU64) {
        let page = self.base.as_ptr().cast::<perf_event_mmap_page>();
        // SAFETY: the first page of the mapping is a perf_event_mmap_page, aligned to a page; the
        // kernel writes data_head and reads data_tail, so both are atomics to us.
        unsafe {
            (AtomicU64::from_ptr(&raw mut (*page).data_head), AtomicU64::from_ptr(&raw mut (*page).data_tail))
        }
    }

    /// Appends the bytes of [from, from + length), which may wrap.
    fn copy(&self, from: u64, length: usize, buffer: &mut Vec<u8>) {
        let start = (from % self.data_bytes as u64) as usize;
        let straight = length.min(self.data_bytes - start);
        for (offset, part) in [(start, straight), (0, length - straight)] {
            // SAFETY: offset + part <= data_bytes, which follow the first page of the mapping; the
            // kernel does not write between data_tail and data_head.
            buffer.extend_from_slice(unsafe {
                std::slice::from_raw_parts(self.base.as_ptr().add(self.page_bytes + offset), part)
            });
        }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: mapped by us with this length, and not used again.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.page_bytes + self.data_bytes) };
    }
}
