//! Bindings of `steelyard-probe`.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use steelyard_probe::collector::Collector;
use steelyard_probe::plan::Plan;
use steelyard_probe::sources::source::{Purpose, Window};

use crate::error::refuse;

#[pyclass(module = "steelyard._core")]
struct Probe(Collector);

#[pymethods]
impl Probe {
    #[new]
    fn new(py: Python<'_>, plan_json: &str) -> PyResult<Self> {
        let plan = Plan::parse(plan_json).map_err(refuse)?;
        Ok(Probe(py.detach(|| Collector::start(&plan))))
    }

    #[getter]
    fn refused(&self) -> Vec<(&'static str, String)> {
        self.0.refused.clone()
    }

    fn open(
        &mut self,
        py: Python<'_>,
        purpose: &str,
        point: usize,
        start_ns: u64,
        end_ns: u64,
    ) -> PyResult<()> {
        let purpose = match purpose {
            "measure" => Purpose::Measure,
            "scheduling-trace" => Purpose::SchedulingTrace,
            "latch-count" => Purpose::LatchCount,
            other => {
                return Err(PyValueError::new_err(format!(
                    "no purpose {other:?}: measure, scheduling-trace or latch-count"
                )));
            }
        };
        // breakpoints are set in every process of a server
        py.detach(|| self.0.open(Window { purpose, point, start_ns, end_ns }));
        Ok(())
    }

    fn close(&mut self, py: Python<'_>) {
        py.detach(|| self.0.close());
    }

    fn finish(&mut self, py: Python<'_>) -> Option<String> {
        py.detach(|| self.0.finish()).map(|outcome| outcome.to_json())
    }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Probe>()
}
