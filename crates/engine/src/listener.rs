//! The caller of a run.

use std::time::Duration;

/// Receives a run's events. Either answer `false` stops the run.
pub trait Listener {
    /// A line of JSON: a phase begins, workers have started, a second of load has passed, or a second
    /// without any other event.
    fn event(&mut self, line: &str) -> bool;
    /// Called several times a second.
    fn go_on(&mut self) -> bool;
    /// The next command of the caller, for an engine that works in turns; none within `wait`.
    fn command(&mut self, _wait: Duration) -> Option<String> {
        None
    }
}
