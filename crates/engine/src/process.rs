//! Processes forked from this one.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs `body` in a child process, which is killed when this thread ends; the child's pid.
///
/// # Safety
///
/// In the child only the calling thread exists: `body` must need no lock that another thread of this
/// process may hold (malloc's excepted, which the C library keeps usable), and nothing that must not cross
/// a fork.
pub unsafe fn fork(body: impl FnOnce()) -> io::Result<libc::pid_t> {
    // SAFETY: getpid has no preconditions.
    let parent = unsafe { libc::getpid() };
    // SAFETY: the caller answers for `body`; the child leaves by _exit.
    let pid = unsafe { libc::fork() };
    if pid != 0 {
        return if pid < 0 { Err(io::Error::last_os_error()) } else { Ok(pid) };
    }
    // SAFETY: prctl with integers touches no memory.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
    // SAFETY: getppid has no preconditions; a parent that died before prctl sends nothing.
    let orphan = unsafe { libc::getppid() } != parent;
    let done = !orphan && catch_unwind(AssertUnwindSafe(body)).is_ok();
    // SAFETY: nothing of the parent's is to be flushed or dropped here.
    unsafe { libc::_exit(i32::from(!done)) }
}
