//! Replies of MySQL and MariaDB, scanned for what counts.

use steelyard_engine::error::PlanError;

use super::packets::{MORE_RESULTS, read_columns, read_error, read_length, read_status};
use super::rows::{Column, Rows, columns, each_value};
use crate::plan::steps::Row;
use crate::protocol::ServerError;
use crate::protocol::limits::check_length;
use crate::record::digest::Digest;
use crate::record::executed::Effect;

const LONGEST: usize = 0xff_ffff;
const IN_TRANSACTION: u16 = 1;
const AUTOCOMMIT: u16 = 2;

/// What the answer to a command looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// OK, an error, or columns and rows.
    Result,
    /// A prepared statement, or an error.
    Prepared,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Part {
    /// The first packet of an answer.
    #[default]
    First,
    /// Definitions of parameters and columns, so many still to come; then rows, or the end.
    Definitions {
        left: u64,
        rows: bool,
    },
    Rows,
}

/// Reads a stream of replies in pieces of any size; keeps only what ends an answer.
#[derive(Debug, Default)]
pub struct Scanner {
    message_bytes_max: usize,
    head: [u8; 4],
    have: usize,
    left: usize,
    length: usize,
    /// Including the packets that this one continues.
    message_bytes: usize,
    /// Bytes of the packet that matter.
    kept: Vec<u8>,
    /// The packet continues a longer one.
    goes_on: bool,
    part: Part,
    awaited: [Option<Answer>; 2],
    status: u16,
    /// The result is not the first of its answer: a CALL has several.
    further: bool,
    parsed: bool,
    /// Bound to the statement that is being prepared.
    pub parameters: usize,
    statement: u32,
    error: Option<ServerError>,
    effect: Effect,
    /// Which row is kept; none: of no statement that gives values.
    wanted: Option<Row>,
    rows: Rows,
    /// All rows, in a trial; texts: they are those of COM_QUERY.
    pub digest: Option<Digest>,
    pub texts: bool,
    /// Of a further result.
    definitions: Vec<Vec<u8>>,
    columns: Vec<Column>,
}

/// All awaited answers have ended.
#[derive(Debug, PartialEq, Eq)]
pub struct Ready {
    pub in_transaction: bool,
    pub autocommit: bool,
    /// A statement is prepared, even when its execution failed.
    pub parsed: bool,
    /// Number that the server gave it.
    pub statement: u32,
    pub error: Option<ServerError>,
    pub effect: Effect,
}

/// Only the first byte of a row is needed; the needed parts of other packets are within this.
const KEPT: usize = 1024;
/// Of a row that gives values, and of the definition of its columns.
const ROW_KEPT: usize = 1 << 20;

impl Scanner {
    pub fn new(message_bytes_max: usize) -> Self {
        Self { message_bytes_max, ..Self::default() }
    }

    /// Sets the expected answers: one, or two of commands sent in one write.
    pub fn expect(&mut self, first: Answer, then: Option<Answer>) {
        self.awaited = [Some(first), then];
    }

    /// Keeps this row of the next reply, and with `describe` the definitions of its columns.
    pub fn want(&mut self, row: Option<Row>, describe: bool) {
        self.wanted = row;
        self.rows.describe = describe;
        self.rows.count = 0;
        self.rows.row.clear();
        self.rows.definitions.clear();
    }

    pub fn rows(&self) -> &Rows {
        &self.rows
    }

