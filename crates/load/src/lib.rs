//! The load engine: N clients over M event loops, a plan in, counts and histograms out.
//!
//! The rooms, each of which uses only those above it:
//!
//! - [`error`]: what ends a run
//! - [`shared_memory`]: memory that forked processes share
//! - [`plan`]: what to do, as JSON, and its validation
//! - [`statements`]: the plan made ready: texts, values, transactions
//! - [`record`]: what is counted, and the result as columns of JSON
//! - [`progress`]: phases and events, the same over a protocol and in SQLite
//! - [`io`]: sockets, with epoll or io_uring
//! - [`protocol`]: wire protocols, a folder each
//! - [`client`]: the state machine of one client
//! - [`event_loop`]: one thread's clients under load
//! - [`engine`]: a run over a server's protocol
//! - [`sqlite`]: a run inside SQLite, by threads or processes of ours
//! - [`drivers`]: which of them drives a plan; the way in
//! - [`stub`]: a server that answers at once

pub mod client;
pub mod drivers;
pub mod engine;
pub mod error;
pub mod event_loop;
pub mod io;
pub mod plan;
pub mod progress;
pub mod protocol;
pub mod record;
pub mod shared_memory;
pub mod sqlite;
pub mod statements;
pub mod stub;
