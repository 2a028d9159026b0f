//! Values of a row of MySQL or MariaDB: as texts (COM_QUERY), or binary (COM_STMT_EXECUTE).
//!
//! https://mariadb.com/docs/server/reference/clientserver-protocol

use std::io::Write;

use super::packets::read_length;
use crate::statements::draw::Draw;
use crate::statements::program::Take;
use crate::statements::scalar::Scalar;
use crate::statements::value::Value;

/// What is kept of a statement's rows.
#[derive(Debug, Default)]
pub struct Rows {
    pub count: u64,
    pub row: Vec<u8>,
    /// Of the columns, where they are wanted.
    pub definitions: Vec<Vec<u8>>,
    pub describe: bool,
}

/// A column of a result.
#[derive(Debug, PartialEq, Eq)]
pub struct Column {
    name: Vec<u8>,
    kind: u8,
    is_unsigned: bool,
}

const UNSIGNED: u16 = 32;
const TINY: u8 = 1;
const SHORT: u8 = 2;
const LONG: u8 = 3;
const FLOAT: u8 = 4;
const DOUBLE: u8 = 5;
const TIMESTAMP: u8 = 7;
const LONGLONG: u8 = 8;
const INT24: u8 = 9;
const DATE: u8 = 10;
const TIME: u8 = 11;
const DATETIME: u8 = 12;
const YEAR: u8 = 13;
const DECIMALS: [u8; 2] = [0, 246];

/// The columns of a result, by its definitions.
pub fn columns(definitions: &[Vec<u8>]) -> Result<Vec<Column>, String> {
    let column = |definition: &Vec<u8>| {
        // catalogue, schema, table, its original, name, its original; then numbers of fixed length
        let (mut rest, mut name) = (definition.as_slice(), &[][..]);
        for number in 0..6 {
            let (text, after) = read_text(rest)?;
            if number == 4 {
                name = text;
            }
            rest = after;
        }
        let (_, rest) = read_length(rest)?;
        let fixed: &[u8; 9] = rest.first_chunk()?;
        let is_unsigned = u16::from_le_bytes([fixed[7], fixed[8]]) & UNSIGNED != 0;
        Some(Column { name: name.to_vec(), kind: fixed[6], is_unsigned })
    };
    let found: Option<Vec<_>> = definitions.iter().map(column).collect();
    found.ok_or_else(|| "the server's definitions of the columns cannot be read".into())
}

/// Puts what the rows give in its places. texts: the row is one of COM_QUERY.
pub fn take(
    wanted: &Take,
    columns: &[Column],
    rows: &Rows,
    texts: bool,
    draw: &mut Draw,
) -> Result<(), String> {
    if let Some(place) = wanted.rows {
        draw.place(place).set_integer(rows.count as i64);
    }
    if rows.count == 0 {
        return Ok(());
    }
    let put = |name: &[u8], set: &dyn Fn(&mut Value)| {
        for (_, place) in wanted.columns.iter().filter(|(column, _)| column.as_bytes() == name) {
            set(draw.place(*place));
        }
    };
    let read = if texts { read_texts(&rows.row, columns, put) } else { read_binary(&rows.row, columns, put) };
    read.ok_or_else(|| "the row that gives values cannot be read, or is larger than 1 MiB".into())
}

/// Values of a row as texts, as far as it can be read; none: NULL. texts: the row is one of COM_QUERY.
pub fn each_value(row: &[u8], columns: &[Column], texts: bool, mut take: impl FnMut(Option<&[u8]>)) {
    let (mut value, mut text) = (Value::default(), Vec::new());
    let put = |_: &[u8], set: &dyn Fn(&mut Value)| {
        set(&mut value);
        text.clear();
        value.write(&mut text);
        take((!value.is_null()).then_some(&text));
    };
    let _ = if texts { read_texts(row, columns, put) } else { read_binary(row, columns, put) };
}

fn read_texts(
    mut row: &[u8],
    columns: &[Column],
    mut put: impl FnMut(&[u8], &dyn Fn(&mut Value)),
) -> Option<()> {
    for column in columns {
        if let [0xfb, rest @ ..] = row {
            put(&column.name, &|value| value.set(Scalar::Null));
            row = rest;
            continue;
        }
        let (text, rest) = read_text(row)?;
        let is_number = column.is_number();
        put(&column.name, &|value| value.set_text(!is_number).extend_from_slice(text));
        row = rest;
    }
    Some(())
}

fn read_binary(
    row: &[u8],
    columns: &[Column],
    mut put: impl FnMut(&[u8], &dyn Fn(&mut Value)),
) -> Option<()> {
    // a zero, then a bit for each column, of which the first two have no meaning
    let (nulls, mut rest) = row.get(1..)?.split_at_checked((columns.len() + 9) / 8)?;
    for (number, column) in columns.iter().enumerate() {
        if nulls[(number + 2) / 8] >> ((number + 2) % 8) & 1 == 1 {
            put(&column.name, &|value| value.set(Scalar::Null));
            continue;
        }
        rest = match column.kind {
            DATE | DATETIME | TIMESTAMP | TIME => {
                let (length, after) = rest.split_first()?;
                let (parts, after) = after.split_at_checked(usize::from(*length))?;
                let is_time = column.kind == TIME;
                put(&column.name, &|value| write_moment(parts, is_time, value.set_text(true)));
                after
            }
            _ => match column.number(rest) {
                Some((scalar, after)) => {
                    put(&column.name, &|value| value.set(scalar));
                    after
                }
                None => {
                    let (text, after) = read_text(rest)?;
                    let is_number = column.is_number();
                    put(&column.name, &|value| value.set_text(!is_number).extend_from_slice(text));
                    after
                }
            },
        };
    }
    Some(())
}

