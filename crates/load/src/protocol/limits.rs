//! Limits of a server's messages: lengths and counts that it sends are not trusted.

use steelyard_engine::error::PlanError;

/// Columns or parameters of one statement: MySQL has at most 4096 and 65,535, PostgreSQL 1664 and 65,535.
pub const COLUMNS_MAX: u64 = 65_535;
/// Kept length of a text from the server.
const TEXT_BYTES_MAX: usize = 2000;

/// Refuses a message of more than `most` bytes.
pub fn check_length(bytes: usize, most: usize) -> Result<(), PlanError> {
    if bytes <= most {
        return Ok(());
    }
    let mib = most >> 20;
    Err(PlanError::new(
        "server",
        format!("sends a message of {bytes} bytes, more than {mib} MiB: raise workload.message_mib_max"),
    ))
}

/// The beginning of a text from the server.
pub fn clipped(text: &[u8]) -> String {
    String::from_utf8_lossy(&text[..text.len().min(TEXT_BYTES_MAX)]).into_owned()
}
