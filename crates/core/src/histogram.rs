//! Bindings of `steelyard_engine::histogram`.

use hdrhistogram::Histogram;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use steelyard_engine::histogram;

fn decode(encoded: &[u8]) -> PyResult<Histogram<u64>> {
    histogram::decode(encoded).map_err(PyValueError::new_err)
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
    Ok(PyBytes::new(py, &histogram::encode(&histogram::merge(histograms.iter()))))
}

#[pyfunction]
fn histogram_of<'py>(py: Python<'py>, counts: Vec<(u64, u64)>) -> Bound<'py, PyBytes> {
    let mut histogram = histogram::empty();
    for (value_ns, count) in counts {
        histogram.saturating_record_n(value_ns, count);
    }
    PyBytes::new(py, &histogram::encode(&histogram))
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(histogram_quantiles, module)?)?;
    module.add_function(wrap_pyfunction!(histogram_summary, module)?)?;
    module.add_function(wrap_pyfunction!(histogram_merge, module)?)?;
    module.add_function(wrap_pyfunction!(histogram_of, module)?)
}
