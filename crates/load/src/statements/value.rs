//! A value of a parameter, and how it is written.

use std::io::Write;

use super::scalar::{Cause, Scalar};

/// What a value is.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Kind {
    /// Nothing has given it a value yet.
    #[default]
    Missing,
    Null,
    Integer(i64),
    Double(f64),
    Boolean(bool),
    /// The value's `text`; quoted: its literal has quotes.
    Text {
        quoted: bool,
    },
}

/// Its buffer serves the next value as well: drawing allocates nothing once the buffer is large enough.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Value {
    pub kind: Kind,
    pub text: Vec<u8>,
}

impl Value {
    pub fn set_integer(&mut self, number: i64) {
        self.kind = Kind::Integer(number);
    }

    pub fn set(&mut self, scalar: Scalar) {
        self.kind = match scalar {
            Scalar::Null => Kind::Null,
            Scalar::Integer(number) => Kind::Integer(number),
            Scalar::Double(number) => Kind::Double(number),
            Scalar::Boolean(truth) => Kind::Boolean(truth),
        };
    }

    /// The buffer for a text, empty.
    pub fn set_text(&mut self, quoted: bool) -> &mut Vec<u8> {
        self.kind = Kind::Text { quoted };
        self.text.clear();
        &mut self.text
    }

    /// For an expression; a text must be a number or a boolean.
    pub fn scalar(&self) -> Result<Scalar, Cause> {
        match self.kind {
            Kind::Missing => Err("no statement has given it a value".into()),
            Kind::Null => Ok(Scalar::Null),
            Kind::Integer(number) => Ok(Scalar::Integer(number)),
            Kind::Double(number) => Ok(Scalar::Double(number)),
            Kind::Boolean(truth) => Ok(Scalar::Boolean(truth)),
            Kind::Text { .. } => Scalar::parse(&self.text),
        }
    }

    pub fn is_null(&self) -> bool {
        matches!(self.kind, Kind::Null | Kind::Missing)
    }

    /// Appends the value as the server reads it from a bound parameter; nothing for NULL.
    pub fn write(&self, out: &mut Vec<u8>) {
        match self.kind {
            Kind::Integer(number) => write_integer(number, out),
            Kind::Text { .. } => out.extend_from_slice(&self.text),
            Kind::Boolean(truth) => out.extend_from_slice(if truth { b"true" } else { b"false" }),
            // writing into memory does not fail
            Kind::Double(number) => drop(write!(out, "{number}")),
            Kind::Null | Kind::Missing => {}
        }
    }

    /// Appends the value as a literal of the dialect. `quote`: surrounds a text; `doubled`: the bytes that
    /// are written twice in it.
    pub fn write_literal(&self, quote: &[u8], doubled: &[u8], out: &mut Vec<u8>) {
        match self.kind {
            Kind::Text { quoted: true } => {}
            Kind::Null | Kind::Missing => return out.extend_from_slice(b"null"),
            _ => return self.write(out),
        }
        out.extend_from_slice(quote);
        for byte in &self.text {
            if doubled.contains(byte) {
                out.push(*byte);
            }
            out.push(*byte);
        }
        out.extend_from_slice(quote);
    }
}

/// Appends decimal digits: several times faster than `write!`, for each value that is drawn.
pub fn write_integer(number: i64, out: &mut Vec<u8>) {
    out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_written_as_the_language_writes_them() {
        for number in [0, 7, -7, 10, 1_234_567_890, i64::MAX, i64::MIN] {
            let mut out = Vec::new();
            write_integer(number, &mut out);
            assert_eq!(out, number.to_string().as_bytes());
        }
    }

    #[test]
    fn a_quoted_text_is_escaped_as_a_literal_and_a_number_after_it_is_not_quoted() {
        let (mut value, mut out) = (Value::default(), Vec::new());
        value.set_text(true).extend_from_slice(b"O'Hara");
        value.write_literal(b"'", b"'", &mut out);
        value.set_text(false).extend_from_slice(b" 1.5 ");
        value.write_literal(b"'", b"'", &mut out);
        value.set_integer(-3);
        value.write_literal(b"'", b"'", &mut out);
        value.set(Scalar::Double(2.5));
        value.write_literal(b"'", b"'", &mut out);
        value.set(Scalar::Null);
        value.write_literal(b"'", b"'", &mut out);
        assert_eq!(out, b"'O''Hara' 1.5 -32.5null");
    }

    #[test]
    fn a_text_of_a_server_counts_by_its_number_and_one_that_is_none_is_named() {
        let mut value = Value::default();
        assert!(value.scalar().is_err());
        value.set_text(true).extend_from_slice(b"12.50");
        assert_eq!(value.scalar(), Ok(Scalar::Double(12.5)));
        value.set_text(true).extend_from_slice(b"GC");
        assert_eq!(value.scalar(), Err("`GC` is not a number".into()));
    }
}
