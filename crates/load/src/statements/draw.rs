//! What one client draws: its transactions, and the texts and values of its statements.
//!
//! Values are drawn when their transaction, step or statement begins, whichever way they are sent: the
//! sequence of draws depends on neither handle nor server.

use std::sync::atomic::Ordering;

use rand::Rng;
use rand::rngs::SmallRng;

use crate::plan::Text;
use crate::plan::transaction::Mix;
use crate::statements::deck::Deck;
use crate::statements::distributions::Source;
use crate::statements::expression::{Expression, Scope};
use crate::statements::scalar::{Cause, Scalar};
use crate::statements::value::{Kind, Value};
use crate::statements::work::Work;

/// Draws of a value that must differ from earlier ones, until it is an error.
const ATTEMPTS_MAX: usize = 10_000;

pub struct Draw {
    client: usize,
    began_ns: u64,
    chance: SmallRng,
    texts: SmallRng,
    deck: Option<Deck>,
    /// By place: values of the transaction, then the statement's own.
    values: Vec<Value>,
    /// The statement drawn last.
    pub statement: usize,
    /// Which of its texts.
    pub tag: u64,
    /// Number of the values that its rows give.
    pub take: Option<usize>,
    /// Numbers of distinct values so far, by list.
    lists: Vec<Vec<i64>>,
    /// As it was when the transaction had its own values: it is executed again with the same ones.
    kept: SmallRng,
    /// Counted numbers that were drawn since then, and how many of them have come again.
    counted: Vec<i64>,
    repeated: usize,
    /// Counters stay as they are.
    peeks: bool,
    /// Number of the values of a captured statement.
    captured: usize,
}

impl Draw {
    pub fn new(work: &Work, client: usize) -> Self {
        let lists = work.transactions.iter().map(|recipe| recipe.lists).max().unwrap_or_default();
        Self {
            client,
            began_ns: work.began_ns,
            chance: work.chance(client, 0),
            texts: work.chance(client, 1),
            deck: (work.plan.mix == Mix::Deck).then(|| Deck::new(&work.plan.transactions)),
            values: vec![Value::default(); work.places],
            statement: 0,
            tag: 0,
            take: None,
            lists: vec![Vec::new(); lists],
            kept: work.chance(client, 0),
            counted: Vec::new(),
            repeated: 0,
            peeks: false,
            captured: usize::MAX,
        }
    }

    /// Values that no load draws: of another sequence, and without a number of a counter.
    pub fn aside(work: &Work, client: usize) -> Self {
        let chance = work.chance(client, 3);
        Self { texts: chance.clone(), chance, peeks: true, ..Self::new(work, client) }
    }

    /// Whether it is one of those that no load draws.
    pub fn peeks(&self) -> bool {
        self.peeks
    }

    /// The values of a captured statement, by place; texts as they stand in it.
    pub fn captured(&mut self, values: &[Option<String>]) {
        self.captured = values.len();
        for (place, value) in self.values.iter_mut().zip(values) {
            match value {
                Some(text) => place.set_text(false).extend_from_slice(text.as_bytes()),
                None => place.set(Scalar::Null),
            }
        }
    }

    /// A transaction, by weight or from the deck.
    pub fn transaction(&mut self, work: &Work) -> usize {
        match &mut self.deck {
            Some(deck) => deck.next(&mut self.chance),
            None => work.draw(self.chance.random()),
        }
    }

    /// The beginning of this transaction: the values that its statements share.
    pub fn begin(&mut self, work: &Work, transaction: usize) {
        self.counted.clear();
        self.repeated = 0;
        self.fill(&work.transactions[transaction].values);
        self.kept = self.chance.clone();
        // these stay as they are when it is executed again
        self.counted.clear();
        self.repeated = 0;
        self.forget(work, transaction);
    }

    /// The same transaction again, with the same values.
    pub fn again(&mut self, work: &Work, transaction: usize) {
        self.chance = self.kept.clone();
        self.repeated = 0;
        self.forget(work, transaction);
    }

    /// What steps have given is gone.
    fn forget(&mut self, work: &Work, transaction: usize) {
        for place in &work.transactions[transaction].given {
            self.values[*place].kind = Kind::Missing;
        }
        self.lists.iter_mut().for_each(Vec::clear);
    }

    /// A use of this statement: which text it has, and the values of its own.
    pub fn statement(&mut self, work: &Work, statement: usize) {
        self.statement = statement;
        self.take = None;
        self.tag = match work.plan.text {
            Text::Identical => 0,
            Text::Distinct => self.texts.random_range(0..work.plan.distinct_texts),
            Text::Unique => work.plan.own().unique(work.next_tag.fetch_add(1, Ordering::Relaxed)),
        };
        self.fill(work.templates[statement].sources());
    }

    /// A value; distinct: the list of those that it must differ from.
    pub fn value(&mut self, place: usize, source: &Source, distinct: Option<usize>) -> Result<(), Cause> {
        let Some(list) = distinct else {
            self.one(place, source);
            return Ok(());
        };
        for _ in 0..ATTEMPTS_MAX {
            self.one(place, source);
            let Kind::Integer(number) = self.values[place].kind else {
                return Err("only whole numbers can be drawn distinct".into());
            };
            if !self.lists[list].contains(&number) {
                self.lists[list].push(number);
                return Ok(());
            }
        }
        Err("no further distinct value was drawn: the generator has too few".into())
    }

    pub fn evaluate(&mut self, expression: &Expression) -> Result<Scalar, Cause> {
        let Self { values, client, began_ns, chance, .. } = self;
        expression.evaluate(&mut Scope { values, client: *client, began_ns: *began_ns, rng: chance })
    }

    fn fill(&mut self, sources: &[(usize, Source)]) {
        for (place, source) in sources {
            self.one(*place, source);
        }
    }

    fn one(&mut self, place: usize, source: &Source) {
        if !matches!(source, Source::Counter { .. }) {
            return source.draw(&mut self.chance, &mut self.values[place]);
        }
        // all clients share a counter, which cannot be set back
        if let Some(number) = self.counted.get(self.repeated) {
            self.values[place].set_integer(*number);
        } else {
            source.count(self.peeks, &mut self.values[place]);
            if let Kind::Integer(number) = self.values[place].kind {
                self.counted.push(number);
            }
        }
        self.repeated += 1;
    }

    /// Appends the statement's text.
    pub fn write_text(&self, work: &Work, out: &mut Vec<u8>) {
        work.templates[self.statement].write_text(self.tag, &self.values, out);
    }

    /// Values by place.
    pub fn values(&self) -> &[Value] {
        &self.values
    }

    /// The place, where it has a value.
    pub fn present(&self, work: &Work, place: usize) -> Result<usize, Cause> {
        match self.values[place].kind {
            Kind::Missing => Err(format!("`:{}` has no value here", work.names[place])),
            _ => Ok(place),
        }
    }

    pub fn values_mut(&mut self) -> &mut [Value] {
        &mut self.values
    }

    pub fn place(&mut self, place: usize) -> &mut Value {
        &mut self.values[place]
    }

    /// The bound values of the statement, by number of the parameter.
    pub fn bound(&self, work: &Work) -> impl ExactSizeIterator<Item = &Value> {
        let places = work.templates[self.statement].bound();
        // a text of its own binds as many as its event has
        let bound = places.iter().take_while(|place| **place < self.captured).count();
        places[..bound].iter().map(|place| &self.values[*place])
    }
}
