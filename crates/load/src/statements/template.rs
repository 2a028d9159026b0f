//! A statement's template, and the texts made from it.
//!
//! `{tag}` becomes a number that makes texts differ; `:name` is a parameter, unless it is in quotes, in a
//! comment, part of a cast (`::int`) or the end of a slice (`a[1:n]`).

use std::collections::BTreeMap;

use steelyard_engine::error::PlanError;

use crate::plan::captured::Captured;
use crate::plan::statement::Statement;
use crate::plan::{Handle, Parameters};
use crate::statements::distributions::Source;
use crate::statements::lexer::{Kind, Lexis, tokens};
use crate::statements::value::{Value, write_integer};

const TAG: &str = "{tag}";

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
    pub lexis: Lexis,
    /// Placeholder of the bound parameter of this number, from 1.
    pub placeholder: fn(usize) -> String,
    /// Quote of a literal text.
    pub quote: &'static [u8],
    /// Bytes that are written twice in a literal text.
    pub doubled: &'static [u8],
}

impl Dialect {
    /// escapes: whether the server's sessions read a backslash as an escape; counts for MySQL alone.
    #[must_use]
    pub fn with_escapes(self, escapes: bool) -> Self {
        match self.lexis {
            Lexis::Mysql { .. } if !escapes => {
                Self { lexis: Lexis::Mysql { escapes }, doubled: b"'", ..self }
            }
            _ => self,
        }
    }
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
        let (mut pieces, names) = parse(&statement.sql, dialect.lexis);
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

    /// Its text is as it was captured, placeholders included; or the event's first value.
    fn captured(sql: &str, captured: Captured, dialect: Dialect) -> Self {
        let (piece, bound, handle) = match captured {
            Captured::Text {} => (Piece::Parameter(0), 0..0, Some(Handle::None)),
            Captured::ParsedText {} => (Piece::Parameter(0), 0..0, Some(Handle::Unnamed)),
            Captured::Values { count } => (Piece::Text(sql.to_string()), 0..count, None),
            Captured::TextValues { count } => (Piece::Parameter(0), 1..count + 1, Some(Handle::Unnamed)),
        };
        let places: Vec<usize> = bound.collect();
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
pub fn parameters(sql: &str, lexis: Lexis) -> Vec<String> {
    parse(sql, lexis).1
}

/// The statement for an engine that does not read SQL: `text` as it is, `tag`, or `parameter` with its name.
pub fn pieces(sql: &str, lexis: Lexis) -> Vec<(&'static str, String)> {
    let (pieces, names) = parse(sql, lexis);
    let written = |piece| match piece {
        Piece::Text(text) => ("text", text),
        Piece::Tag => ("tag", String::new()),
        Piece::Parameter(index) => ("parameter", names[index].clone()),
    };
    pieces.into_iter().map(written).collect()
}

/// Pieces of the template, and the names of its parameters in the order of their numbers.
fn parse(sql: &str, lexis: Lexis) -> (Vec<Piece>, Vec<String>) {
    let mut found = Found { sql, pieces: Vec::new(), names: Vec::new(), begin: 0 };
    let mut rest = tokens(sql, lexis);
    // of an array: in `a[1:n]` a colon between two places is no parameter's
    let (mut brackets, mut last) = (0, ' ');
    while let Some(token) = rest.next() {
        let slice = brackets > 0 && (last.is_alphanumeric() || ['_', ']', ')', '"'].contains(&last));
        last = token.text.chars().next_back().unwrap_or_default();
        match (token.kind, token.text) {
            (Kind::Text | Kind::Name | Kind::Broken, text) => {
                text.match_indices(TAG).for_each(|(at, _)| found.cut(token.at + at, TAG.len(), Piece::Tag));
            }
            (Kind::Other, "{") if sql[token.at..].starts_with(TAG) => {
                found.cut(token.at, TAG.len(), Piece::Tag);
                rest.resume(found.begin);
            }
            (Kind::Other, ":") if !slice => {
                let name = name_at(&sql[token.at + 1..]);
                if !name.is_empty() {
                    found.parameter(token.at, name);
                    rest.resume(found.begin);
                    last = 'x';
                }
            }
            (Kind::Other, "[") if lexis == Lexis::Postgresql => brackets += 1,
            (Kind::Other, "]") => brackets -= 1,
            _ => {}
        }
    }
    if found.begin < sql.len() {
        found.pieces.push(Piece::Text(sql[found.begin..].to_string()));
    }
    (found.pieces, found.names)
}

/// The name of a parameter that a text begins with, as `\set` and TOML write it; empty: none.
fn name_at(rest: &str) -> &str {
    let end = rest.find(|next: char| !next.is_alphanumeric() && next != '_').unwrap_or(rest.len());
    if rest.starts_with(|first: char| first.is_numeric()) { "" } else { &rest[..end] }
}

/// What `parse` has found so far. begin: of the text that is in no piece yet.
struct Found<'a> {
    sql: &'a str,
    pieces: Vec<Piece>,
    names: Vec<String>,
    begin: usize,
}

impl Found<'_> {
    /// Ends the text before a place, and leaves out what stands there for the piece.
    fn cut(&mut self, at: usize, length: usize, piece: Piece) {
        if self.begin < at {
            self.pieces.push(Piece::Text(self.sql[self.begin..at].to_string()));
        }
        self.pieces.push(piece);
        self.begin = at + length;
    }

    fn parameter(&mut self, at: usize, name: &str) {
        let index = self.names.iter().position(|known| known == name).unwrap_or_else(|| {
            self.names.push(name.to_string());
            self.names.len() - 1
        });
        self.cut(at, 1 + name.len(), Piece::Parameter(index));
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand::rngs::SmallRng;

    use super::*;

    const NUMBERED: Dialect = Dialect {
        lexis: Lexis::Postgresql,
        placeholder: |number| format!("${number}"),
        quote: b"'",
        doubled: b"'",
    };

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
    fn a_parameter_is_one_by_the_rules_of_the_dialect() {
        let mysql = Lexis::Mysql { escapes: true };
        assert_eq!(parameters("select :a # :b\n, `:c`, '\\':d', :e", mysql), ["a", "e"]);
        assert_eq!(parameters("select /*!50000 :a */ /* :b */ 1", mysql), ["a"]);
        let sql = "select a[1:n], a[:i : :j], $$ :b $$, /* /* :c */ :d */ x := :größe, E'\\':e'";
        assert_eq!(parameters(sql, Lexis::Postgresql), ["i", "j", "größe"]);
        assert_eq!(
            pieces("a '{tag}' :b", Lexis::Standard),
            [("text", "a '".into()), ("tag", "".into()), ("text", "' ".into()), ("parameter", "b".into())]
        );
    }

    #[test]
    fn a_parameter_without_generator_is_refused_by_name() {
        let statement: Statement =
            serde_json::from_value(serde_json::json!({"name": "s", "sql": "select :x"})).unwrap();
        let error = Template::new(&statement, &["y".into()], Parameters::Client, NUMBERED).unwrap_err();
        assert_eq!(error.to_string(), "statements.s: `:x` has no entry under parameters");
    }

    proptest::proptest! {
        #[test]
        fn the_pieces_of_any_text_are_that_text(sql in r#"([a:'"\[\]{}/* é]|\{tag\}|:b|::|1){0,40}"#) {
            let found: String = pieces(&sql, Lexis::Postgresql)
                .into_iter()
                .map(|(kind, text)| match kind {
                    "tag" => "{tag}".to_string(),
                    "parameter" => format!(":{text}"),
                    _ => text,
                })
                .collect();
            proptest::prop_assert_eq!(found, sql);
        }
    }
}
