//! Expressions of a plan, made ready: a tree of constants, places and functions, evaluated without an
//! allocation.

use rand::rngs::SmallRng;
use serde_json::Value as Json;

use steelyard_engine::clock::now_ns;

use super::functions::{ARGUMENTS_MAX, Function};
use super::scalar::{Cause, Scalar};
use super::value::Value;

#[derive(Debug)]
pub enum Expression {
    Constant(Scalar),
    /// The value at a place, and its name.
    Value(usize, String),
    /// Number of the client.
    Client,
    /// Whole milliseconds since the plan was made ready: the same clock for all clients.
    Elapsed,
    Call(&'static Function, Vec<Expression>),
    /// Conditions and results in turn; last, if the number is odd, the result of none. NULL without it.
    Case(Vec<Expression>),
    And(Vec<Expression>),
    Or(Vec<Expression>),
}

/// What an expression refers to.
pub struct Scope<'a> {
    pub values: &'a [Value],
    pub client: usize,
    pub began_ns: u64,
    pub rng: &'a mut SmallRng,
}

impl Expression {
    /// place_of: the place of a value by its name. Err: the cause, without the field.
    pub fn new(json: &Json, place_of: &dyn Fn(&str) -> Option<usize>) -> Result<Self, Cause> {
        let all = |parts: &[Json]| -> Result<Vec<Self>, Cause> {
            parts.iter().map(|part| Self::new(part, place_of)).collect()
        };
        Ok(match json {
            Json::Null => Self::Constant(Scalar::Null),
            Json::Bool(truth) => Self::Constant(Scalar::Boolean(*truth)),
            Json::Number(number) => Self::Constant(match (number.as_i64(), number.as_f64()) {
                (Some(number), _) => Scalar::Integer(number),
                (None, Some(number)) => Scalar::Double(number),
                (None, None) => return Err(format!("{number} is out of range")),
            }),
            Json::String(name) => {
                let place = place_of(name).ok_or_else(|| format!("no step gives `:{name}` a value"))?;
                Self::Value(place, name.clone())
            }
            Json::Array(parts) => {
                let Some((Json::String(name), arguments)) = parts.split_first() else {
                    return Err("a call is a list of a function's name and its arguments".into());
                };
                match (name.as_str(), arguments.len()) {
                    ("case", 2..) => Self::Case(all(arguments)?),
                    ("and", 1..) => Self::And(all(arguments)?),
                    ("or", 1..) => Self::Or(all(arguments)?),
                    ("client", 0) => Self::Client,
                    ("elapsed-ms", 0) => Self::Elapsed,
                    (name, count) => Self::Call(Function::find(name, count)?, all(arguments)?),
                }
            }
            Json::Object(_) => return Err("an expression is a number, a name or a list".into()),
        })
    }

    /// Its value now.
    pub fn evaluate(&self, scope: &mut Scope) -> Result<Scalar, Cause> {
        match self {
            Self::Constant(value) => Ok(*value),
            Self::Value(place, name) => {
                scope.values[*place].scalar().map_err(|cause| format!("`:{name}`: {cause}"))
            }
            Self::Client => Ok(Scalar::Integer(scope.client as i64)),
            Self::Elapsed => {
                Ok(Scalar::Integer((now_ns().saturating_sub(scope.began_ns) / 1_000_000) as i64))
            }
            Self::Call(function, arguments) => {
                let mut values = [Scalar::Null; ARGUMENTS_MAX];
                for (value, argument) in values.iter_mut().zip(arguments) {
                    *value = argument.evaluate(scope)?;
                }
                (function.body)(&values[..arguments.len()], scope.rng)
            }
            Self::Case(parts) => {
                let mut pairs = parts.chunks_exact(2);
                for pair in pairs.by_ref() {
                    if pair[0].evaluate(scope)?.is_true() {
                        return pair[1].evaluate(scope);
                    }
                }
                pairs.remainder().first().map_or(Ok(Scalar::Null), |last| last.evaluate(scope))
            }
            Self::And(parts) => Self::chained(parts, false, scope),
            Self::Or(parts) => Self::chained(parts, true, scope),
        }
    }

