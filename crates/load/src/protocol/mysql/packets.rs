//! Parsing of MySQL and MariaDB packets, for sessions and for the load.
//!
//! https://mariadb.com/docs/server/reference/clientserver-protocol

use crate::protocol::ServerError;
use crate::protocol::limits::{COLUMNS_MAX, clipped};

/// A status flag: a further result follows, as after each result of a CALL.
pub const MORE_RESULTS: u16 = 8;

/// A length-encoded number, and what follows it.
pub fn read_length(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (first, rest) = bytes.split_first()?;
    let width = match first {
        0..=250 => return Some((u64::from(*first), rest)),
        0xfc => 2,
        0xfd => 3,
        0xfe => 8,
        _ => return None,
    };
    let (number, rest) = rest.split_at_checked(width)?;
    let mut whole = [0; 8];
    whole[..width].copy_from_slice(number);
    Some((u64::from_le_bytes(whole), rest))
}

/// How many columns the first packet of a result announces.
pub fn read_columns(bytes: &[u8]) -> Option<u64> {
    read_length(bytes).map(|(columns, _)| columns).filter(|columns| (1..=COLUMNS_MAX).contains(columns))
}

/// The status flags of an OK packet: header, affected rows, last id, status.
pub fn read_status(body: &[u8]) -> Option<u16> {
    let (_, rest) = read_length(body.get(1..)?)?;
    let (_, rest) = read_length(rest)?;
    Some(u16::from_le_bytes(rest.get(..2)?.try_into().ok()?))
}

/// The content of an ERR packet; the server's error number precedes the text.
pub fn read_error(body: &[u8]) -> ServerError {
    let number = body.get(1..3).map_or(0, |bytes| u16::from_le_bytes([bytes[0], bytes[1]]));
    let rest = body.get(3..).unwrap_or_default();
    let (code, text) = match rest.split_first() {
        Some((b'#', rest)) if rest.len() >= 5 => rest.split_at(5),
        _ => (&b"HY000"[..], rest),
    };
    ServerError { code: clipped(code), message: format!("({number}) {}", clipped(text)) }
}
