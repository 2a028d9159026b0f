//! One client: its next message, and its reaction to a reply.
//!
//! - [`batch`]: statements that are sent together
//! - [`ending`]: how its transactions end

use std::collections::VecDeque;

use rand::rngs::SmallRng;

use crate::io::transport::Transport;
use crate::plan::Arrival;
use crate::plan::schedule::{pause_ns, think_ns};
use crate::plan::transaction::Think;
use crate::protocol::{Control, Dialogue, Next, Protocol, Reply, ServerError};
use crate::record::Record;
use crate::record::executed::{Effect, Executed};
use crate::statements::capture::Player;
use crate::statements::draw::Draw;
use crate::statements::walk::{Move, Walk};
use crate::statements::work::Work;

mod batch;
mod ending;

/// Why a transaction that ends with the server still in one has failed.
pub const NOT_ENDED: &str = "the transaction ended without commit or rollback";

/// The message that the next reply answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Statement,
    Control(Control),
}

/// What a client does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Then {
    /// The buffer contains a further request.
    Send,
    /// It pauses within its transaction.
    Wait { ns: u64 },
    /// The transaction is over.
    Done,
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
    pauses: SmallRng,
    draw: Draw,
    /// Of a replay.
    pub player: Player,
    transaction: usize,
    /// The one that follows, where it was drawn ahead.
    next: Option<usize>,
    /// Transactions sent together with it, in the order of their replies.
    batch: VecDeque<usize>,
    walk: Walk,
    stage: Stage,
    statement_ns: u64,
    /// Nothing of the transaction was sent, and it has not waited: its first statement counts from its start.
    fresh: bool,
    /// The server has a transaction open.
    open: bool,
    retries: u32,
    failure: Option<ServerError>,
    /// Of the statement under way, then of those before it in the transaction.
    effect: Effect,
    effects: Vec<(usize, Effect)>,
    /// By statement, since the client began.
    executed: Vec<Executed>,
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
            player: Player::default(),
            transaction: 0,
            next: None,
            batch: VecDeque::new(),
            walk: Walk::default(),
            stage: Stage::Statement,
            statement_ns: 0,
            fresh: true,
            open: false,
            retries: 0,
            failure: None,
            effect: Effect::default(),
            effects: Vec::new(),
            executed: vec![Executed::default(); work.templates.len()],
        }
    }

    /// Goes on with the values and pauses of a client whose connection this one replaces.
    pub fn continue_from(&mut self, before: Self) {
        self.draw = before.draw;
        self.pauses = before.pauses;
        self.next = before.next;
        self.executed = before.executed;
    }

    /// The pause before the next transaction; `first`: none was before it. Where transactions have keying or
    /// think times, the next one is drawn ahead for its own.
    pub fn pause_ns(&mut self, work: &Work, first: bool) -> u64 {
        let mut total_ns = if first { 0 } else { think_ns(&work.plan.arrival, &mut self.pauses) };
        if !work.pauses {
            return total_ns;
        }
        if !first {
            let ended = &work.plan.transactions[self.transaction];
            total_ns += pause_ns(ended.think_ms, ended.think, &mut self.pauses);
        }
        // one that was drawn before the load paused is still to come
        let next = match self.next {
            Some(next) => next,
            None => self.draw_transaction(work),
        };
        self.next = Some(next);
        total_ns + pause_ns(work.plan.transactions[next].keying_ms, Think::Fixed, &mut self.pauses)
    }

    fn draw_transaction(&mut self, work: &Work) -> usize {
        if let Some(own) = work.own(self.number) {
            return own;
        }
        match work.plan.arrival {
            Arrival::Rounds => self.number % work.transactions.len(),
            _ => match work.capture.as_ref().and_then(|capture| self.player.take(capture)) {
                Some((class, values)) => {
                    self.draw.captured(&values);
                    class
                }
                None => self.draw.transaction(work),
            },
        }
    }

    /// The messages that the client's own transaction waits for: when the last was due, none where it has no such
    /// transaction. Err: when to look again.
    pub fn receive(&mut self, work: &Work, now_ns: u64) -> Result<Option<u64>, u64> {
        let takes = |own: &usize| !work.transactions[*own].takes.is_empty();
        let Some(own) = work.own(self.number).filter(takes) else { return Ok(None) };
        work.queues.take(&work.transactions[own].takes, now_ns, self.draw.values_mut()).map(Some)
    }

    /// Draws a transaction, or takes the client's own, and writes its first message; with a pipeline, a
    /// whole batch of them.
    pub fn begin(
        &mut self,
        work: &Work,
        intended_ns: u64,
        now_ns: u64,
        record: &mut Record,
        index: usize,
    ) -> Then {
        self.transaction = match self.next.take() {
            Some(next) => next,
            None => self.draw_transaction(work),
        };
        self.draw.begin(work, self.transaction);
        self.walk = Walk::default();
        self.failure = None;
        self.retries = 0;
        self.fresh = true;
        self.busy = true;
        self.started_ns = intended_ns;
        self.sent_ns = now_ns;
        let then = self.go_on(work, now_ns, record, index);
        self.fill_batch(work);
        then
    }

    /// After a pause within the transaction.
    pub fn resume(&mut self, work: &Work, now_ns: u64, record: &mut Record, index: usize) -> Then {
        self.go_on(work, now_ns, record, index)
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
    ) -> Then {
        if let Some(error) = reply.error {
            self.failure.get_or_insert(error);
        }
        match self.stage {
            Stage::Statement => {
                self.effect.add(reply.effect);
                // the rest of a batch may still have to be sent
                if self.batch.is_empty() {
                    self.clear();
                }
                let failed = self.failure.is_some();
                if self.dialogue.go_on(work, &self.draw, failed, &mut self.out) == Next::Send {
                    return Then::Send;
                }
                self.statement_done(work, now_ns, record);
            }
            Stage::Control(Control::Begin) => self.control_done(work, 0, now_ns, record),
            Stage::Control(Control::Commit) => self.control_done(work, 1, now_ns, record),
            Stage::Control(Control::Rollback) => {
                if self.failure.is_none() {
                    record.rolled_back(self.ending(index, now_ns));
                }
                return self.ended(work, now_ns, record, index);
            }
        }
        if self.failure.is_some() {
            return self.undo(work, reply.in_transaction, now_ns, record, index);
        }
        self.open = reply.in_transaction;
        self.go_on(work, now_ns, record, index)
    }

    /// The next message, after the steps that need none.
    fn go_on(&mut self, work: &Work, now_ns: u64, record: &mut Record, index: usize) -> Then {
        let recipe = &work.transactions[self.transaction];
        let from_ns = if std::mem::take(&mut self.fresh) { self.started_ns } else { now_ns };
        match self.walk.step(work, recipe, &mut self.draw) {
            Ok(Move::Statement) => {
                self.statement_ns = from_ns;
                self.effect = Effect::default();
                self.clear();
                self.dialogue.begin(work, &self.draw, &mut self.out);
                self.stage = Stage::Statement;
                Then::Send
            }
            Ok(Move::Begin) => self.control(Control::Begin, from_ns),
            Ok(Move::Commit) => self.control(Control::Commit, from_ns),
            Ok(Move::Rollback) => self.control(Control::Rollback, from_ns),
            Ok(Move::Wait { ns }) => {
                // the deadline counts what the server takes
                self.sent_ns += ns;
                Then::Wait { ns }
            }
            // a captured session ends its transactions itself
            Ok(Move::End) if self.open && work.capture.is_none() => {
                self.fail(NOT_ENDED);
                self.undo(work, true, now_ns, record, index)
            }
            Ok(Move::End) => self.ended(work, now_ns, record, index),
            Err(cause) => {
                self.fail(&cause);
                self.undo(work, self.open, now_ns, record, index)
            }
        }
    }

    fn control(&mut self, control: Control, from_ns: u64) -> Then {
        self.statement_ns = from_ns;
        self.clear();
        self.dialogue.control(control, &mut self.out);
        self.stage = Stage::Control(control);
        Then::Send
    }

    fn clear(&mut self) {
        self.out.clear();
        self.sent = 0;
    }
}
