//! Every transaction once, on one client's connection, rolled back: what of it the server refuses.

use std::io;
use std::time::{Duration, Instant};

use crate::error::LoadError;
use crate::io::transport::Transport;
use crate::protocol::{Control, Dialogue, Next, Opening, Protocol, ServerError, explain, step_failed};
use crate::record::result::Refused;
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

/// Stops a transaction at its first error. A transaction that takes longer than the deadline is no refusal.
pub fn trial<P: Protocol>(work: &Work) -> Result<Vec<Refused>, LoadError> {
    let opening = Opening::from(&work.plan);
    let mut refused = Vec::new();
    let mut draw = Draw::new(work, 0);
    let captured = work.capture.as_ref().map(Capture::first_events);
    for (number, recipe) in work.transactions.iter().enumerate() {
        if let Some(events) = &captured {
            let Some(values) = &events[number] else { continue };
            draw.captured(values);
        }
        let mut conversation = Conversation::<P>::open(work, &opening)?;
        let mut failure = conversation.control(Control::Begin);
        let mut walk = Walk::default();
        draw.begin(work, number);
        while matches!(failure, Ok(None)) {
            failure = match walk.step(work, recipe, &mut draw) {
                Ok(Move::Statement) => conversation.statement(work, &mut draw),
                Ok(Move::Rollback | Move::End) => break,
                Ok(Move::Begin | Move::Commit | Move::Wait { .. }) => Ok(None),
                Err(cause) => Ok(Some(step_failed(&cause))),
            };
        }
        let ended = failure.is_err();
        if let Ok(Some(ServerError { code, message })) = failure {
            refused.push(Refused {
                transaction: number,
                statement: recipe.statement_at(walk.at),
                code,
                message,
            });
        }
        if !ended {
            // an open transaction ends with its connection as well
            let _ = conversation.control(Control::Rollback);
        }
        let _ = conversation.transport.write_all(P::FAREWELL);
    }
    Ok(refused)
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
        loop {
            let count = self.transport.read(&mut self.buffer)?;
            if count == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let found = self.dialogue.feed(&self.buffer[..count]);
            if let Some(reply) = found.map_err(io::Error::other)? {
                return Ok(reply.error);
            }
        }
    }
}
