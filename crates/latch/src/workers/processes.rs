//! Worker processes: forked, reaped, killed.

use std::io;

use super::closed_loop::work;
use crate::point::state::PointState;

/// A worker process that ended too early.
#[derive(Debug, Clone, Copy)]
pub struct Death {
    pub worker: usize,
    pub pid: libc::pid_t,
    /// 0: it exited.
    pub signal: i32,
}

struct Child {
    pid: libc::pid_t,
    worker: usize,
}

/// Processes not yet reaped; killed when dropped.
#[derive(Default)]
pub struct Processes(Vec<Child>);

impl Processes {
    /// Starts a worker.
    pub fn fork(&mut self, state: &PointState, worker: usize) -> io::Result<()> {
        self.0.push(Child { pid: fork(state, worker)?, worker });
        Ok(())
    }

    pub fn pids(&self) -> Vec<libc::pid_t> {
        self.0.iter().map(|child| child.pid).collect()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Processes that ended too early since the last call; the others that ended are forgotten.
    pub fn reap(&mut self) -> Vec<Death> {
        let mut deaths = Vec::new();
        self.0.retain(|child| {
            let mut status = 0;
            // SAFETY: `status` is valid for writes; the pid is a child of ours not yet reaped.
            if unsafe { libc::waitpid(child.pid, &mut status, libc::WNOHANG) } != child.pid {
                return true;
            }
            if status != 0 {
                let signal = if libc::WIFSIGNALED(status) { libc::WTERMSIG(status) } else { 0 };
                deaths.push(Death { worker: child.worker, pid: child.pid, signal });
            }
            false
        });
        deaths
    }

    /// Kills the rest; the numbers of their workers.
    pub fn kill(&mut self) -> Vec<usize> {
        for child in &self.0 {
            // SAFETY: the pid is a child of ours not yet reaped, so it cannot be another's.
            unsafe {
                libc::kill(child.pid, libc::SIGKILL);
                libc::waitpid(child.pid, std::ptr::null_mut(), 0);
            }
        }
        self.0.drain(..).map(|child| child.worker).collect()
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        self.kill();
    }
}

fn fork(state: &PointState, number: usize) -> io::Result<libc::pid_t> {
    // SAFETY: getpid has no preconditions.
    let parent = unsafe { libc::getpid() };
    // SAFETY: the child runs `work` on memory mapped before the fork and leaves by _exit: no lock of the
    // parent's other threads is taken but malloc's, which the C library keeps usable in the child.
    let pid = unsafe { libc::fork() };
    if pid != 0 {
        return if pid < 0 { Err(io::Error::last_os_error()) } else { Ok(pid) };
    }
    // SAFETY: prctl with integers touches no memory.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
    // SAFETY: getppid has no preconditions; a parent that died before prctl sends nothing.
    let orphan = unsafe { libc::getppid() } != parent;
    let done =
        !orphan && std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| work(state, number))).is_ok();
    // SAFETY: nothing of the parent's is to be flushed or dropped here.
    unsafe { libc::_exit(i32::from(!done)) }
}
