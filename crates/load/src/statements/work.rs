//! What all clients share: the plan made ready.

use std::collections::BTreeSet;
use std::sync::atomic::AtomicU64;

use rand::SeedableRng;
use rand::rngs::SmallRng;
use steelyard_engine::error::PlanError;

use crate::plan::Plan;
use crate::shared_memory::Shared;
use crate::statements::recipe::Recipe;
use crate::statements::template::{Dialect, Template};

/// See the module.
pub struct Work {
    pub plan: Plan,
    pub templates: Vec<Template>,
    pub transactions: Vec<Recipe>,
    /// How many values a client keeps: those of transactions by name, then the statement's own.
    pub places: usize,
    weight: f64,
    /// Index of `begin` in what is timed; `commit` follows.
    pub control: Option<usize>,
    /// Of unique texts: one sequence for all clients.
    pub next_tag: Shared<AtomicU64>,
}

impl Work {
    pub fn new(plan: Plan, dialect: Dialect) -> Result<Self, PlanError> {
        let names: BTreeSet<&str> =
            plan.transactions.iter().flat_map(|one| one.values.keys().map(String::as_str)).collect();
        let names = Vec::from_iter(names);
        let templates: Vec<Template> = plan
            .statements
            .iter()
            .map(|statement| Template::new(statement, &names, plan.parameters, dialect))
            .collect::<Result<_, _>>()?;
        let mut weight = 0.0;
        let mut transactions = Vec::new();
        for transaction in &plan.transactions {
            weight += transaction.weight;
            transactions.push(Recipe::new(&plan, transaction, &templates, &names, weight)?);
        }
        let own = templates.iter().map(|template| template.sources().len()).max().unwrap_or_default();
        let places = names.len() + own;
        let next_tag = Shared::new(AtomicU64::new(0));
        let control = plan.control();
        Ok(Self { plan, templates, transactions, places, weight, control, next_tag })
    }

    /// The transaction for a number of 0..1, by weight.
    pub fn draw(&self, share: f64) -> usize {
        let weight = share * self.weight;
        let past = self.transactions.partition_point(|recipe| recipe.cumulative_weight <= weight);
        past.min(self.transactions.len() - 1)
    }

    /// A client's random numbers of one kind. It depends on the seed and its number alone, so every option
    /// does the same work.
    pub fn chance(&self, client: usize, kind: u64) -> SmallRng {
        SmallRng::seed_from_u64(
            self.plan.seed.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ (client as u64) << 2 ^ kind,
        )
    }
}
