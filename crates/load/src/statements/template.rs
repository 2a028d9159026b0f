//! A statement's template, and the texts made from it.
//!
//! `{tag}` becomes a number that makes texts differ; `:name` is a parameter, unless it
//! is in quotes, in a comment, or is part of a cast (`::int`).

use std::collections::BTreeMap;

use steelyard_engine::error::PlanError;

use crate::plan::captured::Captured;
use crate::plan::statement::Statement;
use crate::plan::{Handle, Parameters};
use crate::statements::distributions::Source;
use crate::statements::value::{Value, write_integer};

#[derive(Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    Tag,
    /// By number of the parameter; in a template, by place of its value.
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
    /// Of the statement's own values, with their places.
    sources: Vec<(usize, Source)>,
    /// Place of each parameter's value.
    places: Vec<usize>,
    /// Place of the value for each occurrence in the text, where values are bound.
    occurrences: Vec<usize>,
    bound: bool,
    dialect: Dialect,
    /// In place of the plan's.
    pub handle: Option<Handle>,
}

impl Template {
    /// `shared`: names of the values that transactions give, by place; the statement's own come after them.
    pub fn new(
        statement: &Statement,
        shared: &[String],
        parameters: Parameters,
        dialect: Dialect,
    ) -> Result<Self, PlanError> {
        if let Some(captured) = statement.captured {
            return Ok(Self::captured(&statement.sql, captured, dialect));
        }
        let (mut pieces, names) = parse(&statement.sql);
        let field = || format!("statements.{}", statement.name);
        let mut generators: BTreeMap<&str, _> =
            statement.parameters.iter().map(|(name, generator)| (name.as_str(), generator)).collect();
        let (mut sources, mut places) = (Vec::new(), Vec::new());
        for name in &names {
            if let Some(generator) = generators.remove(name.as_str()) {
                places.push(shared.len() + sources.len());
                sources.push((shared.len() + sources.len(), Source::new(generator)));
            } else if let Some(place) = shared.iter().position(|known| known == name) {
                places.push(place);
            } else {
                return Err(PlanError::new(field(), format!("`:{name}` has no entry under parameters")));
            }
        }
        if let Some(name) = generators.keys().next() {
            return Err(PlanError::new(
                field(),
                format!("the parameter `{name}` does not occur in the SQL as `:{name}`"),
            ));
        }
        let (bound, mut occurrences) = (parameters == Parameters::Client, Vec::new());
        for piece in &mut pieces {
            let Piece::Parameter(index) = *piece else { continue };
            *piece = if bound {
                occurrences.push(places[index]);
                Piece::Text((dialect.placeholder)(index + 1))
            } else {
                Piece::Parameter(places[index])
            };
        }
        Ok(Self { pieces, sources, places, occurrences, bound, dialect, handle: None })
    }

    /// Its text is as it was captured, placeholders included; or the event's only value.
    fn captured(sql: &str, captured: Captured, dialect: Dialect) -> Self {
        let (piece, bound, handle) = match captured {
            Captured::Text {} => (Piece::Parameter(0), 0, Some(Handle::None)),
            Captured::ParsedText {} => (Piece::Parameter(0), 0, Some(Handle::Unnamed)),
            Captured::Values { count } => (Piece::Text(sql.to_string()), count, None),
        };
        let places: Vec<usize> = (0..bound).collect();
        let occurrences = places.clone();
        let (pieces, sources) = (vec![piece], Vec::new());
        Self { pieces, sources, places, occurrences, bound: true, dialect, handle }
    }

    /// Places of the values that are bound, by number of the parameter.
    pub fn bound(&self) -> &[usize] {
        if self.bound { &self.places } else { &[] }
    }

    /// Places of the values that the transaction gives, of `shared` in all.
    pub fn shared(&self, shared: usize) -> impl Iterator<Item = usize> {
        self.places.iter().copied().filter(move |place| *place < shared)
    }

    /// Generators of the statement's own values, with their places.
    pub fn sources(&self) -> &[(usize, Source)] {
        &self.sources
    }

    pub fn sources_mut(&mut self) -> impl Iterator<Item = &mut Source> {
        self.sources.iter_mut().map(|(_, source)| source)
    }

    /// Place of the value for each occurrence in the text, in order, where values are bound.
    pub fn occurrences(&self) -> &[usize] {
        &self.occurrences
    }

    /// Appends the text, with values that are not bound as literals. `values`: by place.
    pub fn write_text(&self, tag: u64, values: &[Value], out: &mut Vec<u8>) {
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => out.extend_from_slice(text.as_bytes()),
                Piece::Tag => write_integer(tag as i64, out),
                Piece::Parameter(place) => {
                    values[*place].write_literal(self.dialect.quote, self.dialect.doubled, out);
                }
            }
        }
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
    use rand::rngs::SmallRng;

    use super::*;

    const NUMBERED: Dialect =
        Dialect { placeholder: |number| format!("${number}"), quote: b"'", doubled: b"'" };

    fn rendered(sql: &str, parameters: Parameters, tag: u64) -> String {
        let statement: Statement = serde_json::from_value(serde_json::json!({
            "name": "s", "sql": sql, "parameters": {"id": {"kind": "uniform", "low": 7, "high": 7}}
        }))
        .unwrap();
        let template = Template::new(&statement, &[], parameters, NUMBERED).unwrap();
        let mut value = Value::default();
        template.sources()[0].1.draw(&mut SmallRng::seed_from_u64(1), &mut value);
        let mut out = Vec::new();
        template.write_text(tag, &[value], &mut out);
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
        let error = Template::new(&statement, &["y".into()], Parameters::Client, NUMBERED).unwrap_err();
        assert_eq!(error.to_string(), "statements.s: `:x` has no entry under parameters");
    }
}