    /// Scans bytes; returns the end of all awaited answers when they contain it.
    pub fn feed(&mut self, mut bytes: &[u8]) -> Result<Option<Ready>, PlanError> {
        let mut ready = None;
        self.effect.bytes += bytes.len() as u64;
        while !bytes.is_empty() {
            if self.have < 4 {
                let take = (4 - self.have).min(bytes.len());
                self.head[self.have..self.have + take].copy_from_slice(&bytes[..take]);
                self.have += take;
                bytes = &bytes[take..];
                if self.have < 4 {
                    break;
                }
                self.length = u32::from_le_bytes([self.head[0], self.head[1], self.head[2], 0]) as usize;
                self.left = self.length;
                self.message_bytes = if self.goes_on { self.message_bytes } else { 0 } + self.length;
                check_length(self.message_bytes, self.message_bytes_max)?;
                self.kept.clear();
            }
            let take = self.left.min(bytes.len());
            let keeps = self.wanted.is_some() || self.digest.is_some();
            let room = match self.part {
                Part::Rows | Part::Definitions { .. } if keeps => ROW_KEPT,
                Part::Rows if !self.may_end(bytes) => 1,
                _ => KEPT,
            };
            let keep = room.saturating_sub(self.kept.len()).min(take);
            self.kept.extend_from_slice(&bytes[..keep]);
            self.left -= take;
            bytes = &bytes[take..];
            if self.left > 0 {
                break;
            }
            self.have = 0;
            let continued = std::mem::replace(&mut self.goes_on, self.length == LONGEST);
            if !continued && self.packet()? {
                ready = Some(Ready {
                    in_transaction: self.status & IN_TRANSACTION != 0,
                    autocommit: self.status & AUTOCOMMIT != 0,
                    parsed: std::mem::take(&mut self.parsed),
                    statement: self.statement,
                    error: self.error.take(),
                    effect: std::mem::take(&mut self.effect),
                });
            }
        }
        Ok(ready)
    }

    /// Among rows: whether this packet ends them.
    fn may_end(&self, bytes: &[u8]) -> bool {
        matches!(self.kept.first().or(bytes.first()), Some(0xfe | 0xff)) && self.length < LONGEST
    }

    /// Scans a whole packet; true when nothing more is awaited.
    fn packet(&mut self) -> Result<bool, PlanError> {
        let first = self.kept.first().copied();
        match (self.part, first) {
            (Part::First, Some(0xff)) | (Part::Rows, Some(0xff)) => {
                // the first failure only: later ones in the same request follow from it
                if self.error.is_none() {
                    self.error = Some(read_error(&self.kept));
                }
                Ok(self.answered())
            }
            (Part::First, Some(0)) if self.awaited[0] == Some(Answer::Prepared) => self.prepared(),
            (Part::First, Some(0)) => {
                let (changed, _) = read_length(&self.kept[1..]).ok_or_else(foreign)?;
                self.counts(changed);
                self.ended()
            }
            (Part::First, Some(0xfb)) => {
                Err(PlanError::new("server", "requests a local file: LOAD DATA LOCAL is not supported"))
            }
            (Part::First, Some(_)) => {
                let columns = read_columns(&self.kept).ok_or_else(foreign)?;
                self.counts(0);
                self.columns.clear();
                if self.digest.is_some() {
                    self.definitions().clear();
                    self.rows.describe = true;
                }
                self.part = Part::Definitions { left: columns, rows: true };
                Ok(false)
            }
            (Part::Definitions { left, rows }, _) => {
                if rows && self.rows.describe && (!self.further || self.digest.is_some()) {
                    let definition = std::mem::take(&mut self.kept);
                    self.definitions().push(definition);
                }
                if left > 1 {
                    self.part = Part::Definitions { left: left - 1, rows };
                    Ok(false)
                } else if rows {
                    self.part = Part::Rows;
                    Ok(false)
                } else {
                    Ok(self.answered())
                }
            }
            (Part::Rows, Some(0xfe)) if self.length < LONGEST => self.ended(),
            (Part::Rows, _) => {
                self.counts(1);
                self.examine_row()?;
                // values are those of the first result
                self.rows.count += u64::from(!self.further);
                if !self.further && (self.wanted == Some(Row::Last) || self.rows.count == 1) {
                    std::mem::swap(&mut self.rows.row, &mut self.kept);
                }
                Ok(false)
            }
            (Part::First, None) => Err(foreign()),
        }
    }

