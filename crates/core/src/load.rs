//! Bindings of `steelyard-load`.

use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use steelyard_load::conduct::Listener;
use steelyard_load::engine;
use steelyard_load::error::LoadError as EngineError;
use steelyard_load::plan::Plan;
use steelyard_load::record::LatencyHistogram;
use steelyard_load::work::Work;
use steelyard_load::{record, result, sqlite, stub, text};

use crate::caller::Caller;

create_exception!(steelyard._core, PlanError, PyException, "The plan cannot be run.");
create_exception!(steelyard._core, LoadError, PyException, "The run could not start or go on.");

impl Listener for Caller {
    fn event(&mut self, line: &str) -> bool {
        self.tell(line)
    }

    fn go_on(&mut self) -> bool {
        self.unsignalled()
    }
}

#[pyfunction]
fn load_run(py: Python<'_>, plan_json: &str, on_event: Py<PyAny>) -> PyResult<String> {
    let refuse = |error: steelyard_load::error::PlanError| PlanError::new_err(error.to_string());
    let work = Work::new(Plan::parse(plan_json).map_err(refuse)?).map_err(refuse)?;
    let mut caller = Caller::new(on_event);
    let outcome = py.detach(|| match &work.plan.sqlite {
        Some(database) => sqlite::run(&work, database, &mut caller),
        None => engine::run(&work, &mut caller),
    });
    match (outcome, caller.raised) {
        (_, Some(raised)) => Err(raised),
        (Ok(result), None) => Ok(result),
        (Err(error @ EngineError::Loop(_)), None) => Err(PyOSError::new_err(error.to_string())),
        (Err(error), None) => Err(LoadError::new_err(error.to_string())),
    }
}

#[pyfunction]
fn sqlite_facts(py: Python<'_>, database_json: &str) -> PyResult<String> {
    py.detach(|| sqlite::facts(database_json)).map_err(|error| LoadError::new_err(error.to_string()))
}

#[pyfunction]
fn statement_parameters(sql: &str) -> Vec<String> {
    text::parameters(sql)
}

#[pyfunction]
fn stub_serve(py: Python<'_>, address: &str, config_json: &str, ready: Py<PyAny>) -> PyResult<()> {
    let config = stub::parse_config(config_json).map_err(PlanError::new_err)?;
    let mut raised = None;
    let outcome = py.detach(|| {
        let mut told = Ok(());
        stub::serve(
            address,
            &config,
            || told = Python::attach(|py| ready.call0(py).map(|_| ())),
            || match Python::attach(|py| py.check_signals()) {
                Ok(()) => true,
                Err(error) => {
                    raised = Some(error);
                    false
                }
            },
        )?;
        Ok::<_, std::io::Error>(told)
    });
    if let Some(error) = raised {
        return Err(error);
    }
    outcome.map_err(|error| PyOSError::new_err(format!("{address}: {error}")))?
}

fn decode(encoded: &[u8]) -> PyResult<LatencyHistogram> {
    record::decode(encoded).map_err(PyValueError::new_err)
}

#[pyfunction]
fn histogram_quantiles(encoded: &[u8], quantiles: Vec<f64>) -> PyResult<Vec<u64>> {
    let histogram = decode(encoded)?;
    Ok(quantiles.into_iter().map(|quantile| histogram.value_at_quantile(quantile)).collect())
}

#[pyfunction]
fn histogram_summary(encoded: &[u8]) -> PyResult<(u64, u64, f64, u64)> {
    let histogram = decode(encoded)?;
    Ok((histogram.len(), histogram.min(), histogram.mean(), histogram.max()))
}

#[pyfunction]
fn histogram_merge<'py>(py: Python<'py>, encoded: Vec<Vec<u8>>) -> PyResult<Bound<'py, PyBytes>> {
    let histograms = encoded.iter().map(|bytes| decode(bytes)).collect::<PyResult<Vec<_>>>()?;
    Ok(PyBytes::new(py, &record::encode(&result::merge(histograms.iter()))))
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("PlanError", module.py().get_type::<PlanError>())?;
    module.add("LoadError", module.py().get_type::<LoadError>())?;
    module.add_function(wrap_pyfunction!(load_run, module)?)?;
    module.add_function(wrap_pyfunction!(sqlite_facts, module)?)?;
    module.add_function(wrap_pyfunction!(statement_parameters, module)?)?;
    module.add_function(wrap_pyfunction!(stub_serve, module)?)?;
    module.add_function(wrap_pyfunction!(histogram_quantiles, module)?)?;
    module.add_function(wrap_pyfunction!(histogram_summary, module)?)?;
    module.add_function(wrap_pyfunction!(histogram_merge, module)?)?;
    Ok(())
}
