//! The parts of latches and workers; nothing here depends on a protocol.

#[cfg(not(feature = "loom"))]
pub mod counters;
#[cfg(not(feature = "loom"))]
pub mod cpu;
#[cfg(not(feature = "loom"))]
pub mod shared_memory;
pub mod slot;
pub mod sync;
#[cfg(not(feature = "loom"))]
pub mod times;
pub mod wait_list;
