//! Connecting, logging in and asking, one message after another (blocking), in either protocol.

use std::io;
use std::time::Duration;

use crate::error::LoadError;
use crate::plan::{Protocol, Server};
use crate::transport::Transport;

mod mysql;
mod postgres;

/// A connection that answers one request at a time.
pub enum Session {
    Postgres(postgres::Session),
    Mysql(mysql::Session),
}

impl Session {
    /// Connects and logs in, then sends the session's statements.
    pub fn open(server: &Server, statements: &[String], timeout: Duration) -> Result<Self, LoadError> {
        let connect =
            |cause: io::Error| LoadError::Connect { address: server.address(), cause: explain(&cause) };
        let transport = Transport::connect(server, timeout).map_err(connect)?;
        let mut session = match server.protocol {
            Protocol::Postgres => Self::Postgres(postgres::Session::log_in(transport, server)?),
            Protocol::Mysql => Self::Mysql(mysql::Session::log_in(transport, server)?),
        };
        for sql in statements {
            session.ask(sql)?;
        }
        Ok(session)
    }

    /// A session over a connection that has served under load; it must be idle and blocking.
    pub fn over(transport: Transport, protocol: Protocol) -> Self {
        match protocol {
            Protocol::Postgres => Self::Postgres(postgres::Session::from(transport)),
            Protocol::Mysql => Self::Mysql(mysql::Session::from(transport)),
        }
    }

    /// The first row's numeric columns of a query, by name.
    pub fn ask(&mut self, sql: &str) -> Result<Vec<(String, f64)>, LoadError> {
        match self {
            Self::Postgres(session) => session.ask(sql),
            Self::Mysql(session) => session.ask(sql),
        }
    }

    pub fn into_transport(self) -> Transport {
        match self {
            Self::Postgres(session) => session.transport,
            Self::Mysql(session) => session.transport,
        }
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
