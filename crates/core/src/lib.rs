//! `steelyard._core`: Python's view of the crates, one module for each, and for what they share.

use pyo3::prelude::*;

mod calibrate;
mod caller;
mod confine;
mod dispatch;
mod error;
mod histogram;
mod latch;
mod load;
mod probe;

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    error::register(module)?;
    histogram::register(module)?;
    load::register(module)?;
    latch::register(module)?;
    dispatch::register(module)?;
    probe::register(module)?;
    confine::register(module)?;
    calibrate::register(module)
}
