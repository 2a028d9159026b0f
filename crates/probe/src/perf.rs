//! The kernel's interface: perf events, their rings and records, tracepoints, uprobes.

pub mod event;
pub mod record;
pub mod ring;
pub mod tracepoint;
pub mod uprobes;
