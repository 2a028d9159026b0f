//! Statements ready to be sent: transactions, texts and values.
//!
//! - [`template`]: a statement's template and the texts made from it
//! - [`distributions`]: generators of values
//! - [`value`]: a value and how it is written
//! - [`recipe`]: one kind of transaction, with the values that its statements share
//! - [`work`]: the plan made ready, which all clients share
//! - [`draw`]: what one client draws of it

pub mod distributions;
pub mod draw;
pub mod recipe;
pub mod template;
pub mod value;
pub mod work;
