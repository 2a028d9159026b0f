//! How a connection to the database is opened, and the facts that it reports.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Error, OpenFlags, ffi};

use crate::error::LoadError;
use crate::plan::sqlite::{Database, Threading};

impl Database {
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
            let got = set(&connection, name, wanted, busy).map_err(|error| self.failed(&error))?;
            match got {
                Some(got) if taken(name, wanted, &got) => {}
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

/// Settings that are reported for every database, even if a study does not set them.
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

/// busy: how long it waits for locks. A change of `journal_mode` ignores the busy timeout of its connection, so
/// of several clients that change it at once one may fail.
fn set(connection: &Connection, name: &str, value: &str, busy: Duration) -> Result<Option<String>, Error> {
    // quoted values are taken for numbers and words alike
    let text = format!("pragma {name} = '{}'", value.replace('\'', "''"));
    let limit = Instant::now() + busy;
    loop {
        match execute(connection, &text) {
            Err(error) if is_busy(&error) && Instant::now() < limit => {
                std::thread::sleep(Duration::from_millis(1));
            }
            Err(error) => return Err(error),
            Ok(()) => return show(connection, name),
        }
    }
}

fn execute(connection: &Connection, text: &str) -> Result<(), Error> {
    let mut statement = connection.prepare(text)?;
    let mut rows = statement.raw_query();
    while rows.next()?.is_some() {}
    Ok(())
}

fn is_busy(error: &Error) -> bool {
    error.sqlite_error_code() == Some(ffi::ErrorCode::DatabaseBusy)
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

/// Words that SQLite accepts and reports in another form, by PRAGMA: https://www.sqlite.org/pragma.html
const WORDS: [(&str, &[(&str, &str)]); 5] = [
    ("auto_vacuum", &[("none", "0"), ("full", "1"), ("incremental", "2")]),
    (
        "encoding",
        &[
            ("utf8", "utf-8"),
            ("utf16", UTF_16),
            ("utf-16", UTF_16),
            ("utf16le", "utf-16le"),
            ("utf16be", "utf-16be"),
        ],
    ),
    ("secure_delete", &[("fast", "2")]),
    ("synchronous", &[("normal", "1"), ("full", "2"), ("extra", "3")]),
    ("temp_store", &[("default", "0"), ("file", "1"), ("memory", "2")]),
];

/// In the order of this machine's bytes.
const UTF_16: &str = if cfg!(target_endian = "little") { "utf-16le" } else { "utf-16be" };

/// The same of every PRAGMA that is a switch.
const SWITCH: [(&str, &str); 6] =
    [("on", "1"), ("true", "1"), ("yes", "1"), ("off", "0"), ("false", "0"), ("no", "0")];

/// Whether `shown` is the requested value of the PRAGMA.
fn taken(name: &str, requested: &str, shown: &str) -> bool {
    let (requested, shown) = (requested.trim().to_lowercase(), shown.trim().to_lowercase());
    let own = WORDS.iter().filter(|(of, _)| *of == name).flat_map(|(_, words)| *words);
    requested == shown || own.chain(&SWITCH).any(|(word, other)| *word == requested && *other == shown)
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Barrier;

    use super::*;
    use crate::plan::sqlite::{Begin, Workers};

    #[test]
    fn a_word_is_taken_as_what_sqlite_shows_of_it_for_this_pragma() {
        assert!(taken("synchronous", "NORMAL", "1") && taken("synchronous", "full", "2"));
        assert!(taken("foreign_keys", "off", "0") && taken("journal_mode", "WAL", "wal"));
        assert!(taken("cache_size", "-2000", "-2000") && taken("temp_store", "memory", "2"));
        assert!(!taken("synchronous", "normal", "2") && !taken("journal_mode", "wal", "delete"));
        assert!(!taken("auto_vacuum", "full", "2") && !taken("cache_size", "100", "50"));
    }

    fn database(file: &Path, name: &str, requested: &str) -> Database {
        Database {
            file: file.to_string_lossy().into_owned(),
            workers: Workers::Threads,
            threading: Threading::Serialized,
            shared_cache: false,
            begin: Begin::Deferred,
            memory_status: true,
            pragmas: vec![(name.into(), requested.into())],
        }
    }

    /// Opens a file made with `made` of a setting, and requests `requested`.
    fn opened(name: &str, made: &str, requested: &str) -> Result<Connection, LoadError> {
        let file = std::env::temp_dir().join(format!("steelyard-{name}-{}-{made}", std::process::id()));
        let maker = Connection::open(&file).unwrap();
        maker.execute_batch(&format!("pragma {name} = '{made}'; create table item (id integer)")).unwrap();
        drop(maker);
        let opened = database(&file, name, requested).open(Duration::ZERO);
        std::fs::remove_file(&file).unwrap();
        opened
    }

    /// Each value is accepted where the file was made with it, and refused where it was made with another.
    fn is_of_the_file(name: &str, values: &[&str]) {
        for made in values {
            for requested in values {
                assert_eq!(
                    opened(name, made, requested).is_ok(),
                    made == requested,
                    "{name}: {requested} of {made}"
                );
            }
        }
    }

    #[test]
    fn clients_that_change_the_journal_at_once_wait_for_each_other() {
        for number in 0..60 {
            let file =
                std::env::temp_dir().join(format!("steelyard-journal-{}-{number}", std::process::id()));
            Connection::open(&file).unwrap().execute_batch("create table item (id integer)").unwrap();
            let (shared, start) = (database(&file, "journal_mode", "wal"), Barrier::new(3));
            let open = || {
                start.wait();
                shared.open(Duration::from_secs(30)).err()
            };
            let failures = std::thread::scope(|scope| {
                let clients: Vec<_> = (0..3).map(|_| scope.spawn(open)).collect();
                clients.into_iter().filter_map(|client| client.join().unwrap()).collect::<Vec<_>>()
            });
            std::fs::remove_file(&file).unwrap();
            // connections that close at once leave these: neither has the file to itself
            for name in ["-wal", "-shm"] {
                let _ = std::fs::remove_file(format!("{}{name}", file.display()));
            }
            assert!(failures.is_empty(), "{failures:?}");
        }
    }

    #[test]
    fn the_size_of_pages_is_of_the_file() {
        is_of_the_file("page_size", &["1024", "4096", "65536"]);
    }

    #[test]
    fn the_kind_of_vacuum_is_of_the_file() {
        // full and incremental may follow each other at any time: https://www.sqlite.org/pragma.html#pragma_auto_vacuum
        is_of_the_file("auto_vacuum", &["none", "full"]);
        is_of_the_file("auto_vacuum", &["none", "incremental"]);
    }

    #[test]
    fn the_encoding_is_of_the_file() {
        is_of_the_file("encoding", &["UTF-8", "UTF-16le", "UTF-16be"]);
        is_of_the_file("encoding", &["UTF8", "UTF-16"]);
    }
}