    fn prepared(&mut self) -> Result<bool, PlanError> {
        let body: [u8; 9] = self.kept.get(..9).and_then(|body| body.try_into().ok()).ok_or_else(foreign)?;
        self.parsed = true;
        self.statement = u32::from_le_bytes([body[1], body[2], body[3], body[4]]);
        let [columns, parameters] = [5, 7].map(|at| u16::from_le_bytes([body[at], body[at + 1]]));
        if usize::from(parameters) != self.parameters {
            // values beyond its own are read as others: each would be wrong
            let message = format!("the server counts {parameters} parameters, of {} bound", self.parameters);
            self.error = Some(ServerError { code: "07001".into(), message });
        }
        let definitions = u64::from(columns) + u64::from(parameters);
        if definitions == 0 {
            return Ok(self.answered());
        }
        self.part = Part::Definitions { left: definitions, rows: false };
        Ok(false)
    }

    /// An OK packet.
    fn ended(&mut self) -> Result<bool, PlanError> {
        self.status = read_status(&self.kept).ok_or_else(foreign)?;
        if self.status & MORE_RESULTS != 0 {
            self.part = Part::First;
            self.further = true;
            return Ok(false);
        }
        Ok(self.answered())
    }

    fn examine_row(&mut self) -> Result<(), PlanError> {
        let Some(digest) = &mut self.digest else { return Ok(()) };
        if self.columns.is_empty() {
            let definitions = if self.further { &self.definitions } else { &self.rows.definitions };
            self.columns = columns(definitions).map_err(|_| foreign())?;
        }
        each_value(&self.kept, &self.columns, self.texts, |value| digest.value(value));
        digest.end_row();
        Ok(())
    }

    fn definitions(&mut self) -> &mut Vec<Vec<u8>> {
        if self.further { &mut self.definitions } else { &mut self.rows.definitions }
    }

    fn counts(&mut self, rows: u64) {
        self.effect.add(Effect { rows: Some(rows), bytes: 0 });
    }

    fn answered(&mut self) -> bool {
        self.part = Part::First;
        self.further = false;
        self.awaited = [self.awaited[1], None];
        self.awaited[0].is_none()
    }

    /// Forgets a half-read reply: the connection was replaced.
    pub fn reset(&mut self) {
        *self = Self { kept: std::mem::take(&mut self.kept), ..Self::new(self.message_bytes_max) };
    }

    /// The error seen last, when the connection ended before the answer did.
    pub fn last_error(&mut self) -> Option<ServerError> {
        self.error.take()
    }
}

