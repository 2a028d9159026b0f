//! Replies of PostgreSQL, scanned for what counts.

use steelyard_engine::error::PlanError;

use super::rows::{Rows, values};
use crate::plan::steps::Row;
use crate::protocol::ServerError;
use crate::protocol::limits::{check_length, clipped};
use crate::record::digest::Digest;
use crate::record::executed::Effect;

/// Reads a stream of replies in pieces of any size; keeps only errors.
#[derive(Debug)]
pub struct Scanner {
    message_bytes_max: usize,
    head: [u8; 5],
    have: usize,
    left: usize,
    kept: Vec<u8>,
    parsed: bool,
    copies: bool,
    error: Option<ServerError>,
    effect: Effect,
    /// Which row is kept; none: of no statement that gives values.
    wanted: Option<Row>,
    rows: Rows,
    /// All rows, in a trial.
    pub digest: Option<Digest>,
}

/// A reply that ends: ReadyForQuery came.
#[derive(Debug, PartialEq, Eq)]
pub struct Ready {
    /// 'I' idle, 'T' in a transaction, 'E' in a failed one.
    pub status: u8,
    /// The statement is prepared, even when its execution failed.
    pub parsed: bool,
    pub error: Option<ServerError>,
    pub effect: Effect,
}

/// The fields of an ErrorResponse, long ones cut.
const KEPT: usize = 1 << 16;
/// Of a row that gives values.
const ROW_KEPT: usize = 1 << 20;

impl Scanner {
    pub fn new(message_bytes_max: usize) -> Self {
        Self {
            message_bytes_max,
            head: [0; 5],
            have: 0,
            left: 0,
            kept: Vec::new(),
            parsed: false,
            copies: false,
            error: None,
            effect: Effect::default(),
            wanted: None,
            rows: Rows::default(),
            digest: None,
        }
    }

    /// Keeps this row of the next reply.
    pub fn want(&mut self, row: Option<Row>) {
        self.wanted = row;
        self.rows.count = 0;
        self.rows.row.clear();
        self.rows.description.clear();
    }

    /// Whether a CopyInResponse came since the last call: the server waits for rows.
    pub fn copies(&mut self) -> bool {
        std::mem::take(&mut self.copies)
    }

    pub fn rows(&self) -> &Rows {
        &self.rows
    }

    /// Scans bytes; returns the end of a reply when they contain one. The lab has one request under
    /// way per connection, so at most one reply ends in a piece.
    pub fn feed(&mut self, mut bytes: &[u8]) -> Result<Option<Ready>, PlanError> {
        let mut ready = None;
        self.effect.bytes += bytes.len() as u64;
        while !bytes.is_empty() {
            let mut body = &[][..];
            if self.left == 0 {
                if let (0, Some((head, rest))) = (self.have, bytes.split_first_chunk()) {
                    (self.head, bytes) = (*head, rest);
                } else {
                    let take = (5 - self.have).min(bytes.len());
                    self.head[self.have..self.have + take].copy_from_slice(&bytes[..take]);
                    self.have += take;
                    bytes = &bytes[take..];
                    if self.have < 5 {
                        break;
                    }
                }
                let length =
                    u32::from_be_bytes([self.head[1], self.head[2], self.head[3], self.head[4]]) as usize;
                if length < 4 {
                    return Err(PlanError::new("server", "this does not speak PostgreSQL's protocol"));
                }
                check_length(length, self.message_bytes_max)?;
                self.left = length - 4;
                self.have = 0;
                self.kept.clear();
                if self.left > 0 {
                    continue;
                }
            } else {
                let take = self.left.min(bytes.len());
                let most = match self.head[0] {
                    b'C' | b'E' | b'Z' => KEPT,
                    b'D' | b'T' if self.wanted.is_some() || self.digest.is_some() => ROW_KEPT,
                    _ => 0,
                };
                body = &bytes[..take.min(most.saturating_sub(self.kept.len()))];
                bytes = &bytes[take..];
                self.left -= take;
                // a body that came whole is read where it is
                if self.left > 0 || !self.kept.is_empty() {
                    self.kept.extend_from_slice(body);
                }
                if self.left > 0 {
                    break;
                }
            }
            let body = if self.kept.is_empty() { body } else { &self.kept };
            if let (b'D', Some(digest)) = (self.head[0], &mut self.digest) {
                values(body).for_each(|value| digest.value(value));
                digest.end_row();
            }
            match self.head[0] {
                // a notice of the first failure only: later ones in the same request follow from it
                b'E' if self.error.is_none() => self.error = Some(read_error(body)),
                b'C' => self.effect.add(Effect { rows: rows_of(body), bytes: 0 }),
                b'1' => self.parsed = true,
                b'G' => self.copies = true,
                b'T' if self.wanted.is_some() => body.clone_into(&mut self.rows.description),
                b'D' if self.wanted.is_some() => {
                    self.rows.count += 1;
                    if self.rows.count == 1 || self.wanted == Some(Row::Last) {
                        body.clone_into(&mut self.rows.row);
                    }
                }
                b'Z' => {
                    let status = body.first().copied().unwrap_or(b'I');
                    let parsed = std::mem::take(&mut self.parsed);
                    let effect = std::mem::take(&mut self.effect);
                    ready = Some(Ready { status, parsed, error: self.error.take(), effect });
                }
                _ => {}
            }
        }
        Ok(ready)
    }

