//! A statement's template, and the texts made from it.
//!
//! `{tag}` becomes a number that makes texts differ; `:name` is a parameter, unless it
//! is in quotes, in a comment, or is part of a cast (`::int`).

use std::collections::BTreeMap;

use rand::rngs::SmallRng;
use steelyard_engine::error::PlanError;

use crate::plan::{Parameters, Statement};
use crate::statements::distributions::{Source, Value, write_integer};

#[derive(Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    Tag,
    Parameter(usize),
}

/// How a text is written for a server.
#[derive(Debug, Clone, Copy)]
pub struct Dialect {
    /// Placeholder of the bound parameter of this number, from 1.
    pub placeholder: fn(usize) -> String,
    /// Quote of a literal text.
    pub quote: &'static [u8],
    /// Bytes that are written twice in a literal text.
    pub doubled: &'static [u8],
}

/// A statement ready to be sent: pieces of text, and where its values come from.
#[derive(Debug)]
pub struct Template {
    pieces: Vec<Piece>,
    sources: Vec<Source>,
    /// The parameter of each place of the text, where they are bound.
    occurrences: Vec<usize>,
    bound: bool,
    dialect: Dialect,
}

impl Template {
    pub fn new(statement: &Statement, parameters: Parameters, dialect: Dialect) -> Result<Self, PlanError> {
        let (mut pieces, names) = parse(&statement.sql);
        let field = || format!("statements.{}", statement.name);
        let mut generators: BTreeMap<&str, _> =
            statement.parameters.iter().map(|(name, generator)| (name.as_str(), generator)).collect();
        let mut sources = Vec::new();
        for name in &names {
            let Some(generator) = generators.remove(name.as_str()) else {
                return Err(PlanError::new(field(), format!("`:{name}` has no entry under parameters")));
            };
            sources.push(Source::new(generator));
        }
        if let Some(name) = generators.keys().next() {
            return Err(PlanError::new(
                field(),
                format!("the parameter `{name}` does not occur in the SQL as `:{name}`"),
            ));
        }
        let (bound, mut occurrences) = (parameters == Parameters::Client, Vec::new());
        for piece in pieces.iter_mut().filter(|_| bound) {
            if let Piece::Parameter(index) = *piece {
                occurrences.push(index);
                *piece = Piece::Text((dialect.placeholder)(index + 1));
            }
        }
        Ok(Self { pieces, sources, occurrences, bound, dialect })
    }

    /// Number of parameters that are bound.
    pub fn bound(&self) -> usize {
        if self.bound { self.sources.len() } else { 0 }
    }

    /// Appends the text. `literals`: the values of this use, from [`Template::draw_literals`].
    pub fn write_text(&self, tag: u64, literals: &[Vec<u8>], out: &mut Vec<u8>) {
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => out.extend_from_slice(text.as_bytes()),
                Piece::Tag => write_integer(tag as i64, out),
                Piece::Parameter(index) => out.extend_from_slice(&literals[*index]),
            }
        }
    }

    /// Draws the values of one use as literals, one for each parameter wherever it occurs.
    pub fn draw_literals(&self, rng: &mut SmallRng, literals: &mut Vec<Vec<u8>>) {
        if self.bound {
            return;
        }
        literals.resize_with(self.sources.len().max(literals.len()), Vec::new);
        for (source, literal) in self.sources.iter().zip(literals) {
            literal.clear();
            source.write_literal(rng, self.dialect.quote, self.dialect.doubled, literal);
        }
    }

    /// The parameter of each place of the text, in order, where they are bound.
    pub fn occurrences(&self) -> &[usize] {
        &self.occurrences
    }

    /// Draws the values of one use, by parameter.
    pub fn draw_values(&self, rng: &mut SmallRng, values: &mut Vec<Value>) {
        values.clear();
        if self.bound {
            values.extend(self.sources.iter().map(|source| source.draw(rng)));
        }
    }

    /// Appends the bound value of a parameter.
    pub fn write_value(&self, index: usize, rng: &mut SmallRng, out: &mut Vec<u8>) {
        self.sources[index].write(rng, out);
    }
}

