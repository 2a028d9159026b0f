//! The workers of one point, as threads or as processes forked from this one.

use std::io;
use std::thread::{Builder, Scope, ScopedJoinHandle};

use crate::closed_loop::work;
use crate::plan::Workers;
use crate::stage::Stage;

/// A worker process that ended before it should.
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

pub enum Crew<'scope> {
    Threads(Vec<ScopedJoinHandle<'scope, ()>>),
    Processes(Processes),
}

/// Children not yet reaped; killed when dropped.
#[derive(Default)]
pub struct Processes(Vec<Child>);

impl<'scope> Crew<'scope> {
    pub fn start<'env>(scope: &'scope Scope<'scope, 'env>, stage: &'scope Stage<'scope>) -> io::Result<Self> {
        match stage.plan.workers {
            Workers::Threads => {
                let start = |number| {
                    let name = format!("latch-{number}");
                    Builder::new().name(name).spawn_scoped(scope, move || work(stage, number))
                };
                // those already started must not wait for a start that never comes
                let threads = (0..stage.workers).map(start).collect::<io::Result<_>>();
                Ok(Self::Threads(threads.inspect_err(|_| stage.gate.stop())?))
            }
            Workers::Processes => {
                let mut processes = Processes::default();
                for number in 0..stage.workers {
                    processes.0.push(Child { pid: fork(stage, number)?, worker: number });
                }
                Ok(Self::Processes(processes))
            }
        }
    }

    pub fn pids(&self) -> Vec<libc::pid_t> {
        match self {
            Self::Threads(_) => Vec::new(),
            Self::Processes(processes) => processes.0.iter().map(|child| child.pid).collect(),
        }
    }

    /// Who ended out of turn since the last call.
    pub fn deaths(&mut self) -> Vec<Death> {
        match self {
            Self::Threads(_) => Vec::new(),
            Self::Processes(processes) => processes.reap(),
        }
    }

    /// Whether all have ended.
    pub fn ended(&self) -> bool {
        match self {
            Self::Threads(threads) => threads.iter().all(ScopedJoinHandle::is_finished),
            Self::Processes(processes) => processes.0.is_empty(),
        }
    }

    /// Ends those that cannot end by themselves; their numbers. Threads cannot be ended.
    pub fn kill(&mut self) -> Vec<usize> {
        match self {
            Self::Threads(_) => Vec::new(),
            Self::Processes(processes) => processes.kill(),
        }
    }
}

impl Processes {
    fn reap(&mut self) -> Vec<Death> {
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

    fn kill(&mut self) -> Vec<usize> {
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

fn fork(stage: &Stage, number: usize) -> io::Result<libc::pid_t> {
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
        !orphan && std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| work(stage, number))).is_ok();
    // SAFETY: nothing of the parent's is to be flushed or dropped here.
    unsafe { libc::_exit(i32::from(!done)) }
}
