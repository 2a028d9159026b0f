//! Statements ready to be sent: transactions, texts and values.
//!
//! - [`template`]: a statement's template and the texts made from it
//! - [`values`]: values of parameters
//! - [`work`]: the plan made ready, which all clients share
//! - [`draw`]: what one client draws of it

pub mod distributions;
pub mod draw;
pub mod template;
pub mod work;
