//! A transaction's steps in a row, with jumps for its branches and loops: made once, walked by every client.

use steelyard_engine::error::PlanError;

use super::distributions::Source;
use super::expression::Expression;
use super::scalar::Cause;
use crate::plan::steps::{self, Row, pass_of, passes_of};

/// Digits of a whole number of 64 bits.
const DIGITS_MAX: usize = 19;

/// One step; a jump leads to the number of another.
#[derive(Debug)]
pub enum Step {
    /// needs: places that earlier steps may have left without a value.
    Statement {
        statement: usize,
        take: Option<usize>,
        needs: Vec<usize>,
    },
    /// distinct: number of the list of what was drawn in the transaction.
    Draw {
        place: usize,
        source: Source,
        distinct: Option<usize>,
    },
    Set {
        place: usize,
        to: Expression,
    },
    /// number: of the text, from 1.
    Pick {
        place: usize,
        texts: Vec<String>,
        number: Expression,
    },
    Name {
        place: usize,
        prefix: String,
        number: Expression,
        digits: usize,
    },
    Send {
        queue: usize,
        values: Vec<usize>,
        after_ms: Expression,
    },
    Jump(usize),
    Unless {
        condition: Expression,
        to: usize,
    },
    /// The first pass of a loop, or none.
    Enter {
        times: Expression,
        of: Loop,
        past: usize,
    },
    /// The next pass, or none.
    Again {
        of: Loop,
        to: usize,
    },
    /// In ms.
    Wait(Expression),
    Begin,
    Commit,
    Rollback,
    Fail(String),
    End,
}

/// Places of a loop's numbers.
#[derive(Debug, Clone, Copy)]
pub struct Loop {
    pub passes: usize,
    pub pass: usize,
    /// Where the steps of the loop find the number of the pass.
    pub index: Option<usize>,
}

/// Values that the rows of a statement give.
#[derive(Debug)]
pub struct Take {
    /// Names of columns, with the place of what they become.
    pub columns: Vec<(String, usize)>,
    pub row: Row,
    /// Place of the number of rows.
    pub rows: Option<usize>,
}

/// Number of a statement, and places of the values that a transaction gives to it.
pub type Found = (usize, Vec<usize>);

/// The names that a transaction's steps may use.
pub struct Names<'a> {
    /// Place of the name of a value.
    pub place_of: &'a dyn Fn(&str) -> Option<usize>,
    pub statement: &'a dyn Fn(&str) -> Option<Found>,
    /// Number of the queue of this name.
    pub queue: &'a dyn Fn(&str) -> Option<usize>,
}

/// What is made while the steps are put in a row.
pub struct Program<'a> {
    names: &'a Names<'a>,
    pub steps: Vec<Step>,
    /// Of all transactions.
    pub takes: &'a mut Vec<Take>,
    /// Names of the lists of distinct values, by number.
    pub lists: Vec<String>,
    /// Places that steps give a value.
    pub given: Vec<usize>,
    depth: usize,
}

impl<'a> Program<'a> {
    pub fn new(names: &'a Names<'a>, takes: &'a mut Vec<Take>, given: Vec<usize>) -> Self {
        Self { names, steps: Vec::new(), takes, lists: Vec::new(), given, depth: 0 }
    }

    /// Appends steps; field: where they stand in the plan.
    pub fn all(&mut self, steps: &[steps::Step], field: &str) -> Result<(), PlanError> {
        for (number, step) in steps.iter().enumerate() {
            self.one(step, &format!("{field}.{number}"))?;
        }
        Ok(())
    }

