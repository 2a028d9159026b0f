//! Checks whether the engines of several hosts can divide a plan.

use steelyard_engine::error::PlanError;

use super::{Arrival, Plan};

/// More than these is a mistake.
const MOST_HOSTS: usize = 10_000;

impl Plan {
    /// What the engines of several hosts cannot do without one another.
    pub(super) fn check_share(&self) -> Result<(), PlanError> {
        let refuse = |field: &str, cause: &str| Err(PlanError::new(field, cause));
        let Some(share) = self.share else { return Ok(()) };
        if !(1..=MOST_HOSTS).contains(&share.hosts) || share.host >= share.hosts {
            return refuse("share", &format!("needs host below hosts, and 1 to {MOST_HOSTS} hosts"));
        }
        if self.sqlite.is_some() {
            return refuse("share", "SQLite is in the engine's process: its load comes from one host");
        }
        if share.hosts == 1 {
            return Ok(());
        }
        if let Some(few) = self.points.iter().find(|clients| **clients < share.hosts) {
            let cause = format!("{few} clients cannot be divided among {} hosts", share.hosts);
            return refuse("points", &cause);
        }
        if matches!(self.arrival, Arrival::Replay { .. }) {
            return refuse("arrival", "the sessions of a capture are played by one host");
        }
        if self.transactions_max.is_some() {
            return refuse("transactions_max", "is counted by one host");
        }
        if self.transactions.iter().any(|one| !one.takes.is_empty()) {
            return refuse("transactions", "messages between transactions stay within one host");
        }
        Ok(())
    }
}
