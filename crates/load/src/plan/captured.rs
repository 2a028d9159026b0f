//! Statements of a capture, as a plan gives them.

use serde::Deserialize;

/// What a captured statement takes from each of its events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(tag = "takes", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Captured {
    /// Its whole text, sent as a simple query.
    Text {},
    /// Its whole text, parsed for each use without a name, as drivers do that bind nothing.
    ParsedText {},
    /// The values that are bound, `count` of them; its text is always the same.
    Values { count: usize },
    /// Its whole text and the values that are bound, at most `count`. The texts differ in comments or in the length of
    /// a list; each is parsed for its use, without a name.
    TextValues { count: usize },
}

impl Captured {
    /// The least and the largest number of values of an event; a text is the first of them.
    pub fn values(self) -> (usize, usize) {
        match self {
            Self::Text {} | Self::ParsedText {} => (1, 1),
            Self::Values { count } => (count, count),
            Self::TextValues { count } => (1, count + 1),
        }
    }
}
