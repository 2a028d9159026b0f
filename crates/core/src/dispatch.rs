//! Bindings of `steelyard-dispatch`.

use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyValueError};
use pyo3::prelude::*;
use steelyard_dispatch::engine;
use steelyard_dispatch::error::TableError as Misread;
use steelyard_dispatch::plan::Plan;
use steelyard_dispatch::tables::dispadmin::{parse_fx, parse_rt, parse_ts, print_fx, print_rt, print_ts};
use steelyard_dispatch::tables::{QuantumTable, TsTable};
use steelyard_dispatch::thread_life::thread_life;

use crate::caller::Caller;
use crate::error::{PlanError, refuse};

create_exception!(steelyard._core, TableError, PyException, "A table is wrong: (line, cause).");

#[pyfunction]
fn dispatch_run(py: Python<'_>, plan_json: &str, on_event: Py<PyAny>) -> PyResult<String> {
    let plan = Plan::parse(plan_json).map_err(refuse)?;
    let mut caller = Caller::new(on_event);
    let outcome = py.detach(|| engine::run(&plan, &mut caller)).map_err(refuse)?;
    // it stops early only when Python raised an exception
    match (outcome, caller.raised) {
        (Some(result), None) => Ok(result),
        (_, Some(raised)) => Err(raised),
        (None, None) => Err(PlanError::new_err("the simulation was stopped")),
    }
}

#[pyfunction]
fn dispatch_life(py: Python<'_>, request_json: &str) -> PyResult<String> {
    let changes = py.detach(|| thread_life(request_json)).map_err(refuse)?;
    Ok(changes.to_string())
}

/// A built-in table by its name, else one in dispadmin's form; printed as dispadmin prints it.
#[pyfunction]
fn dispatch_table(class_name: &str, table: &str, hz: u32) -> PyResult<String> {
    if hz == 0 {
        return Err(PyValueError::new_err("hz is not more than 0"));
    }
    let misread = |error: Misread| TableError::new_err((error.line, error.cause));
    match (class_name, table) {
        ("TS" | "IA", "standard") => Ok(print_ts(&TsTable::standard(), hz)),
        ("TS" | "IA", "extended") => Ok(print_ts(&TsTable::extended(), hz)),
        ("RT", "standard") => Ok(print_rt(&QuantumTable::rt(), hz)),
        ("FX", "standard") => Ok(print_fx(&QuantumTable::fx(), hz)),
        ("TS" | "IA", text) => parse_ts(text).map(|table| print_ts(&table, hz)).map_err(misread),
        ("RT", text) => parse_rt(text).map(|table| print_rt(&table, hz)).map_err(misread),
        ("FX", text) => parse_fx(text).map(|table| print_fx(&table, hz)).map_err(misread),
        _ => Err(PyValueError::new_err(format!("no class \"{class_name}\": TS, IA, RT or FX"))),
    }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("TableError", module.py().get_type::<TableError>())?;
    module.add_function(wrap_pyfunction!(dispatch_run, module)?)?;
    module.add_function(wrap_pyfunction!(dispatch_life, module)?)?;
    module.add_function(wrap_pyfunction!(dispatch_table, module)?)
}
