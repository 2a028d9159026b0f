//! Probes of the kernel by perf events: where CPU time goes, what waits for locks, how tasks are scheduled; and of
//! a server program: how long its processes sleep for latches.
//!
//! - [`plan`]: what to probe, as JSON
//! - [`tracepoint`]: numbers of tracepoints, from tracefs
//! - [`uprobes`]: tracepoints of our own at functions of programs
//! - [`program`], [`prologue`]: where functions of programs lie, and where a breakpoint in them is cheap
//! - [`semaphore`], [`acquire`]: where a PostgreSQL sleeps until it gets a latch, and asks for it
//! - [`event`]: perf events on one CPU
//! - [`ring`]: the memory that the kernel writes records to
//! - [`record`]: records parsed
//! - [`processes`]: roles, names and mappings of processes, also of those that have exited
//! - [`kallsyms`]: names of kernel functions
//! - [`symbols`]: names of functions in programs
//! - [`profile`], [`locks`], [`latches`], [`sched`]: what is kept of the records, by role
//! - [`sources`]: which events each source needs, and what their records say
//! - [`keeper`]: gives each record to whom it concerns
//! - [`collector`]: opens the sources; one thread drains the rings in the order of time
//! - [`result`], as columns

pub mod acquire;
pub mod collector;
pub mod error;
pub mod event;
pub mod kallsyms;
pub mod keeper;
pub mod latches;
pub mod locks;
pub mod plan;
pub mod processes;
pub mod profile;
pub mod program;
pub mod prologue;
pub mod record;
pub mod result;
pub mod ring;
pub mod sched;
pub mod semaphore;
pub mod sources;
pub mod symbols;
pub mod tracepoint;
pub mod uprobes;
