//! A client's messages to PostgreSQL: each way of handling statements as messages.

use steelyard_engine::error::PlanError;

use super::messages;
use super::rows::{Column, columns, take};
use super::scanner::Scanner;
use crate::plan::Handle;
use crate::protocol::{self, Control, Next, Reply, ServerError};
use crate::record::digest::Digest;
use crate::statements::draw::Draw;
use crate::statements::value::write_integer;
use crate::statements::work::Work;

/// The message that the next reply answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Parse,
    Execute,
    Close,
}

pub struct Dialogue {
    scanner: Scanner,
    stage: Stage,
    /// The last reply has prepared a statement.
    parsed: bool,
    /// The statement was sent by Parse, Bind and Execute.
    extended: bool,
    /// Of the prepared statement in use.
    name: Vec<u8>,
    /// By statement, a bit for each text: it is prepared.
    prepared: Vec<Vec<u64>>,
    /// Statements that were prepared and left.
    left: u64,
    /// By number of what rows give: the columns, once the server has described them.
    columns: Vec<Option<Vec<Column>>>,
}

impl protocol::Dialogue for Dialogue {
    fn new(work: &Work) -> Self {
        Self {
            scanner: Scanner::new(work.plan.message_bytes_max()),
            stage: Stage::Execute,
            parsed: false,
            extended: false,
            name: Vec::with_capacity(32),
            prepared: vec![vec![0; work.plan.texts().div_ceil(64) as usize]; work.templates.len()],
            left: 0,
            columns: work.takes.iter().map(|_| None).collect(),
        }
    }

    fn begin(&mut self, work: &Work, draw: &Draw, out: &mut Vec<u8>) {
        self.scanner.want(draw.take.map(|take| work.takes[take].row));
        let name = &mut self.name;
        name.clear();
        let handle = work.handle(draw.statement);
        self.extended = handle != Handle::None;
        match handle {
            Handle::None => {
                messages::query(out, |out| draw.write_text(work, out));
                self.stage = Stage::Execute;
            }
            Handle::Unnamed => {
                messages::parse(out, b"", |out| draw.write_text(work, out));
                self.execute(work, draw, out);
            }
            Handle::Named => {
                name.push(b's');
                write_integer(draw.statement as i64, name);
                name.push(b'_');
                write_integer(draw.tag as i64, name);
                let (word, bit) = (draw.tag as usize / 64, draw.tag % 64);
                if self.prepared[draw.statement][word] >> bit & 1 == 0 {
                    messages::parse(out, name, |out| draw.write_text(work, out));
                }
                self.execute(work, draw, out);
            }
            Handle::PerUse | Handle::Left => {
                name.push(b'p');
                if handle == Handle::Left {
                    write_integer(self.left as i64, name);
                    self.left += 1;
                }
                messages::parse(out, name, |out| draw.write_text(work, out));
                messages::sync(out);
                self.stage = Stage::Parse;
            }
        }
    }

    fn go_on(&mut self, work: &Work, draw: &Draw, failed: bool, out: &mut Vec<u8>) -> Next {
        match (self.stage, work.handle(draw.statement)) {
            (Stage::Parse, _) if !failed => self.execute(work, draw, out),
            (Stage::Execute, Handle::PerUse) => {
                messages::close(out, &self.name);
                messages::sync(out);
                self.stage = Stage::Close;
            }
            // the statement stays prepared, even if its execution failed
            (Stage::Execute, Handle::Named) if self.parsed => {
                self.prepared[draw.statement][draw.tag as usize / 64] |= 1 << (draw.tag % 64);
                return Next::Done;
            }
            _ => return Next::Done,
        }
        Next::Send
    }

    fn take_rows(&mut self, work: &Work, draw: &mut Draw) -> Result<(), String> {
        let Some(number) = draw.take else { return Ok(()) };
        let (wanted, rows) = (&work.takes[number], self.scanner.rows());
        if !rows.description.is_empty() {
            self.columns[number] = Some(columns(&rows.description, &wanted.columns)?);
        }
        take(wanted, self.columns[number].as_deref().unwrap_or_default(), rows, draw)
    }

    fn examine(&mut self) {
        self.scanner.digest = Some(Digest::default());
    }

    fn digest(&mut self) -> Digest {
        self.scanner.digest.as_mut().map(std::mem::take).unwrap_or_default()
    }

    fn control(&mut self, control: Control, out: &mut Vec<u8>) {
        self.scanner.want(None);
        messages::query(out, |out| out.extend_from_slice(control.sql()));
    }

    fn feed(&mut self, bytes: &[u8]) -> Result<Option<Reply>, PlanError> {
        let Some(ready) = self.scanner.feed(bytes)? else { return Ok(None) };
        self.parsed = ready.parsed;
        Ok(Some(Reply {
            in_transaction: ready.status != b'I',
            autocommit: true,
            error: ready.error,
            effect: ready.effect,
        }))
    }

    fn refuse_copy(&mut self, out: &mut Vec<u8>) -> bool {
        let waits = self.scanner.copies();
        if waits {
            messages::copy_fail(out);
            // the server has ignored the Sync that followed Execute
            if self.extended {
                messages::sync(out);
            }
        }
        waits
    }

    fn last_error(&mut self) -> Option<ServerError> {
        self.scanner.last_error()
    }

    fn reset(&mut self) {
        self.scanner.reset();
        for words in &mut self.prepared {
            words.fill(0);
        }
    }
}

impl Dialogue {
    fn execute(&mut self, work: &Work, draw: &Draw, out: &mut Vec<u8>) {
        // the columns of a statement stay the same: they are described once
        let describe = draw.take.is_some_and(|take| self.columns[take].is_none());
        messages::bind_execute(out, &self.name, draw.bound(work), describe);
        messages::sync(out);
        self.stage = Stage::Execute;
    }
}
