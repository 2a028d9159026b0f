//! What can go wrong, in sentences for the person at the keyboard.

use thiserror::Error;

/// The run cannot start or go on. No message holds a password.
#[derive(Debug, Error)]
pub enum LoadError {
    #[error("cannot connect to {address}: {cause}")]
    Connect { address: String, cause: String },
    #[error("{address} refused the connection: {message} (SQLSTATE {code})")]
    Refused { address: String, code: String, message: String },
    #[error("{address}: the statement `{sql}` failed: {message} (SQLSTATE {code})")]
    Session { address: String, sql: String, code: String, message: String },
    #[error("{address}: all connections were lost and none could be made again for {seconds} s: {cause}")]
    Lost { address: String, seconds: u64, cause: String },
    #[error("io_uring is not to be had here ({cause}): take io = \"auto\" or \"epoll\"")]
    NoUring { cause: std::io::Error },
    #[error("{file}: {cause}")]
    Database { file: String, cause: String },
    #[error("SQLite did not take {name} = {wanted}: it has {got}")]
    NotTaken { name: String, wanted: String, got: String },
    #[error("client {number}: {cause}")]
    Client { number: usize, cause: String },
    #[error("the event loop failed: {0}")]
    Loop(#[from] std::io::Error),
    #[error("stopped")]
    Stopped,
}

impl LoadError {
    /// Whether the server has no room for a further connection: PostgreSQL's SQLSTATE, or MySQL's, or the
    /// number alone where MySQL refuses before it tells SQLSTATEs.
    pub fn is_full(&self) -> bool {
        matches!(self, Self::Refused { code, message, .. }
            if matches!(code.as_str(), "53300" | "08004") || message.starts_with("(1040)"))
    }
}
