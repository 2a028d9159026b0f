//! The record of one simulation: counts by second, histograms, clients, samples.

pub mod counts;
pub mod trace;

use hdrhistogram::Histogram;

use crate::plan::Plan;
use counts::Counts;

const SECOND_NS: u64 = 1_000_000_000;
/// Threads with a line of their own in `clients`: the first of each group, at most so many in all.
const CLIENTS_MAX: usize = 1000;

/// One thread's transactions in the measure phase.
#[derive(Debug)]
pub struct Client {
    pub thread: u32,
    pub done: u64,
    pub sum_ns: u64,
    pub histogram: Histogram<u32>,
}

/// The counts of one group (the last: all of them) at one moment.
#[derive(Debug)]
pub struct Sample {
    pub t_ns: u64,
    pub group: usize,
    pub counts: Counts,
}

#[derive(Debug)]
pub struct Record {
    pub measure_ns: u64,
    pub end_ns: u64,
    warm_up_seconds: i64,
    /// By second, by group: transactions.
    pub seconds: Vec<Vec<u64>>,
    /// By group, of the measure phase.
    pub histograms: Vec<Histogram<u64>>,
    pub clients: Vec<Client>,
    /// By thread: its entry of `clients` + 1, or 0.
    client_of: Vec<u16>,
    pub samples: Vec<Sample>,
    /// All transactions so far, warm-up included.
    pub total: u64,
}

impl Record {
    pub fn new(plan: &Plan, threads: usize) -> Self {
        let groups = plan.groups.len();
        let measure_ns = (plan.warm_up_s * 1e9).round() as u64;
        let end_ns = ((plan.warm_up_s + plan.measure_s) * 1e9).round() as u64;
        let warm_up = measure_ns.div_ceil(SECOND_NS);
        let seconds = warm_up + (end_ns - measure_ns).div_ceil(SECOND_NS);
        let every = threads.div_ceil(CLIENTS_MAX);
        let clients: Vec<Client> = (0..threads)
            .step_by(every)
            .map(|thread| Client { thread: thread as u32, done: 0, sum_ns: 0, histogram: histogram(2) })
            .collect();
        let mut client_of = vec![0; threads];
        for (number, client) in clients.iter().enumerate() {
            client_of[client.thread as usize] = number as u16 + 1;
        }
        Self {
            measure_ns,
            end_ns,
            warm_up_seconds: warm_up as i64,
            seconds: vec![vec![0; groups]; seconds as usize],
            histograms: (0..groups).map(|_| histogram(3)).collect(),
            clients,
            client_of,
            samples: Vec::new(),
            total: 0,
        }
    }

    /// Number of the second of an entry of `seconds`: from 0 at the start of measure.
    pub fn second_of(&self, index: usize) -> i64 {
        index as i64 - self.warm_up_seconds
    }

    /// A burst is done, so long after it was due.
    pub fn done(&mut self, group: u32, thread: u32, now_ns: u64, response_ns: u64) {
        self.total += 1;
        let second = (now_ns as i64 - self.measure_ns as i64).div_euclid(SECOND_NS as i64);
        if let Some(counts) = self.seconds.get_mut((second + self.warm_up_seconds) as usize) {
            counts[group as usize] += 1;
        }
        if now_ns < self.measure_ns {
            return;
        }
        // it grows with the values; `saturating_record` would clamp to its present maximum
        let _ = self.histograms[group as usize].record(response_ns);
        // children of a fork have no entry
        let number = self.client_of.get(thread as usize).copied().unwrap_or(0);
        if number > 0 {
            let client = &mut self.clients[usize::from(number) - 1];
            client.done += 1;
            client.sum_ns += response_ns;
            let _ = client.histogram.record(response_ns);
        }
    }

    /// Keeps the counts of every group and of all together; the longest wait is reset.
    pub fn sample<'a>(&mut self, t_ns: u64, groups: impl Iterator<Item = &'a mut Counts>) {
        let mut total = Counts::default();
        let mut last = 0;
        for (group, counts) in groups.enumerate() {
            total.add(counts);
            self.samples.push(Sample { t_ns, group, counts: counts.clone() });
            counts.longest_wait_ns = 0;
            last = group + 1;
        }
        self.samples.push(Sample { t_ns, group: last, counts: total });
    }
}

/// Times in ns.
fn histogram<C: hdrhistogram::Counter>(digits: u8) -> Histogram<C> {
    // constants that the crate accepts; grows as values come, so that many clients cost little
    let mut histogram = Histogram::new_with_max(2, digits).unwrap_or_else(|_| unreachable!());
    histogram.auto(true);
    histogram
}
