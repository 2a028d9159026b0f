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
    /// The values that are bound, so many; its text is always the same.
    Values { count: usize },
}

impl Captured {
    /// How many values an event has.
    pub fn values(self) -> usize {
        match self {
            Self::Text {} | Self::ParsedText {} => 1,
            Self::Values { count } => count,
        }
    }
}
