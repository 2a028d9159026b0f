//! A client's messages to MySQL or MariaDB: each way of handling statements as commands.

use steelyard_engine::error::PlanError;

use super::commands::{self, LAST};
use super::rows::{Column, columns, take};
use super::scanner::{Answer, Scanner};
use crate::plan::Handle;
use crate::protocol::{self, Control, Next, Reply, ServerError};
use crate::record::digest::Digest;
use crate::statements::draw::Draw;
use crate::statements::work::Work;

pub struct Dialogue {
    scanner: Scanner,
    /// The next reply gives the number of the prepared statement.
    preparing: bool,
    /// Number that the server gave to what it prepared last.
    answered: u32,
    /// By statement and text, the number that the server gave; 0: not prepared.
    numbers: Vec<Vec<u32>>,
    /// To be closed by the next command: a close has no answer to wait for.
    used: Option<u32>,
    /// By number of what rows give: the columns, once the server has defined them.
    columns: Vec<Option<Vec<Column>>>,
}

impl protocol::Dialogue for Dialogue {
    fn new(work: &Work) -> Self {
        let texts = if work.plan.handle == Handle::Named { work.plan.texts() } else { 0 };
        Self {
            scanner: Scanner::new(work.plan.message_bytes_max()),
            preparing: false,
            answered: 0,
            numbers: vec![vec![0; texts as usize]; work.templates.len()],
            used: None,
            columns: work.takes.iter().map(|_| None).collect(),
        }
    }

    fn begin(&mut self, work: &Work, draw: &Draw, out: &mut Vec<u8>) {
        self.close_used(out);
        let describe = draw.take.is_some_and(|take| self.columns[take].is_none());
        self.scanner.want(draw.take.map(|take| work.takes[take].row), describe);
        let handle = work.handle(draw.statement);
        self.scanner.texts = handle == Handle::None;
        if handle == Handle::Named {
            let known = self.numbers[draw.statement][draw.tag as usize];
            if known != 0 {
                return self.execute(work, draw, known, out);
            }
        }
        self.preparing = handle != Handle::None;
        self.scanner.parameters = work.templates[draw.statement].occurrences().len();
        match handle {
            Handle::None => {
                commands::query(out, |out| draw.write_text(work, out));
                self.scanner.expect(Answer::Result, None);
            }
            Handle::Unnamed => {
                commands::prepare(out, |out| draw.write_text(work, out));
                // in one write: to the server LAST is the statement that it has just prepared
                self.execute(work, draw, LAST, out);
                commands::close(out, LAST);
                self.scanner.expect(Answer::Prepared, Some(Answer::Result));
            }
            Handle::Named | Handle::PerUse | Handle::Left => {
                commands::prepare(out, |out| draw.write_text(work, out));
                self.scanner.expect(Answer::Prepared, None);
            }
        }
    }

    fn go_on(&mut self, work: &Work, draw: &Draw, failed: bool, out: &mut Vec<u8>) -> Next {
        if !self.preparing || failed {
            return Next::Done;
        }
        match work.handle(draw.statement) {
            Handle::Named => self.numbers[draw.statement][draw.tag as usize] = self.answered,
            Handle::PerUse => self.used = Some(self.answered),
            _ => {}
        }
        self.execute(work, draw, self.answered, out);
        Next::Send
    }

    fn take_rows(&mut self, work: &Work, draw: &mut Draw) -> Result<(), String> {
        let Some(number) = draw.take else { return Ok(()) };
        let (wanted, rows) = (&work.takes[number], self.scanner.rows());
        if !rows.definitions.is_empty() {
            self.columns[number] = Some(columns(&rows.definitions)?);
        }
        let columns = self.columns[number].as_deref().unwrap_or_default();
        take(wanted, columns, rows, work.handle(draw.statement) == Handle::None, draw)
    }

    fn examine(&mut self) {
        self.scanner.digest = Some(Digest::default());
    }

    fn digest(&mut self) -> Digest {
        self.scanner.digest.as_mut().map(std::mem::take).unwrap_or_default()
    }

    fn control(&mut self, control: Control, out: &mut Vec<u8>) {
        self.scanner.want(None, false);
        self.close_used(out);
        commands::query(out, |out| out.extend_from_slice(control.sql()));
        self.scanner.expect(Answer::Result, None);
    }

    fn feed(&mut self, bytes: &[u8]) -> Result<Option<Reply>, PlanError> {
        let Some(ready) = self.scanner.feed(bytes)? else { return Ok(None) };
        self.answered = ready.statement;
        Ok(Some(Reply {
            in_transaction: ready.in_transaction,
            autocommit: ready.autocommit,
            error: ready.error,
            effect: ready.effect,
        }))
    }

    fn last_error(&mut self) -> Option<ServerError> {
        self.scanner.last_error()
    }

    fn reset(&mut self) {
        self.scanner.reset();
        for numbers in &mut self.numbers {
            numbers.fill(0);
        }
        self.used = None;
    }
}

impl Dialogue {
    fn execute(&mut self, work: &Work, draw: &Draw, number: u32, out: &mut Vec<u8>) {
        commands::execute(out, number, draw.values(), work.templates[draw.statement].occurrences());
        self.preparing = false;
        self.scanner.expect(Answer::Result, None);
    }

    fn close_used(&mut self, out: &mut Vec<u8>) {
        if let Some(number) = self.used.take() {
            commands::close(out, number);
        }
    }
}
