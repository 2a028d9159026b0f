//! Python as the listener of an engine.

use std::time::Duration;

use pyo3::prelude::*;
use steelyard_engine::listener::Listener;

/// Hands events to Python; keeps what Python raised.
pub struct Caller {
    on_event: Py<PyAny>,
    commands: Option<Py<PyAny>>,
    pub raised: Option<PyErr>,
}

impl Caller {
    pub fn new(on_event: Py<PyAny>) -> Self {
        Self { on_event, commands: None, raised: None }
    }

    /// commands: called with the longest wait (s), gives the next command or None.
    pub fn with_commands(on_event: Py<PyAny>, commands: Option<Py<PyAny>>) -> Self {
        Self { commands, ..Self::new(on_event) }
    }

    fn keep(&mut self, outcome: PyResult<()>) -> bool {
        if let Err(error) = outcome {
            self.raised.get_or_insert(error);
        }
        self.raised.is_none()
    }
}

impl Listener for Caller {
    fn event(&mut self, line: &str) -> bool {
        let outcome = Python::attach(|py| self.on_event.call1(py, (line,)).map(|_| ()));
        self.keep(outcome)
    }

    /// False when a signal's handler raised.
    fn go_on(&mut self) -> bool {
        let outcome = Python::attach(|py| py.check_signals());
        self.keep(outcome)
    }

    fn command(&mut self, wait: Duration) -> Option<String> {
        let commands = self.commands.as_ref()?;
        let found =
            Python::attach(|py| commands.call1(py, (wait.as_secs_f64(),))?.extract::<Option<String>>(py));
        match found {
            Ok(line) => line,
            Err(error) => {
                self.keep(Err(error));
                None
            }
        }
    }
}
