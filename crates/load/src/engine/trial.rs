//! Every transaction, on one client's connection and rolled back: what the server answers.

use std::io;
use std::time::{Duration, Instant};

use steelyard_engine::clock::now_ns;

use crate::client::NOT_ENDED;
use crate::error::LoadError;
use crate::io::transport::Transport;
use crate::protocol::{Control, Dialogue, Next, Opening, Protocol, Reply, ServerError, explain, step_failed};
use crate::record::executed::Effect;
use crate::record::result::{BROKEN, OPEN, Tried};
use crate::statements::capture::Capture;
use crate::statements::draw::Draw;
use crate::statements::recipe::Recipe;
use crate::statements::walk::{Move, Walk};
use crate::statements::work::Work;

pub(super) struct Conversation<P: Protocol> {
    transport: Transport,
    dialogue: P::Dialogue,
    out: Vec<u8>,
    buffer: Vec<u8>,
}

/// Stops a transaction at its first error. A transaction that takes longer than the deadline has the code
/// `deadline`. All transactions once, then again with other values, as often as the plan's `draws` and `draws_s` say.
pub fn trial<P: Protocol>(work: &Work) -> Result<Vec<Tried>, LoadError> {
    let opening = Opening::from(&work.plan);
    let limit = Instant::now() + Duration::from_secs_f64(work.plan.draws_s);
    let captured = work.capture.as_ref().map(Capture::first_events);
    let mut tried = Vec::new();
    let mut idle = None;
    for number in 0..work.plan.draws {
        for (transaction, recipe) in work.transactions.iter().enumerate() {
            if number > 0 && Instant::now() > limit {
                return Ok(tried);
            }
            // a client for each number: its values depend on nothing else
            let mut draw = Draw::new(work, number);
            if let Some(events) = &captured {
                // each transaction of a capture has one statement, its class
                let Some(values) = recipe.statements.first().and_then(|class| events[*class].as_ref()) else {
                    continue;
                };
                draw.captured(values);
            }
            let mut conversation = match idle.take() {
                Some(conversation) => conversation,
                None => Conversation::<P>::open(work, &opening)?,
            };
            let from = tried.len();
            conversation.transaction(work, recipe, &mut draw, transaction, &mut tried)?;
            let failed = tried[from..].iter().any(|one| !one.code.is_empty());
            tried[from..].iter_mut().for_each(|one| one.draw = number);
            if failed || captured.is_some() {
                let _ = conversation.transport.write_all(P::FAREWELL);
            } else {
                idle = Some(conversation);
            }
        }
    }
    if let Some(mut conversation) = idle {
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
fn answer(reply: io::Result<Reply>) -> Option<ServerError> {
    let cause = match reply {
        Ok(reply) => return reply.error,
        Err(cause) => cause,
    };
    let late = matches!(cause.kind(), io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock);
    let code = BROKEN[usize::from(late)];
    Some(ServerError { code: code.into(), message: explain(&cause) })
}

impl<P: Protocol> Conversation<P> {
    fn open(work: &Work, opening: &Opening) -> Result<Self, LoadError> {
        let transport = opening.open::<P>(Instant::now() + Duration::from_secs_f64(work.plan.connect_s))?;
        let mut dialogue = P::Dialogue::new(work);
        dialogue.examine();
        Ok(Self::over(transport, dialogue))
    }

    pub(super) fn over(transport: Transport, dialogue: P::Dialogue) -> Self {
        Self { transport, dialogue, out: Vec::new(), buffer: vec![0; 1 << 16] }
    }

    pub(super) fn parts(self) -> (Transport, P::Dialogue) {
        (self.transport, self.dialogue)
    }

    /// One transaction, rolled back.
    pub(super) fn transaction(
        &mut self,
        work: &Work,
        recipe: &Recipe,
        draw: &mut Draw,
        transaction: usize,
        tried: &mut Vec<Tried>,
    ) -> Result<(), LoadError> {
        let limit = Instant::now() + Duration::from_secs_f64(work.plan.deadline_ms / 1e3);
        self.transport.set_limit(Some(limit)).map_err(|cause| LoadError::Connect {
            address: work.plan.server.address(),
            cause: explain(&cause),
        })?;
        let begun = self.control(Control::Begin);
        // without autocommit the first statement begins a transaction
        let mut open = false;
        let begins = begun.as_ref().is_ok_and(|reply| !reply.autocommit);
        let mut failure = answer(begun);
        if let Some(ServerError { code, message }) = failure.clone() {
            tried.push(Tried { transaction, code, message, ..Tried::default() });
        }
        let mut walk = Walk::default();
        draw.begin(work, transaction);
        let mut since_ns = now_ns();
        let mut ended = false;
        while failure.is_none() && !ended {
            let mut done = Tried { transaction, ..Tried::default() };
            match walk.step(work, recipe, draw) {
                Ok(Move::Statement) => {
                    open |= begins;
                    done.statement = recipe.statement_at(walk.at);
                    failure = self.statement(work, draw, &mut done);
                }
                Ok(Move::End) if open && work.capture.is_none() => {
                    failure = Some(ServerError { code: OPEN.into(), message: NOT_ENDED.into() });
                }
                Ok(Move::Rollback | Move::End) => ended = true,
                Ok(Move::Begin) => open = true,
                Ok(Move::Commit) => open = false,
                Ok(Move::Wait { .. }) => {}
                Err(cause) => failure = Some(step_failed(&cause)),
            }
            done.took_ns = now_ns() - since_ns;
            since_ns += done.took_ns;
            if done.statement.is_some() && failure.is_none() {
                done.value = given(work, draw);
                tried.push(done);
            } else if let Some(error) = &failure {
                let ServerError { code, message } = error.clone();
                tried.push(Tried { code, message, ..done });
            }
        }
        // an open transaction ends with its connection as well
        let _ = self.control(Control::Rollback);
        Ok(())
    }

    fn control(&mut self, control: Control) -> io::Result<Reply> {
        self.dialogue.control(control, &mut self.out);
        if self.out.is_empty() {
            // the protocol has no transactions
            return Ok(Reply {
                in_transaction: false,
                autocommit: true,
                error: None,
                effect: Effect::default(),
            });
        }
        self.exchange()
    }

    /// The statement that was drawn, and the values that its rows give.
    fn statement(&mut self, work: &Work, draw: &mut Draw, done: &mut Tried) -> Option<ServerError> {
        self.dialogue.begin(work, draw, &mut self.out);
        let (mut failure, mut effect) = (None, Effect::default());
        loop {
            let reply = self.exchange();
            if let Ok(reply) = &reply {
                effect.add(reply.effect);
            }
            let broken = reply.is_err();
            failure = failure.or(answer(reply));
            if broken || self.dialogue.go_on(work, draw, failure.is_some(), &mut self.out) == Next::Done {
                break;
            }
        }
        if failure.is_none()
            && let Err(cause) = self.dialogue.take_rows(work, draw)
        {
            failure = Some(step_failed(&cause));
        }
        let counts = done.statement.is_some_and(|statement| work.plan.statements[statement].counts);
        done.rows = effect.rows.filter(|_| counts);
        done.digest = self.dialogue.digest();
        failure
    }

    /// Sends what stands in `out` and takes the whole reply. The server's last words where it ends the connection.
    fn exchange(&mut self) -> io::Result<Reply> {
        let cause = match self.send_and_read() {
            Err(cause) if cause.kind() != io::ErrorKind::Other => cause,
            reply => return reply,
        };
        // a write may fail before they are read
        while let Ok(count @ 1..) = self.transport.read(&mut self.buffer) {
            match self.dialogue.feed(&self.buffer[..count]) {
                Ok(Some(reply)) => return Ok(reply),
                Ok(None) => {}
                Err(_) => break,
            }
        }
        let error = self.dialogue.last_error().ok_or(cause)?;
        Ok(Reply { in_transaction: false, autocommit: true, error: Some(error), effect: Effect::default() })
    }

    fn send_and_read(&mut self) -> io::Result<Reply> {
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
                return Ok(if copies { Reply { error: Some(copy_refused()), ..reply } } else { reply });
            }
        }
    }
}

fn copy_refused() -> ServerError {
    let message = "COPY FROM STDIN needs rows from the client, and the load engine sends none".into();
    ServerError { code: "0A000".into(), message }
}
