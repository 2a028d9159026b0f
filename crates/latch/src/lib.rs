//! The latch lab: a shared cache under any latch protocol, by threads or processes.
//!
//! - [`sync`]: atomics and sleeping, real or as loom models them
//! - [`seat`]: a worker's place in queues, modes, what a wait cost
//! - [`wait_list`]: the FIFO list of sleepers
//! - [`protocols`]: the trait, one file a protocol, the table of names
//! - [`region`]: memory shared by threads or processes
//! - [`counters`]: what workers count there
//! - [`child`]: a latch, counted
//! - [`operation`]: one lookup
//! - [`cache`]: the cache under one latch or several
//! - [`plan`]: what to do, as JSON, and its validation
//! - [`draws`]: lookups drawn ahead
//! - [`worker`]: a worker as the cache knows it
//! - [`closed_loop`]: what it does from first to last
//! - [`cpu`]: keeping one busy, staying on it, losing it
//! - [`stage`]: region, cache and seats of one point
//! - [`crew`]: workers as threads or processes, and their deaths
//! - [`engine`]: phases, points, events
//! - [`result`]: a run's counts as columns of JSON
//! - [`costs`]: what a cache line and a look at the clock cost on this machine
//! - [`calibrate`]: all such costs, as a study keeps them
//! - [`wakes`]: how soon a sleeper runs again
//! - [`alone`]: what a get and a hand-over of each latch cost
//! - [`turns`]: the closed loop under circumstances that alternate in short turns
//! - [`simulate`]: the same closed loop as discrete events

#[cfg(not(feature = "loom"))]
pub mod alone;
#[cfg(not(feature = "loom"))]
pub mod cache;
#[cfg(not(feature = "loom"))]
pub mod calibrate;
#[cfg(not(feature = "loom"))]
pub mod child;
#[cfg(not(feature = "loom"))]
pub mod closed_loop;
#[cfg(not(feature = "loom"))]
pub mod costs;
#[cfg(not(feature = "loom"))]
pub mod counters;
#[cfg(not(feature = "loom"))]
pub mod cpu;
#[cfg(not(feature = "loom"))]
pub mod crew;
#[cfg(not(feature = "loom"))]
pub mod draws;
#[cfg(not(feature = "loom"))]
pub mod engine;
pub mod error;
#[cfg(not(feature = "loom"))]
pub mod hand_overs;
#[cfg(not(feature = "loom"))]
pub mod operation;
#[cfg(not(feature = "loom"))]
pub mod pauses;
#[cfg(not(feature = "loom"))]
pub mod plan;
pub mod protocols;
#[cfg(not(feature = "loom"))]
pub mod region;
#[cfg(not(feature = "loom"))]
pub mod result;
pub mod seat;
#[cfg(not(feature = "loom"))]
pub mod simulate;
#[cfg(not(feature = "loom"))]
pub mod stage;
pub mod sync;
#[cfg(not(feature = "loom"))]
pub mod turns;
pub mod wait_list;
#[cfg(not(feature = "loom"))]
pub mod wakes;
#[cfg(not(feature = "loom"))]
pub mod worker;
