//! The pseudorandom permutation of 0..size that pgbench's `permute` gives, by a seed.

const ROUNDS: usize = 6;

/// The place of `index` among 0..size.
///
/// Each round permutes the lower and the upper power of two below the size, which overlap, and shifts the whole
/// by an offset. The numbers are those of pgbench from PostgreSQL 15 on (src/bin/pgbench/pgbench.c, permute).
pub fn permuted(index: u64, size: u64, seed: u64) -> u64 {
    if size < 2 {
        return 0;
    }
    let mut random = Xoroshiro::new(seed);
    let bits = size.ilog2();
    let mask = (1 << bits) - 1;
    let last = size - 1;
    let mut at = index % size;
    for _ in 0..ROUNDS {
        for upper in [false, true] {
            let (factor, flips) = (random.number() & mask | 1, random.number() & mask);
            let place = if upper { last - at } else { at };
            if place <= mask {
                let mixed = (place.wrapping_mul(factor) ^ flips) & mask;
                let rotated = mixed << 1 & mask | mixed >> (bits - 1);
                at = if upper { last - rotated } else { rotated };
            }
        }
        // both are below 2^63
        at = (at + random.up_to(last)) % size;
    }
    at
}

/// xoroshiro128** (Blackman and Vigna 2018), seeded by SplitMix64 (Steele, Lea and Flood 2014).
struct Xoroshiro(u64, u64);

impl Xoroshiro {
    fn new(seed: u64) -> Self {
        const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
        let first = seed.wrapping_add(STEP);
        Self(scrambled(first), scrambled(first.wrapping_add(STEP)))
    }

    fn number(&mut self) -> u64 {
        let Self(first, second) = *self;
        let mixed = first ^ second;
        *self = Self(first.rotate_left(24) ^ mixed ^ mixed << 16, mixed.rotate_left(37));
        first.wrapping_mul(5).rotate_left(7).wrapping_mul(9)
    }

    /// One of 0..=most, above 0: drawn again beyond it.
    fn up_to(&mut self, most: u64) -> u64 {
        loop {
            let number = self.number() >> most.leading_zeros();
            if number <= most {
                return number;
            }
        }
    }
}

fn scrambled(state: u64) -> u64 {
    let state = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let state = (state ^ state >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    state ^ state >> 31
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_place_is_taken_once(size in 1u64..500, seed in any::<u64>()) {
            let mut places: Vec<u64> = (0..size).map(|index| permuted(index, size, seed)).collect();
            places.sort_unstable();
            prop_assert_eq!(places, (0..size).collect::<Vec<_>>());
        }

        #[test]
        fn the_largest_sizes_end(index in 0..u64::MAX >> 1, seed in any::<u64>()) {
            let size = u64::MAX >> 1;
            prop_assert!(permuted(index % size, size, seed) < size);
        }
    }

    #[test]
    fn the_places_are_those_of_pgbench() {
        // its own regression test: src/bin/pgbench/t/001_pgbench_with_server.pl
        const SIZE: u64 = i64::MAX as u64 - 10;
        let found: Vec<u64> = (1..=3).map(|from_end| permuted(SIZE - from_end, SIZE, 5432)).collect();
        assert_eq!(found, [520_382_784_483_822_430, 1_143_715_004_660_802_862, 447_293_596_416_496_998]);
        assert_eq!((permuted(0, 2, 5431), permuted(0, 2, 5433)), (0, 1));
    }

    #[test]
    fn another_seed_is_another_permutation() {
        let order = |seed| (0..100).map(|index| permuted(index, 100, seed)).collect::<Vec<_>>();
        assert!(order(1) != order(2));
        let kept = order(1).iter().enumerate().filter(|(index, place)| *index as u64 == **place).count();
        assert!(kept < 10, "{kept}");
    }
}
