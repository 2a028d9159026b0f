//! The description of the simulated machine, as JSON.

use serde::Deserialize;
use steelyard_engine::error::PlanError;

use super::range::range;

const CPUS_MAX: u32 = 4096;

/// The simulated machine.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    pub cpus: u32,
    /// CPUs that share a cache.
    #[serde(default = "one")]
    pub cpus_per_chip: u32,
    /// Latency groups: the CPUs in equal parts, in order.
    #[serde(default = "one")]
    pub lgroups: u32,
    pub clock_ghz: f64,
    pub memory_latency_ns: f64,
    /// Latency of another group's memory; none: as near memory.
    pub remote_latency_ns: Option<f64>,
    /// One chip's cache.
    pub cache_kib: f64,
    #[serde(default = "line")]
    pub line_bytes: f64,
    /// Misses that the machine overlaps.
    #[serde(default = "overlap")]
    pub mlp: f64,
    /// Direct cost of a switch. 7,600: 3.8 us at 2 GHz, Li, Ding & Shen 2007.
    #[serde(default = "switch")]
    pub switch_cycles: f64,
    /// From the request to preempt to the running thread's next entry into the kernel.
    #[serde(default)]
    pub ast_delay_us: f64,
    /// A thread that has just been queued where it ran is not stolen for so long.
    #[serde(default = "nosteal")]
    pub nosteal_us: f64,
    /// A thread off its CPU for at most so many ticks goes back there.
    #[serde(default = "rechoose")]
    pub rechoose_ticks: u64,
}

fn one() -> u32 {
    1
}
fn line() -> f64 {
    64.0
}
fn overlap() -> f64 {
    4.0
}
fn switch() -> f64 {
    7600.0
}
fn nosteal() -> f64 {
    100.0
}
fn rechoose() -> u64 {
    3
}

impl Machine {
    /// A machine on which switches cost nothing.
    pub fn free(cpus: u32) -> Self {
        Self {
            cpus,
            cpus_per_chip: 1,
            lgroups: 1,
            clock_ghz: 1.0,
            memory_latency_ns: 0.0,
            remote_latency_ns: None,
            cache_kib: 0.0,
            line_bytes: line(),
            mlp: overlap(),
            switch_cycles: 0.0,
            ast_delay_us: 0.0,
            nosteal_us: nosteal(),
            rechoose_ticks: rechoose(),
        }
    }

    /// The error names the field.
    pub fn check(&self) -> Result<(), PlanError> {
        range("machine.cpus", f64::from(self.cpus), 1.0, f64::from(CPUS_MAX))?;
        range("machine.cpus_per_chip", f64::from(self.cpus_per_chip), 1.0, f64::from(self.cpus))?;
        range("machine.lgroups", f64::from(self.lgroups), 1.0, f64::from(self.cpus))?;
        range("machine.clock_ghz", self.clock_ghz, 1e-3, 1e3)?;
        range("machine.memory_latency_ns", self.memory_latency_ns, 0.0, 1e9)?;
        range("machine.remote_latency_ns", self.remote_latency_ns.unwrap_or(0.0), 0.0, 1e9)?;
        range("machine.cache_kib", self.cache_kib, 0.0, 1e9)?;
        range("machine.line_bytes", self.line_bytes, 1.0, 65_536.0)?;
        range("machine.mlp", self.mlp, 1.0, 1e3)?;
        range("machine.switch_cycles", self.switch_cycles, 0.0, 1e9)?;
        range("machine.ast_delay_us", self.ast_delay_us, 0.0, 1e6)?;
        range("machine.nosteal_us", self.nosteal_us, 0.0, 1e6)
    }
}
