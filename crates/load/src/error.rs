//! Errors of the engine, as messages for the user.

use thiserror::Error;

/// The run cannot start or continue. No message holds a password.
#[derive(Debug, Error)]
pub enum LoadError {
    #[error("cannot connect to {address}: {cause}")]
    Connect { address: String, cause: String },
    #[error("{address} refused the connection: {message} ({code})")]
    Refused { address: String, code: String, message: String },
    #[error("{address}: the statement `{sql}` failed: {message} ({code})")]
    Session { address: String, sql: String, code: String, message: String },
    #[error(
        "{address}: statement {statement} gave no answer in time before the load: does it wait for a lock?"
    )]
    Unanswered { address: String, statement: String },
    #[error("{address}: all connections were lost and none could be made again for {seconds} s: {cause}")]
    Lost { address: String, seconds: u64, cause: String },
    #[error("io_uring is not available ({cause}): use io = \"auto\" or \"epoll\"")]
    NoUring { cause: std::io::Error },
    #[error("{file}: {cause}")]
    Database { file: String, cause: String },
    #[error("SQLite did not take {name} = {wanted}: it has {got}")]
    NotTaken { name: String, wanted: String, got: String },
    #[error("client {number}: {cause}")]
    Client { number: usize, cause: String },
    #[error("the event loop failed: {0}")]
    Loop(#[from] std::io::Error),
    #[error("the command to start came {late_ms:.1} ms after the common start")]
    Late { late_ms: f64 },
    #[error("stopped")]
    Stopped,
}
