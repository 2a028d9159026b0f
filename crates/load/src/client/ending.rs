//! How a statement of a client ends, and its transaction: done, failed, or executed again.

use super::{Client, Control, Then};
use crate::protocol::{Dialogue, Protocol, step_failed};
use crate::record::executed::Effect;
use crate::record::{Ending, Record};
use crate::statements::recipe::Recipe;
use crate::statements::walk::Walk;
use crate::statements::work::Work;

impl<P: Protocol> Client<P> {
    pub(super) fn statement_done(&mut self, work: &Work, now_ns: u64, record: &mut Record) {
        let effect = std::mem::take(&mut self.effect);
        if self.failure.is_some() {
            return;
        }
        if let Some(statement) = work.transactions[self.transaction].statement_at(self.walk.at) {
            record.statement_done(statement, now_ns, now_ns.saturating_sub(self.statement_ns));
            let counts = work.plan.statements[statement].counts;
            self.effects.push((statement, Effect { rows: effect.rows.filter(|_| counts), ..effect }));
        }
        if let Err(cause) = self.dialogue.take_rows(work, &mut self.draw) {
            self.fail(&cause);
        }
    }

    /// number: 0 for `begin`, 1 for `commit`.
    pub(super) fn control_done(&self, work: &Work, number: usize, now_ns: u64, record: &mut Record) {
        if let (Some(begin), None) = (work.control, &self.failure) {
            record.statement_done(begin + number, now_ns, now_ns.saturating_sub(self.statement_ns));
        }
    }

    pub(super) fn fail(&mut self, message: &str) {
        self.failure = Some(step_failed(message));
    }

    /// After a failure.
    pub(super) fn undo(
        &mut self,
        work: &Work,
        open: bool,
        now_ns: u64,
        record: &mut Record,
        index: usize,
    ) -> Then {
        // what a captured session does after an error is in the capture
        if open && work.capture.is_none() {
            return self.control(Control::Rollback, now_ns);
        }
        self.ended(work, now_ns, record, index)
    }

    /// The connection is gone, or was given up: what was under way has failed.
    pub fn lose(
        &mut self,
        work: &Work,
        now_ns: u64,
        record: &mut Record,
        index: usize,
        code: &str,
        message: &str,
    ) {
        self.transport = None;
        self.player.give_up();
        while self.busy {
            let statement = self.statement_under_way(&work.transactions[self.transaction]);
            record.failed(self.ending(index, now_ns), statement, code, message);
            self.busy = self.follow();
        }
        self.armed = false;
        self.open = false;
        self.effects.clear();
        self.dialogue.reset();
        self.clear();
    }

    pub(super) fn ending(&self, index: usize, now_ns: u64) -> Ending {
        Ending { client: index, transaction: self.transaction, begin_ns: self.started_ns, now_ns }
    }

    /// Of the failure: none when it was not a statement's.
    fn statement_under_way(&self, recipe: &Recipe) -> Option<usize> {
        recipe.statement_at(self.walk.at)
    }

    /// Nothing of the transaction is open: it is counted, or executed again.
    pub(super) fn ended(&mut self, work: &Work, now_ns: u64, record: &mut Record, index: usize) -> Then {
        self.open = false;
        match self.failure.take() {
            None => {
                let ending = self.ending(index, now_ns);
                record.executed(ending, &mut self.executed, self.effects.drain(..));
                record.transaction_done(ending);
            }
            Some(error)
                if self.retries < work.plan.retries && P::is_retryable(&error.code, &error.message) =>
            {
                self.retries += 1;
                record.retried(self.ending(index, now_ns));
                self.draw.again(work, self.transaction);
                self.walk = Walk::default();
                self.effects.clear();
                return self.go_on(work, now_ns, record, index);
            }
            Some(error) => {
                let statement = self.statement_under_way(&work.transactions[self.transaction]);
                record.failed(self.ending(index, now_ns), statement, &error.code, &error.message);
                self.effects.clear();
            }
        }
        self.busy = self.follow();
        Then::Done
    }
}
