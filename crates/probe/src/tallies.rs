//! The tallies of the records, by load point and role.

pub mod latches;
mod lock_kinds;
pub mod locks;
pub mod profile;
pub mod scheduling;
pub mod task;
