//! Functions of expressions, by the names that a plan gives them.

use rand::Rng;
use rand::rngs::SmallRng;
use rand_distr::{Distribution, Zipf};

use super::permutation::permuted;
use super::scalar::{Cause, Scalar};

/// Needs its arguments and the client's random numbers.
type Body = fn(&[Scalar], &mut SmallRng) -> Result<Scalar, Cause>;

#[derive(Debug)]
pub struct Function {
    name: &'static str,
    least: usize,
    most: usize,
    pub body: Body,
}

/// Most arguments of a function: they stand on the stack.
pub const ARGUMENTS_MAX: usize = 8;

const fn function(name: &'static str, least: usize, most: usize, body: Body) -> Function {
    Function { name, least, most, body }
}

/// A function of two numbers, as a whole number and as a double.
macro_rules! arithmetic {
    ($name:literal, $whole:expr, $double:expr) => {
        function($name, 2, 2, |a, _| a[0].arithmetic(a[1], $whole, $double))
    };
}

macro_rules! comparison {
    ($name:literal, $is:expr) => {
        function($name, 2, 2, |a, _| a[0].compared(a[1], $is))
    };
}

macro_rules! bits {
    ($name:literal, $of:expr) => {
        function($name, 2, 2, |a, _| integers(a, $of))
    };
}

/// NULL where the argument is.
macro_rules! of_double {
    ($name:literal, $of:expr) => {
        function($name, 1, 1, |a, _| doubles(a, |a| $of(a[0])))
    };
}

static FUNCTIONS: [Function; 39] = [
    arithmetic!("add", i64::checked_add, |a, b| a + b),
    arithmetic!("sub", i64::checked_sub, |a, b| a - b),
    arithmetic!("mul", i64::checked_mul, |a, b| a * b),
    function("div", 2, 2, |a, _| a[0].divided(a[1], i64::checked_div, |a, b| a / b)),
    // of whole numbers alone; MIN mod -1 is 0
    function("mod", 2, 2, |a, _| {
        if a.contains(&Scalar::Null) {
            return Ok(Scalar::Null);
        }
        Scalar::Integer(a[0].integer()?).divided(
            Scalar::Integer(a[1].integer()?),
            |a, b| Some(a.wrapping_rem(b)),
            |a, _| a,
        )
    }),
    arithmetic!("least", |a, b| Some(a.min(b)), f64::min),
    arithmetic!("greatest", |a, b| Some(a.max(b)), f64::max),
    comparison!("eq", |order| order.is_eq()),
    comparison!("ne", |order| order.is_ne()),
    comparison!("lt", |order| order.is_lt()),
    comparison!("le", |order| order.is_le()),
    comparison!("gt", |order| order.is_gt()),
    comparison!("ge", |order| order.is_ge()),
    bits!("bit-and", |a, b| a & b),
    bits!("bit-or", |a, b| a | b),
    bits!("bit-xor", |a, b| a ^ b),
    bits!("shift-left", |a, b| a.wrapping_shl(b as u32)),
    bits!("shift-right", |a, b| a.wrapping_shr(b as u32)),
    function("bit-not", 1, 1, |a, _| integers(&[a[0], Scalar::Integer(-1)], |a, b| a ^ b)),
    function("neg", 1, 1, |a, _| Scalar::Integer(0).arithmetic(a[0], i64::checked_sub, |_, b| -b)),
    function("abs", 1, 1, |a, _| a[0].arithmetic(a[0], |a, _| a.checked_abs(), |a, _| a.abs())),
    function("not", 1, 1, |a, _| {
        Ok(if a[0] == Scalar::Null { a[0] } else { Scalar::Boolean(!a[0].boolean()?) })
    }),
    function("is-null", 1, 1, |a, _| Ok(Scalar::Boolean(a[0] == Scalar::Null))),
    // TRUE or FALSE, never NULL
    function("is-true", 1, 1, |a, _| Ok(Scalar::Boolean(a[0].is_true()))),
    function("is-false", 1, 1, |a, _| Ok(Scalar::Boolean(a[0] != Scalar::Null && !a[0].is_true()))),
    function("int", 1, 1, |a, _| {
        Ok(if a[0] == Scalar::Null { a[0] } else { Scalar::Integer(a[0].integer()?) })
    }),
    of_double!("double", |a: f64| a),
    of_double!("exp", f64::exp),
    of_double!("ln", f64::ln),
    of_double!("sqrt", f64::sqrt),
    function("pi", 0, 0, |_, _| Ok(Scalar::Double(std::f64::consts::PI))),
    function("power", 2, 2, |a, _| doubles(a, |a| a[0].powf(a[1]))),
    function("hash-fnv1a", 2, 2, |a, _| integers(a, fnv1a)),
    function("hash-murmur2", 2, 2, |a, _| integers(a, murmur2)),
    function("permute", 3, 3, |a, _| {
        let (index, size) = (a[0].integer()?, a[1].integer()?);
        if size < 1 {
            return Err(format!("permute: the size must be above 0, and is {size}"));
        }
        let index = index.rem_euclid(size) as u64;
        Ok(Scalar::Integer(permuted(index, size as u64, a[2].integer()? as u64) as i64))
    }),
    function("random", 2, 2, |a, rng| {
        let (low, high) = bounds("random", a)?;
        Ok(Scalar::Integer(rng.random_range(low..=high)))
    }),
    function("random-gaussian", 3, 3, |a, rng| {
        let (low, high) = bounds("random_gaussian", a)?;
        let parameter = parameter("random_gaussian", a[2], 2.0, f64::MAX)?;
        // Box and Muller, drawn again beyond the parameter's number of standard deviations
        let deviation = loop {
            let radius = (-2.0 * (1.0 - rng.random::<f64>()).ln()).sqrt();
            let found = radius * (std::f64::consts::TAU * rng.random::<f64>()).sin();
            if (-parameter..parameter).contains(&found) {
                break found;
            }
        };
        Ok(within(low, high, (deviation + parameter) / (2.0 * parameter)))
    }),
    function("random-exponential", 3, 3, |a, rng| {
        let (low, high) = bounds("random_exponential", a)?;
        let parameter = parameter("random_exponential", a[2], f64::MIN_POSITIVE, f64::MAX)?;
        let cut = (-parameter).exp();
        let share = -(cut + (1.0 - cut) * (1.0 - rng.random::<f64>())).ln() / parameter;
        Ok(within(low, high, share))
    }),
    function("random-zipfian", 3, 3, |a, rng| {
        let (low, high) = bounds("random_zipfian", a)?;
        let parameter = parameter("random_zipfian", a[2], 1.001, 1000.0)?;
        let count = high as f64 - low as f64 + 1.0;
        let zipf = Zipf::new(count, parameter).map_err(|error| error.to_string())?;
        let rank = (zipf.sample(rng) as u64).saturating_sub(1);
        Ok(Scalar::Integer(low.wrapping_add_unsigned(rank).clamp(low, high)))
    }),
];

