//! One client: its next message, and its reaction to a reply.

use std::collections::VecDeque;

use rand::rngs::SmallRng;

use crate::io::transport::Transport;
use crate::plan::Arrival;
use crate::protocol::{Control, Dialogue, Next, Protocol, Reply, ServerError};
use crate::record::Record;
use crate::statements::draw::Draw;
use crate::statements::recipe::Recipe;
use crate::statements::work::Work;

/// The message that the next reply answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Statement,
    Control(Control),
}

pub struct Client<P: Protocol> {
    pub number: usize,
    pub transport: Option<Transport>,
    pub dialogue: P::Dialogue,
    pub out: Vec<u8>,
    pub sent: usize,
    /// The loop waits until the socket is writable again for `out`.
    pub armed: bool,
    pub busy: bool,
    /// Start from which the latency counts: intended (open loop) or actual (closed).
    pub started_ns: u64,
    /// When it was sent: what the deadline counts from.
    pub sent_ns: u64,
    pub pauses: SmallRng,
    draw: Draw,
    transaction: usize,
    /// Transactions sent together with it, in the order of their replies.
    batch: VecDeque<usize>,
    position: usize,
    stage: Stage,
    statement_ns: u64,
    failure: Option<ServerError>,
}

impl<P: Protocol> Client<P> {
    pub fn new(number: usize, work: &Work, transport: Transport) -> Self {
        Self {
            number,
            transport: Some(transport),
            dialogue: P::Dialogue::new(work),
            out: Vec::with_capacity(1024),
            sent: 0,
            armed: false,
            busy: false,
            started_ns: 0,
            sent_ns: 0,
            pauses: work.chance(number, 2),
            draw: Draw::new(work, number),
            transaction: 0,
            batch: VecDeque::new(),
            position: 0,
            stage: Stage::Statement,
            statement_ns: 0,
            failure: None,
        }
    }

    /// Goes on with the values and pauses of a client whose connection this one replaces.
    pub fn continue_from(&mut self, before: Self) {
        self.draw = before.draw;
        self.pauses = before.pauses;
    }

    /// Draws a transaction, or takes the client's own, and writes its first message; with a pipeline, a
    /// whole batch of them.
    pub fn begin(&mut self, work: &Work, intended_ns: u64, now_ns: u64) {
        self.transaction = match work.plan.arrival {
            Arrival::Rounds => self.number % work.transactions.len(),
            _ => self.draw.transaction(work),
        };
        self.draw.begin(work, self.transaction);
        self.position = 0;
        self.failure = None;
        self.busy = true;
        self.started_ns = intended_ns;
        self.sent_ns = now_ns;
        if work.transactions[self.transaction].begin {
            self.control(Control::Begin, intended_ns);
        } else {
            self.begin_statement(work, now_ns);
        }
        // a pipeline's transactions are one request each: the protocol has refused others
        for _ in 1..work.plan.pipeline {
            let transaction = self.draw.transaction(work);
            self.draw.begin(work, transaction);
            self.draw.statement(work, work.transactions[transaction].statements[0]);
            self.dialogue.begin(work, &self.draw, &mut self.out);
            self.batch.push_back(transaction);
        }
    }

    /// Handles the end of a reply: counts what ended with it, and writes the next message. Done and still busy:
    /// replies of the batch are to come.
    pub fn take(
        &mut self,
        work: &Work,
        reply: Reply,
        now_ns: u64,
        record: &mut Record,
        index: usize,
    ) -> Next {
        if let Some(error) = reply.error {
            self.failure.get_or_insert(error);
        }
        let failed = self.failure.is_some();
        let recipe = &work.transactions[self.transaction];
        match self.stage {
            Stage::Statement => {
                // the rest of a batch may still have to be sent
                if self.batch.is_empty() {
                    self.clear();
                }
                if self.dialogue.go_on(work, &self.draw, failed, &mut self.out) == Next::Send {
                    return Next::Send;
                }
                if !failed {
                    record.statement_done(
                        recipe.statements[self.position],
                        now_ns,
                        now_ns.saturating_sub(self.statement_ns),
                    );
                    self.position += 1;
                }
            }
            Stage::Control(Control::Begin) => self.control_done(work, 0, now_ns, record),
            Stage::Control(control) => {
                if control == Control::Commit {
                    self.control_done(work, 1, now_ns, record);
                }
                return self.end(recipe, now_ns, record, index);
            }
        }
        if failed {
            if reply.in_transaction {
                self.control(Control::Rollback, now_ns);
                return Next::Send;
            }
            return self.end(recipe, now_ns, record, index);
        }
        if self.position < recipe.statements.len() {
            self.begin_statement(work, now_ns);
            Next::Send
        } else if recipe.begin {
            self.control(Control::Commit, now_ns);
            Next::Send
        } else {
            self.end(recipe, now_ns, record, index)
        }
    }

    fn begin_statement(&mut self, work: &Work, now_ns: u64) {
        let recipe = &work.transactions[self.transaction];
        let is_first = self.position == 0 && !recipe.begin;
        self.statement_ns = if is_first { self.started_ns } else { now_ns };
        self.draw.statement(work, recipe.statements[self.position]);
        self.clear();
        self.dialogue.begin(work, &self.draw, &mut self.out);
        self.stage = Stage::Statement;
    }

    /// number: 0 for `begin`, 1 for `commit`.
    fn control_done(&self, work: &Work, number: usize, now_ns: u64, record: &mut Record) {
        if let (Some(begin), None) = (work.control, &self.failure) {
            record.statement_done(begin + number, now_ns, now_ns.saturating_sub(self.statement_ns));
        }
    }

    fn control(&mut self, control: Control, from_ns: u64) {
        self.statement_ns = from_ns;
        self.clear();
        self.dialogue.control(control, &mut self.out);
        self.stage = Stage::Control(control);
    }

    fn clear(&mut self) {
        self.out.clear();
        self.sent = 0;
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
        while self.busy {
            let recipe = &work.transactions[self.transaction];
            let statement = recipe.statements.get(self.position).copied();
            record.failed(index, self.transaction, statement, now_ns, code, message);
            self.busy = self.follow();
        }
        self.armed = false;
        self.dialogue.reset();
        self.clear();
    }

    fn end(&mut self, recipe: &Recipe, now_ns: u64, record: &mut Record, index: usize) -> Next {
        match self.failure.take() {
            None => {
                let latency_ns = now_ns.saturating_sub(self.started_ns);
                record.transaction_done(index, self.transaction, now_ns, latency_ns);
            }
            Some(error) => {
                let statement = recipe.statements.get(self.position).copied();
                record.failed(index, self.transaction, statement, now_ns, &error.code, &error.message);
            }
        }
        self.busy = self.follow();
        Next::Done
    }

    /// Advances to the transaction of the batch that is answered next; false when there is none.
    fn follow(&mut self) -> bool {
        let Some(transaction) = self.batch.pop_front() else { return false };
        self.transaction = transaction;
        self.position = 0;
        true
    }
}
