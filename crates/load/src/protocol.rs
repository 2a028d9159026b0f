//! Wire protocols. Each is a folder with the three parts of [`Protocol`], and a line in
//! [`crate::drivers`].
//!
//! - [`postgres`]: PostgreSQL, and what speaks its protocol
//! - [`mysql`]: MySQL and MariaDB
//! - [`resp`]: Valkey and Redis
//! - [`limits`]: what a server may send

use std::io;
use std::time::Instant;

use steelyard_engine::error::PlanError;

use crate::error::LoadError;
use crate::io::transport::Transport;
use crate::plan::{Plan, Server};
use crate::record::digest::Digest;
use crate::record::executed::Effect;
use crate::statements::draw::Draw;
use crate::statements::template::Dialect;
use crate::statements::work::Work;

pub mod limits;
pub mod mysql;
pub mod postgres;
pub mod resp;

/// How clients talk to a server.
pub trait Protocol: 'static {
    /// Its name in a plan.
    const NAME: &'static str;
    /// Of the texts of statements.
    const DIALECT: Dialect;
    /// The last message of a connection.
    const FAREWELL: &'static [u8];
    type Session: Session;
    type Dialogue: Dialogue;

    /// Refuses what the protocol does not support.
    fn check(plan: &Plan) -> Result<(), PlanError> {
        plan.check_sql()
    }

    /// Whether a transaction that ended in this error may succeed when it is executed again: a serialization
    /// failure or a deadlock.
    fn is_retryable(_code: &str, _message: &str) -> bool {
        false
    }

    /// Whether the server ends the connection after this error.
    fn is_last(_code: &str) -> bool {
        false
    }

    /// Whether a refused connection means that the server has no room for a further one.
    fn is_full(code: &str, message: &str) -> bool;
}

/// A connection that answers one request at a time (blocking).
pub trait Session: Sized + Send {
    /// Encrypts where the plan requires it, and logs in.
    fn log_in(transport: Transport, opening: &Opening) -> Result<Self, LoadError>;

    /// Over a connection that has served under load; it must be idle and blocking.
    fn over(transport: Transport, message_bytes_max: usize) -> Self;

    /// The first row's numeric columns of a query, by name.
    fn query(&mut self, sql: &str) -> Result<Vec<(String, f64)>, LoadError>;

    fn transport(&mut self) -> &mut Transport;

    fn into_transport(self) -> Transport;

    /// The connection, without a limit of time.
    fn release(mut self) -> io::Result<Transport> {
        self.transport().set_limit(None)?;
        Ok(self.into_transport())
    }
}

/// Requests and replies of one connection under load. One request is under way at a time, which may
/// consist of several messages; or, where the plan has a `pipeline`, so many statements of one request each.
pub trait Dialogue: Sized + Send {
    fn new(work: &Work) -> Self;

    /// Appends the first request of the statement that was drawn.
    fn begin(&mut self, work: &Work, draw: &Draw, out: &mut Vec<u8>);

    /// After a reply within a statement: appends its next request, or is done with it. `failed`: it, or an
    /// earlier one of this statement, was an error.
    fn go_on(&mut self, work: &Work, draw: &Draw, failed: bool, out: &mut Vec<u8>) -> Next;

    /// Puts the values that the rows of the statement give in their places. Err: the rows cannot be read.
    fn take_rows(&mut self, _work: &Work, _draw: &mut Draw) -> Result<(), String> {
        Ok(())
    }

    /// From now on the rows of every statement are digested, for a trial.
    fn examine(&mut self) {}

    /// Of the rows of the statement before.
    fn digest(&mut self) -> Digest {
        Digest::default()
    }

    /// Appends a request that begins or ends a transaction.
    fn control(&mut self, control: Control, out: &mut Vec<u8>);

    /// Scans bytes in pieces of any size; returns the end of a reply when they contain it.
    fn feed(&mut self, bytes: &[u8]) -> Result<Option<Reply>, PlanError>;

    /// The end of a further reply in the bytes taken in last, where several requests may be under way.
    fn further(&mut self) -> Option<Reply> {
        None
    }

    /// Where the server waits for rows of the client: appends a message that there are none.
    fn refuse_copy(&mut self, _out: &mut Vec<u8>) -> bool {
        false
    }

    /// The error seen last, when the connection ended before the reply did.
    fn last_error(&mut self) -> Option<ServerError>;

    /// The connection was replaced: no reply is half read, and nothing is prepared.
    fn reset(&mut self);
}

/// What follows a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// The buffer contains a further request.
    Send,
    /// Nothing: the statement, or the transaction, is over.
    Done,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Control {
    Begin,
    Commit,
    Rollback,
}

impl Control {
    pub fn sql(self) -> &'static [u8] {
        match self {
            Self::Begin => b"begin",
            Self::Commit => b"commit",
            Self::Rollback => b"rollback",
        }
    }
}

/// The end of a reply.
#[derive(Debug, PartialEq, Eq)]
pub struct Reply {
    /// A transaction is open, failed or not.
    pub in_transaction: bool,
    /// Each statement outside a transaction is committed.
    pub autocommit: bool,
    pub error: Option<ServerError>,
    pub effect: Effect,
}

/// An error that the server reports.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ServerError {
    pub code: String,
    pub message: String,
}

/// A transaction ended by its own steps: a value that is missing, a division by zero.
pub fn step_failed(cause: &str) -> ServerError {
    ServerError { code: "step".into(), message: cause.into() }
}

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

/// The cause of a failure to connect, as text.
pub fn explain(cause: &io::Error) -> String {
    match cause.kind() {
        io::ErrorKind::NotFound => "no such socket or host: is the server running there?".into(),
        io::ErrorKind::ConnectionRefused => "connection refused: nothing listens there".into(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => "no answer in time".into(),
        _ => cause.to_string(),
    }
}
