//! What all clients share: the plan made ready.

use std::sync::atomic::AtomicU64;

use rand::SeedableRng;
use rand::rngs::SmallRng;
use steelyard_engine::error::PlanError;

use crate::plan::Plan;
use crate::shared_memory::Shared;
use crate::statements::template::{Dialect, Template};

/// See the module.
pub struct Work {
    pub plan: Plan,
    pub templates: Vec<Template>,
    pub transactions: Vec<Recipe>,
    weight: f64,
    /// Of unique texts: one sequence for all clients.
    pub next_tag: Shared<AtomicU64>,
}

/// One kind of transaction.
pub struct Recipe {
    cumulative_weight: f64,
    pub statements: Vec<usize>,
    pub begin: bool,
}

impl Work {
    pub fn new(plan: Plan, dialect: Dialect) -> Result<Self, PlanError> {
        let templates = plan
            .statements
            .iter()
            .map(|statement| Template::new(statement, plan.parameters, dialect))
            .collect::<Result<_, _>>()?;
        let mut weight = 0.0;
        let mut transactions = Vec::new();
        for transaction in &plan.transactions {
            weight += transaction.weight;
            transactions.push(Recipe {
                cumulative_weight: weight,
                statements: transaction.statements.iter().filter_map(|name| plan.statement(name)).collect(),
                begin: transaction.begin,
            });
        }
        Ok(Self { plan, templates, transactions, weight, next_tag: Shared::new(AtomicU64::new(0)) })
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
