//! How a connection to the database is opened, and what it must say of itself.

use std::collections::BTreeMap;
use std::time::Duration;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Error, OpenFlags, ffi};
use serde::Deserialize;

use crate::error::{LoadError, PlanError};

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
            return Err(PlanError::new(field("shared_cache"), "processes cannot share a cache: threads can"));
        }
        let word = |name: &str| !name.is_empty() && name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
        match self.pragmas.iter().find(|(name, _)| !word(name)) {
            Some((name, _)) => {
                Err(PlanError::new(field("pragmas"), format!("`{name}` is no name of a PRAGMA")))
            }
            None => Ok(()),
        }
    }

    /// What holds for the whole process; before its first connection.
    pub fn configure(&self) -> Result<(), LoadError> {
        // SAFETY: SQLite is not yet used in this process, which the answer confirms; the option takes an int.
        let answer =
            unsafe { ffi::sqlite3_config(ffi::SQLITE_CONFIG_MEMSTATUS, i32::from(self.memory_status)) };
        if answer == ffi::SQLITE_OK {
            return Ok(());
        }
        Err(self.refused("memory_status", &self.memory_status.to_string(), "what it was: SQLite is in use"))
    }

    /// A connection with everything set and read back. busy: how long it waits for locks.
    pub fn open(&self, busy: Duration) -> Result<Connection, LoadError> {
        let mutex = match self.threading {
            Threading::Serialized => OpenFlags::SQLITE_OPEN_FULL_MUTEX,
            Threading::MultiThread => OpenFlags::SQLITE_OPEN_NO_MUTEX,
        };
        let cache = if self.shared_cache {
            OpenFlags::SQLITE_OPEN_SHARED_CACHE
        } else {
            OpenFlags::SQLITE_OPEN_PRIVATE_CACHE
        };
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | mutex | cache;
        let opened = Connection::open_with_flags(&self.file, flags).and_then(|connection| {
            connection.busy_timeout(busy)?;
            Ok(connection)
        });
        let connection = opened.map_err(|error| self.failed(&error))?;
        // SAFETY: the handle is that of an open connection.
        let has_mutex = !unsafe { ffi::sqlite3_db_mutex(connection.handle()) }.is_null();
        if has_mutex != (self.threading == Threading::Serialized) {
            let got = if has_mutex { "serialized" } else { "multi-thread" };
            return Err(self.refused("threading", &format!("{:?}", self.threading), got));
        }
        for (name, wanted) in &self.pragmas {
            let got = set(&connection, name, wanted).map_err(|error| self.failed(&error))?;
            match got {
                Some(got) if taken(wanted, &got) => {}
                Some(got) => return Err(self.refused(name, wanted, &got)),
                None => return Err(self.refused(name, wanted, "nothing: it has no such setting")),
            }
        }
        Ok(connection)
    }

    /// Version, build options, and settings as a connection shows them.
    pub fn facts(&self, connection: &Connection) -> Result<BTreeMap<String, serde_json::Value>, Error> {
        let mut settings = BTreeMap::new();
        let known = SHOWN.iter().map(|name| (*name).to_string());
        for name in known.chain(self.pragmas.iter().map(|(name, _)| name.clone())) {
            if let Some(value) = show(connection, &name)? {
                settings.insert(name, value);
            }
        }
        let mut statement = connection.prepare("pragma compile_options")?;
        let options: Vec<String> = statement.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
        Ok(BTreeMap::from([
            ("version".into(), rusqlite::version().into()),
            ("settings".into(), settings.into_iter().collect()),
            ("compile_options".into(), options.into()),
        ]))
    }

    pub fn failed(&self, error: &Error) -> LoadError {
        LoadError::Database { file: self.file.clone(), cause: error.to_string() }
    }

    fn refused(&self, name: &str, wanted: &str, got: &str) -> LoadError {
        LoadError::NotTaken { name: name.into(), wanted: wanted.into(), got: got.into() }
    }
}

/// Settings told of every database, whether a study sets them or not.
const SHOWN: [&str; 9] = [
    "auto_vacuum",
    "busy_timeout",
    "cache_size",
    "encoding",
    "journal_mode",
    "locking_mode",
    "mmap_size",
    "page_size",
    "synchronous",
];

fn set(connection: &Connection, name: &str, value: &str) -> Result<Option<String>, Error> {
    // quoted values are taken for numbers and words alike
    let text = format!("pragma {name} = '{}'", value.replace('\'', "''"));
    let mut statement = connection.prepare(&text)?;
    let mut rows = statement.raw_query();
    while rows.next()?.is_some() {}
    show(connection, name)
}

fn show(connection: &Connection, name: &str) -> Result<Option<String>, Error> {
    let mut statement = connection.prepare(&format!("pragma {name}"))?;
    let mut rows = statement.raw_query();
    let Some(row) = rows.next()? else { return Ok(None) };
    Ok(Some(match row.get_ref(0)? {
        ValueRef::Integer(number) => number.to_string(),
        ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned(),
        other => format!("{other:?}"),
    }))
}

/// Words that SQLite takes for a number and shows as that number.
const WORDS: [(&str, &str); 16] = [
    ("on", "1"),
    ("true", "1"),
    ("yes", "1"),
    ("off", "0"),
    ("false", "0"),
    ("no", "0"),
    ("none", "0"),
    ("normal", "1"),
    ("full", "2"),
    ("extra", "3"),
    ("default", "0"),
    ("file", "1"),
    ("memory", "2"),
    ("incremental", "2"),
    ("fast", "2"),
    ("full_vacuum", "1"),
];

/// Whether `shown` is what was asked.
fn taken(asked: &str, shown: &str) -> bool {
    let (asked, shown) = (asked.trim().to_lowercase(), shown.trim().to_lowercase());
    asked == shown || WORDS.iter().any(|(word, number)| *word == asked && *number == shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_taken_as_the_number_that_sqlite_shows() {
        assert!(taken("NORMAL", "1") && taken("off", "0") && taken("WAL", "wal") && taken("-2000", "-2000"));
        assert!(!taken("normal", "2") && !taken("wal", "delete") && !taken("100", "50"));
    }
}
