//! Commands of MySQL, appended to what is to be sent.

use crate::statements::value::{Kind, Value};

/// COM_QUIT.
pub const QUIT: &[u8] = b"\x01\0\0\0\x01";
/// MariaDB: the statement that this connection prepared last.
pub const LAST: u32 = u32::MAX;

const TYPE_DOUBLE: u8 = 5;
const TYPE_LONGLONG: u8 = 8;
const TYPE_VAR_STRING: u8 = 253;

/// Appends a command: its length, number 0, its code, and what `body` appends.
fn command(code: u8, out: &mut Vec<u8>, body: impl FnOnce(&mut Vec<u8>)) {
    let at = out.len();
    out.extend_from_slice(&[0, 0, 0, 0, code]);
    body(out);
    let length = (out.len() - at - 4) as u32;
    out[at..at + 3].copy_from_slice(&length.to_le_bytes()[..3]);
}

/// COM_QUERY: one text.
pub fn query(out: &mut Vec<u8>, text: impl FnOnce(&mut Vec<u8>)) {
    command(3, out, text);
}

/// COM_STMT_PREPARE.
pub fn prepare(out: &mut Vec<u8>, text: impl FnOnce(&mut Vec<u8>)) {
    command(0x16, out, text);
}

/// COM_STMT_EXECUTE without a cursor. `places`: the value for each place of the text.
pub fn execute(out: &mut Vec<u8>, statement: u32, values: &[Value], places: &[usize]) {
    command(0x17, out, |out| {
        out.extend_from_slice(&statement.to_le_bytes());
        out.extend_from_slice(&[0, 1, 0, 0, 0]);
        if places.is_empty() {
            return;
        }
        let nulls = out.len();
        out.resize(nulls + places.len().div_ceil(8), 0);
        out.push(1); // types follow
        for (number, place) in places.iter().enumerate() {
            let value = &values[*place];
            if value.is_null() {
                out[nulls + number / 8] |= 1 << (number % 8);
            }
            out.extend_from_slice(match value.kind {
                Kind::Integer(_) | Kind::Boolean(_) => &[TYPE_LONGLONG, 0],
                Kind::Double(_) => &[TYPE_DOUBLE, 0],
                Kind::Text { .. } | Kind::Null | Kind::Missing => &[TYPE_VAR_STRING, 0],
            });
        }
        for place in places {
            let Value { kind, text } = &values[*place];
            match kind {
                Kind::Integer(number) => out.extend_from_slice(&number.to_le_bytes()),
                Kind::Boolean(truth) => out.extend_from_slice(&i64::from(*truth).to_le_bytes()),
                Kind::Double(number) => out.extend_from_slice(&number.to_le_bytes()),
                Kind::Text { .. } => {
                    write_length(text.len() as u64, out);
                    out.extend_from_slice(text);
                }
                Kind::Null | Kind::Missing => {}
            }
        }
    });
}

/// COM_STMT_CLOSE: it has no answer.
pub fn close(out: &mut Vec<u8>, statement: u32) {
    command(0x19, out, |out| out.extend_from_slice(&statement.to_le_bytes()));
}

fn write_length(length: u64, out: &mut Vec<u8>) {
    match length {
        0..=250 => out.push(length as u8),
        251..=0xffff => {
            out.push(0xfc);
            out.extend_from_slice(&(length as u16).to_le_bytes());
        }
        0x1_0000..=0xff_ffff => {
            out.push(0xfd);
            out.extend_from_slice(&length.to_le_bytes()[..3]);
        }
        _ => {
            out.push(0xfe);
            out.extend_from_slice(&length.to_le_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn execute_binds_by_type() {
        let mut out = Vec::new();
        let mut values = [Value::default(), Value::default()];
        values[0].set_text(true).extend_from_slice(b"ab");
        values[1].set_integer(-1);
        execute(&mut out, 7, &values, &[1, 0]);
        let head: &[u8] = b"\x1b\0\0\0\x17\x07\0\0\0\0\x01\0\0\0\0\x01\x08\0\xfd\0";
        assert_eq!(out[..20], *head);
        assert_eq!(out[20..], *b"\xff\xff\xff\xff\xff\xff\xff\xff\x02ab"[..out.len() - 20].to_vec());
    }
}
