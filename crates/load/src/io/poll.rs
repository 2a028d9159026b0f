//! epoll, with a timeout in nanoseconds: schedules need finer steps than its milliseconds.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// Wakes this thread's timers on time: the kernel's default slack of 50 us would be read as latency.
pub fn no_timer_slack() {
    // SAFETY: PR_SET_TIMERSLACK takes one integer and touches no memory of ours.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
}

/// What became ready: the token given to `add`, and how.
#[derive(Debug, Clone, Copy)]
pub struct Ready {
    pub token: usize,
    pub readable: bool,
    pub writable: bool,
}

pub struct Poll {
    epoll: OwnedFd,
    events: Vec<libc::epoll_event>,
}

impl Poll {
    pub fn new() -> io::Result<Self> {
        // SAFETY: no pointers; the result is checked before it becomes an owned descriptor.
        let fd = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: fd is open and nobody else owns it.
        let epoll = unsafe { OwnedFd::from_raw_fd(fd) };
        Ok(Self { epoll, events: vec![libc::epoll_event { events: 0, u64: 0 }; 256] })
    }

    pub fn add(&self, fd: RawFd, token: usize) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_ADD, fd, token, false)
    }

    /// Sets whether to report as well when fd is writable again.
    pub fn set_writable(&self, fd: RawFd, token: usize, on: bool) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_MOD, fd, token, on)
    }

    fn control(&self, what: libc::c_int, fd: RawFd, token: usize, writable: bool) -> io::Result<()> {
        let interest = libc::EPOLLIN | libc::EPOLLRDHUP | if writable { libc::EPOLLOUT } else { 0 };
        let mut event = libc::epoll_event { events: interest as u32, u64: token as u64 };
        // SAFETY: both descriptors are open and `event` outlives the call.
        match unsafe { libc::epoll_ctl(self.epoll.as_raw_fd(), what, fd, &mut event) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Waits for at most `timeout_ns`; hands each ready descriptor to `visit`.
    pub fn wait(&mut self, timeout_ns: u64, mut visit: impl FnMut(Ready)) -> io::Result<()> {
        let timeout = libc::timespec {
            tv_sec: (timeout_ns / 1_000_000_000) as libc::time_t,
            tv_nsec: (timeout_ns % 1_000_000_000) as libc::c_long,
        };
        // SAFETY: `events` has room for the count given, `timeout` outlives the call, and a null
        // signal mask means none is set.
        let count = unsafe {
            libc::syscall(
                libc::SYS_epoll_pwait2,
                self.epoll.as_raw_fd(),
                self.events.as_mut_ptr(),
                self.events.len() as libc::c_int,
                &timeout,
                std::ptr::null::<libc::sigset_t>(),
                0usize,
            )
        };
        if count < 0 {
            let error = io::Error::last_os_error();
            return if error.kind() == io::ErrorKind::Interrupted { Ok(()) } else { Err(error) };
        }
        for index in 0..count as usize {
            let event = self.events[index];
            let bits = event.events as i32;
            visit(Ready {
                token: event.u64 as usize,
                readable: bits & !libc::EPOLLOUT != 0,
                writable: bits & libc::EPOLLOUT != 0,
            });
        }
        Ok(())
    }
}
