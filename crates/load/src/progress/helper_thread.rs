//! Work that waits for the server, done by a thread of its own: meanwhile the engine reports that it is alive
//! and can be stopped, and it does not wait for a thread that is stuck.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::Builder;
use std::time::{Duration, Instant};

use crate::error::LoadError;
use crate::progress::Progress;

const STEP: Duration = Duration::from_millis(50);
/// A thread that keeps its limit has ended by then; what may not keep it is a resolver of host names.
const GRACE: Duration = Duration::from_millis(500);

/// Passes the values that `work` sends to `take`; whether `work` ended. `work` must end by `limit`, or
/// when the receiver is gone.
pub fn on_helper_thread<T: Send + 'static>(
    progress: &mut Progress,
    name: &str,
    limit: Instant,
    work: impl FnOnce(&Sender<T>) + Send + 'static,
    mut take: impl FnMut(&mut Progress, T) -> Result<(), LoadError>,
) -> Result<bool, LoadError> {
    let (sender, made) = channel();
    Builder::new().name(name.into()).spawn(move || work(&sender))?;
    loop {
        match made.recv_timeout(STEP) {
            Ok(one) => take(progress, one)?,
            Err(RecvTimeoutError::Disconnected) => return Ok(true),
            Err(RecvTimeoutError::Timeout) if Instant::now() > limit + GRACE => return Ok(false),
            Err(RecvTimeoutError::Timeout) => {}
        }
        progress.go_on()?;
    }
}
