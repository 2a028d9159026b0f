//! Memory that workers share, threads or processes alike: one anonymous mapping, allocated piece by piece
//! before they begin. Its contents refer to one another by number, never by address.

use std::cell::Cell;
use std::io;

pub struct SharedMemory {
    base: *mut u8,
    bytes: usize,
    used: Cell<usize>,
}

/// No two pieces share a cache line, nor a pair of lines fetched together.
pub const ALIGN: usize = 128;

impl SharedMemory {
    /// Room for `bytes`; memory is taken only as it is touched.
    pub fn new(bytes: usize) -> io::Result<Self> {
        // SAFETY: a fresh anonymous mapping overlaps nothing.
        let base = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { base: base.cast(), bytes, used: Cell::new(0) })
    }

    /// `count` values made in place, valid as long as the memory; never dropped.
    ///
    /// Panics when the memory is too small: its size is ours to compute.
    pub fn place<T: Sync>(&self, count: usize, mut make: impl FnMut(usize) -> T) -> &[T] {
        const { assert!(align_of::<T>() <= ALIGN) };
        let begin = self.used.get();
        let end = begin + (count * size_of::<T>()).next_multiple_of(ALIGN);
        assert!(end <= self.bytes, "shared memory of {} bytes is too small for {end}", self.bytes);
        self.used.set(end);
        // SAFETY: begin..end lies within the mapping, is aligned for T, and is handed out only once; each
        // value is written before the slice is made.
        unsafe {
            let first = self.base.add(begin).cast::<T>();
            for index in 0..count {
                first.add(index).write(make(index));
            }
            std::slice::from_raw_parts(first, count)
        }
    }

    /// Maps the used part into the calling process now: no page fault within a hold.
    pub fn populate(&self) {
        // SAFETY: the range lies within the mapping; where the kernel knows no such advice nothing happens.
        unsafe { libc::madvise(self.base.cast(), self.used.get(), libc::MADV_POPULATE_WRITE) };
    }
}

impl Drop for SharedMemory {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and no reference outlives the borrow of `self`.
        unsafe { libc::munmap(self.base.cast(), self.bytes) };
    }
}

/// The use of the memory by worker threads while they run.
pub struct Populated<'r>(pub &'r SharedMemory);

// SAFETY: `populate` reads two fields that nobody writes once workers have begun.
unsafe impl Sync for Populated<'_> {}
// SAFETY: as above.
unsafe impl Send for Populated<'_> {}
