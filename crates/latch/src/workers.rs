//! The workers of one load point: threads, or processes forked from this one.

pub mod closed_loop;
pub mod draws;
pub mod interleaved;
pub mod processes;

use std::io;
use std::thread::{Builder, Scope, ScopedJoinHandle};

use crate::plan::WorkerKind;
use crate::point::state::PointState;
use closed_loop::work;
use processes::{Death, Processes};

/// Workers that have been started.
pub enum Workers<'scope> {
    Threads(Vec<ScopedJoinHandle<'scope, ()>>),
    Processes(Processes),
}

impl<'scope> Workers<'scope> {
    pub fn start<'env>(
        scope: &'scope Scope<'scope, 'env>,
        state: &'scope PointState<'scope>,
    ) -> io::Result<Self> {
        match state.plan.workers {
            WorkerKind::Threads => {
                let start = |number| {
                    let name = format!("latch-{number}");
                    Builder::new().name(name).spawn_scoped(scope, move || work(state, number))
                };
                // threads that have started must not wait for a start that never comes
                let threads = (0..state.workers).map(start).collect::<io::Result<_>>();
                Ok(Self::Threads(threads.inspect_err(|_| state.gate.stop())?))
            }
            WorkerKind::Processes => {
                let mut processes = Processes::default();
                for number in 0..state.workers {
                    processes.fork(state, number)?;
                }
                Ok(Self::Processes(processes))
            }
        }
    }

    pub fn pids(&self) -> Vec<libc::pid_t> {
        match self {
            Self::Threads(_) => Vec::new(),
            Self::Processes(processes) => processes.pids(),
        }
    }

    /// Processes that ended too early since the last call.
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
            Self::Processes(processes) => processes.is_empty(),
        }
    }

    /// Kills the workers that still run; their numbers. Threads cannot be killed.
    pub fn kill(&mut self) -> Vec<usize> {
        match self {
            Self::Threads(_) => Vec::new(),
            Self::Processes(processes) => processes.kill(),
        }
    }
}
