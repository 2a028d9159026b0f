//! How a turn that is not measured began: the lab learns from it how long a turn takes to settle.

const PARTS: usize = 20;

/// Transactions in each of equal parts of a stretch of time; the default counts nothing.
#[derive(Debug, Default)]
pub struct Profile {
    start_ns: u64,
    length_ns: u64,
    pub parts: Vec<u64>,
}

impl Profile {
    pub fn of(start_ns: u64, end_ns: u64) -> Self {
        Self { start_ns, length_ns: (end_ns - start_ns).max(1), parts: vec![0; PARTS] }
    }

    /// One transaction that ended then.
    pub fn count(&mut self, now_ns: u64) {
        if self.parts.is_empty() {
            return;
        }
        let part = now_ns.saturating_sub(self.start_ns) * PARTS as u64 / self.length_ns;
        if let Some(part) = self.parts.get_mut(part as usize) {
            *part += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(mut profile: Profile) -> Vec<u64> {
        for now_ns in [1000, 1100, 1200, 2999, 3000] {
            profile.count(now_ns);
        }
        profile.parts
    }

    #[test]
    fn transactions_count_in_the_part_in_which_they_end() {
        let mut parts = [0; PARTS];
        (parts[0], parts[1], parts[2], parts[19]) = (1, 1, 1, 1);
        assert_eq!(counted(Profile::of(1000, 3000)), parts);
    }

    #[test]
    fn the_default_counts_nothing() {
        assert!(counted(Profile::default()).is_empty());
    }
}
