//! What one client draws: its transactions, and the texts and values of its statements.

use std::sync::atomic::Ordering;

use rand::Rng;
use rand::rngs::SmallRng;

use crate::plan::Text;
use crate::statements::distributions::Value;
use crate::statements::work::Work;

pub struct Draw {
    values: SmallRng,
    texts: SmallRng,
    literals: Vec<Vec<u8>>,
    /// The statement drawn last.
    pub statement: usize,
    /// Which of its texts.
    pub tag: u64,
}

impl Draw {
    pub fn new(work: &Work, client: usize) -> Self {
        Self {
            values: work.chance(client, 0),
            texts: work.chance(client, 1),
            literals: Vec::new(),
            statement: 0,
            tag: 0,
        }
    }

    /// A transaction, by weight.
    pub fn transaction(&mut self, work: &Work) -> usize {
        work.draw(self.values.random())
    }

    /// A use of this statement: which text it has, and the values that are literals in it.
    pub fn statement(&mut self, work: &Work, statement: usize) {
        self.statement = statement;
        self.tag = match work.plan.text {
            Text::Identical => 0,
            Text::Distinct => self.texts.random_range(0..work.plan.distinct_texts),
            Text::Unique => work.next_tag.fetch_add(1, Ordering::Relaxed),
        };
        work.templates[statement].draw_literals(&mut self.values, &mut self.literals);
    }

    /// Appends the statement's text.
    pub fn write_text(&self, work: &Work, out: &mut Vec<u8>) {
        work.templates[self.statement].write_text(self.tag, &self.literals, out);
    }

    /// Appends a new bound value of the statement's parameter `index`.
    pub fn write_value(&mut self, work: &Work, index: usize, out: &mut Vec<u8>) {
        work.templates[self.statement].write_value(index, &mut self.values, out);
    }

    /// New bound values of the statement, by parameter.
    pub fn values(&mut self, work: &Work, values: &mut Vec<Value>) {
        work.templates[self.statement].draw_values(&mut self.values, values);
    }
}
