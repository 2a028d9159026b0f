//! A socket with one deadline for all blocking calls: with a limit per call, a server that sends single bytes
//! could block forever.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::fd::{AsRawFd, FromRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use crate::plan::Server;

enum Stream {
    Unix(UnixStream),
    Tcp(TcpStream),
}

pub(super) struct Socket {
    stream: Stream,
    /// When a blocking call ends at the latest.
    limit: Option<Instant>,
}

impl Socket {
    /// Connects, blocking; what follows ends by `limit`, too. A host name takes as long as the system's
    /// resolver does.
    pub(super) fn connect(server: &Server, limit: Instant) -> io::Result<Self> {
        let stream = if server.is_unix() {
            Stream::Unix(connect_unix(&server.address(), left(limit)?)?)
        } else {
            let mut last = io::Error::new(ErrorKind::NotFound, "the host name has no address");
            let mut found = None;
            for address in (server.host.as_str(), server.port).to_socket_addrs()? {
                match TcpStream::connect_timeout(&address, left(limit)?) {
                    Ok(stream) => {
                        found = Some(stream);
                        break;
                    }
                    Err(error) => last = error,
                }
            }
            let stream = found.ok_or(last)?;
            stream.set_nodelay(true)?;
            Stream::Tcp(stream)
        };
        Ok(Self { stream, limit: Some(limit) })
    }

    pub(super) fn fd(&self) -> RawFd {
        match &self.stream {
            Stream::Unix(stream) => stream.as_raw_fd(),
            Stream::Tcp(stream) => stream.as_raw_fd(),
        }
    }

    pub(super) fn set_nonblocking(&self, on: bool) -> io::Result<()> {
        match &self.stream {
            Stream::Unix(stream) => stream.set_nonblocking(on),
            Stream::Tcp(stream) => stream.set_nonblocking(on),
        }
    }

    pub(super) fn set_limit(&mut self, limit: Option<Instant>) -> io::Result<()> {
        self.limit = limit;
        if limit.is_none() {
            self.set_read_timeout(None)?;
            self.set_write_timeout(None)?;
        }
        Ok(())
    }

    fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        match &self.stream {
            Stream::Unix(stream) => stream.set_read_timeout(timeout),
            Stream::Tcp(stream) => stream.set_read_timeout(timeout),
        }
    }

    fn set_write_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        match &self.stream {
            Stream::Unix(stream) => stream.set_write_timeout(timeout),
            Stream::Tcp(stream) => stream.set_write_timeout(timeout),
        }
    }
}

impl From<UnixStream> for Socket {
    fn from(stream: UnixStream) -> Self {
        Self { stream: Stream::Unix(stream), limit: None }
    }
}

impl Read for Socket {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            if let Some(limit) = self.limit {
                self.set_read_timeout(Some(left(limit)?))?;
            }
            let read = match &mut self.stream {
                Stream::Unix(stream) => stream.read(into),
                Stream::Tcp(stream) => stream.read(into),
            };
            match read {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                read => return read,
            }
        }
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            if let Some(limit) = self.limit {
                self.set_write_timeout(Some(left(limit)?))?;
            }
            let written = match &mut self.stream {
                Stream::Unix(stream) => stream.write(bytes),
                Stream::Tcp(stream) => stream.write(bytes),
            };
            match written {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                written => return written,
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn left(limit: Instant) -> io::Result<Duration> {
    match limit.saturating_duration_since(Instant::now()) {
        Duration::ZERO => Err(ErrorKind::TimedOut.into()),
        left => Ok(left),
    }
}

/// Where the server's accept queue is full, connecting blocks: for at most `timeout`.
fn connect_unix(path: &str, timeout: Duration) -> io::Result<UnixStream> {
    // SAFETY: no pointers; the result is checked before it becomes an owned descriptor.
    let fd = unsafe { libc::socket(libc::AF_UNIX, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor was just made and is nobody else's.
    let stream = unsafe { UnixStream::from_raw_fd(fd) };
    // holds for connecting as for writing (socket(7))
    stream.set_write_timeout(Some(timeout))?;
    // SAFETY: all zero is a valid address without a name.
    let mut address: libc::sockaddr_un = unsafe { std::mem::zeroed() };
    address.sun_family = libc::AF_UNIX as libc::sa_family_t;
    // one place stays zero: the end of the name
    if path.len() >= address.sun_path.len() || path.contains('\0') {
        return Err(io::Error::new(ErrorKind::InvalidInput, "the path is too long for a socket"));
    }
    for (to, from) in address.sun_path.iter_mut().zip(path.bytes()) {
        *to = from as libc::c_char;
    }
    let length = size_of::<libc::sockaddr_un>() as libc::socklen_t;
    loop {
        // SAFETY: `address` is valid for reads of `length` bytes, and the descriptor is open.
        if unsafe { libc::connect(fd, (&raw const address).cast(), length) } == 0 {
            return Ok(stream);
        }
        let error = io::Error::last_os_error();
        if error.kind() != ErrorKind::Interrupted {
            return Err(error);
        }
    }
}
