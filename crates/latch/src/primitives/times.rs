//! A histogram of times with one writer, in shared memory.

use super::counters::Count;

/// Buckets: 64 to an octave, so a value is known to 1.6 %; up to 2^37 ns (137 s).
const SUB_BITS: u32 = 6;
const OCTAVES: usize = 31;
const BUCKETS: usize = (OCTAVES + 2) << SUB_BITS;

/// A histogram of times in ns.
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
            let middle = middle_ns(bucket(ns));
            assert!(middle.abs_diff(ns) as f64 <= 0.016 * ns as f64, "{ns} is counted as {middle}");
            ns += ns / 7 + 1;
        }
    }
}
