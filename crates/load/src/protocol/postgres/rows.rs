//! Values of a row of PostgreSQL, in text format.
//!
//! https://www.postgresql.org/docs/current/protocol-message-formats.html

use crate::statements::draw::Draw;
use crate::statements::program::Take;
use crate::statements::scalar::Scalar;

/// What is kept of a statement's rows.
#[derive(Debug, Default)]
pub struct Rows {
    pub count: u64,
    /// Bodies of its DataRow and of the RowDescription, which is empty where the server sent none.
    pub row: Vec<u8>,
    pub description: Vec<u8>,
}

/// A column that becomes a value.
#[derive(Debug, PartialEq, Eq)]
pub struct Column {
    number: usize,
    place: usize,
    /// Its literal has quotes.
    quoted: bool,
}

/// int8, int2, int4, oid, float4, float8, numeric: literals without quotes.
const NUMBERS: [u32; 7] = [20, 21, 23, 26, 700, 701, 1700];
/// Object, column, type, length, modifier, format.
const COLUMN_BYTES: usize = 18;

/// The columns that are wanted, by name with their places, of a RowDescription.
pub fn columns(description: &[u8], wanted: &[(String, usize)]) -> Result<Vec<Column>, String> {
    let foreign = || "the server's description of the columns cannot be read".to_string();
    let (_, mut rest) = description.split_at_checked(2).ok_or_else(foreign)?;
    let mut found = Vec::new();
    for number in 0.. {
        if rest.is_empty() {
            break;
        }
        let end = rest.iter().position(|byte| *byte == 0).ok_or_else(foreign)?;
        let (name, after) = rest.split_at(end);
        let (fixed, after) = after[1..].split_at_checked(COLUMN_BYTES).ok_or_else(foreign)?;
        let kind = u32::from_be_bytes([fixed[6], fixed[7], fixed[8], fixed[9]]);
        rest = after;
        let places = wanted.iter().filter(|(column, _)| column.as_bytes() == name);
        found.extend(places.map(|(_, place)| Column {
            number,
            place: *place,
            quoted: !NUMBERS.contains(&kind),
        }));
    }
    Ok(found)
}

/// Values of a DataRow's body, in text format, as far as it can be read; none: NULL.
pub fn values(row: &[u8]) -> impl Iterator<Item = Option<&[u8]>> {
    let mut rest = row.get(2..).unwrap_or_default();
    std::iter::from_fn(move || {
        let (length, after) = rest.split_first_chunk::<4>()?;
        let bytes = usize::try_from(i32::from_be_bytes(*length)).ok();
        let (value, after) = after.split_at_checked(bytes.unwrap_or_default())?;
        rest = after;
        Some(bytes.map(|_| value))
    })
}

/// Puts what the rows give in its places.
pub fn take(wanted: &Take, columns: &[Column], rows: &Rows, draw: &mut Draw) -> Result<(), String> {
    if let Some(place) = wanted.rows {
        draw.place(place).set_integer(rows.count as i64);
    }
    if rows.count == 0 {
        return Ok(());
    }
    let mut read = 0_usize;
    for (number, value) in values(&rows.row).enumerate() {
        read += 1;
        for column in columns.iter().filter(|column| column.number == number) {
            let place = draw.place(column.place);
            match value {
                Some(text) => place.set_text(column.quoted).extend_from_slice(text),
                None => place.set(Scalar::Null),
            }
        }
    }
    let announced = rows.row.first_chunk().map(|bytes| usize::from(u16::from_be_bytes(*bytes)));
    if announced != Some(read) {
        return Err("the row that gives values cannot be read, or is larger than 1 MiB".into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn description(columns: &[(&str, u32)]) -> Vec<u8> {
        let mut out = (columns.len() as u16).to_be_bytes().to_vec();
        for (name, kind) in columns {
            out.extend_from_slice(name.as_bytes());
            out.extend_from_slice(&[0; 7]);
            out.extend_from_slice(&kind.to_be_bytes());
            out.extend_from_slice(&[0; 8]);
        }
        out
    }

    #[test]
    fn columns_are_found_by_name_with_their_kind() {
        let found = columns(
            &description(&[("a", 23), ("name", 25), ("b", 1700)]),
            &[("b".into(), 7), ("name".into(), 4), ("none".into(), 5)],
        );
        let column = |number, place, quoted| Column { number, place, quoted };
        assert_eq!(found, Ok(vec![column(1, 4, true), column(2, 7, false)]));
    }

    proptest! {
        #[test]
        fn no_description_makes_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            let _ = columns(&bytes, &[("a".into(), 0)]);
        }
    }
}
