//! The course of a turn that is not measured: the lab learns from it how long a turn takes to settle, and how
//! long the transaction is that a client is in at a random moment.

const PARTS: usize = 20;

/// Transactions in each of equal parts of a stretch of time; the default counts nothing.
#[derive(Debug, Clone, Default)]
pub struct Profile {
    start_ns: u64,
    length_ns: u64,
    pub parts: Vec<u64>,
    /// Latencies of all transactions, and their squares.
    pub sum_ms: f64,
    pub squares_ms2: f64,
}

impl Profile {
    pub fn of(start_ns: u64, end_ns: u64) -> Self {
        Self { start_ns, length_ns: (end_ns - start_ns).max(1), parts: vec![0; PARTS], ..Self::default() }
    }

    /// One transaction that began then.
    pub fn count(&mut self, begin_ns: u64, latency_ns: u64) {
        if self.parts.is_empty() {
            return;
        }
        let latency_ms = latency_ns as f64 / 1e6;
        self.sum_ms += latency_ms;
        self.squares_ms2 += latency_ms * latency_ms;
        let part = begin_ns.saturating_sub(self.start_ns) * PARTS as u64 / self.length_ns;
        if let Some(part) = self.parts.get_mut(part as usize) {
            *part += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(mut profile: Profile) -> Profile {
        for begin_ns in [1000, 1100, 1200, 2999, 3000] {
            profile.count(begin_ns, 2_000_000);
        }
        profile
    }

    #[test]
    fn transactions_count_in_the_part_in_which_they_begin() {
        let mut parts = [0; PARTS];
        (parts[0], parts[1], parts[2], parts[19]) = (1, 1, 1, 1);
        let profile = counted(Profile::of(1000, 3000));
        assert_eq!(profile.parts, parts);
        assert_eq!((profile.sum_ms, profile.squares_ms2), (10.0, 20.0));
    }

    #[test]
    fn the_default_counts_nothing() {
        let profile = counted(Profile::default());
        assert_eq!((profile.parts.len(), profile.sum_ms), (0, 0.0));
    }
}
