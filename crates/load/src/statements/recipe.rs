//! One kind of transaction, ready to be executed.

use steelyard_engine::error::PlanError;

use crate::plan::{Plan, Transaction};
use crate::statements::distributions::Source;
use crate::statements::template::Template;

pub struct Recipe {
    /// Of this kind and those before it.
    pub cumulative_weight: f64,
    pub statements: Vec<usize>,
    pub begin: bool,
    /// Values that its statements share, with their places: drawn once per transaction.
    pub values: Vec<(usize, Source)>,
}

impl Recipe {
    /// `names`: the shared values of all transactions, by place. Err: a value that a statement lacks, has
    /// twice, or that no statement uses.
    pub fn new(
        plan: &Plan,
        transaction: &Transaction,
        templates: &[Template],
        names: &[&str],
        cumulative_weight: f64,
    ) -> Result<Self, PlanError> {
        let statements: Vec<usize> =
            transaction.statements.iter().filter_map(|name| plan.statement(name)).collect();
        let mut used = vec![false; names.len()];
        for index in &statements {
            for place in templates[*index].shared(names.len()) {
                used[place] = true;
                if !transaction.values.contains_key(names[place]) {
                    let cause = format!(
                        "`:{}` has no entry under parameters, nor under values of the transaction `{}`",
                        names[place], transaction.name,
                    );
                    let field = format!("statements.{}", plan.statements[*index].name);
                    return Err(PlanError::new(field, cause));
                }
            }
        }
        let mut values = Vec::new();
        for (place, name) in names.iter().enumerate() {
            let Some(generator) = transaction.values.get(*name) else { continue };
            let refuse = |cause: String| {
                Err(PlanError::new(format!("transactions.{}.values.{name}", transaction.name), cause))
            };
            let mut own = statements.iter().map(|index| &plan.statements[*index]);
            if let Some(statement) = own.find(|one| one.parameters.contains_key(*name)) {
                return refuse(format!(
                    "the statement `{}` has its own generator for `:{name}` under parameters: remove one of \
                     the two",
                    statement.name,
                ));
            }
            if !used[place] {
                return refuse(format!("has no effect: no statement of the transaction contains `:{name}`"));
            }
            values.push((place, Source::new(generator)));
        }
        Ok(Self { cumulative_weight, statements, begin: transaction.begin, values })
    }
}
