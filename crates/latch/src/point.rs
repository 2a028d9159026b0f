//! One load point: the state that its workers share, and the gate for their start and end.

pub mod gate;
pub mod state;
