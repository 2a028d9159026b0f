//! The memory that a ring shares with the kernel.

use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU16, Ordering};

use io_uring::types::BufRingEntry;

pub(super) const BUFFER_BYTES: usize = 4096;

/// Buffers for what arrives, and the descriptors through which the kernel is given them.
pub(super) struct Pool {
    pub(super) base: NonNull<u8>,
    /// A power of two.
    pub(super) buffers: u16,
    tail: u16,
    /// Set when the kernel may still use the buffers.
    pub(super) leak: bool,
}

impl Pool {
    /// Two buffers per client: the kernel takes them in turn, and fewer stay in the CPU's cache.
    pub(super) fn new(clients: usize) -> io::Result<Self> {
        let buffers = (2 * clients.min(1024)).next_power_of_two().max(16) as u16;
        // SAFETY: an anonymous mapping at an address of the kernel's choice; the result is checked.
        let base = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                Self::bytes(buffers),
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        match NonNull::new(base.cast()) {
            Some(found) if base != libc::MAP_FAILED => {
                Ok(Self { base: found, buffers, tail: 0, leak: false })
            }
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// The descriptors, whole pages of them, and the buffers behind.
    fn descriptor_bytes(buffers: u16) -> usize {
        (usize::from(buffers) * size_of::<BufRingEntry>()).next_multiple_of(BUFFER_BYTES)
    }

    fn bytes(buffers: u16) -> usize {
        Self::descriptor_bytes(buffers) + usize::from(buffers) * BUFFER_BYTES
    }

    pub(super) fn buffer(&self, buffer: u16) -> *mut u8 {
        let number = usize::from(buffer % self.buffers);
        let offset = Self::descriptor_bytes(self.buffers) + number * BUFFER_BYTES;
        // SAFETY: the offset lies within the mapping.
        unsafe { self.base.as_ptr().add(offset) }
    }

    pub(super) fn give_back(&mut self, buffer: u16) {
        let descriptors: *mut BufRingEntry = self.base.as_ptr().cast();
        // SAFETY: the index lies within the descriptors, which only this thread writes; the kernel
        // reads an entry after the tail has passed it.
        unsafe {
            let entry = &mut *descriptors.add(usize::from(self.tail % self.buffers));
            entry.set_addr(self.buffer(buffer) as u64);
            entry.set_len(BUFFER_BYTES as u32);
            entry.set_bid(buffer);
            self.tail = self.tail.wrapping_add(1);
            let tail = BufRingEntry::tail(descriptors).cast::<AtomicU16>();
            (*tail).store(self.tail, Ordering::Release);
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        if !self.leak {
            // SAFETY: the mapping is ours, and no request that could write into it is left.
            unsafe { libc::munmap(self.base.as_ptr().cast(), Self::bytes(self.buffers)) };
        }
    }
}
