//! Bindings of `steelyard_confine`.

use std::path::PathBuf;

use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use steelyard_confine::{Permissions, Support, support};

#[pyfunction]
fn confine_thread(write: Vec<PathBuf>, bind: Vec<u16>, connect: Vec<u16>) -> PyResult<()> {
    steelyard_confine::confine_thread(&Permissions { write, bind, connect })
        .map_err(|error| PyOSError::new_err(error.to_string()))
}

#[pyfunction]
fn confinement() -> &'static str {
    match support() {
        Support::None => "",
        Support::Files => "files",
        Support::FilesAndNetwork => "files and network",
    }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(confine_thread, module)?)?;
    module.add_function(wrap_pyfunction!(confinement, module)?)
}