fn foreign() -> PlanError {
    PlanError::new("server", "this does not speak MySQL's protocol")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn packet(number: u8, body: &[u8]) -> Vec<u8> {
        let mut out = (body.len() as u32).to_le_bytes();
        out[3] = number;
        [&out, body].concat()
    }

    /// Two columns, two rows, the second of which begins with a long text; then OK in a transaction.
    fn rows() -> Vec<u8> {
        let long = [&[0xfc, 0x2c, 1][..], &[b'x'; 300]].concat();
        [
            packet(1, &[2]),
            packet(2, b"definition"),
            packet(3, b"definition"),
            packet(4, b"\x011\x012"),
            packet(5, &long),
            packet(6, &[0xfe, 0, 0, 1, 0, 0, 0]),
        ]
        .concat()
    }

    #[test]
    fn a_prepared_statement_and_its_rows_end_together() {
        let prepared = [0, 9, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0];
        let bytes =
            [packet(1, &prepared), packet(2, b"definition"), packet(3, b"definition"), rows()].concat();
        let mut scanner = Scanner::new(1 << 20);
        scanner.parameters = 1;
        scanner.expect(Answer::Prepared, Some(Answer::Result));
        let ready = scanner.feed(&bytes).unwrap();
        let effect = Effect { rows: Some(2), bytes: bytes.len() as u64 };
        assert_eq!(
            ready,
            Some(Ready {
                in_transaction: true,
                autocommit: false,
                parsed: true,
                statement: 9,
                error: None,
                effect
            })
        );
    }

    #[test]
    fn a_change_counts_the_rows_that_the_server_names() {
        let mut scanner = Scanner::new(1 << 20);
        scanner.expect(Answer::Result, None);
        let changed = packet(1, &[0, 3, 0, 2, 0, 0, 0]);
        let ready = scanner.feed(&changed).unwrap().unwrap();
        assert_eq!((ready.effect.rows, ready.in_transaction), (Some(3), false));
    }

    #[test]
    fn a_call_ends_with_the_last_of_its_results_and_gives_the_values_of_the_first() {
        let mut first = rows();
        let status = first.len() - 4;
        first[status] |= 8;
        let other =
            [packet(7, &[1]), packet(8, b"another"), packet(9, b"\x019"), packet(10, &[0xfe, 0, 0, 8, 0])];
        let bytes = [first, other.concat(), packet(11, &[0, 0, 0, 2, 0, 0, 0])].concat();
        let mut scanner = Scanner::new(1 << 20);
        scanner.expect(Answer::Result, None);
        scanner.want(Some(Row::First), true);
        let mut found = Vec::new();
        for byte in &bytes {
            found.extend(scanner.feed(&[*byte]).unwrap());
        }
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].in_transaction, found[0].effect.rows), (false, Some(3)));
        let kept = scanner.rows();
        assert_eq!((kept.count, &kept.row[..], kept.definitions.len()), (2, &b"\x011\x012"[..], 2));
    }

    #[test]
    fn an_error_carries_its_number() {
        let mut scanner = Scanner::new(1 << 20);
        scanner.parameters = 1;
        scanner.expect(Answer::Prepared, Some(Answer::Result));
        let failed =
            packet(1, b"\xff\xb5\x05#42000Can't create more than max_prepared_stmt_count statements");
        assert_eq!(scanner.feed(&failed).unwrap(), None);
        let error = scanner.feed(&failed).unwrap().unwrap().error.unwrap();
        assert_eq!(error.code, "42000");
        assert!(error.message.starts_with("(1461) Can't create"));
    }

    #[test]
    fn the_chosen_row_and_its_columns_are_kept() {
        for (wanted, length) in [(Row::First, 4), (Row::Last, 303)] {
            let mut scanner = Scanner::new(1 << 20);
            scanner.expect(Answer::Result, None);
            scanner.want(Some(wanted), true);
            for byte in rows() {
                let _ = scanner.feed(&[byte]).unwrap();
            }
            let kept = scanner.rows();
            assert_eq!((kept.count, kept.row.len(), kept.definitions.len()), (2, length, 2));
        }
    }

    proptest! {
        #[test]
        fn a_reply_cut_anywhere_reads_the_same(cuts in proptest::collection::vec(0usize..400, 0..8)) {
            let whole = rows();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut % whole.len()).collect();
            cuts.sort_unstable();
            cuts.push(whole.len());
            let mut scanner = Scanner::new(1 << 20);
            scanner.expect(Answer::Result, None);
            let mut found = Vec::new();
            let mut from = 0;
            for to in cuts {
                found.extend(scanner.feed(&whole[from..to]).unwrap());
                from = to;
            }
            let effect = Effect { rows: Some(2), bytes: whole.len() as u64 };
            let ready = Ready {
                in_transaction: true,
                autocommit: false,
                parsed: false,
                statement: 0,
                error: None,
                effect,
            };
            prop_assert_eq!(found, vec![ready]);
        }

        #[test]
        fn no_bytes_make_the_scanner_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut scanner = Scanner::new(1 << 20);
                scanner.parameters = 1;
            scanner.expect(Answer::Prepared, Some(Answer::Result));
            let _ = scanner.feed(&bytes);
        }
    }
}
