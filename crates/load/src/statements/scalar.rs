//! What an expression computes with: NULL, whole numbers of 64 bits, doubles, booleans.

use std::cmp::Ordering;

/// A value within an expression.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Scalar {
    Null,
    Integer(i64),
    Double(f64),
    Boolean(bool),
}

/// Why an expression has no value.
pub type Cause = String;

/// Two numbers, both whole or both doubles.
enum Pair {
    Integers(i64, i64),
    Doubles(f64, f64),
}

impl Scalar {
    /// The value of a text that a server gave: a number, or a boolean as servers write them.
    pub fn parse(text: &[u8]) -> Result<Self, Cause> {
        let text = std::str::from_utf8(text).unwrap_or("?").trim();
        if let Ok(number) = text.parse() {
            return Ok(Self::Integer(number));
        }
        // to Rust `nan` and `infinity` are numbers, with which nothing can be chosen
        match text.parse::<f64>() {
            Ok(number) if number.is_finite() => return Ok(Self::Double(number)),
            _ => {}
        }
        match text.to_ascii_lowercase().as_str() {
            "t" | "true" | "yes" | "on" => Ok(Self::Boolean(true)),
            "f" | "false" | "no" | "off" => Ok(Self::Boolean(false)),
            _ => Err(format!("`{}` is not a number", text.chars().take(80).collect::<String>())),
        }
    }

    /// As a whole number; a double is rounded to the nearest.
    pub fn integer(self) -> Result<i64, Cause> {
        match self {
            Self::Integer(number) => Ok(number),
            Self::Double(number) => {
                let rounded = number.round_ties_even();
                // the largest double below 2^63 is far below it
                if (-(2f64.powi(63))..2f64.powi(63)).contains(&rounded) {
                    Ok(rounded as i64)
                } else {
                    Err(format!("{number} is out of the range of whole numbers"))
                }
            }
            Self::Null => Err("NULL is not a number".into()),
            Self::Boolean(_) => Err("a boolean is not a number".into()),
        }
    }

    pub fn double(self) -> Result<f64, Cause> {
        match self {
            Self::Integer(number) => Ok(number as f64),
            Self::Double(number) => Ok(number),
            Self::Null | Self::Boolean(_) => self.integer().map(|_| 0.0),
        }
    }

    /// An operand of `and`, `or`, `not`, which take no number.
    pub fn boolean(self) -> Result<bool, Cause> {
        match self {
            Self::Boolean(value) => Ok(value),
            other => Err(format!("{other:?} is not a boolean")),
        }
    }

    /// Of a condition; a number is true unless it is 0, NULL is not true.
    pub fn is_true(self) -> bool {
        match self {
            Self::Null => false,
            Self::Integer(number) => number != 0,
            Self::Double(number) => number != 0.0,
            Self::Boolean(truth) => truth,
        }
    }

    fn pair(self, other: Self) -> Result<Pair, Cause> {
        if matches!(self, Self::Double(_)) || matches!(other, Self::Double(_)) {
            Ok(Pair::Doubles(self.double()?, other.double()?))
        } else {
            Ok(Pair::Integers(self.integer()?, other.integer()?))
        }
    }

    /// By one of two functions; whole numbers that overflow are an error. NULL where one of them is.
    pub fn arithmetic(
        self,
        other: Self,
        whole: fn(i64, i64) -> Option<i64>,
        double: fn(f64, f64) -> f64,
    ) -> Result<Self, Cause> {
        if self == Self::Null || other == Self::Null {
            return Ok(Self::Null);
        }
        match self.pair(other)? {
            Pair::Doubles(one, two) => Ok(Self::Double(double(one, two))),
            Pair::Integers(one, two) => whole(one, two)
                .map(Self::Integer)
                .ok_or_else(|| "the result is out of the range of whole numbers".into()),
        }
    }

    /// Division or remainder, which have no value by 0.
    pub fn divided(
        self,
        other: Self,
        whole: fn(i64, i64) -> Option<i64>,
        double: fn(f64, f64) -> f64,
    ) -> Result<Self, Cause> {
        // of doubles it is infinite or no number, as in pgbench
        if other == Self::Integer(0) && matches!(self, Self::Integer(_)) {
            return Err("division by zero".into());
        }
        self.arithmetic(other, whole, double)
    }

    /// Whether the order of two numbers is one of these; NULL where one of them is.
    pub fn compared(self, other: Self, is: fn(Ordering) -> bool) -> Result<Self, Cause> {
        if self == Self::Null || other == Self::Null {
            return Ok(Self::Null);
        }
        let ordering = match (self, other) {
            (Self::Boolean(one), Self::Boolean(two)) => Some(one.cmp(&two)),
            _ => match self.pair(other)? {
                Pair::Integers(one, two) => Some(one.cmp(&two)),
                Pair::Doubles(one, two) => one.partial_cmp(&two),
            },
        };
        Ok(Self::Boolean(ordering.is_some_and(is)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_a_server_are_numbers_or_booleans() {
        for (text, expected) in [
            ("42", Scalar::Integer(42)),
            (" -7 ", Scalar::Integer(-7)),
            ("1.50", Scalar::Double(1.5)),
            ("9223372036854775808", Scalar::Double(2f64.powi(63))),
            ("t", Scalar::Boolean(true)),
            ("OFF", Scalar::Boolean(false)),
        ] {
            assert_eq!(Scalar::parse(text.as_bytes()), Ok(expected), "{text}");
        }
        for text in ["", "GC", "nan", "infinity", "1e999", "12 34"] {
            assert!(Scalar::parse(text.as_bytes()).is_err(), "{text}");
        }
        assert!(Scalar::parse(&[0xff]).is_err());
    }

    #[test]
    fn a_double_beyond_whole_numbers_is_none() {
        assert_eq!(Scalar::Double(2.5).integer(), Ok(2));
        assert_eq!(Scalar::Double(-(2f64.powi(63))).integer(), Ok(i64::MIN));
        assert!(Scalar::Double(2f64.powi(63)).integer().is_err());
        assert!(Scalar::Double(f64::NAN).integer().is_err());
    }
}
