//! What one event loop counts at one point.

use std::collections::BTreeMap;

use counts::{ClientRecord, Count, KindRecord, Lost};
use executed::{Effect, Executed, Marks};
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use steelyard_engine::histogram::empty;

pub mod counts;
pub mod digest;
pub mod executed;
mod packed;
mod profile;
pub mod result;
pub mod window;

use profile::Profile;
pub use window::{Ending, Window};

/// Largest number of distinct error codes.
const ERROR_KINDS_MAX: usize = 100;

/// Counts by second, latencies by statement, clients, kinds of transactions, errors. The last statements of each
/// list are kinds of transactions, and the whole transaction of any kind.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Record {
    /// Ends early where `left` comes down to 0.
    pub window: Window,
    /// Transactions that are still to be measured, of a point of so many.
    left: Option<u64>,
    /// Measured time of earlier windows: seconds count on from there.
    earlier_ns: u64,
    /// What is done counts when it begins. Clients rest before and after a turn: if it counted when it ends,
    /// what outlasts a part of a turn would count too rarely.
    in_turns: bool,
    /// Transactions measured in the first half of a window.
    pub first_half: u64,
    #[serde(skip)]
    pub profile: Profile,
    warm_up_seconds: i64,
    pub seconds: Vec<Vec<Count>>,
    #[serde(with = "packed::many")]
    pub histograms: Vec<Histogram<u64>>,
    pub clients: Vec<ClientRecord>,
    pub kinds: Vec<KindRecord>,
    /// By statement, of the transactions that are measured.
    pub executed: Vec<Executed>,
    /// Of all executions, measured or not.
    pub marks: Marks,
    /// By kind of transaction, its number among the statements.
    timed_kinds: Vec<Option<usize>>,
    /// By kind of transaction: counted as a kind alone.
    background: Vec<bool>,
    pub errors: BTreeMap<String, (u64, String)>,
    /// All transactions and errors so far, warm-up included, for the live view.
    pub total: Count,
    /// Open loop: arrivals that still waited for a client at the end.
    pub backlog: usize,
    pub reconnections: u64,
    /// When its first transaction began: 0: none did.
    pub began_ns: u64,
    /// Connections that ended without our having closed them, and why the last of them did.
    pub lost: Lost,
    /// What drove the loop.
    #[serde(skip)]
    pub io: &'static str,
}

impl Record {
    /// transactions_max: the window ends with so many measured, at the latest at its end.
    pub fn new(
        window: Window,
        transactions_max: Option<u64>,
        statements: usize,
        timed_kinds: &[Option<usize>],
        clients: impl Iterator<Item = usize>,
    ) -> Self {
        Self {
            window,
            left: transactions_max,
            earlier_ns: 0,
            in_turns: false,
            first_half: 0,
            profile: Profile::default(),
            warm_up_seconds: window.warm_up_seconds() as i64,
            seconds: vec![vec![Count::default(); statements + 1]; window.seconds()],
            histograms: (0..=statements).map(|_| empty()).collect(),
            clients: clients.map(ClientRecord::new).collect(),
            kinds: vec![KindRecord::default(); timed_kinds.len()],
            executed: vec![Executed::default(); statements],
            marks: Marks::default(),
            timed_kinds: timed_kinds.to_vec(),
            background: vec![false; timed_kinds.len()],
            errors: BTreeMap::new(),
            total: Count::default(),
            backlog: 0,
            reconnections: 0,
            began_ns: 0,
            lost: Lost::default(),
            io: "",
        }
    }

    /// Counts these kinds of transactions apart from the others.
    pub fn with_background(mut self, kinds: impl Iterator<Item = bool>) -> Self {
        self.background = kinds.collect();
        self
    }

    /// Continues with the window of the next turn, whose seconds follow on those measured before. What comes
    /// before its `measure_ns` counts nowhere.
    pub fn next_turn(&mut self, window: Window) {
        self.earlier_ns = self.measured_ns();
        self.in_turns = true;
        self.window = window;
        let measures = window.measure_ns < window.end_ns;
        self.profile =
            if measures { Profile::default() } else { Profile::of(window.start_ns, window.end_ns) };
        let length = self.measured_ns().div_ceil(1_000_000_000) as usize;
        self.seconds.resize(length, vec![Count::default(); self.histograms.len()]);
    }

    /// Measured time of all windows so far.
    pub fn measured_ns(&self) -> u64 {
        self.earlier_ns + (self.window.end_ns - self.window.measure_ns)
    }

    /// Transactions measured without error.
    pub fn measured(&self) -> u64 {
        let kinds = self.kinds.iter().zip(&self.background);
        kinds.filter(|(_, background)| !**background).map(|(kind, _)| kind.count.done).sum()
    }

