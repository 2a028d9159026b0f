//! The latch lab: a shared cache under any latch protocol, by threads or processes.
//!
//! The rooms, each of which uses only those above it:
//!
//! - [`error`]: errors of plans and runs
//! - [`primitives`]: atomics, worker slots, wait lists, shared memory, counters, CPUs
//! - [`protocols`]: the latches, one file per protocol
//! - [`caches`]: one lookup, the cache under a latch, and whole caches
//! - [`calibrate`]: the costs of this machine's primitives and of each latch
//! - [`registry`]: all protocols and caches by name
//! - [`plan`]: the plan of a run, as JSON, and its validation
//! - [`point`]: the state that the workers of one load point share
//! - [`workers`]: threads or processes, and the loops that they run
//! - [`engine`]: phases, load points, events and the result
//! - [`simulate`]: the same closed loop as discrete events
//!
//! Under the feature `loom` only the protocols and what they use are built.

#[cfg(not(feature = "loom"))]
pub mod caches;
#[cfg(not(feature = "loom"))]
pub mod calibrate;
#[cfg(not(feature = "loom"))]
pub mod engine;
pub mod error;
#[cfg(not(feature = "loom"))]
pub mod plan;
#[cfg(not(feature = "loom"))]
pub mod point;
pub mod primitives;
pub mod protocols;
#[cfg(not(feature = "loom"))]
pub mod registry;
#[cfg(not(feature = "loom"))]
pub mod simulate;
#[cfg(not(feature = "loom"))]
pub mod workers;