    /// Forgets a half-read reply: the connection was replaced.
    pub fn reset(&mut self) {
        *self = Self { kept: std::mem::take(&mut self.kept), ..Self::new(self.message_bytes_max) };
        self.kept.clear();
    }

    /// The error seen last, when the connection ended before ReadyForQuery.
    pub fn last_error(&mut self) -> Option<ServerError> {
        self.error.take()
    }
}

/// Of a CommandComplete's body: the number at the end of its tag, which only commands on rows have.
///
/// https://www.postgresql.org/docs/current/protocol-message-formats.html
fn rows_of(body: &[u8]) -> Option<u64> {
    let tag = body.strip_suffix(&[0])?;
    let (mut rows, mut unit) = (0_u64, 1_u64);
    for byte in tag.iter().rev() {
        match byte {
            b'0'..=b'9' => rows = rows.wrapping_add(u64::from(byte - b'0').wrapping_mul(unit)),
            b' ' if unit > 1 => return Some(rows),
            _ => break,
        }
        unit = unit.wrapping_mul(10);
    }
    None
}

/// Fields of an ErrorResponse's body: a letter, a string, a zero; until a zero.
fn read_error(body: &[u8]) -> ServerError {
    let mut error = ServerError::default();
    for field in body.split(|byte| *byte == 0) {
        let Some((kind, text)) = field.split_first() else { break };
        let text = clipped(text);
        match kind {
            b'C' => error.code = text,
            b'M' => error.message = text,
            _ => {}
        }
    }
    error
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::messages::message;
    use super::*;

    fn reply() -> Vec<u8> {
        let mut out = Vec::new();
        for (kind, body) in [
            (b'1', &b""[..]),
            (b'D', b"\0\x01\0\0\0\x0212"),
            (b'C', b"INSERT 0 7\0"),
            (b'C', b"SET\0"),
            (b'E', b"SERROR\0C42P01\0Mno such table\0\0"),
            (b'Z', b"E"),
        ] {
            message(kind, &mut out, |out| out.extend_from_slice(body));
        }
        out
    }

    proptest! {
        #[test]
        fn a_reply_cut_anywhere_reads_the_same(cuts in proptest::collection::vec(0usize..60, 0..8)) {
            let whole = reply();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut % whole.len()).collect();
            cuts.sort_unstable();
            cuts.push(whole.len());
            let mut scanner = Scanner::new(1 << 20);
            let mut found = Vec::new();
            let mut from = 0;
            for to in cuts {
                found.extend(scanner.feed(&whole[from..to]).unwrap());
                from = to;
            }
            let error = ServerError { code: "42P01".into(), message: "no such table".into() };
            let effect = Effect { rows: Some(7), bytes: whole.len() as u64 };
            prop_assert_eq!(found, vec![Ready { status: b'E', parsed: true, error: Some(error), effect }]);
        }

        #[test]
        fn the_chosen_row_is_kept_however_the_reply_is_cut(cut in 0usize..60, last in any::<bool>()) {
            let mut whole = Vec::new();
            for body in [&b"\0\x01\0\0\0\x0212"[..], b"\0\x01\0\0\0\x0134", b"\0\x01\xff\xff\xff\xff"] {
                message(b'D', &mut whole, |out| out.extend_from_slice(body));
            }
            message(b'Z', &mut whole, |out| out.push(b'I'));
            let cut = cut % whole.len();
            let mut scanner = Scanner::new(1 << 20);
            scanner.want(Some(if last { Row::Last } else { Row::First }));
            let _ = scanner.feed(&whole[..cut]).unwrap();
            let _ = scanner.feed(&whole[cut..]).unwrap();
            let expected = if last { &b"\0\x01\xff\xff\xff\xff"[..] } else { b"\0\x01\0\0\0\x0212" };
            prop_assert_eq!((scanner.rows().count, &scanner.rows().row[..]), (3, expected));
        }

        #[test]
        fn no_bytes_make_the_scanner_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = Scanner::new(1 << 20).feed(&bytes);
        }
    }
}
