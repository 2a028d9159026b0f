//! The cost of a switch and of a cache miss on this machine.
//!
//! A switch: two processes pinned to one CPU pass a token through pipes, each walking an array of w
//! bytes at its turn, against one process that does the same walks and passes the token to itself
//! through a pipe. What is left over is the switch with its reloads (Li, Ding & Shen 2007).
//! A miss: a pointer chase in random order over far more than the caches hold.

use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::time::Instant;

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use serde::Serialize;
use steelyard_engine::pinning::pin;

const LINE: usize = 64;
/// A repetition lasts at least so long.
const REPETITION_NS: f64 = 10e6;

/// A cost and its precision: median and the 95 % interval of the median, from order statistics.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Estimate {
    pub ns: f64,
    pub low_ns: f64,
    pub high_ns: f64,
    pub n: usize,
}

/// One switch with a working set of so many bytes in each process.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Switch {
    pub bytes: usize,
    pub switch: Estimate,
    /// One walk over a set that is warm.
    pub walk_ns: f64,
}

impl Estimate {
    /// Median of values; its interval takes the ranks n/2 -+ 0.98 sqrt(n) (normal approximation of the binomial).
    pub fn of(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        let n = values.len();
        let reach = (0.98 * (n as f64).sqrt()).ceil() as usize;
        let (middle, last) = (n / 2, n - 1);
        let ns = if n % 2 == 1 { values[middle] } else { (values[middle - 1] + values[middle]) / 2.0 };
        Self {
            ns,
            low_ns: values[middle.saturating_sub(reach)],
            high_ns: values[(middle + reach).min(last)],
            n,
        }
    }
}

/// Costs of a switch over the given working sets, on one CPU, `repetitions` (at least 5) each.
/// Pairs and single process alternate. `go_on` is called before each; None when it returns false.
pub fn switches(
    cpu: usize,
    sets: &[usize],
    repetitions: usize,
    go_on: &mut (dyn FnMut() -> bool + Send),
) -> io::Result<Option<Vec<Switch>>> {
    on_cpu(cpu, || {
        let mut rows = Vec::with_capacity(sets.len());
        for bytes in sets.iter().copied() {
            let mut array = vec![1u8; bytes.max(LINE)];
            let rounds = rounds_for(&mut array)?;
            let (mut costs, mut walks) = (Vec::new(), Vec::new());
            for _ in 0..repetitions.max(5) {
                if !go_on() {
                    return Ok(None);
                }
                let alone_ns = alone(&mut array, rounds)?;
                let together_ns = together(&mut array, rounds)?;
                // a round is two walks and two passes of the token, with two switches or none
                costs.push((together_ns - alone_ns) / 2.0);
                walks.push(timed_walk(&mut array, rounds));
            }
            rows.push(Switch { bytes, switch: Estimate::of(costs), walk_ns: Estimate::of(walks).ns });
        }
        Ok(Some(rows))
    })
}

/// Latency of memory: each load's address comes from the load before, over `bytes` in random order.
pub fn chase(cpu: usize, bytes: usize, repetitions: usize) -> io::Result<Estimate> {
    on_cpu(cpu, || {
        let lines = (bytes / LINE).max(2);
        // one cycle through all lines, Sattolo 1986
        let mut order: Vec<u32> = (0..lines as u32).collect();
        let mut rng = SmallRng::seed_from_u64(1);
        for last in (1..lines).rev() {
            order.swap(last, rng.random_range(0..last));
        }
        let mut next = vec![0u32; lines * (LINE / 4)];
        for (line, to) in order.iter().enumerate() {
            next[line * (LINE / 4)] = *to * (LINE / 4) as u32;
        }
        let mut at = 0u32;
        let steps = 200_000.min(lines * 4);
        let mut latencies = Vec::new();
        for _ in 0..repetitions.max(5) {
            let begun = Instant::now();
            for _ in 0..steps {
                at = next[at as usize];
            }
            at = std::hint::black_box(at);
            latencies.push(begun.elapsed().as_nanos() as f64 / steps as f64);
        }
        Ok(Estimate::of(latencies))
    })
}

/// Runs on a thread of its own that is pinned: the caller's affinity is never touched.
fn on_cpu<T: Send>(cpu: usize, body: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    std::thread::scope(|scope| {
        let handle = scope.spawn(|| {
            pin(&[cpu])?;
            body()
        });
        handle.join().unwrap_or_else(|_| Err(io::Error::other("the calibrating thread panicked")))
    })
}

