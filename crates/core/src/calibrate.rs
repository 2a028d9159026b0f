//! Bindings of `steelyard_dispatch::calibrate`.

use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use steelyard_dispatch::calibrate;

fn failed(error: std::io::Error) -> PyErr {
    PyOSError::new_err(error.to_string())
}

#[pyfunction]
fn calibrate_switches(py: Python<'_>, cpu: usize, sets: Vec<usize>, repetitions: usize) -> PyResult<String> {
    let mut raised = None;
    let costs = py.detach(|| {
        calibrate::switches(cpu, &sets, repetitions, &mut || match Python::attach(|py| py.check_signals()) {
            Ok(()) => true,
            Err(error) => {
                raised = Some(error);
                false
            }
        })
    });
    match raised {
        Some(error) => Err(error),
        None => Ok(serde_json::json!(costs.map_err(failed)?.unwrap_or_default()).to_string()),
    }
}

#[pyfunction]
fn calibrate_memory(py: Python<'_>, cpu: usize, size_bytes: usize, repetitions: usize) -> PyResult<String> {
    let costs = py.detach(|| calibrate::chase(cpu, size_bytes, repetitions)).map_err(failed)?;
    Ok(serde_json::json!(costs).to_string())
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(calibrate_switches, module)?)?;
    module.add_function(wrap_pyfunction!(calibrate_memory, module)?)
}
