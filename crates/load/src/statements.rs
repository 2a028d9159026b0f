//! Statements ready to be sent: transactions, texts and values.
//!
//! - [`lexer`]: SQL as tokens, by the rules of a dialect
//! - [`template`]: a statement's template and the texts made from it
//! - [`distributions`]: generators of values
//! - [`value`]: a value and how it is written
//! - [`scalar`]: what expressions compute with
//! - [`permutation`]: one of their functions
//! - [`functions`]: all of them, by name
//! - [`expression`]: an expression made ready
//! - [`program`]: the steps of a transaction in a row
//! - [`queues`]: messages between transactions
//! - [`recipe`]: one kind of transaction, with the values that its statements share
//! - [`work`]: the plan made ready, which all clients share
//! - [`deck`]: a client's shuffled deck of transactions
//! - [`draw`]: what one client draws of it
//! - [`capture`]: the sessions of a capture, and what one client plays of them
//! - [`walk`]: where one client is in the steps of a transaction

pub mod capture;
pub mod deck;
pub mod distributions;
pub mod draw;
pub mod expression;
pub mod functions;
pub mod lexer;
pub mod permutation;
pub mod program;
pub mod queues;
pub mod recipe;
pub mod scalar;
pub mod template;
pub mod value;
pub mod walk;
pub mod work;
