//! How a transaction of a client ends: done, failed, or executed again.

use super::{Client, Control, Then};
use crate::protocol::{Dialogue, Protocol, step_failed};
use crate::record::{Ending, Record};
use crate::statements::recipe::Recipe;
use crate::statements::walk::Walk;
use crate::statements::work::Work;

impl<P: Protocol> Client<P> {
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
                record.transaction_done(self.ending(index, now_ns));
            }
            Some(error)
                if self.retries < work.plan.retries && P::is_retryable(&error.code, &error.message) =>
            {
                self.retries += 1;
                record.retried(self.ending(index, now_ns));
                self.draw.again(work, self.transaction);
                self.walk = Walk::default();
                return self.go_on(work, now_ns, record, index);
            }
            Some(error) => {
                let statement = self.statement_under_way(&work.transactions[self.transaction]);
                record.failed(self.ending(index, now_ns), statement, &error.code, &error.message);
            }
        }
        self.busy = self.follow();
        Then::Done
    }
}
