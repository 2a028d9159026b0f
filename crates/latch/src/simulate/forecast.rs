//! The counts of a simulation and their precision: batch means, over batches that grow with the simulated time.

use serde::Serialize;

use super::plan::Until;

/// Batches of equal length (Law & Carson 1979): long ones hardly depend on one another.
const BATCHES: usize = 20;
/// Student's t of 19 degrees of freedom, 97.5 %.
const STUDENT: f64 = 2.093;

/// Counts of the measured time.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Forecast {
    /// The measured time.
    pub duration_ns: f64,
    pub lookups: u64,
    pub lookups_per_s: f64,
    pub gets: u64,
    pub misses: u64,
    pub spin_gets: u64,
    pub sleeps: u64,
    pub wait_ns: f64,
    /// Spent by releases on their posts.
    pub posted_ns: f64,
    pub hand_overs: u64,
    pub events: u64,
    /// Half the 95 % interval of gets a second as a part of them, of misses a get, and of sleeps a get.
    pub gets_half: f64,
    pub misses_half: f64,
    pub sleeps_half: f64,
}

impl Forecast {
    pub fn to_json(&self) -> String {
        serde_json::json!(self).to_string()
    }
}

/// Gets, misses and sleeps of one batch.
type Counts = [u64; 3];

/// The measured time in batches.
pub struct Batches {
    begin_ns: f64,
    each_ns: f64,
    ended: Vec<Counts>,
    /// Counted in the batches before.
    before: Counts,
}

impl Batches {
    pub fn new(begin_ns: f64, duration_ns: f64) -> Self {
        Self { begin_ns, each_ns: duration_ns / BATCHES as f64, ended: Vec::new(), before: [0; 3] }
    }

    /// When the current batch ends.
    pub fn end_ns(&self) -> f64 {
        self.begin_ns + self.each_ns * (self.ended.len() + 1) as f64
    }

    /// Ends a batch; whether it was the last one. Where the forecast is not yet precise enough, each two batches
    /// become one, and as many again are simulated.
    pub fn end(&mut self, forecast: &mut Forecast, until: Option<Until>) -> bool {
        let now = [forecast.gets, forecast.misses, forecast.sleeps];
        self.ended.push(std::array::from_fn(|kind| now[kind] - self.before[kind]));
        self.before = now;
        if self.ended.len() < BATCHES {
            return false;
        }
        self.summarise(forecast);
        let sure = until.is_none_or(|until| {
            forecast.gets_half <= until.gets && forecast.misses_half <= until.misses
                || forecast.gets >= until.gets_max
        });
        if !sure {
            let merged = self.ended.chunks(2);
            self.ended =
                merged.map(|two| std::array::from_fn(|kind| two.iter().map(|one| one[kind]).sum())).collect();
            self.each_ns *= 2.0;
        }
        sure
    }

    fn summarise(&self, forecast: &mut Forecast) {
        forecast.duration_ns = self.each_ns * self.ended.len() as f64;
        forecast.lookups_per_s = forecast.lookups as f64 / forecast.duration_ns * 1e9;
        let mean = forecast.gets as f64 / self.ended.len() as f64;
        let per_get = |kind: usize| self.half(|batch| batch[kind] as f64 / (batch[0] as f64).max(1.0));
        forecast.gets_half = self.half(|batch| batch[0] as f64 / mean.max(1.0));
        (forecast.misses_half, forecast.sleeps_half) = (per_get(1), per_get(2));
    }

    /// Half the 95 % interval of the mean over batches.
    fn half(&self, of: impl Fn(&Counts) -> f64) -> f64 {
        let count = self.ended.len() as f64;
        let mean = self.ended.iter().map(&of).sum::<f64>() / count;
        let squares: f64 = self.ended.iter().map(|batch| (of(batch) - mean).powi(2)).sum();
        STUDENT * (squares / (count - 1.0) / count).sqrt()
    }
}
