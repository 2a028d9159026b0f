//! A pipeline: transactions of one request each that are sent together.

use super::Client;
use crate::protocol::{Dialogue, Protocol};
use crate::statements::walk::Walk;
use crate::statements::work::Work;

impl<P: Protocol> Client<P> {
    /// The rest of a batch; the protocol has refused transactions of more than one request.
    pub(super) fn fill_batch(&mut self, work: &Work) {
        for _ in 1..work.plan.pipeline {
            let transaction = self.draw.transaction(work);
            self.draw.begin(work, transaction);
            self.draw.statement(work, work.transactions[transaction].statements[0]);
            self.dialogue.begin(work, &self.draw, &mut self.out);
            self.batch.push_back(transaction);
        }
    }

    /// Advances to the transaction of the batch that is answered next; false when there is none.
    pub(super) fn follow(&mut self) -> bool {
        let Some(transaction) = self.batch.pop_front() else { return false };
        self.transaction = transaction;
        self.walk = Walk::at_first();
        true
    }
}
