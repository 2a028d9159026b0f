//! The parts of the simulated machine: CPUs, threads, run queues, costs.

pub mod costs;
pub mod queue;
pub mod reload;
pub mod thread;
pub mod topology;
