//! Checks of a plan, before anything is connected.

use std::collections::BTreeSet;

use steelyard_engine::error::PlanError;

use super::steps::Step;
use super::timed::KIND;
use super::transaction::{Mix, Takes, Transaction};
use super::{Arrival, Handle, Io, Parameters, Plan, Text, Tls};

/// Limits beyond which a plan is a mistake, or does not fit in memory.
const MOST_TEXTS: u64 = 1_000_000;
const MOST_THREADS: usize = 256;
const MOST_CLIENTS: usize = 10_000;
const LONGEST_PIPELINE: usize = 10_000;
const LONGEST_S: f64 = 604_800.0;
/// PostgreSQL makes no larger message, MySQL none beyond max_allowed_packet, 1 GiB.
const MOST_MESSAGE_MIB: u32 = 1024;
const HIGHEST_RATE: f64 = 1e7;
const MOST_CARDS: f64 = 10_000.0;
const MOST_RETRIES: u32 = 1_000_000;

impl Plan {
    /// What a turn would cut off cannot be measured in turns.
    fn check_turns(&self) -> Result<(), PlanError> {
        let refuse = |field: &str, cause: &str| Err(PlanError::new(field, cause));
        if self.sqlite.is_some() {
            return refuse("turns", "SQLite in this process does not work in turns");
        }
        if !matches!(self.arrival, Arrival::Closed { .. }) {
            return refuse("turns", "needs a closed loop: arrival.kind `closed`");
        }
        if self.transactions_max.is_some() {
            return refuse("transactions_max", "turns end by time, not after a number of transactions");
        }
        if self.transactions.iter().any(|one| !one.takes.is_empty()) {
            return refuse("turns", "messages between transactions would be late by the turns of others");
        }
        if self.scheduling_trace_s > 0.0 || self.latch_count_s > 0.0 {
            return refuse("turns", "diagnostic phases need the server for one option alone");
        }
        Ok(())
    }

