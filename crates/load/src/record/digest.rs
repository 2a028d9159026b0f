//! What a statement returned, in a number that does not depend on the order of its rows.

use std::io::Write;

/// Columns, and bytes of each, that are kept of the first row.
const COLUMNS_KEPT: usize = 64;
const BYTES_KEPT: usize = 100;
/// From here on a whole number is written as the server writes it.
const WHOLE_MAX: f64 = 1e15;
const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0100_0000_01b3;

/// Sum of the hashes of rows. A number counts by its value, to six digits where it is not whole, so that text and
/// binary forms of one value are equal.
///
/// Hash: FNV-1a, http://www.isthe.com/chongo/tech/comp/fnv/
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Digest {
    pub sum: u64,
    /// Values of the first row.
    pub first: Vec<Option<String>>,
    rows: u64,
    /// Of the row that is being read.
    hash: Option<u64>,
    text: Vec<u8>,
}

impl Digest {
    /// The next value of a row; none: NULL.
    pub fn value(&mut self, value: Option<&[u8]>) {
        if self.rows == 0 && self.first.len() < COLUMNS_KEPT {
            let kept =
                |text: &[u8]| String::from_utf8_lossy(&text[..text.len().min(BYTES_KEPT)]).into_owned();
            self.first.push(value.map(kept));
        }
        self.text.clear();
        self.text.push(u8::from(value.is_some()));
        write_canonical(value.unwrap_or_default(), &mut self.text);
        let hash = self.hash.unwrap_or(FNV_OFFSET);
        let next = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(FNV_PRIME);
        self.hash = Some(self.text.iter().fold(hash, next));
    }

    pub fn end_row(&mut self) {
        self.sum = self.sum.wrapping_add(self.hash.take().unwrap_or(FNV_OFFSET));
        self.rows += 1;
    }
}

fn write_canonical(text: &[u8], out: &mut Vec<u8>) {
    let is_numeral = |byte: &u8| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E');
    let number = std::str::from_utf8(text)
        .ok()
        .filter(|_| text.iter().all(is_numeral))
        .and_then(|text| text.parse::<f64>().ok())
        .filter(|number| number.is_finite());
    // writing into memory does not fail
    let _ = match number {
        Some(number) if number.fract() == 0.0 && number.abs() < WHOLE_MAX => {
            write!(out, "{}", number as i64)
        }
        Some(number) if number.fract() != 0.0 => write!(out, "{number:.5e}"),
        // a moment without a fraction of a second
        _ => out.write_all(text.strip_suffix(b".000000").unwrap_or(text)),
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(rows: &[&[Option<&str>]]) -> Digest {
        let mut digest = Digest::default();
        for row in rows {
            row.iter().for_each(|value| digest.value(value.map(str::as_bytes)));
            digest.end_row();
        }
        digest
    }

    #[test]
    fn rows_in_any_order_and_numbers_in_any_form_are_equal() {
        let one = digest(&[&[Some("1"), Some("0.1")], &[Some("2"), None]]);
        let other = digest(&[&[Some("2.0"), None], &[Some("1"), Some("0.10000000149")]]);
        assert_eq!(one.sum, other.sum);
        assert_eq!(one.first, [Some("1".into()), Some("0.1".into())]);
    }

    #[test]
    fn other_rows_and_other_columns_differ() {
        let sums: Vec<u64> = [
            digest(&[&[Some("1"), Some("2")]]),
            digest(&[&[Some("12")]]),
            digest(&[&[Some("1")], &[Some("2")]]),
            digest(&[&[Some("")]]),
            digest(&[&[None]]),
            digest(&[&[Some("1"), Some("2.00001")]]),
            digest(&[]),
        ]
        .iter()
        .map(|digest| digest.sum)
        .collect();
        for (at, sum) in sums.iter().enumerate() {
            assert!(!sums[..at].contains(sum), "{at}: {sums:?}");
        }
    }

    #[test]
    fn the_sum_is_the_one_of_the_java_engine() {
        // the test of the Java engine has the same rows
        let sum =
            digest(&[&[Some("abc"), Some("-2.5"), None], &[Some("7"), Some("1e3"), Some("0.000012345678")]]);
        assert_eq!(sum.sum, 17_799_819_713_474_157_701);
    }
}
