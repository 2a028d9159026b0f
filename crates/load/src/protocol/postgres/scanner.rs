//! Replies of PostgreSQL, scanned for what counts.

use steelyard_engine::error::PlanError;

use crate::protocol::ServerError;
use crate::protocol::limits::{check_length, clipped};

/// Reads a stream of replies in pieces of any size; keeps only errors.
#[derive(Debug)]
pub struct Scanner {
    message_bytes_max: usize,
    head: [u8; 5],
    have: usize,
    left: usize,
    kept: Vec<u8>,
    parsed: bool,
    error: Option<ServerError>,
}

/// A reply that ends: ReadyForQuery came.
#[derive(Debug, PartialEq, Eq)]
pub struct Ready {
    /// 'I' idle, 'T' in a transaction, 'E' in a failed one.
    pub status: u8,
    /// The statement is prepared, even when its execution failed.
    pub parsed: bool,
    pub error: Option<ServerError>,
}

/// The fields of an ErrorResponse, long ones cut.
const KEPT: usize = 1 << 16;

impl Scanner {
    pub fn new(message_bytes_max: usize) -> Self {
        Self {
            message_bytes_max,
            head: [0; 5],
            have: 0,
            left: 0,
            kept: Vec::new(),
            parsed: false,
            error: None,
        }
    }

    /// Scans bytes; returns the end of a reply when they contain one. The lab has one request under
    /// way per connection, so at most one reply ends in a piece.
    pub fn feed(&mut self, mut bytes: &[u8]) -> Result<Option<Ready>, PlanError> {
        let mut ready = None;
        while !bytes.is_empty() {
            if self.left == 0 {
                let take = (5 - self.have).min(bytes.len());
                self.head[self.have..self.have + take].copy_from_slice(&bytes[..take]);
                self.have += take;
                bytes = &bytes[take..];
                if self.have < 5 {
                    break;
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
                if matches!(self.head[0], b'E' | b'Z') {
                    self.kept.extend_from_slice(&bytes[..take.min(KEPT - self.kept.len())]);
                }
                self.left -= take;
                bytes = &bytes[take..];
                if self.left > 0 {
                    break;
                }
            }
            match self.head[0] {
                // a notice of the first failure only: later ones in the same request follow from it
                b'E' if self.error.is_none() => self.error = Some(read_error(&self.kept)),
                b'1' => self.parsed = true,
                b'Z' => {
                    let status = self.kept.first().copied().unwrap_or(b'I');
                    let parsed = std::mem::take(&mut self.parsed);
                    ready = Some(Ready { status, parsed, error: self.error.take() });
                }
                _ => {}
            }
        }
        Ok(ready)
    }

    /// Forgets a half-read reply: the connection was replaced.
    pub fn reset(&mut self) {
        self.kept.clear();
        *self = Self { kept: std::mem::take(&mut self.kept), ..Self::new(self.message_bytes_max) };
    }

    /// The error seen last, when the connection ended before ReadyForQuery.
    pub fn last_error(&mut self) -> Option<ServerError> {
        self.error.take()
    }
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
            prop_assert_eq!(found, vec![Ready { status: b'E', parsed: true, error: Some(error) }]);
        }

        #[test]
        fn no_bytes_make_the_scanner_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = Scanner::new(1 << 20).feed(&bytes);
        }
    }
}
