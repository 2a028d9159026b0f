//! What workers count, in shared memory so that it outlives them. Each cell has one writer.

use std::sync::atomic::compiler_fence;

use crate::seat::Wait;
use crate::sync::{AtomicU32, AtomicU64, Ordering};

/// A number with one writer: a plain addition, readable by others at any time.
#[derive(Default)]
pub struct Count(AtomicU64);

impl Count {
    #[inline]
    pub fn add(&self, amount: u64) {
        self.0.store(self.0.load(Ordering::Relaxed) + amount, Ordering::Relaxed);
    }

    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    pub fn set(&self, value: u64) {
        self.0.store(value, Ordering::Relaxed);
    }
}

/// One worker's gets of one latch, as Oracle counts them; on lines that nobody else writes, those first
/// that every get writes.
#[derive(Default)]
#[repr(C, align(128))]
pub struct Counters {
    /// What its last exclusive get left under the latch.
    left: Count,
    /// Of that the part that is not its own.
    others: Count,
    pub shared: Count,
    /// Exclusive gets whose previous holder was another worker.
    pub hand_overs: Count,
    /// Gets whose first try failed.
    pub misses: Count,
    /// Misses that never slept.
    pub spin_gets: Count,
    pub sleeps: Count,
    /// Slept; spins excluded.
    pub wait_ns: Count,
    /// Exclusive gets before it was measured.
    warm_up: Count,
}

impl Counters {
    /// An exclusive get that found `before` under the latch: as the last one left it, unless another was there.
    #[inline]
    pub fn got_exclusive(&self, before: u64, wait: Wait) {
        let left = self.left.get();
        self.left.set(before + 1);
        // killed in between it has too many, by what the others got since its last; never too few, which would be
        // less than none
        compiler_fence(Ordering::Release);
        if before != left {
            // less where an update was lost: its own gets come to the right number all the same
            self.others.set(self.others.get().wrapping_add(before).wrapping_sub(left));
            self.hand_overs.add(1);
        }
        self.waited(wait);
    }

    #[inline]
    pub fn got_shared(&self, wait: Wait) {
        self.shared.add(1);
        self.waited(wait);
    }

    #[inline]
    fn waited(&self, wait: Wait) {
        if wait.missed() {
            self.misses.add(1);
            if wait.sleeps() == 0 {
                self.spin_gets.add(1);
            } else {
                self.sleeps.add(wait.sleeps());
                self.wait_ns.add(wait.slept_ns);
            }
        }
    }

    /// Gets that exclude all others, of the whole point: what the count under the latch must come to.
    pub fn exclusive(&self) -> u64 {
        self.left.get().wrapping_sub(self.others.get())
    }

    pub fn gets(&self) -> u64 {
        self.exclusive() - self.warm_up.get() + self.shared.get()
    }

    /// From here on it is measured.
    pub fn restart(&self) {
        self.warm_up.set(self.exclusive());
        let Self { shared, hand_overs, misses, spin_gets, sleeps, wait_ns, .. } = self;
        for count in [shared, hand_overs, misses, spin_gets, sleeps, wait_ns] {
            count.set(0);
        }
    }
}

/// What one worker leaves behind, also when it is killed.
#[derive(Default)]
#[repr(align(128))]
pub struct Record {
    pub ready: AtomicU32,
    /// Lookups, warm-up included.
    pub done: Count,
    /// Payloads that did not fit their checksum.
    pub torn: Count,
    pub user_ns: Count,
    pub system_ns: Count,
    pub voluntary: Count,
    pub involuntary: Count,
}

/// Buckets: 64 to an octave, so a value is known to 1.6 %; up to 2^37 ns (137 s).
const SUB_BITS: u32 = 6;
const OCTAVES: usize = 31;
const BUCKETS: usize = (OCTAVES + 2) << SUB_BITS;

/// A histogram of ns with one writer.
pub struct Times {
    counts: [Count; BUCKETS],
    sum_ns: Count,
}

impl Default for Times {
    fn default() -> Self {
        Self { counts: std::array::from_fn(|_| Count::default()), sum_ns: Count::default() }
    }
}

fn bucket(ns: u64) -> usize {
    let octave = (63 - (ns | 1).leading_zeros()).saturating_sub(SUB_BITS);
    (((octave as usize) << SUB_BITS) + (ns >> octave) as usize).min(BUCKETS - 1)
}

/// The middle of a bucket.
fn middle_ns(bucket: usize) -> u64 {
    let octave = (bucket >> SUB_BITS).saturating_sub(1);
    let low = ((bucket - (octave << SUB_BITS)) as u64) << octave;
    low + ((1 << octave) >> 1)
}

impl Times {
    #[inline]
    pub fn record(&self, ns: u64) {
        self.counts[bucket(ns)].add(1);
        self.sum_ns.add(ns);
    }

    pub fn restart(&self) {
        self.counts.iter().for_each(|count| count.set(0));
        self.sum_ns.set(0);
    }

    pub fn count(&self) -> u64 {
        self.counts.iter().map(Count::get).sum()
    }

    pub fn mean_ns(&self) -> f64 {
        self.sum_ns.get() as f64 / self.count().max(1) as f64
    }

    /// Values and how often they were seen.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let seen =
            |(index, count): (usize, &Count)| (count.get() > 0).then(|| (middle_ns(index), count.get()));
        self.counts.iter().enumerate().filter_map(seen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_is_within_two_percent_of_its_values() {
        let mut ns = 1_u64;
        while ns < 1 << 37 {
            let told = middle_ns(bucket(ns));
            assert!(told.abs_diff(ns) as f64 <= 0.016 * ns as f64, "{ns} told as {told}");
            ns += ns / 7 + 1;
        }
    }
}
