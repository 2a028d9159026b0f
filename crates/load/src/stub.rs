//! A server that answers at once, or after delays that are known: a measurement with it
//! gives the cost of the engine itself.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpListener;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixListener;

use serde::Deserialize;
use steelyard_engine::clock::now_ns;

use crate::io::poll::{Poll, no_timer_slack};

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Each answer comes this long after its request.
    pub delay_us: u64,
    pub stall: Option<Stall>,
}

/// Nothing is answered from `at_s` after the first request, for `for_ms`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stall {
    pub at_s: f64,
    pub for_ms: f64,
}

/// Reads a configuration; the error names the field.
pub fn parse_config(json: &str) -> Result<Config, String> {
    serde_json::from_str(json).map_err(|error| format!("config: {error}"))
}

enum Listening {
    Unix(UnixListener),
    Tcp(TcpListener),
}

trait Stream: Read + Write + AsRawFd {}
impl<T: Read + Write + AsRawFd> Stream for T {}

struct Peer {
    stream: Box<dyn Stream>,
    begun: bool,
    input: Vec<u8>,
    output: Vec<u8>,
}

const LISTENER: usize = usize::MAX;
const STEP_NS: u64 = 100_000_000;

/// Serves at a socket path or at ADDRESS:PORT until `go_on` returns false.
pub fn serve(
    address: &str,
    config: &Config,
    ready: impl FnOnce(),
    mut go_on: impl FnMut() -> bool,
) -> io::Result<()> {
    no_timer_slack();
    let listening = if address.starts_with('/') {
        Listening::Unix(UnixListener::bind(address)?)
    } else {
        Listening::Tcp(TcpListener::bind(address)?)
    };
    let mut poll = Poll::new()?;
    poll.add(listening.prepare()?, LISTENER)?;
    ready();
    let mut peers: Vec<Option<Peer>> = Vec::new();
    let mut held: BinaryHeap<Reverse<(u64, usize)>> = BinaryHeap::new();
    let mut first_ns = None;
    let mut events = Vec::new();
    while go_on() {
        let due = held.peek().map_or(u64::MAX, |Reverse((due, _))| *due);
        events.clear();
        poll.wait(due.saturating_sub(now_ns()).min(STEP_NS), |event| events.push(event.token))?;
        for token in &events {
            if *token == LISTENER {
                while let Some(stream) = listening.accept()? {
                    poll.add(stream.as_raw_fd(), peers.len())?;
                    peers.push(Some(Peer { stream, begun: false, input: Vec::new(), output: Vec::new() }));
                }
            } else if let Some(peer) = &mut peers[*token] {
                match peer.take() {
                    Ok(false) => {}
                    Ok(true) => {
                        let now = now_ns();
                        let begin = if peer.begun { *first_ns.get_or_insert(now) } else { now };
                        match release_ns(config, begin, now) {
                            0 => peer.answer(),
                            due => held.push(Reverse((due, *token))),
                        }
                    }
                    Err(_) => peers[*token] = None,
                }
            }
        }
        let now = now_ns();
        while let Some(Reverse((due, token))) = held.peek().copied() {
            if due > now {
                break;
            }
            held.pop();
            if let Some(peer) = &mut peers[token] {
                peer.answer();
            }
        }
    }
    Ok(())
}

/// When a request of `now` is answered: 0 at once.
fn release_ns(config: &Config, first_ns: u64, now: u64) -> u64 {
    let mut due = if config.delay_us > 0 { now + config.delay_us * 1000 } else { 0 };
    if let Some(stall) = &config.stall {
        let begin = first_ns + (stall.at_s * 1e9) as u64;
        let end = begin + (stall.for_ms * 1e6) as u64;
        if (begin..end).contains(&now.max(due)) {
            due = end;
        }
    }
    due
}

impl Listening {
    fn prepare(&self) -> io::Result<RawFd> {
        match self {
            Self::Unix(listener) => listener.set_nonblocking(true).map(|()| listener.as_raw_fd()),
            Self::Tcp(listener) => listener.set_nonblocking(true).map(|()| listener.as_raw_fd()),
        }
    }

    fn accept(&self) -> io::Result<Option<Box<dyn Stream>>> {
        let accepted: io::Result<Box<dyn Stream>> = match self {
            Self::Unix(listener) => listener.accept().and_then(|(stream, _)| {
                stream.set_nonblocking(true)?;
                Ok(Box::new(stream) as _)
            }),
            Self::Tcp(listener) => listener.accept().and_then(|(stream, _)| {
                stream.set_nonblocking(true)?;
                stream.set_nodelay(true)?;
                Ok(Box::new(stream) as _)
            }),
        };
        match accepted {
            Ok(stream) => Ok(Some(stream)),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl Peer {
    /// Reads the available bytes; true when `output` contains an answer.
    fn take(&mut self) -> io::Result<bool> {
        let mut piece = [0; 1 << 14];
        match self.stream.read(&mut piece) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(count) => self.input.extend_from_slice(&piece[..count]),
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
            Err(error) => return Err(error),
        }
        let mut complete = false;
        let mut at = 0;
        loop {
            let head = if self.begun { 1 } else { 0 };
            let Some(length) = self.input.get(at + head..at + head + 4) else { break };
            let length = u32::from_be_bytes([length[0], length[1], length[2], length[3]]) as usize;
            if length < 4 {
                return Err(ErrorKind::InvalidData.into());
            }
            let Some(message) = self.input.get(at..at + head + length) else { break };
            if self.begun {
                complete |= reply(message[0], &mut self.output)?;
            } else if message[4..] == [4, 210, 22, 47] {
                self.output.push(b'N');
                complete = true;
            } else {
                self.begun = true;
                self.output.extend_from_slice(b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I");
                complete = true;
            }
            at += head + length;
        }
        self.input.drain(..at);
        Ok(complete)
    }

    fn answer(&mut self) {
        // a client that went away is noticed at the next read
        let _ = self.stream.write_all(&self.output);
        self.output.clear();
    }
}

/// Appends the answer to one message; true when the client waits for it now.
fn reply(kind: u8, out: &mut Vec<u8>) -> io::Result<bool> {
    const ROW: &[u8] = b"D\0\0\0\x0b\0\x01\0\0\0\x011C\0\0\0\x0dSELECT 1\0";
    const READY: &[u8] = b"Z\0\0\0\x05I";
    match kind {
        b'Q' => {
            out.extend_from_slice(b"T\0\0\0\x1a\0\x01n\0\0\0\0\0\0\0\0\0\0\x17\0\x04\xff\xff\xff\xff\0\0");
            out.extend_from_slice(ROW);
            out.extend_from_slice(READY);
            return Ok(true);
        }
        b'P' => out.extend_from_slice(b"1\0\0\0\x04"),
        b'B' => out.extend_from_slice(b"2\0\0\0\x04"),
        b'D' => out.extend_from_slice(b"n\0\0\0\x04"),
        b'E' => out.extend_from_slice(ROW),
        b'C' => out.extend_from_slice(b"3\0\0\0\x04"),
        b'S' => {
            out.extend_from_slice(READY);
            return Ok(true);
        }
        b'X' => return Err(ErrorKind::UnexpectedEof.into()),
        _ => {}
    }
    Ok(false)
}