impl Function {
    /// Err: no function of this name takes so many arguments.
    pub fn find(name: &str, arguments: usize) -> Result<&'static Self, Cause> {
        let found = FUNCTIONS.iter().find(|function| function.name == name);
        let found = found.ok_or_else(|| format!("no function `{name}`"))?;
        if !(found.least..=found.most).contains(&arguments) {
            return Err(format!("`{name}` takes {} arguments, not {arguments}", found.most));
        }
        Ok(found)
    }
}

fn integers(arguments: &[Scalar], of: fn(i64, i64) -> i64) -> Result<Scalar, Cause> {
    if arguments.contains(&Scalar::Null) {
        return Ok(Scalar::Null);
    }
    Ok(Scalar::Integer(of(arguments[0].integer()?, arguments[1].integer()?)))
}

fn doubles(arguments: &[Scalar], of: impl Fn([f64; 2]) -> f64) -> Result<Scalar, Cause> {
    if arguments.contains(&Scalar::Null) {
        return Ok(Scalar::Null);
    }
    let second = arguments.get(1).map_or(Ok(0.0), |second| second.double())?;
    Ok(Scalar::Double(of([arguments[0].double()?, second])))
}

fn bounds(name: &str, arguments: &[Scalar]) -> Result<(i64, i64), Cause> {
    let (low, high) = (arguments[0].integer()?, arguments[1].integer()?);
    if low > high {
        return Err(format!("{name}: the lower bound {low} is above the upper bound {high}"));
    }
    if high.checked_sub(low).and_then(|distance| distance.checked_add(1)).is_none() {
        return Err(format!("{name}: the range {low} to {high} is too large"));
    }
    Ok((low, high))
}

fn parameter(name: &str, value: Scalar, least: f64, most: f64) -> Result<f64, Cause> {
    let value = value.double()?;
    if (least..=most).contains(&value) {
        return Ok(value);
    }
    Err(format!("{name}: the parameter {value} is not within {least} to {most:e}"))
}

