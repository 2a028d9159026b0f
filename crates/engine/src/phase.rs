//! The phases of a run.

use serde_json::{Value, json};

use crate::columns::columns;

/// One phase of one point: when it was, monotonic ns, and with how many clients.
#[derive(Debug, Clone, Copy)]
pub struct Phase {
    pub point: usize,
    pub clients: usize,
    pub name: &'static str,
    pub start_ns: u64,
    pub end_ns: u64,
}

/// The table of phases.
pub fn phases(phases: &[Phase]) -> Value {
    columns(
        ["point", "clients", "phase", "start_ns", "end_ns"],
        phases.iter().map(|phase| {
            let Phase { point, clients, name, start_ns, end_ns } = phase;
            [json!(point), json!(clients), json!(name), json!(start_ns), json!(end_ns)]
        }),
    )
}
