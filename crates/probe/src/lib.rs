//! Probes of the kernel by perf events: CPU time, waits for locks, the scheduling of tasks; and of a server
//! program: gets of latches and sleeps for them.
//!
//! The rooms, each of which uses only those above it:
//!
//! - [`error`]: errors of plans and sources
//! - [`plan`]: the plan of the probes, as JSON
//! - [`perf`]: perf events, their rings and records, tracepoints, uprobes
//! - [`symbols`]: names of processes, threads and functions
//! - [`sources`]: the events of each source, and the facts in their records
//! - [`tallies`]: profile, locks, latches and scheduling, by role
//! - [`result`]: the tallies as columns of JSON
//! - [`router`]: routes each record to its tally
//! - [`drain`]: the thread that reads the rings in the order of time
//! - [`collector`]: opens the sources and the windows in which they record

pub mod collector;
pub mod drain;
pub mod error;
pub mod perf;
pub mod plan;
pub mod result;
pub mod router;
pub mod sources;
pub mod symbols;
pub mod tallies;
