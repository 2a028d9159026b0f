//! Python as the listener of an engine.

use pyo3::prelude::*;
use steelyard_engine::listener::Listener;

/// Hands events to Python; keeps what Python raised.
pub struct Caller {
    on_event: Py<PyAny>,
    pub raised: Option<PyErr>,
}

impl Caller {
    pub fn new(on_event: Py<PyAny>) -> Self {
        Self { on_event, raised: None }
    }

    fn keep(&mut self, outcome: PyResult<()>) -> bool {
        match outcome {
            Ok(()) => true,
            Err(error) => {
                self.raised.get_or_insert(error);
                false
            }
        }
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
}
