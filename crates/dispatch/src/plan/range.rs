//! The check of a number against its bounds.

use steelyard_engine::error::PlanError;

/// The longest time of a plan.
pub const DURATION_S_MAX: f64 = 1e6;

/// Refuses a value that is not within its bounds, and NaN.
pub fn range(field: &str, value: f64, low: f64, high: f64) -> Result<(), PlanError> {
    if (low..=high).contains(&value) {
        Ok(())
    } else {
        Err(PlanError::new(field, format!("{value} is not {low} to {high}")))
    }
}
