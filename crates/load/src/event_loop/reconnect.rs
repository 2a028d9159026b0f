//! New connections for lost ones, made beside the event loop: logging in takes milliseconds, and a
//! server in trouble takes longer, while the other clients continue.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use crate::io::transport::Transport;
use crate::protocol::Opening;
use crate::protocol::Protocol;

/// For connecting, the login and the session's statements together.
const TIMEOUT: Duration = Duration::from_secs(1);

/// A client's number in its loop, and its new transport or the error.
pub type Outcome = (usize, Result<Transport, String>);

/// A helper thread that ends when this is dropped.
pub struct Reconnector {
    lost: Sender<Vec<usize>>,
    made: Receiver<Outcome>,
}

impl Reconnector {
    pub fn new<P: Protocol>(opening: Opening) -> std::io::Result<Self> {
        let (lost, jobs) = channel::<Vec<usize>>();
        let (outcomes, made) = channel();
        std::thread::Builder::new().name("reconnect".into()).spawn(move || {
            for job in jobs {
                let mut failure = None;
                for index in job {
                    // when one cannot connect the others are as likely to fail: they wait, too
                    let outcome = match &failure {
                        Some(cause) => Err(String::clone(cause)),
                        None => match opening.open::<P>(Instant::now() + TIMEOUT) {
                            Ok(transport) => Ok(transport),
                            Err(error) => Err(failure.insert(error.to_string()).clone()),
                        },
                    };
                    if outcomes.send((index, outcome)).is_err() {
                        return;
                    }
                }
            }
        })?;
        Ok(Self { lost, made })
    }

    /// Requests a connection for each of these clients.
    pub fn ask(&self, clients: Vec<usize>) {
        // a helper that died leaves the clients without connections, which ends the run
        let _ = self.lost.send(clients);
    }

    /// The connections that are ready.
    pub fn outcomes(&self) -> impl Iterator<Item = Outcome> {
        self.made.try_iter()
    }
}