impl Column {
    /// Its literal has no quotes.
    fn is_number(&self) -> bool {
        DECIMALS.contains(&self.kind)
            || matches!(self.kind, TINY | SHORT | LONG | FLOAT | DOUBLE | LONGLONG | INT24 | YEAR)
    }

    /// A number of fixed length, and what follows it; None for a column of texts, or without its bytes.
    fn number<'b>(&self, bytes: &'b [u8]) -> Option<(Scalar, &'b [u8])> {
        let width = match self.kind {
            TINY => 1,
            SHORT | YEAR => 2,
            LONG | INT24 | FLOAT => 4,
            LONGLONG | DOUBLE => 8,
            _ => return None,
        };
        let (own, rest) = bytes.split_at_checked(width)?;
        let mut whole = [0; 8];
        whole[..width].copy_from_slice(own);
        let number = u64::from_le_bytes(whole);
        let unused = 64 - 8 * width as u32;
        let scalar = match self.kind {
            FLOAT => Scalar::Double(f64::from(f32::from_bits(number as u32))),
            DOUBLE => Scalar::Double(f64::from_bits(number)),
            _ if !self.is_unsigned => Scalar::Integer((number << unused) as i64 >> unused),
            _ => i64::try_from(number).map_or(Scalar::Double(number as f64), Scalar::Integer),
        };
        Some((scalar, rest))
    }
}

/// A date, a moment or a length of time as the server writes it in a text; its parts end where zeros follow.
fn write_moment(parts: &[u8], is_time: bool, out: &mut Vec<u8>) {
    let part = |number: usize| parts.get(number).copied().unwrap_or_default();
    let number = |from: usize| u32::from_le_bytes(std::array::from_fn(|at| part(from + at)));
    // writing into memory does not fail
    let _ = if is_time {
        let sign = if part(0) == 1 { "-" } else { "" };
        let hours = u64::from(number(1)) * 24 + u64::from(part(5));
        write!(out, "{sign}{hours:02}:{:02}:{:02}.{:06}", part(6), part(7), number(8))
    } else {
        let year = u16::from_le_bytes([part(0), part(1)]);
        let date = write!(out, "{year:04}-{:02}-{:02}", part(2), part(3));
        if parts.len() > 4 {
            write!(out, " {:02}:{:02}:{:02}.{:06}", part(4), part(5), part(6), number(7))
        } else {
            date
        }
    };
}

/// A text after its length.
fn read_text(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = read_length(bytes)?;
    rest.split_at_checked(usize::try_from(length).ok()?)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn definition(name: &str, kind: u8, flags: u16) -> Vec<u8> {
        let mut out = vec![3, b'd', b'e', b'f', 0, 0, 0, name.len() as u8];
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(&[0, 12, 33, 0, 0, 0, 0, 0, kind]);
        out.extend_from_slice(&flags.to_le_bytes());
        out.extend_from_slice(&[0, 0, 0]);
        out
    }

    fn values(row: &[u8], columns: &[Column], texts: bool) -> Option<Vec<String>> {
        let mut found = Vec::new();
        let put = |_: &[u8], set: &dyn Fn(&mut Value)| {
            let (mut value, mut out) = (Value::default(), Vec::new());
            set(&mut value);
            value.write_literal(b"'", b"'", &mut out);
            found.push(String::from_utf8_lossy(&out).into_owned());
        };
        let read = if texts { read_texts(row, columns, put) } else { read_binary(row, columns, put) };
        read.map(|()| found)
    }

    #[test]
    fn a_row_has_the_same_values_in_text_and_in_binary() {
        let of = [
            definition("a", TINY, 0),
            definition("b", LONGLONG, UNSIGNED),
            definition("c", 246, 0),
            definition("d", 253, 0),
            definition("e", DOUBLE, 0),
            definition("f", 253, 0),
        ];
        let columns = columns(&of).unwrap();
        assert_eq!(columns[1].name, b"b");
        let text = b"\x02-3\x015\x041.50\x02it\x032.5\xfb";
        // the sixth column is NULL: bit 7 of the first byte
        let mut binary = vec![0, 0x80, 0xfd, 5, 0, 0, 0, 0, 0, 0, 0];
        binary.extend_from_slice(b"\x041.50\x02it");
        binary.extend_from_slice(&2.5f64.to_le_bytes());
        let expected = ["-3", "5", "1.50", "'it'", "2.5", "null"].map(String::from).to_vec();
        assert_eq!(values(text, &columns, true), Some(expected.clone()));
        assert_eq!(values(&binary, &columns, false), Some(expected));
    }

    #[test]
    fn moments_are_written_as_in_a_text() {
        let written = |parts: &[u8], is_time| {
            let mut out = Vec::new();
            write_moment(parts, is_time, &mut out);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(written(&[0xea, 7, 11, 22], false), "2026-11-22");
        assert_eq!(written(&[0xea, 7, 11, 22, 1, 2, 3], false), "2026-11-22 01:02:03.000000");
        assert_eq!(written(&[1, 1, 0, 0, 0, 2, 3, 4], true), "-26:03:04.000000");
    }

    proptest! {
        #[test]
        fn no_bytes_make_a_row_panic(
            bytes in proptest::collection::vec(any::<u8>(), 0..60),
            kinds in proptest::collection::vec(any::<u8>(), 1..9),
        ) {
            let definitions: Vec<_> = kinds.iter().map(|kind| definition("a", *kind, 0)).collect();
            let columns = columns(&definitions).unwrap();
            let _ = values(&bytes, &columns, true);
            let _ = values(&bytes, &columns, false);
            let _ = super::columns(&[bytes]);
        }
    }
}
