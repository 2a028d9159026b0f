//! Work of fixed size: each client completes its own transaction.
//!
//! Elsewhere the clock ends the load, since what is fixed in work lasts as long as its slowest part.
//! A sequence of long queries cut off by the clock would leave out those that come last, so here a round
//! that began within the time is carried to its end.

use super::{LEAD_NS, Run, ended_ns};
use crate::client::Client;
use crate::error::LoadError;
use crate::protocol::Protocol;
use crate::record::Window;

/// Beyond every deadline: the load has ended before.
const SLACK_S: f64 = 60.0;

impl<P: Protocol> Run<'_, P> {
    /// One point: rounds to warm up, which count nowhere, then those that are measured.
    pub(super) fn rounds(
        &mut self,
        point: usize,
        mut clients: Vec<Client<P>>,
    ) -> Result<Vec<Client<P>>, LoadError> {
        let plan = &self.work.plan;
        let count = clients.len();
        let mut start_ns = None;
        if plan.warm_up_s > 0.0 {
            let window = self.window(point, plan.warm_up_s)?;
            start_ns = Some(window.start_ns);
            let warm_up = Window { measure_ns: window.end_ns, ..window };
            clients = self.load(point, clients, warm_up, Vec::new())?.0;
        }
        let window = self.window(point, plan.measure_s)?;
        let (back, mut records) = self.load(point, clients, window, Vec::new())?;
        let end_ns = ended_ns(&records);
        for record in &mut records {
            record.end_at(end_ns);
        }
        let taken = Window { start_ns: start_ns.unwrap_or(window.start_ns), end_ns, ..window };
        self.progress.keep(point, count, taken, records);
        Ok(back)
    }

    /// A round begins within `seconds`, and may take until its deadline.
    fn window(&mut self, point: usize, seconds: f64) -> Result<Window, LoadError> {
        let start_ns = self.progress.start_ns(point, LEAD_NS)?;
        let longest_s = seconds + self.work.plan.deadline_ms / 1e3 + SLACK_S;
        Ok(Window {
            start_ns,
            measure_ns: start_ns,
            last_begin_ns: start_ns + (seconds * 1e9) as u64,
            end_ns: start_ns + (longest_s * 1e9) as u64,
        })
    }
}
