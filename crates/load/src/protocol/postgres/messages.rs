//! PostgreSQL's messages under load, written ahead into one buffer.
//!
//! https://www.postgresql.org/docs/current/protocol-message-formats.html

use crate::statements::value::Value;

/// Length of a value that is NULL.
const NULL: u32 = u32::MAX;

/// Appends a message: its type, its length, and what `body` appends.
pub(super) fn message(kind: u8, out: &mut Vec<u8>, body: impl FnOnce(&mut Vec<u8>)) {
    out.push(kind);
    let at = out.len();
    out.extend_from_slice(&[0; 4]);
    body(out);
    let length = (out.len() - at) as u32;
    out[at..at + 4].copy_from_slice(&length.to_be_bytes());
}

/// Query: one text in the simple protocol.
pub fn query(out: &mut Vec<u8>, text: impl FnOnce(&mut Vec<u8>)) {
    message(b'Q', out, |out| {
        text(out);
        out.push(0);
    });
}

/// CopyFail: the client has no rows for a COPY FROM STDIN.
pub fn copy_fail(out: &mut Vec<u8>) {
    message(b'f', out, |out| out.extend_from_slice(b"no rows\0"));
}

/// Parse: a text under a name ("" for the unnamed statement); the server infers the types.
pub fn parse(out: &mut Vec<u8>, name: &[u8], text: impl FnOnce(&mut Vec<u8>)) {
    message(b'P', out, |out| {
        out.extend_from_slice(name);
        out.push(0);
        text(out);
        out.extend_from_slice(&[0, 0, 0]);
    });
}

/// Bind and Execute of a prepared statement through the unnamed portal; values in text format. describe: lets
/// the server describe the columns of the result between them.
pub fn bind_execute<'v>(
    out: &mut Vec<u8>,
    name: &[u8],
    values: impl ExactSizeIterator<Item = &'v Value>,
    describe: bool,
) {
    message(b'B', out, |out| {
        out.push(0);
        out.extend_from_slice(name);
        out.push(0);
        out.extend_from_slice(&[0, 0]);
        out.extend_from_slice(&(values.len() as u16).to_be_bytes());
        for value in values {
            let at = out.len();
            out.extend_from_slice(&[0; 4]);
            value.write(out);
            let length = if value.is_null() { NULL } else { (out.len() - at - 4) as u32 };
            out[at..at + 4].copy_from_slice(&length.to_be_bytes());
        }
        out.extend_from_slice(&[0, 0]);
    });
    if describe {
        out.extend_from_slice(b"D\0\0\0\x06P\0");
    }
    out.extend_from_slice(b"E\0\0\0\x09\0\0\0\0\0");
}

/// Close of a prepared statement.
pub fn close(out: &mut Vec<u8>, name: &[u8]) {
    message(b'C', out, |out| {
        out.push(b'S');
        out.extend_from_slice(name);
        out.push(0);
    });
}

pub fn sync(out: &mut Vec<u8>) {
    out.extend_from_slice(b"S\0\0\0\x04");
}

pub const TERMINATE: &[u8] = b"X\0\0\0\x04";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statements::scalar::Scalar;

    #[test]
    fn parse_and_sync_are_the_bytes_of_the_manual() {
        let mut out = Vec::new();
        parse(&mut out, b"s", |out| out.extend_from_slice(b"select 1"));
        sync(&mut out);
        assert_eq!(out, b"P\0\0\0\x11s\0select 1\0\0\0S\0\0\0\x04");
    }

    #[test]
    fn bind_carries_its_values_in_text() {
        let (mut out, mut value, mut null) = (Vec::new(), Value::default(), Value::default());
        value.set_integer(42);
        null.set(Scalar::Null);
        bind_execute(&mut out, b"s", [&value, &null].into_iter(), false);
        let bind: &[u8] = b"B\0\0\0\x17\0s\0\0\0\0\x02\0\0\0\x0242\xff\xff\xff\xff\0\0";
        let execute: &[u8] = b"E\0\0\0\x09\0\0\0\0\0";
        assert_eq!(out, [bind, execute].concat());
    }
}
