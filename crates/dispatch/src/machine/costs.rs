//! The costs of the machine of a plan.

use crate::plan::Plan;

/// Times of the machine in ns, and its cache in lines.
#[derive(Debug, Clone, Copy)]
pub struct Costs {
    pub tick_ns: u64,
    pub switch_ns: u64,
    pub ast_ns: u64,
    pub nosteal_ns: u64,
    pub update_ns: u64,
    pub sample_ns: u64,
    pub rechoose_ticks: u64,
    pub cache_lines: f64,
    /// Stall for one line of near and of remote memory, overlap taken into account.
    pub near_line_ns: f64,
    pub remote_line_ns: f64,
}

impl Costs {
    pub fn new(plan: &Plan) -> Self {
        let machine = &plan.machine;
        let ns = |seconds: f64| (seconds * 1e9).round() as u64;
        let near_line_ns = machine.memory_latency_ns / machine.mlp;
        Self {
            tick_ns: 1_000_000_000 / u64::from(plan.hz),
            switch_ns: (machine.switch_cycles / machine.clock_ghz) as u64,
            ast_ns: (machine.ast_delay_us * 1e3) as u64,
            nosteal_ns: (machine.nosteal_us * 1e3) as u64,
            update_ns: ns(plan.update_s),
            sample_ns: ns(plan.sample_s),
            rechoose_ticks: machine.rechoose_ticks,
            cache_lines: machine.cache_kib * 1024.0 / machine.line_bytes,
            near_line_ns,
            remote_line_ns: machine.remote_latency_ns.map_or(near_line_ns, |ns| ns / machine.mlp),
        }
    }
}
