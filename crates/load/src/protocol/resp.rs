//! RESP2, the protocol of Valkey and Redis.
//!
//! - [`commands`]: commands written
//! - [`scanner`]: replies scanned for what counts
//! - [`session`]: login and queries (blocking)
//! - [`dialogue`]: a statement as a command, with several under way

use steelyard_engine::error::PlanError;

use super::Protocol;
use crate::plan::{Handle, Parameters, Plan, Text, Tls};
use crate::statements::lexer::Lexis;
use crate::statements::template::Dialect;

pub mod commands;
pub mod dialogue;
pub mod scanner;
pub mod session;

use commands::{Command, words};

pub struct Resp;

impl Protocol for Resp {
    const NAME: &'static str = "resp";
    /// A command's words are sent as they are: no text is made from a statement.
    const DIALECT: Dialect = Dialect {
        lexis: Lexis::Standard,
        placeholder: |number| format!(":{number}"),
        quote: b"",
        doubled: b"",
    };
    const FAREWELL: &'static [u8] = commands::QUIT;
    type Session = session::Session;
    type Dialogue = dialogue::Dialogue;

    fn check(plan: &Plan) -> Result<(), PlanError> {
        let is_folder = plan.server.socket.is_none() && plan.server.host.starts_with('/');
        let is_blank = |text: &str| words(text).is_empty();
        let refusals = [
            (is_folder, "server.host", "is a folder: give the path of the Unix socket as `socket`"),
            (plan.server.tls != Tls::Disable, "server.tls", "must be `disable`"),
            (plan.handle != Handle::None, "handle", "must be `none`: there are no prepared statements"),
            (
                plan.text != Text::Identical,
                "text",
                "must be `identical`: a command is no text that is parsed",
            ),
            (plan.parameters != Parameters::Client, "parameters", "must be `client`: a value is an argument"),
            // the server would not answer an empty command
            (plan.session.iter().any(|text| is_blank(text)), "session", "has an empty command"),
            (plan.inspect.iter().any(|one| is_blank(&one.sql)), "inspect", "has an empty command"),
        ];
        if let Some((_, field, cause)) = refusals.iter().find(|(wrong, ..)| *wrong) {
            return Err(PlanError::new(*field, format!("{cause} (protocol `resp`)")));
        }
        for transaction in &plan.transactions {
            if transaction.begin || transaction.statements.len() != 1 {
                let cause =
                    "must be one statement without begin: a command is a transaction (protocol `resp`)";
                return Err(PlanError::new(format!("transactions.{}", transaction.name), cause));
            }
        }
        for statement in &plan.statements {
            let field = || format!("statements.{}", statement.name);
            Command::parse(&statement.sql).map_err(|cause| PlanError::new(field(), cause))?;
        }
        Ok(())
    }

    fn is_full(code: &str, message: &str) -> bool {
        code == "ERR" && message.starts_with("max number of clients")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Plan, Protocol, Resp};
    use crate::protocol::mysql::Mysql;

    /// Batches of 16 on a Unix socket.
    pub fn plan() -> Value {
        json!({
            "server": {"protocol": "resp", "socket": "/s", "host": "", "port": 0, "user": "",
                       "password": null, "database": "", "tls": "disable", "ca_file": null},
            "session": ["CLIENT SETNAME lab"], "inspect": [{"name": "i", "sql": "INFO memory"}],
            "text": "identical", "distinct_texts": 1, "parameters": "client", "handle": "none",
            "statements": [{"name": "get", "sql": "GET :key", "parameters": {
                "key": {"kind": "uniform", "low": 1, "high": 9}}}],
            "transactions": [{"name": "get", "weight": 1, "statements": ["get"]}],
            "arrival": {"kind": "closed", "think_ms": 0, "think": "fixed"},
            "points": [1], "warm_up_s": 0, "measure_s": 1, "cool_down_s": 0,
            "deadline_ms": 100, "threads": 1, "seed": 1, "pipeline": 16,
        })
    }

    fn refused<P: Protocol>(changes: &[(&str, Value)]) -> String {
        let mut plan = plan();
        for (path, put) in changes {
            *plan.pointer_mut(path).unwrap() = put.clone();
        }
        let checked = Plan::parse(&plan.to_string()).and_then(|plan| P::check(&plan));
        checked.err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn what_resp_does_not_have_is_refused_by_its_field() {
        assert_eq!(refused::<Resp>(&[]), "");
        for (path, put, cause) in [
            ("/server/socket", json!(null), "server: there is no host"),
            ("/server/tls", json!("require"), "server.tls: must be `disable`"),
            ("/handle", json!("unnamed"), "handle: must be `none`"),
            ("/text", json!("unique"), "text: must be `identical`"),
            ("/parameters", json!("none"), "parameters: must be `client`"),
            ("/session/0", json!(" "), "session: has an empty command"),
            ("/inspect/0/sql", json!(""), "inspect: has an empty command"),
            (
                "/transactions/0",
                json!({"name": "t", "weight": 1, "statements": ["get"], "begin": true}),
                "transactions.t: must be one statement without begin",
            ),
            ("/transactions/0/statements", json!(["get", "get"]), "transactions.get: must be one statement"),
            (
                "/statements/0/sql",
                json!("GET user:key"),
                "statements.get: `:key` must be separated by blanks",
            ),
            ("/pipeline", json!(0), "pipeline: must be 1 to"),
            ("/arrival", json!({"kind": "rounds"}), "pipeline: above 1 needs a closed loop"),
        ] {
            let refused = refused::<Resp>(&[(path, put)]);
            assert!(refused.starts_with(cause), "{path}: {refused}");
        }
    }

    #[test]
    fn a_folder_is_no_address_and_other_protocols_have_no_pipeline() {
        let folder = [("/server/socket", json!(null)), ("/server/host", json!("/folder"))];
        assert!(refused::<Resp>(&folder).starts_with("server.host: is a folder"));
        assert!(refused::<Mysql>(&[]).starts_with("parameters: a simple query"));
        let prepared = [("/handle", json!("named"))];
        assert!(refused::<Mysql>(&prepared).starts_with("pipeline: above 1 needs protocol `resp`"));
    }
}
