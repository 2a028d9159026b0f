//! Solaris dispatch tables, and a simulated machine that dispatches threads by them.
//!
//! The rooms, each of which uses only those above it:
//!
//! - [`error`]: errors of tables and plans
//! - [`tables`]: the tables of TS (and IA), RT and FX, their printed form, the rules of the classes
//! - [`plan`]: the plan of a simulation, as JSON, and its validation
//! - [`machine`]: CPUs, threads, run queues, the cost of a switch
//! - [`record`]: counts, samples, the trace
//! - [`sim`]: the events: dispatch, placing, sleeps, wake-ups, updates
//! - [`result`]: the result as columns of JSON
//! - [`life`]: the life of a single thread
//! - [`engine`]: one simulation from plan to result
//! - [`calibrate`]: the cost of a switch and of a miss on this machine

pub mod calibrate;
pub mod engine;
pub mod error;
pub mod machine;
pub mod plan;
pub mod record;
pub mod result;
pub mod sim;
pub mod tables;
pub mod thread_life;
