//! Sockets and waiting for them.
//!
//! - [`transport`]: a socket, with or without TLS
//! - [`poll`]: epoll, with a timeout in nanoseconds
//! - [`uring`]: io_uring, where the kernel has it and nothing is encrypted

pub mod poll;
pub mod transport;
pub mod uring;
