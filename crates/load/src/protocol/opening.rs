//! Opening a session: connecting, logging in, and the statements that every session begins with.

use std::io;
use std::time::Instant;

use super::{Protocol, Session};
use crate::error::LoadError;
use crate::plan::{Plan, Server};
use crate::transport::Transport;

/// What a session is opened with.
#[derive(Debug, Clone)]
pub struct Opening {
    pub server: Server,
    /// Sent after the login.
    pub statements: Vec<String>,
    pub message_bytes_max: usize,
}

impl From<&Plan> for Opening {
    fn from(plan: &Plan) -> Self {
        Self {
            server: plan.server.clone(),
            statements: plan.session.clone(),
            message_bytes_max: plan.message_bytes_max(),
        }
    }
}

impl Opening {
    /// Connects, logs in and sends the session's statements, all of it by `limit`.
    pub fn open<P: Protocol>(&self, limit: Instant) -> Result<Transport, LoadError> {
        let connect =
            |cause: io::Error| LoadError::Connect { address: self.server.address(), cause: explain(&cause) };
        let transport = Transport::connect(&self.server, limit).map_err(connect)?;
        let mut session = P::Session::log_in(transport, self)?;
        for sql in &self.statements {
            session.query(sql)?;
        }
        session.release().map_err(connect)
    }
}

/// The cause of a failure to connect, in words.
pub fn explain(cause: &io::Error) -> String {
    match cause.kind() {
        io::ErrorKind::NotFound => "no such socket or host: is the server running there?".into(),
        io::ErrorKind::ConnectionRefused => "connection refused: nothing listens there".into(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => "no answer in time".into(),
        _ => cause.to_string(),
    }
}
