//! What has a latency of its own: statements, and kinds of transactions.

use super::transaction::Transaction;
use super::{Arrival, Plan};

/// Before the name of a kind of transaction, in what is timed.
pub(super) const KIND: &str = "transaction ";
/// Largest number of kinds of transactions that are timed: about 100 KB each.
const TIMED_KINDS_MAX: usize = 64;

impl Plan {
    /// What is timed, by name: every statement, `begin` and `commit`, kinds of transactions, last transactions of
    /// any kind.
    pub fn timed(&self) -> Vec<String> {
        let mut names: Vec<String> = self.statements.iter().map(|one| one.name.clone()).collect();
        if self.control().is_some() {
            names.extend(["begin".into(), "commit".into()]);
        }
        let kinds = self.transactions.iter().zip(self.timed_kinds());
        names.extend(kinds.filter_map(|(one, at)| at.map(|_| format!("{KIND}{}", one.name))));
        names.push("transaction".into());
        names
    }

    /// By kind of transaction, its number in what is timed: none for the only one, and for one that is a single
    /// statement, which has the same latency.
    pub fn timed_kinds(&self) -> Vec<Option<usize>> {
        let several = self.transactions.len() > 1
            && self.transactions.len() <= TIMED_KINDS_MAX
            && !matches!(self.arrival, Arrival::Rounds);
        let first = self.statements.len() + if self.control().is_some() { 2 } else { 0 };
        let mut numbers = first..;
        let is_timed = |one: &Transaction| several && (one.begin || one.statements.len() != 1);
        self.transactions.iter().map(|one| is_timed(one).then(|| numbers.next()).flatten()).collect()
    }
}
