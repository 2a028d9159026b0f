//! Exceptions that every engine raises.

use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

create_exception!(steelyard._core, PlanError, PyException, "The plan cannot be run.");
create_exception!(steelyard._core, LoadError, PyException, "The run could not start or go on.");

pub fn refuse(error: steelyard_engine::error::PlanError) -> PyErr {
    PlanError::new_err(error.to_string())
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("PlanError", module.py().get_type::<PlanError>())?;
    module.add("LoadError", module.py().get_type::<LoadError>())
}
