//! Every transaction once, on one client's connection, rolled back: what the server answers.

use std::io;
use std::time::{Duration, Instant};

use steelyard_engine::clock::now_ns;

use crate::error::LoadError;
use crate::io::transport::Transport;
use crate::protocol::{Control, Dialogue, Next, Opening, Protocol, ServerError, explain, step_failed};
use crate::record::result::Tried;
use crate::statements::capture::Capture;
use crate::statements::draw::Draw;
use crate::statements::walk::{Move, Walk};
use crate::statements::work::Work;

struct Conversation<P: Protocol> {
    transport: Transport,
    dialogue: P::Dialogue,
    out: Vec<u8>,
    buffer: Vec<u8>,
}

/// Stops a transaction at its first error. A transaction that takes longer than the deadline has the code
/// `deadline`.
pub fn trial<P: Protocol>(work: &Work) -> Result<Vec<Tried>, LoadError> {
    let opening = Opening::from(&work.plan);
    let mut tried = Vec::new();
    let mut draw = Draw::new(work, 0);
    let captured = work.capture.as_ref().map(Capture::first_events);
    for (number, recipe) in work.transactions.iter().enumerate() {
        if let Some(events) = &captured {
            // each transaction of a capture has one statement, its class
            let Some(values) = recipe.statements.first().and_then(|class| events[*class].as_ref()) else {
                continue;
            };
            draw.captured(values);
        }
        let mut conversation = Conversation::<P>::open(work, &opening)?;
        let mut failure = conversation.control(Control::Begin);
        if let Some(error) = answer(&failure) {
            let ServerError { code, message } = error;
            tried.push(Tried {
                transaction: number,
                statement: None,
                took_ns: 0,
                code,
                message,
                value: None,
            });
        }
        let mut walk = Walk::default();
        draw.begin(work, number);
        let mut since_ns = now_ns();
        while matches!(failure, Ok(None)) {
            let statement = match walk.step(work, recipe, &mut draw) {
                Ok(Move::Statement) => {
                    failure = conversation.statement(work, &mut draw);
                    recipe.statement_at(walk.at)
                }
                Ok(Move::Rollback | Move::End) => break,
                Ok(Move::Begin | Move::Commit | Move::Wait { .. }) => continue,
                Err(cause) => {
                    failure = Ok(Some(step_failed(&cause)));
                    None
                }
            };
            let took_ns = now_ns() - since_ns;
            since_ns += took_ns;
            let ServerError { code, message } = answer(&failure).unwrap_or_default();
            let value = if code.is_empty() { given(work, &draw) } else { None };
            tried.push(Tried { transaction: number, statement, took_ns, code, message, value });
        }
        if failure.is_ok() {
            // an open transaction ends with its connection as well
            let _ = conversation.control(Control::Rollback);
        }
        let _ = conversation.transport.write_all(P::FAREWELL);
    }
    Ok(tried)
}

/// The first value that the statement's rows gave.
fn given(work: &Work, draw: &Draw) -> Option<String> {
    let (_, place) = work.takes[draw.take?].columns.first()?;
    let mut text = Vec::new();
    draw.values()[*place].write(&mut text);
    Some(String::from_utf8_lossy(&text).into_owned())
}

/// The server's error, or how the connection ended.
fn answer(failure: &io::Result<Option<ServerError>>) -> Option<ServerError> {
    let cause = match failure {
        Ok(error) => return error.clone(),
        Err(cause) => cause,
    };
    let late = matches!(cause.kind(), io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock);
    let code = if late { "deadline" } else { "connection" };
    Some(ServerError { code: code.into(), message: explain(cause) })
}

impl<P: Protocol> Conversation<P> {
    fn open(work: &Work, opening: &Opening) -> Result<Self, LoadError> {
        let mut transport =
            opening.open::<P>(Instant::now() + Duration::from_secs_f64(work.plan.connect_s))?;
        let limit = Instant::now() + Duration::from_secs_f64(work.plan.deadline_ms / 1e3);
        transport.set_limit(Some(limit)).map_err(|cause| LoadError::Connect {
            address: opening.server.address(),
            cause: explain(&cause),
        })?;
        Ok(Self { transport, dialogue: P::Dialogue::new(work), out: Vec::new(), buffer: vec![0; 1 << 16] })
    }

    fn control(&mut self, control: Control) -> io::Result<Option<ServerError>> {
        self.dialogue.control(control, &mut self.out);
        self.exchange()
    }

    /// The statement that was drawn, and the values that its rows give.
    fn statement(&mut self, work: &Work, draw: &mut Draw) -> io::Result<Option<ServerError>> {
        self.dialogue.begin(work, draw, &mut self.out);
        let mut failure = None;
        loop {
            let error = self.exchange()?;
            failure = failure.or(error);
            if self.dialogue.go_on(work, draw, failure.is_some(), &mut self.out) == Next::Done {
                break;
            }
        }
        if failure.is_none()
            && let Err(cause) = self.dialogue.take_rows(work, draw)
        {
            failure = Some(step_failed(&cause));
        }
        Ok(failure)
    }

    /// Sends what stands in `out` and takes the whole reply.
    fn exchange(&mut self) -> io::Result<Option<ServerError>> {
        self.transport.write_all(&self.out)?;
        self.transport.flush()?;
        self.out.clear();
        let mut copies = false;
        loop {
            let count = self.transport.read(&mut self.buffer)?;
            if count == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let found = self.dialogue.feed(&self.buffer[..count]).map_err(io::Error::other)?;
            if self.dialogue.refuse_copy(&mut self.out) {
                self.transport.write_all(&self.out)?;
                self.transport.flush()?;
                self.out.clear();
                copies = true;
            }
            if let Some(reply) = found {
                let error = if copies { Some(copy_refused()) } else { reply.error };
                return Ok(error);
            }
        }
    }
}

fn copy_refused() -> ServerError {
    let message = "COPY FROM STDIN needs rows from the client, and the load engine sends none".into();
    ServerError { code: "0A000".into(), message }
}