    /// Three-valued: the first part that decides ends it; without one, NULL where a part is.
    fn chained(parts: &[Self], decides: bool, scope: &mut Scope) -> Result<Scalar, Cause> {
        let mut result = Scalar::Boolean(!decides);
        for part in parts {
            match part.evaluate(scope)? {
                Scalar::Null => result = Scalar::Null,
                value if value.boolean()? == decides => return Ok(Scalar::Boolean(decides)),
                _ => {}
            }
        }
        Ok(result)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand::SeedableRng;
    use serde_json::json;

    use super::*;

    fn evaluated(json: Json) -> Result<Scalar, Cause> {
        let mut value = Value::default();
        value.set_integer(7);
        let place_of = |name: &str| (name == "x").then_some(0);
        let mut rng = SmallRng::seed_from_u64(1);
        let scope = &mut Scope { values: &[value], client: 3, began_ns: now_ns(), rng: &mut rng };
        Expression::new(&json, &place_of)?.evaluate(scope)
    }

    #[test]
    fn an_expression_has_the_value_of_its_tree() {
        for (json, expected) in [
            (json!(["add", "x", ["mul", 2, 1.5]]), Scalar::Double(10.0)),
            (json!(["case", ["lt", "x", 10], ["sub", "x", 2], ["add", "x", 91]]), Scalar::Integer(5)),
            (json!(["case", false, 1]), Scalar::Null),
            // what is not chosen is not evaluated
            (json!(["case", true, 1, ["div", 1, 0]]), Scalar::Integer(1)),
            (json!(["and", false, ["div", 1, 0]]), Scalar::Boolean(false)),
            (json!(["or", null, true]), Scalar::Boolean(true)),
            (json!(["and", null, true]), Scalar::Null),
            (json!(["client"]), Scalar::Integer(3)),
            (json!(["lt", ["elapsed-ms"], 60_000]), Scalar::Boolean(true)),
        ] {
            assert_eq!(evaluated(json.clone()), Ok(expected), "{json}");
        }
    }

    #[test]
    fn what_is_no_expression_is_refused() {
        for (json, cause) in [
            (json!({}), "an expression is a number, a name or a list"),
            (json!([]), "a call is a list of a function's name"),
            (json!([1, 2]), "a call is a list of a function's name"),
            (json!(["sine", 1]), "no function `sine`"),
            (json!(["add", 1]), "`add` takes 2 arguments, not 1"),
            (json!("y"), "no step gives `:y` a value"),
            (json!(["client", 1]), "no function `client`"),
        ] {
            let refused = evaluated(json.clone()).unwrap_err();
            assert!(refused.starts_with(cause), "{json}: {refused}");
        }
    }

    fn tree() -> impl Strategy<Value = Json> {
        let leaf = prop_oneof![
            any::<i64>().prop_map(Json::from),
            any::<f64>().prop_map(Json::from),
            Just(json!("x")),
            Just(json!(null)),
            any::<bool>().prop_map(Json::from),
        ];
        leaf.prop_recursive(5, 40, 3, |inner| {
            let names = [
                "add",
                "sub",
                "mul",
                "div",
                "mod",
                "eq",
                "lt",
                "and",
                "or",
                "case",
                "least",
                "neg",
                "random",
                "hash-fnv1a",
                "permute",
                "shift-left",
                "int",
                "power",
            ];
            (proptest::sample::select(names.to_vec()), proptest::collection::vec(inner, 1..4)).prop_map(
                |(name, arguments)| {
                    let mut call = vec![json!(name)];
                    call.extend(arguments);
                    Json::Array(call)
                },
            )
        })
    }

    proptest! {
        #[test]
        fn no_tree_makes_the_evaluation_panic(json in tree()) {
            let _ = evaluated(json);
        }
    }
}
