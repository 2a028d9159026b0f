//! The pthread mutex, shared by processes and robust: after the death of its owner the next one gets
//! EOWNERDEAD and makes the mutex consistent again.

use std::cell::UnsafeCell;

use super::{Facts, Held};
use crate::primitives::slot::{Me, Mode, Wait};

pub struct RobustMutex {
    mutex: UnsafeCell<libc::pthread_mutex_t>,
    index: u32,
}

// SAFETY: the mutex is only reached through pthread calls, made for several threads and processes.
unsafe impl Sync for RobustMutex {}

impl RobustMutex {
    /// Whether a call got the mutex, possibly from a dead owner.
    fn got(&self, outcome: libc::c_int) -> bool {
        if outcome == libc::EOWNERDEAD {
            // SAFETY: this thread owns the mutex, as EOWNERDEAD says.
            unsafe { libc::pthread_mutex_consistent(self.mutex.get()) };
        }
        outcome == 0 || outcome == libc::EOWNERDEAD
    }
}

impl Held for RobustMutex {
    const FACTS: Facts = Facts {
        name: "robust-mutex",
        source: "POSIX.1-2008, pthread_mutexattr_setrobust",
        processes: true,
        shared: false,
        misses: true,
        sleeps: false,
        spin: 0,
        spins: 1,
        in_turn: false,
        mends: true,
        children: true,
    };

    fn new(index: u32) -> Self {
        // SAFETY: attributes and mutex are valid for the calls. glibc's mutex holds no address of its own
        // until it is locked, so it may move to its place in the memory before that.
        let mutex = unsafe {
            let mut attributes: libc::pthread_mutexattr_t = std::mem::zeroed();
            libc::pthread_mutexattr_init(&mut attributes);
            libc::pthread_mutexattr_setpshared(&mut attributes, libc::PTHREAD_PROCESS_SHARED);
            libc::pthread_mutexattr_setrobust(&mut attributes, libc::PTHREAD_MUTEX_ROBUST);
            let mut mutex: libc::pthread_mutex_t = std::mem::zeroed();
            libc::pthread_mutex_init(&mut mutex, &attributes);
            mutex
        };
        Self { mutex: UnsafeCell::new(mutex), index }
    }

    #[inline]
    fn try_get(&self, _mode: Mode, _me: &Me) -> bool {
        // SAFETY: `new` made it ready, and it does not move once workers have begun.
        self.got(unsafe { libc::pthread_mutex_trylock(self.mutex.get()) })
    }

    fn wait_get(&self, _mode: Mode, me: &Me) -> Wait {
        me.begin_wait(self.index);
        // SAFETY: as above.
        while !self.got(unsafe { libc::pthread_mutex_lock(self.mutex.get()) }) {}
        me.end_wait();
        Wait::MISSED
    }

    #[inline]
    fn release(&self, _mode: Mode, _me: &Me) {
        // SAFETY: this thread owns the mutex.
        unsafe { libc::pthread_mutex_unlock(self.mutex.get()) };
    }
}