/// Names of the parameters in a statement's SQL, in the order of their numbers.
pub fn parameters(sql: &str) -> Vec<String> {
    parse(sql).1
}

/// Pieces of the template, and the names of its parameters in the order of their numbers.
fn parse(sql: &str) -> (Vec<Piece>, Vec<String>) {
    let bytes = sql.as_bytes();
    let mut pieces = Vec::new();
    let mut names: Vec<String> = Vec::new();
    let mut begin = 0;
    let mut at = 0;
    let cut = |from: usize, to: usize, piece: Piece, pieces: &mut Vec<Piece>| {
        if from < to {
            pieces.push(Piece::Text(sql[from..to].to_string()));
        }
        pieces.push(piece);
    };
    while at < bytes.len() {
        match bytes[at] {
            quote @ (b'\'' | b'"') => {
                at += 1;
                while at < bytes.len() && bytes[at] != quote {
                    if bytes[at..].starts_with(b"{tag}") {
                        cut(begin, at, Piece::Tag, &mut pieces);
                        at += 5;
                        begin = at;
                    } else {
                        at += 1;
                    }
                }
                at += 1;
            }
            b'-' if sql[at..].starts_with("--") => at += sql[at..].find('\n').unwrap_or(sql.len() - at),
            b'/' if sql[at..].starts_with("/*") => {
                at += sql[at..].find("*/").map_or(sql.len() - at, |end| end + 2)
            }
            b':' if sql[at..].starts_with("::") => at += 2,
            b':' if bytes.get(at + 1).is_some_and(|b| b.is_ascii_alphabetic() || *b == b'_') => {
                let length =
                    bytes[at + 1..].iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count();
                let name = &sql[at + 1..at + 1 + length];
                let index = names.iter().position(|known| known == name).unwrap_or_else(|| {
                    names.push(name.to_string());
                    names.len() - 1
                });
                cut(begin, at, Piece::Parameter(index), &mut pieces);
                at += 1 + length;
                begin = at;
            }
            b'{' if sql[at..].starts_with("{tag}") => {
                cut(begin, at, Piece::Tag, &mut pieces);
                at += 5;
                begin = at;
            }
            _ => at += 1,
        }
    }
    if begin < sql.len() {
        pieces.push(Piece::Text(sql[begin..].to_string()));
    }
    (pieces, names)
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    const NUMBERED: Dialect =
        Dialect { placeholder: |number| format!("${number}"), quote: b"'", doubled: b"'" };

    fn rendered(sql: &str, parameters: Parameters, tag: u64) -> String {
        let statement: Statement = serde_json::from_value(serde_json::json!({
            "name": "s", "sql": sql, "parameters": {"id": {"kind": "uniform", "low": 7, "high": 7}}
        }))
        .unwrap();
        let template = Template::new(&statement, parameters, NUMBERED).unwrap();
        let mut literals = Vec::new();
        template.draw_literals(&mut SmallRng::seed_from_u64(1), &mut literals);
        let mut out = Vec::new();
        template.write_text(tag, &literals, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn parameters_become_numbers_or_literals() {
        let sql = "select a as f{tag} from t where id = :id and b > :id";
        assert_eq!(rendered(sql, Parameters::Client, 3), "select a as f3 from t where id = $1 and b > $1");
        assert_eq!(rendered(sql, Parameters::None, 3), "select a as f3 from t where id = 7 and b > 7");
    }

    #[test]
    fn quotes_comments_and_casts_hold_no_parameters() {
        let sql = "select ':id', \":id\", :id::text /* :id */ -- :id";
        assert_eq!(rendered(sql, Parameters::Client, 0), "select ':id', \":id\", $1::text /* :id */ -- :id");
    }

    #[test]
    fn a_parameter_without_generator_is_refused_by_name() {
        let statement: Statement =
            serde_json::from_value(serde_json::json!({"name": "s", "sql": "select :x"})).unwrap();
        let error = Template::new(&statement, Parameters::Client, NUMBERED).unwrap_err();
        assert_eq!(error.to_string(), "statements.s: `:x` has no entry under parameters");
    }
}
