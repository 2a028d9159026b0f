//! Every transaction on one connection, rolled back: what SQLite answers.

use std::time::{Duration, Instant};

use rusqlite::Connection;
use steelyard_engine::clock::now_ns;

use super::client::STEPS;
use super::statements::{Statements, code_of};
use crate::client::NOT_ENDED;
use crate::error::LoadError;
use crate::plan::sqlite::Begin;
use crate::record::digest::Digest;
use crate::record::executed::Effect;
use crate::record::result::{OPEN, Tried};
use crate::statements::draw::Draw;
use crate::statements::work::Work;

/// Stops a transaction at its first error, and rolls it back. What is longer than the deadline is interrupted.
/// All transactions once, then again with other values, as often as the plan's `draws` and `draws_s` say.
pub fn trial(work: &Work) -> Result<Vec<Tried>, LoadError> {
    let Some(database) = &work.plan.sqlite else {
        return Err(LoadError::Database { file: String::new(), cause: "the plan names no database".into() });
    };
    let limit = Instant::now() + Duration::from_secs_f64(work.plan.draws_s);
    let mut tried = Vec::new();
    for number in 0..work.plan.draws {
        for transaction in 0..work.transactions.len() {
            if number > 0 && Instant::now() > limit {
                return Ok(tried);
            }
            let connection = database.open(Duration::from_secs_f64(work.plan.deadline_ms / 1e3))?;
            let limit_ns = now_ns() + (work.plan.deadline_ms * 1e6) as u64;
            connection.progress_handler(STEPS, Some(move || now_ns() > limit_ns));
            one(work, &connection, database.begin, number, transaction, &mut tried);
        }
    }
    Ok(tried)
}

/// The transaction ends with its connection.
fn one(
    work: &Work,
    connection: &Connection,
    begin: Begin,
    draw: usize,
    transaction: usize,
    tried: &mut Vec<Tried>,
) {
    let recipe = &work.transactions[transaction];
    let failed = |statement, took_ns, code: &str, message: String| Tried {
        draw,
        transaction,
        statement,
        took_ns,
        code: code.into(),
        message,
        ..Tried::default()
    };
    // those that begin or end a transaction themselves would fail within another
    let rolls_back = recipe.statements.iter().all(|statement| work.plan.statements[*statement].counts);
    let begin = if recipe.begin { begin } else { Begin::Deferred };
    if (rolls_back || recipe.begin)
        && let Err(error) = connection.execute_batch(begin.sql())
    {
        return tried.push(failed(None, 0, &code_of(&error), error.to_string()));
    }
    let mut values = Draw::new(work, draw);
    values.begin(work, transaction);
    let mut statements = Statements::new(work, connection);
    for statement in recipe.statements.iter().copied() {
        values.statement(work, statement);
        statements.digest = Some(Digest::default());
        let begin_ns = now_ns();
        let outcome = statements.execute(&values);
        let took_ns = now_ns() - begin_ns;
        let statement = Some(statement);
        match outcome {
            Ok(Effect { rows, .. }) => {
                let digest = statements.digest.take().unwrap_or_default();
                tried.push(Tried { rows, digest, ..failed(statement, took_ns, "", String::new()) });
            }
            Err(error) => return tried.push(failed(statement, took_ns, &code_of(&error), error.to_string())),
        }
    }
    if !rolls_back && !recipe.begin && !connection.is_autocommit() {
        tried.push(failed(None, 0, OPEN, NOT_ENDED.into()));
    }
}