    pub(super) fn check(&self) -> Result<(), PlanError> {
        let refuse = |field: &str, cause: &str| Err(PlanError::new(field, cause));
        if self.sqlite.is_none() && self.server.host.is_empty() && self.server.socket.is_none() {
            return refuse("server", "there is no host to connect to");
        }
        if self.handle == Handle::Named && self.text == Text::Unique {
            return refuse("text", "handle `named` with unique texts prepares once what is never seen again");
        }
        let shares =
            |transaction: &Transaction| !transaction.values.is_empty() || !transaction.steps.is_empty();
        if self.handle == Handle::Named
            && self.parameters == Parameters::None
            && self.transactions.iter().any(shares)
        {
            return refuse(
                "parameters",
                "handle `named` prepares a text once, with the literals of its first use: values of transactions \
                 need parameters `client`",
            );
        }
        if self.text == Text::Distinct && !(1..=MOST_TEXTS).contains(&self.distinct_texts) {
            return refuse("distinct_texts", &format!("must be 1 to {MOST_TEXTS}"));
        }
        if self.points.is_empty() || !self.points.iter().all(|count| (1..=MOST_CLIENTS).contains(count)) {
            return refuse("points", &format!("needs numbers of clients, each 1 to {MOST_CLIENTS}"));
        }
        if self.io == Io::IoUring && self.server.tls != Tls::Disable {
            return refuse("io", "io_uring does not support TLS: use auto or epoll");
        }
        if !(1..=MOST_THREADS).contains(&self.threads) {
            return refuse("threads", &format!("must be 1 to {MOST_THREADS}"));
        }
        if !(1..=LONGEST_PIPELINE).contains(&self.pipeline) {
            return refuse("pipeline", &format!("must be 1 to {LONGEST_PIPELINE}"));
        }
        // a batch has one moment at which it begins; arrivals and rounds have one each
        if self.pipeline > 1 && !matches!(self.arrival, Arrival::Closed { .. }) {
            return refuse("pipeline", "above 1 needs a closed loop: arrival.kind `closed`");
        }
        if !(1..=MOST_MESSAGE_MIB).contains(&self.message_mib_max) {
            return refuse("message_mib_max", &format!("must be 1 to {MOST_MESSAGE_MIB}"));
        }
        if self.transactions_max.is_some_and(|most| most == 0 || self.threads > 1) {
            return refuse(
                "transactions_max",
                "must be above 0, and is counted by one thread: threads must be 1",
            );
        }
        if self.turns {
            self.check_turns()?;
        }
        if self.statements.is_empty() || self.transactions.is_empty() {
            return refuse("transactions", "needs at least one transaction of one statement");
        }
        for (field, value) in [
            ("warm_up_s", self.warm_up_s),
            ("measure_s", self.measure_s),
            ("scheduling_trace_s", self.scheduling_trace_s),
            ("latch_count_s", self.latch_count_s),
            ("cool_down_s", self.cool_down_s),
            ("connect_s", self.connect_s),
            ("inspect_s", self.inspect_s),
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
        self.check_transactions()?;
        self.check_statements()?;
        self.check_replay()?;
        self.check_share()
    }

    fn check_transactions(&self) -> Result<(), PlanError> {
        let refuse = |field: &str, cause: &str| Err(PlanError::new(field, cause));
        for transaction in &self.transactions {
            let field = format!("transactions.{}", transaction.name);
            let drawn = transaction.takes.is_empty() && transaction.clients == 0;
            let least = if drawn { f64::MIN_POSITIVE } else { 0.0 };
            if !(transaction.weight.is_finite() && transaction.weight >= least) {
                return refuse(&field, "weight must be above 0");
            }
            let is_statement = |step: &Step| matches!(step, Step::Statement { .. });
            if transaction.statements.is_empty()
                && !transaction.steps.iter().any(|one| one.any(&is_statement))
            {
                return refuse(&field, "has no statement");
            }
            if !transaction.statements.is_empty() && !transaction.steps.is_empty() {
                return refuse(&field, "has statements and steps: put the statements into the steps");
            }
            for name in &transaction.statements {
                if self.statement(name).is_none() {
                    return refuse(&field, &format!("no statement `{name}`"));
                }
            }
            for (field_of, pause_ms) in
                [("keying_ms", transaction.keying_ms), ("think_ms", transaction.think_ms)]
            {
                if !(0.0..=LONGEST_S * 1e3).contains(&pause_ms) {
                    return refuse(
                        &format!("{field}.{field_of}"),
                        &format!("must be 0 to {}", LONGEST_S * 1e3),
                    );
                }
            }
            let mut given = BTreeSet::new();
            transaction.steps.iter().for_each(|step| step.given(0, &mut given));
            for (name, generator) in &transaction.values {
                let field = format!("{field}.values.{name}");
                if given.contains(name) {
                    return refuse(
                        &field,
                        "a step gives it a value as well: draw it by a step, or rename one",
                    );
                }
                generator.check().map_err(|cause| PlanError::new(field, cause))?;
            }
        }
        self.check_queues()?;
        self.check_mix()
    }

    /// Messages between transactions: who sends them, and who takes them.
    fn check_queues(&self) -> Result<(), PlanError> {
        let own: usize = self.transactions.iter().map(|one| one.clients).sum();
        let mut taken = BTreeSet::new();
        for transaction in &self.transactions {
            let refuse =
                |cause: &str| Err(PlanError::new(format!("transactions.{}", transaction.name), cause));
            if transaction.takes.is_empty() && transaction.clients == 0 {
                continue;
            }
            if transaction.clients == 0 || transaction.weight != 0.0 {
                return refuse("`takes` needs clients of its own, and they need weight 0");
            }
            if transaction.pauses() || self.pipeline > 1 || !matches!(self.arrival, Arrival::Closed { .. }) {
                return refuse(
                    "clients of its own need a closed loop, arrival.kind `closed`, no pauses, no pipeline",
                );
            }
            if transaction.is_background() {
                continue;
            }
            if transaction.takes.iter().all(|one| one.least == 0)
                || !transaction.takes.iter().all(Takes::is_possible)
            {
                return refuse(
                    "`takes` needs some message to begin with, values, least <= count, and count at most 1000",
                );
            }
            taken.extend(transaction.takes.iter().map(|one| one.queue.as_str()));
        }
        if own > 0 && self.points.iter().any(|clients| *clients <= own) {
            let cause = format!("{own} clients execute a transaction of their own: needs more than {own}");
            return Err(PlanError::new("points", cause));
        }
        for transaction in &self.transactions {
            let lost =
                |step: &Step| matches!(step, Step::Send { queue, .. } if !taken.contains(queue.as_str()));
            if transaction.steps.iter().any(|step| step.any(&lost)) {
                let field = format!("transactions.{}", transaction.name);
                return Err(PlanError::new(field, "sends to a queue that no transaction takes from"));
            }
        }
        Ok(())
    }

    /// How transactions follow one another.
    fn check_mix(&self) -> Result<(), PlanError> {
        let refuse = |field: &str, cause: &str| Err(PlanError::new(field, cause));
        if self.transactions.iter().any(Transaction::pauses)
            && (self.pipeline > 1 || !matches!(self.arrival, Arrival::Closed { .. }))
        {
            return refuse(
                "transactions",
                "keying and think times need a closed loop, arrival.kind `closed`, and no pipeline",
            );
        }
        if self.retries > MOST_RETRIES {
            return refuse("retries", &format!("must be 0 to {MOST_RETRIES}"));
        }
        if self.mix == Mix::Deck {
            if let Some(one) = self.transactions.iter().find(|one| one.weight.fract() != 0.0) {
                let field = format!("transactions.{}", one.name);
                return refuse(&field, "weight must be a whole number: a deck has so many cards of it");
            }
            if self.transactions.iter().map(|one| one.weight).sum::<f64>() > MOST_CARDS {
                return refuse("mix", &format!("a deck has at most {MOST_CARDS} cards: divide the weights"));
            }
        }
        Ok(())
    }

    fn check_statements(&self) -> Result<(), PlanError> {
        let refuse = |field: &str, cause: &str| Err(PlanError::new(field, cause));
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
            if statement.name.starts_with(KIND) {
                return refuse(
                    &field,
                    "names that begin with `transaction ` are reserved for kinds of transactions",
                );
            }
            if statement.name == "transaction" {
                return refuse("statements", "the name `transaction` is reserved for whole transactions");
            }
            for (name, generator) in &statement.parameters {
                generator
                    .check()
                    .map_err(|cause| PlanError::new(format!("{field}.parameters.{name}"), cause))?;
            }
        }
        Ok(())
    }

    /// Refuses what neither SQL protocols nor SQLite support.
    pub fn check_sql(&self) -> Result<(), PlanError> {
        let refuse = |field: &str, cause: &str| Err(PlanError::new(field, cause));
        if self.handle == Handle::None && self.parameters == Parameters::Client {
            return refuse("parameters", "a simple query (handle none) carries no parameters");
        }
        if self.pipeline > 1 {
            return refuse("pipeline", "above 1 needs protocol `resp`: others have one statement under way");
        }
        Ok(())
    }
}
