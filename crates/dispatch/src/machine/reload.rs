//! The cost of a switch beyond its direct cost: cache lines that must be loaded again.
//!
//! A thread that has N lines to reload stalls for N L / MLP in all, little by little: after `work` of
//! useful time it has paid N L / MLP (1 - exp(-work / tau)), tau = N L / MLP, so a stint shorter than
//! tau pays a part. Lines leave a cache by least recent use: of a cache of C lines a thread finds at
//! most C - U of its own again, U those that others used there while it was away. So sets that fit
//! together cost nothing and sets that do not are reloaded whole, the step that Li, Ding & Shen 2007
//! measured; Tsafrir 2007 found this to be up to 85 % of a switch's overhead.

/// A stint's stall: `tau_ns` is the whole reload.
#[derive(Debug, Clone, Copy, Default)]
pub struct Reload {
    pub tau_ns: f64,
}

/// Beyond so many tau nothing is left to reload.
const DONE: f64 = 40.0;

impl Reload {
    /// Stall (ns) that so much useful work has met.
    pub fn stall_ns(self, work_ns: f64) -> f64 {
        if work_ns >= DONE * self.tau_ns {
            return self.tau_ns;
        }
        -self.tau_ns * (-work_ns / self.tau_ns).exp_m1()
    }

    /// Useful work (ns) done in so much time on the CPU: the inverse of work + stall(work).
    pub fn work_ns(self, elapsed_ns: f64) -> f64 {
        let tau_ns = self.tau_ns;
        if elapsed_ns >= (DONE + 1.0) * tau_ns {
            return (elapsed_ns - tau_ns).max(0.0);
        }
        // work + stall(work) is concave with a slope of 2 to 1: Newton from below converges at once
        let mut work_ns = elapsed_ns / 2.0;
        for _ in 0..8 {
            let left = (-work_ns / tau_ns).exp();
            let step = (work_ns + tau_ns * (1.0 - left) - elapsed_ns) / (1.0 + left);
            work_ns -= step;
            if step.abs() < 1e-3 {
                break;
            }
        }
        work_ns.clamp(0.0, elapsed_ns)
    }
}

/// Lines of one cache that all stints so far have used, summed over the stints.
#[derive(Debug, Clone, Copy, Default)]
pub struct Chip {
    pub used_lines: f64,
}

/// The lines of a thread in the cache where it last ran.
#[derive(Debug, Clone, Copy, Default)]
pub struct Footprint {
    pub resident_lines: f64,
    /// The chip's count when the thread left.
    pub mark_lines: f64,
    pub chip: u32,
}

impl Footprint {
    /// Lines of `wanted` that are no longer in the chip's cache of `cache_lines`.
    pub fn missing_lines(&mut self, chip: u32, now: Chip, wanted: f64, cache_lines: f64) -> f64 {
        if cache_lines <= 0.0 {
            self.resident_lines = 0.0;
            return 0.0;
        }
        self.resident_lines = if chip == self.chip {
            self.resident_lines.min(cache_lines - (now.used_lines - self.mark_lines)).max(0.0)
        } else {
            0.0
        };
        self.chip = chip;
        (wanted.min(cache_lines) - self.resident_lines).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_and_elapsed_time_are_inverse() {
        for tau_ns in [0.0, 1.0, 5e4, 2e8] {
            let reload = Reload { tau_ns };
            for work_ns in [0.0, 1.0, 1e3, 5e4, 1e6, 1e9] {
                let back = reload.work_ns(work_ns + reload.stall_ns(work_ns));
                assert!((back - work_ns).abs() <= 1e-6 * work_ns + 0.01, "{tau_ns} {work_ns} {back}");
            }
        }
    }

    #[test]
    fn a_stint_shorter_than_tau_pays_a_part() {
        let reload = Reload { tau_ns: 1e6 };
        assert!((reload.stall_ns(1e6) - 632_120.6).abs() < 1.0);
        assert!(reload.stall_ns(1e5) < 1e5);
        assert_eq!(reload.stall_ns(1e9), 1e6);
    }

    #[test]
    fn what_others_used_evicts() {
        let mut footprint = Footprint { resident_lines: 1000.0, mark_lines: 500.0, chip: 0 };
        assert_eq!(footprint.missing_lines(0, Chip { used_lines: 3500.0 }, 1000.0, 4000.0), 0.0);
        assert_eq!(footprint.missing_lines(0, Chip { used_lines: 3700.0 }, 1000.0, 4000.0), 200.0);
        assert_eq!(footprint.missing_lines(1, Chip::default(), 1000.0, 4000.0), 1000.0);
        assert_eq!(footprint.missing_lines(1, Chip::default(), 9000.0, 4000.0), 4000.0);
    }
}
