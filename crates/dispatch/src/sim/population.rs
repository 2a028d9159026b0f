//! Groups and threads of a plan at time 0.

use rand::SeedableRng;
use rand::rngs::SmallRng;

use crate::machine::costs::Costs;
use crate::machine::thread::Thread;
use crate::machine::topology::Topology;
use crate::plan::Plan;
use crate::plan::distribution::Sampler;
use crate::record::counts::Counts;
use crate::tables::class::{Standing, Tables};

/// The common state of the threads of a group.
#[derive(Debug)]
pub struct GroupState {
    pub cpu: Sampler,
    pub sleep: Sampler,
    pub wanted_lines: f64,
    pub fork: f64,
    pub partition: u32,
    /// Children that may be alive at once.
    pub children_left: u32,
    pub counts: Counts,
}

/// Groups, threads in the order of the groups, and the number of each group's first thread.
///
/// Every thread draws from a stream of its own, so that the same plan under another table meets the
/// same bursts and sleeps: differences between tables are not differences of luck.
pub fn populate(
    plan: &Plan,
    topology: &Topology,
    tables: &Tables,
    costs: Costs,
) -> (Vec<GroupState>, Vec<Thread>, Vec<u32>) {
    let lgroups = plan.machine.lgroups as usize;
    let mut homed = vec![vec![0; lgroups]; topology.partitions.len()];
    let mut groups = Vec::new();
    let mut threads = Vec::new();
    let mut starts = Vec::new();
    for group in &plan.groups {
        let partition = topology.partition(group.set.as_ref());
        let (class, first) = group.class();
        starts.push(threads.len() as u32);
        for _ in 0..group.count {
            let cpus = &topology.partitions[partition as usize].lgroups;
            let homed = &mut homed[partition as usize];
            let home = least_loaded(cpus, homed);
            let cpu = cpus[home][homed[home] % cpus[home].len()];
            homed[home] += 1;
            let rng = SmallRng::seed_from_u64(stream(plan.seed, threads.len() as u64));
            let standing = Standing::new(class, first, tables);
            threads.push(Thread::new(groups.len() as u32, standing, cpu, home as u32, rng));
        }
        groups.push(GroupState {
            cpu: Sampler::new(group.cpu),
            sleep: Sampler::new(group.sleep),
            wanted_lines: (group.working_set_kib * 1024.0 / plan.machine.line_bytes).min(costs.cache_lines),
            fork: group.fork,
            partition,
            children_left: if group.fork > 0.0 { group.count } else { 0 },
            counts: Counts::default(),
        });
    }
    (groups, threads, starts)
}

/// The latency group with the fewest threads a CPU.
fn least_loaded(cpus: &[Vec<u32>], homed: &[usize]) -> usize {
    (0..cpus.len())
        .filter(|lgroup| !cpus[*lgroup].is_empty())
        .min_by(|a, b| (homed[*a] * cpus[*b].len()).cmp(&(homed[*b] * cpus[*a].len())))
        .unwrap_or(0)
}

/// Seed of one thread's stream. Steele, Lea & Flood 2014 (SplitMix64).
fn stream(seed: u64, thread: u64) -> u64 {
    let mut mixed = seed ^ thread.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}
