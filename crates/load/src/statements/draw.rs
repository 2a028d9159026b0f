//! What one client draws: its transactions, and the texts and values of its statements.
//!
//! Values are drawn when their transaction or statement begins, whichever way they are sent: the sequence of
//! draws depends on neither handle nor server.

use std::sync::atomic::Ordering;

use rand::Rng;
use rand::rngs::SmallRng;

use crate::plan::Text;
use crate::statements::distributions::Source;
use crate::statements::value::Value;
use crate::statements::work::Work;

pub struct Draw {
    chance: SmallRng,
    texts: SmallRng,
    /// By place: values of the transaction, then the statement's own.
    values: Vec<Value>,
    /// The statement drawn last.
    pub statement: usize,
    /// Which of its texts.
    pub tag: u64,
}

impl Draw {
    pub fn new(work: &Work, client: usize) -> Self {
        Self {
            chance: work.chance(client, 0),
            texts: work.chance(client, 1),
            values: vec![Value::default(); work.places],
            statement: 0,
            tag: 0,
        }
    }

    /// A transaction, by weight.
    pub fn transaction(&mut self, work: &Work) -> usize {
        work.draw(self.chance.random())
    }

    /// The beginning of this transaction: the values that its statements share.
    pub fn begin(&mut self, work: &Work, transaction: usize) {
        self.fill(&work.transactions[transaction].values);
    }

    /// A use of this statement: which text it has, and the values of its own.
    pub fn statement(&mut self, work: &Work, statement: usize) {
        self.statement = statement;
        self.tag = match work.plan.text {
            Text::Identical => 0,
            Text::Distinct => self.texts.random_range(0..work.plan.distinct_texts),
            Text::Unique => work.next_tag.fetch_add(1, Ordering::Relaxed),
        };
        self.fill(work.templates[statement].sources());
    }

    fn fill(&mut self, sources: &[(usize, Source)]) {
        for (place, source) in sources {
            source.draw(&mut self.chance, &mut self.values[*place]);
        }
    }

    /// Appends the statement's text.
    pub fn write_text(&self, work: &Work, out: &mut Vec<u8>) {
        work.templates[self.statement].write_text(self.tag, &self.values, out);
    }

    /// Values by place.
    pub fn values(&self) -> &[Value] {
        &self.values
    }

    /// The bound values of the statement, by number of the parameter.
    pub fn bound(&self, work: &Work) -> impl ExactSizeIterator<Item = &Value> {
        work.templates[self.statement].bound().iter().map(|place| &self.values[*place])
    }
}
