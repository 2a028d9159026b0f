//! The clients of one point, as threads of this process or as processes forked from it. Either kind
//! returns its record through a pipe, so that both are measured alike.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd};
use std::sync::atomic::Ordering;
use std::thread::{Builder, Scope};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use steelyard_engine::clock::now_ns;
use steelyard_engine::process::fork;

use super::client::{drive, open};
use super::gate::Gate;
use super::state::PointState;
use crate::error::LoadError;
use crate::plan::sqlite::Workers;
use crate::progress::Progress;
use crate::record::Record;

/// Interval of the checks whether the run continues.
const POLL_MS: libc::c_int = 50;
/// How long clients may take to close their connections.
const LEAVE: Duration = Duration::from_secs(10);

/// The result of a client.
#[derive(Serialize, Deserialize)]
pub struct Left {
    pub connect_ns: u64,
    /// User ns, system ns, voluntary and involuntary switches of the measure phase.
    pub usage: [u64; 4],
    pub status: Vec<(String, i64)>,
    pub record: Record,
}

/// All clients have ended when it is dropped.
pub struct RunningWorkers<'a> {
    gate: &'a Gate,
    pipes: Vec<File>,
    processes: Vec<libc::pid_t>,
}

impl<'env> RunningWorkers<'env> {
    pub fn start<'scope>(
        scope: &'scope Scope<'scope, 'env>,
        state: &'env PointState<'env>,
        count: usize,
    ) -> io::Result<Self> {
        let mut workers = Self { gate: &state.gate, pipes: Vec::new(), processes: Vec::new() };
        for _ in 0..count {
            workers.take_on(scope, state)?;
        }
        Ok(workers)
    }

    /// Adds a client, with the next number.
    pub(super) fn take_on<'scope>(
        &mut self,
        scope: &'scope Scope<'scope, 'env>,
        state: &'env PointState<'env>,
    ) -> io::Result<()> {
        let number = self.pipes.len();
        let (from, to) = pipe()?;
        self.pipes.push(from);
        match state.database.workers {
            Workers::Threads => {
                let name = format!("sqlite-{number}");
                Builder::new().name(name).spawn_scoped(scope, move || work(state, number, to))?;
            }
            Workers::Processes => {
                // SAFETY: this process has one thread here and no connection to SQLite, whose locks and files
                // must not cross a fork.
                let pid = unsafe {
                    fork(|| {
                        // only the parent has the reading ends, so a writer notices when it stops reading
                        self.pipes.clear();
                        work(state, number, to);
                    })
                };
                self.processes.push(pid?);
            }
        }
        Ok(())
    }

    /// The result of each client, in the order of their numbers, by `limit`; or the first error.
    pub fn left(&mut self, progress: &mut Progress, limit: Instant) -> Result<Vec<Left>, LoadError> {
        let mut all = Vec::with_capacity(self.pipes.len());
        let mut silent = None;
        for (number, pipe) in self.pipes.iter_mut().enumerate() {
            let text = read_to_end(pipe, progress, limit)?
                .ok_or_else(|| LoadError::Client { number, cause: "is still at work".into() })?;
            match serde_json::from_slice::<Result<Left, String>>(&text) {
                Ok(ran) => all.push(ran.map_err(|cause| LoadError::Client { number, cause })?),
                // a stopped client reports nothing: another one reports the cause
                Err(_) => silent = silent.or(Some(number)),
            }
        }
        match silent {
            None => Ok(all),
            Some(number) => {
                Err(io::Error::other(format!("client {number} ended before the load did")).into())
            }
        }
    }
}

impl RunningWorkers<'_> {
    /// Whether all processes have ended.
    fn reap(&mut self) -> bool {
        // SAFETY: the pids are children of ours not yet reaped, so they cannot be another's.
        self.processes.retain(|pid| unsafe { libc::waitpid(*pid, std::ptr::null_mut(), libc::WNOHANG) } == 0);
        self.processes.is_empty()
    }

    /// A process stuck in the kernel is not waited for: it ends with this process.
    fn kill(&mut self) {
        for pid in &self.processes {
            // SAFETY: as above.
            unsafe { libc::kill(*pid, libc::SIGKILL) };
        }
        self.reap();
    }
}

impl Drop for RunningWorkers<'_> {
    fn drop(&mut self) {
        self.gate.stop.store(true, Ordering::Relaxed);
        self.gate.leave.store(true, Ordering::Release);
        // a client that still writes must not wait for a reader
        self.pipes.clear();
        let limit = Instant::now() + LEAVE;
        while !self.reap() {
            if Instant::now() > limit {
                self.kill();
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// One client: opens the database, works, reports, and waits until it may leave.
fn work(state: &PointState, number: usize, to: File) {
    let begin_ns = now_ns();
    let connection = match open(state) {
        Ok(connection) => connection,
        Err(error) => {
            send(to, &Err(error.to_string()));
            return state.gate.failed.store(true, Ordering::Release);
        }
    };
    let connect_ns = now_ns() - begin_ns;
    state.gate.ready.fetch_add(1, Ordering::Release);
    let Some(window) = state.gate.wait() else { return };
    drive(state, &connection, number, window, |ran| {
        let left = ran.map(|(record, usage, status)| Left { connect_ns, usage, status, record });
        send(to, &left.map_err(|error| error.to_string()));
        state.gate.wait_to_leave();
    });
}

/// All that comes until the other side closes; `None` when that is not by `limit`.
fn read_to_end(
    pipe: &mut File,
    progress: &mut Progress,
    limit: Instant,
) -> Result<Option<Vec<u8>>, LoadError> {
    let mut text = Vec::new();
    let mut piece = [0; 1 << 16];
    loop {
        progress.go_on()?;
        let mut awaited = libc::pollfd { fd: pipe.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: `awaited` is one descriptor, valid for reads and writes.
        if unsafe { libc::poll(&mut awaited, 1, POLL_MS) } > 0 {
            match pipe.read(&mut piece)? {
                0 => return Ok(Some(text)),
                count => text.extend_from_slice(&piece[..count]),
            }
        } else if Instant::now() > limit {
            return Ok(None);
        }
    }
}

/// Writes and closes: the end is what the reader waits for.
fn send(mut to: File, ran: &Result<Left, String>) {
    // a closed pipe means that the run was abandoned
    let _ = serde_json::to_writer(&to, ran).map(|()| to.flush());
}

/// The reading and the writing end.
fn pipe() -> io::Result<(File, File)> {
    let mut ends = [0; 2];
    // SAFETY: `ends` holds the two descriptors that the call writes.
    if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: both descriptors were just made and are nobody else's.
    Ok(unsafe { (File::from_raw_fd(ends[0]), File::from_raw_fd(ends[1])) })
}
