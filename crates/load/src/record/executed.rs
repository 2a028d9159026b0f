//! Executions of statements: their rows, and how many had none.

use serde::{Deserialize, Serialize};

/// What one execution of a statement gave.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Effect {
    /// Returned, or changed; none: the statement has no such number.
    pub rows: Option<u64>,
    /// Received; 0 where nothing is sent over a connection.
    pub bytes: u64,
}

impl Effect {
    /// Of a further reply of the same execution.
    pub fn add(&mut self, other: Self) {
        self.rows = match (self.rows, other.rows) {
            (Some(one), Some(more)) => Some(one + more),
            (one, more) => one.or(more),
        };
        self.bytes += other.bytes;
    }
}

/// Sums over the executions of one statement. counted: of these, those whose rows were counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Executed {
    pub executions: u64,
    pub counted: u64,
    pub rows: u64,
    pub empty: u64,
    pub bytes: u64,
}

impl Executed {
    pub fn add(&mut self, effect: Effect) {
        self.executions += 1;
        self.bytes += effect.bytes;
        if let Some(rows) = effect.rows {
            self.counted += 1;
            self.rows += rows;
            self.empty += u64::from(rows == 0);
        }
    }

    pub fn merge(&mut self, other: &Self) {
        self.executions += other.executions;
        self.counted += other.counted;
        self.rows += other.rows;
        self.empty += other.empty;
        self.bytes += other.bytes;
    }
}

/// Sums over the clients that reached their n-th execution of one statement.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    pub clients: u64,
    pub rows: u64,
    pub empty: u64,
}

/// By statement, marks at the 1st to 8th execution, then four for each doubling: 10th, 12th, 14th, 16th, 20th.
/// Values that clients draw depend on their own earlier draws alone, so sums at a mark do not depend on pace.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Marks(Vec<Vec<Mark>>);

impl Marks {
    /// A client has executed the statement once more; so far: with this execution.
    pub fn reach(&mut self, statement: usize, so_far: &Executed) {
        if let Some(at) = number_of(so_far.executions) {
            self.at(statement, at).add(&Mark { clients: 1, rows: so_far.rows, empty: so_far.empty });
        }
    }

    pub fn merge(&mut self, other: &Self) {
        for (statement, marks) in other.0.iter().enumerate() {
            for (number, mark) in marks.iter().enumerate() {
                self.at(statement, number).add(mark);
            }
        }
    }

    /// Statement, executions of each client, sums.
    pub fn rows(&self) -> impl Iterator<Item = (usize, u64, &Mark)> {
        self.0.iter().enumerate().flat_map(|(statement, marks)| {
            marks.iter().enumerate().map(move |(number, mark)| (statement, executions_at(number), mark))
        })
    }

    fn at(&mut self, statement: usize, number: usize) -> &mut Mark {
        if self.0.len() <= statement {
            self.0.resize(statement + 1, Vec::new());
        }
        let marks = &mut self.0[statement];
        if marks.len() <= number {
            marks.resize(number + 1, Mark::default());
        }
        &mut marks[number]
    }
}

impl Mark {
    fn add(&mut self, other: &Self) {
        self.clients += other.clients;
        self.rows += other.rows;
        self.empty += other.empty;
    }
}

/// Number of the mark at this execution, none between marks.
fn number_of(executions: u64) -> Option<usize> {
    let shift = executions.checked_ilog2()?.saturating_sub(2);
    let is_mark = executions & ((1 << shift) - 1) == 0;
    is_mark.then(|| 4 * shift as usize + (executions >> shift) as usize - 1)
}

fn executions_at(number: usize) -> u64 {
    let shift = (number + 1).saturating_sub(4) / 4;
    ((number + 1 - 4 * shift) as u64) << shift
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_numbered_without_a_gap() {
        let reached: Vec<(usize, u64)> =
            (0..=1024).filter_map(|count| Some((number_of(count)?, count))).collect();
        let expected: Vec<(usize, u64)> =
            (0..reached.len()).map(|number| (number, executions_at(number))).collect();
        assert_eq!(reached, expected);
        assert_eq!(
            reached[..12].iter().map(|one| one.1).collect::<Vec<_>>(),
            [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16]
        );
    }

    #[test]
    fn a_mark_sums_what_its_clients_had_done_by_then() {
        let mut marks = Marks::default();
        for rows in [[3, 0, 5], [0, 0, 1]] {
            let mut client = Executed::default();
            for count in rows {
                client.add(Effect { rows: Some(count), bytes: 7 });
                marks.reach(1, &client);
            }
        }
        let found: Vec<_> = marks.rows().map(|(of, at, mark)| (of, at, mark.rows, mark.empty)).collect();
        assert_eq!(found, [(1, 1, 3, 1), (1, 2, 3, 3), (1, 3, 9, 3)]);
    }
}
