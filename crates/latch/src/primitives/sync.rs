//! Atomics and sleeping, real or as loom models them.

use steelyard_engine::clock::now_ns;

#[cfg(feature = "loom")]
pub use loom::sync::atomic::{AtomicU32, AtomicU64, fence};
#[cfg(not(feature = "loom"))]
pub use std::sync::atomic::{AtomicU32, AtomicU64, fence};

pub use std::sync::atomic::Ordering;

/// One iteration of an unbounded wait for memory to change.
#[inline]
pub fn relax() {
    #[cfg(not(feature = "loom"))]
    std::hint::spin_loop();
    #[cfg(feature = "loom")]
    loom::thread::yield_now();
}

/// Yields the CPU: the worker waited for may have been preempted.
pub fn give_way() {
    #[cfg(not(feature = "loom"))]
    std::thread::yield_now();
    #[cfg(feature = "loom")]
    loom::thread::yield_now();
}

/// Where one worker sleeps until it is posted; a post before the sleep is kept.
pub struct Parker {
    posted: AtomicU32,
    #[cfg(feature = "loom")]
    queue: (loom::sync::Mutex<()>, loom::sync::Condvar),
}

impl Default for Parker {
    fn default() -> Self {
        Self {
            posted: AtomicU32::new(0),
            #[cfg(feature = "loom")]
            queue: (loom::sync::Mutex::new(()), loom::sync::Condvar::new()),
        }
    }
}

impl Parker {
    pub fn post(&self) {
        self.posted.swap(1, Ordering::Release);
        self.futex_wake();
    }

    /// Takes a post, sleeping until there is one; the ns slept, where it slept at all.
    pub fn wait(&self) -> Option<u64> {
        let mut begin_ns = None;
        while self.posted.swap(0, Ordering::Acquire) == 0 {
            begin_ns.get_or_insert_with(now_ns);
            self.futex_wait();
        }
        begin_ns.map(|begin_ns| now_ns() - begin_ns)
    }

    #[cfg(not(feature = "loom"))]
    fn futex_wait(&self) {
        // SAFETY: the word lives as long as `self`; no FUTEX_PRIVATE_FLAG, for it may be shared by
        // processes; a spurious return is met by the loop of the caller.
        unsafe {
            libc::syscall(
                libc::SYS_futex,
                self.posted.as_ptr(),
                libc::FUTEX_WAIT,
                0,
                std::ptr::null::<libc::timespec>(),
            )
        };
    }

    #[cfg(not(feature = "loom"))]
    fn futex_wake(&self) {
        // SAFETY: as above; waking needs the address only.
        unsafe { libc::syscall(libc::SYS_futex, self.posted.as_ptr(), libc::FUTEX_WAKE, 1) };
    }

    /// Compare and park, as a futex does.
    #[cfg(feature = "loom")]
    fn futex_wait(&self) {
        let guard = self.queue.0.lock().unwrap();
        if self.posted.load(Ordering::Acquire) == 0 {
            drop(self.queue.1.wait(guard).unwrap());
        }
    }

    #[cfg(feature = "loom")]
    fn futex_wake(&self) {
        drop(self.queue.0.lock().unwrap());
        self.queue.1.notify_one();
    }
}
