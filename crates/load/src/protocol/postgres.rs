//! PostgreSQL's protocol.
//!
//! - [`session`]: login and queries (blocking)
//! - [`dialogue`]: each way of handling statements as messages
//! - [`messages`]: messages written
//! - [`scanner`]: replies scanned for what counts
//! - [`rows`]: values of a row

use super::Protocol;
use crate::statements::lexer::Lexis;
use crate::statements::template::Dialect;

pub mod dialogue;
pub mod messages;
pub mod rows;
pub mod scanner;
pub mod session;

pub struct Postgres;

impl Protocol for Postgres {
    const NAME: &'static str = "postgres";
    const DIALECT: Dialect = Dialect {
        lexis: Lexis::Postgresql,
        placeholder: |number| format!("${number}"),
        quote: b"'",
        doubled: b"'",
    };
    const FAREWELL: &'static [u8] = messages::TERMINATE;
    type Session = session::Session;
    type Dialogue = dialogue::Dialogue;

    /// serialization_failure, deadlock_detected.
    fn is_retryable(code: &str, _message: &str) -> bool {
        matches!(code, "40001" | "40P01")
    }

    fn is_full(code: &str, _message: &str) -> bool {
        code == "53300"
    }
}
