//! Where one client is in the steps of its transaction.

use std::io::Write;

use steelyard_engine::clock::now_ns;

use crate::statements::draw::Draw;
use crate::statements::program::{Loop, Step};
use crate::statements::recipe::Recipe;
use crate::statements::scalar::{Cause, Scalar};
use crate::statements::work::Work;

/// Most passes of one loop.
const PASSES_MAX: i64 = 10_000;
/// Most steps without a message to the server: a loop that never ends must not stop the other clients.
const STEPS_MAX: usize = 100_000;
const PAUSE_MS_MAX: f64 = 604_800e3;

/// What a client does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Move {
    /// The statement was drawn.
    Statement,
    Begin,
    Commit,
    Rollback,
    Wait {
        ns: u64,
    },
    End,
}

#[derive(Debug, Default)]
pub struct Walk {
    /// Number of the step under way.
    pub at: usize,
    next: usize,
}

impl Walk {
    /// The first step is under way.
    pub fn at_first() -> Self {
        Self { at: 0, next: 1 }
    }

    /// Goes on to the next step that is more than a value or a jump. Err: why the transaction has failed.
    pub fn step(&mut self, work: &Work, recipe: &Recipe, draw: &mut Draw) -> Result<Move, Cause> {
        for _ in 0..STEPS_MAX {
            self.at = self.next;
            self.next += 1;
            match &recipe.steps[self.at] {
                Step::Statement { statement, take, needs } => {
                    for place in needs {
                        draw.present(work, *place)?;
                    }
                    draw.statement(work, *statement);
                    draw.take = *take;
                    return Ok(Move::Statement);
                }
                Step::Draw { place, source, distinct } => draw.value(*place, source, *distinct)?,
                Step::Set { place, to } => {
                    let value = draw.evaluate(to)?;
                    draw.place(*place).set(value);
                }
                Step::Pick { place, texts, number } => {
                    let number = draw.evaluate(number)?.integer()?;
                    let text =
                        usize::try_from(number).ok().and_then(|from_1| texts.get(from_1.wrapping_sub(1)));
                    let text = text.ok_or_else(|| format!("there is no text {number} of {}", texts.len()))?;
                    draw.place(*place).set_text(true).extend_from_slice(text.as_bytes());
                }
                Step::Name { place, prefix, number, digits } => {
                    let number = draw.evaluate(number)?.integer()?;
                    let text = draw.place(*place).set_text(true);
                    text.extend_from_slice(prefix.as_bytes());
                    // writing into memory does not fail
                    drop(write!(text, "{number:0digits$}"));
                }
                // nobody is to take what is rolled back
                Step::Send { .. } if draw.peeks() => {}
                Step::Send { queue, values, after_ms } => {
                    let after_ms = draw.evaluate(after_ms)?;
                    let after_ms = if after_ms == Scalar::Null { 0.0 } else { after_ms.double()? };
                    if !(0.0..=PAUSE_MS_MAX).contains(&after_ms) {
                        return Err(format!("cannot send a message after {after_ms} ms"));
                    }
                    let message = values
                        .iter()
                        .map(|place| Ok(draw.values()[draw.present(work, *place)?].clone()))
                        .collect::<Result<_, Cause>>()?;
                    work.queues.send(*queue, now_ns() + (after_ms * 1e6) as u64, message);
                }
                Step::Jump(to) => self.next = *to,
                Step::Unless { condition, to } => {
                    if !draw.evaluate(condition)?.is_true() {
                        self.next = *to;
                    }
                }
                Step::Enter { times, of, past } => {
                    let times = draw.evaluate(times)?.integer()?;
                    if times > PASSES_MAX {
                        return Err(format!("a loop has {times} passes, more than {PASSES_MAX}"));
                    }
                    draw.place(of.passes).set_integer(times);
                    pass(of, draw, 1);
                    if times < 1 {
                        self.next = *past;
                    }
                }
                Step::Again { of, to } => {
                    let number = draw.values()[of.pass].scalar()?.integer()?;
                    if number < draw.values()[of.passes].scalar()?.integer()? {
                        pass(of, draw, number + 1);
                        self.next = *to;
                    }
                }
                Step::Wait(ms) => {
                    let ms = draw.evaluate(ms)?.double()?;
                    if !(0.0..=PAUSE_MS_MAX).contains(&ms) {
                        return Err(format!("cannot wait {ms} ms"));
                    }
                    return Ok(Move::Wait { ns: (ms * 1e6) as u64 });
                }
                Step::Begin => return Ok(Move::Begin),
                Step::Commit => return Ok(Move::Commit),
                Step::Rollback => {
                    // nothing follows it
                    self.next = recipe.steps.len() - 1;
                    return Ok(Move::Rollback);
                }
                Step::Fail(message) => return Err(message.clone()),
                Step::End => {
                    self.next = self.at;
                    return Ok(Move::End);
                }
            }
        }
        Err(format!("{STEPS_MAX} steps without a statement"))
    }
}

fn pass(of: &Loop, draw: &mut Draw, number: i64) {
    for place in [Some(of.pass), of.index].into_iter().flatten() {
        draw.place(place).set_integer(number);
    }
}
