//! Work that waits for the server, done by a thread of its own: meanwhile the run tells that it is alive
//! and can be stopped, and it does not wait for a thread that is stuck.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::Builder;
use std::time::{Duration, Instant};

use crate::conduct::Conductor;
use crate::error::LoadError;

const STEP: Duration = Duration::from_millis(50);
/// A thread that keeps its limit has ended by then; what may not keep it is a resolver of host names.
const GRACE: Duration = Duration::from_millis(500);

/// Hands to `take` what `work` sends; whether `work` came to its end. `work` is to end by `limit`, or
/// when nobody receives any more.
pub fn beside<T: Send + 'static>(
    conductor: &mut Conductor,
    name: &str,
    limit: Instant,
    work: impl FnOnce(&Sender<T>) + Send + 'static,
    mut take: impl FnMut(&mut Conductor, T) -> Result<(), LoadError>,
) -> Result<bool, LoadError> {
    let (sender, made) = channel();
    Builder::new().name(name.into()).spawn(move || work(&sender))?;
    loop {
        match made.recv_timeout(STEP) {
            Ok(one) => take(conductor, one)?,
            Err(RecvTimeoutError::Disconnected) => return Ok(true),
            Err(RecvTimeoutError::Timeout) if Instant::now() > limit + GRACE => return Ok(false),
            Err(RecvTimeoutError::Timeout) => {}
        }
        conductor.go_on()?;
    }
}
