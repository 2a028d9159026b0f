//! The protocol of MySQL and MariaDB.
//!
//! - [`session`]: login and queries (blocking)
//! - [`dialogue`]: each way of handling statements as commands
//! - [`commands`]: commands written
//! - [`scanner`]: replies scanned for what counts
//! - [`rows`]: values of a row
//! - [`packets`]: what both read of a packet

use super::Protocol;
use crate::statements::lexer::Lexis;
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
    const DIALECT: Dialect = Dialect {
        lexis: Lexis::Mysql { escapes: true },
        placeholder: |_| "?".into(),
        quote: b"'",
        doubled: b"'\\",
    };
    const FAREWELL: &'static [u8] = commands::QUIT;
    type Session = session::Session;
    type Dialogue = dialogue::Dialogue;

    /// A deadlock (1213), and a row changed since the snapshot (1020, innodb_snapshot_isolation).
    fn is_retryable(code: &str, message: &str) -> bool {
        code == "40001" || message.starts_with("(1020)")
    }

    /// A broken link: a packet that is too large (1153), a shutdown (1053).
    fn is_last(code: &str) -> bool {
        code == "08S01"
    }

    /// The number alone where MySQL refuses before it gives a SQLSTATE, and for the limits of an account.
    fn is_full(code: &str, message: &str) -> bool {
        let is = |number: &&str| message.starts_with(number);
        code == "08004" || ["(1040)", "(1203)", "(1226)"].iter().any(is)
    }
}