    fn one(&mut self, step: &steps::Step, field: &str) -> Result<(), PlanError> {
        match step {
            steps::Step::Statement { name, take, row, rows } => {
                let found = (self.names.statement)(name);
                let (statement, shared) =
                    found.ok_or_else(|| PlanError::new(field, format!("no statement `{name}`")))?;
                let needs = shared.into_iter().filter(|place| self.given.contains(place)).collect();
                let columns: Vec<_> = take
                    .iter()
                    .map(|(value, column)| Ok((column.clone(), self.place(value, field)?)))
                    .collect::<Result<_, PlanError>>()?;
                let rows = rows.as_ref().map(|name| self.place(name, field)).transpose()?;
                let takes = (!columns.is_empty() || rows.is_some()).then_some(self.takes.len());
                if takes.is_some() {
                    self.takes.push(Take { columns, row: *row, rows });
                }
                self.steps.push(Step::Statement { statement, take: takes, needs });
            }
            steps::Step::Draw { value, from, distinct } => {
                from.check().map_err(|cause| PlanError::new(format!("{field}.from"), cause))?;
                let place = self.place(value, field)?;
                let distinct = distinct.as_ref().map(|name| self.list(name));
                self.steps.push(Step::Draw { place, source: Source::new(from), distinct });
            }
            steps::Step::Set { value, to } => {
                let to = self.expression(to, &format!("{field}.to"))?;
                let place = self.place(value, field)?;
                self.steps.push(Step::Set { place, to });
            }
            steps::Step::Pick { value, from, number } => {
                if from.is_empty() || from.iter().any(|text| text.contains('\0')) {
                    return Err(PlanError::new(field, "needs texts without a zero byte"));
                }
                let number = self.expression(number, &format!("{field}.number"))?;
                let place = self.place(value, field)?;
                self.steps.push(Step::Pick { place, texts: from.clone(), number });
            }
            steps::Step::Name { value, prefix, number, digits } => {
                if prefix.contains('\0') || *digits > DIGITS_MAX {
                    let cause = format!("needs a prefix without a zero byte, at most {DIGITS_MAX} digits");
                    return Err(PlanError::new(field, cause));
                }
                let number = self.expression(number, &format!("{field}.number"))?;
                let place = self.place(value, field)?;
                self.steps.push(Step::Name { place, prefix: prefix.clone(), number, digits: *digits });
            }
            steps::Step::Send { queue, values, after_ms } => {
                let no_queue = || PlanError::new(field, format!("no transaction takes from `{queue}`"));
                let queue = (self.names.queue)(queue).ok_or_else(no_queue)?;
                let values = values.iter().map(|name| self.place(name, field)).collect::<Result<_, _>>()?;
                let after_ms = self.expression(after_ms, &format!("{field}.after_ms"))?;
                self.steps.push(Step::Send { queue, values, after_ms });
            }
            steps::Step::If { condition, then, otherwise } => {
                let condition = self.expression(condition, &format!("{field}.condition"))?;
                let branch = self.steps.len();
                self.steps.push(Step::Unless { condition, to: 0 });
                self.all(then, &format!("{field}.then"))?;
                let jump = self.steps.len();
                if !otherwise.is_empty() {
                    self.steps.push(Step::Jump(0));
                }
                self.lead(branch);
                if !otherwise.is_empty() {
                    self.all(otherwise, &format!("{field}.else"))?;
                    self.lead(jump);
                }
            }
            steps::Step::Loop { times, index, steps } => {
                let times = self.expression(times, &format!("{field}.times"))?;
                let of = Loop {
                    passes: self.place(&passes_of(self.depth), field)?,
                    pass: self.place(&pass_of(self.depth), field)?,
                    index: index.as_ref().map(|name| self.place(name, field)).transpose()?,
                };
                let enter = self.steps.len();
                self.steps.push(Step::Enter { times, of, past: 0 });
                self.depth += 1;
                self.all(steps, &format!("{field}.steps"))?;
                self.depth -= 1;
                self.steps.push(Step::Again { of, to: enter + 1 });
                self.lead(enter);
            }
            steps::Step::Wait { ms } => {
                let ms = self.expression(ms, &format!("{field}.ms"))?;
                self.steps.push(Step::Wait(ms));
            }
            steps::Step::Begin {} => self.steps.push(Step::Begin),
            steps::Step::Commit {} => self.steps.push(Step::Commit),
            steps::Step::Rollback {} => self.steps.push(Step::Rollback),
            steps::Step::Fail { message } => self.steps.push(Step::Fail(message.clone())),
        }
        Ok(())
    }

    /// Lets the jump at `from` lead to the step that comes next.
    fn lead(&mut self, from: usize) {
        let next = self.steps.len();
        if let Step::Jump(to) | Step::Unless { to, .. } | Step::Enter { past: to, .. } = &mut self.steps[from]
        {
            *to = next;
        }
    }

    /// Number of the list of distinct values with this name.
    fn list(&mut self, name: &str) -> usize {
        self.lists.iter().position(|known| known == name).unwrap_or_else(|| {
            self.lists.push(name.into());
            self.lists.len() - 1
        })
    }

    fn place(&self, name: &str, field: &str) -> Result<usize, PlanError> {
        let refused = || PlanError::new(field, format!("`{name}` is not a value of the transaction"));
        (self.names.place_of)(name).ok_or_else(refused)
    }

    fn expression(&self, json: &serde_json::Value, field: &str) -> Result<Expression, PlanError> {
        let made: Result<_, Cause> = Expression::new(json, self.names.place_of);
        made.map_err(|cause| PlanError::new(field, cause))
    }
}
