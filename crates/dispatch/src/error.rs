//! Errors, as messages for the user.

use thiserror::Error;

/// A table in dispadmin's form is invalid: the line and the cause.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("line {line}: {cause}")]
pub struct TableError {
    /// From 1.
    pub line: usize,
    pub cause: String,
}

impl TableError {
    pub fn new(line: usize, cause: impl Into<String>) -> Self {
        Self { line, cause: cause.into() }
    }
}
