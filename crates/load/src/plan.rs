//! The plan of one run, as it comes in JSON, and everything that makes it impossible.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::error::PlanError;
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

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tls {
    Disable,
    /// Encrypted; the server's certificate is not verified.
    Require,
    /// Encrypted; certificate and host name are verified against `ca_file`.
    VerifyFull,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Server {
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
        if self.is_unix() {
            format!("{}/.s.PGSQL.{}", self.host, self.port)
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }

    pub fn is_unix(&self) -> bool {
        self.host.starts_with('/')
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

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Arrival {
    Closed { think_ms: f64, think: Think },
    Open { rate_per_s: f64, spacing: Spacing },
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
    pub server: Server,
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
    pub cool_down_s: f64,
    pub deadline_ms: f64,
    pub threads: usize,
    pub seed: u64,
    #[serde(default)]
    pub inspect: Vec<Inspect>,
}

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
        if self.handle == Handle::None && self.parameters == Parameters::Client {
            return refuse("parameters", "a simple query (handle none) carries no parameters");
        }
        if self.handle == Handle::Named && self.text == Text::Unique {
            return refuse("text", "unique texts are never seen again, so `named` cannot reuse them");
        }
        if self.text == Text::Distinct && self.distinct_texts == 0 {
            return refuse("distinct_texts", "must be at least 1");
        }
        if self.points.is_empty() || self.points.contains(&0) {
            return refuse("points", "needs numbers of clients, each at least 1");
        }
        if self.threads == 0 {
            return refuse("threads", "must be at least 1");
        }
        if self.statements.is_empty() || self.transactions.is_empty() {
            return refuse("transactions", "needs at least one transaction of one statement");
        }
        for (field, value) in [
            ("warm_up_s", self.warm_up_s),
            ("measure_s", self.measure_s),
            ("cool_down_s", self.cool_down_s),
            ("connect_s", self.connect_s),
            ("deadline_ms", self.deadline_ms),
        ] {
            if !value.is_finite() || value < 0.0 {
                return refuse(field, "must be a length of time, not below 0");
            }
        }
        if self.measure_s == 0.0 {
            return refuse("measure_s", "must be above 0");
        }
        match self.arrival {
            Arrival::Open { rate_per_s, .. } if !(rate_per_s.is_finite() && rate_per_s > 0.0) => {
                return refuse("arrival.rate_per_s", "must be above 0");
            }
            Arrival::Closed { think_ms, .. } if !(think_ms.is_finite() && think_ms >= 0.0) => {
                return refuse("arrival.think_ms", "must not be below 0");
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
        for statement in &self.statements {
            if statement.name == "transaction" {
                return refuse("statements", "the name `transaction` stands for whole transactions");
            }
            for (name, generator) in &statement.parameters {
                generator.check().map_err(|cause| {
                    PlanError::new(format!("statements.{}.parameters.{name}", statement.name), cause)
                })?;
            }
        }
        Ok(())
    }
}
