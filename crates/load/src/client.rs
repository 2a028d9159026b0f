//! One client: what it sends next, and what a reply means to it.

use rand::Rng;
use rand::rngs::SmallRng;

use crate::plan::{Arrival, Handle, Protocol, Text};
use crate::record::Record;
use crate::transport::Transport;
use crate::wire::{self, Ready};
use crate::work::{Recipe, Work};

mod messages;
mod mysql;
mod speech;

use mysql::Prepared;
use speech::Speech;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Begin,
    Parse,
    Execute,
    Close,
    Commit,
    Rollback,
}

/// What a client wants after a reply.
#[derive(Debug, PartialEq, Eq)]
pub enum Next {
    /// Its next message stands in the buffer.
    Send,
    /// The transaction is over.
    Done,
}

pub struct Client {
    pub number: usize,
    pub transport: Option<Transport>,
    pub scanner: Speech,
    pub out: Vec<u8>,
    pub sent: usize,
    /// The loop waits until the socket takes more of `out`.
    pub armed: bool,
    pub busy: bool,
    /// Start from which the latency counts: intended (open loop) or actual (closed).
    pub started_ns: u64,
    /// When it was sent: what the deadline counts from.
    pub sent_ns: u64,
    values: SmallRng,
    texts: SmallRng,
    pub pauses: SmallRng,
    literals: Vec<Vec<u8>>,
    name: Vec<u8>,
    prepared: Vec<Vec<u64>>,
    mysql: Prepared,
    left: u64,
    transaction: usize,
    position: usize,
    stage: Stage,
    statement_ns: u64,
    tag: u64,
    failure: Option<wire::ServerError>,
}

impl Client {
    pub fn new(number: usize, work: &Work, transport: Transport) -> Self {
        let words = if work.plan.text == Text::Distinct { work.plan.distinct_texts.div_ceil(64) } else { 1 };
        Self {
            number,
            transport: Some(transport),
            scanner: Speech::new(work.plan.server.protocol, work.plan.message_bytes_max()),
            out: Vec::with_capacity(1024),
            sent: 0,
            armed: false,
            busy: false,
            started_ns: 0,
            sent_ns: 0,
            values: work.chance(number, 0),
            texts: work.chance(number, 1),
            pauses: work.chance(number, 2),
            literals: Vec::new(),
            name: Vec::with_capacity(32),
            prepared: vec![vec![0; words as usize]; work.templates.len()],
            mysql: if work.plan.server.protocol == Protocol::Mysql && work.plan.handle == Handle::Named {
                let texts = if work.plan.text == Text::Distinct { work.plan.distinct_texts } else { 1 };
                Prepared::new(work.templates.len(), texts)
            } else {
                Prepared::default()
            },
            left: 0,
            transaction: 0,
            position: 0,
            stage: Stage::Begin,
            statement_ns: 0,
            tag: 0,
            failure: None,
        }
    }

    /// Draws a transaction, or takes the client's own, and writes its first message.
    pub fn begin(&mut self, work: &Work, intended_ns: u64, now_ns: u64) {
        self.transaction = match work.plan.arrival {
            Arrival::Rounds => self.number % work.transactions.len(),
            _ => work.draw(self.values.random()),
        };
        self.position = 0;
        self.failure = None;
        self.busy = true;
        self.started_ns = intended_ns;
        self.sent_ns = now_ns;
        if work.transactions[self.transaction].begin {
            self.write_query(Stage::Begin, b"begin");
        } else {
            self.begin_statement(work, now_ns);
        }
    }

    /// Takes the end of a reply; counts what ended with it, and writes what comes next.
    pub fn take(
        &mut self,
        work: &Work,
        ready: Ready,
        now_ns: u64,
        record: &mut Record,
        index: usize,
    ) -> Next {
        if let Some(error) = ready.error {
            self.failure.get_or_insert(error);
        }
        let failed = self.failure.is_some();
        let handle = work.plan.handle;
        let mysql = work.plan.server.protocol == Protocol::Mysql;
        match self.stage {
            Stage::Parse if !failed => {
                if mysql {
                    self.execute_prepared(work, ready.statement);
                } else {
                    self.write_execution(work);
                }
                return Next::Send;
            }
            Stage::Execute if handle == Handle::PerUse && !mysql => {
                self.write_close();
                return Next::Send;
            }
            // prepared stays prepared, whatever became of its execution
            Stage::Execute if handle == Handle::Named && ready.parsed && !mysql => self.mark_prepared(work),
            _ => {}
        }
        let recipe = &work.transactions[self.transaction];
        if matches!(self.stage, Stage::Parse | Stage::Execute | Stage::Close) {
            if !failed {
                record.statement_done(
                    recipe.statements[self.position],
                    now_ns,
                    now_ns.saturating_sub(self.statement_ns),
                );
                self.position += 1;
            }
        } else if self.stage == Stage::Commit || self.stage == Stage::Rollback {
            return self.end(recipe, now_ns, record, index);
        }
        if failed {
            if ready.status != b'I' {
                self.write_query(Stage::Rollback, b"rollback");
                return Next::Send;
            }
            return self.end(recipe, now_ns, record, index);
        }
        if self.position < recipe.statements.len() {
            self.begin_statement(work, now_ns);
            Next::Send
        } else if recipe.begin {
            self.write_query(Stage::Commit, b"commit");
            Next::Send
        } else {
            self.end(recipe, now_ns, record, index)
        }
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
        if self.busy {
            let recipe = &work.transactions[self.transaction];
            record.failed(index, recipe.statements.get(self.position).copied(), now_ns, code, message);
        }
        self.busy = false;
        self.armed = false;
        self.scanner.reset();
        self.out.clear();
        self.sent = 0;
        for words in &mut self.prepared {
            words.fill(0);
        }
        self.mysql.forget();
    }

    fn end(&mut self, recipe: &Recipe, now_ns: u64, record: &mut Record, index: usize) -> Next {
        self.busy = false;
        match self.failure.take() {
            None => record.transaction_done(index, now_ns, now_ns.saturating_sub(self.started_ns)),
            Some(error) => {
                record.failed(
                    index,
                    recipe.statements.get(self.position).copied(),
                    now_ns,
                    &error.code,
                    &error.message,
                );
            }
        }
        Next::Done
    }
}