    /// Shortens the window to what the work took.
    pub fn end_at(&mut self, end_ns: u64) {
        self.window.end_ns = end_ns;
        self.seconds.truncate(self.window.seconds());
    }

    /// Number of the second of an entry of `seconds`: from 0 at the start of measure.
    pub fn second_of(&self, index: usize) -> i64 {
        index as i64 - self.warm_up_seconds
    }

    pub fn statement_done(&mut self, statement: usize, now_ns: u64, latency_ns: u64) {
        let counted_ns = self.counted_ns(now_ns - latency_ns, now_ns);
        if let Some(second) = self.second(counted_ns) {
            second[statement].done += 1;
            if self.measures(counted_ns) {
                self.histograms[statement].saturating_record(latency_ns);
            }
        }
    }

    pub fn transaction_done(&mut self, ending: Ending) {
        let Ending { client, transaction, begin_ns, now_ns } = ending;
        let latency_ns = now_ns.saturating_sub(begin_ns);
        let counted_ns = self.counted_ns(begin_ns, now_ns);
        let background = self.background[transaction];
        if !background {
            self.total.done += 1;
            self.statement_done(self.histograms.len() - 1, now_ns, latency_ns);
            self.profile.count(begin_ns, latency_ns);
        }
        if let Some(kind) = self.timed_kinds[transaction] {
            self.statement_done(kind, now_ns, latency_ns);
        }
        if self.measures(counted_ns) {
            self.kinds[transaction].count.done += 1;
            self.clients[client].add(latency_ns);
            if !background {
                let is_first = counted_ns - self.window.measure_ns < self.window.end_ns - counted_ns;
                self.first_half += u64::from(is_first);
                self.count_down(now_ns);
            }
        }
    }

    /// A transaction begins again, now: whenever it began first, that counts where its statements do.
    pub fn retried(&mut self, ending: Ending) {
        if self.measures(ending.now_ns) {
            self.kinds[ending.transaction].retries += 1;
        }
    }

    /// A transaction has rolled back as its steps say; it counts as done.
    pub fn rolled_back(&mut self, ending: Ending) {
        if self.measures(self.counted_ns(ending.begin_ns, ending.now_ns)) {
            self.kinds[ending.transaction].rolled_back += 1;
        }
    }

    /// Executions of a transaction that is done. client: its executions by statement, which this one joins.
    pub fn executed(
        &mut self,
        ending: Ending,
        client: &mut [Executed],
        effects: impl Iterator<Item = (usize, Effect)>,
    ) {
        let measured = self.measures(self.counted_ns(ending.begin_ns, ending.now_ns));
        for (statement, effect) in effects {
            client[statement].add(effect);
            self.marks.reach(statement, &client[statement]);
            if measured {
                self.executed[statement].add(effect);
            }
        }
    }

    fn count_down(&mut self, now_ns: u64) {
        if let Some(left) = &mut self.left {
            *left -= 1;
            if *left == 0 {
                // this one is the last within
                self.window.end_ns = now_ns + 1;
                self.window.last_begin_ns = now_ns;
                self.seconds.truncate(self.window.seconds());
            }
        }
    }

    /// statement: the one that failed, none when the connection did between two.
    pub fn failed(&mut self, ending: Ending, statement: Option<usize>, code: &str, message: &str) {
        let counted_ns = self.counted_ns(ending.begin_ns, ending.now_ns);
        let measures = self.measures(counted_ns);
        let whole = (!self.background[ending.transaction]).then(|| self.histograms.len() - 1);
        self.total.errors += u64::from(whole.is_some());
        let kind = self.timed_kinds[ending.transaction];
        if let Some(second) = self.second(counted_ns) {
            for part in [statement, kind, whole].into_iter().flatten() {
                second[part].errors += 1;
            }
        }
        if measures {
            self.clients[ending.client].count.errors += 1;
            let kind = &mut self.kinds[ending.transaction];
            kind.count.errors += 1;
            kind.failure.get_or_insert_with(|| (code.into(), message.into()));
            let kinds = self.errors.len();
            if let Some(known) = self.errors.get_mut(code) {
                known.0 += 1;
            } else {
                // a server may invent any number of codes
                let code = if kinds < ERROR_KINDS_MAX { code } else { "other" };
                self.errors.entry(code.into()).or_insert_with(|| (0, message.into())).0 += 1;
            }
        }
    }

