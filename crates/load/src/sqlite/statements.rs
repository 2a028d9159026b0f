//! A client's statements: each way of handling them as calls of SQLite.

use std::hint::black_box;

use rusqlite::types::{Null, ValueRef};
use rusqlite::{Connection, Error, PrepFlags, Statement, ffi};

use crate::plan::Handle;
use crate::record::digest::Digest;
use crate::record::executed::Effect;
use crate::statements::draw::Draw;
use crate::statements::value::{Kind, Value};
use crate::statements::work::Work;

pub struct Statements<'a> {
    work: &'a Work,
    connection: &'a Connection,
    /// By statement and tag: prepared once and kept.
    named: Vec<Vec<Option<Statement<'a>>>>,
    /// Prepared and never finalised while the client is there.
    left: Vec<Statement<'a>>,
    /// Of all rows, in a trial.
    pub digest: Option<Digest>,
    text: Vec<u8>,
}

impl<'a> Statements<'a> {
    pub fn new(work: &'a Work, connection: &'a Connection) -> Self {
        let (plan, texts) = (&work.plan, work.plan.texts());
        let named = if plan.handle == Handle::Named { work.templates.len() } else { 0 };
        Self {
            work,
            connection,
            named: (0..named).map(|_| (0..texts).map(|_| None).collect()).collect(),
            left: Vec::new(),
            digest: None,
            text: Vec::with_capacity(256),
        }
    }

    /// Executes the statement that was drawn, and fetches all its rows.
    pub fn execute(&mut self, draw: &Draw) -> Result<Effect, Error> {
        let (statement, tag) = (draw.statement, draw.tag as usize);
        let returned = match self.work.plan.handle {
            Handle::Named => {
                if self.named[statement][tag].is_none() {
                    let prepared = self.prepare(draw, PrepFlags::SQLITE_PREPARE_PERSISTENT)?;
                    self.named[statement][tag] = Some(prepared);
                }
                let kept = self.named[statement][tag].as_mut();
                kept.map_or(Ok(None), |statement| {
                    step(statement, draw.bound(self.work), self.digest.as_mut())
                })
            }
            Handle::Left => {
                let mut prepared = self.prepare(draw, PrepFlags::empty())?;
                let outcome = step(&mut prepared, draw.bound(self.work), self.digest.as_mut());
                self.left.push(prepared);
                outcome
            }
            Handle::None | Handle::Unnamed | Handle::PerUse => {
                let mut prepared = self.prepare(draw, PrepFlags::empty())?;
                step(&mut prepared, draw.bound(self.work), self.digest.as_mut())
            }
        }?;
        let counts = self.work.plan.statements[statement].counts;
        let rows = counts.then(|| returned.unwrap_or_else(|| self.connection.changes()));
        Ok(Effect { rows, bytes: 0 })
    }

    fn prepare(&mut self, draw: &Draw, flags: PrepFlags) -> Result<Statement<'a>, Error> {
        self.text.clear();
        draw.write_text(self.work, &mut self.text);
        let text = std::str::from_utf8(&self.text).map_err(Error::Utf8Error)?;
        self.connection.prepare_with_flags(text, flags)
    }
}

/// Binds, fetches the rows with their columns, and resets; how many there were. None: it returns no rows.
fn step<'v>(
    statement: &mut Statement,
    values: impl Iterator<Item = &'v Value>,
    mut digest: Option<&mut Digest>,
) -> Result<Option<u64>, Error> {
    // to SQLite `$1` is a name; it numbers names by first occurrence, as the template does
    for (index, value) in values.enumerate() {
        match value.kind {
            Kind::Integer(number) => statement.raw_bind_parameter(index + 1, number)?,
            Kind::Double(number) => statement.raw_bind_parameter(index + 1, number)?,
            Kind::Boolean(truth) => statement.raw_bind_parameter(index + 1, truth)?,
            Kind::Null | Kind::Missing => statement.raw_bind_parameter(index + 1, Null)?,
            Kind::Text { .. } => {
                let text = std::str::from_utf8(&value.text).map_err(Error::Utf8Error)?;
                statement.raw_bind_parameter(index + 1, text)?;
            }
        }
    }
    let columns = statement.column_count();
    let mut count = 0;
    let mut rows = statement.raw_query();
    while let Some(row) = rows.next()? {
        count += 1;
        for column in 0..columns {
            let value = black_box(row.get_ref(column)?);
            if let Some(digest) = &mut digest {
                take(digest, value);
            }
        }
        if let Some(digest) = &mut digest {
            digest.end_row();
        }
    }
    Ok((columns > 0).then_some(count))
}

fn take(digest: &mut Digest, value: ValueRef) {
    match value {
        ValueRef::Null => digest.value(None),
        ValueRef::Integer(number) => digest.value(Some(number.to_string().as_bytes())),
        ValueRef::Real(number) => digest.value(Some(number.to_string().as_bytes())),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => digest.value(Some(bytes)),
    }
}

/// Names of extended result codes: https://www.sqlite.org/rescode.html
const CODES: [(i32, &str); 12] = [
    (ffi::SQLITE_BUSY, "SQLITE_BUSY"),
    (ffi::SQLITE_BUSY_RECOVERY, "SQLITE_BUSY_RECOVERY"),
    (ffi::SQLITE_BUSY_SNAPSHOT, "SQLITE_BUSY_SNAPSHOT"),
    (ffi::SQLITE_BUSY_TIMEOUT, "SQLITE_BUSY_TIMEOUT"),
    (ffi::SQLITE_LOCKED, "SQLITE_LOCKED"),
    (ffi::SQLITE_LOCKED_SHAREDCACHE, "SQLITE_LOCKED_SHAREDCACHE"),
    // our own handler interrupts what is over its deadline
    (ffi::SQLITE_INTERRUPT, "deadline"),
    (ffi::SQLITE_FULL, "SQLITE_FULL"),
    (ffi::SQLITE_NOMEM, "SQLITE_NOMEM"),
    (ffi::SQLITE_READONLY, "SQLITE_READONLY"),
    (ffi::SQLITE_CORRUPT, "SQLITE_CORRUPT"),
    (ffi::SQLITE_CONSTRAINT_PRIMARYKEY, "SQLITE_CONSTRAINT_PRIMARYKEY"),
];

/// The code by which an error is counted.
pub fn code_of(error: &Error) -> String {
    let number = match error {
        Error::SqliteFailure(failure, _) | Error::SqlInputError { error: failure, .. } => {
            failure.extended_code
        }
        _ => return "SQLITE_MISUSE".into(),
    };
    CODES
        .iter()
        .find(|(code, _)| *code == number)
        .map_or_else(|| format!("SQLITE_{number}"), |(_, name)| (*name).into())
}
