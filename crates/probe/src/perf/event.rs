//! Perf events on one CPU, of all processes.

use std::fs;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use perf_event_open_sys as perf;
use perf_event_open_sys::bindings as sys;

use crate::error::{SourceError, privileged};

/// All events share one layout of records, so that they can share a ring. Those that are no
/// tracepoint have a raw part of zeros, which no tracepoint's number is.
pub const SAMPLE_TYPE: u64 = (sys::PERF_SAMPLE_TID
    | sys::PERF_SAMPLE_TIME
    | sys::PERF_SAMPLE_CPU
    | sys::PERF_SAMPLE_CALLCHAIN
    | sys::PERF_SAMPLE_RAW) as u64;

/// The ring is read when this much of it is full, or by the clock.
const WAKE_BYTES: u32 = 128 * 1024;

/// The kind of an event.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// Only records about processes: fork, name, mapping, exit.
    Processes,
    /// A sample with kernel and user stack at this rate per second on each CPU, idle or not.
    Clock { hz: u32 },
    /// One in so many events of a tracepoint, with so many frames of the kernel's stack.
    Tracepoint { id: u16, frames: u16, one_in: u32 },
}

/// An open event; closed when dropped.
#[derive(Debug)]
pub struct Event(OwnedFd);

impl Event {
    /// Opens it; all but `Processes` count nothing before they are enabled.
    pub fn open(kind: Kind, cpu: u32) -> Result<Event, SourceError> {
        let mut attr = attributes(kind);
        // SAFETY: attr is a whole perf_event_attr with its size set; the kernel reads it, and may
        // write its size field; it lives until the call returns.
        let fd =
            unsafe { perf::perf_event_open(&mut attr, -1, cpu as i32, -1, sys::PERF_FLAG_FD_CLOEXEC as _) };
        if fd < 0 {
            let cause = io::Error::last_os_error();
            return Err(SourceError::Refused { hint: hint(&cause), cause });
        }
        // SAFETY: the kernel has just given us this descriptor; nobody else owns it.
        Ok(Event(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// Opens it with another event of the same CPU, whose ring gets its records.
    pub fn beside(kind: Kind, cpu: u32, ring_of: &Event) -> Result<Event, SourceError> {
        let event = Event::open(kind, cpu)?;
        // SAFETY: both descriptors are open perf events.
        answer(unsafe { perf::ioctls::SET_OUTPUT(event.as_raw_fd(), ring_of.as_raw_fd()) })
            .map_err(|cause| SourceError::Refused { hint: hint(&cause), cause })?;
        Ok(event)
    }

    pub fn enable(&self) -> io::Result<()> {
        // SAFETY: the descriptor is an open perf event; the argument holds no pointer.
        answer(unsafe { perf::ioctls::ENABLE(self.as_raw_fd(), 0) })
    }

    pub fn disable(&self) -> io::Result<()> {
        // SAFETY: as of enable.
        answer(unsafe { perf::ioctls::DISABLE(self.as_raw_fd(), 0) })
    }
}

impl AsRawFd for Event {
    fn as_raw_fd(&self) -> i32 {
        self.0.as_raw_fd()
    }
}

fn answer(code: i32) -> io::Result<()> {
    if code < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn attributes(kind: Kind) -> sys::perf_event_attr {
    let mut attr = sys::perf_event_attr::default();
    attr.size = size_of::<sys::perf_event_attr>() as u32;
    attr.sample_type = SAMPLE_TYPE;
    attr.clockid = libc::CLOCK_MONOTONIC;
    attr.set_use_clockid(1);
    attr.set_sample_id_all(1);
    attr.set_disabled(1);
    attr.set_exclude_hv(1);
    attr.set_watermark(1);
    attr.wakeup_watermark = WAKE_BYTES;
    match kind {
        Kind::Processes => {
            attr.type_ = sys::PERF_TYPE_SOFTWARE;
            attr.config = sys::PERF_COUNT_SW_DUMMY as u64;
            attr.set_disabled(0);
            attr.set_mmap(1);
            attr.set_mmap2(1);
            attr.set_comm(1);
            attr.set_comm_exec(1);
            attr.set_task(1);
        }
        Kind::Clock { hz } => {
            attr.type_ = sys::PERF_TYPE_SOFTWARE;
            attr.config = sys::PERF_COUNT_SW_CPU_CLOCK as u64;
            // a fixed period: the kernel would adapt a frequency to the counts
            attr.sample_period = 1_000_000_000 / u64::from(hz.max(1));
        }
        Kind::Tracepoint { id, frames, one_in } => {
            attr.type_ = sys::PERF_TYPE_TRACEPOINT;
            attr.config = u64::from(id);
            attr.sample_period = u64::from(one_in);
            attr.sample_max_stack = frames;
            attr.set_exclude_callchain_user(1);
            attr.set_exclude_callchain_kernel(u64::from(frames == 0));
        }
    }
    attr
}

/// CPUs that are on, as the kernel numbers them.
pub fn online_cpus() -> Vec<u32> {
    let text = fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_else(|_| "0".into());
    let mut cpus = Vec::new();
    for range in text.trim().split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        if let (Ok(first), Ok(last)) = (first.parse::<u32>(), last.parse::<u32>()) {
            cpus.extend(first..=last);
        }
    }
    cpus
}

/// The setting that permits it.
fn hint(cause: &io::Error) -> String {
    let paranoid = fs::read_to_string("/proc/sys/kernel/perf_event_paranoid");
    match (cause.raw_os_error(), paranoid) {
        (_, Err(_)) => "this kernel is built without CONFIG_PERF_EVENTS".into(),
        (Some(libc::EACCES | libc::EPERM), Ok(level)) => format!(
            "perf_event_paranoid is {}: sysctl kernel.perf_event_paranoid=-1, or CAP_PERFMON, or {}; \
             in a container its seccomp profile must allow perf_event_open",
            level.trim(),
            privileged()
        ),
        (Some(libc::EMFILE), _) => "ulimit -n 65536".into(),
        _ => "the kernel refuses this event".into(),
    }
}
