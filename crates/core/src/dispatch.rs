//! Bindings of `steelyard-dispatch`.

use pyo3::prelude::*;
use steelyard_dispatch::engine::{self, Listener};
use steelyard_dispatch::plan::Plan;

use crate::caller::Caller;
use crate::load::PlanError;

impl Listener for Caller {
    fn event(&mut self, line: &str) -> bool {
        self.tell(line)
    }

    fn go_on(&mut self) -> bool {
        self.unsignalled()
    }
}

#[pyfunction]
fn dispatch_run(py: Python<'_>, plan_json: &str, on_event: Py<PyAny>) -> PyResult<String> {
    let refuse = |error: steelyard_dispatch::error::PlanError| PlanError::new_err(error.to_string());
    let plan = Plan::parse(plan_json).map_err(refuse)?;
    let mut caller = Caller::new(on_event);
    let outcome = py.detach(|| engine::run(&plan, &mut caller)).map_err(refuse)?;
    // it stops early only for what Python raised
    match (outcome, caller.raised) {
        (Some(result), None) => Ok(result),
        (_, Some(raised)) => Err(raised),
        (None, None) => Err(PlanError::new_err("the simulation was stopped")),
    }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(dispatch_run, module)?)
}