    /// Open loop: an arrival that no client had taken when measuring ended. It counts among the latencies
    /// with what it had waited by then, the least that its latency can be: without the longest waits,
    /// percentiles would be best where the server is slowest.
    pub fn never_began(&mut self, waited_ns: u64) {
        self.backlog += 1;
        let transaction = self.histograms.len() - 1;
        self.histograms[transaction].saturating_record(waited_ns);
    }

    /// When it counts, of what began and ended then.
    fn counted_ns(&self, begin_ns: u64, now_ns: u64) -> u64 {
        if self.in_turns { begin_ns } else { now_ns }
    }

    /// Those that share a clock reading with the last of so many are not within, though the time is.
    fn is_over(&self, now_ns: u64) -> bool {
        self.left == Some(0) || now_ns >= self.window.end_ns
    }

    fn measures(&self, now_ns: u64) -> bool {
        now_ns >= self.window.measure_ns && !self.is_over(now_ns)
    }

    fn second(&mut self, now_ns: u64) -> Option<&mut Vec<Count>> {
        if self.is_over(now_ns) {
            return None;
        }
        let since_ns = now_ns as i64 - self.window.measure_ns as i64;
        let earlier_ns = if since_ns < 0 { 0 } else { self.earlier_ns as i64 };
        let second = (earlier_ns + since_ns).div_euclid(1_000_000_000);
        self.seconds.get_mut(usize::try_from(second + self.warm_up_seconds).ok()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;
    const WINDOW: Window = Window { start_ns: 0, measure_ns: 2 * S, last_begin_ns: 4 * S, end_ns: 4 * S };

    /// Of a transaction that took 1 us.
    fn ending(transaction: usize, now_ns: u64) -> Ending {
        Ending { client: 0, transaction, begin_ns: now_ns - 1000, now_ns }
    }

    fn record() -> Record {
        Record::new(WINDOW, None, 1, &[None], 0..1)
    }

    #[test]
    fn warm_up_is_counted_by_negative_seconds_and_left_out_of_latency() {
        let mut record = record();
        for now_ns in [S / 2, S + 1, 2 * S, 3 * S, 4 * S] {
            record.transaction_done(ending(0, now_ns));
        }
        let by_second: Vec<(i64, u64)> =
            (0..record.seconds.len()).map(|n| (record.second_of(n), record.seconds[n][1].done)).collect();
        assert_eq!(by_second, [(-2, 1), (-1, 1), (0, 1), (1, 1)]);
        assert_eq!((record.histograms[1].len(), record.clients[0].count.done), (2, 2));
    }

    #[test]
    fn a_point_of_so_many_transactions_ends_with_the_last_of_them() {
        let mut record = Record::new(WINDOW, Some(2), 1, &[None], 0..1);
        for now_ns in [S, 2 * S + 1, 2 * S + 2, 2 * S + 3, 3 * S] {
            record.transaction_done(ending(0, now_ns));
        }
        assert_eq!(record.window.end_ns, 2 * S + 3);
        assert_eq!((record.clients[0].count.done, record.histograms[1].len()), (2, 2));
        // two seconds of warm-up, and the one in which it ended
        assert_eq!(record.seconds.iter().map(|second| second[1].done).collect::<Vec<_>>(), [0, 1, 2]);
    }

    #[test]
    fn seconds_of_turns_follow_on_one_another_and_settling_counts_nowhere() {
        let mut record = Record::new(Window::empty(S), None, 1, &[None], 0..1);
        for start_ns in [2 * S, 10 * S] {
            let window = Window {
                start_ns,
                measure_ns: start_ns + S / 2,
                last_begin_ns: start_ns + 2 * S,
                end_ns: start_ns + 2 * S,
            };
            record.next_turn(window);
            for after_ns in [0, S / 4, S, 3 * S / 2, 2 * S, 3 * S] {
                record.transaction_done(ending(0, start_ns + after_ns + 1000));
            }
        }
        assert_eq!(record.measured_ns(), 3 * S);
        assert_eq!(record.seconds.iter().map(|second| second[1].done).collect::<Vec<_>>(), [1, 1, 2]);
        assert_eq!((record.measured(), record.first_half, record.total.done), (4, 2, 12));
    }

    #[test]
    fn what_outlasts_a_turn_counts_in_it() {
        let mut record = Record::new(Window::empty(0), None, 1, &[None], 0..1);
        record.next_turn(Window { start_ns: S, measure_ns: 2 * S, last_begin_ns: 3 * S, end_ns: 3 * S });
        let long = |begin_ns| Ending { client: 0, transaction: 0, begin_ns, now_ns: begin_ns + 5 * S };
        for begin_ns in [S, 2 * S, 3 * S - 1] {
            record.transaction_done(long(begin_ns));
            record.failed(long(begin_ns), None, "57014", "canceled");
        }
        assert_eq!((record.measured(), record.clients[0].count.errors), (2, 2));
        assert_eq!(record.histograms[1].len(), 2);
        assert_eq!(record.seconds.iter().map(|second| second[1].done).collect::<Vec<_>>(), [2]);
    }

    #[test]
    fn a_repetition_in_a_turn_counts_where_its_statements_do() {
        let mut record = Record::new(Window::empty(0), None, 1, &[None], 0..1);
        record.next_turn(Window { start_ns: S, measure_ns: 2 * S, last_begin_ns: 3 * S, end_ns: 3 * S });
        // it began in the head, is executed again in it, within, and after the end
        for now_ns in [S + S / 2, 2 * S, 3 * S - 1, 3 * S] {
            record.retried(Ending { client: 0, transaction: 0, begin_ns: S, now_ns });
            record.statement_done(0, now_ns + 1000, 1000);
        }
        assert_eq!((record.kinds[0].retries, record.seconds[0][0].done), (2, 2));
    }

    #[test]
    fn of_replies_read_at_once_no_more_are_measured_than_were_left() {
        let mut record = Record::new(WINDOW, Some(2), 1, &[None], 0..1);
        for _ in 0..3 {
            record.statement_done(0, 3 * S, 1000);
            record.transaction_done(ending(0, 3 * S));
        }
        record.failed(ending(0, 3 * S), Some(0), "57014", "canceled");
        assert_eq!(record.window.end_ns, 3 * S + 1);
        assert_eq!(record.histograms.iter().map(|one| one.len()).collect::<Vec<_>>(), [2, 2]);
        assert_eq!(record.seconds.last().map(|second| (second[1].done, second[1].errors)), Some((2, 0)));
        assert_eq!((record.clients[0].count.done, record.errors.len()), (2, 0));
    }

    #[test]
    fn a_kind_of_transaction_has_its_own_latency_retries_and_rollbacks() {
        let mut record = Record::new(WINDOW, None, 3, &[Some(1), Some(2)], 0..1);
        record.retried(ending(1, S));
        record.retried(ending(1, 3 * S));
        record.rolled_back(ending(1, 3 * S));
        record.transaction_done(ending(1, 3 * S));
        record.failed(ending(0, 3 * S), Some(0), "40001", "serialization");
        assert_eq!(record.histograms.iter().map(|one| one.len()).collect::<Vec<_>>(), [0, 0, 1, 1]);
        let last: Vec<_> = record.seconds[3].iter().map(|count| (count.done, count.errors)).collect();
        assert_eq!(last, [(0, 1), (0, 1), (1, 0), (1, 1)]);
        assert_eq!(
            (record.kinds[1].retries, record.kinds[1].rolled_back, record.kinds[1].count.done),
            (1, 1, 1)
        );
    }

    #[test]
    fn what_runs_beside_the_others_counts_as_its_kind_alone() {
        let mut record = Record::new(WINDOW, None, 2, &[None, Some(1)], 0..2);
        record = record.with_background([false, true].into_iter());
        for transaction in [0, 1, 1] {
            let ending = Ending { client: transaction, ..ending(transaction, 3 * S) };
            record.transaction_done(ending);
            record.failed(ending, None, "57014", "canceled");
        }
        assert_eq!((record.measured(), record.total.done, record.total.errors), (1, 1, 1));
        assert_eq!(record.histograms.iter().map(|one| one.len()).collect::<Vec<_>>(), [0, 2, 1]);
        let last: Vec<_> = record.seconds[3].iter().map(|count| (count.done, count.errors)).collect();
        assert_eq!(last, [(0, 0), (2, 2), (1, 1)]);
        assert_eq!((record.kinds[1].count.done, record.clients[1].count.done), (2, 2));
    }

    #[test]
    fn a_kind_of_transaction_keeps_its_first_error() {
        let mut record = record();
        record.failed(ending(0, S), Some(0), "40001", "in the warm-up");
        record.failed(ending(0, 3 * S), Some(0), "42P01", "no such table");
        record.failed(ending(0, 3 * S), Some(0), "40P01", "deadlock");
        let kind = &record.kinds[0];
        assert_eq!((kind.count.done, kind.count.errors), (0, 2));
        assert_eq!(kind.failure, Some(("42P01".into(), "no such table".into())));
    }

    #[test]
    fn codes_without_end_are_counted_as_others() {
        let mut record = record();
        for number in 0..1000 {
            record.failed(ending(0, 3 * S), Some(0), &number.to_string(), "made up");
        }
        assert_eq!((record.errors.len(), record.errors["other"].0), (ERROR_KINDS_MAX + 1, 900));
    }
}
