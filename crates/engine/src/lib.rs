//! Shared parts of all engines.
//!
//! - [`error`]: a plan that cannot be run
//! - [`listener`]: the caller, which receives events and can stop a run
//! - [`phase`]: times of the phases of a run
//! - [`histogram`]: histograms of latencies and their encoding
//! - [`columns`]: rows as columns of JSON
//! - [`clock`]: monotonic time
//! - [`pinning`]: binding a thread to CPUs
//! - [`usage`]: CPU time and switches of a thread
//! - [`process`]: processes forked from this one

pub mod clock;
pub mod columns;
pub mod error;
pub mod histogram;
pub mod listener;
pub mod phase;
pub mod pinning;
pub mod process;
pub mod usage;
