//! Bindings of `steelyard-latch`.

use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use steelyard_latch::calibrate::calibrate;
use steelyard_latch::calibrate::latches::compare;
use steelyard_latch::engine;
use steelyard_latch::error::LatchError;
use steelyard_latch::plan::{Plan, check_cpus};
use steelyard_latch::registry::{PROTOCOLS, Protocol, latches};
use steelyard_latch::simulate::plan::SimulationPlan;
use steelyard_latch::simulate::simulate;
use steelyard_latch::workers::interleaved::{Circumstance, interleaved};

use crate::caller::Caller;
use crate::error::{LoadError, PlanError, refuse};

#[pyfunction]
fn latch_run(py: Python<'_>, plan_json: &str, on_event: Py<PyAny>) -> PyResult<String> {
    let plan = Plan::parse(plan_json).map_err(refuse)?;
    let mut caller = Caller::new(on_event);
    let outcome = py.detach(|| engine::run(&plan, &mut caller));
    match (outcome, caller.raised) {
        (_, Some(raised)) => Err(raised),
        (Ok(result), None) => Ok(result),
        (Err(error @ LatchError::Workers(_)), None) => Err(PyOSError::new_err(error.to_string())),
        (Err(error), None) => Err(LoadError::new_err(error.to_string())),
    }
}

#[pyfunction]
fn latch_check(plan_json: &str) -> PyResult<()> {
    Plan::parse(plan_json).map_err(refuse).map(|_| ())
}

#[pyfunction]
fn latch_protocols(py: Python<'_>) -> PyResult<Vec<Bound<'_, pyo3::types::PyDict>>> {
    let row = |protocol: &Protocol| {
        let facts = protocol.facts;
        let row = pyo3::types::PyDict::new(py);
        row.set_item("name", facts.name)?;
        row.set_item("source", facts.source)?;
        row.set_item("processes", facts.processes)?;
        row.set_item("shared", facts.shared)?;
        row.set_item("children", facts.children)?;
        row.set_item("spin", facts.spin)?;
        row.set_item("spins", facts.spins)?;
        row.set_item("in_turn", facts.in_turn)?;
        row.set_item("sees_misses", facts.misses)?;
        row.set_item("sees_sleeps", facts.sleeps)?;
        row.set_item("recovers", facts.mends)?;
        Ok(row)
    };
    PROTOCOLS.iter().map(row).collect()
}

fn some_cpus(cpus: &[usize]) -> PyResult<()> {
    if cpus.is_empty() {
        return Err(PlanError::new_err("cpus: needs at least one"));
    }
    check_cpus(cpus).map_err(refuse)
}

#[pyfunction]
fn latch_calibrate(py: Python<'_>, cpus: Vec<usize>) -> PyResult<String> {
    some_cpus(&cpus)?;
    Ok(py.detach(|| calibrate(&cpus).to_string()))
}

#[pyfunction]
fn latch_costs(py: Python<'_>, cpus: Vec<usize>, rounds: usize) -> PyResult<String> {
    some_cpus(&cpus)?;
    Ok(py.detach(|| compare(&latches(), &cpus, rounds).to_string()))
}

#[pyfunction]
fn latch_turns(
    py: Python<'_>,
    plan_json: &str,
    circumstances: Vec<String>,
    rounds: usize,
) -> PyResult<String> {
    let plan = Plan::parse(plan_json).map_err(refuse)?;
    let [first, .., last] = plan.cpus[..] else {
        return Err(PlanError::new_err("cpus: needs two"));
    };
    let among: Vec<Circumstance> = serde_json::from_value(circumstances.into())
        .map_err(|error| PlanError::new_err(format!("circumstances: {error}")))?;
    let rows = py.detach(|| interleaved(&plan, [first, last], &among, rounds));
    rows.map(|rows| rows.to_string()).map_err(|error| PyOSError::new_err(error.to_string()))
}

#[pyfunction]
fn latch_simulate(py: Python<'_>, plan_json: &str) -> PyResult<String> {
    let plan = SimulationPlan::parse(plan_json).map_err(refuse)?;
    let forecast = py.detach(|| simulate(&plan));
    Ok(forecast.to_json())
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(latch_run, module)?)?;
    module.add_function(wrap_pyfunction!(latch_check, module)?)?;
    module.add_function(wrap_pyfunction!(latch_protocols, module)?)?;
    module.add_function(wrap_pyfunction!(latch_calibrate, module)?)?;
    module.add_function(wrap_pyfunction!(latch_costs, module)?)?;
    module.add_function(wrap_pyfunction!(latch_turns, module)?)?;
    module.add_function(wrap_pyfunction!(latch_simulate, module)?)?;
    Ok(())
}
