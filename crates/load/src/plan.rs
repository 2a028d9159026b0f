//! The plan of one run, as it comes in JSON, and everything that makes it impossible.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::error::PlanError;
use crate::sqlite::database::Database;
use crate::values::Generator;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Handle {
    /// Simple query: text with literals.
    None,
    /// Parsed for each use, without a name, in one write with its execution.
    Unnamed,
    /// Parsed once a connection and text, then executed by name.
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

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    #[default]
    Postgres,
    /// MySQL and MariaDB.
    Mysql,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Server {
    #[serde(default)]
    pub protocol: Protocol,
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

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Statement {
    pub name: String,
    pub sql: String,
    #[serde(default)]
    pub parameters: BTreeMap<String, Generator>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transaction {
    pub name: String,
    pub weight: f64,
    pub statements: Vec<String>,
    #[serde(default)]
    pub begin: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Think {
    Fixed,
    Exponential,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Spacing {
    Poisson,
    Even,
}

/// Rounds: each client its own transaction, by its number; what began within the time goes to its end.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Arrival {
    Closed { think_ms: f64, think: Think },
    Open { rate_per_s: f64, spacing: Spacing },
    Rounds,
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
    pub arrival: Arrival,
    pub points: Vec<usize>,
    #[serde(default = "default_connect_s")]
    pub connect_s: f64,
    pub warm_up_s: f64,
    pub measure_s: f64,
    /// The measure phase of a point ends with so many transactions, at the latest after `measure_s`.
    pub transactions_max: Option<u64>,
    /// Load after each point's measure phase that is not counted.
    #[serde(default)]
    pub watch_s: f64,
    pub cool_down_s: f64,
    pub deadline_ms: f64,
    pub threads: usize,
    pub seed: u64,
    #[serde(default)]
    pub io: Io,
    #[serde(default)]
    pub inspect: Vec<Inspect>,
}

/// Limits beyond which a plan is a slip of the pen, or more than memory holds.
const MOST_TEXTS: u64 = 1_000_000;
const MOST_THREADS: usize = 256;
const MOST_CLIENTS: usize = 10_000;
const LONGEST_S: f64 = 604_800.0;
const HIGHEST_RATE: f64 = 1e7;

fn default_connect_s() -> f64 {
    30.0
}

impl Plan {
    /// Reads and checks a plan.
    pub fn parse(json: &str) -> Result<Self, PlanError> {
        let plan: Self =
            serde_json::from_str(json).map_err(|error| PlanError::new("plan", error.to_string()))?;
        plan.check()?;
        Ok(plan)
    }

    /// Index of a statement by its name.
    pub fn statement(&self, name: &str) -> Option<usize> {
        self.statements.iter().position(|statement| statement.name == name)
    }

    fn check(&self) -> Result<(), PlanError> {
        let refuse = |field: &str, cause: &str| Err(PlanError::new(field, cause));
        if self.sqlite.is_none() && self.server.host.is_empty() && self.server.socket.is_none() {
            return refuse("server", "there is no host to connect to");
        }
        if let Some(database) = &self.sqlite {
            database.check()?;
            if self.handle == Handle::Unnamed {
                return refuse("handle", "every statement of SQLite is a handle: `per-use` is the same work");
            }
            if matches!(self.arrival, Arrival::Open { .. }) {
                return refuse("arrival", "clients of SQLite are threads or processes in a closed loop");
            }
        }
        if self.handle == Handle::None && self.parameters == Parameters::Client {
            return refuse("parameters", "a simple query (handle none) carries no parameters");
        }
        if self.handle == Handle::Named && self.text == Text::Unique {
            return refuse("text", "unique texts are never seen again, so `named` cannot reuse them");
        }
        if self.text == Text::Distinct && !(1..=MOST_TEXTS).contains(&self.distinct_texts) {
            return refuse("distinct_texts", &format!("must be 1 to {MOST_TEXTS}"));
        }
        if self.points.is_empty() || !self.points.iter().all(|count| (1..=MOST_CLIENTS).contains(count)) {
            return refuse("points", &format!("needs numbers of clients, each 1 to {MOST_CLIENTS}"));
        }
        if self.io == Io::IoUring && self.server.tls != Tls::Disable {
            return refuse("io", "io_uring carries plain connections only: take auto or epoll with TLS");
        }
        if !(1..=MOST_THREADS).contains(&self.threads) {
            return refuse("threads", &format!("must be 1 to {MOST_THREADS}"));
        }
        if self.transactions_max.is_some_and(|most| most == 0 || self.threads > 1) {
            return refuse("transactions_max", "must be above 0, and is counted by one thread");
        }
        if self.statements.is_empty() || self.transactions.is_empty() {
            return refuse("transactions", "needs at least one transaction of one statement");
        }
        for (field, value) in [
            ("warm_up_s", self.warm_up_s),
            ("measure_s", self.measure_s),
            ("watch_s", self.watch_s),
            ("cool_down_s", self.cool_down_s),
            ("connect_s", self.connect_s),
            ("deadline_ms", self.deadline_ms),
        ] {
            let most = if field.ends_with("_ms") { LONGEST_S * 1e3 } else { LONGEST_S };
            if !(0.0..=most).contains(&value) {
                return refuse(field, &format!("must be a length of time, 0 to {most}"));
            }
        }
        for (field, value) in [("measure_s", self.measure_s), ("deadline_ms", self.deadline_ms)] {
            if value == 0.0 {
                return refuse(field, "must be above 0");
            }
        }
        match self.arrival {
            Arrival::Open { rate_per_s, .. } if !(rate_per_s > 0.0 && rate_per_s <= HIGHEST_RATE) => {
                return refuse("arrival.rate_per_s", &format!("must be above 0, at most {HIGHEST_RATE}"));
            }
            Arrival::Closed { think_ms, .. } if !(0.0..=LONGEST_S * 1e3).contains(&think_ms) => {
                return refuse("arrival.think_ms", &format!("must be 0 to {}", LONGEST_S * 1e3));
            }
            _ => {}
        }
        for transaction in &self.transactions {
            let field = format!("transactions.{}", transaction.name);
            if !(transaction.weight.is_finite() && transaction.weight > 0.0) {
                return refuse(&field, "weight must be above 0");
            }
            if transaction.statements.is_empty() {
                return refuse(&field, "has no statement");
            }
            for name in &transaction.statements {
                if self.statement(name).is_none() {
                    return refuse(&field, &format!("no statement `{name}`"));
                }
            }
        }
        for (index, statement) in self.statements.iter().enumerate() {
            let field = format!("statements.{}", statement.name);
            if self.statement(&statement.name) != Some(index) {
                return refuse(&field, "two statements have this name");
            }
            if statement.sql.contains('\0') {
                return refuse(&field, "the SQL holds a zero byte");
            }
            if statement.parameters.len() > u16::MAX as usize {
                return refuse(&field, "has more parameters than the protocol carries");
            }
            if statement.name == "transaction" {
                return refuse("statements", "the name `transaction` stands for whole transactions");
            }
            for (name, generator) in &statement.parameters {
                generator
                    .check()
                    .map_err(|cause| PlanError::new(format!("{field}.parameters.{name}"), cause))?;
            }
        }
        Ok(())
    }
}
