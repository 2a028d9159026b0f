//! What all clients share: the plan made ready.

use std::sync::atomic::AtomicU64;

use rand::SeedableRng;
use rand::rngs::SmallRng;
use steelyard_engine::clock::now_ns;
use steelyard_engine::error::PlanError;

use crate::plan::transaction::Transaction;
use crate::plan::{Handle, Plan};
use crate::shared_memory::Shared;
use crate::statements::capture::Capture;
use crate::statements::distributions::Source;
use crate::statements::program::Take;
use crate::statements::queues::Queues;
use crate::statements::recipe::{Ingredients, Recipe, names, queues};
use crate::statements::template::{Dialect, Template};

/// See the module.
pub struct Work {
    pub plan: Plan,
    pub templates: Vec<Template>,
    pub transactions: Vec<Recipe>,
    /// Values that rows of statements give, by their number in the steps.
    pub takes: Vec<Take>,
    /// Names of the values that transactions give, by place.
    pub names: Vec<String>,
    /// How many values a client keeps: those of transactions by name, then the statement's own.
    pub places: usize,
    /// Messages between transactions.
    pub queues: Queues,
    /// By client from 0: the only transaction of those that have one.
    own: Vec<usize>,
    /// What expressions count time from.
    pub began_ns: u64,
    weight: f64,
    /// Some transactions have keying or think times.
    pub pauses: bool,
    /// Index of `begin` in what is timed; `commit` follows.
    pub control: Option<usize>,
    /// Of unique texts: one sequence for all clients.
    pub next_tag: Shared<AtomicU64>,
    /// The sessions that a replay plays.
    pub capture: Option<Capture>,
}

impl Work {
    pub fn new(plan: Plan, dialect: Dialect) -> Result<Self, PlanError> {
        let names = names(&plan);
        let mut templates: Vec<Template> = plan
            .statements
            .iter()
            .map(|statement| Template::new(statement, &names, plan.parameters, dialect))
            .collect::<Result<_, _>>()?;
        let mut weight = 0.0;
        let (mut transactions, mut takes) = (Vec::new(), Vec::new());
        let from = Ingredients { plan: &plan, templates: &templates, names: &names };
        for transaction in &plan.transactions {
            weight += transaction.weight;
            transactions.push(Recipe::new(&from, transaction, &mut takes, weight)?);
        }
        let own_numbers = |source: &mut Source| source.divide(plan.own());
        templates.iter_mut().flat_map(Template::sources_mut).for_each(own_numbers);
        transactions.iter_mut().flat_map(Recipe::sources_mut).for_each(own_numbers);
        let own = templates.iter().map(|template| template.sources().len()).max().unwrap_or_default();
        let capture = Capture::open(&plan)?;
        let places = (names.len() + own).max(capture.as_ref().map_or(0, Capture::values_max));
        let next_tag = Shared::new(AtomicU64::new(0));
        let control = plan.control();
        let pauses = plan.transactions.iter().any(Transaction::pauses);
        let queues = Queues::new(queues(&plan).len());
        let with_own = plan.transactions.iter().enumerate();
        let own = with_own.flat_map(|(number, one)| std::iter::repeat_n(number, one.clients)).collect();
        Ok(Self {
            plan,
            templates,
            transactions,
            takes,
            names,
            places,
            queues,
            own,
            began_ns: now_ns(),
            weight,
            pauses,
            control,
            next_tag,
            capture,
        })
    }

    /// How a statement is sent.
    pub fn handle(&self, statement: usize) -> Handle {
        self.templates[statement].handle.unwrap_or(self.plan.handle)
    }

    /// The transaction for a number of 0..1, by weight.
    pub fn draw(&self, share: f64) -> usize {
        let weight = share * self.weight;
        let past = self.transactions.partition_point(|recipe| recipe.cumulative_weight <= weight);
        past.min(self.transactions.len() - 1)
    }

    /// The transaction of a client that executes no other.
    pub fn own(&self, client: usize) -> Option<usize> {
        self.own.get(client).copied()
    }

    /// The most numbers that were drawn of one counter.
    pub fn counted(&self) -> u64 {
        let own = self.templates.iter().flat_map(|template| template.sources().iter().map(|(_, one)| one));
        let shared = self.transactions.iter().flat_map(Recipe::sources);
        own.chain(shared).map(Source::counted).max().unwrap_or_default()
    }

    /// A client's random numbers of one kind. It depends on the seed and its number alone, so every option
    /// does the same work.
    pub fn chance(&self, client: usize, kind: u64) -> SmallRng {
        SmallRng::seed_from_u64(
            self.plan.seed.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ (client as u64) << 2 ^ kind,
        )
    }
}
