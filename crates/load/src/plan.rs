//! The plan of one run, as it comes in JSON.
//!
//! - [`captured`]: statements of a capture
//! - [`check`], [`division`], [`replay`]: checks before anything is connected
//! - [`generator`]: how the values of a parameter are made
//! - [`schedule`]: when transactions start
//! - [`share`]: the part of one engine among several
//! - [`sqlite`]: a database in place of a server
//! - [`statement`]: a text and its parameters
//! - [`steps`]: what a transaction does beyond a list of statements
//! - [`timed`]: what has a latency of its own
//! - [`transaction`]: transactions, and how they follow one another

use serde::Deserialize;
use steelyard_engine::error::PlanError;

use share::Share;
use sqlite::Database;
use statement::Statement;
use transaction::{Mix, Think, Transaction};

pub mod captured;
mod check;
mod division;
pub mod generator;
mod replay;
pub mod schedule;
pub mod share;
pub mod sqlite;
pub mod statement;
pub mod steps;
mod timed;
pub mod transaction;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Handle {
    /// Simple query: text with literals.
    None,
    /// Parsed for each use, without a name, in one write with its execution.
    Unnamed,
    /// Parsed once per connection and text, then executed by name.
    Named,
    /// Prepared, executed, closed for each use: three round trips, as drivers do.
    PerUse,
    /// Prepared and executed for each use, never closed.
    Left,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Text {
    /// One text.
    Identical,
    /// `distinct_texts` texts, drawn uniformly.
    Distinct,
    /// Each text is new.
    Unique,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Parameters {
    /// Bound by the client.
    Client,
    /// Literals in the text.
    None,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tls {
    #[default]
    Disable,
    /// Encrypted; the server's certificate is not verified.
    Require,
    /// Encrypted; certificate and host name are verified against `ca_file`.
    VerifyFull,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Server {
    /// Its name (see [`crate::drivers`]).
    #[serde(default = "default_protocol")]
    pub protocol: String,
    /// Unix socket in full, where its name does not follow from the port (MySQL).
    #[serde(default)]
    pub socket: Option<String>,
    /// Folder of a Unix socket, or a host.
    pub host: String,
    pub port: u16,
    pub user: String,
    pub password: Option<String>,
    pub database: String,
    pub tls: Tls,
    pub ca_file: Option<String>,
    /// A backslash in a text of SQL escapes (MySQL without NO_BACKSLASH_ESCAPES).
    #[serde(default = "yes")]
    pub escapes: bool,
}

impl Server {
    /// Address for messages.
    pub fn address(&self) -> String {
        if let Some(socket) = &self.socket {
            socket.clone()
        } else if self.is_unix() {
            format!("{}/.s.PGSQL.{}", self.host, self.port)
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }

    pub fn is_unix(&self) -> bool {
        self.socket.is_some() || self.host.starts_with('/')
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Spacing {
    Poisson,
    Even,
}

/// Rounds: each client its own transaction, by its number; rounds that begin within the time are completed.
/// Replay: the sessions of a capture, once; speed: of the original pace, none: as fast as a session allows.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Arrival {
    Closed { think_ms: f64, think: Think },
    Open { rate_per_s: f64, spacing: Spacing },
    Rounds,
    Replay { speed: Option<f64> },
}

/// How the event loop talks to the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Io {
    /// io_uring where the kernel allows it and nothing is encrypted, else epoll.
    #[default]
    Auto,
    Epoll,
    IoUring,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Inspect {
    pub name: String,
    pub sql: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Where clients connect; not with `sqlite`.
    #[serde(default)]
    pub server: Server,
    /// The database that clients open in this process, or in processes of ours.
    #[serde(default)]
    pub sqlite: Option<Database>,
    #[serde(default)]
    pub session: Vec<String>,
    pub text: Text,
    pub distinct_texts: u64,
    pub parameters: Parameters,
    pub handle: Handle,
    pub statements: Vec<Statement>,
    pub transactions: Vec<Transaction>,
    #[serde(default)]
    pub mix: Mix,
    /// How often a transaction is executed again, with the same values, after a serialization failure or a
    /// deadlock.
    #[serde(default)]
    pub retries: u32,
    pub arrival: Arrival,
    /// File of the sessions that a replay plays.
    #[serde(default)]
    pub capture: Option<String>,
    pub points: Vec<usize>,
    #[serde(default = "default_connect_s")]
    pub connect_s: f64,
    pub warm_up_s: f64,
    pub measure_s: f64,
    /// The caller's commands say when clients connect and when they load the server: see `engine::turns`.
    #[serde(default)]
    pub turns: bool,
    /// Sent in each session at the end of each turn: '' for nothing.
    #[serde(default)]
    pub turn_end: String,
    /// The measure phase of a point ends with so many transactions, at the latest after `measure_s`.
    pub transactions_max: Option<u64>,
    /// Load after each point's measure phase that is not measured, in two stretches.
    #[serde(default)]
    pub scheduling_trace_s: f64,
    #[serde(default)]
    pub latch_count_s: f64,
    pub cool_down_s: f64,
    pub deadline_ms: f64,
    pub threads: usize,
    /// How often each new connection executes each transaction before its load, and how long all may take.
    #[serde(default)]
    pub prime: usize,
    #[serde(default)]
    pub prime_s: f64,
    /// Statements that a client sends before it reads their replies, each a transaction.
    #[serde(default = "default_pipeline")]
    pub pipeline: usize,
    pub seed: u64,
    /// In a trial: how often each transaction is executed, and until when it is executed once more.
    #[serde(default = "default_draws")]
    pub draws: usize,
    #[serde(default)]
    pub draws_s: f64,
    /// This engine's part of the load; each stretch of load then begins when the caller says.
    #[serde(default)]
    pub share: Option<Share>,
    #[serde(default)]
    pub io: Io,
    #[serde(default)]
    pub inspect: Vec<Inspect>,
    /// All sessions together get this long to answer `inspect`.
    #[serde(default = "default_inspect_s")]
    pub inspect_s: f64,
    /// Of one message of the server: a larger one breaks the connection.
    #[serde(default = "default_message_mib_max")]
    pub message_mib_max: u32,
}

fn yes() -> bool {
    true
}

fn default_protocol() -> String {
    "postgres".into()
}

fn default_connect_s() -> f64 {
    30.0
}

fn default_draws() -> usize {
    1
}

fn default_pipeline() -> usize {
    1
}

fn default_inspect_s() -> f64 {
    10.0
}

fn default_message_mib_max() -> u32 {
    64
}

impl Plan {
    /// Reads and checks a plan.
    pub fn parse(json: &str) -> Result<Self, PlanError> {
        let plan: Self =
            serde_json::from_str(json).map_err(|error| PlanError::new("plan", error.to_string()))?;
        plan.check()?;
        Ok(plan)
    }

    /// The engine's part of the load; all of it where it is the only one.
    pub fn own(&self) -> Share {
        self.share.unwrap_or_default()
    }

    pub fn message_bytes_max(&self) -> usize {
        (self.message_mib_max as usize) << 20
    }

    /// How many texts of one statement may come again: 1 where it has one, or where each is new.
    pub fn texts(&self) -> u64 {
        if self.text == Text::Distinct { self.distinct_texts } else { 1 }
    }

    /// Index of `begin` in what is timed, before that of `commit`; none where no transaction has them, or a
    /// statement has such a name.
    pub fn control(&self) -> Option<usize> {
        let taken = ["begin", "commit"].iter().any(|name| self.statement(name).is_some());
        let begins = self.transactions.iter().any(Transaction::begins);
        (begins && !taken).then_some(self.statements.len())
    }

    /// Index of a statement by its name.
    pub fn statement(&self, name: &str) -> Option<usize> {
        self.statements.iter().position(|statement| statement.name == name)
    }
}
