//! The scanner of replies in the server's protocol.

use steelyard_engine::error::PlanError;

use crate::plan::Protocol;
use crate::wire::{Ready, ServerError};
use crate::{mysql, wire};

pub enum Speech {
    Postgres(wire::Scanner),
    Mysql(mysql::Scanner),
}

impl Speech {
    pub fn new(protocol: Protocol, message_bytes_max: usize) -> Self {
        match protocol {
            Protocol::Postgres => Self::Postgres(wire::Scanner::new(message_bytes_max)),
            Protocol::Mysql => Self::Mysql(mysql::Scanner::new(message_bytes_max)),
        }
    }

    pub fn feed(&mut self, bytes: &[u8]) -> Result<Option<Ready>, PlanError> {
        match self {
            Self::Postgres(scanner) => scanner.feed(bytes),
            Self::Mysql(scanner) => scanner.feed(bytes),
        }
    }

    pub fn reset(&mut self) {
        match self {
            Self::Postgres(scanner) => scanner.reset(),
            Self::Mysql(scanner) => scanner.reset(),
        }
    }

    pub fn last_error(&mut self) -> Option<ServerError> {
        match self {
            Self::Postgres(scanner) => scanner.last_error(),
            Self::Mysql(scanner) => scanner.last_error(),
        }
    }
}
