//! One lookup: its key, its child latch, read or update.

/// One lookup, drawn before the run.
#[derive(Debug, Clone, Copy)]
pub struct Operation {
    pub key: u32,
    /// The last get of it is exclusive and changes the entry.
    pub update: bool,
    /// Its last hold is a long one.
    pub long: bool,
}

/// Spreads dense keys over 64 bits.
pub fn hash(key: u32) -> u64 {
    (u64::from(key) + 1)
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        .rotate_left(29)
        .wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

/// The child latch of a key.
pub fn child_of(key: u32, children: usize) -> usize {
    (((hash(key) >> 32) * children as u64) >> 32) as usize
}
