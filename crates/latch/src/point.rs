//! One load point: what its workers share, and when they begin and end.

pub mod gate;
pub mod state;
