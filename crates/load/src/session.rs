//! Connecting, logging in and asking, one message after another (blocking), in either protocol.

use std::io;
use std::time::Instant;

use crate::error::LoadError;
use crate::plan::{Plan, Protocol, Server};
use crate::transport::Transport;

mod mysql;
mod postgres;

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
    pub fn open(&self, limit: Instant) -> Result<Transport, LoadError> {
        let connect =
            |cause: io::Error| LoadError::Connect { address: self.server.address(), cause: explain(&cause) };
        let transport = Transport::connect(&self.server, limit).map_err(connect)?;
        let mut session = self.log_in(transport)?;
        for sql in &self.statements {
            session.ask(sql)?;
        }
        session.into_transport().map_err(connect)
    }

    /// Logs in over a connection that is there already.
    pub fn log_in(&self, transport: Transport) -> Result<Session, LoadError> {
        Ok(match self.server.protocol {
            Protocol::Postgres => Session::Postgres(postgres::Session::log_in(transport, self)?),
            Protocol::Mysql => Session::Mysql(mysql::Session::log_in(transport, self)?),
        })
    }
}

/// A connection that answers one request at a time.
pub enum Session {
    Postgres(postgres::Session),
    Mysql(mysql::Session),
}

impl Session {
    /// A session over a connection that has served under load; it must be idle and blocking.
    pub fn over(transport: Transport, protocol: Protocol, message_bytes_max: usize) -> Self {
        match protocol {
            Protocol::Postgres => Self::Postgres(postgres::Session::over(transport, message_bytes_max)),
            Protocol::Mysql => Self::Mysql(mysql::Session::over(transport, message_bytes_max)),
        }
    }

    /// The first row's numeric columns of a query, by name.
    pub fn ask(&mut self, sql: &str) -> Result<Vec<(String, f64)>, LoadError> {
        match self {
            Self::Postgres(session) => session.ask(sql),
            Self::Mysql(session) => session.ask(sql),
        }
    }

    /// When everything asked from now on must be answered.
    pub fn set_limit(&mut self, limit: Instant) -> io::Result<()> {
        match self {
            Self::Postgres(session) => session.transport.set_limit(Some(limit)),
            Self::Mysql(session) => session.transport.set_limit(Some(limit)),
        }
    }

    /// The connection, without a limit of time.
    pub fn into_transport(self) -> io::Result<Transport> {
        let mut transport = match self {
            Self::Postgres(session) => session.transport,
            Self::Mysql(session) => session.transport,
        };
        transport.set_limit(None)?;
        Ok(transport)
    }
}

/// The last message of a connection.
pub fn farewell(protocol: Protocol) -> &'static [u8] {
    match protocol {
        Protocol::Postgres => crate::wire::TERMINATE,
        Protocol::Mysql => crate::mysql::QUIT,
    }
}

fn explain(cause: &io::Error) -> String {
    match cause.kind() {
        io::ErrorKind::NotFound => "no such socket or host: is the server running there?".into(),
        io::ErrorKind::ConnectionRefused => "connection refused: nothing listens there".into(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => "no answer in time".into(),
        _ => cause.to_string(),
    }
}
