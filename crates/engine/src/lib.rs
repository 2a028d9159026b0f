//! What every engine shares, whatever it drives.
//!
//! - [`error`]: a plan that cannot be run
//! - [`listener`]: the caller, which receives events and can stop a run
//! - [`phase`]: when each phase of a run was
//! - [`histogram`]: histograms of latencies and their encoding
//! - [`columns`]: rows as columns of JSON
//! - [`clock`]: monotonic time
//! - [`pinning`]: binding a thread to CPUs
//! - [`usage`]: what a thread has used of its CPU
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
