//! A pseudorandom permutation of 0..size, by a seed.

const ROUNDS: u64 = 6;

/// The place of `index` among 0..size.
///
/// Rounds of invertible mixing permute the next power of two; a result outside is permuted again, which
/// leaves a permutation of those inside (Black and Rogaway 2002: cycle walking).
pub fn permuted(index: u64, size: u64, seed: u64) -> u64 {
    if size < 2 {
        return 0;
    }
    let bits = u64::BITS - (size - 1).leading_zeros();
    let mut at = index;
    loop {
        at = mixed(at, bits, seed);
        if at < size {
            return at;
        }
    }
}

/// Invertible on numbers of so many bits: by odd factors, sums, and shifts to the right.
fn mixed(number: u64, bits: u32, seed: u64) -> u64 {
    let mask = u64::MAX >> (u64::BITS - bits);
    let mut key = seed;
    (0..ROUNDS).fold(number, |number, round| {
        key = scrambled(key.wrapping_add(round + 1));
        let number = number.wrapping_mul(key | 1).wrapping_add(key >> 32) & mask;
        number ^ number >> (bits / 2 + 1).min(bits)
    })
}

/// SplitMix64's step (Steele, Lea and Flood 2014).
fn scrambled(state: u64) -> u64 {
    let state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
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
    fn another_seed_is_another_permutation() {
        let order = |seed| (0..100).map(|index| permuted(index, 100, seed)).collect::<Vec<_>>();
        assert!(order(1) != order(2));
        let kept = order(1).iter().enumerate().filter(|(index, place)| *index as u64 == **place).count();
        assert!(kept < 10, "{kept}");
    }
}
