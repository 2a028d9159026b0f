//! The shared cache: entries of key, checksum and payload in the region, found by hash, under any latch.

use crate::child::Child;
use crate::operation::{Operation, child_of, hash};
use crate::plan::Plan;
use crate::protocols::Latch;
use crate::region::Region;
use crate::seat::Me;
use crate::sync::{AtomicU32, AtomicU64, Ordering};
use crate::worker::Worker;

/// Any cache as a subject.
pub trait Cache: Sync {
    /// Looks up or updates; `false` when the payload did not fit its checksum.
    fn operate(&self, operation: Operation, worker: &Worker) -> bool;

    /// After the death of worker `dead` (an id).
    fn mend(&self, _dead: u32, _me: &Me) {}

    /// Gets counted under the exclusive latch, without atomic additions.
    fn guarded(&self) -> u64 {
        0
    }
}

/// Word `index` of a payload, and what it adds to the checksum.
pub fn word(nonce: u64, index: usize) -> u64 {
    nonce.wrapping_add(index as u64).wrapping_mul(0x2545_f491_4f6c_dd1d)
}

pub fn checksum(words: impl Iterator<Item = u64>) -> u64 {
    words.fold(0x51ed_270b, |sum, word| sum.rotate_left(5) ^ word)
}

/// A payload outside the region, for caches that keep their own: its checksum comes first.
pub fn payload(nonce: u64, bytes: usize) -> Box<[u64]> {
    let words: Vec<u64> = (0..bytes.div_ceil(8)).map(|index| word(nonce, index)).collect();
    std::iter::once(checksum(words.iter().copied())).chain(words.iter().copied()).collect()
}

/// Whether such a payload fits its checksum.
pub fn intact(payload: &[u64]) -> bool {
    payload.split_first().is_some_and(|(sum, words)| checksum(words.iter().copied()) == *sum)
}

const KEY: usize = 0;
const NEXT: usize = 1;
const SUM: usize = 2;
const HEAD: usize = 3;

/// Chained hash table in the region; every key is in it. All cells are atomic, for optimistic readers
/// look while a writer changes; relaxed, for the latch orders them.
struct Entries<'r> {
    buckets: &'r [AtomicU32],
    cells: &'r [AtomicU64],
    stride: usize,
    words: usize,
}

impl<'r> Entries<'r> {
    fn new(region: &'r Region, plan: &Plan) -> Self {
        let words = plan.payload_bytes.div_ceil(8);
        let stride = (HEAD + words).next_multiple_of(8);
        let buckets = region.place(plan.keys.next_power_of_two(), |_| AtomicU32::new(0));
        let cells = region.place(plan.keys * stride, |_| AtomicU64::new(0));
        let entries = Self { buckets, cells, stride, words };
        for key in 0..plan.keys as u32 {
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

    fn find(&self, key: u32) -> Option<usize> {
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

    fn read(&self, number: usize) -> bool {
        let entry = self.entry(number);
        let words = entry[HEAD..HEAD + self.words].iter().map(|word| word.load(Ordering::Relaxed));
        checksum(words) == entry[SUM].load(Ordering::Relaxed)
    }

    fn write(&self, number: usize, nonce: u64) {
        let entry = self.entry(number);
        for (index, cell) in entry[HEAD..HEAD + self.words].iter().enumerate() {
            cell.store(word(nonce, index), Ordering::Relaxed);
        }
        let sum = checksum((0..self.words).map(|index| word(nonce, index)));
        entry[SUM].store(sum, Ordering::Relaxed);
    }
}

/// The cache under one latch, or under child latches by the hash of the key.
pub struct Latched<'r, L> {
    entries: Entries<'r>,
    children: &'r [Child<L>],
}

impl<'r, L: Latch> Latched<'r, L> {
    pub fn new(region: &'r Region, plan: &Plan) -> Self {
        Self { entries: Entries::new(region, plan), children: region.place(plan.children, Child::new) }
    }

    /// What is done under the latch; whether the payload fitted its checksum.
    #[inline]
    fn visit(&self, operation: Operation, last: bool, worker: &Worker) -> bool {
        let good = match self.entries.find(operation.key) {
            Some(entry) if last && operation.update => {
                let writing = &worker.me.seat().writing;
                writing.store(entry as u32 + 1, Ordering::Relaxed);
                self.entries.write(entry, worker.nonce());
                writing.store(0, Ordering::Relaxed);
                true
            }
            Some(entry) if last => self.entries.read(entry),
            found => found.is_some(),
        };
        worker.hold(operation.long && last);
        good
    }
}

impl<L: Latch> Cache for Latched<'_, L> {
    fn operate(&self, operation: Operation, worker: &Worker) -> bool {
        let number = child_of(operation.key, self.children.len());
        let holding = &worker.me.seat().holding;
        let mut sound = true;
        for get in 1..=worker.gets {
            let last = get == worker.gets;
            let mode = Child::<L>::mode(operation.update && last);
            let begin_ns = worker.look_ns();
            sound &= self.children[number].get(mode, worker, |wait| {
                let got_ns = worker.look_ns();
                holding.store(number as u32 + 1, Ordering::Relaxed);
                let good = self.visit(operation, last, worker);
                holding.store(0, Ordering::Relaxed);
                worker.note(wait, begin_ns, got_ns);
                good
            });
        }
        sound
    }

    /// An entry left half changed is written anew before anyone may read it.
    fn mend(&self, dead: u32, me: &Me) {
        if let Some(entry) = me.of(dead).writing.swap(0, Ordering::Relaxed).checked_sub(1) {
            self.entries.write(entry as usize, 2);
        }
        self.children.iter().for_each(|child| child.mend(dead, me));
    }

    fn guarded(&self) -> u64 {
        self.children.iter().map(|child| child.guarded()).sum()
    }
}
