//! Payloads and their checksums: a reader that sees half a change finds that they do not match.

/// Word `index` of a payload made from `nonce`.
pub fn word(nonce: u64, index: usize) -> u64 {
    nonce.wrapping_add(index as u64).wrapping_mul(0x2545_f491_4f6c_dd1d)
}

pub fn checksum(words: impl Iterator<Item = u64>) -> u64 {
    words.fold(0x51ed_270b, |sum, word| sum.rotate_left(5) ^ word)
}

/// A payload outside the shared memory, for caches that keep their own: its checksum comes first.
pub fn payload(nonce: u64, bytes: usize) -> Box<[u64]> {
    let words: Vec<u64> = (0..bytes.div_ceil(8)).map(|index| word(nonce, index)).collect();
    std::iter::once(checksum(words.iter().copied())).chain(words.iter().copied()).collect()
}

/// Whether such a payload matches its checksum.
pub fn intact(payload: &[u64]) -> bool {
    payload.split_first().is_some_and(|(sum, words)| checksum(words.iter().copied()) == *sum)
}
