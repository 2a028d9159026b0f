//! A database that clients open in this process, or in processes of ours.

use serde::Deserialize;
use steelyard_engine::error::PlanError;

/// What a client is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Workers {
    /// A thread of one process.
    Threads,
    /// A process of its own.
    Processes,
}

/// https://www.sqlite.org/threadsafe.html
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Threading {
    /// Each call takes the connection's mutex.
    Serialized,
    /// No mutex: a connection belongs to one thread at a time.
    MultiThread,
}

/// How a transaction begins. https://www.sqlite.org/lang_transaction.html
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Begin {
    Deferred,
    Immediate,
    Exclusive,
}

impl Begin {
    pub fn sql(self) -> &'static str {
        match self {
            Self::Deferred => "begin deferred",
            Self::Immediate => "begin immediate",
            Self::Exclusive => "begin exclusive",
        }
    }
}

/// A file, and how it is opened.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Database {
    pub file: String,
    pub workers: Workers,
    pub threading: Threading,
    pub shared_cache: bool,
    pub begin: Begin,
    /// SQLite counts the memory it uses, under one mutex of the process.
    pub memory_status: bool,
    /// In this order, on each connection.
    pub pragmas: Vec<(String, String)>,
}

impl Database {
    pub fn check(&self) -> Result<(), PlanError> {
        let field = |name: &str| format!("sqlite.{name}");
        if self.file.is_empty() || self.file.contains('\0') {
            return Err(PlanError::new(field("file"), "must be the path of a file"));
        }
        if self.shared_cache && self.workers == Workers::Processes {
            return Err(PlanError::new(
                field("shared_cache"),
                "processes cannot share a cache: it needs workers = 'threads'",
            ));
        }
        let word = |name: &str| !name.is_empty() && name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
        match self.pragmas.iter().find(|(name, _)| !word(name)) {
            Some((name, _)) => {
                Err(PlanError::new(field("pragmas"), format!("`{name}` is no name of a PRAGMA")))
            }
            None => Ok(()),
        }
    }
}
