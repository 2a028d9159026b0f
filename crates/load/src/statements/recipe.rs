//! One kind of transaction, ready to be executed.

use std::collections::BTreeSet;

use steelyard_engine::error::PlanError;

use crate::plan::Plan;
use crate::plan::transaction::{Takes, Transaction};
use crate::statements::distributions::Source;
use crate::statements::program::{Names, Program, Step, Take};
use crate::statements::queues::Taking;
use crate::statements::template::Template;

pub struct Recipe {
    /// Of this kind and those before it.
    pub cumulative_weight: f64,
    /// Of a transaction without steps of its own.
    pub statements: Vec<usize>,
    pub steps: Vec<Step>,
    pub begin: bool,
    /// Values that its statements share, with their places: drawn once per transaction.
    pub values: Vec<(usize, Source)>,
    /// Places of the values that steps give: none has one when a transaction begins.
    pub given: Vec<usize>,
    /// Messages that it waits for.
    pub takes: Vec<Taking>,
    /// How many lists of distinct values its steps have.
    pub lists: usize,
}

/// What all recipes are made from.
pub struct Ingredients<'a> {
    pub plan: &'a Plan,
    pub templates: &'a [Template],
    /// Values that transactions give, by place.
    pub names: &'a [String],
}

/// Names of the values that transactions give to their statements, in the order of their places.
pub fn names(plan: &Plan) -> Vec<String> {
    let mut names = BTreeSet::new();
    for transaction in &plan.transactions {
        names.extend(transaction.values.keys().cloned());
        transaction.steps.iter().for_each(|step| step.given(0, &mut names));
        names.extend(transaction.takes.iter().flat_map(Takes::names));
    }
    names.into_iter().collect()
}

/// Names of the queues, by number.
pub fn queues(plan: &Plan) -> Vec<String> {
    let names: BTreeSet<_> =
        plan.transactions.iter().flat_map(|one| &one.takes).map(|one| &one.queue).collect();
    names.into_iter().cloned().collect()
}

impl Recipe {
    /// Err: a value that a statement lacks, has twice, or that nothing uses; steps that cannot be executed.
    pub fn new(
        from: &Ingredients,
        transaction: &Transaction,
        takes: &mut Vec<Take>,
        cumulative_weight: f64,
    ) -> Result<Self, PlanError> {
        let Ingredients { plan, templates, names } = *from;
        let place_of = |name: &str| names.binary_search_by(|known| known.as_str().cmp(name)).ok();
        let mut given = BTreeSet::new();
        transaction.steps.iter().for_each(|step| step.given(0, &mut given));
        let received: BTreeSet<String> = transaction.takes.iter().flat_map(Takes::names).collect();
        let own = |name: &str| {
            transaction.values.contains_key(name) || given.contains(name) || received.contains(name)
        };
        let statement = |name: &str| {
            let index = plan.statement(name)?;
            Some((index, templates[index].shared(names.len()).collect()))
        };
        let queues = queues(plan);
        let queue = |name: &str| queues.iter().position(|known| known == name);
        let by_name = Names {
            place_of: &|name| own(name).then(|| place_of(name)).flatten(),
            statement: &statement,
            queue: &queue,
        };
        let taking = |one: &Takes| Taking {
            queue: queue(&one.queue).unwrap_or_default(),
            places: one.names().filter_map(|name| place_of(&name)).collect(),
            values: one.into.len(),
            least: one.least,
        };
        let takes_messages = transaction.takes.iter().map(taking).collect();
        let places = given.iter().filter_map(|name| place_of(name)).collect();
        let mut program = Program::new(&by_name, takes, places);
        if transaction.begin {
            program.steps.push(Step::Begin);
        }
        let statements: Vec<usize> =
            transaction.statements.iter().filter_map(|name| plan.statement(name)).collect();
        for statement in &statements {
            program.steps.push(Step::Statement { statement: *statement, take: None, needs: Vec::new() });
        }
        program.all(&transaction.steps, &format!("transactions.{}.steps", transaction.name))?;
        if transaction.begin {
            program.steps.push(Step::Commit);
        }
        program.steps.push(Step::End);
        let Program { steps, lists, given, .. } = program;
        check_names(from, transaction, &steps, &own)?;
        Ok(Self {
            cumulative_weight,
            statements,
            steps,
            begin: transaction.begin,
            values: values(transaction, &place_of),
            given,
            takes: takes_messages,
            lists: lists.len(),
        })
    }

    /// Those of its values and of its steps.
    pub fn sources(&self) -> impl Iterator<Item = &Source> {
        let drawn = self.steps.iter().filter_map(|step| match step {
            Step::Draw { source, .. } => Some(source),
            _ => None,
        });
        self.values.iter().map(|(_, source)| source).chain(drawn)
    }

    pub fn sources_mut(&mut self) -> impl Iterator<Item = &mut Source> {
        let drawn = self.steps.iter_mut().filter_map(|step| match step {
            Step::Draw { source, .. } => Some(source),
            _ => None,
        });
        self.values.iter_mut().map(|(_, source)| source).chain(drawn)
    }

    /// Number of the statement at a step, if it is one.
    pub fn statement_at(&self, step: usize) -> Option<usize> {
        match self.steps.get(step) {
            Some(Step::Statement { statement, .. }) => Some(*statement),
            _ => None,
        }
    }
}

/// In the order of their places, as the sequence of draws depends on it.
fn values(transaction: &Transaction, place_of: &dyn Fn(&str) -> Option<usize>) -> Vec<(usize, Source)> {
    let mut values: Vec<_> = transaction
        .values
        .iter()
        .filter_map(|(name, generator)| Some((place_of(name)?, Source::new(generator))))
        .collect();
    values.sort_by_key(|(place, _)| *place);
    values
}

/// Every value that a statement shares is one of the transaction's, and every one of these has its use.
fn check_names(
    from: &Ingredients,
    transaction: &Transaction,
    steps: &[Step],
    own: &dyn Fn(&str) -> bool,
) -> Result<(), PlanError> {
    let Ingredients { plan, templates, names } = *from;
    let mut used = vec![false; names.len()];
    let mut own_generators = Vec::new();
    for step in steps {
        let Step::Statement { statement, .. } = step else { continue };
        let statement_of_plan = &plan.statements[*statement];
        own_generators.push(statement_of_plan);
        for place in templates[*statement].shared(names.len()) {
            used[place] = true;
            if !own(&names[place]) {
                let cause = format!(
                    "`:{}` has no entry under parameters, nor under values of the transaction `{}`",
                    names[place], transaction.name,
                );
                return Err(PlanError::new(format!("statements.{}", statement_of_plan.name), cause));
            }
        }
    }
    for (name, _) in transaction.values.iter() {
        let refuse = |cause: String| {
            Err(PlanError::new(format!("transactions.{}.values.{name}", transaction.name), cause))
        };
        if let Some(statement) = own_generators.iter().find(|one| one.parameters.contains_key(name)) {
            return refuse(format!(
                "the statement `{}` has its own generator for `:{name}` under parameters: remove one of \
                 the two",
                statement.name,
            ));
        }
        let place = names.iter().position(|known| known == name);
        // an expression of a step may use it
        if transaction.steps.is_empty() && !place.is_some_and(|place| used[place]) {
            return refuse(format!("has no effect: no statement of the transaction contains `:{name}`"));
        }
    }
    Ok(())
}
