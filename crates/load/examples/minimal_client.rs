//! The smallest client of PostgreSQL that we could write: what is left is the kernel's. Messages are
//! made ahead but for seven digits, the end of a reply is looked for in one place, nothing is counted
//! but transactions. `benches/driver_cost.py --minimal` runs it beside the engine and pgbench.
//!
//! minimal_client simple|prepared CLIENTS SECONDS SOCKET ROWS; prints [user s, system s, transactions].

use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use steelyard_load::protocol::postgres::messages;
use steelyard_load::statements::value::Value;

const DIGITS: usize = 7;
const READY: &[u8] = b"Z\0\0\0\x05I";
const WARM_UP: Duration = Duration::from_millis(300);

struct Client {
    stream: UnixStream,
    message: Vec<u8>,
    digits_at: usize,
}

impl Client {
    fn new(socket: &str, prepared: bool) -> std::io::Result<Self> {
        let mut stream = UnixStream::connect(socket)?;
        let facts = b"\0\x03\0\0user\0postgres\0database\0postgres\0\0";
        stream.write_all(&(facts.len() as u32 + 4).to_be_bytes())?;
        stream.write_all(facts)?;
        let mut client = Self { stream, message: Vec::new(), digits_at: 0 };
        client.await_ready()?;
        let key = [b'0'; DIGITS];
        if prepared {
            let mut parse = Vec::new();
            messages::parse(&mut parse, b"s", |out| {
                out.extend_from_slice(b"select filler from item where id = $1")
            });
            messages::sync(&mut parse);
            client.stream.write_all(&parse)?;
            client.await_ready()?;
            let mut value = Value::default();
            value.set_text(false).extend_from_slice(&key);
            messages::bind_execute(&mut client.message, b"s", [&value].into_iter(), false);
            messages::sync(&mut client.message);
        } else {
            messages::query(&mut client.message, |out| {
                out.extend_from_slice(b"select filler from item where id = ");
                out.extend_from_slice(&key);
            });
        }
        client.digits_at = client.message.windows(DIGITS).position(|w| w == key).unwrap_or(0);
        Ok(client)
    }

    fn await_ready(&mut self) -> std::io::Result<()> {
        let mut bytes = [0; 8192];
        let mut have = 0;
        while !bytes[..have].ends_with(READY) {
            match self.stream.read(&mut bytes[have..])? {
                0 => return Err(std::io::ErrorKind::UnexpectedEof.into()),
                count => have += count,
            }
        }
        Ok(())
    }

    fn send(&mut self, mut key: u32) -> std::io::Result<()> {
        for digit in self.message[self.digits_at..][..DIGITS].iter_mut().rev() {
            *digit = b'0' + (key % 10) as u8;
            key /= 10;
        }
        self.stream.write_all(&self.message)
    }
}

fn cpu_s() -> (f64, f64) {
    // SAFETY: all zero is a valid rusage, and the kernel writes no more than its size.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` is valid for writes.
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &mut usage) };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    (seconds(usage.ru_utime), seconds(usage.ru_stime))
}

fn main() -> std::io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [mode, clients, seconds, socket, rows] = arguments.as_slice() else {
        return Err(std::io::Error::other("minimal_client simple|prepared CLIENTS SECONDS SOCKET ROWS"));
    };
    let number = |text: &str| text.parse::<u32>().map_err(std::io::Error::other);
    let (count, rows) = (number(clients)?, number(rows)?);
    let length = Duration::from_secs_f64(seconds.parse().map_err(std::io::Error::other)?);
    let mut random = SmallRng::seed_from_u64(42);
    let mut clients =
        (0..count).map(|_| Client::new(socket, mode == "prepared")).collect::<std::io::Result<Vec<_>>>()?;
    // SAFETY: no pointers; the results are checked below.
    let poll = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
    for (index, client) in clients.iter_mut().enumerate() {
        let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: index as u64 };
        // SAFETY: `event` lives through the call.
        if unsafe { libc::epoll_ctl(poll, libc::EPOLL_CTL_ADD, client.stream.as_raw_fd(), &mut event) } < 0 {
            return Err(std::io::Error::last_os_error());
        }
        client.send(random.random_range(1..=rows))?;
    }
    let start = Instant::now();
    let mut before = None;
    let mut done = 0u64;
    let mut bytes = [0; 8192];
    let mut events = [libc::epoll_event { events: 0, u64: 0 }; 256];
    while start.elapsed() < WARM_UP + length {
        if before.is_none() && start.elapsed() >= WARM_UP {
            before = Some(cpu_s());
            done = 0;
        }
        // SAFETY: the buffer holds as many events as it may get.
        let ready = unsafe { libc::epoll_wait(poll, events.as_mut_ptr(), events.len() as i32, 100) };
        for event in events.iter().take(ready.max(0) as usize) {
            let client = &mut clients[event.u64 as usize];
            let have = client.stream.read(&mut bytes)?;
            if bytes[..have].ends_with(READY) {
                done += 1;
                client.send(random.random_range(1..=rows))?;
            }
        }
    }
    let (user_s, system_s) = cpu_s();
    let (user_before_s, system_before_s) = before.unwrap_or_default();
    println!("[{}, {}, {done}]", user_s - user_before_s, system_s - system_before_s);
    Ok(())
}
