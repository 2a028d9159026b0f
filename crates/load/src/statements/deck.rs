//! A shuffled deck of transactions: the mix is exact after each pass through it.

use rand::Rng;
use rand::rngs::SmallRng;

use crate::plan::transaction::Transaction;

#[derive(Debug)]
pub struct Deck {
    cards: Vec<u16>,
    /// Cards that are still to come.
    left: usize,
}

impl Deck {
    /// As many cards of each transaction as its weight says, none of weight 0; the plan's check has refused other weights.
    pub fn new(transactions: &[Transaction]) -> Self {
        let cards = transactions
            .iter()
            .enumerate()
            .flat_map(|(number, one)| std::iter::repeat_n(number as u16, one.weight as usize))
            .collect();
        Self { cards, left: 0 }
    }

    /// The next card; the deck is shuffled again after its last.
    pub fn next(&mut self, rng: &mut SmallRng) -> usize {
        if self.left == 0 {
            self.left = self.cards.len();
        }
        // Fisher and Yates: the cards from `left` on have come
        let at = rng.random_range(0..self.left);
        self.left -= 1;
        self.cards.swap(at, self.left);
        usize::from(self.cards[self.left])
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use serde_json::json;

    use super::*;

    #[test]
    fn every_pass_has_each_transaction_as_often_as_its_weight_and_another_order() {
        let one = |weight: u32| {
            serde_json::from_value(json!({"name": "t", "weight": weight, "statements": []})).unwrap()
        };
        let mut deck = Deck::new(&[one(10), one(10), one(1)]);
        let mut rng = SmallRng::seed_from_u64(1);
        let mut passes = Vec::new();
        for _ in 0..100 {
            let pass: Vec<usize> = (0..21).map(|_| deck.next(&mut rng)).collect();
            let count = |kind| pass.iter().filter(|one| **one == kind).count();
            assert_eq!((count(0), count(1), count(2)), (10, 10, 1));
            passes.push(pass);
        }
        passes.sort();
        passes.dedup();
        assert!(passes.len() > 90);
    }
}