/// Touches each line once, writing: half of real working sets is written.
fn walk(array: &mut [u8]) {
    for line in array.chunks_mut(LINE) {
        line[0] = line[0].wrapping_add(1);
    }
    std::hint::black_box(array);
}

fn timed_walk(array: &mut [u8], rounds: usize) -> f64 {
    let begun = Instant::now();
    for _ in 0..rounds {
        walk(array);
    }
    begun.elapsed().as_nanos() as f64 / rounds as f64
}

fn rounds_for(array: &mut [u8]) -> io::Result<usize> {
    let one_ns = alone(array, 2)?;
    Ok((REPETITION_NS / one_ns).clamp(4.0, 100_000.0) as usize)
}

/// ns of a round of one process: two walks over the array, two passes to itself.
fn alone(array: &mut [u8], rounds: usize) -> io::Result<f64> {
    let (mut from, mut to) = io::pipe()?;
    let begun = Instant::now();
    for _ in 0..2 * rounds {
        walk(array);
        pass(&mut to)?;
        take(&mut from)?;
    }
    Ok(begun.elapsed().as_nanos() as f64 / rounds as f64)
}

/// ns of a round of two processes: a walk and a pass of each.
fn together(array: &mut [u8], rounds: usize) -> io::Result<f64> {
    let (mut child_from, to) = io::pipe()?;
    let (from, mut child_to) = io::pipe()?;
    // SAFETY: the child only walks memory that it inherited, reads, writes and _exits: it takes no lock
    // that another thread may have held at the fork, and returns from nothing.
    let child = unsafe { libc::fork() };
    match child {
        -1 => return Err(io::Error::last_os_error()),
        0 => {
            let served = (0..=rounds).all(|_| {
                let taken = take(&mut child_from).is_ok();
                walk(array);
                taken && pass(&mut child_to).is_ok()
            });
            // SAFETY: ends this process at once; nothing of the parent's is run or flushed.
            unsafe { libc::_exit(i32::from(!served)) }
        }
        _ => {}
    }
    // a child that died shows as the end of its pipe
    drop((child_from, child_to));
    let outcome = exchange(array, from, to, rounds);
    // SAFETY: kills and reaps the child made above, whose number is still ours until it is reaped.
    unsafe {
        libc::kill(child, libc::SIGKILL);
        libc::waitpid(child, std::ptr::null_mut(), 0);
    }
    outcome
}

fn exchange(array: &mut [u8], mut from: PipeReader, mut to: PipeWriter, rounds: usize) -> io::Result<f64> {
    // the first round copies the pages that the fork shared
    let mut begun = Instant::now();
    for round in 0..=rounds {
        if round == 1 {
            begun = Instant::now();
        }
        walk(array);
        pass(&mut to)?;
        take(&mut from)?;
    }
    Ok(begun.elapsed().as_nanos() as f64 / rounds as f64)
}

fn pass(to: &mut PipeWriter) -> io::Result<()> {
    to.write_all(&[1])
}

fn take(from: &mut PipeReader) -> io::Result<()> {
    from.read_exact(&mut [0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_estimate_is_the_median_with_the_interval_of_its_ranks() {
        let estimate = Estimate::of((1..=100).rev().map(f64::from).collect());
        assert_eq!((estimate.ns, estimate.low_ns, estimate.high_ns, estimate.n), (50.5, 41.0, 61.0, 100));
        assert_eq!(Estimate::of(vec![3.0]).ns, 3.0);
    }

    #[test]
    fn each_set_is_measured_and_a_refusal_stops_it() {
        let rows = switches(0, &[4096, 65_536], 5, &mut || true).unwrap().unwrap();
        assert_eq!(
            rows.iter().map(|one| (one.bytes, one.switch.n)).collect::<Vec<_>>(),
            [(4096, 5), (65_536, 5)]
        );
        assert!(rows.iter().all(|one| one.switch.low_ns <= one.switch.ns && one.walk_ns > 0.0));
        assert!(switches(0, &[4096], 5, &mut || false).unwrap().is_none());
    }

    #[test]
    fn a_chase_takes_time_and_a_cpu_that_is_not_there_is_refused() {
        assert!(chase(0, 1 << 20, 5).unwrap().ns > 0.0);
        assert!(chase(100_000, 1 << 20, 5).is_err());
    }
}
