//! Checks of a replay: sessions of a capture in place of transactions that are drawn.

use steelyard_engine::error::PlanError;

use super::captured::Captured;
use super::statement::Statement;
use super::{Arrival, Plan};

const SPEED_MAX: f64 = 1e6;

impl Plan {
    /// A capture, an arrival of kind `replay` and captured statements: all of them or none.
    pub(super) fn check_replay(&self) -> Result<(), PlanError> {
        let refuse = |field: &str, cause: &str| Err(PlanError::new(field, cause));
        let Arrival::Replay { speed } = self.arrival else {
            return match self.statements.iter().find(|one| one.captured.is_some()) {
                Some(one) => refuse(&format!("statements.{}", one.name), "needs arrival.kind `replay`"),
                None => Ok(()),
            };
        };
        if speed.is_some_and(|speed| !(speed > 0.0 && speed <= SPEED_MAX)) {
            return refuse("arrival.speed", &format!("must be above 0, at most {SPEED_MAX}"));
        }
        if self.capture.is_none() {
            return refuse("capture", "arrival.kind `replay` needs the file of a capture");
        }
        if let Some(one) = self.statements.iter().find(|one| one.captured.is_none()) {
            return refuse(&format!("statements.{}", one.name), "a replay has captured statements only");
        }
        let texts = |one: &&Statement| matches!(one.captured, Some(Captured::TextValues { .. }));
        if let Some(one) = self.statements.iter().find(texts).filter(|_| self.server.protocol != "postgres") {
            return refuse(&format!("statements.{}", one.name), "text-values needs protocol `postgres`");
        }
        let own = self.transactions.iter().zip(&self.statements);
        if self.transactions.len() != self.statements.len()
            || !own.clone().all(|(one, statement)| one.statements == [statement.name.as_str()] && !one.begin)
        {
            return refuse("transactions", "a replay has one per statement, in the same order");
        }
        if self.scheduling_trace_s > 0.0 || self.latch_count_s > 0.0 {
            return refuse(
                "arrival",
                "a replay ends with its capture: there is no load for diagnostic phases",
            );
        }
        Ok(())
    }
}
