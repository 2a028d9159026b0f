//! Every transaction once, on one connection: what SQLite answers.

use std::time::Duration;

use steelyard_engine::clock::now_ns;

use super::client::STEPS;
use super::statements::{Statements, code_of};
use crate::error::LoadError;
use crate::record::result::Tried;
use crate::statements::draw::Draw;
use crate::statements::work::Work;

/// Stops a transaction at its first error, and rolls back what it left open. What is longer than the deadline
/// is interrupted.
pub fn trial(work: &Work) -> Result<Vec<Tried>, LoadError> {
    let Some(database) = &work.plan.sqlite else {
        return Err(LoadError::Database { file: String::new(), cause: "the plan names no database".into() });
    };
    let mut tried = Vec::new();
    for (number, recipe) in work.transactions.iter().enumerate() {
        let connection = database.open(Duration::from_secs_f64(work.plan.deadline_ms / 1e3))?;
        let limit_ns = now_ns() + (work.plan.deadline_ms * 1e6) as u64;
        connection.progress_handler(STEPS, Some(move || now_ns() > limit_ns));
        if recipe.begin {
            connection.execute_batch(database.begin.sql()).map_err(|error| database.failed(&error))?;
        }
        let mut statements = Statements::new(work, &connection);
        let mut draw = Draw::new(work, 0);
        draw.begin(work, number);
        for statement in recipe.statements.iter().copied() {
            draw.statement(work, statement);
            let begin_ns = now_ns();
            let outcome = statements.execute(&draw);
            let took_ns = now_ns() - begin_ns;
            let (code, message) = match &outcome {
                Ok(_) => Default::default(),
                Err(error) => (code_of(error), error.to_string()),
            };
            tried.push(Tried {
                transaction: number,
                statement: Some(statement),
                took_ns,
                code,
                message,
                value: None,
            });
            if outcome.is_err() {
                break;
            }
        }
    }
    Ok(tried)
}