/// The whole number at a share, 0 to 1, of low..=high.
fn within(low: i64, high: i64, share: f64) -> Scalar {
    let offset = ((high as f64 - low as f64 + 1.0) * share) as u64;
    Scalar::Integer(low.saturating_add_unsigned(offset).min(high))
}

/// FNV-1a of the eight bytes of a number, lowest first; the seed changes the start.
fn fnv1a(number: i64, seed: i64) -> i64 {
    number.to_le_bytes().iter().fold(0xcbf2_9ce4_8422_2325 ^ seed as u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
    }) as i64
}

/// MurmurHash2 of 64 bits, of the eight bytes of a number.
fn murmur2(number: i64, seed: i64) -> i64 {
    const M: u64 = 0xc6a4_a793_5bd1_e995;
    let mixed = |value: u64| {
        let value = value.wrapping_mul(M);
        value ^ value >> 47
    };
    let hash = seed as u64 ^ M.wrapping_mul(8) ^ mixed(number as u64).wrapping_mul(M);
    let hash = mixed(hash.wrapping_mul(M) ^ hash.wrapping_mul(M) >> 47);
    hash as i64
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    fn call(name: &str, arguments: &[Scalar]) -> Result<Scalar, Cause> {
        let function = Function::find(name, arguments.len())?;
        (function.body)(arguments, &mut SmallRng::seed_from_u64(1))
    }

    fn whole(name: &str, arguments: &[i64]) -> Result<Scalar, Cause> {
        call(name, &arguments.iter().copied().map(Scalar::Integer).collect::<Vec<_>>())
    }

    #[test]
    fn whole_numbers_that_overflow_and_division_by_zero_are_errors() {
        for (name, arguments) in [
            ("add", [i64::MAX, 1]),
            ("sub", [i64::MIN, 1]),
            ("mul", [i64::MAX, 2]),
            ("div", [i64::MIN, -1]),
            ("div", [1, 0]),
            ("mod", [1, 0]),
            ("random", [2, 1]),
        ] {
            assert!(whole(name, &arguments).is_err(), "{name}");
        }
        assert!(whole("neg", &[i64::MIN]).is_err() && whole("abs", &[i64::MIN]).is_err());
        assert_eq!(whole("mod", &[i64::MIN, -1]), Ok(Scalar::Integer(0)));
        assert_eq!(whole("div", &[-7, 2]), Ok(Scalar::Integer(-3)));
        // the number of its values is beyond a whole number
        assert!(whole("random", &[i64::MIN, i64::MAX]).is_err());
        assert_eq!(whole("random", &[1, i64::MAX]).map(|_| ()), Ok(()));
        assert!(whole("not", &[1]).is_err());
        let infinite = call("div", &[Scalar::Double(1.0), Scalar::Integer(0)]);
        assert_eq!(infinite, Ok(Scalar::Double(f64::INFINITY)));
    }

    #[test]
    fn null_makes_null() {
        for name in ["add", "eq", "bit-or", "power", "mod", "least"] {
            assert_eq!(call(name, &[Scalar::Null, Scalar::Integer(0)]), Ok(Scalar::Null), "{name}");
        }
        assert_eq!(call("is-null", &[Scalar::Null]), Ok(Scalar::Boolean(true)));
        assert_eq!(call("not", &[Scalar::Null]), Ok(Scalar::Null));
    }

    #[test]
    fn a_double_makes_the_result_one() {
        assert_eq!(call("div", &[Scalar::Integer(7), Scalar::Double(2.0)]), Ok(Scalar::Double(3.5)));
        assert_eq!(call("greatest", &[Scalar::Integer(7), Scalar::Double(2.0)]), Ok(Scalar::Double(7.0)));
    }

    #[test]
    fn every_function_answers_every_kind_of_argument_without_a_panic() {
        let edges = [
            Scalar::Null,
            Scalar::Boolean(true),
            Scalar::Integer(i64::MIN),
            Scalar::Integer(-1),
            Scalar::Integer(0),
            Scalar::Integer(i64::MAX),
            Scalar::Double(f64::MAX),
            Scalar::Double(-0.5),
            Scalar::Double(1.5),
        ];
        for function in &FUNCTIONS {
            assert!(function.most <= ARGUMENTS_MAX);
            for first in edges {
                for second in edges {
                    for third in edges {
                        let arguments = [first, second, third, second];
                        let mut rng = SmallRng::seed_from_u64(1);
                        let _ = (function.body)(&arguments[..function.most], &mut rng);
                    }
                }
            }
        }
    }
}
