//! What a server may send: nothing is stored or awaited only because a length or a count says so.

use steelyard_engine::error::PlanError;

/// Columns or parameters of one statement: MySQL has at most 4096 and 65,535, PostgreSQL 1664 and 65,535.
pub const COLUMNS_MAX: u64 = 65_535;
/// Of a text that the server says, as much as a reader wants.
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

/// The beginning of a text that the server says.
pub fn clipped(text: &[u8]) -> String {
    String::from_utf8_lossy(&text[..text.len().min(TEXT_BYTES_MAX)]).into_owned()
}
