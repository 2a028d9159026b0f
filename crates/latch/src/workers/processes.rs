//! Worker processes: forked, reaped, killed.

use std::io;

use steelyard_engine::process;

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
        // SAFETY: the worker uses memory mapped before the fork, and no lock but malloc's.
        let pid = unsafe { process::fork(|| work(state, worker)) }?;
        self.0.push(Child { pid, worker });
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
