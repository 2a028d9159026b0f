//! Valkey: login and queries.

use std::io;

use super::commands::{command, words};
use super::scanner::{Answer, Scanner};
use crate::error::LoadError;
use crate::io::transport::Transport;
use crate::protocol::{self, Opening, ServerError, explain};

/// A connection that answers one request at a time.
pub struct Session {
    transport: Transport,
    scanner: Scanner,
    /// Bytes behind the last reply.
    unread: Vec<u8>,
    address: String,
}

impl protocol::Session for Session {
    fn log_in(transport: Transport, opening: &Opening) -> Result<Self, LoadError> {
        let server = &opening.server;
        let mut session =
            Self { address: server.address(), ..Self::over(transport, opening.message_bytes_max) };
        if let Some(password) = &server.password {
            let user = Some(server.user.as_str()).filter(|user| !user.is_empty());
            let words: Vec<&str> = ["AUTH"].into_iter().chain(user).chain([password.as_str()]).collect();
            session.enter(&words)?;
        }
        if !server.database.is_empty() {
            session.enter(&["SELECT", &server.database])?;
        }
        // a server that requires a password, or is full, reports it in its first reply
        session.enter(&["PING"])?;
        Ok(session)
    }

    fn over(transport: Transport, message_bytes_max: usize) -> Self {
        let scanner = Scanner::new(message_bytes_max, true);
        Self { transport, scanner, unread: Vec::new(), address: "the server".into() }
    }

    /// A number is called `value`; of a text, each line `name:number` is one (INFO).
    fn query(&mut self, sql: &str) -> Result<Vec<(String, f64)>, LoadError> {
        let answer = self.ask(&words(sql))?;
        match answer.error {
            None => Ok(numbers(&answer.text)),
            Some(ServerError { code, message }) => {
                Err(LoadError::Session { address: self.address.clone(), sql: sql.to_string(), code, message })
            }
        }
    }

    fn transport(&mut self) -> &mut Transport {
        &mut self.transport
    }

    fn into_transport(self) -> Transport {
        self.transport
    }
}

impl Session {
    /// A command without which there is no session.
    fn enter(&mut self, words: &[&str]) -> Result<(), LoadError> {
        match self.ask(words)?.error {
            None => Ok(()),
            Some(ServerError { code, message }) => {
                Err(LoadError::Refused { address: self.address.clone(), code, message })
            }
        }
    }

    fn ask(&mut self, words: &[&str]) -> Result<Answer, LoadError> {
        let mut out = Vec::new();
        command(words, &mut out);
        let written = self.transport.write_all(&out);
        // a full server closes the connection, but its last message can still be read
        self.answer().map_err(|cause| {
            let cause = written.err().unwrap_or(cause);
            LoadError::Connect { address: self.address.clone(), cause: explain(&cause) }
        })
    }

    fn answer(&mut self) -> io::Result<Answer> {
        loop {
            let mut bytes = self.unread.as_slice();
            let answer = self.scanner.feed(&mut bytes).map_err(io::Error::other)?;
            let left = bytes.len();
            self.unread.drain(..self.unread.len() - left);
            if let Some(answer) = answer {
                return Ok(answer);
            }
            let mut piece = [0; 8192];
            match self.transport.read(&mut piece)? {
                0 => return Err(io::Error::other("the server closed the connection")),
                count => self.unread.extend_from_slice(&piece[..count]),
            }
        }
    }
}

fn numbers(text: &[u8]) -> Vec<(String, f64)> {
    let text = String::from_utf8_lossy(text);
    let number = |text: &str| text.parse().ok().filter(|number: &f64| number.is_finite());
    match number(&text) {
        Some(number) => vec![("value".into(), number)],
        None => text
            .lines()
            .filter_map(|line| line.split_once(':').and_then(|(name, of)| Some((name.into(), number(of)?))))
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_from_a_reply_and_from_the_lines_of_info() {
        assert_eq!(numbers(b"-7"), [("value".to_string(), -7.0)]);
        let info = b"# Memory\r\nused_memory:1024\r\nmaxmemory_policy:noeviction\r\nratio:1.5\r\n";
        assert_eq!(numbers(info), [("used_memory".to_string(), 1024.0), ("ratio".to_string(), 1.5)]);
        assert_eq!(numbers(b"PONG"), []);
        assert_eq!(numbers(b"inf"), []);
    }
}
