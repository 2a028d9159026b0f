//! The entries of a cache in shared memory: key, checksum and payload, found by the hash of the key.

use super::Size;
use super::operation::hash;
use super::payload::{checksum, word};
use crate::primitives::shared_memory::SharedMemory;
use crate::primitives::sync::{AtomicU32, AtomicU64, Ordering};

const KEY: usize = 0;
const NEXT: usize = 1;
const SUM: usize = 2;
const HEAD: usize = 3;

/// A chained hash table that holds every key. All cells are atomic, because optimistic readers look while a
/// writer changes them, and relaxed, because the latch orders the accesses.
pub struct Entries<'r> {
    buckets: &'r [AtomicU32],
    cells: &'r [AtomicU64],
    stride: usize,
    words: usize,
}

impl<'r> Entries<'r> {
    pub fn new(memory: &'r SharedMemory, size: Size) -> Self {
        let words = size.payload_bytes.div_ceil(8);
        let stride = (HEAD + words).next_multiple_of(8);
        let buckets = memory.place(size.keys.next_power_of_two(), |_| AtomicU32::new(0));
        let cells = memory.place(size.keys * stride, |_| AtomicU64::new(0));
        let entries = Self { buckets, cells, stride, words };
        for key in 0..size.keys as u32 {
            let bucket = &buckets[entries.bucket(key)];
            let entry = entries.entry(key as usize);
            entry[KEY].store(key.into(), Ordering::Relaxed);
            entry[NEXT].store(bucket.swap(key + 1, Ordering::Relaxed).into(), Ordering::Relaxed);
            entries.write(key as usize, 1);
        }
        entries
    }

    fn bucket(&self, key: u32) -> usize {
        hash(key) as usize & (self.buckets.len() - 1)
    }

    fn entry(&self, number: usize) -> &'r [AtomicU64] {
        &self.cells[number * self.stride..][..self.stride]
    }

    /// The entry of a key.
    pub fn find(&self, key: u32) -> Option<usize> {
        let mut at = u64::from(self.buckets[self.bucket(key)].load(Ordering::Relaxed));
        while at != 0 {
            let entry = self.entry(at as usize - 1);
            if entry[KEY].load(Ordering::Relaxed) == u64::from(key) {
                return Some(at as usize - 1);
            }
            at = entry[NEXT].load(Ordering::Relaxed);
        }
        None
    }

    /// Whether the payload of an entry matches its checksum.
    pub fn read(&self, number: usize) -> bool {
        let entry = self.entry(number);
        let words = entry[HEAD..HEAD + self.words].iter().map(|word| word.load(Ordering::Relaxed));
        checksum(words) == entry[SUM].load(Ordering::Relaxed)
    }

    /// Writes a new payload and its checksum.
    pub fn write(&self, number: usize, nonce: u64) {
        let entry = self.entry(number);
        for (index, cell) in entry[HEAD..HEAD + self.words].iter().enumerate() {
            cell.store(word(nonce, index), Ordering::Relaxed);
        }
        let sum = checksum((0..self.words).map(|index| word(nonce, index)));
        entry[SUM].store(sum, Ordering::Relaxed);
    }
}
