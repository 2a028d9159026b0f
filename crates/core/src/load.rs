//! Bindings of `steelyard-load`.

use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use steelyard_load::drivers::Job;
use steelyard_load::error::LoadError as EngineError;
use steelyard_load::statements::lexer::{Lexis, tokens};
use steelyard_load::statements::template;
use steelyard_load::{sqlite, stub};

use crate::caller::Caller;
use crate::error::{LoadError, PlanError, refuse};

#[pyfunction]
#[pyo3(signature = (plan_json, on_event, commands=None))]
fn load_run(
    py: Python<'_>,
    plan_json: &str,
    on_event: Py<PyAny>,
    commands: Option<Py<PyAny>>,
) -> PyResult<String> {
    let job = Job::parse(plan_json).map_err(refuse)?;
    let mut caller = Caller::with_commands(on_event, commands);
    let outcome = py.detach(|| job.run(&mut caller));
    match (outcome, caller.raised) {
        (_, Some(raised)) => Err(raised),
        (Ok(result), None) => Ok(result),
        (Err(error @ EngineError::Loop(_)), None) => Err(PyOSError::new_err(error.to_string())),
        (Err(error), None) => Err(LoadError::new_err(error.to_string())),
    }
}

#[pyfunction]
fn load_check(plan_json: &str) -> PyResult<()> {
    Job::parse(plan_json).map(|_| ()).map_err(refuse)
}

#[pyfunction]
fn load_trial(py: Python<'_>, plan_json: &str) -> PyResult<String> {
    let job = Job::parse(plan_json).map_err(refuse)?;
    py.detach(|| job.trial()).map_err(|error| LoadError::new_err(error.to_string()))
}

#[pyfunction]
fn sqlite_facts(py: Python<'_>, database_json: &str) -> PyResult<String> {
    py.detach(|| sqlite::facts(database_json)).map_err(|error| LoadError::new_err(error.to_string()))
}

#[pyfunction]
fn statement_parameters(sql: &str, dialect: &str) -> Vec<String> {
    template::parameters(sql, Lexis::named(dialect))
}

#[pyfunction]
fn statement_pieces(sql: &str, dialect: &str) -> Vec<(&'static str, String)> {
    template::pieces(sql, Lexis::named(dialect))
}

#[pyfunction]
fn sql_tokens<'a>(sql: &'a str, dialect: &str) -> Vec<(&'static str, &'a str)> {
    tokens(sql, Lexis::named(dialect)).map(|token| (token.kind.name(), token.text)).collect()
}

#[pyfunction]
fn stub_serve(py: Python<'_>, address: &str, config_json: &str, ready: Py<PyAny>) -> PyResult<()> {
    let config = stub::parse_config(config_json).map_err(PlanError::new_err)?;
    let mut raised = None;
    let outcome = py.detach(|| {
        let mut notified = Ok(());
        stub::serve(
            address,
            &config,
            || notified = Python::attach(|py| ready.call0(py).map(|_| ())),
            || match Python::attach(|py| py.check_signals()) {
                Ok(()) => true,
                Err(error) => {
                    raised = Some(error);
                    false
                }
            },
        )?;
        Ok::<_, std::io::Error>(notified)
    });
    if let Some(error) = raised {
        return Err(error);
    }
    outcome.map_err(|error| PyOSError::new_err(format!("{address}: {error}")))?
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(load_run, module)?)?;
    module.add_function(wrap_pyfunction!(load_check, module)?)?;
    module.add_function(wrap_pyfunction!(load_trial, module)?)?;
    module.add_function(wrap_pyfunction!(sqlite_facts, module)?)?;
    module.add_function(wrap_pyfunction!(statement_parameters, module)?)?;
    module.add_function(wrap_pyfunction!(statement_pieces, module)?)?;
    module.add_function(wrap_pyfunction!(sql_tokens, module)?)?;
    module.add_function(wrap_pyfunction!(stub_serve, module)?)?;
    Ok(())
}
