//! Before the load of new connections: each executes its statements as often as its handle needs, rolled back.
//!
//! A server plans a prepared statement anew for its first executions, a driver prepares it after some: connections that
//! live for a second or less would never show what they become.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use super::Run;
use super::trial::Conversation;
use crate::client::Client;
use crate::error::LoadError;
use crate::protocol::{Dialogue, Protocol, explain};
use crate::record::result::{BROKEN, DEADLINE};
use crate::statements::draw::Draw;
use crate::statements::work::Work;

const STEP: Duration = Duration::from_millis(50);

impl<P: Protocol> Run<'_, P> {
    /// Milliseconds that it took, within the plan's `prime_s`.
    pub(super) fn prime(&mut self, clients: &mut [Client<P>]) -> Result<f64, LoadError> {
        let (work, begin) = (self.work, Instant::now());
        if work.plan.prime == 0 || clients.is_empty() {
            return Ok(0.0);
        }
        let limit = begin + Duration::from_secs_f64(work.plan.prime_s);
        let progress = &mut self.progress;
        let whole = std::thread::scope(|scope| {
            let (told, ended) = channel();
            scope.spawn(move || {
                let all = clients.iter_mut().try_fold(true, |whole, client| {
                    Ok::<_, LoadError>(prime_client(work, client, limit)? && whole)
                });
                // nobody listens where the run was stopped
                let _ = told.send(all);
            });
            loop {
                progress.go_on()?;
                match ended.recv_timeout(STEP) {
                    Ok(all) => return all,
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => {
                        return Err(std::io::Error::other("a load thread panicked").into());
                    }
                }
            }
        })?;
        if !whole && work.plan.prime > 1 {
            let text = format!(
                "statements ran fewer than {} times on each new connection before it was measured: they take \
                 longer than {} s together",
                work.plan.prime, work.plan.prime_s
            );
            if !self.progress.outcome.notices.iter().any(|(code, _)| *code == YOUNG) {
                self.progress.outcome.notices.push((YOUNG, text));
            }
        }
        Ok(begin.elapsed().as_secs_f64() * 1e3)
    }
}

const YOUNG: &str = "young-connections";

/// Whether all was executed before the limit.
fn prime_client<P: Protocol>(work: &Work, client: &mut Client<P>, limit: Instant) -> Result<bool, LoadError> {
    let Some(transport) = client.transport.take() else { return Ok(true) };
    let dialogue = std::mem::replace(&mut client.dialogue, P::Dialogue::new(work));
    let mut conversation = Conversation::<P>::over(transport, dialogue);
    let mut draw = Draw::aside(work, client.number);
    let mut whole = true;
    let own = work.own(client.number);
    let mut said = None;
    for (transaction, recipe) in work.transactions.iter().enumerate() {
        let plan = &work.plan.transactions[transaction];
        let is_mine = own.map_or(plan.clients == 0, |own| own == transaction);
        if !plan.primes || !is_mine || !plan.takes.is_empty() {
            continue;
        }
        for _ in 0..work.plan.prime {
            whole &= Instant::now() < limit;
            if !whole {
                break;
            }
            let mut tried = Vec::new();
            conversation.transaction(work, recipe, &mut draw, transaction, &mut tried)?;
            let Some(failed) = tried.into_iter().find(|one| !one.code.is_empty()) else {
                said = None;
                continue;
            };
            if BROKEN.contains(&failed.code.as_str()) {
                let address = work.plan.server.address();
                let broken = match failed.statement {
                    Some(number) if failed.code == DEADLINE => LoadError::Unanswered {
                        address,
                        statement: work.plan.statements[number].name.clone(),
                    },
                    _ => LoadError::Connect { address, cause: failed.message },
                };
                // a server says why it ends a connection in answer to the statement before
                return Err(said.map_or(broken, |cause| LoadError::Client { number: client.number, cause }));
            }
            said = Some(format!("{} ({})", failed.message, failed.code));
        }
    }
    let (mut transport, dialogue) = conversation.parts();
    transport.set_limit(None).map_err(|cause| LoadError::Connect {
        address: work.plan.server.address(),
        cause: explain(&cause),
    })?;
    client.transport = Some(transport);
    client.dialogue = dialogue;
    Ok(whole)
}
