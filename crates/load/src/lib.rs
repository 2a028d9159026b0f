//! The load engine: N clients over M event loops, a plan in, counts and histograms out.
//!
//! - [`plan`]: what to do, as JSON, and its validation
//! - [`text`]: a statement's template and the texts made from it
//! - [`values`]: generators of parameters
//! - [`limits`]: what a server may send
//! - [`wire`]: PostgreSQL's messages, written and scanned
//! - [`mysql`]: MySQL's and MariaDB's packets, written and scanned
//! - [`transport`]: socket, with or without TLS
//! - [`session`]: connecting, authenticating, asking (blocking)
//! - [`work`]: the plan made ready
//! - [`client`]: the state machine of one client
//! - [`schedule`]: when clients start a transaction
//! - [`poll`]: epoll, with a timeout in nanoseconds
//! - [`uring`]: io_uring, where the kernel has it and nothing is encrypted
//! - [`event_loop`]: one thread's clients under load
//! - [`reconnect`]: new connections for lost ones, beside the loop
//! - [`record`]: what is counted
//! - [`conduct`]: phases and events, the same in every engine
//! - [`beside`]: work that waits for the server, while the run goes on telling
//! - [`engine`]: a run over a server's protocol
//! - [`sqlite`]: a run inside SQLite, by threads or processes of ours
//! - [`shared`]: memory that forked processes share
//! - [`result`]: a run's counts as columns of JSON
//! - [`stub`]: a server that answers at once

pub mod beside;
pub mod client;
pub mod conduct;
pub mod draw;
pub mod drivers;
pub mod engine;
pub mod error;
pub mod event_loop;
pub mod plan;
pub mod poll;
pub mod protocol;
pub mod reconnect;
pub mod record;
pub mod result;
pub mod schedule;
pub mod shared;
pub mod sqlite;
pub mod stub;
pub mod text;
pub mod transport;
pub mod uring;
pub mod values;
pub mod work;
