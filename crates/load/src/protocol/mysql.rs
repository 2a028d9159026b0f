//! The protocol of MySQL and MariaDB.
//!
//! - [`session`]: login and queries (blocking)
//! - [`dialogue`]: each way of handling statements as commands
//! - [`commands`]: commands written
//! - [`scanner`]: replies scanned for what counts
//! - [`rows`]: values of a row
//! - [`packets`]: what both read of a packet

use super::Protocol;
use crate::statements::template::Dialect;

pub mod commands;
pub mod dialogue;
pub mod packets;
pub mod rows;
pub mod scanner;
pub mod session;

pub struct Mysql;

impl Protocol for Mysql {
    const NAME: &'static str = "mysql";
    const DIALECT: Dialect = Dialect { placeholder: |_| "?".into(), quote: b"'", doubled: b"'\\" };
    const FAREWELL: &'static [u8] = commands::QUIT;
    type Session = session::Session;
    type Dialogue = dialogue::Dialogue;

    /// A deadlock (1213), and a row changed since the snapshot (1020, innodb_snapshot_isolation).
    fn is_retryable(code: &str, message: &str) -> bool {
        code == "40001" || message.starts_with("(1020)")
    }

    /// The number alone where MySQL refuses before it gives a SQLSTATE.
    fn is_full(code: &str, message: &str) -> bool {
        code == "08004" || message.starts_with("(1040)")
    }
}
