//! The sessions of a run without load: connecting, inspecting, leaving.

use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use steelyard_engine::clock::now_ns;

use super::Run;
use crate::client::Client;
use crate::error::LoadError;
use crate::io::transport::Transport;
use crate::plan::Inspect;
use crate::progress::helper_thread::on_helper_thread;
use crate::protocol::Opening;
use crate::protocol::{Protocol, Session};
use crate::record::result::Inspected;

/// A client's connection, unless it broke, and its answer or the error.
type Answers = (usize, Option<Transport>, Result<Vec<Inspected>, String>);

impl<P: Protocol> Run<'_, P> {
    pub(super) fn connect(
        &mut self,
        point: usize,
        count: usize,
        clients: &mut Vec<Client<P>>,
    ) -> Result<(), LoadError> {
        let begin_ns = self.progress.begin("connect", point, count)?;
        let work = self.work;
        let limit = Instant::now() + Duration::from_secs_f64(work.plan.connect_s);
        clients.drain(count.min(clients.len())..).for_each(|mut client| leave(&mut client));
        let (opening, missing) = (Opening::from(&work.plan), count - clients.len());
        let open = move |made: &Sender<_>| {
            for _ in 0..missing {
                let start_ns = now_ns();
                let opened = opening.open::<P>(limit);
                let failed = opened.is_err();
                if made.send((opened, now_ns() - start_ns)).is_err() || failed {
                    break;
                }
            }
        };
        let ended =
            on_helper_thread(&mut self.progress, "connect", limit, open, |progress, (opened, took_ns)| {
                match opened {
                    Ok(transport) => {
                        progress.outcome.connect_ns += took_ns;
                        progress.outcome.connections += 1;
                        let number = work.plan.own().number(clients.len());
                        clients.push(Client::new(number, work, transport));
                    }
                    Err(error) if is_full::<P>(&error) => {
                        let address = work.plan.server.address();
                        let cause = format!("{} of {count} clients are connected: {error}", clients.len());
                        return Err(LoadError::Connect { address, cause });
                    }
                    Err(error) => return Err(error),
                }
                Ok(())
            })?;
        if !ended || clients.len() < count {
            let address = work.plan.server.address();
            return Err(LoadError::Connect { address, cause: "no answer in time".into() });
        }
        self.progress.ended("connect", point, clients.len(), begin_ns, now_ns());
        Ok(())
    }

    /// Connections open, nothing sent except the queries of `inspect`.
    pub(super) fn cool_down(&mut self, point: usize, clients: &mut [Client<P>]) -> Result<(), LoadError> {
        let begin_ns = self.progress.begin("cool-down", point, clients.len())?;
        if !self.work.plan.inspect.is_empty() {
            self.inspect(clients)?;
        }
        self.progress.cool_down(point, clients.len(), begin_ns)
    }

    fn inspect(&mut self, clients: &mut [Client<P>]) -> Result<(), LoadError> {
        let plan = &self.work.plan;
        let limit = Instant::now() + Duration::from_secs_f64(plan.inspect_s);
        let (questions, most, share) = (plan.inspect.clone(), plan.message_bytes_max(), plan.own());
        let connected: Vec<(usize, Transport)> = clients
            .iter_mut()
            .enumerate()
            .filter_map(|(index, client)| Some((index, client.transport.take()?)))
            .collect();
        let all = connected.len();
        let (mut answered, mut failure) = (0, "no answer in time".to_string());
        let ask = move |made: &Sender<Answers>| {
            for (client, transport) in connected {
                let session = P::Session::over(transport, most);
                if made.send(answers(client, share.number(client), session, &questions, limit)).is_err() {
                    break;
                }
            }
        };
        on_helper_thread(
            &mut self.progress,
            "inspect",
            limit,
            ask,
            |progress, (index, transport, answers)| {
                clients[index].transport = transport;
                match answers {
                    Ok(answers) => {
                        answered += 1;
                        progress.outcome.inspect.extend(answers);
                    }
                    Err(cause) => failure = cause,
                }
                Ok(())
            },
        )?;
        if answered < all {
            let text = format!("inspect: {answered} of {all} sessions answered: {failure}");
            self.progress.outcome.notices.push(("inspect-missed", text));
        }
        Ok(())
    }

    pub(super) fn disconnect(&mut self, point: usize, mut clients: Vec<Client<P>>) -> Result<(), LoadError> {
        let begin_ns = self.progress.begin("disconnect", point, clients.len())?;
        clients.iter_mut().for_each(|client| leave(client));
        self.progress.ended("disconnect", point, clients.len(), begin_ns, now_ns());
        Ok(())
    }
}

/// Inspects one client's session.
fn answers(
    index: usize,
    client: usize,
    mut session: impl Session,
    questions: &[Inspect],
    limit: Instant,
) -> Answers {
    let mut answers = Vec::new();
    if let Err(cause) = session.transport().set_limit(Some(limit)) {
        return (index, None, Err(cause.to_string()));
    }
    for question in questions {
        match session.query(&question.sql) {
            Ok(answer) => answers.extend(answer.into_iter().map(|(metric, value)| Inspected {
                client,
                name: question.name.clone(),
                metric,
                value,
            })),
            // a server that cannot answer (too old, no right) leaves the answer out
            Err(LoadError::Session { .. }) => {}
            Err(error) => return (index, None, Err(error.to_string())),
        }
    }
    match session.release() {
        Ok(transport) => (index, Some(transport), Ok(answers)),
        Err(cause) => (index, None, Err(cause.to_string())),
    }
}

fn is_full<P: Protocol>(error: &LoadError) -> bool {
    matches!(error, LoadError::Refused { code, message, .. } if P::is_full(code, message))
}

/// Sends the last message, unless that would block: the server closes the connection either way.
pub(super) fn leave<P: Protocol>(client: &mut Client<P>) {
    if let Some(transport) = &mut client.transport {
        let _ = transport.set_nonblocking(true).and_then(|()| transport.write_all(P::FAREWELL));
    }
}
