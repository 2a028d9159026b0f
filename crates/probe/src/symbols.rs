//! Names: of processes and threads, of functions in the kernel and in programs.

pub mod functions;
pub mod kernel;
pub mod processes;
pub mod program;
mod prologue;
